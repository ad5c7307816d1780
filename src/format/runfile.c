// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum section_kind {
    SECTION_STRINGS = 1,
    SECTION_FACTS = 2,
    SECTION_FUNCTIONS = 3,
    SECTION_NODES = 4,
    SECTION_PROCESSES = 5,
    SECTION_LOCATIONS = 6,
    SECTION_METRIC = 7, /* one a metric */
};

enum { CODEC_PLAIN = 0 };

#define HEADER_BYTES 16
#define ENTRY_BYTES 40
#define MAX_SECTIONS 64

struct section {
    uint32_t kind;
    size_t offset, n_bytes; /* in the buffer of all sections */
};

struct encoding {
    struct ar_profile *p;
    struct ar_bytes body;
    struct section sections[MAX_SECTIONS];
    size_t n_sections;
};

/* ---- encoding -------------------------------------------------------------------------------- */

static void begin_section(struct encoding *e, enum section_kind kind)
{
    e->sections[e->n_sections] = (struct section){.kind = kind, .offset = e->body.n};
}

static void end_section(struct encoding *e)
{
    struct section *s = &e->sections[e->n_sections++];

    s->n_bytes = e->body.n - s->offset;
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

static void encode_strings(struct encoding *e)
{
    const struct ar_strtab *strings = &e->p->strings;

    begin_section(e, SECTION_STRINGS);
    ar_bytes_varint(&e->body, strings->n_strings);
    for (size_t i = 0; i < strings->n_strings; i++)
        ar_bytes_string(&e->body, strings->strings[i].text, strings->strings[i].n_bytes);
    end_section(e);
}

static void encode_facts(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, SECTION_FACTS);
    ar_bytes_varint(&e->body, p->n_facts);
    PUT_COLUMN(&e->body, p->facts, p->n_facts, struct ar_fact, key);
    PUT_COLUMN(&e->body, p->facts, p->n_facts, struct ar_fact, value);
    end_section(e);
}

static void encode_functions(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, SECTION_FUNCTIONS);
    ar_bytes_varint(&e->body, p->n_functions);
    PUT_COLUMN(&e->body, p->functions, p->n_functions, struct ar_function, kind);
    PUT_COLUMN(&e->body, p->functions, p->n_functions, struct ar_function, name);
    PUT_COLUMN(&e->body, p->functions, p->n_functions, struct ar_function, file);
    PUT_COLUMN(&e->body, p->functions, p->n_functions, struct ar_function, first_line);
    end_section(e);
}

/* Parents as distances: most nodes hang below one of the last few. */
static void encode_nodes(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, SECTION_NODES);
    ar_bytes_varint(&e->body, p->n_nodes);
    for (size_t i = 1; i < p->n_nodes; i++)
        ar_bytes_varint(&e->body, i - p->nodes[i].parent);
    PUT_COLUMN(&e->body, p->nodes, p->n_nodes, struct ar_profile_node, function);
    PUT_COLUMN(&e->body, p->nodes, p->n_nodes, struct ar_profile_node, line);
    end_section(e);
}

/* Ranks are stored plus one, so that "not known" is 0. */
static void encode_processes(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, SECTION_PROCESSES);
    ar_bytes_varint(&e->body, p->n_processes);
    ar_bytes_varint(&e->body, AR_N_LOSSES);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(&e->body, (uint32_t)(p->processes[i].world_rank + 1));
    PUT_COLUMN(&e->body, p->processes, p->n_processes, struct ar_process, world_size);
    PUT_COLUMN(&e->body, p->processes, p->n_processes, struct ar_process, host);
    PUT_COLUMN(&e->body, p->processes, p->n_processes, struct ar_process, pid);
    PUT_COLUMN(&e->body, p->processes, p->n_processes, struct ar_process, finished);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(&e->body, p->processes[i].start_real_ns);
    for (size_t i = 0; i < p->n_processes; i++)
        ar_bytes_varint(&e->body, p->processes[i].wall_ns);
    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        for (size_t i = 0; i < p->n_processes; i++)
            ar_bytes_varint(&e->body, p->processes[i].n_lost[loss]);
    end_section(e);
}

static void encode_locations(struct encoding *e)
{
    const struct ar_profile *p = e->p;

    begin_section(e, SECTION_LOCATIONS);
    ar_bytes_varint(&e->body, p->n_locations);
    PUT_COLUMN(&e->body, p->locations, p->n_locations, struct ar_location, process);
    PUT_COLUMN(&e->body, p->locations, p->n_locations, struct ar_location, thread);
    PUT_COLUMN(&e->body, p->locations, p->n_locations, struct ar_location, name);
    end_section(e);
}

/*
 * A sparse matrix, row by row: how far this node is from the last one, how many locations have a
 * value, their distances from each other, and then in a column of its own the values.
 */
static void encode_metric(struct encoding *e, enum ar_metric_id id)
{
    const struct ar_metric *m = &e->p->metrics[id];
    uint32_t node = 0;

    begin_section(e, SECTION_METRIC);
    ar_bytes_string(&e->body, ar_metric_names[id], strlen(ar_metric_names[id]));
    ar_bytes_string(&e->body, ar_metric_units[id], strlen(ar_metric_units[id]));
    ar_bytes_varint(&e->body, ar_metric_combine[id]);
    ar_bytes_varint(&e->body, m->n_values);
    for (size_t i = 0, end; i < m->n_values; i = end) {
        uint32_t location = 0;

        for (end = i; end < m->n_values && m->values[end].node == m->values[i].node; end++)
            ;
        ar_bytes_varint(&e->body, m->values[i].node - node);
        ar_bytes_varint(&e->body, end - i);
        for (size_t k = i; k < end; k++) {
            ar_bytes_varint(&e->body, m->values[k].location - location);
            location = m->values[k].location;
        }
        node = m->values[i].node;
    }
    for (size_t i = 0; i < m->n_values; i++)
        ar_bytes_varint(&e->body, m->values[i].value);
    end_section(e);
}

static void put_head(const struct encoding *e, struct ar_bytes *out)
{
    size_t at = HEADER_BYTES + e->n_sections * ENTRY_BYTES;

    ar_bytes_put(out, AR_RUN_MAGIC, 8);
    ar_bytes_u32(out, AR_RUN_VERSION);
    ar_bytes_u32(out, (uint32_t)e->n_sections);
    for (size_t i = 0; i < e->n_sections; i++) {
        const struct section *s = &e->sections[i];

        ar_bytes_u32(out, s->kind);
        ar_bytes_u32(out, CODEC_PLAIN);
        ar_bytes_u64(out, at);
        ar_bytes_u64(out, s->n_bytes);
        ar_bytes_u64(out, s->n_bytes);
        ar_bytes_u32(out, e->body.bad ? 0 : ar_crc32(e->body.data + s->offset, s->n_bytes));
        ar_bytes_u32(out, 0);
        at += s->n_bytes;
    }
}

enum ar_status ar_run_encode(struct ar_profile *p, struct ar_bytes *out)
{
    struct encoding e = {.p = p};
    enum ar_status status = ar_profile_sort(p);

    if (status < 0)
        return status;
    encode_strings(&e);
    encode_facts(&e);
    encode_functions(&e);
    encode_nodes(&e);
    encode_processes(&e);
    encode_locations(&e);
    for (int id = 0; id < AR_N_METRICS; id++)
        if (p->metrics[id].n_values)
            encode_metric(&e, (enum ar_metric_id)id);
    put_head(&e, out);
    ar_bytes_put(out, e.body.data, e.body.n);
    if (e.body.bad || out->bad)
        status = AR_NOMEM;
    ar_bytes_free(&e.body);
    return status;
}

/* ---- decoding -------------------------------------------------------------------------------- */

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

static void decode_processes(struct ar_profile *p, struct ar_cursor *in)
{
    uint32_t n = ar_cursor_count(in, 7);
    uint32_t n_losses = ar_cursor_varint32(in);

    if (!make_items(in, (void **)&p->processes, &p->n_processes, &p->cap_processes, n,
                    sizeof *p->processes))
        return;
    GET_COLUMN(in, p->processes, n, struct ar_process, world_rank, ANY);
    for (uint32_t i = 0; i < n; i++)
        p->processes[i].world_rank--;
    GET_COLUMN(in, p->processes, n, struct ar_process, world_size, ANY);
    GET_COLUMN(in, p->processes, n, struct ar_process, host, p->strings.n_strings);
    GET_COLUMN(in, p->processes, n, struct ar_process, pid, ANY);
    GET_COLUMN(in, p->processes, n, struct ar_process, finished, 2);
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

    if (!make_items(in, (void **)&m->values, &m->n_values, &m->cap, n, sizeof *m->values))
        return;
    decode_rows(p, m, in);
    for (uint32_t i = 0; i < n && !in->bad; i++)
        m->values[i].value = ar_cursor_varint(in);
    m->sorted = true;
}

static void decode_section(struct ar_profile *p, uint32_t kind, struct ar_cursor *in)
{
    switch (kind) {
    case SECTION_STRINGS:
        decode_strings(p, in);
        break;
    case SECTION_FACTS:
        decode_facts(p, in);
        break;
    case SECTION_FUNCTIONS:
        decode_functions(p, in);
        break;
    case SECTION_NODES:
        decode_nodes(p, in);
        break;
    case SECTION_PROCESSES:
        decode_processes(p, in);
        break;
    case SECTION_LOCATIONS:
        decode_locations(p, in);
        break;
    case SECTION_METRIC:
        decode_metric(p, in);
        break;
    default: /* of a later version */
        break;
    }
}

/*
 * Merging adds to what is there, so the numbers that were read must be found again by what they
 * stand for.
 */
static enum ar_status index_tables(struct ar_profile *p)
{
    struct ar_function *functions = p->functions;
    struct ar_profile_node *nodes = p->nodes;
    size_t n_functions = p->n_functions, n_nodes = p->n_nodes;
    enum ar_status status = AR_OK;
    uint32_t id;

    p->functions = NULL;
    p->nodes = NULL;
    p->n_functions = p->cap_functions = p->n_nodes = p->cap_nodes = 0;
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
    free(functions);
    free(nodes);
    return status;
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

static enum ar_status decode_entry(struct ar_profile *p, const struct entry *e,
                                   const unsigned char *bytes, size_t n_bytes, const char *name,
                                   struct ar_error *err)
{
    if (e->offset > n_bytes || e->n_stored > n_bytes - e->offset)
        return ar_fail(err, AR_BAD, "%s: run file is truncated (copy it again)", name);
    if (e->codec != CODEC_PLAIN)
        return ar_fail(err, AR_UNSUPPORTED, "%s: written by a newer allranks (upgrade to read it)",
                       name);
    if (ar_crc32(bytes + e->offset, e->n_stored) != e->crc)
        return ar_fail(err, AR_BAD, "%s: run file is damaged (checksum of section %u)", name,
                       e->kind);

    struct ar_cursor in = ar_cursor_over(bytes + e->offset, e->n_stored);

    decode_section(p, e->kind, &in);
    if (in.bad)
        return ar_fail(err, AR_BAD, "%s: run file is damaged (section %u)", name, e->kind);
    return AR_OK;
}

enum ar_status ar_run_decode(struct ar_profile *out, const void *bytes, size_t n_bytes,
                             const char *name, struct ar_error *err)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);
    const char *magic = ar_cursor_take(&in, 8);
    uint32_t version = ar_cursor_u32(&in);
    uint32_t n_sections = ar_cursor_u32(&in);
    enum ar_status status = AR_OK;

    *out = (struct ar_profile){0};
    if (in.bad || memcmp(magic, AR_RUN_MAGIC, 8) != 0)
        return ar_fail(err, AR_BAD, "%s: not a run file of allranks", name);
    if (version != AR_RUN_VERSION)
        return ar_fail(err, AR_UNSUPPORTED,
                       "%s: run file of version %u, this allranks reads version %d (upgrade "
                       "allranks)",
                       name, version, AR_RUN_VERSION);
    for (uint32_t i = 0; i < n_sections && status == AR_OK; i++) {
        struct entry e = get_entry(&in);

        if (in.bad)
            status = ar_fail(err, AR_BAD, "%s: run file is truncated (copy it again)", name);
        else
            status = decode_entry(out, &e, bytes, n_bytes, name, err);
    }
    if (status == AR_OK && (out->n_nodes == 0 || out->n_functions == 0))
        status = ar_fail(err, AR_BAD, "%s: run file is damaged (no tree)", name);
    if (status == AR_OK && index_tables(out) < 0)
        status = ar_fail(err, AR_BAD, "%s: run file is damaged (repeated entries)", name);
    if (status < 0)
        ar_profile_free(out);
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum ar_status write_all(int fd, const struct ar_bytes *bytes)
{
    for (size_t done = 0; done < bytes->n;) {
        ssize_t n = write(fd, bytes->data + done, bytes->n - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return AR_IO;
        done += (size_t)n;
    }
    return AR_OK;
}

/* The n-th name to try: heat.allranks, heat-2.allranks, heat-3.allranks. */
static void numbered_name(const char *path, int n, char *name, size_t n_name)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);

    if (n == 1)
        snprintf(name, n_name, "%s", path);
    else
        snprintf(name, n_name, "%.*s-%d%s", stem, path, n, path + stem);
}

/* link() fails where the name exists, which rename() does not. */
static enum ar_status give_name(const char *temporary, const char *path, char *written,
                                size_t n_written)
{
    for (int n = 1; n < 10000; n++) {
        numbered_name(path, n, written, n_written);
        if (link(temporary, written) == 0)
            return AR_OK;
        if (errno == EEXIST)
            continue;
        /* File systems without hard links: a rename after a look is the best there is. */
        if ((errno == EPERM || errno == EOPNOTSUPP) && access(written, F_OK) != 0)
            return rename(temporary, written) == 0 ? AR_OK : AR_IO;
        return AR_IO;
    }
    return AR_EXISTS;
}

enum ar_status ar_run_write(const struct ar_bytes *bytes, const char *path, char *written,
                            size_t n_written, struct ar_error *err)
{
    char temporary[4096];
    enum ar_status status;

    if (snprintf(temporary, sizeof temporary, "%s.%d.part", path, (int)getpid()) >=
        (int)sizeof temporary)
        return ar_fail(err, AR_IO, "%s: name too long", path);

    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return ar_fail(err, AR_IO, "%s: cannot write: %s", path, strerror(errno));
    status = write_all(fd, bytes);
    if (status == AR_OK && fsync(fd) < 0 && errno != EINVAL)
        status = AR_IO;
    if (close(fd) < 0)
        status = AR_IO;
    if (status == AR_OK)
        status = give_name(temporary, path, written, n_written);
    if (status < 0)
        ar_fail(err, status, "%s: cannot write: %s", path, strerror(errno));
    unlink(temporary);
    return status;
}
