// SPDX-License-Identifier: BSD-3-Clause
#include "format/dimensions.h"
#include "format/runfile.h"
#include "format/runfile_layout.h"
#include "format/trace.h"

#include <stdlib.h>
#include <string.h>

struct section {
    uint32_t kind;
    size_t offset, n_bytes;
};

struct encoding {
    struct ar_profile *p;
    struct ar_bytes *out;
    struct section *sections; /* as many as there are */
    size_t n_sections;
};

static void begin_section(struct encoding *e, enum ar_section_kind kind)
{
    e->sections[e->n_sections] = (struct section){.kind = kind, .offset = e->out->n};
}

static void end_section(struct encoding *e)
{
    struct section *s = &e->sections[e->n_sections++];

    s->n_bytes = e->out->n - s->offset;
}

static void encode_strings(struct encoding *e)
{
    const struct ar_strtab *strings = &e->p->strings;

    begin_section(e, AR_SECTION_STRINGS);
    ar_bytes_varint(e->out, strings->n_strings);
    for (size_t i = 0; i < strings->n_strings; i++)
        ar_bytes_string(e->out, strings->strings[i].text, strings->strings[i].n_bytes);
    end_section(e);
}

/* How many columns it has is said, so that later versions can have more. */
static void encode_dimension(struct encoding *e, enum ar_section_kind kind,
                             const struct ar_dimension *dimension, const void *items, size_t n)
{
    begin_section(e, kind);
    ar_bytes_varint(e->out, n);
    ar_bytes_varint(e->out, dimension->n_fields);
    ar_dimension_put(dimension, items, n, e->out);
    end_section(e);
}

/* Parents as distances: most nodes hang below one of the last few. */
static void encode_nodes(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_NODES);
    ar_bytes_varint(e->out, p->n_nodes);
    for (size_t i = 1; i < p->n_nodes; i++)
        ar_bytes_varint(e->out, i - p->nodes[i].parent);
    ar_dimension_put(&ar_nodes_dimension, p->nodes, p->n_nodes, e->out);
    end_section(e);
}

/* ---- metrics ---------------------------------------------------------------------------------- */

/* Rows of a metric, sorted by node. */
struct row_list {
    struct row {
        size_t end;   /* behind its last value */
        uint32_t set; /* number of its set of locations */
    } * items;
    size_t n, cap;
};

static size_t end_of_row(const struct ar_metric *m, size_t i)
{
    size_t end = i;

    while (end < m->n_values && m->values[end].node == m->values[i].node)
        end++;
    return end;
}

static enum ar_status find_rows(const struct ar_metric *m, struct ar_set_writer *sets,
                                struct row_list *rows)
{
    for (size_t i = 0; i < m->n_values; i = rows->items[rows->n++].end) {
        if (rows->n == rows->cap &&
            ar_grow((void **)&rows->items, &rows->cap, rows->n + 1, sizeof *rows->items) < 0)
            return AR_NOMEM;

        struct row *row = &rows->items[rows->n];

        row->end = end_of_row(m, i);
        if (ar_set_add(sets, m->values + i, row->end - i, &row->set) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static bool has_same_rows(const struct ar_metric *a, const struct ar_metric *b)
{
    if (a->n_values != b->n_values)
        return false;
    for (size_t i = 0; i < a->n_values; i++)
        if (a->values[i].location != b->values[i].location ||
            a->values[i].node != b->values[i].node)
            return false;
    return true;
}

/* Metrics that are measured together have the same rows: these are found once. AR_NO_ID: none before this one has them. */
static unsigned find_same(const struct ar_profile *p, unsigned metric)
{
    for (unsigned m = 0; m < metric; m++)
        if (has_same_rows(&p->metrics[m], &p->metrics[metric]))
            return m;
    return AR_NO_ID;
}

static void encode_rows(struct encoding *e, const struct ar_metric *m, const struct row_list *rows)
{
    struct ar_bytes sizes = {0}, values = {0};
    uint32_t node = 0;

    ar_bytes_varint(e->out, rows->n);
    for (size_t i = 0, first = 0; i < rows->n; first = rows->items[i++].end) {
        size_t n_before = values.n;

        ar_bytes_varint(e->out, m->values[first].node - node);
        node = m->values[first].node;
        ar_packed_put(&values, m->values + first, rows->items[i].end - first);
        ar_bytes_varint(&sizes, values.n - n_before);
    }
    for (size_t i = 0; i < rows->n; i++)
        ar_bytes_varint(e->out, rows->items[i].set);
    ar_bytes_put(e->out, sizes.data, sizes.n);
    ar_bytes_put(e->out, values.data, values.n);
    e->out->bad = e->out->bad || sizes.bad || values.bad;
    ar_bytes_free(&sizes);
    ar_bytes_free(&values);
}

/* What is known of all rows comes first: to look at one, no other need be read. */
static void encode_matrix(struct encoding *e, unsigned metric, const struct row_list *rows)
{
    begin_section(e, AR_SECTION_MATRIX);
    ar_metric_kind_encode(ar_profile_metric(e->p, metric), e->out);
    encode_rows(e, &e->p->metrics[metric], rows);
    end_section(e);
}

static void encode_metrics(struct encoding *e)
{
    struct ar_set_writer sets = {0};
    struct row_list rows[AR_MAX_METRICS] = {0};
    const struct row_list *rows_of[AR_MAX_METRICS];
    unsigned n = ar_profile_n_metrics(e->p);

    for (unsigned m = 0; m < n; m++) {
        unsigned same = find_same(e->p, m);

        rows_of[m] = same != AR_NO_ID ? rows_of[same] : &rows[m];
        if (same == AR_NO_ID && find_rows(&e->p->metrics[m], &sets, &rows[m]) < 0)
            e->out->bad = true;
    }
    begin_section(e, AR_SECTION_SETS);
    ar_set_writer_put(&sets, e->out);
    end_section(e);
    for (unsigned m = 0; m < n && !e->out->bad; m++)
        if (rows_of[m]->n)
            encode_matrix(e, m, rows_of[m]);
    for (unsigned m = 0; m < n; m++)
        free(rows[m].items);
    ar_set_writer_free(&sets);
}

/* ---- tables and streams ----------------------------------------------------------------------- */

static void encode_table(struct encoding *e, const struct ar_table *table)
{
    begin_section(e, AR_SECTION_TABLE);
    ar_table_encode(table, e->out);
    end_section(e);
}

static void encode_streams(struct encoding *e)
{
    begin_section(e, AR_SECTION_STREAMS);
    ar_stream_head_encode(AR_SYNC_STREAM, ar_sync_roles, AR_N_SYNC_TABLES, e->p->n_streams, e->out);
    for (size_t i = 0; i < e->p->n_streams; i++)
        ar_stream_encode(&e->p->streams[i], e->out);
    end_section(e);
}

static void encode_other_streams(struct encoding *e)
{
    const struct ar_other_streams *streams = &e->p->other_streams;

    for (size_t i = 0, n; i < streams->n; i += n) {
        n = ar_other_streams_alike(streams, i);
        begin_section(e, AR_SECTION_STREAMS);
        ar_other_streams_encode(streams, i, n, e->out);
        end_section(e);
    }
}

/* The last ones: what the second stands for is written behind the bytes, by ar_run_write. */
static void encode_bulks(struct encoding *e)
{
    begin_section(e, AR_SECTION_BULKS);
    ar_bulks_encode(&e->p->bulks, e->out);
    end_section(e);
    begin_section(e, AR_SECTION_BULK);
    e->sections[e->n_sections++].n_bytes = (size_t)ar_bulks_bytes(&e->p->bulks);
}

/* Strings, facts, functions, nodes, processes, locations and sets of them. */
#define N_SECTIONS_ALWAYS 7

static size_t n_sections_of(const struct ar_profile *p)
{
    size_t n = N_SECTIONS_ALWAYS;

    n += (p->n_comms > 0) + (p->n_streams > 0) + (p->bulks.n ? 2 : 0);
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        n += p->tables[i].n > 0;
    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++)
        n += p->metrics[m].n_values > 0;
    for (size_t i = 0; i < p->other_streams.n; i += ar_other_streams_alike(&p->other_streams, i))
        n++;
    return n;
}

/* Room for what can be said of the sections only when they are there. */
static enum ar_status leave_room_for_head(struct encoding *e)
{
    static const unsigned char zeros[AR_RUN_ENTRY_BYTES];
    size_t n = n_sections_of(e->p);

    e->sections = calloc(n, sizeof *e->sections);
    ar_bytes_put(e->out, zeros, AR_RUN_HEADER_BYTES);
    for (size_t i = 0; i < n; i++)
        ar_bytes_put(e->out, zeros, AR_RUN_ENTRY_BYTES);
    return e->sections ? AR_OK : AR_NOMEM;
}

static void put_head(const struct encoding *e, struct ar_bytes *head)
{
    ar_bytes_put(head, AR_RUN_MAGIC, 8);
    ar_bytes_u32(head, e->p->bulks.n ? AR_RUN_VERSION_WITH_BULK : AR_RUN_VERSION);
    ar_bytes_u32(head, (uint32_t)e->n_sections);
    for (size_t i = 0; i < e->n_sections; i++) {
        const struct section *s = &e->sections[i];

        bool is_apart = s->kind == AR_SECTION_BULK;

        ar_bytes_u32(head, s->kind);
        ar_bytes_u32(head, is_apart ? AR_CODEC_APART : AR_CODEC_PLAIN);
        ar_bytes_u64(head, s->offset);
        ar_bytes_u64(head, s->n_bytes);
        ar_bytes_u64(head, s->n_bytes);
        ar_bytes_u32(head, is_apart ? 0 : ar_crc32(e->out->data + s->offset, s->n_bytes));
        ar_bytes_u32(head, 0);
    }
}

static enum ar_status finish(struct encoding *e)
{
    struct ar_bytes head = {0};

    if (!e->out->bad)
        put_head(e, &head);
    if (!head.bad && !e->out->bad)
        memcpy(e->out->data, head.data, head.n);

    bool bad = head.bad || e->out->bad;

    ar_bytes_free(&head);
    free(e->sections);
    return bad ? AR_NOMEM : AR_OK;
}

/* What could not be read is not written either. */
static enum ar_status count_unknown(struct ar_profile *p)
{
    size_t n = p->n_unknown_sections;

    p->n_unknown_sections = 0;
    return p->n_processes ? ar_profile_lose(p, 0, AR_LOST_SECTIONS, n) : AR_OK;
}

static enum ar_status prepare(struct ar_profile *p)
{
    enum ar_status status = ar_profile_unpack(p);

    if (status == AR_OK)
        status = count_unknown(p);
    if (status == AR_OK)
        status = ar_profile_sort(p);
    ar_bulks_keep(&p->bulks, ar_trace_uses_bulk, p);
    return status == AR_OK ? ar_profile_trim_members(p) : status;
}

enum ar_status ar_run_encode(struct ar_profile *p, struct ar_bytes *out)
{
    struct encoding e = {.p = p, .out = out};
    enum ar_status status = prepare(p);

    if (status == AR_OK)
        status = leave_room_for_head(&e);
    if (status < 0 || !e.sections)
        return status;
    encode_strings(&e);
    encode_dimension(&e, AR_SECTION_FACTS, &ar_facts_dimension, p->facts, p->n_facts);
    encode_dimension(&e, AR_SECTION_FUNCTIONS, &ar_functions_dimension, p->functions,
                     p->n_functions);
    encode_nodes(&e);
    encode_dimension(&e, AR_SECTION_PROCESSES, &ar_processes_dimension, p->processes,
                     p->n_processes);
    encode_dimension(&e, AR_SECTION_LOCATIONS, &ar_locations_dimension, p->locations,
                     p->n_locations);
    encode_metrics(&e);
    if (p->n_comms)
        encode_dimension(&e, AR_SECTION_COMMS, &ar_comms_dimension, p->comms, p->n_comms);
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        if (p->tables[i].n)
            encode_table(&e, &p->tables[i]);
    if (p->n_streams)
        encode_streams(&e);
    encode_other_streams(&e);
    if (p->bulks.n)
        encode_bulks(&e);
    return finish(&e);
}
