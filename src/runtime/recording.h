// SPDX-License-Identifier: BSD-3-Clause
/*
 * recording: from the first event to the file that the user gets.
 *
 *     start ── events ──> MPI_Finalize: ranks merge, rank 0 writes, live files are removed
 *                    |     └── if the program goes on: the last rank that ends adds what followed
 *                    └──> exit without MPI, or --per-rank: this process writes it
 *                    └──> killed, or MPI never finalized: the live file stays
 *
 * Life cycle: start once; the end is found by itself (endings.h, mpi_events.h). A forked child goes on
 * in a file of its own, once the interpreter is ready for it; see family.h. Threads: start under the GIL.
 * The end may come after the interpreter is gone.
 */
#pragma once

#include "base/status.h"
#include "runtime/engine.h"
#include "runtime/recording_options.h"

#include <stdbool.h>
#include <stdint.h>

/* On failure nothing is left of it; a Python exception may be set. */
AR_MUST_CHECK enum ar_status ar_recording_start(const struct ar_options *options,
                                                struct ar_error *err);
/* The run file that this process has written; empty: none. */
const char *ar_recording_written(void);
/* Of the live file, where a failure could end the program by SIGBUS; NULL: it is on a local one. */
const char *ar_recording_remote_file_system(void);
/* Where it is. */
const char *ar_recording_directory(void);
/* In the child of a fork, as soon as Python code may run. */
void ar_recording_forked(void);
