// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/by_function.h"

#include <stdlib.h>
#include <string.h>

/* In a profile of caller pairs a function has one node, if it is more than somebody's caller. */
static bool counts(const struct ar_by_function *b, uint32_t node)
{
    if (b->only && !b->only[node])
        return false;
    if (!b->of_pairs)
        return true;
    return !ar_node_is_pair(b->p, node) && b->calls_rows[node] < b->calls_rows[node + 1];
}

/* Nodes are sorted by function by counting: `first_node` is where each function's begin. */
static void group_nodes(struct ar_by_function *b)
{
    const struct ar_profile *p = b->p;

    for (uint32_t i = 0; i < p->n_nodes; i++)
        b->first_node[p->nodes[i].function + 1] += counts(b, i);
    for (size_t f = 0; f < p->n_functions; f++)
        b->first_node[f + 1] += b->first_node[f];
    /* Each is put at its function's beginning, which moves on; then all are moved back by one. */
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (counts(b, i))
            b->nodes[b->first_node[p->nodes[i].function]++] = i;
    memmove(b->first_node + 1, b->first_node, p->n_functions * sizeof *b->first_node);
    b->first_node[0] = 0;
}

/*
 * Depth first, with a counter for each function that says how many of its nodes the walk is in: no
 * node has to look at its ancestors, of which recursion makes hundreds of thousands.
 */
static void find_outermost(struct ar_by_function *b, const struct ar_totals *t, uint32_t *n_active)
{
    const struct ar_profile_node *nodes = b->p->nodes;
    uint32_t node = 0;

    for (;;) {
        b->outermost[node] = n_active[nodes[node].function]++ == 0;
        if (t->first_child[node] != AR_NO_ID) {
            node = t->first_child[node];
            continue;
        }
        n_active[nodes[node].function]--;
        while (t->next_sibling[node] == AR_NO_ID) {
            node = nodes[node].parent;
            if (node == AR_NO_ID)
                return;
            n_active[nodes[node].function]--;
        }
        node = t->next_sibling[node];
    }
}

static uint32_t process_of(const struct ar_by_function *b, const struct ar_value *value)
{
    return ar_profile_root(b->p, value->location);
}

static void add_node(const struct ar_by_function *b, uint32_t node, struct ar_share *shares)
{
    const struct ar_value *calls = b->p->metrics[AR_METRIC_CALLS].values;
    const struct ar_value *times = b->p->metrics[AR_METRIC_TIME].values;

    for (size_t i = b->calls_rows[node]; i < b->calls_rows[node + 1]; i++)
        shares[process_of(b, &calls[i])].n_calls += calls[i].value;
    for (size_t i = b->time_rows[node]; i < b->time_rows[node + 1]; i++) {
        struct ar_share *share = &shares[process_of(b, &times[i])];

        share->self_ns += b->selves[i].value;
        if (b->outermost[node])
            share->time_ns += times[i].value;
    }
}

void ar_by_function_shares(const struct ar_by_function *b, uint32_t function,
                           struct ar_share *shares)
{
    memset(shares, 0, b->p->n_roots * sizeof *shares);
    for (uint32_t i = b->first_node[function]; i < b->first_node[function + 1]; i++)
        add_node(b, b->nodes[i], shares);
}

static void sum_up(struct ar_by_function *b, const struct ar_totals *t, uint32_t function,
                   struct ar_share *shares)
{
    struct ar_function_sums *sums = &b->sums[function];
    struct ar_spreading time = {0}, self = {0}, calls = {0};

    if (b->first_node[function] == b->first_node[function + 1])
        return; /* it has nothing, on any rank */
    ar_by_function_shares(b, function, shares);
    for (uint32_t i = 0; i < b->p->n_roots; i++) {
        ar_spread_add(&time, shares[i].time_ns, i);
        ar_spread_add(&self, shares[i].self_ns, i);
        ar_spread_add(&calls, shares[i].n_calls, i);
        sums->n_calls += shares[i].n_calls;
        sums->n_processes += shares[i].n_calls > 0;
    }
    sums->time = ar_spread_end(&time);
    sums->self = ar_spread_end(&self);
    sums->calls = ar_spread_end(&calls);
    for (uint32_t i = b->first_node[function]; i < b->first_node[function + 1]; i++) {
        sums->bytes_out += t->bytes_out[b->nodes[i]];
        sums->bytes_in += t->bytes_in[b->nodes[i]];
        sums->n_nodes++;
    }
}

static bool allocate(struct ar_by_function *b)
{
    const struct ar_profile *p = b->p;

    b->sums = calloc(p->n_functions + 1, sizeof *b->sums);
    b->nodes = calloc(p->n_nodes + 1, sizeof *b->nodes);
    b->first_node = calloc(p->n_functions + 2, sizeof *b->first_node);
    b->outermost = calloc(p->n_nodes + 1, sizeof *b->outermost);
    b->time_rows = ar_totals_rows(p, AR_METRIC_TIME);
    b->calls_rows = ar_totals_rows(p, AR_METRIC_CALLS);
    return b->sums && b->nodes && b->first_node && b->outermost && b->time_rows && b->calls_rows;
}

enum ar_status ar_by_function_build(struct ar_by_function *out, const struct ar_profile *p,
                                    const struct ar_totals *t)
{
    return ar_by_function_build_of(out, p, t, NULL);
}

enum ar_status ar_by_function_build_of(struct ar_by_function *out, const struct ar_profile *p,
                                       const struct ar_totals *t, const bool *only)
{
    uint32_t *n_active = calloc(p->n_functions + 1, sizeof *n_active);
    struct ar_share *shares = calloc(p->n_roots + 1, sizeof *shares);
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_by_function){.p = p, .of_pairs = t->of_pairs, .only = only};
    if (n_active && shares && allocate(out))
        status = ar_totals_self_values(t, p, &out->selves);
    if (status == AR_OK) {
        group_nodes(out);
        find_outermost(out, t, n_active);
        for (uint32_t f = 0; f < p->n_functions; f++)
            sum_up(out, t, f, shares);
    } else {
        ar_by_function_free(out);
    }
    free(n_active);
    free(shares);
    return status;
}

void ar_by_function_free(struct ar_by_function *b)
{
    free(b->sums);
    free(b->selves);
    free(b->nodes);
    free(b->first_node);
    free(b->outermost);
    free(b->time_rows);
    free(b->calls_rows);
    *b = (struct ar_by_function){0};
}
