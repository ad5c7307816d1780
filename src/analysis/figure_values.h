// SPDX-License-Identifier: BSD-3-Clause
/*
 * figure_values: what functions and call paths have of figures, on each rank and over all of them.
 *
 * A formula is computed of sums: over ranks it is that of what all ranks have together, not a mean of means. Of a function what is inclusive
 * counts once in recursion, as its time does.
 *
 * Life cycle: figures, and the functions of the same profile, outlive it. Threads: a reader reads rows (format/rows.h), and is for one.
 *
 *     struct ar_figure_items items;
 *     if (ar_figures_of_functions(&items, &figures, &by_function) < 0) ...
 *     items.list[i].v.mean …
 *     ar_figure_items_free(&items);
 */
#pragma once

#include "analysis/by_function.h"
#include "analysis/figures.h"

/* Over ranks; a rank that has none counts as 0 of what was recorded, and does not count for a formula. */
struct ar_figure_value {
    double value; /* of all ranks together */
    double mean, sd, min, max;
    uint32_t min_process, max_process; /* the first of them, where several are equal */
};

struct ar_figure_reader {
    const struct ar_figures *f;
    struct ar_rows *rows; /* by input */
    double *values;       /* by root, then input and figure; of the nodes that were read last */
    bool *is_there;       /* by root: a metric that was recorded has a value there */
    double *together;     /* of all roots */
};

AR_MUST_CHECK enum ar_status ar_figure_reader_open(struct ar_figure_reader *out,
                                                   const struct ar_figures *f);
/* `outermost`, by node: of others what is inclusive does not count; NULL: all count. false: nothing was recorded of them. */
bool ar_figure_read(struct ar_figure_reader *r, const uint32_t *nodes, size_t n,
                    const bool *outermost);
/* Of what was read last. NAN: it has none. */
double ar_figure_of_root(const struct ar_figure_reader *r, size_t figure, uint32_t root);
/* false: no rank has a value. */
bool ar_figure_over_ranks(const struct ar_figure_reader *r, size_t figure,
                          struct ar_figure_value *out);
void ar_figure_reader_close(struct ar_figure_reader *r);

/* By function or node, then figure; only where there is a value. */
struct ar_figure_item {
    uint32_t id, figure;
    struct ar_figure_value v;
};

struct ar_figure_items {
    struct ar_figure_item *list;
    size_t n, cap;
};

AR_MUST_CHECK enum ar_status ar_figures_of_functions(struct ar_figure_items *out,
                                                     const struct ar_figures *f,
                                                     const struct ar_by_function *by);
AR_MUST_CHECK enum ar_status ar_figures_of_nodes(struct ar_figure_items *out,
                                                 const struct ar_figures *f);
void ar_figure_items_free(struct ar_figure_items *items);
/* Those of one function or node: where they begin, and how many there are. */
size_t ar_figure_items_of(const struct ar_figure_items *items, uint32_t id, size_t *n);
