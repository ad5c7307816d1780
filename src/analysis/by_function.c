// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/by_function.h"

#include <stdlib.h>
#include <string.h>

/* In a profile of caller pairs a function has one node, if it is more than the caller of another. */
static enum ar_status group_by_function(const struct ar_profile *p, const bool *only,
                                        uint32_t *group_of)
{
    bool of_pairs = ar_profile_of_pairs(p);
    struct ar_rows calls;

    if (ar_rows_open(&calls, p, AR_METRIC_CALLS) < 0)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        bool counts = (!only || only[i]) &&
                      (!of_pairs || (!ar_node_is_pair(p, i) && ar_rows_get(&calls, i).n > 0));

        group_of[i] = counts ? p->nodes[i].function : AR_NO_ID;
    }
    ar_rows_close(&calls);
    return AR_OK;
}

/* Nodes are sorted by group by counting: `first_node` is where each group's begin. */
static void group_nodes(struct ar_by_function *b, const uint32_t *group_of)
{
    size_t n_nodes = b->p->n_nodes;

    for (uint32_t i = 0; i < n_nodes; i++)
        if (group_of[i] != AR_NO_ID)
            b->first_node[group_of[i] + 1]++;
    for (size_t g = 0; g < b->n_groups; g++)
        b->first_node[g + 1] += b->first_node[g];
    /* Each is put at its group's beginning, which moves on; then all are moved back by one. */
    for (uint32_t i = 0; i < n_nodes; i++)
        if (group_of[i] != AR_NO_ID)
            b->nodes[b->first_node[group_of[i]]++] = i;
    memmove(b->first_node + 1, b->first_node, b->n_groups * sizeof *b->first_node);
    b->first_node[0] = 0;
}

/*
 * Depth first, with a counter for each function that says how many of its nodes the walk is in: no
 * node has to look at its ancestors, of which recursion makes hundreds of thousands. An inherited call
 * is not the child's, so a call of the same function below it is outermost.
 */
static void find_outermost(const struct ar_profile *p, const struct ar_totals *t,
                           uint32_t *n_active, bool *outermost)
{
    const struct ar_profile_node *nodes = p->nodes;
    uint32_t node = 0;

    for (;;) {
        outermost[node] = n_active[nodes[node].function] == 0;
        n_active[nodes[node].function] += !t->is_inherited[node];
        if (t->first_child[node] != AR_NO_ID) {
            node = t->first_child[node];
            continue;
        }
        n_active[nodes[node].function] -= !t->is_inherited[node];
        while (t->next_sibling[node] == AR_NO_ID) {
            node = nodes[node].parent;
            if (node == AR_NO_ID)
                return;
            n_active[nodes[node].function] -= !t->is_inherited[node];
        }
        node = t->next_sibling[node];
    }
}

/* ---- shares ---------------------------------------------------------------------------------- */

enum ar_status ar_shares_open(struct ar_shares *out, const struct ar_by_function *b)
{
    *out = (struct ar_shares){.b = b};
    if (ar_rows_open(&out->calls, b->p, AR_METRIC_CALLS) == AR_OK &&
        ar_selves_open(&out->selves, b->t, b->p) == AR_OK &&
        ar_doubts_open(&out->doubts, b->p) == AR_OK)
        return AR_OK;
    ar_shares_close(out);
    return AR_NOMEM;
}

void ar_shares_close(struct ar_shares *s)
{
    ar_rows_close(&s->calls);
    ar_selves_close(&s->selves);
    ar_doubts_close(&s->doubts);
    *s = (struct ar_shares){0};
}

static struct ar_share *share_of(const struct ar_shares *s, const struct ar_value *value,
                                 struct ar_share *shares)
{
    return &shares[ar_profile_root(s->b->p, value->location)];
}

struct doubting {
    const struct ar_profile *p;
    struct ar_share *shares;
    bool of_time, of_child;
};

static void add_doubt(uint32_t location, struct ar_doubt doubt, void *context)
{
    const struct doubting *d = context;
    struct ar_share *share = &d->shares[ar_profile_root(d->p, location)];

    if (d->of_time)
        ar_doubt_add(&share->time_doubt, doubt);
    ar_doubt_add(&share->self_doubt, d->of_child ? ar_doubt_estimated(doubt) : doubt);
}

/* Most nodes have none: nothing is read of them. */
static void add_doubts(struct ar_shares *s, uint32_t node, struct ar_share *shares)
{
    const struct ar_totals *t = s->b->t;
    struct doubting d = {s->b->p, shares, s->b->outermost[node], false};

    if (!t->self[node].doubt.marks)
        return;
    ar_doubts_each(&s->doubts, node, add_doubt, &d);
    d = (struct doubting){s->b->p, shares, false, true};
    for (uint32_t c = t->first_child[node]; c != AR_NO_ID; c = t->next_sibling[c])
        if (t->time[c].doubt.marks)
            ar_doubts_each(&s->doubts, c, add_doubt, &d);
}

static void add_node(struct ar_shares *s, uint32_t node, struct ar_share *shares)
{
    struct ar_row calls = ar_rows_get(&s->calls, node);
    struct ar_row times = {0}, selves = ar_selves_get(&s->selves, node);

    if (s->b->outermost[node])
        times = s->b->t->is_inherited[node] ? selves : s->selves.time;
    for (size_t i = 0; i < calls.n; i++)
        share_of(s, &calls.values[i], shares)->n_calls += calls.values[i].value;
    for (size_t i = 0; i < times.n; i++)
        share_of(s, &times.values[i], shares)->time_ns += times.values[i].value;
    for (size_t i = 0; i < selves.n; i++)
        share_of(s, &selves.values[i], shares)->self_ns += selves.values[i].value;
    add_doubts(s, node, shares);
}

void ar_shares_get(struct ar_shares *s, uint32_t function, struct ar_share *shares)
{
    const struct ar_by_function *b = s->b;

    memset(shares, 0, b->p->n_roots * sizeof *shares);
    for (uint32_t i = b->first_node[function]; i < b->first_node[function + 1]; i++)
        add_node(s, b->nodes[i], shares);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void sum_up(struct ar_by_function *b, struct ar_shares *reading, uint32_t function,
                   struct ar_share *shares)
{
    struct ar_function_sums *sums = &b->sums[function];
    struct ar_spreading time = {0}, self = {0}, calls = {0};

    if (b->first_node[function] == b->first_node[function + 1])
        return; /* it has nothing, on any rank */
    ar_shares_get(reading, function, shares);
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
        ar_doubt_add(&sums->self.doubt, b->t->self[b->nodes[i]].doubt);
        if (b->outermost[b->nodes[i]])
            ar_doubt_add(&sums->time.doubt, b->t->time[b->nodes[i]].doubt);
        sums->bytes_out += b->t->bytes_out[b->nodes[i]];
        sums->bytes_in += b->t->bytes_in[b->nodes[i]];
        sums->n_nodes++;
    }
}

static bool allocate(struct ar_by_function *b)
{
    b->sums = calloc(b->n_groups + 1, sizeof *b->sums);
    b->nodes = calloc(b->p->n_nodes + 1, sizeof *b->nodes);
    b->first_node = calloc(b->n_groups + 2, sizeof *b->first_node);
    b->outermost = calloc(b->p->n_nodes + 1, sizeof *b->outermost);
    return b->sums && b->nodes && b->first_node && b->outermost;
}

enum ar_status ar_by_function_build(struct ar_by_function *out, const struct ar_profile *p,
                                    const struct ar_totals *t)
{
    return ar_by_function_build_of(out, p, t, NULL);
}

static enum ar_status sum_all(struct ar_by_function *b)
{
    struct ar_share *shares = calloc(b->p->n_roots + 1, sizeof *shares);
    struct ar_shares reading;
    enum ar_status status = shares ? ar_shares_open(&reading, b) : AR_NOMEM;

    if (status == AR_OK) {
        for (uint32_t g = 0; g < b->n_groups; g++)
            sum_up(b, &reading, g, shares);
        ar_shares_close(&reading);
    }
    free(shares);
    return status;
}

enum ar_status ar_by_group_build(struct ar_by_function *out, const struct ar_profile *p,
                                 const struct ar_totals *t, const uint32_t *group_of,
                                 size_t n_groups, const bool *counts_time)
{
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_by_function){.p = p, .t = t, .n_groups = n_groups};
    if (allocate(out)) {
        memcpy(out->outermost, counts_time, p->n_nodes * sizeof *counts_time);
        group_nodes(out, group_of);
        status = sum_all(out);
    }
    if (status < 0)
        ar_by_function_free(out);
    return status;
}

enum ar_status ar_by_function_build_of(struct ar_by_function *out, const struct ar_profile *p,
                                       const struct ar_totals *t, const bool *only)
{
    uint32_t *n_active = calloc(p->n_functions + 1, sizeof *n_active);
    uint32_t *group_of = calloc(p->n_nodes + 1, sizeof *group_of);
    bool *outermost = calloc(p->n_nodes + 1, sizeof *outermost);
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_by_function){0};
    if (n_active && group_of && outermost)
        status = group_by_function(p, only, group_of);
    if (status == AR_OK) {
        find_outermost(p, t, n_active, outermost);
        status = ar_by_group_build(out, p, t, group_of, p->n_functions, outermost);
    }
    free(n_active);
    free(group_of);
    free(outermost);
    return status;
}

void ar_by_function_free(struct ar_by_function *b)
{
    free(b->sums);
    free(b->nodes);
    free(b->first_node);
    free(b->outermost);
    *b = (struct ar_by_function){0};
}
