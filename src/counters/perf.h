// SPDX-License-Identifier: BSD-3-Clause
/*
 * perf: counters of the calling thread, through the kernel.
 *
 * Events of the processor are one group, so that they count over the same time: the kernel puts a group onto the processor as a
 * whole. Where there are more than it has counters, there are several groups, which take turns, and values are scaled to the
 * whole time, which `is_scaled` says. Events that the kernel counts itself are another group. Clocks are read each by itself: as
 * members of a group they stand still until the next context switch (tried on 6.18). Descriptors are numbered high and close-on-exec, out of the program's way.
 *
 * Events of the processor are read without a system call where the kernel allows it (rdpmc.h), unless they take turns.
 *
 * Life cycle: ar_perf_open in the thread that is counted, ar_perf_close anywhere. Threads: one owner. A forked child calls
 * ar_perf_forked, and has to close its copy: it counts the parent's thread.
 *
 *     struct ar_perf perf;
 *     if (ar_perf_open(&perf, events, n, &which, &err) < 0) ...
 *     ar_perf_read(&perf, values);
 */
#pragma once

#include "counters/events.h"
#include "counters/rdpmc.h"

#include <stdbool.h>

struct ar_perf {
    int fds[AR_MAX_COUNTERS];
    uint64_t ids
        [AR_MAX_COUNTERS]; /* by which the kernel knows them: a program may close a descriptor and reuse its number */
    uint8_t
        leaders[AR_MAX_COUNTERS]; /* the first event of its group, by which all of them are read */
    /* By which events are read without the kernel, or NULL; a forked child has no such mappings. */
    struct perf_event_mmap_page *pages[AR_MAX_COUNTERS];
    ar_rdpmc_fn *rdpmc;
    size_t n;         /* 0: it is not open */
    uint32_t n_forks; /* when it was opened */
    bool user_only;   /* what the kernel does for the program is not counted */
    bool is_scaled;   /* of the last values */
};

/* `*which`: the event that cannot be counted; the text says why not, and what would help. */
AR_MUST_CHECK enum ar_status ar_perf_open(struct ar_perf *out, const struct ar_event *const *events,
                                          size_t n, size_t *which, struct ar_error *err);
/* false: they are gone, as the program may have closed all descriptors; or the processor never had room for them. */
bool ar_perf_read(struct ar_perf *perf, uint64_t *values);

/* What the kernel says of a group; and what becomes of it, which ar_perf_read does for every group. */
struct ar_perf_group {
    uint64_t n, enabled, running, values[AR_MAX_COUNTERS];
};
bool ar_perf_take(struct ar_perf *perf, size_t leader, const struct ar_perf_group *group,
                  uint64_t *values);
void ar_perf_close(struct ar_perf *perf);
void ar_perf_forked(void);

/* Whether the event can be counted here and now; else why not, and what would help. */
AR_MUST_CHECK enum ar_status ar_perf_try(const struct ar_event *event, struct ar_error *err);
