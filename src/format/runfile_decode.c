// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"
#include "format/runfile_layout.h"

#include <stdlib.h>
#include <string.h>

/* A later version may know more kinds of loss than we do, but not without end. */
#define MAX_LOSSES 64
#define AGAIN "(copy it again, or record the program again)"

/* Reads a column of numbers that have to be below `limit`. */
static void get_column(struct ar_cursor *in, void *items, size_t n, size_t item_bytes,
                       size_t field_offset, uint64_t limit)
{
    for (size_t i = 0; i < n && !in->bad; i++) {
        uint32_t field = ar_cursor_varint32(in);

        if (field >= limit)
            in->bad = true;
        memcpy((char *)items + i * item_bytes + field_offset, &field, sizeof field);
    }
}

#define GET_COLUMN(in, items, n, type, field, limit)                                               \
    get_column(in, items, n, sizeof(type), offsetof(type, field), limit)

#define ANY ((uint64_t)1 << 32)

/* The same of a field of 64 bits. */
#define GET_LONG_COLUMN(in, items, n, field)                                                       \
    for (uint32_t row = 0; row < (n) && !(in)->bad; row++)                                         \
    (items)[row].field = ar_cursor_varint(in)

/* An array of n zeroed items in a profile, which must not have one yet. */
static bool make_items(struct ar_cursor *in, void **items, size_t *n_items, size_t *cap, size_t n,
                       size_t item_bytes)
{
    if (in->bad || *items) {
        in->bad = true;
        return false;
    }
    *items = calloc(n ? n : 1, item_bytes);
    if (!*items) {
        in->bad = true;
        return false;
    }
    *n_items = *cap = n;
    return true;
}

static void decode_strings(struct ar_profile *p, struct ar_cursor *in)
{
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

static void decode_facts(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 2);

    if (!make_items(in, (void **)&p->facts, &p->n_facts, &p->cap_facts, n, sizeof *p->facts))
        return;
    GET_COLUMN(in, p->facts, n, struct ar_fact, key, p->strings.n_strings);
    GET_COLUMN(in, p->facts, n, struct ar_fact, value, p->strings.n_strings);
}

static void decode_functions(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 4);

    if (!make_items(in, (void **)&p->functions, &p->n_functions, &p->cap_functions, n,
                    sizeof *p->functions))
        return;
    GET_COLUMN(in, p->functions, n, struct ar_function, kind, ANY);
    GET_COLUMN(in, p->functions, n, struct ar_function, name, p->strings.n_strings);
    GET_COLUMN(in, p->functions, n, struct ar_function, file, p->strings.n_strings);
    GET_COLUMN(in, p->functions, n, struct ar_function, first_line, ANY);
}

static void decode_nodes(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 2);

    if (n == 0)
        in->bad = true;
    if (!make_items(in, (void **)&p->nodes, &p->n_nodes, &p->cap_nodes, n, sizeof *p->nodes))
        return;
    p->nodes[0].parent = AR_NO_ID;
    for (uint32_t i = 1; i < n && !in->bad; i++) {
        uint32_t distance = ar_cursor_varint32(in);

        if (distance == 0 || distance > i)
            in->bad = true;
        p->nodes[i].parent = i - distance;
    }
    GET_COLUMN(in, p->nodes, n, struct ar_profile_node, function, p->n_functions);
    GET_COLUMN(in, p->nodes, n, struct ar_profile_node, line, ANY);
}

static void decode_clock_link(struct ar_cursor *in, struct ar_clock_link *link)
{
    link->at_ns = ar_cursor_varint(in);
    link->offset_ns = (int64_t)ar_cursor_u64(in);
    link->error_ns = ar_cursor_varint(in);
}

/* Reasons that a later version adds are in the sum. */
static void decode_overheads(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n_reasons = ar_cursor_count(in, p->n_processes ? p->n_processes : 1);

    for (uint32_t reason = 0; reason < n_reasons && !in->bad; reason++)
        for (size_t i = 0; i < p->n_processes && !in->bad; i++) {
            uint64_t ns = ar_cursor_varint(in);

            if (reason < AR_N_OVERHEADS)
                p->processes[i].overheads_ns[reason] = ns;
        }
}

static void decode_processes(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 7);
    uint32_t n_losses = ar_cursor_varint32(in);

    if (n_losses > MAX_LOSSES)
        in->bad = true;

    if (!make_items(in, (void **)&p->processes, &p->n_processes, &p->cap_processes, n,
                    sizeof *p->processes))
        return;
    GET_COLUMN(in, p->processes, n, struct ar_process, world_rank, ANY);
    for (uint32_t i = 0; i < n; i++)
        p->processes[i].world_rank--;
    GET_COLUMN(in, p->processes, n, struct ar_process, world_size, ANY);
    GET_COLUMN(in, p->processes, n, struct ar_process, host, p->strings.n_strings);
    GET_COLUMN(in, p->processes, n, struct ar_process, pid, ANY);
    GET_COLUMN(in, p->processes, n, struct ar_process, state, AR_N_PROCESS_STATES);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->processes[i].start_real_ns = ar_cursor_varint(in);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->processes[i].wall_ns = ar_cursor_varint(in);
    for (uint32_t loss = 0; loss < n_losses && !in->bad; loss++)
        for (uint32_t i = 0; i < n && !in->bad; i++) {
            uint64_t n_lost = ar_cursor_varint(in);

            if (loss < AR_N_LOSSES)
                p->processes[i].n_lost[loss] = n_lost;
        }
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->processes[i].overhead_ns = ar_cursor_varint(in);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        ar_cursor_varint(in); /* functions in C that versions before 8 left out */
    if (!ar_cursor_left(in))  /* version 2 */
        return;
    GET_COLUMN(in, p->processes, n, struct ar_process, command, p->strings.n_strings);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->processes[i].pid_start = ar_cursor_varint(in);
    GET_COLUMN(in, p->processes, n, struct ar_process, parent_pid, ANY);
    GET_COLUMN(in, p->processes, n, struct ar_process, root_pid, ANY);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->processes[i].root_start = ar_cursor_varint(in);
    if (!ar_cursor_left(in)) /* version 3 */
        return;
    GET_LONG_COLUMN(in, p->processes, n, start_mono_ns);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        for (int k = 0; k < AR_N_CLOCK_INSTANTS; k++)
            decode_clock_link(in, &p->processes[i].clock_links[k]);
    if (ar_cursor_left(in)) /* not before version 8 */
        decode_overheads(p, in);
}

static void decode_locations(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 3);

    if (!make_items(in, (void **)&p->locations, &p->n_locations, &p->cap_locations, n,
                    sizeof *p->locations))
        return;
    GET_COLUMN(in, p->locations, n, struct ar_location, process, p->n_processes);
    GET_COLUMN(in, p->locations, n, struct ar_location, thread, ANY);
    GET_COLUMN(in, p->locations, n, struct ar_location, name, p->strings.n_strings);
    if (!ar_cursor_left(in)) /* version 2 */
        return;
    GET_COLUMN(in, p->locations, n, struct ar_location, current, (uint64_t)p->n_nodes + 1);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->locations[i].latest_real_ns = ar_cursor_varint(in);
}

static int find_metric(const char *name, size_t n_bytes)
{
    for (int id = 0; id < AR_N_METRICS; id++)
        if (strlen(ar_metric_names[id]) == n_bytes &&
            memcmp(ar_metric_names[id], name, n_bytes) == 0)
            return id;
    return -1;
}

static void decode_rows(const struct ar_profile *p, struct ar_metric *m, struct ar_cursor *in)
{
    uint64_t node = 0;

    for (size_t i = 0; i < m->n_values && !in->bad;) {
        uint64_t step = ar_cursor_varint32(in);
        uint64_t n_row = ar_cursor_varint32(in);
        uint64_t location = 0;

        node += step;
        if ((i && step == 0) || node >= p->n_nodes || n_row == 0 || n_row > m->n_values - i)
            in->bad = true;
        for (uint64_t k = 0; k < n_row && !in->bad; k++, i++) {
            uint64_t distance = ar_cursor_varint32(in);

            location += distance;
            if ((k && distance == 0) || location >= p->n_locations)
                in->bad = true;
            m->values[i].node = (uint32_t)node;
            m->values[i].location = (uint32_t)location;
        }
    }
}

static void decode_metric(struct ar_profile *p, struct ar_cursor *in)
{
    size_t n_name, n_unit;
    const char *name = ar_cursor_string(in, &n_name);

    ar_cursor_string(in, &n_unit);
    ar_cursor_varint(in);

    uint32_t n = ar_cursor_count(in, 2);
    int id = find_metric(name, n_name);

    if (id < 0) /* of a later version */
        return;

    struct ar_metric *m = &p->metrics[id];

    if (p->packed[id].rows)
        in->bad = true;
    if (!make_items(in, (void **)&m->values, &m->n_values, &m->cap, n, sizeof *m->values))
        return;
    decode_rows(p, m, in);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        m->values[i].value = ar_cursor_varint(in);
    m->sorted = true;
}

static void decode_sets(struct ar_profile *p, struct ar_cursor *in)
{
    if (p->sets.items)
        in->bad = true;
    else
        ar_sets_open(&p->sets, in, p->n_locations);
}

/* What it says of rows is kept, and where their values are. */
static void decode_matrix(struct ar_profile *p, struct ar_cursor *in)
{
    size_t n_name, n_unit;
    const char *name = ar_cursor_string(in, &n_name);

    ar_cursor_string(in, &n_unit);
    ar_cursor_varint(in);

    int id = find_metric(name, n_name);

    if (id < 0) /* of a later version */
        return;
    if (p->packed[id].rows || p->metrics[id].values)
        in->bad = true;
    else
        ar_packed_open(&p->packed[id], in, &p->sets, p->n_nodes);
}

/* Those that are made of others come after them. */
static void decode_comms(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 8 + 7);

    if (!make_items(in, (void **)&p->comms, &p->n_comms, &p->cap_comms, n, sizeof *p->comms))
        return;
    for (uint32_t i = 0; i < n && !in->bad; i++)
        p->comms[i].identity = ar_cursor_u64(in);
    GET_COLUMN(in, p->comms, n, struct ar_comm, name, p->strings.n_strings);
    GET_COLUMN(in, p->comms, n, struct ar_comm, origin, ANY);
    GET_COLUMN(in, p->comms, n, struct ar_comm, size, ANY);
    GET_COLUMN(in, p->comms, n, struct ar_comm, remote_size, ANY);
    GET_COLUMN(in, p->comms, n, struct ar_comm, parent, ANY);
    for (uint32_t i = 0; i < n; i++)
        if (p->comms[i].parent > i)
            in->bad = true;
    GET_COLUMN(in, p->comms, n, struct ar_comm, made_at, (uint64_t)p->n_nodes + 1);
    GET_COLUMN(in, p->comms, n, struct ar_comm, is_hidden, 2);
}

/* A column of nodes, as distances: they come in order. */
static void get_nodes(const struct ar_profile *p, struct ar_cursor *in, void *items, size_t n,
                      size_t item_bytes)
{
    uint64_t node = 0;

    for (size_t i = 0; i < n && !in->bad; i++) {
        node += ar_cursor_varint32(in);
        if (node >= p->n_nodes)
            in->bad = true;

        uint32_t field = (uint32_t)node;

        memcpy((char *)items + i * item_bytes, &field, sizeof field);
    }
}

_Static_assert(offsetof(struct ar_traffic, node) == 0 && offsetof(struct ar_completed, node) == 0,
               "nodes come first");

static void decode_traffic(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 11);
    struct ar_traffic *rows;

    if (!make_items(in, (void **)&p->traffic, &p->n_traffic, &p->cap_traffic, n,
                    sizeof *p->traffic))
        return;
    rows = p->traffic;
    get_nodes(p, in, rows, n, sizeof *rows);
    GET_COLUMN(in, rows, n, struct ar_traffic, location, p->n_locations);
    GET_COLUMN(in, rows, n, struct ar_traffic, comm, (uint64_t)p->n_comms + 1);
    GET_COLUMN(in, rows, n, struct ar_traffic, peer, ANY);
    GET_COLUMN(in, rows, n, struct ar_traffic, world_peer, ANY);
    for (uint32_t i = 0; i < n; i++) {
        rows[i].peer -= AR_PEER_SHIFT;
        rows[i].world_peer -= AR_PEER_SHIFT;
    }
    GET_COLUMN(in, rows, n, struct ar_traffic, size_class, AR_N_SIZE_CLASSES);
    GET_LONG_COLUMN(in, rows, n, n_out);
    GET_LONG_COLUMN(in, rows, n, bytes_out);
    GET_LONG_COLUMN(in, rows, n, n_in);
    GET_LONG_COLUMN(in, rows, n, bytes_in);
    GET_LONG_COLUMN(in, rows, n, ns);
    in->bad = in->bad || !ar_profile_traffic_is_sorted(p);
}

/* Of files before version 7: as if every call completed one request. */
static void guess_exposed(struct ar_completed *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rows[i].exposed_ns =
            rows[i].waited_ns < rows[i].flight_ns ? rows[i].waited_ns : rows[i].flight_ns;
}

static void decode_completed(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 6);
    struct ar_completed *rows;

    if (!make_items(in, (void **)&p->completed, &p->n_completed, &p->cap_completed, n,
                    sizeof *p->completed))
        return;
    rows = p->completed;
    get_nodes(p, in, rows, n, sizeof *rows);
    GET_COLUMN(in, rows, n, struct ar_completed, location, p->n_locations);
    GET_COLUMN(in, rows, n, struct ar_completed, posted, p->n_nodes);
    GET_LONG_COLUMN(in, rows, n, n);
    GET_LONG_COLUMN(in, rows, n, flight_ns);
    GET_LONG_COLUMN(in, rows, n, waited_ns);
    if (ar_cursor_left(in))
        GET_LONG_COLUMN(in, rows, n, exposed_ns);
    else
        guess_exposed(rows, n);
    in->bad = in->bad || !ar_profile_completed_is_sorted(p);
}

/* One a location, in their order. */
static void decode_streams(struct ar_profile *p, struct ar_cursor *in, bool are_old)
{
    uint32_t n = ar_cursor_count(in, 7);

    if (p->streams)
        in->bad = true; /* there is one such section */
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        struct ar_stream stream;

        if (ar_grow((void **)&p->streams, &p->cap_streams, i + 1, sizeof *p->streams) < 0) {
            in->bad = true;
            return;
        }
        if (are_old)
            ar_stream_decode_old(&stream, in, p->n_nodes, p->n_comms);
        else
            ar_stream_decode(&stream, in, p->n_nodes, p->n_comms);
        if (in->bad)
            return;
        p->streams[p->n_streams++] = stream;
        if (stream.location >= p->n_locations ||
            (i && p->streams[i - 1].location >= stream.location))
            in->bad = true;
    }
}

static uint32_t number_below(struct ar_cursor *in, uint64_t limit)
{
    uint32_t number = ar_cursor_varint32(in);

    if (number >= limit)
        in->bad = true;
    return in->bad ? 0 : number;
}

static void decode_open_calls(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 7), n_members;

    for (uint32_t i = 0; i < n && !in->bad; i++) {
        uint32_t location = number_below(in, p->n_locations);
        struct ar_open_call open = {.kind = number_below(in, AR_N_SYNC_KINDS)};

        open.flags = ar_cursor_varint32(in);
        open.n_requests = ar_cursor_varint32(in);
        open.comm = number_below(in, (uint64_t)p->n_comms + 1);
        open.sequence = ar_cursor_varint32(in);
        open.peer = ar_cursor_varint32(in) - AR_PEER_SHIFT;
        if (!in->bad)
            p->locations[location].open = open;
    }
    n_members = ar_cursor_count(in, 4);
    if (!make_items(in, (void **)&p->members, &p->n_members, &p->cap_members, n_members,
                    sizeof *p->members))
        return;
    GET_COLUMN(in, p->members, n_members, struct ar_member, comm, p->n_comms);
    GET_COLUMN(in, p->members, n_members, struct ar_member, process, p->n_processes);
    GET_COLUMN(in, p->members, n_members, struct ar_member, rank, ANY);
    GET_COLUMN(in, p->members, n_members, struct ar_member, n_calls, ANY);
}

static void decode_section(struct ar_profile *p, uint32_t kind, struct ar_cursor *in)
{
    switch (kind) {
    case AR_SECTION_STRINGS:
        decode_strings(p, in);
        break;
    case AR_SECTION_FACTS:
        decode_facts(p, in);
        break;
    case AR_SECTION_FUNCTIONS:
        decode_functions(p, in);
        break;
    case AR_SECTION_NODES:
        decode_nodes(p, in);
        break;
    case AR_SECTION_PROCESSES:
        decode_processes(p, in);
        break;
    case AR_SECTION_LOCATIONS:
        decode_locations(p, in);
        break;
    case AR_SECTION_METRIC:
        decode_metric(p, in);
        break;
    case AR_SECTION_SETS:
        decode_sets(p, in);
        break;
    case AR_SECTION_MATRIX:
        decode_matrix(p, in);
        break;
    case AR_SECTION_COMMS:
        decode_comms(p, in);
        break;
    case AR_SECTION_TRAFFIC:
        decode_traffic(p, in);
        break;
    case AR_SECTION_COMPLETED:
        decode_completed(p, in);
        break;
    case AR_SECTION_OLD_STREAMS:
    case AR_SECTION_STREAMS:
        decode_streams(p, in, kind == AR_SECTION_OLD_STREAMS);
        break;
    case AR_SECTION_OPEN_CALLS:
        decode_open_calls(p, in);
        break;
    default: /* of a later version */
        break;
    }
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

/*
 * `n_left` is what no section has taken yet of the file: where they may overlap, a thousand entries for
 * the same megabyte are a gigabyte to be read.
 */
static enum ar_status decode_entry(struct ar_profile *p, const struct entry *e,
                                   const unsigned char *bytes, size_t n_bytes, uint64_t *n_left,
                                   const char *name, struct ar_error *err)
{
    if (e->offset > n_bytes || e->n_stored > n_bytes - e->offset)
        return ar_fail(err, AR_BAD, "%s: run file is truncated (copy it again)", name);
    if (e->n_stored > *n_left)
        return ar_fail(err, AR_BAD, "%s: run file is damaged, section %u " AGAIN, name, e->kind);
    *n_left -= e->n_stored;
    if (e->codec != AR_CODEC_PLAIN)
        return ar_fail(err, AR_UNSUPPORTED, "%s: written by a newer allranks (upgrade to read it)",
                       name);
    if (ar_crc32(bytes + e->offset, e->n_stored) != e->crc)
        return ar_fail(err, AR_BAD,
                       "%s: run file is damaged, checksum of section %u (copy it again)", name,
                       e->kind);

    struct ar_cursor in = ar_cursor_over(bytes + e->offset, e->n_stored);

    decode_section(p, e->kind, &in);
    if (in.bad)
        return ar_fail(err, AR_BAD, "%s: run file is damaged, section %u " AGAIN, name, e->kind);
    return AR_OK;
}

enum ar_status ar_run_decode_packed(struct ar_profile *out, const void *bytes, size_t n_bytes,
                                    const char *name, struct ar_error *err)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);
    const char *magic = ar_cursor_take(&in, 8);
    uint32_t version = ar_cursor_u32(&in);
    uint32_t n_sections = ar_cursor_u32(&in);
    uint64_t n_left = n_bytes;
    enum ar_status status = AR_OK;

    *out = (struct ar_profile){0};
    if (in.bad || memcmp(magic, AR_RUN_MAGIC, 8) != 0)
        return ar_fail(err, AR_BAD,
                       "%s: not a run file of allranks (one is made by: allranks run SCRIPT)",
                       name);
    if (version < AR_RUN_OLDEST_VERSION || version > AR_RUN_VERSION)
        return ar_fail(err, AR_UNSUPPORTED,
                       "%s: run file of version %u, this allranks reads %d to %d (use the one that "
                       "wrote it, or a newer one)",
                       name, version, AR_RUN_OLDEST_VERSION, AR_RUN_VERSION);
    for (uint32_t i = 0; i < n_sections && status == AR_OK; i++) {
        struct entry e = get_entry(&in);

        if (in.bad)
            status = ar_fail(err, AR_BAD, "%s: run file is truncated (copy it again)", name);
        else
            status = decode_entry(out, &e, bytes, n_bytes, &n_left, name, err);
    }
    if (status == AR_OK && (out->n_nodes == 0 || out->n_functions == 0))
        status = ar_fail(err, AR_BAD, "%s: run file is damaged, no tree " AGAIN, name);
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
