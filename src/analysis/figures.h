// SPDX-License-Identifier: BSD-3-Clause
/*
 * figures: what was measured beyond calls and time, and what can be computed from it.
 *
 * A figure is a metric that the file describes ("page-faults"), or a formula over metrics: one of a table here ("IPC" is
 * "instructions / cycles"), as far as the run has what it needs, or one that the user gives ("faults-per-call=page-faults/calls").
 * In formulas times are in seconds, `time` and `calls` are those of the function, and PAPI's name of an event and the kernel's are the same.
 *
 * Their values are in figure_values.h.
 *
 * Life cycle: of a profile, which must outlive them.
 *
 *     struct ar_figures f;
 *     if (ar_figures_find(&f, &profile, &asked, &err) < 0) ...
 *     f.list[i].name …
 *     ar_figures_free(&f);
 */
#pragma once

#include "analysis/formula.h"
#include "analysis/select.h"
#include "format/profile.h"

struct ar_figure {
    const char *name, *unit; /* "1", "ns", "B", …; "share": 0.013 is 1.3 % */
    const char *formula;     /* NULL: it was recorded */
    const char *help;
    unsigned metric; /* of one that was recorded */
    bool is_asked;   /* by the user */
    struct ar_formula compiled;
};

struct ar_figures {
    const struct ar_profile *p;
    struct ar_figure *list;
    size_t n;
    size_t n_recorded; /* the first so many */
    /* Metrics that all of them are computed from; in formulas input i has the number i, figure k the number n_inputs + k. */
    unsigned *inputs;
    size_t n_inputs;
    char *names; /* of those that the user gave */
};

/*
 * `asked`: words NAME, or NAME=FORMULA; NULL: none. AR_BAD: no formula, or no such metric. Figures that were asked for are marked. On
 * failure there is nothing to free.
 */
AR_MUST_CHECK enum ar_status ar_figures_find(struct ar_figures *out, const struct ar_profile *p,
                                             const struct ar_words *asked, struct ar_error *err);
void ar_figures_free(struct ar_figures *f);
