// SPDX-License-Identifier: BSD-3-Clause
/*
 * last_sign: when a job that was killed is last known to have run.
 *
 * A process that waits in a call leaves no stamp until the call returns. If it is killed there, its own newest stamp says
 * when it entered the call, and the whole wait would be missing. So calls that are open in a killed process last until
 * the newest stamp that any process of the job has left. Times of other hosts are converted by the clock offsets that were measured
 * at MPI_Init, or else by the time of day.
 *
 * A process is taken to have been killed with its job if no process of the job runs, and at least two did not close their
 * files. One alone may have crashed long before the others ended: how long its open calls lasted is not known, and they
 * end at its own newest stamp. So do those of child processes, which a program ends whenever it likes.
 *
 * Life cycle: starts zeroed; all live files of a job are added before it is asked. Threads: one owner.
 *
 *     struct ar_signs signs = {0};
 *     if (ar_signs_add(&signs, path) < 0) ...
 *     uint64_t ticks = ar_signs_ticks(&signs, live.header);
 *     ar_signs_free(&signs);
 */
#pragma once

#include "format/livefile.h"
#include "format/profile.h"

/* The newest stamp of a host. */
struct ar_sign {
    char host[64];
    uint64_t mono_ns, real_ns;
    int64_t offset_ns; /* to the clock of rank 0 */
    bool is_linked;    /* the offset is known */
};

struct ar_signs {
    struct ar_sign *items; /* one per host */
    size_t n, cap;
    size_t n_running, n_silent; /* processes that run, and that ended without closing their files */
};

/* A file that is no live file, or has nothing in it yet, adds nothing. */
AR_MUST_CHECK enum ar_status ar_signs_add(struct ar_signs *signs, const char *path);
/* Until when calls were open in the process of that file, by its own clock; 0: until its own newest stamp. */
uint64_t ar_signs_ticks(const struct ar_signs *signs, const struct ar_live_header *header);
void ar_signs_free(struct ar_signs *signs);
