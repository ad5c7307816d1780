// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_events: MPI as a source of events, and what the recording does when MPI begins and ends, and when it
 * starts processes. What a call leaves is in mpi_call.h; how it is seen, in mpi_hook.h.
 *
 *     MPI_Init         the rank is known for sure; roll call; if all ranks are recorded, a communicator
 *     MPI_Finalize     ranks merge on it, rank 0 writes the run, live files are removed. If the program
 *                      continues, the recording does as well, and endings.h adds what followed
 *     MPI_Comm_spawn   a note for the Pythons that are started: spawning.h
 *
 * Threads: the one that calls MPI; with or without the GIL. Failure: the ranks are not merged, and a line
 * says why.
 */
#pragma once

#include "runtime/sources.h"

extern const struct ar_source ar_source_mpi;
