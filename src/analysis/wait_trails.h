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
 *     tip, its work:  ar_trail_add
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

struct ar_trail_node;

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
void ar_trail_hold(struct ar_trails *t, uint32_t node);
/* Of what was held. */
void ar_trail_let_go(struct ar_trails *t, uint32_t node);
/* Of a tip that its thread leaves. */
void ar_trail_drop(struct ar_trails *t, uint32_t tip);
void ar_trail_add(struct ar_trails *t, uint32_t tip, const struct ar_piece *piece);
void ar_trail_put(struct ar_trails *t, uint32_t tip, uint32_t location, uint32_t what, double ns,
                  double most);
void ar_trail_credit(struct ar_trails *t, uint32_t tip, const struct ar_credit *credits,
                     uint32_t n);
/* How many are not squeezed is kept low by this. */
void ar_trail_squeeze(struct ar_trails *t, uint32_t id);
/* Down from both to where they are one: nodes that are on one of two trails only, the latest first. */
#define AR_LONGEST_WALK 2048
struct ar_walk {
    uint32_t n_late, n_waiting;
    uint32_t late[AR_LONGEST_WALK], waiting[AR_LONGEST_WALK];
};
void ar_trail_walk(struct ar_trails *t, uint32_t late, uint32_t waiting, struct ar_walk *out);
/* What is on a node, the oldest first; good until something is added to a tip. */
const struct ar_piece *ar_trail_pieces(const struct ar_trails *t, uint32_t node, uint32_t *n);
uint64_t ar_trail_serial(const struct ar_trails *t, uint32_t node); /* no two have the same */
/* All that is on some nodes of a walk. */
void ar_trail_stretch(const struct ar_trails *t, const uint32_t *nodes, uint32_t n,
                      struct ar_stretch *out);

/* To one that is there, or as the last; small ones are made rests where there is no room. */
void ar_stretch_add(const struct ar_call_paths *paths, struct ar_stretch *s,
                    const struct ar_piece *piece);
