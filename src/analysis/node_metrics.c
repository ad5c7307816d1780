// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/node_metrics.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct building {
    const struct ar_profile *p;
    struct ar_node_metrics *out;
    struct ar_rows rows, divisors;
    bool has_divisor;
    uint64_t *by_root; /* of the node at hand */
    bool *is_there;
};

static enum ar_combine combine_of(const struct building *b)
{
    return (enum ar_combine)ar_profile_metric(b->p, b->rows.metric)->combine;
}

/* By root, what its threads have together. */
static void gather(struct building *b, struct ar_row row)
{
    memset(b->by_root, 0, b->p->n_roots * sizeof *b->by_root);
    memset(b->is_there, 0, b->p->n_roots * sizeof *b->is_there);
    for (size_t i = 0; i < row.n; i++) {
        uint32_t root = ar_profile_root(b->p, row.values[i].location);
        uint64_t value = row.values[i].value;

        b->by_root[root] =
            b->is_there[root] ? ar_combine(combine_of(b), b->by_root[root], value) : value;
        b->is_there[root] = true;
    }
}

static void spread(const struct building *b, struct ar_node_metric *to)
{
    struct ar_spreading ranks = {.n = 0};
    bool is_sum = combine_of(b) == AR_COMBINE_SUM, has_any = false;

    for (uint32_t root = 0; root < b->p->n_roots; root++) {
        if (b->is_there[root]) {
            to->value =
                has_any ? ar_combine(combine_of(b), to->value, b->by_root[root]) : b->by_root[root];
            has_any = true;
        }
        if (is_sum || b->is_there[root])
            ar_spread_add(&ranks, b->by_root[root], root);
    }
    to->ranks = ar_spread_end(&ranks);
}

static double divisor_at(struct building *b, uint32_t node)
{
    struct ar_row row = ar_rows_get(&b->divisors, node);
    double sum = 0;

    for (size_t i = 0; i < row.n; i++)
        sum += (double)row.values[i].value;
    return sum;
}

static enum ar_status add_node(struct building *b, uint32_t node)
{
    struct ar_row row = ar_rows_get(&b->rows, node);
    struct ar_node_metric made = {.node = node, .metric = b->rows.metric, .quotient = NAN};

    if (!row.n)
        return AR_OK;
    gather(b, row);
    spread(b, &made);

    double divisor = b->has_divisor ? divisor_at(b, node) : 0;

    if (divisor > 0)
        made.quotient = (double)made.value / divisor;
    if (ar_grow((void **)&b->out->items, &b->out->cap, b->out->n + 1, sizeof made) < 0)
        return AR_NOMEM;
    b->out->items[b->out->n++] = made;
    return AR_OK;
}

static enum ar_status add_metric(struct building *b, unsigned metric)
{
    unsigned divisor = ar_profile_metric_named(b->p, ar_profile_metric(b->p, metric)->divide_by);
    enum ar_status status = ar_rows_open(&b->rows, b->p, metric);

    if (status < 0)
        return status;
    b->has_divisor = divisor < AR_MAX_METRICS;
    if (b->has_divisor)
        status = ar_rows_open(&b->divisors, b->p, divisor);
    if (status == AR_OK) {
        for (uint32_t node = 0; node < b->p->n_nodes && status == AR_OK; node++)
            status = add_node(b, node);
        if (b->has_divisor)
            ar_rows_close(&b->divisors);
    }
    ar_rows_close(&b->rows);
    return status;
}

enum ar_status ar_node_metrics_build(struct ar_node_metrics *out, const struct ar_profile *p)
{
    struct building b = {.p = p,
                         .out = out,
                         .by_root = calloc(p->n_roots + 1, sizeof *b.by_root),
                         .is_there = calloc(p->n_roots + 1, sizeof *b.is_there)};
    enum ar_status status = b.by_root && b.is_there ? AR_OK : AR_NOMEM;

    *out = (struct ar_node_metrics){0};
    for (unsigned m = AR_N_METRICS; m < ar_profile_n_metrics(p) && status == AR_OK; m++)
        status = add_metric(&b, m);
    free(b.by_root);
    free(b.is_there);
    if (status < 0)
        ar_node_metrics_free(out);
    return status;
}

void ar_node_metrics_free(struct ar_node_metrics *m)
{
    free(m->items);
    *m = (struct ar_node_metrics){0};
}
