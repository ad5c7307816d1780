// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_cheap: which functions in C have proved cheap, so that not every call of them has to be timed.
 *
 * Two looks at the clock take as long as a small function in C. So a function is timed at every call
 * until AR_C_PROOF calls on this thread have taken less than half a microsecond in the mean. From then
 * on every call is counted, and in nodes with some calls already one in 16 is timed, chosen by
 * the golden ratio, so that no rhythm of the program coincides with it. What was timed gives
 * the mean and, with the squares, how far off it may be (AR_VALUES_ESTIMATE).
 *
 *     timed timed timed … timed | - - - timed - - - - - timed - - | timed timed …
 *     proof                     | cheap                        gap | proof once more, a longer one
 *
 * A function that was cheap so far may take long in a call that is not timed. Code that reads the clock
 * next sees that 0.5 ms have passed since the last look: a gap. All that was called in it without
 * being timed has left the time of that last look, so the functions concerned are known. The gap is
 * theirs or their caller's: it becomes a node below the caller that says so, and they are timed
 * at every call again, for longer each time, and for ever once such a call was long.
 *
 * Only nodes that have called nothing that is seen are left untimed. A function that does so for
 * the first time while it is untimed is timed from there on.
 *
 * Threads: the thread's own.
 */
#pragma once

#include "runtime/tree.h"

#define AR_C_MOST_FUNCTIONS 32768u
#define AR_C_PAGE (AR_C_MOST_FUNCTIONS / AR_C_PAGES)
#define AR_C_PROOF 256u

/* What a thread knows of a function in C. */
struct ar_c_known {
    uint64_t stamp; /* `latest_ticks` when it was last called and not timed */
    uint32_t n;     /* calls that were timed since it was last judged */
    uint32_t ticks; /* how long they took */
    uint8_t is_cheap;
    uint8_t n_gaps; /* in which it was called */
    bool is_exact;  /* it is never cheap again */
};

/* What gaps are named after. */
struct ar_c_naming {
    /* Of a function, for people. */
    void (*write_name)(uint32_t index, char *name, size_t room);
    uint32_t (*number_of_gaps)(const char *functions); /* 0: there is no room */
};

/* With `exact` nothing is ever cheap. */
void ar_c_cheap_start(bool exact, const struct ar_c_naming *names);

/* The length of a tick is known now. */
void ar_c_cheap_calibrate(void);
/* false: nothing is ever cheap. */
extern AR_HIDDEN bool ar_c_learns;

struct ar_c_known *ar_c_known_make(struct ar_thread *t, uint32_t index);
/* NULL: nothing yet. */
static inline struct ar_c_known *ar_c_known_of(const struct ar_thread *t, uint32_t index)
{
    struct ar_c_known *page = t->c_known[index / AR_C_PAGE];

    return page ? &page[index % AR_C_PAGE] : NULL;
}

/* Is that call of a node one of those that are timed anyway? One in 16 is. */
static inline bool ar_c_is_sample(uint64_t n_calls)
{
    return (uint32_t)n_calls * 0x9e3779b9u >> 28 == 0;
}

/* A call of the current node that is counted, and not timed, begins. */
static inline void ar_c_untimed_open(struct ar_thread *t, struct ar_node *node,
                                     struct ar_c_known *known)
{
    uint64_t latest = t->slot->latest_ticks;

    __atomic_store_n(&node->n_calls, node->n_calls + 1, __ATOMIC_RELAXED);
    known->stamp = latest;
    t->untimed_at = latest;
    t->current = node;
}

/* It is over; nothing has happened inside. */
static inline void ar_c_untimed_close(struct ar_thread *t, const struct ar_node *node)
{
    struct ar_node *parent = ar_live_ptr(node->parent_ref);

    parent->guess_ref = node->successor_ref;
    parent->left_ref = ar_live_ref(node);
    t->current = parent;
}

/* A call of a node whose calls are not all timed is timed. */
void ar_c_sample_begins(const struct ar_node *node);
/* A call that has called nothing has taken so long. */
void ar_c_teach(struct ar_thread *t, struct ar_node *node, uint32_t index, uint64_t ticks);

/* The same, where there is something to be learnt. */
static inline void ar_c_learn(struct ar_thread *t, struct ar_node *node, uint32_t index,
                              uint64_t ticks)
{
    const struct ar_c_known *known = ar_c_known_of(t, index);

    if (ar_c_learns && (!known || !known->is_exact || node->values_ref))
        ar_c_teach(t, node, index, ticks);
}

/* The current node, of which not every call is timed, is about to call something that is seen. */
void ar_c_calls_something(struct ar_thread *t, struct ar_node *node, uint64_t now);
void ar_c_forget(struct ar_thread *t);
