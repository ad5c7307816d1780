// SPDX-License-Identifier: BSD-3-Clause
/*
 * The least that wrappers need of the runtime: bytes of requests, at the node that posted or started
 * them. Gives way to what follows requests and communicators in earnest.
 */
#include "runtime/mpi_abi.h"
#include "runtime/tree.h"

#include <pthread.h>
#include <stdlib.h>

#define N_BUCKETS 4096

struct entry {
    struct entry *next;
    struct ar_thread *thread;
    struct ar_node *node;
    struct ar_mpi_post post;
};

static struct entry *buckets[N_BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t n_followed;

static struct entry **chain_of(uint64_t request)
{
    return &buckets[(request ^ request >> 4 ^ request >> 12) % N_BUCKETS];
}

static void add(struct ar_thread *thread, struct ar_node *node, uint64_t n_out, uint64_t n_in)
{
    struct ar_values *values =
        thread && thread == ar_self ? ar_tree_values(thread, node, AR_VALUES_MPI) : NULL;

    if (!values)
        return;
    values->words[AR_MPI_BYTES_OUT] += n_out;
    values->words[AR_MPI_BYTES_IN] += n_in;
}

void ar_mpi_posted(struct ar_mpi_call *call, const struct ar_mpi_post *post)
{
    struct entry *e = malloc(sizeof *e), **at = chain_of(post->request);

    if (!post->is_persistent)
        add(call->thread, call->node, post->n_out, post->n_in);
    if (!e)
        return;
    *e = (struct entry){NULL, call->thread, call->node, *post};
    pthread_mutex_lock(&lock);
    while (*at)
        at = &(*at)->next;
    *at = e;
    __atomic_fetch_add(&n_followed, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

static struct entry *find(uint64_t request, bool remove)
{
    struct entry **at = chain_of(request), *e;

    pthread_mutex_lock(&lock);
    while (*at && (*at)->post.request != request)
        at = &(*at)->next;
    e = *at;
    if (e && (remove || !e->post.is_persistent)) {
        *at = e->next;
        __atomic_fetch_sub(&n_followed, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return e;
}

void ar_mpi_started(struct ar_mpi_call *call, uint64_t request)
{
    struct entry *e = find(request, false);

    if (!e)
        return;
    e->node = call->node;
    e->thread = call->thread;
    add(call->thread, call->node, e->post.n_out, e->post.n_in);
}

void ar_mpi_request_freed(struct ar_mpi_call *call, uint64_t request)
{
    (void)call;
    free(find(request, true));
}

bool ar_mpi_follows(void)
{
    return __atomic_load_n(&n_followed, __ATOMIC_RELAXED);
}

void ar_mpi_completed(struct ar_mpi_call *call, uint64_t request, const struct ar_mpi_done *done,
                      uint32_t n_together)
{
    struct entry *e = find(request, false);
    bool is_message = e && e->post.kind == AR_REQUEST_RECEIVE;
    uint64_t n_bytes = is_message && done->is_cancelled ? 0 : done->n_bytes;

    (void)call;
    (void)n_together;
    if (!e)
        return;
    if (e->post.kind == AR_REQUEST_RECEIVE || e->post.kind == AR_REQUEST_READ)
        add(e->thread, e->node, 0, n_bytes);
    else if (e->post.kind == AR_REQUEST_WRITE)
        add(e->thread, e->node, n_bytes, 0);
    if (!e->post.is_persistent)
        free(e);
}

void ar_mpi_made(struct ar_mpi_call *call, enum ar_comm_origin origin, uint64_t parent,
                 uint64_t made, uint64_t tag)
{
    (void)call;
    (void)origin;
    (void)parent;
    (void)made;
    (void)tag;
}

void ar_mpi_unmade(struct ar_mpi_abi *abi, uint64_t handle)
{
    (void)abi;
    (void)handle;
}

void ar_mpi_named(struct ar_mpi_abi *abi, uint64_t handle, const char *name)
{
    (void)abi;
    (void)handle;
    (void)name;
}
