// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/node_table.h"

#include "base/idmap.h"
#include "runtime/livemap.h"

#include <stdlib.h>

static size_t first_slot(const struct ar_node_table *table, uint32_t parent_ref, uint64_t key)
{
    return ar_pair_key(parent_ref, key) & (table->n_slots - 1);
}

static bool matches(const struct ar_node *node, uint32_t parent_ref, uint64_t key)
{
    return node->parent_ref == parent_ref && (node->key == key || node->key == (uint32_t)key);
}

struct ar_node *ar_node_table_find(const struct ar_node_table *table, uint32_t parent_ref,
                                   uint64_t key)
{
    if (!table->n_slots)
        return NULL;
    for (size_t i = first_slot(table, parent_ref, key); table->slots[i];
         i = (i + 1) & (table->n_slots - 1)) {
        struct ar_node *node = ar_live_ptr(table->slots[i]);

        if (matches(node, parent_ref, key))
            return node;
    }
    return NULL;
}

static void put(struct ar_node_table *table, const struct ar_node *node, uint64_t key)
{
    uint32_t ref = ar_live_ref(node);
    size_t i = first_slot(table, node->parent_ref, key);

    while (table->slots[i] && table->slots[i] != ref)
        i = (i + 1) & (table->n_slots - 1);
    table->n_used += !table->slots[i];
    table->slots[i] = ref;
}

static bool grow(struct ar_node_table *table)
{
    struct ar_node_table bigger = {.n_slots = table->n_slots ? 2 * table->n_slots : 64};

    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < table->n_slots; i++)
        if (table->slots[i]) {
            const struct ar_node *node = ar_live_ptr(table->slots[i]);

            put(&bigger, node, node->key);
        }
    free(table->slots);
    *table = bigger;
    return true;
}

bool ar_node_table_has_room(struct ar_node_table *table)
{
    return 2 * (table->n_used + 1) <= table->n_slots || grow(table);
}

bool ar_node_table_add(struct ar_node_table *table, const struct ar_node *node, uint64_t key)
{
    if (!ar_node_table_has_room(table))
        return false;
    put(table, node, key);
    return true;
}

void ar_node_table_free(struct ar_node_table *table)
{
    free(table->slots);
    *table = (struct ar_node_table){0};
}
