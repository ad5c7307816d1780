// SPDX-License-Identifier: BSD-3-Clause
/*
 * own_time: the time of a function with what it calls in C, rank by rank.
 *
 * A function in C has no line of its own, so its time counts for the function of the program that called it. Nor do numpy's
 * functions that pass calls on say anything. The time of
 * both together was measured, even where it is not known how much of it is whose. The table Imbalance, findings
 * and `allranks ranks` compare ranks by this time, so that all of them show the same figure.
 *
 * Life cycle: opened on a profile and its totals, which must outlive it and stay as they are. Threads: one owner.
 * Cost: linear in nodes; a function costs as much as its nodes have values.
 *
 *     struct ar_own_time own;
 *     if (ar_own_time_open(&own, &profile, &totals) < 0) ...
 *     struct ar_spread s = ar_own_time_get(&own, function);
 *     own.by_root[s.max_process] …
 *     ar_own_time_close(&own);
 */
#pragma once

#include "analysis/totals.h"

/*
 * Whether the time of a node counts for its caller: a function in C, or one of those by which numpy passes calls of its
 * functions on, which have no name that a user knows.
 */
bool ar_is_callers_own(const struct ar_profile *p, uint32_t node);

struct ar_own_time {
    const struct ar_profile *p;
    uint32_t *owner; /* by node: the node that its time counts for; itself where that is not in C */
    uint32_t *first; /* by function: the last of the nodes that count for it, and … */
    uint32_t *next;  /* … by node: the one before; AR_NO_ID ends a list */
    uint64_t *by_root; /* of the function that was asked for last: nanoseconds */
    struct ar_selves selves;
};

AR_MUST_CHECK enum ar_status ar_own_time_open(struct ar_own_time *out, const struct ar_profile *p,
                                              const struct ar_totals *t);
/* Fills `by_root`, too. */
struct ar_spread ar_own_time_get(struct ar_own_time *own, uint32_t function);
void ar_own_time_close(struct ar_own_time *own);
