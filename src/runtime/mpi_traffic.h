// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_traffic: what an MPI call moved, told apart by communicator, peer and size; and which requests
 * it completed.
 *
 * Both are cells: blocks of values in the chain of a node, found by hash. The size histogram, the
 * matrix of who talks to whom and the traffic of a communicator are sums over them. Their number is
 * bounded; beyond it messages go to a cell of the node that tells nothing apart, and are counted.
 *
 * Threads: a thread's own cells, on nodes of its own tree.
 */
#pragma once

#include "runtime/livemap.h"
#include "runtime/mpi_comms.h"
#include "runtime/mpi_syncs.h"

struct ar_thread; /* tree.h */

/* Cells of a thread; the cell itself says what it is. */
struct ar_cells {
    uint32_t *slots; /* refs; 0: empty */
    size_t n_slots;  /* 0 or a power of two */
    size_t n_used;
};

/* What a thread knows of MPI; made when it first calls it. */
struct ar_mpi_thread {
    struct ar_comm_cache comms;
    struct ar_cells cells;
    struct ar_syncs syncs;
};

/* NULL without memory. */
struct ar_mpi_thread *ar_mpi_thread_make(struct ar_thread *t);
/* Frees it, if there is one. */
void ar_mpi_thread_end(struct ar_thread *t);

struct ar_message {
    struct ar_mpi_comm *comm;
    uint32_t peer; /* rank in the communicator, or AR_PEER_… */
    uint64_t n_bytes;
};

struct ar_values *ar_traffic_look_up(struct ar_thread *t, struct ar_node *node, uint64_t where,
                                     const struct ar_message *message);

static inline uint64_t ar_size_class(uint64_t n_bytes)
{
    return n_bytes ? 64 - (uint64_t)__builtin_clzll(n_bytes) : 0;
}

/*
 * Messages that a call at `node` sent and received. NULL: there is no room at all. What a line sends
 * is what it sent last time, more often than not.
 */
static inline struct ar_values *ar_traffic_cell(struct ar_thread *t, struct ar_node *node,
                                                const struct ar_message *message)
{
    uint64_t where = (uint64_t)ar_live_ref(node) << 32 | (uint64_t)message->comm->number << 8 |
                     ar_size_class(message->n_bytes);
    struct ar_values *last = ar_live_ptr(node->cell_ref);

    if (__builtin_expect(node->cell_ref && last->words[AR_TRAFFIC_WHERE] == where &&
                             (uint32_t)last->words[AR_TRAFFIC_PEER] == message->peer,
                         1))
        return last;
    return ar_traffic_look_up(t, node, where, message);
}

/* Requests that were posted at `posted`, and ended at `node`. */
struct ar_values *ar_completed_cell(struct ar_thread *t, struct ar_node *node, uint32_t posted_ref);
