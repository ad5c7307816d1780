// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_blame: what threads did between their waits, and how a wait is charged to it.
 *
 * An interval is the time of a thread from one record with parts to the next: what it did, in the few nodes that
 * the record has, and how long it waited, for whom. It is open while the thread is in it, and what it had waited may
 * become known later still: who is interested in it holds it.
 *
 * Threads: one owner.
 */
#pragma once

#include "format/profile.h"

#define AR_INTERVAL_PARTS 4
#define AR_INTERVAL_WAITS 6
#define AR_BLAME_ITEMS 12
/* How far back it is known what a thread did: halo exchanges with some neighbours come between others. */
#define AR_INTERVALS_BACK 16

/* Whose call path is to blame, and for which part of a wait. */
struct ar_blame_item {
    uint32_t location, node; /* node AR_NO_ID: not known */
    bool indirect;
    float share;
};

struct ar_blame {
    uint32_t n;
    struct ar_blame_item items[AR_BLAME_ITEMS];
};

struct ar_interval {
    uint32_t n_held;
    uint32_t before; /* the one before it of the same thread; AR_NO_ID: not known any more */
    int64_t start_ns;
    /* The call that ended when it began, and how long that took: but for waiting, that is what the thread did. */
    uint32_t call_node;
    float call_ns;
    uint32_t n_parts, n_waits;
    struct {
        uint32_t node;
        float ns;
    } parts[AR_INTERVAL_PARTS];
    /* It had waited at `site`, because of what `location` did in `node`: in the interval, or until it began. */
    struct {
        uint32_t location, node, site, at_node;
        bool is_before;
        float ns;
    } waits[AR_INTERVAL_WAITS];
    float waited_ns; /* in it */
};

struct ar_intervals {
    struct ar_interval *items;
    size_t n, cap;
    uint32_t free; /* the first of those that nobody holds, plus 1; linked by `n_parts` */
};

/* The last few of a thread. A zeroed one has none. */
struct ar_intervals_back {
    uint32_t ids[AR_INTERVALS_BACK];
    uint32_t n, next;
};

static inline void ar_interval_hold(struct ar_intervals *all, uint32_t id)
{
    all->items[id].n_held++;
}

static inline void ar_interval_drop(struct ar_intervals *all, uint32_t id)
{
    struct ar_interval *interval = &all->items[id];

    if (--interval->n_held)
        return;
    interval->n_parts = all->free;
    all->free = id + 1;
}

/*
 * A new one of that thread, held by it as long as it goes back so far; AR_NO_ID: no memory. It begins
 * after a call.
 */
uint32_t ar_interval_new(struct ar_intervals *all, struct ar_intervals_back *back, int64_t start_ns,
                         uint32_t call_node, int64_t call_ns);
void ar_intervals_forget(struct ar_intervals *all, struct ar_intervals_back *back);
/* What was done in it, when it ends. */
void ar_interval_end(struct ar_intervals *all, uint32_t id, const struct ar_profile_part *parts,
                     uint32_t n_parts);
/* A wait of `ns` at that site and node, in it or (`is_before`) until it began. */
void ar_interval_waited(struct ar_intervals *all, uint32_t id, uint32_t site, uint32_t at_node,
                        bool is_before, const struct ar_blame *blame, double ns);

/*
 * Waits of `mean_ns` until `location` came at last, in the interval `late`. At `site`, if that is not AR_NO_ID, ranks wait
 * for each other within one operation: those who had waited there pass on what they waited for.
 */
struct ar_lateness {
    uint32_t location, late, site;
    int64_t came_ns;
    double mean_ns;
    const uint32_t *others; /* intervals of those who waited */
    size_t n_others;
};

void ar_blame_find(const struct ar_intervals *all, const struct ar_lateness *lateness,
                   struct ar_blame *out);
