// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_values.h"

uint64_t ar_live_ticks(const struct ar_node *node, uint64_t now_ticks)
{
    int64_t ticks = __atomic_load_n(&node->ticks, __ATOMIC_RELAXED);

    if (ticks < 0)
        ticks = (int64_t)((uint64_t)ticks + now_ticks);
    return ticks > 0 ? (uint64_t)ticks : 0;
}

/*
 * A node has one block of each kind: a damaged chain is not followed for longer than that, or a file of
 * nodes that all have the same long chain would keep its reader busy for hours.
 */
#define MOST_BLOCKS 16

const struct ar_values *ar_live_values(const struct ar_live *live, const struct ar_node *node,
                                       enum ar_values_kind kind)
{
    uint32_t ref = node->values_ref;

    for (int n = 0; ref && n < MOST_BLOCKS; n++) {
        const struct ar_values *values = ar_live_at(live, ref);

        if (!values || values->kind == (uint32_t)kind)
            return values;
        ref = values->next_ref;
    }
    return NULL;
}
