// SPDX-License-Identifier: BSD-3-Clause
/*
 * lines_text: lines of functions as text: the hottest in a list, and functions with their source.
 *
 *     Hot lines             seconds, mean of ranks      here    share      MPI  source
 *      heat.py:25           relax                      1.725   36.7 %      0 %  acc += math.sqrt(acc)
 *
 *     relax   heat.py:22   1.725 s, 36.7 % of the run
 *         line      hits   seconds    us/hit    share      MPI
 *           22                                                 def relax(grid):
 *           23       801     0.012      14.7    0.7 %      0 %     for row in grid:
 *        23-25               0.310             18.0 %
 *
 * A range stands where the time between two events of the function is of several lines.
 */
#pragma once

#include "cli/doubt_text.h"
#include "run/run.h"

struct ar_lines_screen {
    const struct ar_profile *p;
    const struct ar_totals *t;
    const struct ar_lines *lines;
    const char *path; /* of the run */
    double unit_ns;
    size_t n_columns;
    struct ar_marks_shown marks;
};

/* The first `n_rows` of the hottest; returns how many there are. */
size_t ar_print_hot_lines(struct ar_lines_screen *s, size_t n_rows);
/* A function whose rows are `first` to `last`, less one. */
void ar_print_function_lines(struct ar_lines_screen *s, size_t first, size_t last);
