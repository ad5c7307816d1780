// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_costly: which functions in C of a live file are worth showing, and how long their calls took
 * with those that went unseen.
 *
 * The writer has looked at some calls and says how many others each stands for. Whether a call was
 * looked at must not change where what it called is found, on one rank or in one second and not in
 * the next: so a function in C has its own time only, and what it called is its caller's. It is kept
 * if that is a hundredth of the time of some thread, or if a method of mpi4py calls it; the others are
 * their callers' altogether.
 *
 * Where all calls were recorded it has all of its time, and what it called is below it: so it is
 * everywhere if all were wanted, and in operations of mpi4py.
 *
 * Life cycle: ar_costly_find, then read, then ar_costly_free (also after a failure).
 */
#pragma once

#include "format/livefile.h"

#include <stdbool.h>

struct ar_cost; /* live_costly.c */

struct ar_costly {
    uint32_t *cost_of; /* by ref of a node; NULL or 0: none, it has the time that was seen */
    struct ar_cost *costs;
    uint64_t now_ticks;
    bool *is_kept;       /* by function, from 1 */
    uint64_t n_left_out; /* functions that were called */
};

/*
 * `kinds` has the kind of each function, from 1 to `n_functions`. With `all` every function is
 * kept.
 */
AR_MUST_CHECK enum ar_status ar_costly_find(struct ar_costly *out, const struct ar_live *live,
                                            const uint8_t *kinds, size_t n_functions, bool all,
                                            uint64_t now_ticks);
void ar_costly_free(struct ar_costly *costly);
/* The time of a node: open calls closed, unseen ones added; see above. */
uint64_t ar_costly_ticks(const struct ar_costly *costly, const struct ar_node *node, uint32_t ref);

/* The values of that kind of a node, or NULL. */
const struct ar_values *ar_live_values(const struct ar_live *live, const struct ar_node *node,
                                       enum ar_values_kind kind);
/* Time in finished calls, and in an open one until `now_ticks`; see invariant 3 in livefile.h. */
uint64_t ar_live_ticks(const struct ar_node *node, uint64_t now_ticks);
