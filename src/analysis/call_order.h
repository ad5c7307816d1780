// SPDX-License-Identifier: BSD-3-Clause
/*
 * call_order: the synchronising calls of all threads of a run, in the order in which they ended, on the common clock.
 *
 * Of a large run, reading takes a third of the time that finding causes takes: a thread of its own reads ahead, as long as there is
 * much to read.
 *
 *     struct ar_call_order o;
 *     if (ar_call_order_open(&o, p) == AR_OK)
 *         while ((record = ar_call_order_next(&o))) record->exit_ns …
 *     ar_call_order_close(&o);
 *
 * Threads: one owner; the profile does not change meanwhile.
 */
#pragma once

#include "format/profile.h"

/* What was done before a call: `n` items of its stream, from the first on, and how the time was shared out. */
struct ar_work_shares {
    const unsigned char *shares; /* NULL: its record does not say */
    uint32_t first, n;
    uint64_t ns;
};

/* A record of a call, as in struct ar_profile_sync. Of calls that have several, one follows the other. */
struct ar_ordered_call {
    int64_t enter_ns, exit_ns, post_ns; /* on the common clock */
    struct ar_work_shares work;
    uint32_t thread; /* number of its stream */
    uint32_t location, node;
    uint32_t comm, rank, sequence, peer;
    uint8_t kind, flags;
    bool was_posted;   /* what it completes was, by a call before */
    bool is_same_call; /* as the one before */
};

struct ar_reading;
struct ar_supply;
struct ar_order_batch;
struct ar_read_ahead;

struct ar_call_order {
    const struct ar_profile *p;
    int64_t first_ns, last_ns;   /* when the first process began, and the last one ended */
    struct ar_reading *readings; /* one a stream */
    struct ar_supply *supplies;
    size_t n_readings;
    /*
     * Whose turn it is: a heap of those that are not at their end, the earliest first. A word each, of when its call
     * ended and, in the lower bits, which it is.
     */
    uint64_t *turns;
    size_t n_turns;
    unsigned n_reading_bits, n_rounded_bits; /* the latter of long runs of very many threads */
    struct {
        uint32_t thread, node;
        int64_t enter_ns, exit_ns;
    } last;                         /* that was read */
    struct ar_order_batch *batches; /* a ring */
    uint64_t n_read;                /* batches that were read and released */
    size_t at;                      /* in the batch that is read */
    struct ar_read_ahead *ahead;    /* fills the ring; NULL: no thread does */
};

/* Has to be closed, whether it could be opened or not. */
AR_MUST_CHECK enum ar_status ar_call_order_open(struct ar_call_order *out,
                                                const struct ar_profile *p);
void ar_call_order_close(struct ar_call_order *o);
/* Good until the next one is asked for. NULL: there is no more. */
const struct ar_ordered_call *ar_call_order_next(struct ar_call_order *o);
/* The one that comes `n_later` after the last; NULL: it is not known yet. */
const struct ar_ordered_call *ar_call_order_later(const struct ar_call_order *o, size_t n_later);
/* When the process of a stream began. */
int64_t ar_call_order_start(const struct ar_call_order *o, size_t stream);
