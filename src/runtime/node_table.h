// SPDX-License-Identifier: BSD-3-Clause
/*
 * node_table: finds a node of a thread's tree by its parent and its key.
 *
 * Eight bytes per slot: the node's ref and the hash of the key that it is found by. With the hash a
 * search reads the one node that it finds, and growing reads none: nodes are scattered over the live
 * file, and each one that is read is a cache miss. Open addressing, linear probing, at most three
 * quarters full. A node for calls from all places is found by its function from whichever place; it may be
 * entered for a place as well, to be found sooner.
 *
 * Half of all searches are for a node that is not there yet, and wait for memory to learn that. So a parent that
 * has room for it (AR_NODE_FILTERS) holds a bit for each child: where that is not set there is none.
 *
 * Threads: one owner. Allocation: only in ar_node_table_add and ar_node_table_has_room; without
 * memory the table is unchanged.
 */
#pragma once

#include "format/livefile.h"

#include <stdbool.h>

struct ar_node_slot {
    uint32_t ref; /* 0: empty */
    uint32_t hash;
};

struct ar_node_table {
    struct ar_node_slot *slots;
    size_t n_slots; /* 0 or a power of two, at most 2^32 */
    size_t n_used;
};

struct ar_node *ar_node_table_find(const struct ar_node_table *table, const struct ar_node *parent,
                                   uint64_t key);
/* For one more; what cannot be found again need not be made. */
bool ar_node_table_has_room(struct ar_node_table *table);
/* To be found by that key, which need not be its own. */
bool ar_node_table_add(struct ar_node_table *table, const struct ar_node *node, uint64_t key);
void ar_node_table_free(struct ar_node_table *table);
