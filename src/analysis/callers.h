// SPDX-License-Identifier: BSD-3-Clause
/*
 * callers: who calls a function, what it calls, and what it does in all; over all of its call paths.
 *
 * Groups, see by_function.h, are functions: its callers with the figures of the calls that they made, or its
 * callees with those of the calls that it made. Times add up to the function's own. What it does while it is active
 * already counts once, for the caller of its outermost call and for the callee that led back to it; a
 * function that calls itself is its own caller, with calls and no time. In a profile of caller pairs the
 * figures are those of the pairs, as pstats has them.
 *
 *     struct ar_by_function callers;
 *     if (ar_callers_build(&callers, &profile, &totals, function) < 0) ...
 *     callers.sums[caller].time.mean …
 *     ar_by_function_free(&callers);
 */
#pragma once

#include "analysis/by_function.h"

/* Function 0, which is the root's, stands for calls without a caller. */
AR_MUST_CHECK enum ar_status ar_callers_build(struct ar_by_function *out,
                                              const struct ar_profile *p, const struct ar_totals *t,
                                              uint32_t function);
/* Group number p->n_functions is the function itself: of its sums `self` holds. */
AR_MUST_CHECK enum ar_status ar_callees_build(struct ar_by_function *out,
                                              const struct ar_profile *p, const struct ar_totals *t,
                                              uint32_t function);

/*
 * The hot path: from the root always on to the callee with the longest time, until a function spends
 * more itself. Marks its nodes; there is none among caller pairs.
 */
void ar_mark_hot_path(const struct ar_profile *p, const struct ar_totals *t, bool *is_hot);
