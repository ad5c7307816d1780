// SPDX-License-Identifier: BSD-3-Clause
/*
 * serial_phase: one rank does what no other does, and most others wait for it.
 *
 * Fires where a wait in a collective operation is for one rank, at least half of the others wait, and the
 * function to blame has a tenth of its time or less on other ranks: with more, they share the work, however
 * unevenly, and that is an imbalance.
 * Says who waited where, and for which function.
 */
#include "findings/findings.h"
#include "findings/wait_words.h"

#include <stdlib.h>

#define MOST_ELSEWHERE 0.1

/* Which part of the function's time is that of others; 1 where it has none on the late rank. */
static double share_elsewhere(struct ar_evidence *e, const struct ar_story *story)
{
    struct ar_busy_time *times = ar_times_in(e, story->function);
    double elsewhere_ns = 0, own_ns = times ? times[story->late].ns : 0;

    for (size_t i = 0; times && i < e->p->n_roots; i++)
        elsewhere_ns += i == story->late ? 0 : times[i].ns;
    free(times);
    return own_ns > 0 ? elsewhere_ns / (own_ns + elsewhere_ns) : 1;
}

static bool do_most_wait(const struct ar_evidence *e, const struct ar_wait_site *site)
{
    size_t n = ar_n_main_shares(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_WAITING);

    return 2 * n >= e->p->n_roots - 1;
}

void ar_rule_serial_phase(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->n_stories; i++) {
        struct ar_story *story = &e->stories[i];

        if (story->is_told || ar_is_point_to_point(story) || story->late == AR_NO_ID ||
            story->function == AR_NO_ID || !do_most_wait(e, story->site))
            continue;

        double elsewhere = share_elsewhere(e, story);

        if (elsewhere <= MOST_ELSEWHERE)
            ar_tell_story(e, story, "serial_phase", ar_place_of_function(e->p, story->function),
                          elsewhere > 0 ? ", which others hardly do"
                                        : ", which no other rank does");
    }
}
