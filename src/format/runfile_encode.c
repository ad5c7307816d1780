// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"
#include "format/runfile_layout.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SECTIONS (AR_N_SECTION_KINDS + AR_N_METRICS)

struct section {
    uint32_t kind;
    size_t offset, n_bytes;
};

struct encoding {
    struct ar_profile *p;
    struct ar_bytes *out;
    struct section sections[MAX_SECTIONS];
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

/* A column: one field of all items of an array of structs. */
static void put_column(struct ar_bytes *out, const void *items, size_t n, size_t item_bytes,
                       size_t field_offset)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t field;

        memcpy(&field, (const char *)items + i * item_bytes + field_offset, sizeof field);
        ar_bytes_varint(out, field);
    }
}

#define PUT_COLUMN(out, items, n, type, field)                                                     \
    put_column(out, items, n, sizeof(type), offsetof(type, field))

/* The same of a field of 64 bits. */
#define PUT_LONG_COLUMN(out, items, n, field)                                                      \
    for (size_t row = 0; row < (n); row++)                                                         \
    ar_bytes_varint(out, (items)[row].field)

static void encode_strings(struct encoding *e)
{
    const struct ar_strtab *strings = &e->p->strings;

    begin_section(e, AR_SECTION_STRINGS);
    ar_bytes_varint(e->out, strings->n_strings);
    for (size_t i = 0; i < strings->n_strings; i++)
        ar_bytes_string(e->out, strings->strings[i].text, strings->strings[i].n_bytes);
    end_section(e);
}

static void encode_facts(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_FACTS);
    ar_bytes_varint(e->out, p->n_facts);
    PUT_COLUMN(e->out, p->facts, p->n_facts, struct ar_fact, key);
    PUT_COLUMN(e->out, p->facts, p->n_facts, struct ar_fact, value);
    end_section(e);
}

static void encode_functions(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_FUNCTIONS);
    ar_bytes_varint(e->out, p->n_functions);
    PUT_COLUMN(e->out, p->functions, p->n_functions, struct ar_function, kind);
    PUT_COLUMN(e->out, p->functions, p->n_functions, struct ar_function, name);
    PUT_COLUMN(e->out, p->functions, p->n_functions, struct ar_function, file);
    PUT_COLUMN(e->out, p->functions, p->n_functions, struct ar_function, first_line);
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
    PUT_COLUMN(e->out, p->nodes, p->n_nodes, struct ar_profile_node, function);
    PUT_COLUMN(e->out, p->nodes, p->n_nodes, struct ar_profile_node, line);
    end_section(e);
}

static void encode_clock_link(struct ar_bytes *out, const struct ar_clock_link *link)
{
    ar_bytes_varint(out, link->at_ns);
    ar_bytes_u64(out, (uint64_t)link->offset_ns);
    ar_bytes_varint(out, link->error_ns);
}

/* Ranks are stored plus one, so that "not known" is 0. */
static void encode_processes(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_PROCESSES);
    ar_bytes_varint(e->out, p->n_processes);
    ar_bytes_varint(e->out, AR_N_LOSSES);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, (uint32_t)(p->processes[i].world_rank + 1));
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, world_size);
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, host);
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, pid);
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, state);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, p->processes[i].start_real_ns);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, p->processes[i].wall_ns);
    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        for (size_t i = 0; i < p->n_processes; i++)
            ar_bytes_varint(e->out, p->processes[i].n_lost[loss]);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, p->processes[i].overhead_ns);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, 0); /* functions in C that are left out */
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, command);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, p->processes[i].pid_start);
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, parent_pid);
    PUT_COLUMN(e->out, p->processes, p->n_processes, struct ar_process, root_pid);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, p->processes[i].root_start);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(e->out, p->processes[i].start_mono_ns);
    for (size_t i = 0; i < p->n_processes; i++)
        for (int k = 0; k < AR_N_CLOCK_INSTANTS; k++)
            encode_clock_link(e->out, &p->processes[i].clock_links[k]);
    ar_bytes_varint(e->out, p->n_processes ? AR_N_OVERHEADS : 0);
    for (int reason = 0; reason < AR_N_OVERHEADS; reason++)
        for (size_t i = 0; i < p->n_processes; i++)
            ar_bytes_varint(e->out, p->processes[i].overheads_ns[reason]);
    end_section(e);
}

static void encode_locations(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_LOCATIONS);
    ar_bytes_varint(e->out, p->n_locations);
    PUT_COLUMN(e->out, p->locations, p->n_locations, struct ar_location, process);
    PUT_COLUMN(e->out, p->locations, p->n_locations, struct ar_location, thread);
    PUT_COLUMN(e->out, p->locations, p->n_locations, struct ar_location, name);
    PUT_COLUMN(e->out, p->locations, p->n_locations, struct ar_location, current);
    for (size_t i = 0; i < p->n_locations; i++)
        ar_bytes_varint(e->out, p->locations[i].latest_real_ns);
    end_section(e);
}

/* ---- metrics ---------------------------------------------------------------------------------- */

/* The numbers of the sets that a metric's rows have, in their order. */
struct row_sets {
    uint32_t *ids;
    size_t n, cap;
};

static size_t end_of_row(const struct ar_metric *m, size_t i)
{
    size_t end = i;

    while (end < m->n_values && m->values[end].node == m->values[i].node)
        end++;
    return end;
}

static enum ar_status find_sets(const struct ar_metric *m, struct ar_set_writer *sets,
                                struct row_sets *rows)
{
    for (size_t i = 0, end; i < m->n_values; i = end) {
        end = end_of_row(m, i);
        if ((rows->n == rows->cap &&
             ar_grow((void **)&rows->ids, &rows->cap, rows->n + 1, sizeof *rows->ids) < 0) ||
            ar_set_add(sets, m->values + i, end - i, &rows->ids[rows->n]) < 0)
            return AR_NOMEM;
        rows->n++;
    }
    return AR_OK;
}

static void encode_rows(struct encoding *e, const struct ar_metric *m, const struct row_sets *rows)
{
    struct ar_bytes sizes = {0}, values = {0};
    uint32_t node = 0;

    ar_bytes_varint(e->out, rows->n);
    for (size_t i = 0, end; i < m->n_values; i = end) {
        size_t n_before = values.n;

        end = end_of_row(m, i);
        ar_bytes_varint(e->out, m->values[i].node - node);
        node = m->values[i].node;
        ar_packed_put(&values, m->values + i, end - i);
        ar_bytes_varint(&sizes, values.n - n_before);
    }
    for (size_t i = 0; i < rows->n; i++)
        ar_bytes_varint(e->out, rows->ids[i]);
    ar_bytes_put(e->out, sizes.data, sizes.n);
    ar_bytes_put(e->out, values.data, values.n);
    e->out->bad = e->out->bad || sizes.bad || values.bad;
    ar_bytes_free(&sizes);
    ar_bytes_free(&values);
}

/* What is known of all rows comes first: to look at one, no other need be read. */
static void encode_matrix(struct encoding *e, enum ar_metric_id id, const struct row_sets *rows)
{
    begin_section(e, AR_SECTION_MATRIX);
    ar_bytes_string(e->out, ar_metric_names[id], strlen(ar_metric_names[id]));
    ar_bytes_string(e->out, ar_metric_units[id], strlen(ar_metric_units[id]));
    ar_bytes_varint(e->out, ar_metric_combine[id]);
    encode_rows(e, &e->p->metrics[id], rows);
    end_section(e);
}

static void encode_metrics(struct encoding *e)
{
    struct ar_set_writer sets = {0};
    struct row_sets rows[AR_N_METRICS] = {0};

    for (int id = 0; id < AR_N_METRICS; id++)
        if (find_sets(&e->p->metrics[id], &sets, &rows[id]) < 0)
            e->out->bad = true;
    begin_section(e, AR_SECTION_SETS);
    ar_set_writer_put(&sets, e->out);
    end_section(e);
    for (int id = 0; id < AR_N_METRICS; id++) {
        if (rows[id].n && !e->out->bad)
            encode_matrix(e, (enum ar_metric_id)id, &rows[id]);
        free(rows[id].ids);
    }
    ar_set_writer_free(&sets);
}

static void encode_comms(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_COMMS);
    ar_bytes_varint(e->out, p->n_comms);
    for (size_t i = 0; i < p->n_comms; i++)
        ar_bytes_u64(e->out, p->comms[i].identity); /* as good as random: longer as a varint */
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, name);
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, origin);
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, size);
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, remote_size);
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, parent);
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, made_at);
    PUT_COLUMN(e->out, p->comms, p->n_comms, struct ar_comm, is_hidden);
    end_section(e);
}

/* In order of nodes, which are stored as distances. */
static void encode_traffic(struct encoding *e)
{
    const struct ar_traffic *rows = e->p->traffic;
    size_t n = e->p->n_traffic;

    begin_section(e, AR_SECTION_TRAFFIC);
    ar_bytes_varint(e->out, n);
    for (size_t i = 0; i < n; i++)
        ar_bytes_varint(e->out, rows[i].node - (i ? rows[i - 1].node : 0));
    PUT_COLUMN(e->out, rows, n, struct ar_traffic, location);
    PUT_COLUMN(e->out, rows, n, struct ar_traffic, comm);
    for (size_t i = 0; i < n; i++)
        ar_bytes_varint(e->out, (uint32_t)(rows[i].peer + AR_PEER_SHIFT));
    for (size_t i = 0; i < n; i++)
        ar_bytes_varint(e->out, (uint32_t)(rows[i].world_peer + AR_PEER_SHIFT));
    PUT_COLUMN(e->out, rows, n, struct ar_traffic, size_class);
    PUT_LONG_COLUMN(e->out, rows, n, n_out);
    PUT_LONG_COLUMN(e->out, rows, n, bytes_out);
    PUT_LONG_COLUMN(e->out, rows, n, n_in);
    PUT_LONG_COLUMN(e->out, rows, n, bytes_in);
    PUT_LONG_COLUMN(e->out, rows, n, ns);
    end_section(e);
}

static void encode_completed(struct encoding *e)
{
    const struct ar_completed *rows = e->p->completed;
    size_t n = e->p->n_completed;

    begin_section(e, AR_SECTION_COMPLETED);
    ar_bytes_varint(e->out, n);
    for (size_t i = 0; i < n; i++)
        ar_bytes_varint(e->out, rows[i].node - (i ? rows[i - 1].node : 0));
    PUT_COLUMN(e->out, rows, n, struct ar_completed, location);
    PUT_COLUMN(e->out, rows, n, struct ar_completed, posted);
    PUT_LONG_COLUMN(e->out, rows, n, n);
    PUT_LONG_COLUMN(e->out, rows, n, flight_ns);
    PUT_LONG_COLUMN(e->out, rows, n, waited_ns);
    PUT_LONG_COLUMN(e->out, rows, n, exposed_ns);
    end_section(e);
}

static void encode_streams(struct encoding *e)
{
    begin_section(e, AR_SECTION_STREAMS);
    ar_bytes_varint(e->out, e->p->n_streams);
    for (size_t i = 0; i < e->p->n_streams; i++)
        ar_stream_encode(&e->p->streams[i], e->out);
    end_section(e);
}

static size_t count_open_calls(const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_locations; i++)
        n += p->locations[i].open.kind != AR_SYNC_NONE;
    return n;
}

static void encode_open_call(struct ar_bytes *out, uint32_t location,
                             const struct ar_open_call *open)
{
    ar_bytes_varint(out, location);
    ar_bytes_varint(out, open->kind);
    ar_bytes_varint(out, open->flags);
    ar_bytes_varint(out, open->n_requests);
    ar_bytes_varint(out, open->comm);
    ar_bytes_varint(out, open->sequence);
    ar_bytes_varint(out, (uint32_t)(open->peer + AR_PEER_SHIFT));
}

static void encode_open_calls(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, AR_SECTION_OPEN_CALLS);
    ar_bytes_varint(e->out, count_open_calls(p));
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].open.kind != AR_SYNC_NONE)
            encode_open_call(e->out, i, &p->locations[i].open);
    ar_bytes_varint(e->out, p->n_members);
    PUT_COLUMN(e->out, p->members, p->n_members, struct ar_member, comm);
    PUT_COLUMN(e->out, p->members, p->n_members, struct ar_member, process);
    PUT_COLUMN(e->out, p->members, p->n_members, struct ar_member, rank);
    PUT_COLUMN(e->out, p->members, p->n_members, struct ar_member, n_calls);
    end_section(e);
}

/* Strings, facts, functions, nodes, processes, locations and sets of them. */
#define N_SECTIONS_ALWAYS 7

static size_t n_sections_of(const struct ar_profile *p)
{
    size_t n = N_SECTIONS_ALWAYS;

    n += (p->n_comms > 0) + (p->n_traffic > 0) + (p->n_completed > 0) + (p->n_streams > 0);
    n += count_open_calls(p) > 0;
    for (int id = 0; id < AR_N_METRICS; id++)
        n += p->metrics[id].n_values > 0;
    return n;
}

/* Room for what can be said of the sections only when they are there. */
static void leave_room_for_head(struct encoding *e)
{
    static const unsigned char zeros[AR_RUN_HEADER_BYTES + MAX_SECTIONS * AR_RUN_ENTRY_BYTES];

    ar_bytes_put(e->out, zeros, AR_RUN_HEADER_BYTES + n_sections_of(e->p) * AR_RUN_ENTRY_BYTES);
}

static void put_head(const struct encoding *e, struct ar_bytes *head)
{
    ar_bytes_put(head, AR_RUN_MAGIC, 8);
    ar_bytes_u32(head, AR_RUN_VERSION);
    ar_bytes_u32(head, (uint32_t)e->n_sections);
    for (size_t i = 0; i < e->n_sections; i++) {
        const struct section *s = &e->sections[i];

        ar_bytes_u32(head, s->kind);
        ar_bytes_u32(head, AR_CODEC_PLAIN);
        ar_bytes_u64(head, s->offset);
        ar_bytes_u64(head, s->n_bytes);
        ar_bytes_u64(head, s->n_bytes);
        ar_bytes_u32(head, ar_crc32(e->out->data + s->offset, s->n_bytes));
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
    return bad ? AR_NOMEM : AR_OK;
}

enum ar_status ar_run_encode(struct ar_profile *p, struct ar_bytes *out)
{
    struct encoding e = {.p = p, .out = out};
    enum ar_status status = ar_profile_unpack(p);

    if (status == AR_OK)
        status = ar_profile_sort(p);
    if (status == AR_OK)
        status = ar_profile_trim_members(p);
    if (status < 0)
        return status;
    leave_room_for_head(&e);
    encode_strings(&e);
    encode_facts(&e);
    encode_functions(&e);
    encode_nodes(&e);
    encode_processes(&e);
    encode_locations(&e);
    encode_metrics(&e);
    if (p->n_comms)
        encode_comms(&e);
    if (p->n_traffic)
        encode_traffic(&e);
    if (p->n_completed)
        encode_completed(&e);
    if (p->n_streams)
        encode_streams(&e);
    if (count_open_calls(p))
        encode_open_calls(&e);
    return finish(&e);
}
