// SPDX-License-Identifier: BSD-3-Clause
/*
 * made_trace: a trace in a profile, from events that the test has written byte by byte.
 *
 * Item i of the trace is node `nodes[i]` of the profile, in the item parents[i]; its number is i + 1, but that of every third one, from the
 * item 2 on, is its ref: 1000 + i.
 *
 *     struct made_trace m = {.nodes = nodes, .parents = parents, .n_items = 3};
 *     made_chunk(&m, bytes, n, start_ns, item);
 *     made_trace_add(&m, &profile, location);      // `m.events` are the bulk, and must live as long
 */
#pragma once

#include "format/trace.h"
#include "sample_profile.h"

#define MADE_BULK 77
#define MADE_NS_PER_UNIT 4.0
#define MADE_CHUNKS 16
#define MADE_END_NS 1000000

struct made_chunk {
    uint64_t start_ns;
    size_t at, n_bytes;
    uint32_t item;
    bool is_after_gap;
};

struct made_trace {
    const uint32_t *nodes, *parents;
    uint32_t n_items;
    struct made_chunk chunks[MADE_CHUNKS];
    size_t n_chunks;
    struct ar_bytes events;
};

static inline bool made_is_far(uint32_t item)
{
    return item % 3 == 2;
}

static inline uint32_t made_ref(uint32_t item)
{
    return 1000 + item;
}

static inline void made_chunk(struct made_trace *m, const void *bytes, size_t n_bytes,
                              uint64_t start_ns, uint32_t item, bool is_after_gap)
{
    if (m->n_chunks == MADE_CHUNKS)
        abort();
    m->chunks[m->n_chunks++] =
        (struct made_chunk){start_ns, m->events.n, n_bytes, item, is_after_gap};
    if (n_bytes)
        ar_bytes_put(&m->events, bytes, n_bytes);
}

static inline void made_items(const struct made_trace *m, struct ar_bytes *out)
{
    ar_bytes_varint(out, m->n_items);
    for (uint32_t i = 0; i < m->n_items; i++) {
        ar_bytes_varint(out, made_is_far(i) ? 2 * (uint64_t)made_ref(i) + 1 : 2 * (i + 1));
        ar_bytes_varint(out, i ? i - m->parents[i] : 0);
        ar_bytes_u8(out, AR_CLASS_PYTHON);
    }
}

/* Without bins, and as if it lasted no time. */
static inline void made_chunks(const struct made_trace *m, struct ar_bytes *out)
{
    ar_bytes_varint(out, m->n_chunks);
    for (size_t i = 0; i < m->n_chunks; i++) {
        const struct made_chunk *chunk = &m->chunks[i];

        ar_bytes_varint(out, chunk->n_bytes);
        ar_bytes_varint(out, chunk->start_ns);
        ar_bytes_varint(out, 0);
        ar_bytes_varint(out, chunk->n_bytes / 2);
        ar_bytes_u32(out,
                     chunk->n_bytes ? ar_crc32(m->events.data + chunk->at, chunk->n_bytes) : 0);
        ar_bytes_varint(out, chunk->item);
        ar_bytes_varint(out, 0);
        ar_bytes_u8(out, chunk->is_after_gap);
        ar_bytes_varint(out, 0);
        ar_bytes_u8(out, 1);
        for (int level = 0; level < 2; level++) { /* of bins, and of marks */
            ar_bytes_varint(out, 0);
            ar_bytes_u32(out, 0);
        }
    }
}

static inline void made_index(const struct made_trace *m, struct ar_bytes *out)
{
    double ns_per_unit = MADE_NS_PER_UNIT;
    uint64_t word;

    memcpy(&word, &ns_per_unit, sizeof word);
    ar_bytes_u8(out, AR_TRACE_BYTES_VERSION);
    ar_bytes_u64(out, MADE_BULK);
    ar_bytes_u64(out, word);
    ar_bytes_varint(out, MADE_END_NS);
    made_items(m, out);
    made_chunks(m, out);
}

static inline void made_bulk(const struct made_trace *m, struct ar_profile *p)
{
    static const unsigned char nothing[1];
    const unsigned char *bytes = m->events.n ? m->events.data : nothing;
    const struct ar_bulk_source source = {.memory = bytes, .n_bytes = m->events.n};
    struct ar_bulk_piece piece = {.n_bytes = m->events.n};

    sample_must(ar_bulks_source(&p->bulks, &source, &piece.source));
    sample_must(ar_bulks_add(&p->bulks, MADE_BULK, &piece));
}

/* All but the bulk: the index as it is given. */
static inline void made_stream(const struct made_trace *m, struct ar_profile *p, uint32_t location,
                               const struct ar_bytes *index)
{
    static const struct ar_role_maps same;
    uint32_t nodes[256], comms[] = {1};
    struct ar_other_stream stream = {
        .name = AR_TRACE_STREAM,
        .location = location,
        .roles = {{.role = AR_ROLE_NODE, .flags = AR_COLUMN_OPTIONAL},
                  {.role = AR_ROLE_COMM, .flags = AR_COLUMN_OPTIONAL}},
        .tables = {{nodes, m->n_items}, {comms, p->n_comms ? 1 : 0}},
        .n_tables = AR_N_TRACE_TABLES,
        .bytes = index->data,
        .n_bytes = index->n,
    };

    if (m->n_items > sizeof nodes / sizeof *nodes)
        abort();
    for (uint32_t i = 0; i < m->n_items; i++)
        nodes[i] = m->nodes[i] + 1;
    sample_must(ar_other_streams_add(&p->other_streams, &stream, &same, true));
}

static inline void made_trace_add(const struct made_trace *m, struct ar_profile *p,
                                  uint32_t location)
{
    struct ar_bytes index = {0};

    made_index(m, &index);
    made_bulk(m, p);
    made_stream(m, p, location, &index);
    ar_bytes_free(&index);
}

static inline void made_trace_free(struct made_trace *m)
{
    ar_bytes_free(&m->events);
    *m = (struct made_trace){0};
}
