// SPDX-License-Identifier: BSD-3-Clause
/*
 * bottom_up: the tree from its other end. At the top are functions by self time, below each who called
 * it, below that who called those; each with the part of the function's self time that was spent on
 * the way through it. Whatever is below a row adds up to it, but for calls without a caller: those of
 * threads' first functions.
 *
 * Levels are made when they are asked for, each from the one above: all of them would be as many rows as
 * nodes have ancestors. Of caller pairs there is one level of callers.
 *
 *     struct ar_bottom_up b;
 *     struct ar_level top, callers;
 *     if (ar_bottom_up_open(&b, &profile, &totals, &top) < 0) ...
 *     if (ar_bottom_up_below(&b, &top.rows[0], &callers) < 0) ...
 *     struct ar_spread s = ar_bottom_up_spread(&b, &top.rows[0]);
 *     ar_level_free(&callers);
 *     ar_level_free(&top);
 *     ar_bottom_up_close(&b);
 */
#pragma once

#include "analysis/totals.h"

/* A call path, seen from its end. */
struct ar_way {
    uint32_t leaf; /* whose self time it is */
    uint32_t at;   /* how far up the row is; AR_NO_ID: further than the root */
};

struct ar_bottom_row {
    uint32_t function;
    uint32_t node;    /* one of those that `at` says */
    double self_ns;   /* mean over ranks */
    uint64_t n_calls; /* of the function at the top, on these ways */
    struct ar_way *ways;
    size_t n_ways;
};

/* The largest first. */
struct ar_level {
    struct ar_bottom_row *rows;
    size_t n_rows;
    struct ar_way *ways; /* of all rows */
};

struct ar_bottom_up {
    const struct ar_profile *p;
    const struct ar_totals *t;
    struct ar_selves selves;
    uint64_t *by_root;
};

AR_MUST_CHECK enum ar_status ar_bottom_up_open(struct ar_bottom_up *out, const struct ar_profile *p,
                                               const struct ar_totals *t, struct ar_level *top);
AR_MUST_CHECK enum ar_status ar_bottom_up_below(const struct ar_bottom_up *b,
                                                const struct ar_bottom_row *row,
                                                struct ar_level *out);
/* Over ranks; reads values, which the levels do not. */
struct ar_spread ar_bottom_up_spread(struct ar_bottom_up *b, const struct ar_bottom_row *row);
void ar_level_free(struct ar_level *level);
void ar_bottom_up_close(struct ar_bottom_up *b);
