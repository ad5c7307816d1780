// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/bottom_up.h"

#include <stdlib.h>
#include <string.h>

/* What a way is sorted by: the function where it stands. */
struct sorted_way {
    struct ar_way way;
    uint32_t function;
};

static int by_function(const void *a, const void *b)
{
    const struct sorted_way *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return (x->way.leaf > y->way.leaf) - (x->way.leaf < y->way.leaf);
}

static int largest_first(const void *a, const void *b)
{
    const struct ar_bottom_row *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns < y->self_ns ? 1 : -1;
    return (x->function > y->function) - (x->function < y->function);
}

static void add_way(const struct ar_totals *t, struct ar_level *level, const struct sorted_way *way)
{
    struct ar_bottom_row *row = level->n_rows ? &level->rows[level->n_rows - 1] : NULL;
    struct ar_way *to = row ? row->ways + row->n_ways : level->ways;

    if (!row || row->function != way->function) {
        row = &level->rows[level->n_rows++];
        *row = (struct ar_bottom_row){.function = way->function, .node = way->way.at, .ways = to};
    }
    *to = way->way;
    row->n_ways++;
    row->self_ns += t->self[way->way.leaf].mean;
    row->n_calls += t->n_calls[way->way.leaf];
}

/* `ways` is put in order. */
static enum ar_status make_level(const struct ar_totals *t, struct sorted_way *ways, size_t n,
                                 struct ar_level *out)
{
    *out = (struct ar_level){.rows = calloc(n + 1, sizeof *out->rows),
                             .ways = malloc((n + 1) * sizeof *out->ways)};
    if (!out->rows || !out->ways) {
        ar_level_free(out);
        return AR_NOMEM;
    }
    qsort(ways, n, sizeof *ways, by_function);
    for (size_t i = 0; i < n; i++)
        add_way(t, out, &ways[i]);
    qsort(out->rows, out->n_rows, sizeof *out->rows, largest_first);
    return AR_OK;
}

static bool is_there(const struct ar_totals *t, uint32_t node)
{
    return t->n_calls[node] || t->self[node].max;
}

static enum ar_status make_top(const struct ar_bottom_up *b, struct ar_level *top)
{
    struct sorted_way *ways = malloc((b->p->n_nodes + 1) * sizeof *ways);
    size_t n = 0;

    if (!ways)
        return AR_NOMEM;
    for (uint32_t i = 1; i < b->p->n_nodes; i++)
        if (is_there(b->t, i) && !(b->t->of_pairs && ar_node_is_pair(b->p, i)))
            ways[n++] = (struct sorted_way){{i, i}, b->p->nodes[i].function};

    enum ar_status status = make_level(b->t, ways, n, top);

    free(ways);
    return status;
}

/* The callers in a profile of pairs are those of the pairs that call this function. */
static size_t find_pairs(const struct ar_bottom_up *b, const struct ar_bottom_row *row,
                         struct sorted_way *ways)
{
    size_t n = 0;

    for (uint32_t i = 1; i < b->p->n_nodes && row->ways[0].at == row->ways[0].leaf; i++) {
        uint32_t parent = b->p->nodes[i].parent;

        if (ar_node_is_pair(b->p, i) && b->p->nodes[i].function == row->function &&
            is_there(b->t, i))
            ways[n++] = (struct sorted_way){{i, parent}, b->p->nodes[parent].function};
    }
    return n;
}

static size_t find_parents(const struct ar_bottom_up *b, const struct ar_bottom_row *row,
                           struct sorted_way *ways)
{
    size_t n = 0;

    for (size_t i = 0; i < row->n_ways; i++) {
        uint32_t parent = b->p->nodes[row->ways[i].at].parent;

        if (parent != 0 && parent != AR_NO_ID)
            ways[n++] =
                (struct sorted_way){{row->ways[i].leaf, parent}, b->p->nodes[parent].function};
    }
    return n;
}

enum ar_status ar_bottom_up_below(const struct ar_bottom_up *b, const struct ar_bottom_row *row,
                                  struct ar_level *out)
{
    size_t most = b->t->of_pairs ? b->p->n_nodes : row->n_ways;
    struct sorted_way *ways = malloc((most + 1) * sizeof *ways);
    enum ar_status status;

    *out = (struct ar_level){0};
    if (!ways)
        return AR_NOMEM;
    status = make_level(
        b->t, ways, b->t->of_pairs ? find_pairs(b, row, ways) : find_parents(b, row, ways), out);
    free(ways);
    return status;
}

struct ar_spread ar_bottom_up_spread(struct ar_bottom_up *b, const struct ar_bottom_row *row)
{
    struct ar_spreading s = {0};

    memset(b->by_root, 0, b->p->n_roots * sizeof *b->by_root);
    for (size_t i = 0; i < row->n_ways; i++) {
        struct ar_row values = ar_selves_get(&b->selves, row->ways[i].leaf);

        ar_doubt_add(&s.s.doubt, b->t->self[row->ways[i].leaf].doubt);
        for (size_t k = 0; k < values.n; k++)
            b->by_root[ar_profile_root(b->p, values.values[k].location)] += values.values[k].value;
    }
    for (uint32_t i = 0; i < b->p->n_roots; i++)
        ar_spread_add(&s, b->by_root[i], i);
    return ar_spread_end(&s);
}

void ar_level_free(struct ar_level *level)
{
    free(level->rows);
    free(level->ways);
    *level = (struct ar_level){0};
}

enum ar_status ar_bottom_up_open(struct ar_bottom_up *out, const struct ar_profile *p,
                                 const struct ar_totals *t, struct ar_level *top)
{
    *top = (struct ar_level){0};
    *out = (struct ar_bottom_up){
        .p = p, .t = t, .by_root = malloc((p->n_roots + 1) * sizeof *out->by_root)};
    if (out->by_root && ar_selves_open(&out->selves, t, p) == AR_OK && make_top(out, top) == AR_OK)
        return AR_OK;
    ar_bottom_up_close(out);
    return AR_NOMEM;
}

void ar_bottom_up_close(struct ar_bottom_up *b)
{
    ar_selves_close(&b->selves);
    free(b->by_root);
    *b = (struct ar_bottom_up){0};
}
