// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace: what the threads of a run did, event by event, as a profile has it.
 *
 * A trace is a stream of its thread (other_streams.h) by the name of "trace". Its tables say which nodes and communicators of the profile
 * are meant; merging, folding and selecting replace these. Its bytes are an index: the chunks of the trace, when each
 * begins, and what the thread did in it altogether. The events themselves (trace_bytes.h), and what the thread did in each small part of a
 * chunk (trace_bins.h), are bulk, and read when they are asked for.
 *
 *     bytes    version u8, identity of the bulk u64, ns per unit (IEEE 754 double), end of the thread in ns
 *              items: count; of each its id, how far back its parent is (0: it is a root), and its class u8
 *              chunks: count; of each the fields of struct ar_trace_chunk, see get_chunk in trace.c
 *     bulk     events of all chunks, their marks, then bins of all chunks of level 0, of level 1, …
 *
 * An item is a node of the live file. Its id is its number times 2 or, of a node without a number, its ref times 2, plus 1. A node with a number
 * that events name by its ref, because they may lead anywhere, is two items. Item i is node
 * `tables[0].numbers[i]` - 1 of the profile, 0: it is not shown.
 *
 *     struct ar_trace trace;
 *     struct ar_trace_cursor c;
 *     struct ar_trace_event event;
 *     if (ar_trace_open(&trace, profile, stream, &err) < 0) ...
 *     ar_trace_seek(&c, &trace, 0, UINT64_MAX);
 *     while (ar_trace_next(&c, &event)) ...          // c.status, c.err: why it ended early
 *     ar_trace_end(&c);
 *     ar_trace_close(&trace);
 *
 * Threads: one owner of a cursor; any number may read a trace. Nothing in the bytes is trusted.
 */
#pragma once

#include "base/idmap.h"
#include "format/profile.h"
#include "format/trace_bins.h"
#include "format/trace_bytes.h"

#include <string.h>

#define AR_TRACE_STREAM "trace"
#define AR_N_TRACE_TABLES 2 /* nodes, communicators */
/* Times of a trace are at most that, 36 years: whatever is made of them later fits. */
#define AR_TRACE_MOST_NS (UINT64_C(1) << 60)
#define AR_TRACE_BYTES_VERSION 3
#define AR_TRACE_OLDEST_VERSION 2 /* that can be read: its messages have all fields */

/* The bins of a chunk that are on one level, or its marks. */
struct ar_trace_level {
    uint64_t at; /* in the bulk */
    uint32_t n_bytes, crc;
};

struct ar_trace_chunk {
    uint64_t at, n_bytes; /* in the bulk */
    uint64_t start_ns;    /* since the process began */
    uint64_t units;       /* how long it lasts */
    uint64_t n_events;
    uint32_t crc;
    uint32_t item;     /* where the thread is when it begins */
    uint32_t end_item; /* where it is after the last event; AR_NO_ID: nothing is recorded then */
    bool is_after_gap; /* what came before is not there */
    uint8_t bin_shift; /* a bin of level 0 lasts 2^bin_shift units */
    uint8_t n_levels;
    struct ar_trace_level marks, levels[AR_MOST_TRACE_LEVELS];
    struct ar_trace_bin whole; /* all of it; of one that lasts no time it is empty */
};

struct ar_trace {
    const struct ar_profile *profile;
    const struct ar_other_stream *stream;
    const struct ar_bulk *bulk; /* NULL: its events are not there */
    uint32_t location;
    double ns_per_unit;
    uint32_t *nodes;   /* of items: of the profile; AR_NO_ID: not shown */
    uint32_t *parents; /* of items: items; AR_NO_ID: a root */
    uint8_t *classes;  /* of items: enum ar_trace_class; AR_CLASS_NONE: a pause */
    uint32_t n_items;
    uint32_t *item_of; /* by number; AR_NO_ID: none */
    uint32_t n_numbers;
    struct ar_idmap far; /* items by ref */
    struct ar_trace_chunk *chunks;
    size_t n_chunks;
    uint64_t n_events;
    uint64_t start_ns, end_ns;
};

static inline bool ar_is_trace(const struct ar_other_stream *stream)
{
    return strcmp(stream->name, AR_TRACE_STREAM) == 0;
}

/* Of a stream that is a trace. AR_BAD: it makes no sense. On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_trace_open(struct ar_trace *out, const struct ar_profile *p,
                                           const struct ar_other_stream *stream,
                                           struct ar_error *err);
void ar_trace_close(struct ar_trace *trace);
/* Does a trace of the profile, which is the context, refer to that bulk? */
bool ar_trace_uses_bulk(uint64_t id, const void *profile);

/* Where an event leads from an item; where it leads nowhere, the thread stays. */
static inline uint32_t ar_trace_follow(const struct ar_trace *trace, uint32_t item,
                                       const struct ar_trace_item *event)
{
    uint32_t to = item;

    if (event->tag == AR_TRACE_UP)
        to = trace->parents[item];
    else if (event->tag == AR_TRACE_DOWN)
        to = event->number < trace->n_numbers ? trace->item_of[event->number] : AR_NO_ID;
    else if (event->code == AR_TRACE_GO || event->code == AR_TRACE_ON ||
             event->code == AR_TRACE_REWOUND)
        to = ar_idmap_get(&trace->far, (uint64_t)event->number + 1, AR_NO_ID);
    return to == AR_NO_ID ? item : to;
}

/* ---- events ----------------------------------------------------------------------------------- */

enum ar_trace_event_kind {
    AR_EVENT_ENTER, /* of a node of the profile; every one is left again */
    AR_EVENT_LEAVE,
    AR_EVENT_MESSAGE,   /* of an MPI call, between its two ends */
    AR_EVENT_PARAMETER, /* that the program has noted */
    AR_EVENT_COUNTER,   /* what a counter has counted on this thread so far: `parameter` */
    AR_EVENT_OFF, /* nothing is recorded from here on, as the trace is off or the program paused; what is open stays so … */
    AR_EVENT_ON,  /* … until here; where the thread is now follows as implied events */
    AR_EVENT_FULL, /* the limit was reached: all is left, and nothing follows */
    AR_N_TRACE_EVENT_KINDS
};

struct ar_trace_event {
    uint8_t kind;    /* enum ar_trace_event_kind */
    bool is_implied; /* entered before the trace or the window began, or left after it ended */
    uint64_t at_ns;  /* since the process began; never earlier than the event before */
    uint32_t node;   /* that is entered or left, or the current one; AR_NO_ID: none */
    uint32_t depth;  /* how many are open around it */
    /* Of a message only: `comm` is that of the profile plus 1, 0: not known; and the MPI call that it belongs to. */
    struct ar_trace_message message;
    uint64_t call_start_ns, call_end_ns;
    struct ar_trace_parameter
        parameter; /* of a parameter or a counter only; valid until the next event */
};

struct ar_trace_cursor {
    const struct ar_trace *trace;
    uint64_t from_ns, to_ns;
    unsigned char *room; /* the chunk that is being read */
    size_t n_room, chunk;
    struct ar_trace_chunk_reader reader;
    bool has_begun, has_ended, is_off, is_after_gap;
    uint32_t pause;       /* the function of pauses; AR_NO_ID: there is none */
    uint32_t item;        /* where the trace is */
    uint64_t at_ns;       /* of the event that was told last */
    uint32_t node, depth; /* where it has led */
    uint64_t entered_ns;  /* when that was entered */
    /* The way to the next node: up to `turn`, then down the path, whose last node comes first. */
    uint32_t turn;
    uint64_t goal_ns;
    bool is_implied;
    uint32_t *path;
    size_t n_path, cap_path;
    struct ar_trace_event *ahead; /* to be told before that */
    size_t n_ahead, next_ahead, cap_ahead;
    bool has_pending; /* an item that was read and is to be looked at again */
    struct ar_trace_item pending;
    uint64_t pending_ns;
    enum ar_status status; /* why it ended early; AR_OK: it did not */
    struct ar_error err;
};

/* Events from one instant to another, since the process began. What is open at the first is entered then. */
void ar_trace_seek(struct ar_trace_cursor *c, const struct ar_trace *trace, uint64_t from_ns,
                   uint64_t to_ns);
bool ar_trace_next(struct ar_trace_cursor *c, struct ar_trace_event *out);
void ar_trace_end(struct ar_trace_cursor *c);
