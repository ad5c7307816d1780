// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_requests.h"

#include "base/idmap.h"
#include "runtime/mpi_comms.h"

#include <sched.h>
#include <string.h>

#define MAX_REQUESTS 16384 /* 1.5 MiB, touched as they are needed */
#define N_BUCKETS 16384

/* Indices plus 1; 0: none. A bucket has its requests in the order in which they were posted. */
struct bucket {
    uint32_t first, last;
};

static struct {
    int lock; /* held for a few instructions: no thread sleeps on it */
    uint32_t n_followed;
    uint32_t n_used, free_list;
    struct bucket buckets[N_BUCKETS];
    struct ar_request all[MAX_REQUESTS];
} requests;

static void lock(void)
{
    while (__atomic_exchange_n(&requests.lock, 1, __ATOMIC_ACQUIRE))
        for (int n = 0; __atomic_load_n(&requests.lock, __ATOMIC_RELAXED); n++)
            if (n > 100)
                sched_yield();
}

static void unlock(void)
{
    __atomic_store_n(&requests.lock, 0, __ATOMIC_RELEASE);
}

static struct bucket *bucket_of(uint64_t handle)
{
    return &requests.buckets[ar_mix64(handle) % N_BUCKETS];
}

static struct ar_request *at(uint32_t i)
{
    return &requests.all[i - 1];
}

static uint32_t take(void)
{
    uint32_t i = requests.free_list;

    if (i)
        requests.free_list = at(i)->next;
    else if (requests.n_used < MAX_REQUESTS)
        i = ++requests.n_used;
    return i;
}

static void give_back(uint32_t i, uint32_t before)
{
    struct bucket *bucket = bucket_of(at(i)->handle);

    if (before)
        at(before)->next = at(i)->next;
    else
        bucket->first = at(i)->next;
    if (bucket->last == i)
        bucket->last = before;
    at(i)->next = requests.free_list;
    requests.free_list = i;
    __atomic_fetch_sub(&requests.n_followed, 1, __ATOMIC_RELAXED);
}

static bool is_over(const struct ar_request *r, uint64_t call_ticks)
{
    return r->replaced_ticks && call_ticks >= r->replaced_ticks;
}

/* The first one with that handle, or 0, and the one before it. Those that were replaced before the call are forgotten. */
static uint32_t find(uint64_t handle, uint64_t call_ticks, bool active_only, uint32_t *before)
{
    uint32_t next;

    *before = 0;
    for (uint32_t i = bucket_of(handle)->first; i; i = next) {
        bool is_same = at(i)->handle == handle;

        next = at(i)->next;
        if (is_same && is_over(at(i), call_ticks))
            give_back(i, *before);
        else if (is_same && (!active_only || at(i)->is_active))
            return i;
        else
            *before = i;
    }
    return 0;
}

/* Only the first: where several have one handle each of them may share it, or is replaced already. */
static void replace(const struct ar_request *request)
{
    for (uint32_t i = bucket_of(request->handle)->first; i; i = at(i)->next) {
        struct ar_request *old = at(i);

        if (old->handle != request->handle || old->replaced_ticks)
            continue;
        if (!old->may_share || !request->may_share)
            old->replaced_ticks = request->post_ticks;
        return;
    }
}

static void append(uint32_t i)
{
    struct bucket *bucket = bucket_of(at(i)->handle);

    if (bucket->last)
        at(bucket->last)->next = i;
    else
        bucket->first = i;
    bucket->last = i;
    __atomic_fetch_add(&requests.n_followed, 1, __ATOMIC_RELAXED);
}

bool ar_request_add(const struct ar_request *request)
{
    lock();
    replace(request);

    uint32_t i = take();

    if (i) {
        *at(i) = *request;
        at(i)->next = 0;
        append(i);
    }
    unlock();
    return i != 0;
}

bool ar_request_end(uint64_t handle, uint64_t call_ticks, struct ar_request *out)
{
    uint32_t before;

    lock();
    uint32_t i = find(handle, call_ticks, true, &before);

    if (i) {
        *out = *at(i);
        at(i)->is_active = false;
        if (!at(i)->is_persistent)
            give_back(i, before);
    }
    unlock();
    return i != 0;
}

bool ar_request_find(uint64_t handle, uint64_t call_ticks, struct ar_request *out)
{
    uint32_t before;

    lock();
    uint32_t i = find(handle, call_ticks, true, &before);

    if (i) {
        out->comm = at(i)->comm;
        out->peer = at(i)->peer;
        out->tag = at(i)->tag;
        out->kind = at(i)->kind;
        out->sync = at(i)->sync;
        out->sequence = at(i)->sequence;
    }
    unlock();
    return i != 0;
}

bool ar_request_start(uint64_t handle, struct ar_thread *t, struct ar_node *node, uint64_t ticks,
                      struct ar_request *out)
{
    uint32_t before;

    lock();
    uint32_t i = find(handle, ticks, false, &before);

    if (i) {
        at(i)->is_active = true;
        at(i)->thread = t;
        at(i)->node = node;
        at(i)->post_ticks = ticks;
        if (at(i)->is_numbered)
            at(i)->sequence = ar_comm_next(at(i)->comm);
        *out = *at(i);
    }
    unlock();
    return i != 0;
}

void ar_request_forget(uint64_t handle, uint64_t call_ticks)
{
    uint32_t before;

    lock();
    uint32_t i = find(handle, call_ticks, false, &before);

    if (i)
        give_back(i, before);
    unlock();
}

uint32_t ar_requests_followed(void)
{
    return __atomic_load_n(&requests.n_followed, __ATOMIC_RELAXED);
}

/* A child has none: those of its parent are the parent's. */
void ar_requests_forking(enum ar_fork_step step)
{
    if (step == AR_FORK_BEFORE) {
        lock();
        return;
    }
    if (step == AR_FORK_CHILD) {
        if (requests.n_used)
            memset(requests.buckets, 0, sizeof requests.buckets);
        requests.n_followed = requests.n_used = requests.free_list = 0;
    }
    unlock();
}
