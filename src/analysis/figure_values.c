// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/figure_values.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---------------------------------------------------------------------------------- */

static size_t width_of(const struct ar_figures *f)
{
    return f->n_inputs + f->n;
}

enum ar_status ar_figure_reader_open(struct ar_figure_reader *out, const struct ar_figures *f)
{
    size_t n_roots = f->p->n_roots;
    bool ok;

    *out =
        (struct ar_figure_reader){.f = f,
                                  .rows = calloc(f->n_inputs + 1, sizeof *out->rows),
                                  .values = calloc(n_roots * width_of(f) + 1, sizeof *out->values),
                                  .is_there = calloc(n_roots + 1, sizeof *out->is_there),
                                  .together = calloc(width_of(f) + 1, sizeof *out->together)};
    ok = out->rows && out->values && out->is_there && out->together;
    for (size_t i = 0; i < f->n_inputs && ok; i++)
        ok = ar_rows_open(&out->rows[i], f->p, f->inputs[i]) == AR_OK;
    if (ok)
        return AR_OK;
    ar_figure_reader_close(out);
    return AR_NOMEM;
}

void ar_figure_reader_close(struct ar_figure_reader *r)
{
    for (size_t i = 0; r->rows && i < r->f->n_inputs; i++)
        ar_rows_close(&r->rows[i]);
    free(r->rows);
    free(r->values);
    free(r->is_there);
    free(r->together);
    *r = (struct ar_figure_reader){0};
}

static double combine(enum ar_combine how, double a, double b)
{
    switch (how) {
    case AR_COMBINE_MIN:
        return fmin(a, b);
    case AR_COMBINE_MAX:
        return fmax(a, b);
    case AR_COMBINE_OR:
        return (double)((uint64_t)a | (uint64_t)b);
    default:
        return a + b;
    }
}

static enum ar_combine combine_of(const struct ar_figures *f, size_t input)
{
    return (enum ar_combine)ar_profile_metric(f->p, f->inputs[input])->combine;
}

/* NAN in `values` is "nothing yet"; in formulas times are seconds. */
static void read_row(struct ar_figure_reader *r, size_t input, uint32_t node)
{
    const struct ar_figures *f = r->f;
    struct ar_row row = ar_rows_get(&r->rows[input], node);

    for (size_t i = 0; i < row.n; i++) {
        uint32_t root = ar_profile_root(f->p, row.values[i].location);
        double value = (double)row.values[i].value, *to = &r->values[root * width_of(f) + input];

        *to = isnan(*to) ? value : combine(combine_of(f, input), *to, value);
        r->is_there[root] |= f->inputs[input] >= AR_N_METRICS;
    }
}

static void compute(const struct ar_figures *f, double *values)
{
    for (size_t i = 0; i < f->n_inputs; i++) {
        if (isnan(values[i]) && combine_of(f, i) == AR_COMBINE_SUM)
            values[i] = 0;
        if (strcmp(ar_profile_metric(f->p, f->inputs[i])->unit, "ns") == 0)
            values[i] /= 1e9;
    }
    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].formula)
            values[f->n_inputs + i] = ar_formula_value(&f->list[i].compiled, values);
        else
            values[f->n_inputs + i] = values[2 + i];
}

static void put_together(struct ar_figure_reader *r)
{
    const struct ar_figures *f = r->f;

    for (size_t i = 0; i < f->n_inputs; i++)
        r->together[i] = NAN;
    for (uint32_t root = 0; root < f->p->n_roots; root++)
        for (size_t i = 0; i < f->n_inputs; i++) {
            double value = r->values[root * width_of(f) + i];

            if (!isnan(value) && r->is_there[root])
                r->together[i] = isnan(r->together[i])
                                     ? value
                                     : combine(combine_of(f, i), r->together[i], value);
        }
}

bool ar_figure_read(struct ar_figure_reader *r, const uint32_t *nodes, size_t n,
                    const bool *outermost)
{
    const struct ar_figures *f = r->f;
    bool any = false;

    for (size_t i = 0; i < f->p->n_roots * width_of(f); i++)
        r->values[i] = NAN;
    memset(r->is_there, 0, f->p->n_roots * sizeof *r->is_there);
    /* Time and calls are read only where there is anything to go with them. */
    for (size_t input = f->n_inputs; input-- > 0;) {
        const struct ar_metric_kind *kind = ar_profile_metric(f->p, f->inputs[input]);

        for (size_t i = 0; i < n; i++)
            if (!outermost || outermost[nodes[i]] || kind->scope != AR_SCOPE_INCLUSIVE)
                read_row(r, input, nodes[i]);
        if (input == 2) {
            for (size_t root = 0; root < f->p->n_roots; root++)
                any |= r->is_there[root];
            if (!any)
                return false;
        }
    }
    if (!any)
        return false;
    put_together(r);
    compute(f, r->together);
    for (size_t root = 0; root < f->p->n_roots; root++)
        compute(f, &r->values[root * width_of(f)]);
    return true;
}

/* A figure in the unit that it says: a time in a formula is in seconds. */
static double in_unit(const struct ar_figures *f, size_t figure, double value)
{
    bool is_time = !f->list[figure].formula && strcmp(f->list[figure].unit, "ns") == 0;

    return is_time ? value * 1e9 : value;
}

double ar_figure_of_root(const struct ar_figure_reader *r, size_t figure, uint32_t root)
{
    const struct ar_figures *f = r->f;
    bool counts = r->is_there[root] || !f->list[figure].formula;

    return counts ? in_unit(f, figure, r->values[root * width_of(f) + f->n_inputs + figure]) : NAN;
}

bool ar_figure_over_ranks(const struct ar_figure_reader *r, size_t figure,
                          struct ar_figure_value *out)
{
    const struct ar_figures *f = r->f;
    double squares = 0;
    size_t n = 0;

    *out = (struct ar_figure_value){.value = in_unit(f, figure, r->together[f->n_inputs + figure])};
    for (uint32_t root = 0; root < f->p->n_roots; root++) {
        double value = ar_figure_of_root(r, figure, root), before = out->mean;

        if (isnan(value))
            continue;
        n++;
        out->mean += (value - before) / (double)n;
        squares += (value - before) * (value - out->mean);
        if (n == 1 || value < out->min) {
            out->min = value;
            out->min_process = root;
        }
        if (n == 1 || value > out->max) {
            out->max = value;
            out->max_process = root;
        }
    }
    out->sd = n ? sqrt(squares / (double)n) : 0;
    return n && !isnan(out->value);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static enum ar_status add_items(struct ar_figure_items *out, const struct ar_figure_reader *r,
                                uint32_t id)
{
    for (size_t i = 0; i < r->f->n; i++) {
        struct ar_figure_item item = {.id = id, .figure = (uint32_t)i};

        if (!ar_figure_over_ranks(r, i, &item.v))
            continue;
        if (ar_grow((void **)&out->list, &out->cap, out->n + 1, sizeof item) < 0)
            return AR_NOMEM;
        out->list[out->n++] = item;
    }
    return AR_OK;
}

static enum ar_status end_items(struct ar_figure_items *out, struct ar_figure_reader *r,
                                enum ar_status status)
{
    ar_figure_reader_close(r);
    if (status < 0)
        ar_figure_items_free(out);
    return status;
}

enum ar_status ar_figures_of_functions(struct ar_figure_items *out, const struct ar_figures *f,
                                       const struct ar_by_function *by)
{
    struct ar_figure_reader r;
    enum ar_status status = AR_OK;

    *out = (struct ar_figure_items){0};
    if (f->n_recorded == 0)
        return AR_OK;
    if (ar_figure_reader_open(&r, f) < 0)
        return AR_NOMEM;
    for (uint32_t i = 0; i < by->n_groups && status == AR_OK; i++)
        if (ar_figure_read(&r, by->nodes + by->first_node[i],
                           by->first_node[i + 1] - by->first_node[i], by->outermost))
            status = add_items(out, &r, i);
    return end_items(out, &r, status);
}

enum ar_status ar_figures_of_nodes(struct ar_figure_items *out, const struct ar_figures *f)
{
    struct ar_figure_reader r;
    enum ar_status status = AR_OK;

    *out = (struct ar_figure_items){0};
    if (f->n_recorded == 0)
        return AR_OK;
    if (ar_figure_reader_open(&r, f) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < f->p->n_nodes && status == AR_OK; node++)
        if (ar_figure_read(&r, &node, 1, NULL))
            status = add_items(out, &r, node);
    return end_items(out, &r, status);
}

void ar_figure_items_free(struct ar_figure_items *items)
{
    free(items->list);
    *items = (struct ar_figure_items){0};
}

size_t ar_figure_items_of(const struct ar_figure_items *items, uint32_t id, size_t *n)
{
    size_t low = 0, high = items->n, first;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items->list[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    first = low;
    while (low < items->n && items->list[low].id == id)
        low++;
    *n = low - first;
    return first;
}
