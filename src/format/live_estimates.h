// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_estimates: the time of nodes of a live file in which not every call was timed.
 *
 * A function in C that has proved cheap is counted at every call and timed at some of them. Such a
 * node has a block AR_VALUES_ESTIMATE. With n calls of which k were timed, mean m and variance s2 of
 * the timed ones, its time is what was measured plus (n - k) m, and the variance of that is
 *
 *     s2 (n - k) n / k        (n - k calls vary, and so does the mean that stands for them)
 *
 * Long calls are no part of the sample: no call of 0.5 ms or more went untimed unnoticed.
 *
 * Where fewer than two calls of a node were timed, m and s2 are those of the function's timed calls at
 * all of its nodes; where fewer than 16 were, s2 is no less than that. What is below a node was called by timed calls: only a node's own time stands for
 * calls that were not timed.
 *
 * What was measured is certain. What is added to the children of a node comes to no more than the node
 * did not spend in measured children: if it does, all that is added there is scaled down.
 *
 * Life cycle: ar_estimates_find, then read, then ar_estimates_free (also after a failure).
 */
#pragma once

#include "format/livefile.h"

#include <stdbool.h>

struct ar_reckoned; /* live_estimates.c */

struct ar_estimates {
    uint32_t *reckoned_of; /* by ref of a node; NULL or 0: none, its time is what was measured */
    struct ar_reckoned *reckoned;
    uint64_t now_ticks;
};

struct ar_live_time {
    uint64_t ticks;    /* open calls closed */
    double variance;   /* in ticks², of an estimate */
    bool is_estimated; /* not every call was timed */
};

/* Functions have numbers up to `n_functions`. */
AR_MUST_CHECK enum ar_status ar_estimates_find(struct ar_estimates *out, const struct ar_live *live,
                                               size_t n_functions, uint64_t now_ticks);
void ar_estimates_free(struct ar_estimates *estimates);
struct ar_live_time ar_estimates_time(const struct ar_estimates *estimates,
                                      const struct ar_node *node, uint32_t ref);
