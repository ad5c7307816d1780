// SPDX-License-Identifier: BSD-3-Clause
/*
 * What happens to the open path, from the root to the current node, when something is left that is
 * not its innermost part: returns were missed, a region outlives the function that began it, or one
 * ends inside a function that was called in it.
 *
 * Nodes are taken out of the path by closing all that is open inside them, and opening it again
 * without them; that is not another call.
 */
#include "runtime/tree.h"

#include "base/arena.h"
#include "runtime/c_cheap.h"

#include <stdlib.h>

static void close_node(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (node->ticks >= 0)
        return;
    ar_tree_touch(t, node);
    __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks + now), __ATOMIC_RELAXED);
    node->flags &= ~AR_NODE_RETURNED;
}

/* A node that is closed is open again, which is not another call. */
static void open_again(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    ar_tree_touch(t, node);
    __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks - now), __ATOMIC_RELAXED);
}

static struct ar_node *parent_of(const struct ar_node *node)
{
    return ar_live_ptr(node->parent_ref);
}

static bool is_above(const struct ar_node *above, const struct ar_node *node)
{
    while (node != above && node->parent_ref)
        node = parent_of(node);
    return node == above;
}

struct ar_node *ar_tree_find_open(const struct ar_thread *t, uint32_t function)
{
    for (struct ar_node *node = t->current; node != t->root; node = parent_of(node))
        if ((uint32_t)node->key == function)
            return node;
    return NULL;
}

bool ar_tree_recurses(const struct ar_node *node)
{
    uint32_t function = (uint32_t)node->key;

    while (node->parent_ref) {
        node = parent_of(node);
        if ((uint32_t)node->key == function)
            return true;
    }
    return false;
}

static void reopen(struct ar_thread *t, uint64_t key, uint64_t now)
{
    struct ar_node *node = ar_tree_child(t, key, now);

    if (!node)
        return;
    open_again(t, node, now);
    ar_tree_go(t, node, now);
}

/* ---- leaving ---------------------------------------------------------------------------------- */

/* Something that was inside what is left, and closed with it. What needs no return is not counted. */
static void drop(struct ar_thread *t, const struct ar_node *node, uint64_t *n_missed, uint64_t now)
{
    if (node->flags & AR_MARK_UNDER_OTHER && ar_tree_task_left)
        ar_tree_task_left(t, now);
    if (!(node->flags & AR_MARKS_BETWEEN))
        ++*n_missed;
}

/*
 * Closes all inside `node`, an ancestor of the current one. Where that is a function in C it has
 * switched C stacks, and what is inside has not returned: it may go on.
 */
static void unwind_to(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    uint64_t n_missed = 0;

    for (struct ar_node *open = t->current; open != node; open = parent_of(open)) {
        close_node(t, open, now);
        drop(t, open, &n_missed, now);
    }
    if (!(node->flags & AR_MARK_BUILTIN))
        ar_livemap_lost(AR_LOST_FRAMES, n_missed);
    ar_tree_go(t, node, now);
}

void ar_tree_unwind_all(struct ar_thread *t, uint64_t now)
{
    unwind_to(t, t->root, now);
    close_node(t, t->root, now);
}

typedef bool keeps_fn(const struct ar_node *node, const struct ar_node *outermost);

static bool keeps_regions(const struct ar_node *node, const struct ar_node *outermost)
{
    (void)outermost;
    return node->flags & AR_MARK_REGION;
}

static bool keeps_all_but_outermost(const struct ar_node *node, const struct ar_node *outermost)
{
    return node != outermost;
}

/*
 * Leaves `outermost`; what is open in it and to be kept is open in its parent afterwards. Without
 * memory nothing is kept.
 */
static void take_out(struct ar_thread *t, struct ar_node *outermost, keeps_fn *keeps, uint64_t now)
{
    struct ar_node *parent = parent_of(outermost);
    size_t n_keys = 0, n_open = 0;
    uint64_t n_missed = 0;

    for (const struct ar_node *node = t->current; node != parent; node = parent_of(node))
        n_open++;

    uint64_t *keys = malloc((n_open + 1) * sizeof *keys);

    for (struct ar_node *node = t->current; node != parent; node = parent_of(node)) {
        close_node(t, node, now);
        if (keys && keeps(node, outermost)) /* a place in a function that is left says nothing */
            keys[n_keys++] = keeps == keeps_regions ? (uint32_t)node->key : node->key;
        else if (node != outermost)
            drop(t, node, &n_missed, now);
    }
    ar_livemap_lost(AR_LOST_FRAMES, n_missed);
    ar_tree_go(t, parent, now);
    while (n_keys)
        reopen(t, keys[--n_keys], now);
    free(keys);
}

static void suspend_regions(struct ar_thread *t, const struct ar_node *coroutine);

static bool has_region_inside(const struct ar_thread *t, const struct ar_node *node)
{
    for (const struct ar_node *open = t->current; open != node; open = parent_of(open))
        if (open->flags & AR_MARK_REGION)
            return true;
    return false;
}

/*
 * The path to the current node is not the one that goes on: that to `node` is. Functions in C on it have
 * returned: they are on it because what they called has a C stack of its own, and its time is part of theirs.
 */
static void change_path(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    struct ar_node *above = t->current; /* of both paths */

    t->came_from = t->current;
    for (; !is_above(above, node); above = parent_of(above))
        close_node(t, above, now);
    for (struct ar_node *open = node; open != above; open = parent_of(open))
        if (open->ticks >= 0) {
            open->flags |= open->flags & AR_MARK_BUILTIN ? AR_NODE_RETURNED : 0;
            open_again(t, open, now);
        }
    ar_tree_go(t, node, now);
}

static bool has_returned(const struct ar_node *node)
{
    return node->flags & AR_MARK_BUILTIN && ar_tree_has_returned(node);
}

void ar_tree_go_back(struct ar_thread *t, struct ar_node *gone, uint64_t now)
{
    struct ar_node *node = t->came_from && !is_above(gone, t->came_from) ? t->came_from : gone;

    while (has_returned(node))
        node = parent_of(node);
    change_path(t, node, now);
    t->came_from = NULL;
}

void ar_tree_pass_builtins(struct ar_thread *t, uint64_t now)
{
    struct ar_node *node = t->current;

    if (t->passed)
        return;
    if (node->flags & AR_NODE_SAMPLED)
        ar_c_calls_something(t, node, now);
    for (; node->flags & AR_MARK_BUILTIN && !(node->flags & AR_MARK_OPERATION) &&
           !ar_tree_has_returned(node);
         node = parent_of(node)) {
        t->passed = node;
        close_node(t, node, now);
    }
    ar_tree_go(t, node, now);
}

/* Is that the return of a function in C that was closed before? Rare, and kept out of the way of others. */
__attribute__((noinline, cold)) static bool was_passed(struct ar_thread *t,
                                                       const struct ar_node *node)
{
    if (!is_above(t->passed, node))
        return false;
    if (node == t->passed)
        t->passed = NULL;
    return true;
}

/*
 * In a program that switches C stacks, as greenlets do, the node may have been closed already, or
 * not be above the current one at all: then its own clock is stopped. If it is a function in C, that is
 * the one that switched: what called it goes on. Where nodes have been taken out of the path, the
 * function goes on in another one.
 */
void ar_tree_leave_outer(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (__builtin_expect(t->passed != NULL, 0) && was_passed(t, node))
        return;
    if (!is_above(node, t->current)) {
        struct ar_node *moved = t->has_moved ? ar_tree_find_open(t, (uint32_t)node->key) : NULL;

        close_node(t, node, now);
        if (!moved && node->flags & AR_MARK_BUILTIN)
            change_path(t, parent_of(node), now);
        if (!moved)
            return;
        node = moved;
    }
    if (has_region_inside(t, node)) {
        if (!(t->task && node->flags & AR_MARK_SUSPENDS)) {
            take_out(t, node, keeps_regions, now);
            return;
        }
        suspend_regions(t, node);
    }
    unwind_to(t, node, now);
    close_node(t, node, now);
    ar_tree_go(t, parent_of(node), now);
}

/* ---- tasks that wait ------------------------------------------------------------------------- */

struct ar_suspended {
    const void *task;
    uint32_t coroutine; /* its function: the node may be another one next time */
    uint64_t key;
};

/* The regions that are open in a coroutine, innermost first. Without memory they are closed. */
static void suspend_regions(struct ar_thread *t, const struct ar_node *coroutine)
{
    for (const struct ar_node *node = t->current; node != coroutine; node = parent_of(node)) {
        if (!(node->flags & AR_MARK_REGION))
            continue;
        if (ar_grow((void **)&t->suspended, &t->cap_suspended, t->n_suspended + 1,
                    sizeof *t->suspended) < 0)
            return;
        t->suspended[t->n_suspended++] = (struct ar_suspended){
            .task = t->task, .coroutine = (uint32_t)coroutine->key, .key = node->key};
    }
}

bool ar_tree_has_suspended(const struct ar_thread *t, const void *task)
{
    for (size_t i = 0; i < t->n_suspended; i++)
        if (t->suspended[i].task == task)
            return true;
    return false;
}

/* Outermost first, which were put there last. */
void ar_tree_resume_regions(struct ar_thread *t, const struct ar_node *node, uint64_t now)
{
    for (size_t i = t->n_suspended; i-- > 0;) {
        struct ar_suspended found = t->suspended[i];

        if (found.task != t->task || found.coroutine != (uint32_t)node->key)
            continue;
        for (size_t k = i + 1; k < t->n_suspended; k++)
            t->suspended[k - 1] = t->suspended[k];
        t->n_suspended--;
        reopen(t, found.key, now);
    }
    if (!ar_tree_has_suspended(t, t->task))
        ar_tree_seen_again(t, AR_UNSEEN_RESUMING);
}

/* ---- regions ---------------------------------------------------------------------------------- */

struct ar_unseen_region {
    uint32_t region;
    uint32_t n_open; /* of the same number in the tree, which all began before it */
};

/* A program that never ends them does not take memory for ever. */
#define MOST_UNSEEN_REGIONS 65536

static uint32_t count_open(const struct ar_thread *t, uint32_t region)
{
    uint32_t n = 0;

    for (const struct ar_node *node = t->current; node != t->root; node = parent_of(node))
        n += (uint32_t)node->key == region;
    return n;
}

void ar_tree_begin_unseen_region(struct ar_thread *t, uint32_t region)
{
    if (t->n_unseen_regions == MOST_UNSEEN_REGIONS ||
        ar_grow((void **)&t->unseen_regions, &t->cap_unseen_regions, t->n_unseen_regions + 1,
                sizeof *t->unseen_regions) < 0)
        return;
    t->unseen_regions[t->n_unseen_regions++] =
        (struct ar_unseen_region){.region = region, .n_open = count_open(t, region)};
}

bool ar_tree_end_unseen_region(struct ar_thread *t, uint32_t region)
{
    size_t i = t->n_unseen_regions;

    while (i > 0 && t->unseen_regions[i - 1].region != region)
        i--;
    if (i == 0 || count_open(t, region) > t->unseen_regions[i - 1].n_open)
        return false;
    for (; i < t->n_unseen_regions; i++)
        t->unseen_regions[i - 1] = t->unseen_regions[i];
    t->n_unseen_regions--;
    return true;
}

bool ar_tree_end_region(struct ar_thread *t, uint32_t region, uint64_t now)
{
    struct ar_node *node = ar_tree_find_open(t, region);

    if (!node) {
        ar_livemap_lost(AR_LOST_REGIONS, 1);
        return false;
    }
    if (node == t->current) {
        ar_tree_leave(t, node, now);
        return true;
    }
    t->has_moved = true;
    take_out(t, node, keeps_all_but_outermost, now);
    return true;
}
