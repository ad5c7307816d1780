// SPDX-License-Identifier: BSD-3-Clause
/*
 * doubt_text: how times look that were not measured at every call, and the line below a table that says
 * what its marks mean.
 *
 *     struct ar_marks_shown shown = {0};
 *     ar_print(" %8s", ar_show_mean(&spread, n_ranks, unit_ns, &shown));     // "~0.020"
 *     ar_print_marks(&shown);      // "~ estimated from some of the calls, to within …"
 */
#pragma once

#include "analysis/totals.h"

/* Of all times that were shown. */
struct ar_marks_shown {
    uint32_t marks;
    double error_ns; /* the largest standard error */
};

/* "~0.020": a time that is estimated, ">0.020": one that is only a part. */
const char *ar_show_doubted(struct ar_doubt doubt, double ns, double unit_ns);
void ar_mark_shown(struct ar_marks_shown *shown, struct ar_doubt doubt, size_t n_ranks);
/* Both, of the mean of a spread. */
const char *ar_show_mean(const struct ar_spread *s, size_t n_ranks, double unit_ns,
                         struct ar_marks_shown *shown);
/* Nothing where there are no marks; returns how many lines it takes. */
size_t ar_print_marks(const struct ar_marks_shown *shown);
size_t ar_count_marks(const struct ar_marks_shown *shown);
