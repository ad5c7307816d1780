// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_requests: requests from their post to their end.
 *
 * A handle is what MPI gives; several requests may have the same one at a time, since libraries
 * return one and the same for everything that was done at once. They end in the order in which they
 * were posted then.
 *
 * Any other handle that is given again belonged to a request that has ended, although its end may not
 * have been seen: in a library whose calls are not redirected, for one. Such a request is replaced. It
 * may still be ended by a call that began before, since another thread may complete a request and not
 * have noted it when MPI gives its handle again.
 *
 * Threads: any; what is posted by one may be completed by another.
 * Memory:  bounded; requests beyond it are counted and not followed.
 */
#pragma once

#include "runtime/forking.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_mpi_comm;
struct ar_node;
struct ar_thread;

struct ar_request {
    uint64_t handle;
    struct ar_mpi_comm *comm;
    struct ar_thread *thread; /* that posted it */
    struct ar_node *node;     /* where; of a persistent one: where it was started last */
    uint64_t post_ticks;
    uint64_t replaced_ticks; /* when its handle was given again; 0: it was not */
    uint64_t n_out, n_in;
    int peer, tag;
    uint32_t next; /* of the same bucket, plus 1 */
    uint8_t kind;  /* enum ar_request_kind */
    uint8_t sync;  /* enum ar_sync_kind */
    bool is_persistent, is_active;
    bool may_share;    /* others may have its handle at the same time */
    bool is_numbered;  /* a collective call: each start takes a number of its communicator */
    uint32_t sequence; /* that number */
};

/* false: there are too many. */
bool ar_request_add(const struct ar_request *request);
/*
 * The active one that was posted first with that handle: it has ended, in a call that began at
 * `call_ticks`. A persistent one stays, and is not active any more. false: it is not followed.
 */
bool ar_request_end(uint64_t handle, uint64_t call_ticks, struct ar_request *out);
/*
 * The one that such a call will be the end of: only its communicator, peer, tag, kind, sync and sequence, since this is asked
 * before each wait. false: it is not followed.
 */
bool ar_request_find(uint64_t handle, uint64_t call_ticks, struct ar_request *out);
/* A persistent one is started by that call. false: it is not followed. */
bool ar_request_start(uint64_t handle, struct ar_thread *t, struct ar_node *node, uint64_t ticks,
                      struct ar_request *out);
/* The program has no use for it any more; the call that says so began at `call_ticks`. */
void ar_request_forget(uint64_t handle, uint64_t call_ticks);
/* How many are followed; a look without a lock. */
uint32_t ar_requests_followed(void);
void ar_requests_forking(enum ar_fork_step step);
