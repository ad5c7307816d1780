// SPDX-License-Identifier: BSD-3-Clause
/*
 * figures_text: metrics as columns of a table, the same in every command that shows them; and the option --metric.
 *
 * Those that the user asked for come first. As many are shown as there is room for.
 * Of what was recorded the mean of ranks is shown, as of times; a formula has the value of all ranks together.
 *
 *     struct ar_figure_columns columns;
 *     if (ar_figure_columns_find(&columns, figures, 0, n_free) < 0) ...
 *     ar_print_figure_heads(&columns);
 *     ar_print_figures(&columns, items, function, unit_ns);
 *     ar_figure_columns_free(&columns);
 */
#pragma once

#include "analysis/figure_values.h"
#include "cli/options.h"

#define AR_METRIC_OPTION(target)                                                                   \
    {                                                                                              \
        .name = "metric", .kind = AR_OPTION_LIST, .to = (target), .value = "M",                    \
        .help = "show metric M, or compute one from others, time (in seconds)\n"                   \
                "and calls: --metric faults-per-call=page-faults/calls"                            \
    }

struct ar_figure_columns {
    const struct ar_figures *f;
    uint32_t *order; /* all figures, in the order of screens */
    size_t first, n; /* of `order`: those that fit */
};

/* From the `first` on, as many as fit into `n_columns`, and one at least if there is any. */
AR_MUST_CHECK enum ar_status ar_figure_columns_find(struct ar_figure_columns *out,
                                                    const struct ar_figures *f, size_t first,
                                                    size_t n_columns);
void ar_figure_columns_free(struct ar_figure_columns *c);
bool ar_figures_are_asked(const struct ar_figures *f);

void ar_print_figure_heads(const struct ar_figure_columns *c);
/* Of a function or node; "-" where it has none. */
void ar_print_figures(const struct ar_figure_columns *c, const struct ar_figure_items *items,
                      uint32_t id, double unit_ns);
/* Of one rank. */
void ar_print_figures_of(const struct ar_figure_columns *c, const struct ar_figure_reader *reader,
                         uint32_t root, double unit_ns);

/* A line that says whether values are estimates, or lack the kernel's work; returns whether there was one to print. */
bool ar_print_figure_doubt(const struct ar_profile *p);
bool ar_has_figure_doubt(const struct ar_profile *p);

/* "1,234", "12.3M", "1.31", "38.2 %"; a time in `unit_ns`. In a few static buffers. */
const char *ar_show_figure(const struct ar_figure *figure, double value, double unit_ns,
                           size_t n_columns);
