// SPDX-License-Identifier: BSD-3-Clause
#include "format/trace.h"

#include "base/arena.h"

#include <stdlib.h>

#define MOST_CHUNK_BYTES ((uint64_t)1 << 24)
#define MOST_BINS 4096 /* of a chunk */
#define MOST_BIN_SHIFT 50

void ar_trace_close(struct ar_trace *trace)
{
    free(trace->nodes);
    free(trace->parents);
    free(trace->item_of);
    free(trace->chunks);
    free(trace->classes);
    ar_idmap_free(&trace->far);
    *trace = (struct ar_trace){0};
}

static uint64_t bulk_of(const struct ar_other_stream *stream)
{
    struct ar_cursor in = ar_cursor_over(stream->bytes, stream->n_bytes);

    ar_cursor_u8(&in);
    return ar_cursor_u64(&in);
}

bool ar_trace_uses_bulk(uint64_t id, const void *profile)
{
    const struct ar_profile *p = profile;

    for (size_t i = 0; i < p->other_streams.n; i++)
        if (ar_is_trace(&p->other_streams.items[i]) && bulk_of(&p->other_streams.items[i]) == id)
            return true;
    return false;
}

/* ---- items ------------------------------------------------------------------------------------ */

static uint32_t node_of(const struct ar_trace *trace, size_t item)
{
    const struct ar_stream_table *nodes = &trace->stream->tables[0];
    uint32_t number = item < nodes->n ? nodes->numbers[item] : 0;

    return number && number <= trace->profile->n_nodes ? number - 1 : AR_NO_ID;
}

/* As far as numbers go: most threads have few nodes. */
static bool put_number(struct ar_trace *trace, uint32_t number, uint32_t item)
{
    size_t cap = trace->n_numbers;

    if (number >= trace->n_numbers) {
        if (ar_grow((void **)&trace->item_of, &cap, (size_t)number + 1, sizeof *trace->item_of) < 0)
            return false;
        for (size_t i = trace->n_numbers; i < cap; i++)
            trace->item_of[i] = AR_NO_ID;
        trace->n_numbers = (uint32_t)cap;
    }
    trace->item_of[number] = item;
    return true;
}

static void get_item(struct ar_trace *trace, struct ar_cursor *in, uint32_t item)
{
    uint64_t id = ar_cursor_varint(in);
    uint32_t back = ar_cursor_varint32(in);
    uint8_t class = ar_cursor_u8(in);

    if (back > item || class >= AR_N_TRACE_CLASSES)
        in->bad = true;
    trace->classes[item] = class;
    trace->parents[item] = back && !in->bad ? item - back : AR_NO_ID;
    trace->nodes[item] = node_of(trace, item);
    if (id & 1)
        in->bad = in->bad || ar_idmap_put(&trace->far, (id >> 1) + 1, item) < 0;
    else if (id >> 1 >= AR_TRACE_NUMBERS || !put_number(trace, (uint32_t)(id >> 1), item))
        in->bad = true;
}

static void get_items(struct ar_trace *trace, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 3);

    trace->nodes = calloc((size_t)n + 1, sizeof *trace->nodes);
    trace->parents = calloc((size_t)n + 1, sizeof *trace->parents);
    trace->classes = calloc((size_t)n + 1, sizeof *trace->classes);
    if (!trace->nodes || !trace->parents || !trace->classes) {
        in->bad = true;
        return;
    }
    trace->n_items = n;
    for (uint32_t i = 0; i < n && !in->bad; i++)
        get_item(trace, in, i);
}

/* ---- chunks ----------------------------------------------------------------------------------- */

static void get_level(struct ar_cursor *in, struct ar_trace_level *level)
{
    level->n_bytes = ar_cursor_varint32(in);
    level->crc = ar_cursor_u32(in);
    if (level->n_bytes > MOST_CHUNK_BYTES)
        in->bad = true;
}

static void get_levels(struct ar_cursor *in, struct ar_trace_chunk *chunk)
{
    uint32_t bin_shift = ar_cursor_varint32(in);

    chunk->n_levels = ar_cursor_u8(in);
    if (bin_shift > MOST_BIN_SHIFT || !chunk->n_levels || chunk->n_levels > AR_MOST_TRACE_LEVELS ||
        chunk->units >> bin_shift > MOST_BINS) {
        in->bad = true;
        return;
    }
    chunk->bin_shift = (uint8_t)bin_shift;
    for (unsigned i = 0; i < chunk->n_levels && !in->bad; i++)
        get_level(in, &chunk->levels[i]);
    get_level(in, &chunk->marks);
}

static void get_chunk(struct ar_trace *trace, struct ar_cursor *in, uint64_t *n_bulk_bytes)
{
    struct ar_trace_chunk *chunk = &trace->chunks[trace->n_chunks++];
    uint32_t end;

    *chunk = (struct ar_trace_chunk){.at = *n_bulk_bytes, .n_bytes = ar_cursor_varint(in)};
    chunk->start_ns = ar_cursor_varint(in);
    chunk->units = ar_cursor_varint(in);
    chunk->n_events = ar_cursor_varint(in);
    chunk->crc = ar_cursor_u32(in);
    chunk->item = ar_cursor_varint32(in);
    end = ar_cursor_varint32(in);
    chunk->end_item = end ? end - 1 : AR_NO_ID;
    chunk->is_after_gap = ar_cursor_u8(in);
    if (chunk->n_bytes > MOST_CHUNK_BYTES || chunk->item >= trace->n_items ||
        end > trace->n_items || chunk->start_ns > AR_TRACE_MOST_NS ||
        chunk->units > INT64_MAX / 64 || chunk->n_events > chunk->n_bytes / 2) {
        in->bad = true;
        return;
    }
    get_levels(in, chunk);
    if (chunk->units && !in->bad)
        ar_trace_bin_get(in, chunk->units, trace->n_items, &chunk->whole);
    *n_bulk_bytes += chunk->n_bytes;
    trace->n_events += chunk->n_events;
}

static void place_level(struct ar_trace_level *level, uint64_t *n_bulk_bytes)
{
    level->at = *n_bulk_bytes;
    *n_bulk_bytes += level->n_bytes;
}

/* Behind the events: all marks, all bins of a level, then all of the next. */
static void place_levels(struct ar_trace *trace, uint64_t *n_bulk_bytes)
{
    for (size_t k = 0; k < trace->n_chunks; k++)
        place_level(&trace->chunks[k].marks, n_bulk_bytes);
    for (unsigned i = 0; i < AR_MOST_TRACE_LEVELS; i++)
        for (size_t k = 0; k < trace->n_chunks; k++)
            place_level(&trace->chunks[k].levels[i], n_bulk_bytes);
}

static void get_chunks(struct ar_trace *trace, struct ar_cursor *in, uint64_t *n_bulk_bytes)
{
    uint32_t n = ar_cursor_count(in, 16);

    trace->chunks = calloc((size_t)n + 1, sizeof *trace->chunks);
    if (!trace->chunks)
        in->bad = true;
    for (uint32_t i = 0; i < n && !in->bad; i++)
        get_chunk(trace, in, n_bulk_bytes);
    place_levels(trace, n_bulk_bytes);
}

static double get_double(struct ar_cursor *in)
{
    uint64_t bits = ar_cursor_u64(in);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

enum ar_status ar_trace_open(struct ar_trace *out, const struct ar_profile *p,
                             const struct ar_other_stream *stream, struct ar_error *err)
{
    struct ar_cursor in = ar_cursor_over(stream->bytes, stream->n_bytes);
    uint64_t n_bulk_bytes = 0;
    uint8_t version = ar_cursor_u8(&in);

    *out = (struct ar_trace){.profile = p, .stream = stream, .location = stream->location};
    if (version < AR_TRACE_OLDEST_VERSION || version > AR_TRACE_BYTES_VERSION)
        return ar_fail(err, AR_UNSUPPORTED,
                       "the trace was written by a newer allranks (upgrade to read it)");
    out->bulk = ar_bulks_find(&p->bulks, ar_cursor_u64(&in));
    out->ns_per_unit = get_double(&in);
    out->end_ns = ar_cursor_varint(&in);
    if (!(out->ns_per_unit > 1e-3 && out->ns_per_unit < 1e9) || out->end_ns > AR_TRACE_MOST_NS)
        in.bad = true;
    if (!in.bad)
        get_items(out, &in);
    if (!in.bad)
        get_chunks(out, &in, &n_bulk_bytes);
    if (out->bulk && out->bulk->n_bytes < n_bulk_bytes)
        in.bad = true;
    if (in.bad) {
        ar_trace_close(out);
        return ar_fail(err, AR_BAD, "the trace is damaged (copy the file again)");
    }
    out->start_ns = out->n_chunks ? out->chunks[0].start_ns : out->end_ns;
    if (out->end_ns < out->start_ns)
        out->end_ns = out->start_ns;
    return AR_OK;
}
