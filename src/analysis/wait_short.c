// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_short.h"

#include "analysis/wait_charge.h"
#include "base/arena.h"

#include <stdlib.h>

/* Pieces of one side: the same again is more of it. */
struct pile {
    struct ar_piece *pieces;
    uint32_t n, cap;
};

struct ar_short_heap {
    uint32_t site, late, waiting;
    double ns;
    struct pile late_only, waiting_only;
};

#define MOST_OF_HEAP 96

void ar_short_waits_open(struct ar_short_waits *out, struct ar_trails *trails,
                         struct ar_wait_sums *sums, double least_ns)
{
    *out = (struct ar_short_waits){.trails = trails, .sums = sums, .least_ns = least_ns};
}

void ar_short_waits_close(struct ar_short_waits *s)
{
    for (size_t i = 0; i < s->n_heaps; i++) {
        free(s->heaps[i].late_only.pieces);
        free(s->heaps[i].waiting_only.pieces);
    }
    free(s->heaps);
    ar_idmap_free(&s->heap_ids);
}

/* ---- heaps ------------------------------------------------------------------------------------ */

static struct ar_short_heap *new_heap(struct ar_short_waits *s, const struct ar_short_wait *like,
                                      uint64_t key)
{
    if (ar_grow((void **)&s->heaps, &s->cap_heaps, s->n_heaps + 1, sizeof *s->heaps) < 0 ||
        ar_idmap_put(&s->heap_ids, key, (uint32_t)s->n_heaps) < 0)
        return NULL;
    s->heaps[s->n_heaps] =
        (struct ar_short_heap){.site = like->site, .late = like->late, .waiting = like->waiting};
    s->last_heap = (uint32_t)s->n_heaps;
    return &s->heaps[s->n_heaps++];
}

static struct ar_short_heap *heap_of(struct ar_short_waits *s, const struct ar_short_wait *like)
{
    struct ar_short_heap *last = &s->heaps[s->last_heap];

    if (s->n_heaps && last->site == like->site && last->late == like->late &&
        last->waiting == like->waiting)
        return last;

    uint64_t key = ar_pair_key((uint64_t)like->site << 32 | like->late, like->waiting);
    uint32_t id = ar_idmap_get(&s->heap_ids, key, AR_NO_ID);

    if (id == AR_NO_ID)
        return new_heap(s, like, key);
    s->last_heap = id;
    return &s->heaps[id];
}

static void add(struct ar_short_waits *s, struct pile *pile, const struct ar_piece *piece,
                uint32_t location, double times)
{
    for (uint32_t i = 0; i < pile->n; i++)
        if (pile->pieces[i].what == piece->what && pile->pieces[i].location == location) {
            pile->pieces[i].ns += times * piece->ns;
            pile->pieces[i].most += times * piece->most;
            return;
        }
    if (pile->n == pile->cap) {
        uint32_t more = pile->cap ? 2 * pile->cap : 8;
        struct ar_piece *grown = realloc(pile->pieces, more * sizeof *grown);

        if (!grown) {
            s->failed = true;
            return;
        }
        pile->pieces = grown;
        pile->cap = more;
    }
    pile->pieces[pile->n++] = (struct ar_piece){
        .location = location,
        .what = piece->what,
        .ns = times * piece->ns,
        .most = times * piece->most,
    };
}

/* ---- both sides ------------------------------------------------------------------------------- */

/* What many have waited for goes to its heap. */
static void settle_many(struct ar_short_waits *s)
{
    for (uint32_t i = 0; s->many.times > 0 && i < s->many_late.n; i++)
        add(s, &s->heaps[s->many.heap].late_only, &s->many_late.pieces[i],
            s->many_late.pieces[i].location, s->many.times);
    s->many.times = 0;
    s->many.n_nodes = 0;
}

/* The late one's side of the walk: mostly the same as for the one who waited before. */
static void add_late(struct ar_short_waits *s, uint32_t heap, const struct ar_walk *w)
{
    uint64_t first = w->n_late ? ar_trail_serial(s->trails, w->late[0]) : 0;
    uint64_t last = w->n_late ? ar_trail_serial(s->trails, w->late[w->n_late - 1]) : 0;

    if (s->many.heap != heap || s->many.n_nodes != w->n_late || s->many.first != first ||
        s->many.last != last) {
        settle_many(s);
        s->many.heap = heap;
        s->many.n_nodes = w->n_late;
        s->many.first = first;
        s->many.last = last;
        ar_trail_stretch(s->trails, w->late, w->n_late, &s->many_late);
    }
    s->many.times++;
}

/* Where several wait together it does not matter who of them did what, unless it was the late one. */
static void add_waiting(struct ar_short_waits *s, struct ar_short_heap *heap,
                        const struct ar_walk *w)
{
    for (uint32_t i = w->n_waiting; i > 0; i--) {
        uint32_t n;
        const struct ar_piece *pieces = ar_trail_pieces(s->trails, w->waiting[i - 1], &n);

        for (uint32_t k = 0; k < n; k++) {
            bool keeps_location = heap->waiting != AR_NO_ID || pieces[k].location == heap->late;

            add(s, &heap->waiting_only, &pieces[k], keeps_location ? pieces[k].location : AR_NO_ID,
                1);
        }
    }
}

/* ---- charging --------------------------------------------------------------------------------- */

static void take(const struct ar_call_paths *paths, struct pile *pile, struct ar_stretch *out)
{
    out->n = out->n_credits = 0;
    for (uint32_t i = 0; i < pile->n; i++)
        ar_stretch_add(paths, out, &pile->pieces[i]);
    pile->n = 0;
}

/* All of it is charged, and it is empty. */
static enum ar_status charge(struct ar_short_waits *s, uint32_t id)
{
    const struct ar_call_paths *paths = s->trails->paths;
    struct ar_short_heap *heap = &s->heaps[id];
    double ns = heap->ns;

    if (s->many.heap == id)
        settle_many(s);
    take(paths, &heap->late_only, &s->late_only);
    take(paths, &heap->waiting_only, &s->waiting_only);
    heap->ns = 0;
    if (ns <= 0)
        return AR_OK;
    ar_charge(paths, &s->late_only, &s->waiting_only, heap->late, ns, &s->charged);
    return ar_wait_sums_charge_all(s->sums, heap->site, heap->late, &s->charged);
}

enum ar_status ar_short_waits_add(struct ar_short_waits *s, const struct ar_short_wait *wait,
                                  const struct ar_walk *walk)
{
    struct ar_short_heap *heap = heap_of(s, wait);

    if (!heap)
        return AR_NOMEM;
    heap->ns += wait->ns;
    add_late(s, (uint32_t)(heap - s->heaps), walk);
    add_waiting(s, heap, walk);
    if (s->failed)
        return AR_NOMEM;
    if (heap->ns < s->least_ns && heap->late_only.n < MOST_OF_HEAP &&
        heap->waiting_only.n < MOST_OF_HEAP)
        return AR_OK;
    return charge(s, (uint32_t)(heap - s->heaps));
}

enum ar_status ar_short_waits_end(struct ar_short_waits *s)
{
    enum ar_status status = AR_OK;

    settle_many(s);
    for (size_t i = 0; i < s->n_heaps && status == AR_OK; i++)
        status = charge(s, (uint32_t)i);
    return status;
}
