// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/callers.h"

#include <stdlib.h>

struct grouping {
    const struct ar_profile *p;
    const struct ar_totals *t;
    bool of_pairs;
    uint32_t function;
    uint32_t *group_of;
    bool *counts_time;
    bool *
        is_within; /* by node: of trees, a call of the function is above it; or a callee that counts */
};

static bool is_it(const struct grouping *g, uint32_t node)
{
    return g->p->nodes[node].function == g->function;
}

/* What a forked child calls inside an inherited call is no part of the time of that call. */
static bool is_call_of_it(const struct grouping *g, uint32_t node)
{
    return is_it(g, node) && !g->t->is_inherited[node];
}

/* Parents come first. */
static void group_callers(struct grouping *g)
{
    for (uint32_t i = 1; i < g->p->n_nodes; i++) {
        uint32_t parent = g->p->nodes[i].parent;

        if (g->of_pairs && !ar_node_is_pair(g->p, i))
            continue;
        g->is_within[i] = !g->of_pairs && (g->is_within[parent] || is_call_of_it(g, parent));
        if (is_it(g, i)) {
            g->group_of[i] = g->p->nodes[parent].function;
            g->counts_time[i] = !g->is_within[i];
        }
    }
}

/* What it does itself is a group, too, but for what is in a callee's time already. */
static void group_callees(struct grouping *g)
{
    for (uint32_t i = 1; i < g->p->n_nodes; i++) {
        uint32_t parent = g->p->nodes[i].parent;
        bool is_pair = g->of_pairs && ar_node_is_pair(g->p, i);

        g->is_within[i] = !g->of_pairs && (g->is_within[parent] || g->counts_time[parent]);
        if (is_it(g, i) && !is_pair && !g->is_within[i]) {
            g->group_of[i] = (uint32_t)g->p->n_functions;
        } else if (is_call_of_it(g, parent) && (is_pair || !g->of_pairs) && !is_it(g, i)) {
            g->group_of[i] = g->p->nodes[i].function;
            g->counts_time[i] = !g->is_within[i];
        }
    }
}

static enum ar_status build(struct ar_by_function *out, const struct ar_profile *p,
                            const struct ar_totals *t, uint32_t function, bool callees)
{
    struct grouping g = {
        .p = p,
        .t = t,
        .of_pairs = t->of_pairs,
        .function = function,
        .group_of = malloc((p->n_nodes + 1) * sizeof *g.group_of),
        .counts_time = calloc(p->n_nodes + 1, sizeof *g.counts_time),
        .is_within = calloc(p->n_nodes + 1, sizeof *g.is_within),
    };
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_by_function){0};
    if (g.group_of && g.counts_time && g.is_within) {
        for (size_t i = 0; i < p->n_nodes; i++)
            g.group_of[i] = AR_NO_ID;
        (callees ? group_callees : group_callers)(&g);
        status = ar_by_group_build(out, p, t, g.group_of, p->n_functions + 1, g.counts_time);
    }
    free(g.group_of);
    free(g.counts_time);
    free(g.is_within);
    return status;
}

enum ar_status ar_callers_build(struct ar_by_function *out, const struct ar_profile *p,
                                const struct ar_totals *t, uint32_t function)
{
    return build(out, p, t, function, false);
}

enum ar_status ar_callees_build(struct ar_by_function *out, const struct ar_profile *p,
                                const struct ar_totals *t, uint32_t function)
{
    return build(out, p, t, function, true);
}

static uint32_t longest_child(const struct ar_profile *p, const struct ar_totals *t, uint32_t node)
{
    uint32_t longest = t->first_child[node];

    for (uint32_t c = longest; c != AR_NO_ID; c = t->next_sibling[c])
        if (ar_totals_rank(t, p, c) > ar_totals_rank(t, p, longest))
            longest = c;
    return longest;
}

void ar_mark_hot_path(const struct ar_profile *p, const struct ar_totals *t, bool *is_hot)
{
    uint32_t node = t->of_pairs || p->n_nodes < 2 ? AR_NO_ID : longest_child(p, t, 0);

    while (node != AR_NO_ID && t->time[node].sum > 0) {
        uint32_t next = longest_child(p, t, node);

        is_hot[node] = true;
        node = next == AR_NO_ID || t->time[next].sum <= t->self[node].sum ? AR_NO_ID : next;
    }
}
