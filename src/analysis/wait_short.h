// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_short: waits that are too short to be charged one by one.
 *
 * They are added up by place, late thread and waiting thread, and charged together when they have become long: there are at most about
 * a million charges, however many waits, and noise averages out.
 *
 * Threads: one owner.
 */
#pragma once

#include "analysis/wait_sums.h"

struct ar_short_heap;

struct ar_short_waits {
    struct ar_trails *trails;
    struct ar_wait_sums *sums;
    double least_ns; /* from where on a heap is charged */
    struct ar_short_heap *heaps;
    size_t n_heaps, cap_heaps;
    uint32_t last_heap; /* that was asked for */
    struct ar_idmap heap_ids;
    /* What was added up last of a late one, which many wait for: it is added to its heap once, so many times. */
    struct {
        uint32_t heap, n_nodes;
        uint64_t first, last; /* serial numbers */
        double times;
    } many;
    struct ar_stretch many_late, late_only, waiting_only, charged;
    bool failed;
};

struct ar_short_wait {
    uint32_t site, late; /* the latter a location */
    uint32_t waiting;    /* location; AR_NO_ID: any, since several wait together */
    double ns;
};

void ar_short_waits_open(struct ar_short_waits *out, struct ar_trails *trails,
                         struct ar_wait_sums *sums, double least_ns);
void ar_short_waits_close(struct ar_short_waits *s);
/* `walk`: what either has done since their trails parted. */
AR_MUST_CHECK enum ar_status ar_short_waits_add(struct ar_short_waits *s,
                                                const struct ar_short_wait *wait,
                                                const struct ar_walk *walk);
/* All that is left is charged. */
AR_MUST_CHECK enum ar_status ar_short_waits_end(struct ar_short_waits *s);
