// SPDX-License-Identifier: BSD-3-Clause
/*
 * pairs: how often and how long functions ran, each on its own and by who called it.
 *
 *     calls[]   root | f | g | f |            the stack of open calls, each of a pair
 *                          |
 *     pair (f calls g) ----+---> entry g      one for each function, one for each caller and callee
 *
 * Every call belongs to a pair, the outermost ones to a pair with a root that is no function: so a call
 * is found by its caller, and closing one touches its pair and its entry and looks nothing up.
 * Callers do things in the order they did them last time, so each pair remembers the one that
 * followed it; a guess that fails is looked up in a hash map.
 *
 * Total time counts the outermost open call only, of an entry and of a pair alike; calls inside are
 * `n_nested`. A call's self time goes to its pair; an entry's is the sum over its pairs.
 *
 * Life cycle: init, then calls, then rows; free. Moving the struct is allowed.
 * Threads:    one owner.
 * Time:       any unit, modulo 2^64: a clock that runs backwards gives negative sums, no accident.
 * Allocation: everything is unchanged where memory runs out.
 *
 *     struct ar_pair *pair = ar_pairs_find(&p, key);
 *     if (!pair && ar_pairs_add(&p, key, object) == AR_OK)      // a new function
 *         pair = ar_pairs_find(&p, key);
 *     struct ar_open_call *call = ar_pairs_push(&p, pair);
 *     if (call)
 *         call->start = now;
 *     ...
 *     for (size_t n = ar_pairs_n_to_close(&p, key); n > 0; n--)
 *         ar_pairs_pop(&p, now);
 */
#pragma once

#include "base/arena.h"
#include "base/idmap.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_pair;

struct ar_entry {
    const void *key;
    void *object;           /* whatever the owner knows the function by */
    struct ar_pair *latest; /* by which it called last; never NULL */
    uint64_t time;          /* of outermost calls */
    uint64_t n_nested;
    uint64_t n_open;
    struct ar_pair *first_pair, *last_pair; /* in which it is the caller */
    struct ar_entry *next;                  /* in order of first sight */
    uint32_t id;
    uint64_t n_calls, self_time; /* sums over pairs, made by ar_pairs_rows */
};

struct ar_pair {
    const void *key; /* the callee's: here, to be compared without a further look */
    struct ar_entry *callee;
    struct ar_pair *successor; /* of the same caller, called next the last time; never NULL */
    uint64_t time;             /* of outermost calls of this pair */
    uint64_t self_time;
    uint64_t n_calls, n_nested, n_open;
    struct ar_entry *caller;
    struct ar_pair *next; /* of the same caller, in order of first sight */
};

struct ar_open_call {
    struct ar_pair *pair;
    uint64_t start;
    uint64_t inner_time; /* spent in calls that it made */
};

struct ar_pairs {
    struct ar_open_call
        *top; /* the innermost; the root's, which is never closed, if there is none */
    struct ar_open_call *last_place; /* of the stack's memory */
    struct ar_entry *root;
    bool by_caller;    /* false: all calls are the root's, and no pairs come of them */
    uint64_t n_unseen; /* calls open inside the innermost that found no memory */
    struct ar_open_call *calls;
    struct ar_entry *first_entry, *last_entry;
    struct ar_idmap entry_ids, pair_ids; /* hash of key, and of caller and key */
    struct ar_entry **entries;
    struct ar_pair **pairs;
    size_t entries_cap, pairs_cap;
    uint32_t n_entries, n_pairs;
    struct ar_arena arena;
};

/* A function that was called, or, after it, one that it called. */
struct ar_pairs_row {
    void *object;
    uint64_t n_calls, n_nested;
    int64_t time, self_time;
    size_t n_callees; /* so many rows of callees follow; of a callee always 0 */
};

AR_MUST_CHECK enum ar_status ar_pairs_init(struct ar_pairs *p);
void ar_pairs_free(struct ar_pairs *p); /* objects are the owner's */

/* A key is never NULL. Adding one that is known changes nothing, its object included. */
bool ar_pairs_knows(const struct ar_pairs *p, const void *key);
AR_MUST_CHECK enum ar_status ar_pairs_add(struct ar_pairs *p, const void *key, void *object);

/*
 * Functions of which a call has ended; of their callees also those of which none has. The caller
 * frees the rows. With none, `*rows` is NULL.
 */
AR_MUST_CHECK enum ar_status ar_pairs_rows(struct ar_pairs *p, struct ar_pairs_row **rows,
                                           size_t *n_rows);

struct ar_pair *ar_pairs_look_up(struct ar_pairs *p, struct ar_entry *caller, const void *key);
bool ar_pairs_deepen(struct ar_pairs *p);
size_t ar_pairs_n_to_close_outer(struct ar_pairs *p, const void *key);

/* The pair of the innermost function and that one. NULL: an unknown function, or no memory. */
static inline struct ar_pair *ar_pairs_find(struct ar_pairs *p, const void *key)
{
    struct ar_entry *caller = p->by_caller ? p->top->pair->callee : p->root;
    struct ar_pair *pair = caller->latest->successor;

    if (__builtin_expect(pair->key != key, 0)) {
        pair = ar_pairs_look_up(p, caller, key);
        if (!pair)
            return NULL;
    }
    caller->latest = pair;
    return pair;
}

/*
 * Opens a call; the caller writes its start, as late as possible. NULL, also for pair == NULL: it is
 * not recorded, and neither is what it calls; its time is its caller's.
 */
static inline struct ar_open_call *ar_pairs_push(struct ar_pairs *p, struct ar_pair *pair)
{
    if (__builtin_expect(p->top == p->last_place || !pair || p->n_unseen, 0) &&
        (!pair || p->n_unseen || !ar_pairs_deepen(p))) {
        p->n_unseen++;
        return NULL;
    }

    struct ar_open_call *call = ++p->top;

    call->pair = pair;
    call->inner_time = 0;
    pair->n_open++;
    pair->callee->n_open++;
    return call;
}

/*
 * To be asked once for each call that ends: how many to close so that the innermost one of that
 * function is. More than one where the ends of others were missed; 0 where its start was.
 */
static inline size_t ar_pairs_n_to_close(struct ar_pairs *p, const void *key)
{
    if (__builtin_expect(p->top->pair->key == key && !p->n_unseen, 1))
        return 1;
    return ar_pairs_n_to_close_outer(p, key);
}

static inline size_t ar_pairs_n_open(const struct ar_pairs *p)
{
    return (size_t)(p->top - p->calls);
}

/* Closes the innermost call. There must be one. */
static inline void ar_pairs_pop(struct ar_pairs *p, uint64_t now)
{
    struct ar_open_call *call = p->top--;
    struct ar_pair *pair = call->pair;
    struct ar_entry *entry = pair->callee;
    uint64_t time = now - call->start;

    p->top->inner_time += time;
    pair->self_time += time - call->inner_time;
    pair->n_calls++;
    if (__builtin_expect(--pair->n_open == 0, 1))
        pair->time += time;
    else
        pair->n_nested++;
    if (__builtin_expect(--entry->n_open == 0, 1))
        entry->time += time;
    else
        entry->n_nested++;
}
