// SPDX-License-Identifier: BSD-3-Clause
/*
 * by_function: the tree's figures put together by function, over all of its call paths.
 *
 * Calls and self time are sums over a function's nodes. Time is the sum over those nodes that have
 * no node of the same function above them: what a recursive function spends in itself counts once,
 * as in pstats. A forked child starts inside calls of its parent. Of the child's time in such a call
 * only the self time counts: the call is the parent's, and what the child calls counts by itself. In a
 * profile of caller pairs all of it is the figures of the function's one node.
 *
 * Life cycle: built from a profile and its totals, which must outlive it and stay as they are.
 * Threads: read-only once built. Cost: linear in nodes and values, plus functions times processes.
 *
 *     struct ar_by_function b;
 *     if (ar_by_function_build(&b, &profile, &totals) < 0) ...
 *     b.sums[function].self.max …
 *     ar_by_function_free(&b);
 *
 * The same can be had of any other groups of nodes: who calls a function, and what it calls, is in
 * callers.h.
 */
#pragma once

#include "analysis/totals.h"

struct ar_function_sums {
    struct ar_spread time, self; /* over ranks, in nanoseconds */
    struct ar_spread calls;
    uint64_t n_calls, bytes_out, bytes_in;
    uint32_t n_nodes;     /* call paths */
    uint32_t n_processes; /* that called it */
};

/* What one process has of a function. */
struct ar_share {
    uint64_t n_calls, time_ns, self_ns;
    struct ar_doubt time_doubt, self_doubt;
};

struct ar_by_function {
    struct ar_function_sums *sums; /* by function, or group */
    size_t n_groups;

    const struct ar_profile *p;
    const struct ar_totals *t;
    uint32_t *nodes;      /* in order of their function; of caller pairs only the functions' own */
    uint32_t *first_node; /* by function: index into `nodes`; one more at the end */
    bool *outermost;      /* by node: no node of its function is above it, so its time counts */
};

AR_MUST_CHECK enum ar_status ar_by_function_build(struct ar_by_function *out,
                                                  const struct ar_profile *p,
                                                  const struct ar_totals *t);
/* The same of those nodes only that `only` says. */
AR_MUST_CHECK enum ar_status ar_by_function_build_of(struct ar_by_function *out,
                                                     const struct ar_profile *p,
                                                     const struct ar_totals *t, const bool *only);
/* Of groups: `group_of` is by node, AR_NO_ID for none; `counts_time` says whose time counts, by node. */
AR_MUST_CHECK enum ar_status ar_by_group_build(struct ar_by_function *out,
                                               const struct ar_profile *p,
                                               const struct ar_totals *t, const uint32_t *group_of,
                                               size_t n_groups, const bool *counts_time);
void ar_by_function_free(struct ar_by_function *b);

/*
 * What processes have of one function after the other, read row by row: see format/rows.h. Each is for one
 * thread, and several may read at the same time.
 */
struct ar_shares {
    const struct ar_by_function *b;
    struct ar_rows calls;
    struct ar_selves selves;
    struct ar_doubts doubts;
};

AR_MUST_CHECK enum ar_status ar_shares_open(struct ar_shares *out, const struct ar_by_function *b);
/* Fills one for each process. */
void ar_shares_get(struct ar_shares *s, uint32_t function, struct ar_share *shares);
void ar_shares_close(struct ar_shares *s);
