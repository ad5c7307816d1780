// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/quiet.h"

#include "runtime/budget.h"

#define SHORTEST_NS 100000

void ar_quiet_note(struct ar_thread *t, struct ar_node *node, uint64_t entered, uint64_t now)
{
    struct ar_quiet *q = &t->quiet;
    uint32_t i = 0;

    if (q->parent_ref != node->parent_ref)
        *q = (struct ar_quiet){.parent_ref = node->parent_ref, .from_ticks = entered};
    while (i < q->n && q->shares[i].node != node)
        i++;
    if (i == AR_QUIET_SHARES)
        return;
    if (i == q->n)
        q->shares[q->n++] = (struct ar_quiet_share){.node = node};
    q->shares[i].ticks += now - entered;
    q->shares[i].n_calls++;
}

void ar_quiet_begin(struct ar_thread *t, uint64_t now)
{
    if (t->n_unseen & AR_UNSEEN_QUIET)
        return;
    t->quiet.begin_ticks = now;
    ar_tree_unseen(t, AR_UNSEEN_QUIET);
}

static void add_estimate(struct ar_thread *t, const struct ar_quiet_share *share, double times)
{
    struct ar_values *values = ar_tree_values(t, share->node, AR_VALUES_ESTIMATE);
    uint64_t ticks = ar_without_bias(share->ticks, share->n_calls);

    if (!values)
        return;
    values->words[AR_ESTIMATE_CALLS] += (uint64_t)((double)share->n_calls * times);
    values->words[AR_ESTIMATE_TICKS] += (uint64_t)((double)ticks * times);
}

/* How long it would have taken, what was seen, had nobody looked. */
static double seen_ticks(const struct ar_quiet *q)
{
    uint64_t ticks = q->begin_ticks - q->from_ticks, n_calls = 0;

    for (uint32_t i = 0; i < q->n; i++)
        n_calls += q->shares[i].n_calls;

    uint64_t looking = n_calls * ar_ticks_of_ns(ar_costs.c_call_ns);

    return (double)(looking < ticks / 2 ? ticks - looking : ticks / 2);
}

void ar_quiet_end(struct ar_thread *t, uint64_t now)
{
    struct ar_quiet *q = &t->quiet;
    uint64_t unseen = now - q->begin_ticks;

    ar_tree_seen_again(t, AR_UNSEEN_QUIET);
    if (q->parent_ref && q->begin_ticks > q->from_ticks && unseen > ar_ticks_of_ns(SHORTEST_NS))
        for (uint32_t i = 0; i < q->n; i++)
            add_estimate(t, &q->shares[i], (double)unseen / seen_ticks(q));
    *q = (struct ar_quiet){0};
}
