// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_known: functions that other live files of a run have had already, by their records, and where
 * they called which.
 *
 * Ranks run the same program: from the third file on nearly every record has been met before, byte for
 * byte. Then neither its name and file nor its line table need be looked at again, which is half of
 * what reading a file costs. The first file is not kept: a process that reads its own at the end has
 * no use for it, and little memory to spare.
 *
 * Life cycle: a profile has one from its second live file on, as its memory, and frees it. Threads: one owner.
 */
#pragma once

#include "base/arena.h"
#include "base/idmap.h"
#include "format/linetable.h"
#include "format/livefile.h"

#include <stdbool.h>

struct ar_known_function {
    const struct ar_record *record; /* a copy */
    uint32_t id;                    /* in the profile; AR_NO_ID: not given yet */
    struct ar_line_range *ranges;   /* of its line table, when they have been asked for */
    size_t n_ranges, cap_ranges;
};

/* The call that made a node of the profile: in which Python function, and where in its code. */
struct ar_known_call {
    struct ar_known_function *caller; /* NULL: there is none */
    uint32_t site;
};

#define AR_KNOWN_GUESSES 4

struct ar_known {
    struct ar_known_function **items;
    size_t n, cap;
    size_t n_next;       /* the number of the one after that which was found last */
    struct ar_idmap ids; /* by hash of the record, probing on by one as in strtab */
    struct ar_arena arena;
    struct ar_known_call *calls; /* by node of the profile; there for the first `n_calls` nodes */
    size_t n_calls, cap_calls;
};

/* The one with that record, which is added where it is not there; NULL: no memory. */
struct ar_known_function *ar_known_find(struct ar_known *known, const struct ar_record *record);
/* That a node was made by that call. */
AR_MUST_CHECK enum ar_status ar_known_note_call(struct ar_known *known, uint32_t node,
                                                struct ar_known_call call);
/* Whether it was, as far as that is known. */
static inline bool ar_known_made_by(const struct ar_known *known, uint32_t node,
                                    struct ar_known_call call)
{
    return node < known->n_calls && known->calls[node].caller == call.caller &&
           known->calls[node].site == call.site;
}
/* Accepts NULL. */
void ar_known_delete(struct ar_known *known);
