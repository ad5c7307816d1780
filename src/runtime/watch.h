// SPDX-License-Identifier: BSD-3-Clause
/*
 * watch: when functions in C are looked at, and for how much a look counts.
 *
 * Looking costs about as much as a small C function takes. Where calls are long that is nothing,
 * and they are looked at all the time. Where they are short and many, they are looked at in
 * windows, so that looking takes WATCH_SHARE of the time in the long run; a call seen in a window
 * then stands for those that went unseen since the last one (its weight), and what is made of it is
 * marked as an estimate.
 *
 *     ------[ window ]-------------------[ window ]--------------
 *                    closed                        closed
 *                     `------- gap ------' weight = (gap + window) / window
 *
 * There is no timer: a window opens and closes at the next event, so in code that calls nothing it
 * stays as it is.
 *
 * Threads: one owner; the engine says which.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AR_WATCH_NEVER UINT64_MAX

struct ar_watch {
    uint64_t turn_ticks; /* when to call ar_watch_turn */
    bool open;
    uint32_t weight;       /* of a call seen now, if calls like it go unseen in between */
    uint64_t gap_ticks;    /* how long the window was closed before */
    uint64_t n_seen;       /* calls that were looked at */
    uint64_t n_switches;   /* of the hook */
    uint64_t slowed_ticks; /* of code that ran between two looks, which is slower then */
    uint64_t since_ticks;  /* when it was opened or closed */
    uint64_t start_ticks;
};

/* The first window is open. */
void ar_watch_start(struct ar_watch *watch, uint64_t now);
/* Opens, closes, or goes on; afterwards `open` says which. */
void ar_watch_turn(struct ar_watch *watch, uint64_t now);
/* A mean at or above this is worth looking at each time. */
uint64_t ar_watch_costly_ticks(void);
