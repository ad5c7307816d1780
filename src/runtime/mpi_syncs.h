// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_syncs: one record a call in which this thread may have waited for another rank, and on what it
 * had spent its time before.
 *
 * Who is late, and why, cannot be read from totals: an imbalance that wanders from rank to rank
 * leaves equal ones. So each record has its times, and at most every AR_INTERVAL_TICKS the few nodes
 * that did most since the last time. Which nodes ran at all is noted by the tree (ar_tree_touch), so
 * that summing up costs as much as there are of these, and nothing where nobody waits.
 *
 * Records go to the live file, up to a part of its limit; beyond that they are counted.
 *
 * Threads: each its own.
 */
#pragma once

#include "format/livefile.h"

struct ar_extent;
struct ar_thread; /* tree.h */

/* About 20 us: what is shorter is summed up with what follows. */
#define AR_INTERVAL_TICKS 50000
#define AR_MAX_SYNC_PARTS 4

/* Of a thread. */
struct ar_syncs {
    struct ar_extent *stream;
    uint64_t interval_start;
    int64_t *deltas; /* of the touched nodes, when they are summed up */
    /* What the thread had done before anybody asked, until the first record that has parts. */
    struct ar_sync_part first[AR_MAX_SYNC_PARTS];
    uint8_t n_first;
};

/*
 * From now on the thread's time is summed up between its waits; what it did before, from its tree, once.
 */
void ar_syncs_begin(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now);
void ar_syncs_end(struct ar_thread *t, struct ar_syncs *syncs);
/* Adds a record, after the call was left; `n_parts` is filled in. */
void ar_sync_add(struct ar_thread *t, struct ar_syncs *syncs, const struct ar_sync *sync);
