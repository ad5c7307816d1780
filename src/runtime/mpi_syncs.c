// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_syncs.h"

#include "runtime/tree.h"

#include <stdlib.h>
#include <string.h>

/* Of all threads, of what the live file may become: a quarter. */
#define SHARE_OF_FILE 4
static uint64_t n_bytes_used;

#define NONE UINT32_MAX

/* By node, in the order of their refs in `refs`. */
struct ar_sync_scratch {
    uint32_t n;
    const uint32_t *refs;
    int64_t *whole;   /* ticks with what it called, in this interval */
    int64_t *own;     /* without; what is part of a record already is taken out */
    uint32_t *above;  /* its caller, if that is here; NONE: it was open all the time */
    uint32_t *below;  /* how many of those that it called are not done with */
    uint32_t *others; /* a queue, or the first of each function, by hash: four for each node */
    /* What was done by the one function that was open all the time and called these, and its ref. */
    int64_t left;
    uint32_t outer_ref;
    int64_t small; /* of what was kept from before, what is too small to be a part now */
};

static struct ar_node *node_at(const struct ar_sync_scratch *s, uint32_t i)
{
    return ar_live_ptr(s->refs[i]);
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* There is room for all that have a 32nd of the sum, and for some rests; beyond that it is the largest's. */
static void add_part(struct ar_sync_parts *to, uint32_t ref, bool is_rest, int64_t ticks)
{
    float more = is_rest ? -(float)ticks : (float)ticks;

    if (ticks <= 0)
        return;
    to->ticks += ticks;
    for (uint32_t i = 0; i < to->n; i++)
        if (to->items[i].node_ref == ref && (to->items[i].ticks < 0) == is_rest) {
            to->items[i].ticks += more;
            return;
        }
    if (to->n < AR_MAX_SYNC_PARTS)
        to->items[to->n++] = (struct ar_sync_part){ref, more};
}

/* ---- what nodes took -------------------------------------------------------------------------- */

/* What the node has had in this interval, by `now`: an open one is negative, see livefile.h. */
static int64_t whole_of(const struct ar_node *node, uint64_t start, uint64_t now)
{
    int64_t before = (int64_t)node->interval_ticks, after = node->ticks;

    if (before < 0)
        before = (int64_t)((uint64_t)before + start);
    if (after < 0)
        after = (int64_t)((uint64_t)after + now);
    return after - before;
}

/* From now on `interval_ticks` is the node's place in the scratch: it has served its purpose. */
static void measure(const struct ar_thread *t, struct ar_sync_scratch *s, uint64_t start,
                    uint64_t now)
{
    s->left = (int64_t)(now - start);
    for (uint32_t i = 0; i < s->n; i++) {
        struct ar_node *node = node_at(s, i);

        s->whole[i] = s->own[i] = whole_of(node, start, now);
        node->interval_ticks = i;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const struct ar_node *caller = ar_live_ptr(node_at(s, i)->parent_ref);

        s->above[i] = ar_node_epoch(caller) == t->epoch ? (uint32_t)caller->interval_ticks : NONE;
        if (s->above[i] == NONE)
            s->left -= s->whole[i];
        else
            s->own[s->above[i]] -= s->whole[i];
    }
}

/* And part of its caller. What methods of mpi4py do themselves is theirs. */
static bool is_in_c(uint32_t flags)
{
    return (flags & (AR_NODE_IN_C | AR_NODE_OPERATION)) == AR_NODE_IN_C;
}

/* The innermost function that was open all the time. */
static uint32_t find_outer(const struct ar_thread *t)
{
    const struct ar_node *node = t->current;

    while ((ar_node_epoch(node) == t->epoch || is_in_c(node->flags)) && node->parent_ref)
        node = ar_live_ptr(node->parent_ref);
    return ar_live_ref(node);
}

/*
 * A function in C is part of its caller; calls that leave records are not what was done between them. Returns what is
 * left in all.
 */
static int64_t leave_out(struct ar_sync_scratch *s)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t flags = node_at(s, i)->flags, at = s->above[i];

        if (flags & AR_NODE_SYNCS) {
            s->own[i] = 0;
        } else if (is_in_c(flags)) {
            while (at != NONE && is_in_c(node_at(s, at)->flags))
                at = s->above[at];
            if (at == NONE)
                s->left += s->own[i];
            else
                s->own[at] += s->own[i];
            s->own[i] = 0;
        }
    }
    for (uint32_t i = 0; i < s->n; i++)
        sum += s->own[i];
    return sum + s->left;
}

/* ---- small ones ------------------------------------------------------------------------------- */

static uint32_t function_of(const struct ar_sync_scratch *s, uint32_t i)
{
    return (uint32_t)node_at(s, i)->key;
}

/* Each function's small nodes are added up in the one that is met first; `below` is which that is. */
static void add_up_functions(struct ar_sync_scratch *s)
{
    uint32_t mask = 15;

    while (mask < 2 * s->n)
        mask = 2 * mask + 1;
    memset(s->others, 0xff, ((size_t)mask + 1) * sizeof *s->others);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t at = function_of(s, i) * 0x9e3779b1u >> 7 & mask;

        if (s->own[i] <= 0)
            continue;
        while (s->others[at] != NONE && function_of(s, s->others[at]) != function_of(s, i))
            at = (at + 1) & mask;
        if (s->others[at] == NONE) {
            s->others[at] = i;
            s->whole[i] = 0; /* has served its purpose */
        }
        s->below[i] = s->others[at];
        s->whole[s->others[at]] += s->own[i];
    }
}

/* Functions that have a good part in all, though on no single path. */
static void take_functions(struct ar_sync_scratch *s, int64_t least, struct ar_sync_parts *to)
{
    add_up_functions(s);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t first = s->own[i] > 0 ? s->below[i] : NONE;

        if (first == NONE || s->whole[first] < least)
            continue;
        add_part(to, s->refs[first], false, s->own[i]);
        s->own[i] = 0;
    }
}

/* From the leaves: who has a good part, with what it called, is where the rest is; who has less leaves it to its caller. */
static void take_rests(struct ar_sync_scratch *s, int64_t least, uint32_t top_ref,
                       struct ar_sync_parts *to)
{
    uint32_t n = 0;
    int64_t left = s->left + s->small;

    memset(s->below, 0, s->n * sizeof *s->below);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->above[i] != NONE)
            s->below[s->above[i]]++;
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->below[i])
            s->others[n++] = i;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = s->others[k], above = s->above[i];

        if (s->own[i] >= least)
            add_part(to, s->refs[i], true, s->own[i]);
        else if (above == NONE)
            left += s->own[i];
        else
            s->own[above] += s->own[i];
        if (above != NONE && --s->below[above] == 0)
            s->others[n++] = above;
    }
    add_part(to, top_ref, true, left);
}

/* The deepest function that contains nearly the whole interval: what is small anywhere is in that one. */
static uint32_t find_top(const struct ar_sync_scratch *s, int64_t interval)
{
    int64_t smallest = INT64_MAX;
    uint32_t top = s->outer_ref;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->whole[i] >= interval - interval / 64 && s->whole[i] < smallest &&
            !is_in_c(node_at(s, i)->flags) && !(node_at(s, i)->flags & AR_NODE_SYNCS)) {
            top = s->refs[i];
            smallest = s->whole[i];
        }
    return top;
}

/* ---- an interval ------------------------------------------------------------------------------ */

static void take_kept(struct ar_sync_scratch *s, const struct ar_sync_parts *kept, int64_t least,
                      struct ar_sync_parts *to)
{
    s->small = 0;
    for (uint32_t i = 0; i < kept->n; i++) {
        bool is_rest = kept->items[i].ticks < 0;
        int64_t ticks = (int64_t)(is_rest ? -kept->items[i].ticks : kept->items[i].ticks);

        if (ticks >= least)
            add_part(to, kept->items[i].node_ref, is_rest, ticks);
        else
            s->small += ticks;
    }
}

/* Returns what is left, in pieces that are too small. */
static int64_t take_large(struct ar_sync_scratch *s, int64_t least, struct ar_sync_parts *to)
{
    int64_t small = s->small;

    if (s->left >= least) {
        add_part(to, s->outer_ref, false, s->left);
        s->left = 0;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->own[i] >= least) {
            add_part(to, s->refs[i], false, s->own[i]);
            s->own[i] = 0;
        }
        small += s->own[i];
    }
    return small + s->left;
}

/* All that the scratch has nodes of, and what was kept from before. */
static void sum_up(const struct ar_thread *t, struct ar_syncs *syncs, struct ar_sync_scratch *s,
                   uint64_t now, struct ar_sync_parts *to)
{
    const struct ar_sync_parts kept = syncs->kept;

    s->outer_ref = find_outer(t);
    measure(t, s, syncs->interval_start, now);

    int64_t interval = (int64_t)(now - syncs->interval_start);
    int64_t least = (leave_out(s) + kept.ticks) / AR_LEAST_PART + 1;
    uint32_t top_ref = find_top(s, interval);

    to->n = 0;
    to->ticks = 0;
    take_kept(s, &kept, least, to);

    int64_t small = take_large(s, least, to);

    if (small < least) {
        add_part(to, top_ref, true, small);
        return;
    }
    take_functions(s, least, to);
    take_rests(s, least, top_ref, to);
}

static void new_interval(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    t->n_touched = 0;
    if (++t->epoch == 0)
        t->epoch = 1;
    syncs->interval_start = now;
    syncs->in_calls = 0;
}

static void sum_up_touched(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now,
                           struct ar_sync_parts *to)
{
    syncs->scratch->n = t->n_touched;
    syncs->scratch->refs = t->touched;
    sum_up(t, syncs, syncs->scratch, now, to);
    new_interval(t, syncs, now);
}

/* There is no room for one more: what was done up to the last event is summed up, for the next record. */
static void touched_many(struct ar_thread *t)
{
    struct ar_sync_parts parts;

    sum_up_touched(t, t->syncs, t->slot->latest_ticks, &parts);
    t->syncs->kept = parts;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static void free_scratch(struct ar_sync_scratch *s)
{
    if (!s)
        return;
    free(s->whole);
    free(s->own);
    free(s->above);
    free(s->below);
    free(s->others);
    free(s);
}

static struct ar_sync_scratch *new_scratch(size_t n_nodes)
{
    struct ar_sync_scratch *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->whole = malloc(n_nodes * sizeof *s->whole);
    s->own = malloc(n_nodes * sizeof *s->own);
    s->above = malloc(n_nodes * sizeof *s->above);
    s->below = malloc(n_nodes * sizeof *s->below);
    s->others = malloc((4 * n_nodes + 16) * sizeof *s->others);
    if (s->whole && s->own && s->above && s->below && s->others)
        return s;
    free_scratch(s);
    return NULL;
}

/* A node that is found by several keys is in the table as often, and counts once. */
static uint32_t *list_nodes(const struct ar_thread *t, uint32_t *n)
{
    const struct ar_node_table *all = &t->children;
    uint32_t *refs = malloc((all->n_slots + 1) * sizeof *refs);

    *n = 0;
    for (size_t i = 0; refs && i < all->n_slots; i++) {
        struct ar_node *node = all->slots[i].ref ? ar_live_ptr(all->slots[i].ref) : NULL;

        if (!node || ar_node_epoch(node) == t->epoch)
            continue;
        ar_node_set_epoch(node, t->epoch);
        node->interval_ticks = 0;
        refs[(*n)++] = all->slots[i].ref;
    }
    return refs;
}

/* All that the thread did before anybody asked. */
static void keep_first(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    uint32_t n;
    uint32_t *refs = list_nodes(t, &n);
    struct ar_sync_scratch *s = refs ? new_scratch(n + 1) : NULL;
    struct ar_sync_parts parts;

    syncs->interval_start = t->slot->start_ticks;
    if (s) {
        s->n = n;
        s->refs = refs;
        sum_up(t, syncs, s, now, &parts);
        syncs->kept = parts;
    }
    free_scratch(s);
    free(refs);
}

void ar_syncs_begin(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    t->touched = malloc(AR_MAX_TOUCHED * sizeof *t->touched);
    syncs->scratch = new_scratch(AR_MAX_TOUCHED);
    if (!t->touched || !syncs->scratch) {
        ar_syncs_end(t, syncs);
        return;
    }
    ar_tree_touched_many = touched_many;
    t->syncs = syncs;
    t->epoch = 1;
    keep_first(t, syncs, now);
    new_interval(t, syncs, now);
}

void ar_syncs_end(struct ar_thread *t, struct ar_syncs *syncs)
{
    t->epoch = 0;
    free(t->touched);
    free_scratch(syncs->scratch);
    t->touched = NULL;
    syncs->scratch = NULL;
}

/* ---- records ---------------------------------------------------------------------------------- */

static bool may_add(size_t n_bytes)
{
    uint64_t limit = ar_live_header()->n_bytes_max / SHARE_OF_FILE;

    if (__atomic_load_n(&n_bytes_used, __ATOMIC_RELAXED) + n_bytes > limit)
        return false;
    __atomic_fetch_add(&n_bytes_used, n_bytes, __ATOMIC_RELAXED);
    return true;
}

/* Is what was done between calls, since a record last said so, worth saying? */
static bool is_worth_it(const struct ar_syncs *syncs, uint64_t now)
{
    uint64_t ticks = now - syncs->interval_start + (uint64_t)syncs->kept.ticks;

    return ticks >= AR_INTERVAL_TICKS + syncs->in_calls;
}

void ar_sync_add(struct ar_thread *t, struct ar_syncs *syncs, const struct ar_sync *sync)
{
    struct ar_node *node = ar_live_ptr(sync->node_ref);
    struct ar_sync_parts parts = {.n = 0};
    struct ar_sync head = *sync;

    node->flags |= AR_NODE_SYNCS;
    if (sync->enter_ticks >= syncs->latest_exit) /* it has not left a record yet */
        syncs->in_calls += sync->exit_ticks - sync->enter_ticks;
    syncs->latest_exit = sync->exit_ticks;
    if (t->epoch && is_worth_it(syncs, sync->exit_ticks)) {
        sum_up_touched(t, syncs, sync->exit_ticks, &parts);
        syncs->kept.n = 0;
        syncs->kept.ticks = 0;
    }
    head.n_parts = (uint8_t)parts.n;

    size_t n_bytes = sizeof head + parts.n * sizeof *parts.items;
    char *room = may_add(n_bytes)
                     ? ar_extent_take(&syncs->stream, AR_EXTENT_STREAM, t->slot->number, n_bytes)
                     : NULL;

    if (!room) {
        ar_livemap_lost(AR_LOST_SYNCS, 1);
        return;
    }
    memcpy(room, &head, sizeof head);
    memcpy(room + sizeof head, parts.items, parts.n * sizeof *parts.items);
    ar_extent_publish(syncs->stream, n_bytes);
}
