// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_syncs: one record a call in which this thread may have waited for another rank, and on what it
 * had spent its time before.
 *
 * Who is late, and why, cannot be read from totals: an imbalance that wanders from rank to rank
 * leaves equal ones. So each record has its times, and what was done since the last one that said so, if
 * that was AR_INTERVAL_TICKS or more: all functions that took a good part of it, and for what is smaller
 * the function that contains it. Which nodes ran at all is noted by the tree (ar_tree_touch), so that summing up
 * costs as much as there are of these, and nothing where no thread waits.
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
/* What has less than this part of an interval is no part of its own. */
#define AR_LEAST_PART 32
#define AR_MAX_SYNC_PARTS 36 /* one for each 32nd, and rests */

struct ar_sync_parts {
    struct ar_sync_part items[AR_MAX_SYNC_PARTS];
    uint32_t n;
    int64_t ticks; /* of all */
};

/* Room for what is found out of touched nodes, an array each. */
struct ar_sync_scratch;

/* Of a thread. */
struct ar_syncs {
    struct ar_extent *stream;
    uint64_t interval_start;
    uint64_t in_calls; /* ticks, of the calls that were recorded since then */
    uint64_t latest_exit;
    uint64_t posted_at; /* where something was posted last that left a record */
    struct ar_sync_scratch *scratch;
    /* What the thread did before anybody asked, or before there were too many nodes: for the next record. */
    struct ar_sync_parts kept;
};

/*
 * From now on the thread's time is summed up between its waits; what it did before, from its tree, once.
 */
void ar_syncs_begin(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now);
void ar_syncs_end(struct ar_thread *t, struct ar_syncs *syncs);
/* Adds a record, after the call was left; `n_parts` is filled in. */
void ar_sync_add(struct ar_thread *t, struct ar_syncs *syncs, const struct ar_sync *sync);
