// SPDX-License-Identifier: BSD-3-Clause
/*
 * node_table: finds a node of a thread's tree by its parent and its key.
 *
 * Four bytes a slot, the node itself says what it is: open addressing, linear probing, at most half
 * full. A node for calls from all places is found by its function from whichever place; it may be
 * entered for a place as well, to be found sooner. Such entries are forgotten when the table grows.
 *
 * Threads: one owner. Allocation: only in ar_node_table_add and ar_node_table_has_room; without
 * memory the table is unchanged.
 */
#pragma once

#include "format/livefile.h"

#include <stdbool.h>

struct ar_node_table {
    uint32_t *slots; /* refs of nodes; 0: empty */
    size_t n_slots;  /* 0 or a power of two */
    size_t n_used;
};

struct ar_node *ar_node_table_find(const struct ar_node_table *table, uint32_t parent_ref,
                                   uint64_t key);
/* For one more; what cannot be found again need not be made. */
bool ar_node_table_has_room(struct ar_node_table *table);
/* To be found by that key, which need not be its own. */
bool ar_node_table_add(struct ar_node_table *table, const struct ar_node *node, uint64_t key);
void ar_node_table_free(struct ar_node_table *table);
