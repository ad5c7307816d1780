// SPDX-License-Identifier: BSD-3-Clause
/*
 * by_function: the tree's figures put together by function, over all of its call paths.
 *
 * Calls and self time are sums over a function's nodes. Time is the sum over those nodes that have
 * no node of the same function above them: what a recursive function spends in itself counts once,
 * as in pstats. In a profile of caller pairs all of it is the figures of the function's one node.
 *
 * Life cycle: built from a profile and its totals, which must outlive it and stay as they are.
 * Threads: read-only once built. Cost: linear in nodes and values, plus functions times processes.
 *
 *     struct ar_by_function b;
 *     if (ar_by_function_build(&b, &profile, &totals) < 0) ...
 *     b.sums[function].self.max …
 *     ar_by_function_free(&b);
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
};

struct ar_by_function {
    struct ar_function_sums *sums; /* by function */
    struct ar_value *selves;       /* one for each value of AR_METRIC_TIME */

    const struct ar_profile *p;
    bool of_pairs;
    const bool *only;     /* by node: the others do not count; NULL: all of them do */
    uint32_t *nodes;      /* in order of their function; of caller pairs only the functions' own */
    uint32_t *first_node; /* by function: index into `nodes`; one more at the end */
    bool *outermost;      /* by node: no node of its function is above it */
    size_t *time_rows, *calls_rows;
};

AR_MUST_CHECK enum ar_status ar_by_function_build(struct ar_by_function *out,
                                                  const struct ar_profile *p,
                                                  const struct ar_totals *t);
/* The same of some nodes only; `only` must outlive it. */
AR_MUST_CHECK enum ar_status ar_by_function_build_of(struct ar_by_function *out,
                                                     const struct ar_profile *p,
                                                     const struct ar_totals *t, const bool *only);
void ar_by_function_free(struct ar_by_function *b);

/* Fills one share for each process. */
void ar_by_function_shares(const struct ar_by_function *b, uint32_t function,
                           struct ar_share *shares);
