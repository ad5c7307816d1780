// SPDX-License-Identifier: BSD-3-Clause
#include "cli/figures_text.h"

#include "cli/mpi_text.h"
#include "cli/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_COLUMNS 9 /* of a value */
#define MOST_COLUMNS 16 /* of a name */
#define MOST_COUNT 1e18 /* that is shown as one */

/* ---- which ------------------------------------------------------------------------------------ */

static size_t width_of(const struct ar_figure *figure)
{
    size_t n = ar_count_columns(figure->name, MOST_COLUMNS);

    n = n < MOST_COLUMNS ? n : MOST_COLUMNS;
    return n > LEAST_COLUMNS ? n : LEAST_COLUMNS;
}

bool ar_figures_are_asked(const struct ar_figures *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].is_asked)
            return true;
    return false;
}

static void add_to_order(struct ar_figure_columns *c, bool is_asked)
{
    for (uint32_t i = 0; i < c->f->n; i++)
        if (c->f->list[i].is_asked == is_asked)
            c->order[c->n++] = i;
}

enum ar_status ar_figure_columns_find(struct ar_figure_columns *out, const struct ar_figures *f,
                                      size_t first, size_t n_columns)
{
    size_t n = 0, n_used = 0;

    *out = (struct ar_figure_columns){
        .f = f, .first = first, .order = calloc(f->n + 1, sizeof *out->order)};
    if (!out->order)
        return AR_NOMEM;
    add_to_order(out, true);
    add_to_order(out, false);
    for (; first + n < f->n; n++) {
        n_used += 1 + width_of(&f->list[out->order[first + n]]);
        if (n && n_used > n_columns)
            break;
    }
    out->n = n;
    return AR_OK;
}

void ar_figure_columns_free(struct ar_figure_columns *c)
{
    free(c->order);
    *c = (struct ar_figure_columns){0};
}

static const struct ar_figure *column_at(const struct ar_figure_columns *c, size_t i)
{
    return &c->f->list[c->order[c->first + i]];
}

/* ---- printing --------------------------------------------------------------------------------- */

const char *ar_show_figure(const struct ar_figure *figure, double value, double unit_ns,
                           size_t n_columns)
{
    static char texts[4][32];
    static int n;
    char *text = texts[n++ % 4];

    if (!isfinite(value))
        return isnan(value) ? "-" : "inf";
    if (strcmp(figure->unit, "share") == 0)
        return ar_show_share(value);
    if (strcmp(figure->unit, "ns") == 0)
        return ar_show_time(value, unit_ns);
    if (strcmp(figure->unit, "B") == 0)
        return ar_show_bytes((uint64_t)value);
    if (fabs(value) >= 1000 && fabs(value) < MOST_COUNT) {
        snprintf(text, sizeof texts[0], "%s%s", value < 0 ? "-" : "",
                 ar_show_short_count((uint64_t)(fabs(value) + 0.5), n_columns - (value < 0)));
        return text;
    }
    snprintf(text, sizeof texts[0], figure->formula || value != floor(value) ? "%.3g" : "%.0f",
             value);
    return text;
}

void ar_print_figure_heads(const struct ar_figure_columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct ar_figure *figure = column_at(c, i);
        size_t n = width_of(figure), n_name = ar_count_columns(figure->name, n);

        ar_print(" %*s", (int)(n_name < n ? n - n_name : 0), "");
        ar_print_fit(figure->name, n_name < n ? n_name : n, AR_KEEP_END);
    }
}

static void print_one(const struct ar_figure *figure, double value, double unit_ns)
{
    size_t n = width_of(figure);

    ar_print(" %*s", (int)n, ar_show_figure(figure, value, unit_ns, n));
}

void ar_print_figures(const struct ar_figure_columns *c, const struct ar_figure_items *items,
                      uint32_t id, double unit_ns)
{
    size_t n, first = ar_figure_items_of(items, id, &n);

    for (size_t i = 0; i < c->n; i++) {
        const struct ar_figure *figure = column_at(c, i);
        double value = NAN;

        for (size_t k = first; k < first + n; k++)
            if (&c->f->list[items->list[k].figure] == figure)
                value = figure->formula ? items->list[k].v.value : items->list[k].v.mean;
        print_one(figure, value, unit_ns);
    }
}

void ar_print_figures_of(const struct ar_figure_columns *c, const struct ar_figure_reader *reader,
                         uint32_t root, double unit_ns)
{
    for (size_t i = 0; i < c->n; i++)
        print_one(column_at(c, i), ar_figure_of_root(reader, c->order[c->first + i], root),
                  unit_ns);
}

/* ---- estimates, and what is missing ----------------------------------------------------------- */

/* Facts that the recording leaves, on any rank: see runtime/counters.c. */
static bool has_fact(const struct ar_profile *p, const char *key, const char *part)
{
    for (size_t i = 0; i < p->n_facts; i++)
        if (strcmp(ar_strtab_text(&p->strings, p->facts[i].key), key) == 0 &&
            strstr(ar_strtab_text(&p->strings, p->facts[i].value), part))
            return true;
    return false;
}

static bool is_user_only(const struct ar_profile *p)
{
    return has_fact(p, "counters", "(without the kernel)");
}

static bool is_estimated(const struct ar_profile *p)
{
    return has_fact(p, "estimated", "values of counters");
}

bool ar_has_figure_doubt(const struct ar_profile *p)
{
    return is_user_only(p) || is_estimated(p);
}

bool ar_print_figure_doubt(const struct ar_profile *p)
{
    const char *user_only = is_user_only(p) ? "without the kernel's work for the program" : "";
    const char *estimated = is_estimated(p) ? "estimates, as counters took turns" : "";

    if (!*user_only && !*estimated)
        return false;
    ar_print(" %s%s%s%s%s\n", ar_dim(), user_only, *user_only && *estimated ? "; " : "", estimated,
             ar_plain());
    return true;
}
