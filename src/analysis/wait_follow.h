// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_follow: goes along all threads, call by call, as far as it is known whom they waited for, and charges their waits.
 *
 * A wait can be charged when the trails of both are known, which is when all earlier calls of both threads are done with. A call whose
 * partners have not come yet, or whose late partner's trail is not known yet, stays in its thread's queue, with all that
 * follow. Dependencies go back in time, so there is an end to it; where clocks disagree, or a queue becomes too long,
 * its first call is given up, and its time is not known.
 *
 * Threads: one owner.
 */
#pragma once

#include "analysis/call_order.h"
#include "analysis/wait_sums.h"

struct ar_follow;

/* A call as it was read, on the common clock. */
struct ar_follow_call {
    int64_t enter_ns, exit_ns;
    uint32_t node;
    bool nonblocking; /* what it completes was posted before */
    bool is_post;     /* others may wait for what was posted here */
    bool is_setup;    /* MPI_Init or MPI_Finalize */
    bool counts;      /* its process is held up by it */
    struct ar_work_shares work;
};

/* Where it is said how long main threads waited. All may be NULL. */
struct ar_follow_results {
    const bool *of;                   /* by root: whose waits count; NULL: all */
    double *main_waits, *setup_waits; /* by root */
    double **node_ns;                 /* see struct ar_waits */
    double *waited_ns;                /* of those that count */
};

/* NULL: no memory. `wall_ns` is how long the run took. */
struct ar_follow *ar_follow_new(const struct ar_profile *p, struct ar_wait_sums *sums,
                                const struct ar_follow_results *results, double wall_ns);
void ar_follow_delete(struct ar_follow *f);
/* Streams are threads, by their number. What was before its process began, since `first_ns`, is not known. */
AR_MUST_CHECK enum ar_status ar_follow_thread(struct ar_follow *f, uint32_t thread,
                                              const struct ar_stream *stream, bool is_main,
                                              int64_t first_ns, int64_t start_ns);

/* A call that comes soon: what it needs is fetched into the cache, the thread first, then what that points to. */
void ar_follow_expect_thread(const struct ar_follow *f, const struct ar_ordered_call *call);
void ar_follow_expect_call(const struct ar_follow *f, const struct ar_ordered_call *call);
/* The next call of a thread. It has one open partner, which ar_follow_ended takes away. 0: no memory. */
uint32_t ar_follow_add(struct ar_follow *f, uint32_t thread, const struct ar_follow_call *call);
/* One more partner, and the point that others wait for: of the call itself, or of what was posted then. Held. */
uint32_t ar_follow_point(struct ar_follow *f, uint32_t call);
uint32_t ar_follow_post(struct ar_follow *f, uint32_t thread, int64_t post_ns, uint32_t call,
                        int64_t *again_ns, uint32_t *again);
void ar_follow_hold(struct ar_follow *f, uint32_t point);
void ar_follow_let_go(struct ar_follow *f, uint32_t id);

/* What is known of its wait up to now. */
double ar_follow_waited(const struct ar_follow *f, uint32_t call);
/* It waited for a thread to come to a point, longer than for any other before. */
void ar_follow_wait(struct ar_follow *f, uint32_t id, enum ar_wait_class class,
                    uint32_t late_location, uint32_t point, double ns);
/* One of its partners is known, or never will be. */
void ar_follow_partner(struct ar_follow *f, uint32_t id, bool is_known);

/* As far as it is known; at the end all that is left. */
AR_MUST_CHECK enum ar_status ar_follow_on(struct ar_follow *f);
AR_MUST_CHECK enum ar_status ar_follow_end(struct ar_follow *f);
const struct ar_call_paths *ar_follow_paths(const struct ar_follow *f);
