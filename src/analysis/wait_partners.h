// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_partners: which calls of different ranks belong together.
 *
 * Collective calls do by their number on the communicator, messages by their order between two ranks with one tag.
 * Ranks within communicators become processes by what was recorded of messages on them. What has all its partners
 * is told to the one who asked, and forgotten; what never gets them is told at the end.
 *
 * Where several threads of a process receive or send on one communicator with one tag, or groups have two sides,
 * it is not known who met whom.
 *
 * Threads: one owner.
 */
#pragma once

#include "analysis/waits.h"

/* A call that has come to a synchronisation. */
struct ar_arrival {
    uint32_t location, process; /* the process is a root */
    uint32_t node;
    uint32_t call, interval; /* the asker's own */
    int64_t came_ns;         /* when others could go on because of it */
    int64_t waits_ns;        /* since when it waits itself */
    int64_t exit_ns;
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
                                             const struct ar_profile_sync *sync,
                                             struct ar_arrival *arrival);
/* Nothing comes any more: what is left has no partners. */
void ar_partners_end(struct ar_partners *all);
void ar_partners_delete(struct ar_partners *all);
