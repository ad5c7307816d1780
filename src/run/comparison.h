// SPDX-License-Identifier: BSD-3-Clause
/*
 * comparison: how the ranks of a run differ in one function, and which of them are alike.
 *
 * Ranks are compared as in findings and in the report: by the time with what a function calls in C, unless another
 * time is chosen. What is called by its line has none of these, nor has a function in C: then it is self time.
 *
 *     struct ar_comparison c;
 *     if (ar_compare_ranks(&c, run, function) < 0) ...
 *     c.im.classes[0].mean, c.ranks + c.first_rank[0] …
 *     ar_comparison_free(&c);
 */
#pragma once

#include "analysis/imbalance.h"
#include "run/run.h"

struct ar_comparison {
    uint32_t function;
    enum ar_compared by;
    struct ar_spread time; /* by which they are compared */
    struct ar_imbalance im;
    uint32_t most; /* process: the first of those that have most */
    uint32_t
        *ranks; /* of the first class, then of the next; processes without a rank: their number */
    size_t first_rank[AR_MOST_CLASSES + 1]; /* by class: index into `ranks` */
};

/* Of the folded form; on failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_compare_ranks(struct ar_comparison *out, struct ar_run *run,
                                              uint32_t function);
void ar_comparison_free(struct ar_comparison *c);
/* By which time ranks are compared in that function. */
enum ar_compared ar_compared_by(struct ar_run *run, uint32_t function);
/* "self_with_c", "self", "time" */
const char *ar_compared_name(enum ar_compared by);
