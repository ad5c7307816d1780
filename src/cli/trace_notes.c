// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace_notes.h"

#include "cli/screen.h"

#include <inttypes.h>

void ar_note_early_ends(const char *path, const struct ar_traces *traces)
{
    uint64_t n = ar_profile_lost(traces->profile, AR_NO_ID, AR_LOST_TRACE);

    if (n)
        ar_note("allranks: %s: the trace ends early, or lacks a part, %s (why: allranks info %s)\n",
                path, n == 1 ? "on one thread" : ar_show_items(n, "time", "times"), ar_quote(path));
}

void ar_note_clocks(const char *path, const struct ar_traces *traces)
{
    const struct ar_clock_correction *c = &traces->correction;

    if (c->n_messages + c->n_collectives == 0)
        return;
    ar_note("allranks: %s: clocks of ranks disagree: %" PRIu64 " messages would have been received "
            "before they were sent, and %" PRIu64 " ends of collective calls came too early; times "
            "were moved forward, by %s at most on %s\n",
            path, c->n_messages, c->n_collectives, ar_show_duration((double)c->largest_ns),
            ar_show_process(traces->profile, c->process));
}

void ar_note_unmatched(const char *path, const struct ar_trace_matches *m)
{
    for (unsigned why = AR_MATCHED + 1; why < AR_N_TRACE_UNMATCHED; why++)
        if (m->n_unmatched[why])
            ar_note("allranks: %s: %" PRIu64 " ends of messages are not matched: %s\n", path,
                    m->n_unmatched[why], ar_trace_unmatched_name((enum ar_trace_unmatched)why));
    if (m->n_incomplete)
        ar_note("allranks: %s: %" PRIu64 " collective calls are not matched: %s\n", path,
                m->n_incomplete, ar_trace_unmatched_name(AR_UNMATCHED_ALONE));
}
