// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_syncs.h"

#include "runtime/tree.h"

#include <stdlib.h>
#include <string.h>

/* Of all threads, of what the live file may become: a quarter. */
#define SHARE_OF_FILE 4
static uint64_t n_bytes_used;

/* ---- summing up ------------------------------------------------------------------------------ */

/* What the node has had in this interval, by `now`: an open one is negative, see livefile.h. */
static int64_t delta_of(const struct ar_node *node, uint64_t start, uint64_t now)
{
    int64_t before = (int64_t)node->interval_ticks, after = node->ticks;

    if (before < 0)
        before = (int64_t)((uint64_t)before + start);
    if (after < 0)
        after = (int64_t)((uint64_t)after + now);
    return after - before;
}

static struct ar_node *touched_node(const struct ar_thread *t, uint32_t i)
{
    return ar_live_ptr(t->touched[i]);
}

static uint32_t n_touched(const struct ar_thread *t)
{
    return t->n_touched < AR_MAX_TOUCHED ? t->n_touched : AR_MAX_TOUCHED;
}

/*
 * Inclusive times become exclusive ones, in `interval_ticks`, which has served its purpose. Returns
 * what is left for the one node that has been open all the time and called these.
 */
static int64_t make_exclusive(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    int64_t left = (int64_t)(now - syncs->interval_start);
    uint32_t n = n_touched(t);

    for (uint32_t i = 0; i < n; i++) {
        struct ar_node *node = touched_node(t, i);

        syncs->deltas[i] = delta_of(node, syncs->interval_start, now);
        node->interval_ticks = (uint64_t)syncs->deltas[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        struct ar_node *parent = ar_live_ptr(touched_node(t, i)->parent_ref);

        if (parent->epoch == t->epoch)
            parent->interval_ticks -= (uint64_t)syncs->deltas[i];
        else
            left -= syncs->deltas[i];
    }
    return left;
}

/* Keeps the largest ones, in order. */
static void offer(struct ar_sync_part *parts, uint8_t *n_parts, uint32_t ref, int64_t ticks)
{
    uint8_t at = *n_parts;

    if (ticks <= 0 || (at == AR_MAX_SYNC_PARTS && (float)ticks <= parts[at - 1].ticks))
        return;
    if (at == AR_MAX_SYNC_PARTS)
        at--;
    else
        ++*n_parts;
    for (; at > 0 && parts[at - 1].ticks < (float)ticks; at--)
        parts[at] = parts[at - 1];
    parts[at] = (struct ar_sync_part){ref, (float)ticks};
}

/* ---- what was before ------------------------------------------------------------------------- */

static int64_t ticks_by(const struct ar_node *node, uint64_t now)
{
    return node->ticks < 0 ? (int64_t)((uint64_t)node->ticks + now) : node->ticks;
}

/*
 * `interval_ticks` serves nobody yet: it has what the node's children took. Nor does `epoch`: a node that is found by
 * several keys is in the table as often, and counts once.
 */
static void sum_up_first(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    const struct ar_node_table *all = &t->children;

    syncs->n_first = 0;
    t->root->interval_ticks = 0;
    for (size_t i = 0; i < all->n_slots; i++)
        if (all->slots[i].ref) {
            struct ar_node *node = ar_live_ptr(all->slots[i].ref);

            node->interval_ticks = node->epoch = 0;
        }
    for (size_t i = 0; i < all->n_slots; i++) {
        struct ar_node *node = all->slots[i].ref ? ar_live_ptr(all->slots[i].ref) : NULL;

        if (node && !node->epoch) {
            node->epoch = 1;
            ((struct ar_node *)ar_live_ptr(node->parent_ref))->interval_ticks +=
                (uint64_t)ticks_by(node, now);
        }
    }
    for (size_t i = 0; i < all->n_slots; i++) {
        struct ar_node *node = all->slots[i].ref ? ar_live_ptr(all->slots[i].ref) : NULL;

        if (node && node->epoch) {
            node->epoch = 0;
            offer(syncs->first, &syncs->n_first, all->slots[i].ref,
                  ticks_by(node, now) - (int64_t)node->interval_ticks);
        }
    }
}

/* ---- an interval ----------------------------------------------------------------------------- */

static uint32_t innermost_untouched(const struct ar_thread *t)
{
    const struct ar_node *node = t->current;

    while (node->epoch == t->epoch && node->parent_ref)
        node = ar_live_ptr(node->parent_ref);
    return ar_live_ref(node);
}

/* The call itself is not what came before it. */
static uint8_t sum_up(struct ar_thread *t, struct ar_syncs *syncs, const struct ar_sync *sync,
                      struct ar_sync_part *parts)
{
    uint8_t n_parts = 0;
    int64_t left = make_exclusive(t, syncs, sync->exit_ticks);
    uint32_t innermost = innermost_untouched(t);

    for (uint8_t i = 0; i < syncs->n_first; i++) {
        struct ar_node *node = ar_live_ptr(syncs->first[i].node_ref);

        if (node->epoch == t->epoch)
            node->interval_ticks += (uint64_t)syncs->first[i].ticks;
        else if (syncs->first[i].node_ref == innermost)
            left += (int64_t)syncs->first[i].ticks;
        else
            offer(parts, &n_parts, syncs->first[i].node_ref, (int64_t)syncs->first[i].ticks);
    }
    syncs->n_first = 0;
    offer(parts, &n_parts, innermost, left);
    for (uint32_t i = 0; i < n_touched(t); i++)
        if (t->touched[i] != sync->node_ref)
            offer(parts, &n_parts, t->touched[i], (int64_t)touched_node(t, i)->interval_ticks);
    return n_parts;
}

static void new_interval(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    t->n_touched = 0;
    if (++t->epoch == 0)
        t->epoch = 1;
    syncs->interval_start = now;
}

/* ---- the thread ------------------------------------------------------------------------------ */

void ar_syncs_begin(struct ar_thread *t, struct ar_syncs *syncs, uint64_t now)
{
    t->touched = malloc(AR_MAX_TOUCHED * sizeof *t->touched);
    syncs->deltas = malloc(AR_MAX_TOUCHED * sizeof *syncs->deltas);
    if (!t->touched || !syncs->deltas) {
        ar_syncs_end(t, syncs);
        return;
    }
    sum_up_first(t, syncs, now);
    syncs->interval_start = now;
    t->n_touched = 0;
    t->epoch = 1;
}

void ar_syncs_end(struct ar_thread *t, struct ar_syncs *syncs)
{
    t->epoch = 0;
    free(t->touched);
    free(syncs->deltas);
    t->touched = NULL;
    syncs->deltas = NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool may_add(size_t n_bytes)
{
    uint64_t limit = ar_live_header()->n_bytes_max / SHARE_OF_FILE;

    if (__atomic_load_n(&n_bytes_used, __ATOMIC_RELAXED) + n_bytes > limit)
        return false;
    __atomic_fetch_add(&n_bytes_used, n_bytes, __ATOMIC_RELAXED);
    return true;
}

void ar_sync_add(struct ar_thread *t, struct ar_syncs *syncs, const struct ar_sync *sync)
{
    struct {
        struct ar_sync sync;
        struct ar_sync_part parts[AR_MAX_SYNC_PARTS];
    } record = {.sync = *sync};

    if (t->epoch && sync->exit_ticks - syncs->interval_start >= AR_INTERVAL_TICKS) {
        record.sync.n_parts = sum_up(t, syncs, sync, record.parts);
        new_interval(t, syncs, sync->exit_ticks);
    }

    size_t n_bytes = sizeof record.sync + record.sync.n_parts * sizeof *record.parts;
    void *room = may_add(n_bytes)
                     ? ar_extent_take(&syncs->stream, AR_EXTENT_STREAM, t->slot->number, n_bytes)
                     : NULL;

    if (!room) {
        ar_livemap_lost(AR_LOST_SYNCS, 1);
        return;
    }
    memcpy(room, &record, n_bytes);
    ar_extent_publish(syncs->stream, n_bytes);
}
