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
#define AR_BLAME_ITEMS (AR_INTERVAL_PARTS + AR_INTERVAL_WAITS + 1)

/* Whose call path is to blame, and for which part of a wait. */
struct ar_blame_item {
    uint32_t location, node; /* node AR_NO_ID: not known */
    uint32_t site;           /* where `location` … */
    bool indirect;           /* … was waited for; of direct ones it says nothing */
    float share;
};

struct ar_blame {
    uint32_t n;
    struct ar_blame_item items[AR_BLAME_ITEMS];
};

struct ar_interval {
    uint32_t n_held;
    uint32_t n_parts, n_waits;
    struct {
        uint32_t node;
        float ns;
    } parts[AR_INTERVAL_PARTS];
    /* It had waited at `site`, because of what `location` did in `node`. */
    struct {
        uint32_t location, node, site, at_node;
        float ns;
    } waits[AR_INTERVAL_WAITS];
    float waited_ns;
};

struct ar_intervals {
    struct ar_interval *items;
    size_t n, cap;
    uint32_t free; /* the first of those that nobody holds, plus 1; linked by `n_parts` */
};

/* A new one, held once; AR_NO_ID: no memory. */
uint32_t ar_interval_new(struct ar_intervals *all);
void ar_interval_hold(struct ar_intervals *all, uint32_t id);
void ar_interval_drop(struct ar_intervals *all, uint32_t id);
/* What was done in it, when it ends. */
void ar_interval_end(struct ar_intervals *all, uint32_t id, const struct ar_profile_part *parts,
                     uint32_t n_parts);
/* A wait of `ns` in it, at that site and node. */
void ar_interval_waited(struct ar_intervals *all, uint32_t id, uint32_t site, uint32_t at_node,
                        const struct ar_blame *blame, double ns);

/*
 * For waits of `mean_ns` at `site`: because of `location`, that was in the interval `late`, compared with the intervals
 * `others` of those who waited.
 */
void ar_blame_find(const struct ar_intervals *all, uint32_t location, uint32_t late,
                   const uint32_t *others, size_t n_others, double mean_ns, uint32_t site,
                   struct ar_blame *out);
