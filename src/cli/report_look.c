// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"

#include "analysis/place.h"
#include "cli/screen.h"
#include "findings/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of the run: what a function takes at least for its hottest line to be named. */
#define HOT_SHARE 0.02

/* Short runs in milliseconds. Where there are several ranks the numbers are their mean. */
void ar_report_choose_unit(struct ar_report *r)
{
    bool several = r->p->n_roots > 1;

    r->unit_ns = r->t->mean_wall_ns < 1e9 ? 1e6 : 1e9;
    if (r->unit_ns == 1e9)
        r->unit = several ? "seconds, mean" : "seconds";
    else
        r->unit = several ? "ms, mean" : "milliseconds";
}

/* ---- columns ---------------------------------------------------------------------------------- */

/* What a terminal has beyond 80 columns is for names, and a third of it for places. */
static struct ar_label_columns widen(const struct ar_report *r, size_t name, size_t place)
{
    size_t n_more = r->n_columns > 80 ? r->n_columns - 80 : 0;

    return (struct ar_label_columns){name + n_more - n_more / 3, place + n_more / 3};
}

struct ar_label_columns ar_tree_columns(const struct ar_report *r)
{
    return widen(r, 24, 16);
}

struct ar_label_columns ar_list_columns(const struct ar_report *r)
{
    return widen(r, 16, 15);
}

void ar_print_title(struct ar_label_columns c, const char *title, const char *unit,
                    const char *heads)
{
    ar_print("\n%s", ar_bold());
    ar_print_fit(title, c.name + 1, AR_KEEP_START);
    ar_print("%s ", ar_plain());
    ar_print_fit(unit, c.place, AR_KEEP_START);
    ar_print("%s\n", heads);
}

bool ar_have_one_place(const struct ar_profile *p, uint32_t a, uint32_t b)
{
    struct ar_place x = ar_place_of_call(p, a), y = ar_place_of_call(p, b);
    bool is_called_by_line = ar_is_kind(p, a, AR_FUNCTION_MPI) ||
                             ar_is_kind(p, a, AR_FUNCTION_OPERATION) ||
                             ar_is_kind(p, a, AR_FUNCTION_IMPORT);

    return !is_called_by_line || (x.function == y.function && x.line == y.line);
}

bool ar_has_hot_line(const struct ar_report *r, uint32_t node)
{
    return r->hot_lines && ar_hot_line_is_known(r->hot_lines, r->p->nodes[node].function) &&
           r->t->time[node].mean >= HOT_SHARE * r->t->mean_wall_ns;
}

/* "heat.py:22 >25"; where there is no room "heat.py >25". */
static const char *show_place(const struct ar_report *r, uint32_t node, size_t n_columns)
{
    const char *place = ar_show_place(r->p, node), *colon = strrchr(place, ':'), *line;
    char *text = ar_text_buffer();
    size_t n_kept = strlen(place);

    if (!ar_has_hot_line(r, node))
        return place;
    line = ar_show_hot_line(r->hot_lines, r->p->nodes[node].function);
    if (colon && ar_count_columns(place, n_columns) + 2 + strlen(line) > n_columns)
        n_kept = (size_t)(colon - place);
    snprintf(text, AR_TEXT_BYTES, "%.*s >%s", (int)n_kept, place, line);
    return text;
}

void ar_print_label(const struct ar_report *r, struct ar_label_columns c, uint32_t node,
                    size_t indent, char mark)
{
    ar_print_label_at(r, c, node, indent, mark, show_place(r, node, c.place));
}

/* Of a long place the end is what matters: the line. */
void ar_print_label_at(const struct ar_report *r, struct ar_label_columns c, uint32_t node,
                       size_t indent, char mark, const char *place)
{
    size_t most = c.name / 2, n_name;

    indent = indent < most ? indent : most;
    n_name = c.name - indent;
    ar_print("%s%c%*s", mark == ' ' ? "" : ar_bold(), mark, (int)indent, "");
    ar_print_fit(ar_show_name(r->p, node, n_name), n_name, AR_KEEP_START);
    ar_print("%s ", mark == ' ' ? "" : ar_plain());
    ar_print_fit(place, c.place, AR_KEEP_END);
}

void ar_print_function_label(const struct ar_report *r, struct ar_label_columns c,
                             const struct ar_by_function *f, uint32_t function)
{
    const uint32_t *nodes = f->nodes + f->first_node[function];
    const char *place = ar_show_place(r->p, nodes[0]);

    for (uint32_t i = 1; i < f->sums[function].n_nodes; i++)
        if (!ar_have_one_place(r->p, nodes[0], nodes[i]))
            place = AR_SEVERAL_PLACES;
    ar_print_label_at(r, c, nodes[0], 0, ' ', place);
}

void ar_print_mean(const struct ar_report *r, const struct ar_spread *s)
{
    ar_print(" %8s", ar_show_doubted(s->doubt, s->mean, r->unit_ns));
}

const char *ar_range_head(const struct ar_report *r)
{
    return r->p->n_roots > 1 ? "   min-max (rank)" : "";
}

const char *ar_show_percent(double share)
{
    static char texts[4][16];
    static int n;
    char *text = texts[n++ % 4];

    if (share > 0 && share < 0.005)
        return "<1 %";
    snprintf(text, sizeof texts[0], "%.0f %%", 100 * share);
    return text;
}

bool ar_is_kind(const struct ar_profile *p, uint32_t node, enum ar_function_kind kind)
{
    return p->functions[p->nodes[node].function].kind == (uint32_t)kind;
}

void ar_print_more(size_t n, const char *one, const char *many, const char *before)
{
    if (n)
        ar_print(" %s%s%s: --rows 0 --min 0 shows all%s\n", ar_dim(), before,
                 ar_show_items(n, one, many), ar_plain());
    else if (*before)
        ar_print(" %s%s%s\n", ar_dim(), before, ar_plain());
}

/* ---- order ------------------------------------------------------------------------------------ */

double ar_sort_key(enum ar_report_sort sort, double total, double self, uint64_t n_calls,
                   const struct ar_spread *range)
{
    switch (sort) {
    case AR_SORT_SELF:
        return self;
    case AR_SORT_CALLS:
        return (double)n_calls;
    case AR_SORT_MAX:
        return (double)range->max;
    case AR_SORT_IMBALANCE:
        return (double)range->max - range->mean;
    default:
        return total;
    }
}

static const struct ar_profile *naming;

static int by_name(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    char one[256];
    int order;

    snprintf(one, sizeof one, "%s", ar_show_function(naming, x, SIZE_MAX));
    order = strcasecmp(one, ar_show_function(naming, y, SIZE_MAX));
    return order ? order : (x > y) - (x < y);
}

double *ar_name_keys(const struct ar_profile *p)
{
    double *keys = calloc(p->n_functions + 1, sizeof *keys);
    uint32_t *order = malloc((p->n_functions + 1) * sizeof *order);

    naming = p;
    for (uint32_t i = 0; keys && order && i < p->n_functions; i++)
        order[i] = i;
    if (keys && order) {
        qsort(order, p->n_functions, sizeof *order, by_name);
        for (size_t i = 0; i < p->n_functions; i++)
            keys[order[i]] = -(double)i;
    } else {
        free(keys);
        keys = NULL;
    }
    free(order);
    return keys;
}
