// SPDX-License-Identifier: BSD-3-Clause
#include "format/dimensions.h"
#include "format/runfile.h"
#include "format/runfile_layout.h"
#include "format/runfile_old.h"

#include <stdlib.h>
#include <string.h>

#define AGAIN "(copy it again, or record the program again)"

/* A later version may have more, but not without end. */
#define MAX_COLUMNS 256

bool ar_run_make_items(struct ar_cursor *in, void **items, size_t *n_items, size_t *cap, size_t n,
                       size_t item_bytes)
{
    if (!in->bad && !*items)
        *items = calloc(n ? n : 1, item_bytes);
    else
        in->bad = true; /* there is one such section */
    if (in->bad || !*items) {
        in->bad = true;
        return false;
    }
    *n_items = *cap = n;
    return true;
}

#define MAKE_ITEMS(in, p, name, n)                                                                 \
    ar_run_make_items(in, (void **)&(p)->name, &(p)->n_##name, &(p)->cap_##name, n,                \
                      sizeof *(p)->name)

static void decode_strings(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    struct ar_cursor *in = &d->in;
    uint32_t n = ar_cursor_count(in, 1);

    for (uint32_t i = 0; i < n && !in->bad; i++) {
        size_t n_bytes;
        const char *text = ar_cursor_string(in, &n_bytes);
        uint32_t id;

        /* Strings are different from each other, so each takes the next number. */
        if (!in->bad && (ar_strtab_put(&p->strings, text, n_bytes, &id) < 0 || id != i))
            in->bad = true;
    }
}

/*
 * How many there are, and in how many columns. Up to version 9 that is not said: as many as the dimension has, or fewer in old
 * versions, which is known by what follows.
 */
static uint32_t decode_count(struct ar_decoding *d, const struct ar_dimension *dimension,
                             size_t n_first, size_t *n_columns)
{
    bool is_said = d->version > AR_LAST_WITHOUT_DESCRIPTIONS;
    size_t n_left = ar_cursor_left(&d->in);
    uint32_t n = ar_cursor_varint32(&d->in);

    *n_columns = is_said ? ar_cursor_varint32(&d->in) : n_first;
    if (*n_columns > MAX_COLUMNS || (*n_columns == 0 && n) || n > n_left ||
        n * ar_dimension_least(dimension, *n_columns) > n_left)
        d->in.bad = true;
    return d->in.bad ? 0 : n;
}

static void decode_items(struct ar_decoding *d, const struct ar_dimension *dimension, void *items,
                         uint32_t n, size_t n_columns)
{
    const struct ar_role_limits limits = ar_profile_limits(d->p);

    ar_dimension_get(dimension, items, n, n_columns, &d->in, &limits);
}

static void decode_facts(struct ar_decoding *d)
{
    size_t n_columns;
    uint32_t n = decode_count(d, &ar_facts_dimension, 2, &n_columns);

    if (MAKE_ITEMS(&d->in, d->p, facts, n))
        decode_items(d, &ar_facts_dimension, d->p->facts, n, n_columns);
}

static void decode_functions(struct ar_decoding *d)
{
    size_t n_columns;
    uint32_t n = decode_count(d, &ar_functions_dimension, 4, &n_columns);

    if (MAKE_ITEMS(&d->in, d->p, functions, n))
        decode_items(d, &ar_functions_dimension, d->p->functions, n, n_columns);
}

static void decode_nodes(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    struct ar_cursor *in = &d->in;
    uint32_t n = ar_cursor_count(in, 2);

    if (n == 0)
        in->bad = true;
    if (!MAKE_ITEMS(in, p, nodes, n))
        return;
    p->nodes[0].parent = AR_NO_ID;
    for (uint32_t i = 1; i < n && !in->bad; i++) {
        uint32_t distance = ar_cursor_varint32(in);

        if (distance == 0 || distance > i)
            in->bad = true;
        p->nodes[i].parent = i - distance;
    }
    decode_items(d, &ar_nodes_dimension, p->nodes, n, ar_nodes_dimension.n_fields);
}

static void decode_processes(struct ar_decoding *d)
{
    size_t n_columns;
    uint32_t n = decode_count(d, &ar_processes_dimension, 0, &n_columns);

    if (MAKE_ITEMS(&d->in, d->p, processes, n))
        decode_items(d, &ar_processes_dimension, d->p->processes, n, n_columns);
}

#define N_LOCATION_COLUMNS_OF_VERSION_2 3

static void decode_locations(struct ar_decoding *d)
{
    size_t n_first =
        d->version == 2 ? N_LOCATION_COLUMNS_OF_VERSION_2 : ar_locations_dimension.n_fields;
    size_t n_columns;
    uint32_t n = decode_count(d, &ar_locations_dimension, n_first, &n_columns);

    if (MAKE_ITEMS(&d->in, d->p, locations, n))
        decode_items(d, &ar_locations_dimension, d->p->locations, n, n_columns);
}

/* Those that are made of others come after them. */
static void decode_comms(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    size_t n_columns;
    uint32_t n = decode_count(d, &ar_comms_dimension, ar_comms_dimension.n_fields, &n_columns);

    if (!MAKE_ITEMS(&d->in, p, comms, n))
        return;
    decode_items(d, &ar_comms_dimension, p->comms, n, n_columns);
    for (uint32_t i = 0; i < n; i++)
        if (p->comms[i].parent > i)
            d->in.bad = true;
}

/* ---- metrics ---------------------------------------------------------------------------------- */

bool ar_run_get_metric(struct ar_decoding *d, bool has_scope, unsigned *metric)
{
    struct ar_metric_kind *kind =
        has_scope ? ar_metric_kind_decode(&d->in) : ar_metric_kind_decode_old(&d->in);

    if (!kind)
        return false;

    enum ar_status status = ar_profile_find_metric(d->p, kind, metric);

    free(kind);
    d->in.bad = status == AR_NOMEM;
    d->n_lost[AR_LOST_METRICS] += status == AR_BAD;
    return status == AR_OK;
}

static void decode_sets(struct ar_decoding *d)
{
    if (d->p->sets.items)
        d->in.bad = true;
    else
        ar_sets_open(&d->p->sets, &d->in, d->p->n_locations);
}

/* What it says of rows is kept, and where their values are. */
static void decode_matrix(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    unsigned metric;

    if (!ar_run_get_metric(d, d->version > AR_LAST_WITHOUT_DESCRIPTIONS, &metric))
        return;
    if (p->packed[metric].rows || p->metrics[metric].values)
        d->in.bad = true;
    else
        ar_packed_open(&p->packed[metric], &d->in, &p->sets, p->n_nodes);
}

/* ---- tables and streams ----------------------------------------------------------------------- */

/* Ours, if it has all columns of the file; else the file's, of which ours may be the beginning. */
static const struct ar_table_kind *kind_to_have(const struct ar_table_kind *stored,
                                                struct ar_table *tables, struct ar_table **at)
{
    for (size_t i = 0; i < AR_N_TABLES; i++)
        if (!tables[i].kind && (ar_table_kind_extends(&ar_table_kinds[i], stored) ||
                                ar_table_kind_extends(stored, &ar_table_kinds[i]))) {
            *at = &tables[i];
            return ar_table_kind_extends(&ar_table_kinds[i], stored) ? &ar_table_kinds[i] : stored;
        }
    return stored;
}

static void decode_table(struct ar_decoding *d)
{
    struct ar_profile *p = d->p;
    struct ar_table_kind *stored = ar_table_kind_decode(&d->in);
    const struct ar_role_limits limits = ar_profile_limits(p);
    bool has_room = ar_profile_n_tables(p) < AR_MAX_TABLES;
    struct ar_table *at = has_room ? &p->tables[ar_profile_n_tables(p)] : NULL;

    if (!stored)
        return;

    const struct ar_table_kind *kind = kind_to_have(stored, p->tables, &at);
    size_t n_columns = stored->n_columns;

    if (kind != stored || !at)
        ar_table_kind_free(stored);
    if (!at) {
        d->n_lost[AR_LOST_TABLES]++;
        return;
    }
    p->n_other_tables += at == &p->tables[ar_profile_n_tables(p)];
    ar_table_decode(at, kind, n_columns, &d->in, &limits);
}

typedef void stream_fn(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes, size_t n_comms);

/* One a location, in their order. */
static void decode_syncs(struct ar_decoding *d, uint32_t n, stream_fn *decode)
{
    struct ar_profile *p = d->p;
    struct ar_cursor *in = &d->in;

    if (p->streams)
        in->bad = true; /* there is one such section */
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        struct ar_stream stream;

        if (ar_grow((void **)&p->streams, &p->cap_streams, i + 1, sizeof *p->streams) < 0) {
            in->bad = true;
            return;
        }
        decode(&stream, in, p->n_nodes, p->n_comms);
        if (in->bad)
            return;
        p->streams[p->n_streams++] = stream;
        if (stream.location >= p->n_locations ||
            (i && p->streams[i - 1].location >= stream.location))
            in->bad = true;
    }
}

static void decode_own_streams(struct ar_decoding *d)
{
    struct ar_column roles[AR_MAX_STREAM_TABLES];
    size_t n_tables;
    uint32_t n = ar_stream_head_decode(&d->in, roles, &n_tables);

    if (n_tables != AR_N_SYNC_TABLES || roles[0].role != AR_ROLE_NODE ||
        roles[1].role != AR_ROLE_COMM)
        d->in.bad = true;
    decode_syncs(d, n, ar_stream_decode);
}

static void decode_streams(struct ar_decoding *d)
{
    const struct ar_role_limits limits = ar_profile_limits(d->p);
    size_t n_name;
    const char *name = ar_cursor_string(&d->in, &n_name);

    if (!d->in.bad && n_name == strlen(AR_SYNC_STREAM) && memcmp(name, AR_SYNC_STREAM, n_name) == 0)
        decode_own_streams(d);
    else
        ar_other_streams_decode(&d->p->other_streams, name, n_name, &d->in, &limits);
}

static void decode_streams_9(struct ar_decoding *d)
{
    decode_syncs(d, ar_cursor_count(&d->in, 7), ar_stream_decode_9);
}

static void decode_old_streams(struct ar_decoding *d)
{
    decode_syncs(d, ar_cursor_count(&d->in, 7), ar_stream_decode_old);
}

typedef void decode_fn(struct ar_decoding *d);

static void decode_bulks(struct ar_decoding *d)
{
    ar_bulks_decode(&d->p->bulks, &d->in, d->bulk.at, d->bulk.n_bytes);
}

/* Passed over. */
static void decode_nothing(struct ar_decoding *d)
{
    (void)d;
}

static decode_fn *reader_of(uint32_t kind, uint32_t version)
{
    static decode_fn *const readers[AR_N_SECTION_KINDS] = {
        [AR_SECTION_STRINGS] = decode_strings,
        [AR_SECTION_FACTS] = decode_facts,
        [AR_SECTION_FUNCTIONS] = decode_functions,
        [AR_SECTION_NODES] = decode_nodes,
        [AR_SECTION_PROCESSES] = decode_processes,
        [AR_SECTION_LOCATIONS] = decode_locations,
        [AR_SECTION_METRIC] = ar_run_decode_old_metric,
        [AR_SECTION_COMMS] = decode_comms,
        [AR_SECTION_MESSAGES] = ar_run_decode_old_messages,
        [AR_SECTION_REQUESTS] = ar_run_decode_old_requests,
        [AR_SECTION_SYNCS] = decode_nothing,
        [AR_SECTION_SETS] = decode_sets,
        [AR_SECTION_MATRIX] = decode_matrix,
        [AR_SECTION_OLD_STREAMS] = decode_old_streams,
        [AR_SECTION_STREAMS_9] = decode_streams_9,
        [AR_SECTION_OPEN_CALLS] = ar_run_decode_old_open_calls,
        [AR_SECTION_TABLE] = decode_table,
        [AR_SECTION_STREAMS] = decode_streams,
        [AR_SECTION_BULKS] = decode_bulks,
    };

    if (kind == AR_SECTION_PROCESSES && version <= AR_LAST_WITHOUT_DESCRIPTIONS)
        return ar_run_decode_old_processes;
    return kind < AR_N_SECTION_KINDS ? readers[kind] : NULL;
}

static void decode_section(struct ar_decoding *d, uint32_t kind)
{
    decode_fn *reader = reader_of(kind, d->version);

    if (reader)
        reader(d);
    else /* of a later version */
        d->p->n_unknown_sections++;
}

/* No two of them are the same. */
static enum ar_status index_comms(struct ar_profile *p)
{
    struct ar_comm *comms = p->comms;
    size_t n_comms = p->n_comms;
    enum ar_status status = AR_OK;
    uint32_t id;

    p->comms = NULL;
    p->n_comms = p->cap_comms = 0;
    for (size_t i = 0; i < n_comms && status == AR_OK; i++) {
        status = ar_profile_comm(p, comms[i], &id);
        if (status == AR_OK && id != i)
            status = AR_BAD;
    }
    free(comms);
    return status;
}

/*
 * Merging adds to what is there, so the numbers that were read must be found again by what they
 * stand for.
 */
static enum ar_status index_tables(struct ar_profile *p)
{
    struct ar_fact *facts = p->facts;
    struct ar_function *functions = p->functions;
    struct ar_profile_node *nodes = p->nodes;
    size_t n_facts = p->n_facts, n_functions = p->n_functions, n_nodes = p->n_nodes;
    enum ar_status status = AR_OK;
    uint32_t id;

    p->facts = NULL;
    p->functions = NULL;
    p->nodes = NULL;
    p->n_facts = p->cap_facts = 0;
    p->n_functions = p->cap_functions = p->n_nodes = p->cap_nodes = 0;
    for (size_t i = 0; i < n_facts && status == AR_OK; i++)
        status = ar_profile_fact(p, ar_strtab_get(&p->strings, facts[i].key),
                                 ar_strtab_get(&p->strings, facts[i].value));
    if (p->n_facts < n_facts && status == AR_OK)
        status = AR_BAD;
    for (size_t i = 0; i < n_functions && status == AR_OK; i++) {
        status = ar_profile_function(p, functions[i], &id);
        if (status == AR_OK && id != i)
            status = AR_BAD;
    }
    for (size_t i = 0; i < n_nodes && status == AR_OK; i++) {
        status = ar_profile_node(p, nodes[i], &id);
        if (status == AR_OK && id != i)
            status = AR_BAD;
    }
    free(facts);
    free(functions);
    free(nodes);
    return status == AR_OK ? index_comms(p) : status;
}

struct entry {
    uint32_t kind, codec, crc;
    uint64_t offset, n_stored;
};

static struct entry get_entry(struct ar_cursor *in)
{
    struct entry e = {.kind = ar_cursor_u32(in), .codec = ar_cursor_u32(in)};

    e.offset = ar_cursor_u64(in);
    e.n_stored = ar_cursor_u64(in);
    ar_cursor_u64(in);
    e.crc = ar_cursor_u32(in);
    ar_cursor_u32(in);
    return e;
}

/* Where the bytes of bulks lie: behind all sections, and not in memory as a rule. */
static struct ar_bulk_piece bulk_entry(struct ar_cursor in, uint32_t n_sections)
{
    for (uint32_t i = 0; i < n_sections && !in.bad; i++) {
        struct entry e = get_entry(&in);

        if (!in.bad && e.kind == AR_SECTION_BULK && e.codec == AR_CODEC_APART)
            return (struct ar_bulk_piece){.at = e.offset, .n_bytes = e.n_stored};
    }
    return (struct ar_bulk_piece){0};
}

uint64_t ar_run_bytes_to_read(const void *head, size_t n_head, uint64_t n_bytes)
{
    struct ar_cursor in = ar_cursor_over(head, n_head);
    const char *magic = ar_cursor_take(&in, 8);
    uint32_t version = ar_cursor_u32(&in), n_sections = ar_cursor_u32(&in);
    struct ar_bulk_piece bulk = {0};

    if (!in.bad && memcmp(magic, AR_RUN_MAGIC, 8) == 0 && version >= AR_RUN_VERSION_WITH_BULK)
        bulk = bulk_entry(in, n_sections);
    return bulk.at && bulk.at < n_bytes ? bulk.at : n_bytes;
}

/*
 * `n_left` is what no section has taken yet of the file: where they may overlap, a thousand entries for
 * the same megabyte are a gigabyte to be read.
 */
static enum ar_status decode_entry(struct ar_decoding *d, const struct entry *e,
                                   const unsigned char *bytes, size_t n_bytes, uint64_t *n_left,
                                   const char *name, struct ar_error *err)
{
    if (e->codec == AR_CODEC_APART && e->kind == AR_SECTION_BULK)
        return AR_OK; /* see bulk_entry */
    if (e->offset > n_bytes || e->n_stored > n_bytes - e->offset)
        return ar_fail(err, AR_BAD, "%s: run file is truncated (copy it again)", name);
    if (e->n_stored > *n_left)
        return ar_fail(err, AR_BAD, "%s: run file is damaged, section %u " AGAIN, name, e->kind);
    *n_left -= e->n_stored;

    size_t n_stored = (size_t)e->n_stored;

    if (e->codec != AR_CODEC_PLAIN)
        return ar_fail(err, AR_UNSUPPORTED, "%s: written by a newer allranks (upgrade to read it)",
                       name);
    if (ar_crc32(bytes + e->offset, n_stored) != e->crc)
        return ar_fail(err, AR_BAD,
                       "%s: run file is damaged, checksum of section %u (copy it again)", name,
                       e->kind);

    d->in = ar_cursor_over(bytes + e->offset, n_stored);
    decode_section(d, e->kind);
    if (d->in.bad)
        return ar_fail(err, AR_BAD, "%s: run file is damaged, section %u " AGAIN, name, e->kind);
    return AR_OK;
}

/* Of what there was no room for: the first process has it. */
static enum ar_status note_losses(struct ar_decoding *d)
{
    enum ar_status status = AR_OK;

    for (int what = 0; what < AR_N_LOSSES && status == AR_OK && d->p->n_processes; what++)
        status = ar_profile_lose(d->p, 0, (enum ar_live_loss)what, d->n_lost[what]);
    return status;
}

enum ar_status ar_run_decode_packed(struct ar_profile *out, const void *bytes, size_t n_bytes,
                                    const char *name, struct ar_error *err)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);
    const char *magic = ar_cursor_take(&in, 8);
    uint32_t version = ar_cursor_u32(&in);
    uint32_t n_sections = ar_cursor_u32(&in);
    uint64_t n_left = n_bytes;
    struct ar_decoding d = {.p = out, .version = version};
    enum ar_status status = AR_OK;

    d.bulk = bulk_entry(in, n_sections);

    *out = (struct ar_profile){0};
    if (in.bad || memcmp(magic, AR_RUN_MAGIC, 8) != 0)
        return ar_fail(err, AR_BAD,
                       "%s: not a run file of allranks (one is made by: allranks run SCRIPT)",
                       name);
    if (version < AR_RUN_OLDEST_VERSION || version > AR_RUN_NEWEST_VERSION)
        return ar_fail(err, AR_UNSUPPORTED,
                       "%s: run file of version %u, this allranks reads %d to %d (use the one that "
                       "wrote it, or a newer one)",
                       name, version, AR_RUN_OLDEST_VERSION, AR_RUN_NEWEST_VERSION);
    for (uint32_t i = 0; i < n_sections && status == AR_OK; i++) {
        struct entry e = get_entry(&in);

        if (in.bad)
            status = ar_fail(err, AR_BAD, "%s: run file is truncated (copy it again)", name);
        else
            status = decode_entry(&d, &e, bytes, n_bytes, &n_left, name, err);
    }
    if (status == AR_OK && (out->n_nodes == 0 || out->n_functions == 0))
        status = ar_fail(err, AR_BAD, "%s: run file is damaged, no tree " AGAIN, name);
    if (status == AR_OK)
        status = note_losses(&d);
    if (status == AR_OK) {
        status = index_tables(out);
        if (status == AR_BAD)
            ar_fail(err, status, "%s: run file is damaged, repeated entries " AGAIN, name);
        else if (status < 0)
            ar_fail(err, status, "%s: %s (free some memory)", name, ar_status_text(status));
    }
    if (status < 0)
        ar_profile_free(out);
    return status;
}

enum ar_status ar_run_decode(struct ar_profile *out, const void *bytes, size_t n_bytes,
                             const char *name, struct ar_error *err)
{
    enum ar_status status = ar_run_decode_packed(out, bytes, n_bytes, name, err);

    if (status < 0)
        return status;
    status = ar_profile_unpack(out);
    if (status < 0) {
        ar_profile_free(out);
        ar_fail(err, status, "%s: %s (free some memory)", name, ar_status_text(status));
    }
    return status;
}

/* A page has the whole file; else it is found by its name. */
static void find_bulk_in_memory(struct ar_profile *p, size_t n_bytes)
{
    const struct ar_bulk *last = p->bulks.n ? &p->bulks.items[p->bulks.n - 1] : NULL;
    const struct ar_bulk_piece *piece = last ? last->pieces : NULL;

    if (piece && piece->at + piece->n_bytes <= n_bytes) {
        p->bulks.sources[piece->source].memory = p->file;
        p->bulks.sources[piece->source].n_bytes = n_bytes;
    }
}

enum ar_status ar_run_take_packed(struct ar_profile *out, unsigned char *bytes, size_t n_bytes,
                                  const char *name, struct ar_error *err)
{
    enum ar_status status = ar_run_decode_packed(out, bytes, n_bytes, name, err);

    if (status == AR_OK && (out->sets.items || out->n_streams || out->other_streams.n)) {
        out->file = bytes;
        find_bulk_in_memory(out, n_bytes);
    } else { /* older versions have nothing that is packed */
        free(bytes);
    }
    return status;
}
