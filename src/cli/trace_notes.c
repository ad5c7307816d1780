// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace_notes.h"

#include "cli/screen.h"

#include <inttypes.h>

void ar_note_short(const char *path, const struct ar_traces *traces)
{
    const char *is_short = ar_profile_fact_text(traces->profile, AR_FACT_TRACE_SHORT);

    if (*is_short)
        ar_note("allranks: %s: the trace has %s, up to its end: %s\n", path,
                ar_show_duration((double)(traces->recorded_ns - traces->start_ns)), is_short);
}

void ar_note_early_ends(const char *path, const struct ar_traces *traces)
{
    uint64_t n = ar_profile_lost(traces->profile, AR_NO_ID, AR_LOST_TRACE);

    ar_note_short(path, traces);

    if (n)
        ar_note("allranks: %s: the trace ends early, or lacks a part, %s (why: allranks info %s)\n",
                path, n == 1 ? "on one thread" : ar_show_items(n, "time", "times"), ar_quote(path));
}

/* "node1", "node1 and 3 other hosts" */
static void note_hosts(const struct ar_traces *traces, uint32_t n, uint32_t first)
{
    ar_note("%s", ar_strtab_text(&traces->profile->strings, first));
    if (n > 1)
        ar_note(" and %s", ar_show_items(n - 1, "other host", "other hosts"));
}

static void note_sources(const char *path, const struct ar_traces *traces)
{
    const struct ar_clock_hosts *hosts = &traces->hosts;

    if (hosts->n_estimated) {
        ar_note("allranks: %s: the clock of ", path);
        note_hosts(traces, hosts->n_estimated, hosts->first_estimated);
        ar_note(" was not compared: it is estimated from messages, to within %s\n",
                ar_show_duration((double)hosts->estimated_error_ns));
    }
    if (hosts->n_unknown) {
        ar_note("allranks: %s: clock not known: ", path);
        note_hosts(traces, hosts->n_unknown, hosts->first_unknown);
        ar_note(" (not compared, and no messages go both ways): times there may be off by any "
                "amount, waits for other hosts are not known\n");
    }
}

void ar_note_clocks(const char *path, const struct ar_traces *traces)
{
    const struct ar_clock_correction *c = &traces->correction;

    note_sources(path, traces);
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
