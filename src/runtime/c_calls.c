// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_calls.h"

#include "runtime/budget.h"
#include "runtime/functions.h"
#include "runtime/quiet.h"

bool ar_c_call_recurses(const struct ar_thread *t, uint32_t number)
{
    const struct ar_node *node = t->current;

    for (int n = 0; n < 8 && node != t->root && !(node->flags & AR_MARK_BUILTIN); n++)
        node = ar_live_ptr(node->parent_ref);
    return (uint32_t)node->key == number;
}

static uint64_t *estimate_of(struct ar_thread *t, struct ar_node *node)
{
    struct ar_values *values = ar_tree_values(t, node, AR_VALUES_ESTIMATE);

    return values ? values->words : NULL;
}

void ar_c_call_enter(struct ar_thread *t, uint32_t number, ar_frame *caller,
                     struct ar_weight weight)
{
    uint64_t place = ar_call_place(caller, t->current);
    struct ar_node *node = ar_tree_enter(t, place | number, ar_ticks());

    if (!node || (weight.n == 1 && !node->values_ref))
        return;

    uint64_t *estimate = estimate_of(t, node);

    if (estimate) {
        estimate[AR_ESTIMATE_WEIGHT] = weight.n;
        estimate[AR_ESTIMATE_GAP] = weight.gap_ticks;
        estimate[AR_ESTIMATE_ENTERED] = t->slot->latest_ticks;
    }
}

static void add_unseen(uint64_t *estimate, uint64_t now)
{
    if (!estimate || estimate[AR_ESTIMATE_WEIGHT] <= 1)
        return;

    uint64_t n_unseen = estimate[AR_ESTIMATE_WEIGHT] - 1, gap = estimate[AR_ESTIMATE_GAP];
    uint64_t ticks = ar_without_bias(now - estimate[AR_ESTIMATE_ENTERED], 1);

    if (gap && ticks && gap / ticks < n_unseen)
        n_unseen = gap / ticks;
    estimate[AR_ESTIMATE_CALLS] += n_unseen;
    estimate[AR_ESTIMATE_TICKS] += n_unseen * ticks;
}

bool ar_c_call_leave(struct ar_thread *t, uint32_t number, uint64_t now)
{
    struct ar_node *node = t->current;

    while (node->flags & AR_MARK_UNDER_OTHER) /* a task that it has run a step of */
        node = ar_live_ptr(node->parent_ref);
    if ((uint32_t)node->key != number)
        return false;

    ar_quiet_note(t, node, t->slot->latest_ticks, now);
    ar_tree_leave(t, node, now);
    if (node->values_ref)
        add_unseen(estimate_of(t, node), now);
    return true;
}
