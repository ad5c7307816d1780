// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_trails: how each thread came to where it is.
 *
 * Every thread has a trail: the work that had to be done, by whomever, one piece after the other, for it to be where it is.
 * Its own work is added. Who waits goes on from the trail of the one it waited for, as that was when it came. So a trail covers the time
 * without gaps: when A begins to wait, its trail is as long as the time until then, that of B, when B comes, as long as
 * the time until that; the difference is the wait, and what B's has more of is its cause (wait_charge.h).
 *
 * Trails share their beginnings, so they are a tree. A tip is where a thread is: work is added there. A point is a place that others may
 * have to be compared with: it is held as long as a thread may ask. What no thread can be compared with any more has no node of its
 * own, so there are about two a thread, however long it runs.
 *
 *     tip, its work:  ar_trail_put
 *     point = tip;    tip = ar_trail_go_on(…)          others may wait for this thread's coming here
 *     ar_trail_walk(…, point of B, tip of A, …)        what either has done since they parted
 *     ar_trail_drop(…, tip of A); tip of A = ar_trail_go_on(…, point of B)
 *
 * Threads: one owner.
 */
#pragma once

#include "analysis/call_paths.h"

/* Of a node of the tree; more become rests of their callers. */
#define AR_TRAIL_PIECES 24
#define AR_STRETCH_PIECES 192
#define AR_STRETCH_CREDITS 32

/* What was done, and by which thread: the location, the path, and flags. Of the unknown, path and flags are AR_WHAT_UNKNOWN. */
#define AR_WHAT_REST 1u /* in that function or below it, in pieces of at most `most` */
#define AR_WHAT_CAUSE                                                                              \
    2u /* known to have been too long already: it is compared with its like first */
#define AR_WHAT(path, flags) ((uint32_t)(path) << 2 | (flags))
#define AR_WHAT_UNKNOWN AR_WHAT(AR_PATH_UNKNOWN, AR_WHAT_REST)

struct ar_piece {
    uint32_t location, what;
    double ns;
    double most; /* of a rest: what a single path in it can have */
};

/* `done` was done by one thread while another was late with `instead`: it is not on the trail that goes on. */
struct ar_credit {
    uint32_t location, done;
    uint32_t instead_location, instead;
    double ns;
};

/* What is on one of two trails and not on the other, the oldest first. */
struct ar_stretch {
    uint32_t n, n_credits;
    struct ar_piece pieces[AR_STRETCH_PIECES];
    struct ar_credit credits[AR_STRETCH_CREDITS];
};

/* A stretch of a trail, which all trails after it share. */
struct ar_trail_node {
    uint32_t parent;
    uint32_t n_refs; /* of those after it, and of those who hold it */
    uint64_t serial; /* larger than its parent's; 0: it is free, and `parent` the next one */
    uint32_t n, n_credits;
    struct ar_piece pieces[AR_TRAIL_PIECES];
    struct ar_credit *credits; /* AR_STRETCH_CREDITS, or NULL */
};

struct ar_trails {
    const struct ar_call_paths *paths;
    struct ar_trail_node *nodes; /* from 1 */
    size_t n, cap;
    uint32_t free;
    uint64_t n_made;
    bool failed;
};

AR_MUST_CHECK enum ar_status ar_trails_open(struct ar_trails *out,
                                            const struct ar_call_paths *paths, size_t n_threads);
void ar_trails_close(struct ar_trails *t);

/* Where all trails begin. */
#define AR_TRAIL_START 1u
/* A new tip, after `from`. 0: there is no memory. */
uint32_t ar_trail_go_on(struct ar_trails *t, uint32_t from);
static inline void ar_trail_hold(struct ar_trails *t, uint32_t node)
{
    t->nodes[node].n_refs++;
}
/* Of what was held. */
void ar_trail_let_go(struct ar_trails *t, uint32_t node);
/* Of a tip that its thread leaves. */
void ar_trail_drop(struct ar_trails *t, uint32_t tip);
void ar_trail_make_room(struct ar_trails *t, uint32_t tip);
/* Its fields one by one: a piece that was just put together would have to be waited for to be copied. */
static inline void ar_trail_put(struct ar_trails *t, uint32_t tip, uint32_t location, uint32_t what,
                                double ns, double most)
{
    struct ar_trail_node *node = &t->nodes[tip];

    for (uint32_t i = 0; i < node->n; i++)
        if (node->pieces[i].what == what && node->pieces[i].location == location) {
            node->pieces[i].ns += ns;
            node->pieces[i].most += most;
            return;
        }
    if (node->n == AR_TRAIL_PIECES)
        ar_trail_make_room(t, tip);

    struct ar_piece *piece = &node->pieces[node->n++];

    piece->location = location;
    piece->what = what;
    piece->ns = ns;
    piece->most = most;
}
void ar_trail_credit(struct ar_trails *t, uint32_t tip, const struct ar_credit *credits,
                     uint32_t n);
/* Whether no other trail goes on from where it does. */
static inline bool ar_trail_is_only_one(const struct ar_trails *t, uint32_t id)
{
    uint32_t parent = t->nodes[id].parent;

    return parent && t->nodes[parent].n_refs == 1;
}
void ar_trail_take_parents(struct ar_trails *t, uint32_t id);
/* How many are not squeezed is kept low by this. */
static inline void ar_trail_squeeze(struct ar_trails *t, uint32_t id)
{
    if (ar_trail_is_only_one(t, id))
        ar_trail_take_parents(t, id);
}
/* Down from both to where they are one: nodes that are on one of two trails only, the latest first. */
#define AR_LONGEST_WALK 2048
struct ar_walk {
    uint32_t n_late, n_waiting;
    uint32_t late[AR_LONGEST_WALK], waiting[AR_LONGEST_WALK];
};
void ar_trail_walk(struct ar_trails *t, uint32_t late, uint32_t waiting, struct ar_walk *out);
/* What is on a node, the oldest first; good until something is added to a tip. */
static inline const struct ar_piece *ar_trail_pieces(const struct ar_trails *t, uint32_t node,
                                                     uint32_t *n)
{
    *n = t->nodes[node].n;
    return t->nodes[node].pieces;
}
/* No two have the same. */
static inline uint64_t ar_trail_serial(const struct ar_trails *t, uint32_t node)
{
    return t->nodes[node].serial;
}
/* All that is on some nodes of a walk. */
void ar_trail_stretch(const struct ar_trails *t, const uint32_t *nodes, uint32_t n,
                      struct ar_stretch *out);

/* To one that is there, or as the last; small ones are made rests where there is no room. */
void ar_stretch_add(const struct ar_call_paths *paths, struct ar_stretch *s,
                    const struct ar_piece *piece);
