// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_costly: which functions in C of a live file are worth showing, and how long their calls took
 * with those that went unseen.
 *
 * The writer has looked at some calls and says how many others each stands for. What such a call
 * spent in Python functions is not multiplied: those are recorded whether the call was seen or not.
 * A function is kept if it took a hundredth of the time of some thread; the others are their
 * callers'.
 *
 * Life cycle: ar_costly_find, then read, then ar_costly_free (also after a failure).
 */
#pragma once

#include "format/livefile.h"

#include <stdbool.h>

struct ar_costly {
    uint64_t *ticks;     /* by ref of a node: inclusive, open calls closed, unseen ones added */
    bool *is_kept;       /* by function, from 1 */
    uint64_t n_left_out; /* functions */
};

/*
 * `kinds` has the kind of each function, from 1 to `n_functions`. With `all` every function is
 * kept.
 */
AR_MUST_CHECK enum ar_status ar_costly_find(struct ar_costly *out, const struct ar_live *live,
                                            const uint8_t *kinds, size_t n_functions, bool all,
                                            uint64_t now_ticks);
void ar_costly_free(struct ar_costly *costly);

/* The values of that kind of a node, or NULL. */
const struct ar_values *ar_live_values(const struct ar_live *live, const struct ar_node *node,
                                       enum ar_values_kind kind);
/* Time in finished calls, and in an open one until `now_ticks`; see invariant 3 in livefile.h. */
uint64_t ar_live_ticks(const struct ar_node *node, uint64_t now_ticks);
