// SPDX-License-Identifier: BSD-3-Clause
/* Metrics and tables of a profile: which there are, and what is done to all of them alike. See profile.h. */
#include "format/profile.h"

#include <stdlib.h>
#include <string.h>

/* ---- metrics ---------------------------------------------------------------------------------- */

const struct ar_metric_kind *ar_profile_metric(const struct ar_profile *p, unsigned metric)
{
    const struct ar_metric *one = p->metrics + metric;

    return metric < AR_N_METRICS ? &ar_metric_kinds[metric] : one->own;
}

unsigned ar_profile_metric_named(const struct ar_profile *p, const char *name)
{
    unsigned n = ar_profile_n_metrics(p);

    for (unsigned m = 0; name && m < n; m++)
        if (strcmp(ar_profile_metric(p, m)->name, name) == 0)
            return m;
    return AR_MAX_METRICS;
}

enum ar_status ar_profile_find_metric(struct ar_profile *p, const struct ar_metric_kind *kind,
                                      unsigned *metric)
{
    unsigned n = ar_profile_n_metrics(p);

    *metric = ar_profile_metric_named(p, kind->name);
    if (*metric < AR_MAX_METRICS)
        return AR_OK;
    *metric = n;
    if (n == AR_MAX_METRICS)
        return AR_BAD;
    p->metrics[n] = (struct ar_metric){.own = ar_metric_kind_copy(kind)};
    p->n_other_metrics += p->metrics[n].own != NULL;
    return p->metrics[n].own ? AR_OK : AR_NOMEM;
}

bool ar_profile_has_exclusive(const struct ar_profile *p)
{
    const struct ar_profile *has_values = p->rows_of ? p->rows_of : p;

    for (unsigned m = 0; m < ar_profile_n_metrics(has_values); m++)
        if (ar_profile_metric(has_values, m)->scope == AR_SCOPE_EXCLUSIVE &&
            (has_values->metrics[m].n_values || has_values->packed[m].n_rows))
            return true;
    return false;
}

/* ---- our tables ------------------------------------------------------------------------------- */

#define KEY(NAME, ROLE, ...)                                                                       \
    {                                                                                              \
        .name = NAME, .unit = "", .role = AR_ROLE_##ROLE, .flags = AR_COLUMN_KEY __VA_ARGS__       \
    }
#define SUM(NAME, UNIT)                                                                            \
    {                                                                                              \
        .name = NAME, .unit = UNIT, .combine = AR_COMBINE_SUM                                      \
    }

static const struct ar_column message_columns[] = {
    KEY("node", NODE, | AR_COLUMN_STEPS),
    KEY("location", LOCATION),
    KEY("comm", COMM, | AR_COLUMN_OPTIONAL),
    KEY("peer", NUMBER, , .shift = AR_PEER_SHIFT),
    KEY("world_peer", NUMBER, , .shift = AR_PEER_SHIFT),
    KEY("size_class", NUMBER, , .limit = AR_N_SIZE_CLASSES),
    SUM("messages_out", "1"),
    SUM("bytes_out", "B"),
    SUM("messages_in", "1"),
    SUM("bytes_in", "B"),
    SUM("time", "ns"),
};

static const struct ar_column request_columns[] = {
    KEY("node", NODE, | AR_COLUMN_STEPS),
    KEY("location", LOCATION),
    KEY("posted", NODE),
    SUM("requests", "1"),
    SUM("in_flight", "ns"),
    SUM("waited", "ns"),
    SUM("exposed", "ns"),
};

static const struct ar_column open_call_columns[] = {
    KEY("location", LOCATION, | AR_COLUMN_STEPS),
    KEY("kind", NUMBER, , .limit = AR_N_SYNC_KINDS),
    KEY("flags", NUMBER),
    KEY("requests", NUMBER),
    KEY("comm", COMM, | AR_COLUMN_OPTIONAL),
    KEY("sequence", NUMBER),
    KEY("peer", NUMBER, , .shift = AR_PEER_SHIFT),
};

static const struct ar_column member_columns[] = {
    KEY("comm", COMM, | AR_COLUMN_STEPS),
    KEY("process", PROCESS),
    KEY("rank", NUMBER),
    {.name = "calls", .unit = "1", .combine = AR_COMBINE_MAX},
};

static const struct ar_column loss_columns[] = {
    KEY("process", PROCESS, | AR_COLUMN_STEPS),
    KEY("what", STRING),
    SUM("lost", "1"),
};

static const struct ar_column stretch_columns[] = {
    KEY("node", NODE, | AR_COLUMN_STEPS),
    KEY("location", LOCATION),
    KEY("from_line", NUMBER),
    KEY("to_line", NUMBER),
    SUM("time", "ns"),
    SUM("variance", "us2"),
};

static const struct ar_column line_columns[] = {
    KEY("node", NODE, | AR_COLUMN_STEPS),
    KEY("location", LOCATION),
    KEY("line", NUMBER),
    SUM("hits", "1"),
    SUM("time", "ns"),
};

/* Before version 7 requests had no time exposed: as if every call completed one. */
static void guess_exposed(void *rows, size_t n, size_t n_columns)
{
    struct ar_completed *row = rows;

    (void)n_columns;
    for (; n; n--, row++)
        row->exposed_ns = row->waited_ns < row->flight_ns ? row->waited_ns : row->flight_ns;
}

#define KIND(NAME, COLUMNS, N_KEYS)                                                                \
    .name = (NAME), .columns = (COLUMNS), .n_columns = sizeof(COLUMNS) / sizeof *(COLUMNS),        \
    .n_keys = (N_KEYS)

const struct ar_table_kind ar_table_kinds[AR_N_TABLES] = {
    [AR_TABLE_MESSAGES] = {KIND("messages", message_columns, 6)},
    [AR_TABLE_REQUESTS] = {KIND("requests", request_columns, 3), .complete = guess_exposed},
    [AR_TABLE_OPEN_CALLS] = {KIND("open_calls", open_call_columns, 7)},
    [AR_TABLE_MEMBERS] = {KIND("members", member_columns, 3)},
    [AR_TABLE_LOSSES] = {KIND("losses", loss_columns, 2)},
    [AR_TABLE_STRETCHES] = {KIND("stretches", stretch_columns, 4)},
    [AR_TABLE_LINES] = {KIND("lines", line_columns, 3)},
};

static const size_t row_bytes[AR_N_TABLES] = {
    [AR_TABLE_MESSAGES] = sizeof(struct ar_traffic),
    [AR_TABLE_REQUESTS] = sizeof(struct ar_completed),
    [AR_TABLE_OPEN_CALLS] = sizeof(struct ar_open_call),
    [AR_TABLE_MEMBERS] = sizeof(struct ar_member),
    [AR_TABLE_LOSSES] = sizeof(struct ar_loss),
    [AR_TABLE_STRETCHES] = sizeof(struct ar_line_stretch),
    [AR_TABLE_LINES] = sizeof(struct ar_counted_line),
};

_Static_assert(sizeof(struct ar_traffic) == 24 + 40, "as its columns");
_Static_assert(sizeof(struct ar_completed) == 16 + 32, "as its columns");
_Static_assert(sizeof(struct ar_open_call) == 32, "as its columns");
_Static_assert(sizeof(struct ar_member) == 16 + 8, "as its columns");
_Static_assert(sizeof(struct ar_loss) == 8 + 8, "as its columns");
_Static_assert(sizeof(struct ar_line_stretch) == 16 + 16, "as its columns");
_Static_assert(sizeof(struct ar_counted_line) == 16 + 16, "as its columns");
_Static_assert(offsetof(struct ar_profile, counted_lines_kind) ==
                   offsetof(struct ar_profile, tables[AR_TABLE_LINES]),
               "two names for one table");

enum ar_status ar_profile_add_row(struct ar_profile *p, enum ar_table_id id, const void *row)
{
    if (!p->tables[id].kind)
        ar_table_be(&p->tables[id], &ar_table_kinds[id]);
    return ar_table_add(&p->tables[id], row, row_bytes[id]);
}

/* ---- all tables ------------------------------------------------------------------------------- */

/* It can be made to, if it is of that name and one of the two has all columns of the other. */
static enum ar_status take_kind(struct ar_table *table, const struct ar_table_kind *own,
                                const struct ar_table_kind *kind, bool *does)
{
    const struct ar_table_kind *has = table->kind ? table->kind : own;

    *does = has && ar_table_kind_extends(has, kind);
    if (*does) {
        if (!table->kind)
            ar_table_be(table, own);
        return AR_OK;
    }
    if (!has || !ar_table_kind_extends(kind, has))
        return AR_OK;
    *does = true;
    return ar_table_widen(table, kind);
}

static enum ar_status one_more_table(struct ar_profile *p, const struct ar_table_kind *kind,
                                     struct ar_table **table)
{
    size_t n = ar_profile_n_tables(p);

    if (n == AR_MAX_TABLES)
        return AR_BAD;

    const struct ar_table_kind *copy = ar_table_kind_copy(kind);

    if (!copy)
        return AR_NOMEM;
    p->tables[n] = (struct ar_table){0};
    ar_table_be(&p->tables[n], copy);
    p->n_other_tables++;
    *table = &p->tables[n];
    return AR_OK;
}

enum ar_status ar_profile_find_table(struct ar_profile *p, const struct ar_table_kind *kind,
                                     struct ar_table **table)
{
    for (size_t i = 0; i < ar_profile_n_tables(p); i++) {
        bool does;

        if (take_kind(&p->tables[i], i < AR_N_TABLES ? &ar_table_kinds[i] : NULL, kind, &does) < 0)
            return AR_NOMEM;
        if (does) {
            *table = &p->tables[i];
            return AR_OK;
        }
    }
    return one_more_table(p, kind, table);
}

static enum ar_status add_table(struct ar_profile *p, const struct ar_table *from,
                                const struct ar_role_maps *maps)
{
    struct ar_table *to;
    enum ar_status status = ar_profile_find_table(p, from->kind, &to);

    if (status == AR_BAD)
        return p->n_processes ? ar_profile_lose(p, 0, AR_LOST_TABLES, 1) : AR_OK;
    return status == AR_OK ? ar_table_append(to, from, maps) : status;
}

enum ar_status ar_profile_add_tables(struct ar_profile *p, const struct ar_profile *other,
                                     const struct ar_role_maps *maps)
{
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < ar_profile_n_tables(other) && status == AR_OK; i++)
        if (other->tables[i].n)
            status = add_table(p, &other->tables[i], maps);
    return status;
}

enum ar_status ar_profile_add_other_streams(struct ar_profile *p, const struct ar_profile *other,
                                            const struct ar_role_maps *maps, bool with_bytes)
{
    enum ar_status status = ar_bulks_merge(&p->bulks, &other->bulks);

    for (size_t i = 0; i < other->other_streams.n && status == AR_OK; i++)
        status = ar_other_streams_add(&p->other_streams, &other->other_streams.items[i], maps,
                                      with_bytes);
    return status;
}

void ar_profile_renumber_tables(struct ar_profile *p, const struct ar_role_maps *maps)
{
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        ar_table_renumber(&p->tables[i], maps);
}

struct ar_role_limits ar_profile_limits(const struct ar_profile *p)
{
    return (struct ar_role_limits){.n = {[AR_ROLE_STRING] = p->strings.n_strings,
                                         [AR_ROLE_FUNCTION] = p->n_functions,
                                         [AR_ROLE_NODE] = p->n_nodes,
                                         [AR_ROLE_PROCESS] = p->n_processes,
                                         [AR_ROLE_LOCATION] = p->n_locations,
                                         [AR_ROLE_COMM] = p->n_comms}};
}

struct ar_profile ar_profile_without_values(const struct ar_profile *p)
{
    struct ar_profile bare = *p;

    bare.n_nodes = 1;
    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++)
        bare.metrics[m].n_values = bare.packed[m].n_rows = 0;
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        bare.tables[i].n = 0;
    bare.n_comms = bare.n_streams = bare.other_streams.n = 0;
    bare.writer = NULL;
    return bare;
}

/* ---- open calls ------------------------------------------------------------------------------- */

const struct ar_open_call *ar_profile_open_call(const struct ar_profile *p, uint32_t location)
{
    size_t first = 0, end = p->n_open_calls;

    while (first < end) {
        size_t middle = (first + end) / 2;

        if (ar_open_calls_at(p, middle)->location < location)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == p->n_open_calls || ar_open_calls_at(p, first)->location != location)
        return NULL;
    return ar_open_calls_at(p, first);
}

/* ---- losses ----------------------------------------------------------------------------------- */

const char *ar_loss_name(enum ar_live_loss what)
{
    static const char *const names[AR_N_LOSSES] = {
        [AR_LOST_NODES] = "nodes",       [AR_LOST_FUNCTIONS] = "functions",
        [AR_LOST_THREADS] = "threads",   [AR_LOST_FRAMES] = "frames",
        [AR_LOST_REGIONS] = "regions",   [AR_LOST_PROCESSES] = "processes",
        [AR_LOST_TRAFFIC] = "traffic",   [AR_LOST_REQUESTS] = "requests",
        [AR_LOST_SYNCS] = "syncs",       [AR_LOST_COMMS] = "communicators",
        [AR_LOST_ROWS] = "rows",         [AR_LOST_TRACE] = "trace",
        [AR_LOST_METRICS] = "metrics",   [AR_LOST_TABLES] = "tables",
        [AR_LOST_SECTIONS] = "sections",
    };

    return what < AR_N_LOSSES ? names[what] : NULL;
}

enum ar_status ar_profile_lose(struct ar_profile *p, uint32_t process, enum ar_live_loss what,
                               uint64_t n)
{
    const char *name = ar_loss_name(what);
    struct ar_loss loss = {.process = process, .n = n};
    enum ar_status status = AR_OK;

    if (n)
        status = ar_profile_string(p, (struct ar_str){name, strlen(name)}, &loss.what);
    return n && status == AR_OK ? ar_profile_add_row(p, AR_TABLE_LOSSES, &loss) : status;
}

static size_t first_loss_of(const struct ar_profile *p, uint32_t process)
{
    size_t first = 0, end = p->n_losses;

    while (first < end) {
        size_t middle = (first + end) / 2;

        if (ar_losses_at(p, middle)->process < process)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* By the name of what it was; NULL: all. */
static uint64_t sum_losses(const struct ar_profile *p, uint32_t process, const char *name)
{
    bool is_of_all = process == AR_NO_ID;
    uint64_t n = 0;

    for (size_t i = is_of_all ? 0 : first_loss_of(p, process); i < p->n_losses; i++) {
        const struct ar_loss *loss = ar_losses_at(p, i);

        if (loss->process != process && !is_of_all)
            break;
        if (!name || strcmp(ar_strtab_text(&p->strings, loss->what), name) == 0)
            n += loss->n;
    }
    return n;
}

uint64_t ar_profile_lost(const struct ar_profile *p, uint32_t process, enum ar_live_loss what)
{
    const char *name = ar_loss_name(what);

    return name ? sum_losses(p, process, name) : 0;
}

uint64_t ar_profile_lost_in_all(const struct ar_profile *p, uint32_t process)
{
    return sum_losses(p, process, NULL);
}
