// SPDX-License-Identifier: BSD-3-Clause
/*
 * recording: from the first event to the file that the user gets.
 *
 *     start ── events ──> MPI_Finalize: ranks merge, rank 0 writes, live files are removed
 *                    └──> exit without MPI: this process writes it
 *                    └──> killed, or MPI never finalized: the live file stays
 *
 * Life cycle: start once; the end is found by itself. A forked child records nothing (its parent's
 * file is not its own). Threads: start under the GIL. The end may come after the interpreter is
 * gone.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_options {
    const char *output;   /* run file; an existing one is not overwritten */
    const char *live_dir; /* empty: the default */
    uint64_t n_bytes_max; /* of the live file */
    bool quiet;           /* no closing line */
};

AR_MUST_CHECK enum ar_status ar_recording_start(const struct ar_options *options,
                                                struct ar_error *err);
/* At Python's exit, where its signal handlers still stand: writes the run file of a lone process. */
void ar_recording_end_without_mpi(void);
/* Leaves nothing behind, as if it had not been started. */
void ar_recording_cancel(void);
