// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_partners: which calls of different ranks belong together.
 *
 * Collective calls do by their number on the communicator, messages by their order between two ranks with one tag.
 * Each process has told its own rank in each communicator; in files that do not say it, it follows from what was recorded of
 * messages. What has all its partners is told to the one who asked, and forgotten; what never gets them is told at the end.
 *
 * Where several threads of a process receive or send on one communicator with one tag, it is not known who met whom.
 *
 * Threads: one owner.
 */
#pragma once

#include "analysis/call_order.h"
#include "analysis/waits.h"

/* A call that has come to a synchronisation. */
struct ar_arrival {
    uint32_t location, process; /* the process is a root */
    uint32_t node;
    uint32_t rank;        /* its process's own, as AR_OWN_RANK has it */
    uint32_t peer;        /* as in its record */
    uint32_t call, point; /* the asker's own */
    int64_t came_ns;      /* when others could go on because of it */
    int64_t waits_ns;     /* since when it waits itself */
    int64_t exit_ns;
    /* Of a nonblocking collective call: when its thread called MPI again, and the point of that. 0: it blocked. */
    int64_t again_ns;
    uint32_t again;
    bool is_posted; /* a send that another call waits for */
    bool
        may_pass; /* it need not have waited: only who was still there when the last one came has */
    struct ar_arrival *next;
};

struct ar_partners_tell {
    void *who;
    /* `waiting` may have waited for `late`: arrivals. */
    void (*met)(void *who, enum ar_wait_class class, const struct ar_arrival *late,
                const struct ar_arrival *const *waiting, size_t n);
    /* How long it has waited, as far as was told. */
    double (*waited)(void *who, const struct ar_arrival *arrival);
    /* A copy is kept of one, without a call, until it is done with as well. */
    void (*kept)(void *who, const struct ar_arrival *arrival);
    /* It is done with; then it is no more. */
    void (*left)(void *who, const struct ar_arrival *arrival, bool is_resolved);
};

struct ar_partners;

/* NULL: no memory. */
struct ar_partners *ar_partners_new(const struct ar_profile *p, struct ar_partners_tell tell);
/* One to be filled in, and then added; NULL: no memory. */
struct ar_arrival *ar_partners_new_arrival(struct ar_partners *all);
AR_MUST_CHECK enum ar_status ar_partners_add(struct ar_partners *all,
                                             const struct ar_ordered_call *sync,
                                             struct ar_arrival *arrival);
/* Nothing comes any more: what is left has no partners. */
void ar_partners_end(struct ar_partners *all);
void ar_partners_delete(struct ar_partners *all);
