// SPDX-License-Identifier: BSD-3-Clause
/*
 * exercise_traces: all that is done with the traces of a profile. Whatever the bytes are, times never go back, every enter is
 * left again, and a window has nothing beyond its ends.
 */
#pragma once

#include "analysis/traces.h"
#include "analysis/validate_trace.h"
#include "exercise.h"

/* Events that a window may have, more than which no small input has: GO leads through the whole depth of the tree. */
#define MOST_EVENTS 200000

/* Touches each byte, for the sanitizer. */
static inline size_t read_text(const char *text, size_t n)
{
    size_t n_zeros = 0;

    for (size_t i = 0; i < n; i++)
        n_zeros += text[i] == 0;
    return n + n_zeros - n_zeros;
}

static inline void must_fit(const struct ar_trace_event *event, uint64_t last_ns, uint32_t n_open,
                            const struct ar_profile *p)
{
    must(event->kind < AR_N_TRACE_EVENT_KINDS && event->at_ns >= last_ns);
    must(event->node == AR_NO_ID || event->node < p->n_nodes);
    if (event->kind == AR_EVENT_ENTER)
        must(event->depth == n_open && event->node != AR_NO_ID);
    if (event->kind == AR_EVENT_LEAVE)
        must(event->depth + 1 == n_open && event->node != AR_NO_ID);
    if (event->kind == AR_EVENT_MESSAGE)
        must(event->message.comm <= p->n_comms && event->call_start_ns <= event->call_end_ns);
    if (event->kind == AR_EVENT_PARAMETER || event->kind == AR_EVENT_COUNTER)
        must(read_text(event->parameter.name, event->parameter.n_name) <= 255 &&
             read_text(event->parameter.text, event->parameter.n_text) <= 255);
}

static inline void read_window(const struct ar_trace *trace, uint64_t from_ns, uint64_t to_ns)
{
    struct ar_trace_cursor c;
    struct ar_trace_event event;
    uint32_t n_open = 0;
    uint64_t last_ns = 0;
    size_t n = 0;
    bool has_ended = false;

    ar_trace_seek(&c, trace, from_ns, to_ns);
    while (n++ < MOST_EVENTS && !has_ended) {
        has_ended = !ar_trace_next(&c, &event);
        if (has_ended)
            break;
        must_fit(&event, last_ns, n_open, trace->profile);
        last_ns = event.at_ns;
        n_open += event.kind == AR_EVENT_ENTER;
        n_open -= event.kind == AR_EVENT_LEAVE;
    }
    must(c.status != AR_NOMEM);
    must(!has_ended || c.status < 0 || n_open == 0);
    ar_trace_end(&c);
}

static inline void read_bins(const struct ar_trace *trace)
{
    for (size_t i = 0; i < trace->n_chunks; i++)
        for (unsigned level = 0; level < trace->chunks[i].n_levels; level++) {
            const struct ar_trace_level *l = &trace->chunks[i].levels[level];
            unsigned char *room = malloc((size_t)l->n_bytes + 1);
            struct ar_error err;

            must(room != NULL);
            if (ar_bulk_get(&trace->profile->bulks, trace->bulk, l->at, room, l->n_bytes, &err) ==
                AR_OK) {
                struct ar_trace_bins bins = {.in = ar_cursor_over(room, l->n_bytes),
                                             .width = UINT64_C(1) << (trace->chunks[i].bin_shift +
                                                                      AR_TRACE_LEVEL_SHIFT * level),
                                             .n_units = trace->chunks[i].units,
                                             .n_items = trace->n_items};

                for (size_t n = 0; n < MOST_EVENTS && ar_trace_bins_next(&bins); n++)
                    must(bins.bin.n_tops <= AR_TRACE_BIN_TOPS &&
                         bins.bin.n_classes <= AR_N_TRACE_CLASSES);
            }
            free(room);
        }
}

static inline void read_trace(const struct ar_trace *trace)
{
    uint64_t span = trace->end_ns - trace->start_ns;

    read_window(trace, 0, UINT64_MAX);
    read_window(trace, trace->start_ns + span / 3, trace->start_ns + span / 2);
    read_window(trace, trace->start_ns + span / 2, trace->start_ns + span / 2);
    read_window(trace, trace->end_ns, 0);
    if (trace->bulk)
        read_bins(trace);
}

/* Of all threads, in the order of time. */
static inline void read_all(const struct ar_traces *traces)
{
    struct ar_traces_cursor c;
    struct ar_traces_event event;
    struct ar_error err;
    int64_t last_ns = INT64_MIN;

    if (ar_traces_begin(&c, traces, traces->start_ns, traces->end_ns) == AR_OK)
        for (size_t n = 0; n < MOST_EVENTS && ar_traces_next(&c, &event); n++) {
            must(event.ns >= last_ns && event.thread < traces->n);
            last_ns = event.ns;
        }
    must(ar_traces_end(&c, &err) != AR_NOMEM);
}

static inline void exercise_traces(const struct ar_profile *p)
{
    struct ar_traces traces;
    struct ar_trace trace;
    struct ar_error err;

    for (size_t i = 0; i < p->other_streams.n; i++)
        if (ar_is_trace(&p->other_streams.items[i]) &&
            ar_trace_open(&trace, p, &p->other_streams.items[i], &err) == AR_OK) {
            read_trace(&trace);
            ar_trace_close(&trace);
        }
    if (ar_traces_open(&traces, p, &err) == AR_OK) {
        read_all(&traces);
        ar_traces_close(&traces);
    }
    must(ar_validate_run_traces(p, &err) != AR_NOMEM);
}

/* Of a run that was decoded: its bulk is in the same bytes. */
static inline void bulk_from(struct ar_profile *p, const unsigned char *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < p->bulks.n_sources; i++)
        if (!p->bulks.sources[i].path && !p->bulks.sources[i].memory) {
            p->bulks.sources[i].memory = bytes;
            p->bulks.sources[i].n_bytes = n_bytes;
        }
}
