// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tree.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread that calls little takes a page; later extents grow with the tree. */
#define FIRST_NODES_BYTES ((size_t)4000)
#define LARGEST_NODES_BYTES ((size_t)256 << 10)
#define THREADS_BYTES ((size_t)4000)
/*
 * From here on new nodes are for calls from all places together; 3 MiB of them are more than
 * anybody reads.
 */
#define MANY_NODES 50000

__thread struct ar_thread *ar_self __attribute__((tls_model("initial-exec")));
/* This thread found no room: it is not tried again at each event. */
static __thread bool refused __attribute__((tls_model("initial-exec")));
bool ar_tree_has_holes;

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_key_t key; /* tells us when a thread ends */
    struct ar_extent *slots;
    uint32_t n_threads;
    struct ar_idmap marks; /* of functions */
    bool stopped;          /* no further thread is recorded */
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Takes room in the thread's current extent of a kind, or in a new one twice as large. */
static void *take(struct ar_extent **extent, enum ar_extent_kind kind, uint32_t owner,
                  size_t n_bytes)
{
    void *room = ar_extent_reserve(*extent, n_bytes);

    if (room)
        return room;

    size_t n = *extent ? 2 * (*extent)->n_bytes : FIRST_NODES_BYTES;
    struct ar_extent *next =
        ar_livemap_extent(kind, owner, n < LARGEST_NODES_BYTES ? n : LARGEST_NODES_BYTES);

    if (!next)
        next = ar_livemap_extent(kind, owner, n_bytes); /* the last pages of the file */
    if (!next)
        return NULL;
    *extent = next;
    return ar_extent_reserve(next, n_bytes);
}

void ar_tree_mark(uint32_t function, enum ar_tree_mark mark)
{
    pthread_mutex_lock(&threads.lock);
    enum ar_status status = ar_idmap_put(&threads.marks, function, mark);
    pthread_mutex_unlock(&threads.lock);
    (void)status; /* without memory the tree becomes larger than it need be, no more */
}

static uint32_t mark_of(uint32_t function)
{
    pthread_mutex_lock(&threads.lock);
    uint32_t mark = ar_idmap_get(&threads.marks, function, 0);
    pthread_mutex_unlock(&threads.lock);
    return mark;
}

static uint32_t flags_of(uint32_t function)
{
    return mark_of(function) == AR_MARK_ANY_PLACE ? AR_NODE_ANY_PLACE : 0;
}

static struct ar_node *new_node(struct ar_thread *t, uint64_t key, const struct ar_node *parent)
{
    struct ar_node *node = take(&t->nodes, AR_EXTENT_NODES, t->slot->number, sizeof *node);

    if (!node)
        return NULL;
    *node = (struct ar_node){
        .key = key,
        .parent_ref = parent ? ar_live_ref(parent) : 0,
        .flags = parent ? (parent->flags & AR_NODE_ANY_PLACE) | flags_of((uint32_t)key) : 0,
    };
    ar_extent_publish(t->nodes, sizeof *node);
    t->n_nodes++;
    return node;
}

/* The walk is bounded: what is open further up than this is taken to be recursion of some kind. */
static bool is_open_above(const struct ar_node *node, uint32_t function)
{
    for (int n = 0; node->parent_ref; n++) {
        if ((uint32_t)node->key == function || n == 256)
            return true;
        node = ar_live_ptr(node->parent_ref);
    }
    return false;
}

static struct ar_node *find_child(const struct ar_thread *t, uint32_t parent_ref, uint64_t key,
                                  uint64_t *hash)
{
    for (*hash = ar_pair_key(parent_ref, key);; ++*hash) {
        uint32_t ref = ar_idmap_get(&t->children, *hash ? *hash : 1, AR_NO_ID);

        if (ref == AR_NO_ID)
            return NULL;

        struct ar_node *node = ar_live_ptr(ref);

        if (node->parent_ref == parent_ref && (node->key == key || node->key == (uint32_t)key))
            return node;
    }
}

/* Also found by the key it was asked for with, where its own has no place. */
static struct ar_node *make_child(struct ar_thread *t, struct ar_node *parent, uint64_t key,
                                  uint64_t hash)
{
    uint64_t own_key = key, own_hash = hash;
    bool keeps_place = mark_of((uint32_t)key) == AR_MARK_KEEP_PLACE;
    bool all_places =
        !keeps_place && (parent->flags & AR_NODE_ANY_PLACE || is_open_above(parent, (uint32_t)key));
    struct ar_node *node = NULL;

    if (all_places || (t->n_nodes > MANY_NODES && !keeps_place)) {
        own_key = (uint32_t)key;
        node = find_child(t, ar_live_ref(parent), own_key, &own_hash);
    }
    if (!node) {
        node = new_node(t, own_key, parent);
        if (!node || ar_idmap_put(&t->children, own_hash ? own_hash : 1, ar_live_ref(node)) < 0)
            return NULL;
        if (all_places)
            node->flags |= AR_NODE_ALL_PLACES;
    }
    if (own_key != key && ar_idmap_put(&t->children, hash ? hash : 1, ar_live_ref(node)) < 0)
        return NULL;
    return node;
}

struct ar_node *ar_tree_child(struct ar_thread *t, uint64_t key)
{
    struct ar_node *parent = t->current;
    uint64_t hash;
    struct ar_node *node = find_child(t, ar_live_ref(parent), key, &hash);

    if (!node)
        node = make_child(t, parent, key, hash);
    if (!node) {
        ar_livemap_lost(AR_LOST_NODES, 1);
        ar_tree_has_holes = true;
        return NULL;
    }
    if (parent->left_ref)
        ((struct ar_node *)ar_live_ptr(parent->left_ref))->successor_ref = ar_live_ref(node);
    return node;
}

struct ar_values *ar_tree_values(struct ar_thread *t, struct ar_node *node,
                                 enum ar_values_kind kind)
{
    for (uint32_t ref = node->values_ref; ref;) {
        struct ar_values *values = ar_live_ptr(ref);

        if (values->kind == (uint32_t)kind)
            return values;
        ref = values->next_ref;
    }

    struct ar_values *values = take(&t->values, AR_EXTENT_VALUES, t->slot->number, sizeof *values);

    if (!values)
        return NULL;
    *values = (struct ar_values){.kind = kind, .next_ref = node->values_ref};
    ar_extent_publish(t->values, sizeof *values);
    __atomic_store_n(&node->values_ref, ar_live_ref(values), __ATOMIC_RELEASE);
    return values;
}

static void close_node(struct ar_node *node, uint64_t now)
{
    if (node->ticks < 0)
        __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks + now), __ATOMIC_RELAXED);
}

static bool is_above(const struct ar_node *node, const struct ar_node *below)
{
    while (below != node && below->parent_ref)
        below = ar_live_ptr(below->parent_ref);
    return below == node;
}

/* Closes all that is open inside `node`, an ancestor of the current one. Their returns were missed. */
static void unwind_to(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    uint64_t n_missed = 0;

    for (struct ar_node *open = t->current; open != node; n_missed++) {
        close_node(open, now);
        open = ar_live_ptr(open->parent_ref);
    }
    ar_livemap_lost(AR_LOST_FRAMES, n_missed);
    ar_tree_move(t, node, now);
}

/*
 * In a program that switches C stacks, as greenlets do, the node may have been closed already, or
 * not be above the current one at all: then only its own clock is stopped.
 */
void ar_tree_leave_outer(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (!is_above(node, t->current)) {
        close_node(node, now);
        return;
    }
    unwind_to(t, node, now);
    close_node(node, now);
    ar_tree_move(t, ar_live_ptr(node->parent_ref), now);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void thread_ended(void *thread)
{
    ar_thread_detach(thread);
}

static void make_key(void)
{
    pthread_key_create(&threads.key, thread_ended);
}

static struct ar_live_thread *new_slot(void)
{
    struct ar_live_thread *slot;

    pthread_mutex_lock(&threads.lock);
    slot = ar_extent_reserve(threads.slots, sizeof *slot);
    if (!slot) {
        struct ar_extent *extent = ar_livemap_extent(AR_EXTENT_THREADS, 0, THREADS_BYTES);

        if (extent)
            threads.slots = extent;
        slot = ar_extent_reserve(extent, sizeof *slot);
    }
    if (slot) {
        *slot = (struct ar_live_thread){.number = threads.n_threads++};
        ar_extent_publish(threads.slots, sizeof *slot);
    }
    pthread_mutex_unlock(&threads.lock);
    return slot;
}

/*
 * Half of the stack. The other half is left to calls that we do not see: on it the program gets as
 * deep as it would without us.
 */
static char *find_stack_guard(void)
{
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t n_bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return NULL;
    if (pthread_attr_getstack(&attr, &lowest, &n_bytes) != 0)
        lowest = NULL;
    pthread_attr_destroy(&attr);
    return lowest ? (char *)lowest + n_bytes / 2 : NULL;
}

static bool open_tree(struct ar_thread *t)
{
    uint64_t now = ar_ticks();

    t->root = new_node(t, 0, NULL);
    if (!t->root)
        return false;
    t->root->n_calls = 1;
    t->root->ticks = (int64_t)(0 - now);
    t->slot->os_tid = (uint32_t)syscall(SYS_gettid);
    t->slot->start_ticks = now;
    ar_tree_move(t, t->root, now);
    snprintf(t->slot->name, sizeof t->slot->name, t->slot->number ? "thread %u" : "MainThread",
             t->slot->number);
    __atomic_store_n(&t->slot->root_ref, ar_live_ref(t->root), __ATOMIC_RELEASE);
    return true;
}

struct ar_thread *ar_thread_attach(void)
{
    if (!ar_live_base || threads.stopped || refused)
        return NULL;
    pthread_once(&threads.once, make_key);

    struct ar_thread *t = calloc(1, sizeof *t);

    if (t)
        t->slot = new_slot();
    if (!t || !t->slot || !open_tree(t)) {
        free(t);
        refused = true;
        ar_livemap_lost(AR_LOST_THREADS, 1);
        return NULL;
    }
    t->stack_guard = find_stack_guard();
    pthread_setspecific(threads.key, t);
    ar_self = t;
    return t;
}

void ar_thread_detach(struct ar_thread *t)
{
    if (ar_live_base) {
        uint64_t now = ar_ticks();

        unwind_to(t, t->root, now);
        close_node(t->root, now);
        t->slot->end_ticks = now;
    }
    ar_self = NULL;
    ar_idmap_free(&t->children);
    free(t);
}

void ar_thread_name(struct ar_thread *t, const char *name)
{
    snprintf(t->slot->name, sizeof t->slot->name, "%s", name);
}

void ar_threads_stop(void)
{
    threads.stopped = true;
    pthread_setspecific(threads.key, NULL);
    ar_self = NULL;
}

void ar_threads_forget(void)
{
    pthread_once(&threads.once, make_key);
    pthread_setspecific(threads.key, NULL);
    ar_self = NULL;
    threads.slots = NULL;
    pthread_mutex_init(&threads.lock, NULL);
}
