// SPDX-License-Identifier: BSD-3-Clause
/*
 * endings: the ways in which a recording ends, but for the merge in MPI_Finalize (mpi_events.h).
 *
 *     a process without MPI, or --per-rank     writes the run of its family
 *     a child                                  leaves a run file to its root; the last one completes the run
 *     a rank after a merge                     the last rank that ends adds what followed MPI_Finalize
 *     a rank without a roll call               the last rank that ends writes the run of all
 *     --no-merge                               live files are moved beside the output
 *     a rank that could not be merged          live files stay, and a line says where
 *
 * Which one it is follows from recording_state.h. The first that comes ends the recording; the
 * others then do nothing.
 *
 * Threads: one at a time. The interpreter may be gone. Failure: what cannot be written stays in the live
 * files, and a line says how to recover it.
 */
#pragma once

#include <stdbool.h>

/*
 * At Python's exit, where its signal handlers still stand: unless there are ranks to be merged, writes the
 * run file, and says so. With `says_nothing` the caller does.
 */
void ar_end_at_python_exit(bool says_nothing);
/* All that Python's own exit did not see: MPI that was not finalized, an exit from C. For atexit(). */
void ar_end_at_exit(void);
/* From os._exit: no exit function will run. */
void ar_end_at_once(void);
/* The process is about to become another program; or has not become one. */
void ar_end_by_exec(bool replaced);
/*
 * From a signal handler: all of it has been put into another file, and the process ends. What children
 * have left is not there, so then everything stays.
 */
void ar_end_already_saved(void);
/* Leaves nothing behind, as if the recording had not been started. */
void ar_end_cancelled(void);

/* ---- for mpi_events.h -------------------------------------------------------------------------- */

/* The file is closed, and the ranks were not merged: says why, and where the files are. */
void ar_end_unmerged(const char *why);
/* If no other process of the family is left to add what children have recorded, this one does. */
void ar_end_family_if_last(void);
/*
 * A timer that the program had a handler for would kill it once the interpreter has put its
 * handlers away. That moment exists without us, but it is not for us to make it longer.
 */
void ar_end_hold_timers_back(void);
