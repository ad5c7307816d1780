// SPDX-License-Identifier: BSD-3-Clause
#include "cli/layout.h"

#define TITLE_LINES 2 /* with the empty one before it */

static size_t section_lines(size_t n_rows)
{
    return n_rows ? TITLE_LINES + n_rows : 0;
}

size_t ar_layout_lines(const struct ar_layout *l)
{
    return l->n_lines + section_lines(l->n_imbalance) + section_lines(l->n_tree) + l->n_notes +
           section_lines(l->n_tasks) + section_lines(l->n_mpi) + section_lines(l->n_metrics) +
           (l->n_metrics > 0);
}

/* Who gives first, and down to how many rows. Notes go last: they say what the tree means. */
void ar_layout_fit(struct ar_layout *l)
{
    struct {
        size_t *rows;
        size_t floor;
    } turns[] = {{&l->n_tree, 6},      {&l->n_metrics, 2},   {&l->n_tasks, 1}, {&l->n_tree, 3},
                 {&l->n_imbalance, 1}, {&l->n_mpi, 1},       {&l->n_tasks, 0}, {&l->n_mpi, 0},
                 {&l->n_metrics, 0},   {&l->n_imbalance, 0}, {&l->n_tree, 1},  {&l->n_notes, 0}};

    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        while (*turns[i].rows > turns[i].floor && ar_layout_lines(l) > AR_SCREEN_LINES)
            --*turns[i].rows;
}
