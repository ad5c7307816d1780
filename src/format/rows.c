// SPDX-License-Identifier: BSD-3-Clause
#include "format/rows.h"

#include <stdlib.h>
#include <string.h>

static bool index_plain(struct ar_rows *rows)
{
    const struct ar_metric *m = &rows->p->metrics[rows->metric];
    size_t n_nodes = rows->p->n_nodes;

    rows->starts = calloc(n_nodes + 2, sizeof *rows->starts);
    if (!rows->starts)
        return false;
    for (size_t i = 0; i < m->n_values; i++)
        rows->starts[m->values[i].node + 1]++;
    for (size_t node = 0; node < n_nodes; node++)
        rows->starts[node + 1] += rows->starts[node];
    return true;
}

static bool index_packed(struct ar_rows *rows)
{
    const struct ar_packed *packed = &rows->p->packed[rows->metric];

    rows->row_of = calloc(rows->p->n_nodes + 1, sizeof *rows->row_of);
    rows->values = malloc((rows->p->sets.n_most + 1) * sizeof *rows->values);
    if (!rows->row_of || !rows->values)
        return false;
    for (size_t i = 0; i < packed->n_rows; i++)
        rows->row_of[packed->rows[i].node] = (uint32_t)i + 1;
    return true;
}

static size_t n_words(const struct ar_rows *rows)
{
    return rows->p->n_locations / 64 + 1;
}

static bool make_sums(struct ar_rows *rows)
{
    rows->combined = malloc((rows->p->n_locations + 1) * sizeof *rows->combined);
    rows->by_location = malloc((rows->p->n_locations + 1) * sizeof *rows->by_location);
    rows->is_there = calloc(n_words(rows), sizeof *rows->is_there);
    return rows->combined && rows->by_location && rows->is_there;
}

/* Where no metric asks for another one, there is only one list. */
static const struct ar_row_list *list_of(const struct ar_profile *p, unsigned metric)
{
    bool is_exclusive = ar_profile_metric(p, metric)->scope == AR_SCOPE_EXCLUSIVE;
    const struct ar_row_list *list = &p->rows[AR_ROWS_EXCLUSIVE];

    return is_exclusive && list->first ? list : &p->rows[AR_ROWS_SHOWN];
}

enum ar_status ar_rows_open(struct ar_rows *out, const struct ar_profile *p, unsigned metric)
{
    bool is_made;

    *out = (struct ar_rows){
        .p = p->rows_of ? p->rows_of : p, .metric = metric, .shown = p->rows_of ? p : NULL};
    if (out->shown)
        out->list = list_of(p, metric);
    is_made = out->p->packed[metric].n_rows ? index_packed(out) : index_plain(out);
    if (is_made && out->shown)
        is_made = make_sums(out);
    if (!is_made)
        ar_rows_close(out);
    return is_made ? AR_OK : AR_NOMEM;
}

void ar_rows_close(struct ar_rows *rows)
{
    free(rows->starts);
    free(rows->row_of);
    free(rows->values);
    free(rows->combined);
    free(rows->by_location);
    free(rows->is_there);
    *rows = (struct ar_rows){0};
}

static struct ar_row plain_row(const struct ar_rows *rows, uint32_t node)
{
    const struct ar_value *values = rows->p->metrics[rows->metric].values;

    if (!values)
        return (struct ar_row){0};
    return (struct ar_row){values + rows->starts[node],
                           rows->starts[node + 1] - rows->starts[node]};
}

static struct ar_row own_row(struct ar_rows *rows, uint32_t node)
{
    const struct ar_packed *packed = &rows->p->packed[rows->metric];

    if (rows->starts)
        return plain_row(rows, node);
    if (!rows->row_of[node])
        return (struct ar_row){0};
    return (struct ar_row){
        rows->values, ar_packed_get(packed, &rows->p->sets, rows->row_of[node] - 1, rows->values)};
}

/* ---- several as one --------------------------------------------------------------------------- */

static uint32_t shown_location(const struct ar_rows *rows, uint32_t location)
{
    return rows->shown->location_of ? rows->shown->location_of[location] : location;
}

static void add_row(struct ar_rows *rows, struct ar_row row)
{
    enum ar_combine how = (enum ar_combine)ar_profile_metric(rows->p, rows->metric)->combine;

    for (size_t i = 0; i < row.n; i++) {
        uint32_t at = shown_location(rows, row.values[i].location);

        if (at == AR_NO_ID)
            continue;

        uint64_t bit = (uint64_t)1 << at % 64, *value = &rows->by_location[at];

        *value = rows->is_there[at / 64] & bit ? ar_combine(how, *value, row.values[i].value)
                                               : row.values[i].value;
        rows->is_there[at / 64] |= bit;
    }
}

/* In order of locations; nothing is left for the next one. */
static size_t take_sums(struct ar_rows *rows, uint32_t node)
{
    size_t n = 0;

    for (size_t w = 0; w < n_words(rows); w++) {
        for (uint64_t word = rows->is_there[w]; word; word &= word - 1) {
            uint32_t at = (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(word);

            rows->combined[n++] = (struct ar_value){node, at, rows->by_location[at]};
        }
        rows->is_there[w] = 0;
    }
    return n;
}

/* What is left of a row when some locations are left out. */
static struct ar_row chosen_row(struct ar_rows *rows, struct ar_row row)
{
    size_t n = 0;

    if (!rows->shown->location_of)
        return row;
    for (size_t i = 0; i < row.n; i++) {
        uint32_t at = shown_location(rows, row.values[i].location);

        if (at != AR_NO_ID)
            rows->combined[n++] = (struct ar_value){row.values[i].node, at, row.values[i].value};
    }
    return (struct ar_row){rows->combined, n};
}

/* The nodes of the other profile that make up a node of this one. */
static struct ar_row shown_row(struct ar_rows *rows, uint32_t node)
{
    const uint32_t *first = rows->list->first, *nodes = rows->list->nodes;

    if (first[node] == first[node + 1])
        return (struct ar_row){0};
    if (first[node] + 1 == first[node + 1])
        return chosen_row(rows, own_row(rows, nodes[first[node]]));
    for (uint32_t i = first[node]; i < first[node + 1]; i++)
        add_row(rows, own_row(rows, nodes[i]));
    return (struct ar_row){rows->combined, take_sums(rows, node)};
}

struct ar_row ar_rows_get(struct ar_rows *rows, uint32_t node)
{
    return rows->shown ? shown_row(rows, node) : own_row(rows, node);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static bool is_plain(const struct ar_profile *p)
{
    return !p->rows_of && !p->sets.items && !p->file;
}

static enum ar_status take_row(struct ar_metric *m, uint32_t node, struct ar_row row)
{
    if (ar_grow((void **)&m->values, &m->cap, m->n_values + row.n, sizeof *m->values) < 0)
        return AR_NOMEM;
    for (size_t i = 0; i < row.n; i++) {
        m->values[m->n_values] = row.values[i];
        m->values[m->n_values++].node = node;
    }
    return AR_OK;
}

static enum ar_status unpack_metric(struct ar_profile *p, unsigned metric)
{
    struct ar_metric plain = {.own = p->metrics[metric].own, .sorted = true};
    struct ar_rows rows;
    enum ar_status status = ar_rows_open(&rows, p, metric);

    for (uint32_t node = 0; node < p->n_nodes && status == AR_OK; node++)
        status = take_row(&plain, node, ar_rows_get(&rows, node));
    ar_rows_close(&rows);
    free(p->metrics[metric].values);
    p->metrics[metric] = plain;
    ar_packed_free(&p->packed[metric]);
    return status;
}

enum ar_status ar_profile_unpack(struct ar_profile *p)
{
    enum ar_status status = AR_OK;

    if (is_plain(p))
        return ar_profile_keep_streams(p);
    for (unsigned i = 0; i < ar_profile_n_metrics(p) && status == AR_OK; i++)
        if (p->rows_of || p->packed[i].n_rows)
            status = unpack_metric(p, i);
    if (status == AR_OK)
        status = ar_profile_keep_streams(p);
    p->rows_of = NULL;
    free(p->location_of);
    p->location_of = NULL;
    ar_sets_free(&p->sets);
    free(p->file);
    p->file = NULL;
    return status;
}
