// SPDX-License-Identifier: BSD-3-Clause
/*
 * hot_lines: of each function that takes much time, the line that takes most of it, with what that line calls in C and in MPI.
 *
 * A line is named if it has at least a third of the function's own time, beyond the error of estimates. It is a range of lines where the
 * time between two calls cannot be divided further.
 *
 * Life cycle: built from a profile as it was recorded (folding leaves out lines) and its totals; ar_hot_lines_free.
 * Threads: read-only once built. Cost: linear in nodes; that of `lines` for functions of at least 2 % of the run.
 *
 *     struct ar_hot_lines hot;
 *     if (ar_hot_lines_build(&hot, &profile, &totals) < 0) ...
 *     if (ar_hot_line_is_known(&hot, function)) printf("%u", hot.by_function[function].first);
 *     ar_hot_lines_free(&hot);
 */
#pragma once

#include "analysis/lines.h"

struct ar_hot_line {
    uint32_t first, last; /* both 0: none; `last` 0: to the end of the function */
    double share;         /* of the function's own time */
};

struct ar_hot_lines {
    struct ar_hot_line *by_function;
    size_t n_functions;
    bool has_any;
};

AR_MUST_CHECK enum ar_status
ar_hot_lines_build(struct ar_hot_lines *out, const struct ar_profile *p, const struct ar_totals *t);
void ar_hot_lines_free(struct ar_hot_lines *hot);
bool ar_hot_line_is_known(const struct ar_hot_lines *hot, uint32_t function);
