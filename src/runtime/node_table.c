// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/node_table.h"

#include "runtime/livemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The halves of a product of two words: each bit of either reaches all bits of the hash. */
static uint32_t hash_of(uint32_t parent_ref, uint64_t key)
{
    unsigned __int128 product = (unsigned __int128)(key ^ 0xd6e8feb86659fd93u) *
                                (parent_ref * 0x9e3779b97f4a7c15u ^ 0xa0761d6478bd642fu);

    return (uint32_t)(product >> 64) ^ (uint32_t)(product >> 32) ^ (uint32_t)product;
}

static bool matches(const struct ar_node *node, uint32_t parent_ref, uint64_t key)
{
    return node->parent_ref == parent_ref && (node->key == key || node->key == (uint32_t)key);
}

/* Of a hash; the table uses its lower bits. */
static uint32_t filter_bit(uint32_t hash)
{
    return 1u << (hash >> 27);
}

struct ar_node *ar_node_table_find(const struct ar_node_table *table, const struct ar_node *parent,
                                   uint64_t key)
{
    uint32_t parent_ref = ar_live_ref(parent), hash = hash_of(parent_ref, key);
    size_t mask = table->n_slots - 1;

    if (!table->n_slots)
        return NULL;
    if (parent->flags & AR_NODE_FILTERS && !(parent->children & filter_bit(hash))) {
        __builtin_prefetch(&table->slots[hash & mask], 1); /* it is likely to be added soon */
        return NULL;
    }
    for (size_t i = hash & mask; table->slots[i].ref; i = (i + 1) & mask)
        if (table->slots[i].hash == hash) {
            struct ar_node *node = ar_live_ptr(table->slots[i].ref);

            if (matches(node, parent_ref, key))
                return node;
        }
    return NULL;
}

static void put(struct ar_node_table *table, struct ar_node_slot slot)
{
    size_t mask = table->n_slots - 1, i = slot.hash & mask;

    while (table->slots[i].ref &&
           (table->slots[i].ref != slot.ref || table->slots[i].hash != slot.hash))
        i = (i + 1) & mask;
    table->n_used += !table->slots[i].ref;
    table->slots[i] = slot;
}

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/*
 * A large table is read all over: with small pages each search misses the processor's table of pages,
 * too, and each page of a new table is a fault.
 */
static struct ar_node_slot *new_slots(size_t n_slots)
{
    size_t n_bytes = n_slots * sizeof(struct ar_node_slot);
    struct ar_node_slot *slots;
    int saved_errno = errno;

    if (n_bytes < HUGE_PAGE_BYTES)
        return calloc(n_slots, sizeof *slots);
    slots = aligned_alloc(HUGE_PAGE_BYTES, n_bytes);
    if (!slots)
        return NULL;
    madvise(slots, n_bytes, MADV_HUGEPAGE);
    errno = saved_errno; /* a kernel without them says so */
    return memset(slots, 0, n_bytes);
}

static bool grow(struct ar_node_table *table)
{
    struct ar_node_table bigger = {.n_slots = table->n_slots ? 2 * table->n_slots : 64};

    bigger.slots = new_slots(bigger.n_slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < table->n_slots; i++)
        if (table->slots[i].ref)
            put(&bigger, table->slots[i]);
    free(table->slots);
    *table = bigger;
    return true;
}

bool ar_node_table_has_room(struct ar_node_table *table)
{
    return 4 * (table->n_used + 1) <= 3 * table->n_slots || grow(table);
}

bool ar_node_table_add(struct ar_node_table *table, const struct ar_node *node, uint64_t key)
{
    if (!ar_node_table_has_room(table))
        return false;

    struct ar_node *parent = ar_live_ptr(node->parent_ref);
    uint32_t hash = hash_of(node->parent_ref, key);

    put(table, (struct ar_node_slot){ar_live_ref(node), hash});
    if (parent->flags & AR_NODE_FILTERS)
        parent->children |= filter_bit(hash);
    return true;
}

void ar_node_table_free(struct ar_node_table *table)
{
    free(table->slots);
    *table = (struct ar_node_table){0};
}
