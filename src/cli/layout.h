// SPDX-License-Identifier: BSD-3-Clause
/*
 * layout: how the sections of a report share one screen of 24 lines.
 *
 * Each says how many rows it would like. Where that is too much, rows are taken away in turns: from the
 * tree down to a few, from tasks, imbalance and MPI, until all fits. A section without rows has no title
 * either; the tree always has one row.
 *
 *     struct ar_layout l = {.n_lines = 3, .n_tree = 10, .n_notes = 1, .n_mpi = 3};
 *     ar_layout_fit(&l);
 */
#pragma once

#include <stddef.h>

#define AR_SCREEN_LINES 24

struct ar_layout {
    size_t n_lines; /* printed already: the head, and whatever stands between it and the sections */
    size_t n_imbalance, n_tree, n_tasks, n_mpi; /* rows */
    size_t n_notes;                             /* lines below the tree */
    size_t n_metrics;                           /* rows, with a line below them */
};

/* Lines in all. */
size_t ar_layout_lines(const struct ar_layout *l);
void ar_layout_fit(struct ar_layout *l);
