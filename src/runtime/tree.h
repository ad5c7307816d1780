// SPDX-License-Identifier: BSD-3-Clause
/*
 * tree: one calling-context tree a thread, in the live file; the path that every event takes.
 *
 * Entering finds the child of the current node by its key and opens it, leaving closes it. Both are
 * inline: they are what an event costs beyond the interpreter's hook and the clock. Programs do
 * things in the order they did them last time, so each node remembers the sibling that followed it;
 * a guess that fails is looked up in a hash map of the thread's own.
 *
 * A key says from where a function was called. In recursion that would make a node of every
 * sequence of places, 2^n of them for a function that calls itself twice (tried: fib(23) took
 * 92,735 nodes and twice the time), so a function that is already open above has one node for all
 * places. So has everything below functions that are marked, which are those of the import system:
 * modules call from hundreds of lines, once. And so has every new node once the tree is large.
 *
 *     struct ar_thread *t = ar_thread_self();      // attached at first sight; NULL: not recorded
 *     struct ar_node *node = ar_tree_enter(t, key, ar_ticks());
 *     ...
 *     ar_tree_leave(t, node, ar_ticks());
 *
 * When the file is full ar_tree_enter returns NULL: the call is not recorded, its time is its
 * caller's, and it is counted. A node must be left by the thread that entered it; leaving one that
 * is not the innermost closes those inside it.
 *
 * Threads: a tree belongs to its thread alone. Signals: not from a handler.
 */
#pragma once

#include "base/idmap.h"
#include "format/livefile.h"
#include "runtime/livemap.h"

#include <stdbool.h>

struct ar_thread {
    struct ar_node *current;
    struct ar_live_thread *slot;
    uint32_t n_unseen; /* calls open inside `current` that found no room; see engine_monitoring.c */
    bool in_mpi;       /* inside a wrapper: what MPI calls by itself is not the user's call */
    struct ar_node *root;
    char *stack_guard;        /* below this address the C stack is nearly used up */
    struct ar_idmap children; /* (parent, key) to node */
    uint32_t n_nodes;
    struct ar_extent *nodes, *values;
};

/*
 * Initial-exec: one instruction instead of a call into the dynamic linker. It takes eight bytes of
 * static TLS.
 */
extern __thread struct ar_thread *ar_self __attribute__((tls_model("initial-exec")));

struct ar_thread *ar_thread_attach(void);
/* Ends this thread's record; called by the system when a thread ends. */
void ar_thread_detach(struct ar_thread *t);
void ar_thread_name(struct ar_thread *t, const char *name);
/* No thread is attached from now on, and this one records no more. */
void ar_threads_stop(void);
/* In the child of a fork: nothing of the parent's is to be used. */
void ar_threads_forget(void);

enum ar_tree_mark {
    AR_MARK_ANY_PLACE = 1,  /* below this function calls are not told apart by place */
    AR_MARK_KEEP_PLACE = 2, /* calls of it always are: it calls nothing, so it multiplies nothing */
};
void ar_tree_mark(uint32_t function, enum ar_tree_mark mark);
/* The child of the current node with that key, made if need be; NULL when the file is full. */
struct ar_node *ar_tree_child(struct ar_thread *t, uint64_t key);
/* The values of that kind of a node, made if need be; NULL when the file is full. */
struct ar_values *ar_tree_values(struct ar_thread *t, struct ar_node *node,
                                 enum ar_values_kind kind);
/* Leaves a node that is not the innermost one. */
void ar_tree_leave_outer(struct ar_thread *t, struct ar_node *node, uint64_t now);

/* Calls went unrecorded: a function's caller need not be the current node. */
extern bool ar_tree_has_holes;

static inline struct ar_thread *ar_thread_self(void)
{
    struct ar_thread *t = ar_self;

    return __builtin_expect(t != NULL, 1) ? t : ar_thread_attach();
}

static inline void ar_tree_move(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    t->current = node;
    __atomic_store_n(&t->slot->current_ref, ar_live_ref(node), __ATOMIC_RELAXED);
    __atomic_store_n(&t->slot->latest_ticks, now, __ATOMIC_RELAXED);
}

static inline struct ar_node *ar_tree_enter(struct ar_thread *t, uint64_t key, uint64_t now)
{
    struct ar_node *child = ar_live_ptr(t->current->guess_ref);

    if (__builtin_expect(child->key != key, 0) &&
        !(child->key == (uint32_t)key && child->flags & AR_NODE_ALL_PLACES)) {
        child = ar_tree_child(t, key);
        if (!child)
            return NULL;
    }
    __atomic_store_n(&child->n_calls, child->n_calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&child->ticks, (int64_t)((uint64_t)child->ticks - now), __ATOMIC_RELAXED);
    ar_tree_move(t, child, now);
    return child;
}

static inline void ar_tree_leave(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (__builtin_expect(t->current != node, 0)) {
        ar_tree_leave_outer(t, node, now);
        return;
    }

    struct ar_node *parent = ar_live_ptr(node->parent_ref);

    __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks + now), __ATOMIC_RELAXED);
    parent->guess_ref = node->successor_ref;
    parent->left_ref = ar_live_ref(node);
    ar_tree_move(t, parent, now);
}
