// SPDX-License-Identifier: BSD-3-Clause
/*
 * bottom_up_rows: the tree from its other end (analysis/bottom_up.h), all levels as one list.
 *
 * A row is followed by the rows of its callers. Rows are as many as nodes have ancestors: the choice of the run may limit
 * their depth, and leave out rows with a small share.
 *
 *     size_t n;
 *     const struct ar_bottom_up_row *rows = ar_run_bottom_up(run, &n);
 *     if (!rows) ...
 *     for (size_t i = 0; i < n; i += 1 + rows[i].n_below)
 *         rows[i] is a function, the n_below rows that follow are its callers, and theirs
 */
#pragma once

#include "analysis/bottom_up.h"
#include "run/run.h"

#define AR_BOTTOM_UP_LEVELS 500 /* a path to the root is as deep as recursion */

struct ar_bottom_up_row {
    uint32_t parent; /* the row that this one called; AR_NO_ID: it is a function by itself */
    uint32_t depth;  /* 0: a function by itself */
    uint32_t function;
    uint32_t n_below; /* rows of its callers, and of theirs */
    uint64_t n_calls; /* of the function at depth 0, on the way through this row */
    double share;     /* of `ar_bottom_up_whole` */
    struct ar_spread self;
};

/* Of the form that tables show; sorted by self time within a level. They live as long as the run. NULL: no memory. */
const struct ar_bottom_up_row *ar_run_bottom_up(struct ar_run *run, size_t *n);
/*
 * The time that shares are of, mean over ranks: the wall time, or the sum of all self times. The latter is more where threads and
 * child processes run at the same time.
 */
double ar_bottom_up_whole(const struct ar_totals *t, const struct ar_level *top);
