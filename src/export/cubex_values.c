// SPDX-License-Identifier: BSD-3-Clause
#include "export/cubex_values.h"

#include "format/rows.h"

#include <endian.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ---- which metrics ---------------------------------------------------------------------------- */

/* Those that Score-P has, too, under its names, in its order. */
static const struct ar_cubex_metric known[] = {
    {.metric = AR_METRIC_CALLS,
     .form = AR_CUBEX_COUNT,
     .display = "Visits",
     .name = "visits",
     .unit = "occ",
     .description = "Number of visits"},
    {.metric = AR_METRIC_TIME,
     .form = AR_CUBEX_DOUBLE,
     .is_inclusive = true,
     .is_time = true,
     .display = "Time",
     .name = "time",
     .unit = "sec",
     .description = "Elapsed time of each thread"},
    {.metric = AR_METRIC_MIN_TIME,
     .form = AR_CUBEX_LEAST,
     .is_time = true,
     .display = "Minimum Inclusive Time",
     .name = "min_time",
     .unit = "sec",
     .description = "Shortest single call"},
    {.metric = AR_METRIC_MAX_TIME,
     .form = AR_CUBEX_LARGEST,
     .is_time = true,
     .display = "Maximum Inclusive Time",
     .name = "max_time",
     .unit = "sec",
     .description = "Longest single call"},
    {.metric = AR_METRIC_BYTES_OUT,
     .form = AR_CUBEX_COUNT,
     .display = "bytes_sent",
     .name = "bytes_sent",
     .unit = "bytes",
     .description = "Bytes that MPI calls were given to send or write"},
    {.metric = AR_METRIC_BYTES_IN,
     .form = AR_CUBEX_COUNT,
     .display = "bytes_received",
     .name = "bytes_received",
     .unit = "bytes",
     .description = "Bytes that MPI calls received or read"},
    {.metric = AR_METRIC_AWAITED,
     .form = AR_CUBEX_DOUBLE,
     .is_time = true,
     .display = "Awaited",
     .name = "awaited",
     .unit = "sec",
     .description = "Time that asyncio tasks waited between their steps"},
};

#define N_KNOWN (sizeof known / sizeof *known)

const char *ar_cubex_type(enum ar_cubex_form form)
{
    static const char *const types[AR_N_CUBEX_FORMS] = {"UINT64", "INT64", "DOUBLE", "MINDOUBLE",
                                                        "MAXDOUBLE"};

    return types[form];
}

static bool is_known_name(const char *name)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        if (strcmp(name, known[i].name) == 0)
            return true;
    return false;
}

static const char *unit_of(const char *unit)
{
    if (strcmp(unit, "1") == 0)
        return "#";
    if (strcmp(unit, "ns") == 0)
        return "sec";
    return strcmp(unit, "B") == 0 ? "bytes" : unit;
}

static enum ar_cubex_form form_of(const struct ar_metric_kind *kind)
{
    if (kind->combine == AR_COMBINE_MIN)
        return AR_CUBEX_LEAST;
    if (kind->combine == AR_COMBINE_MAX)
        return AR_CUBEX_LARGEST;
    if (strcmp(kind->unit, "ns") == 0)
        return AR_CUBEX_DOUBLE;
    return kind->scope == AR_SCOPE_INCLUSIVE ? AR_CUBEX_SIGNED : AR_CUBEX_COUNT;
}

/* One that a file describes. */
static struct ar_cubex_metric describe(const struct ar_profile *p, unsigned metric)
{
    const struct ar_metric_kind *kind = ar_profile_metric(p, metric);

    return (struct ar_cubex_metric){
        .metric = metric,
        .form = form_of(kind),
        .is_inclusive = kind->scope == AR_SCOPE_INCLUSIVE && kind->combine == AR_COMBINE_SUM,
        .is_time = strcmp(kind->unit, "ns") == 0,
        .display = kind->name,
        .is_renamed = is_known_name(kind->name),
        .name = kind->name,
        .unit = unit_of(kind->unit),
        .description = "",
    };
}

/* Notes the nodes that have values of it. */
static enum ar_status find_values(struct ar_cubex_metrics *metrics, const struct ar_profile *p,
                                  unsigned metric, bool *has_any)
{
    struct ar_rows rows;

    *has_any = false;
    if (ar_rows_open(&rows, p, metric) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < p->n_nodes; node++) {
        bool has_row = ar_rows_get(&rows, node).n != 0;

        metrics->has_values[node] |= has_row;
        *has_any |= has_row;
    }
    ar_rows_close(&rows);
    return AR_OK;
}

static enum ar_status add(struct ar_cubex_metrics *metrics, const struct ar_profile *p,
                          const struct ar_cubex_metric *metric)
{
    bool has_any, is_always_there = metrics->n < 2; /* visits and time */

    if (find_values(metrics, p, metric->metric, &has_any) < 0)
        return AR_NOMEM;
    if (has_any || is_always_there)
        metrics->list[metrics->n++] = *metric;
    return AR_OK;
}

enum ar_status ar_cubex_metrics_find(struct ar_cubex_metrics *out, const struct ar_profile *p)
{
    enum ar_status status = AR_OK;

    *out = (struct ar_cubex_metrics){.has_values = calloc(p->n_nodes + 1, sizeof(bool))};
    if (!out->has_values)
        return AR_NOMEM;
    for (size_t i = 0; i < N_KNOWN && status == AR_OK; i++)
        status = add(out, p, &known[i]);
    for (unsigned m = AR_N_METRICS; m < ar_profile_n_metrics(p) && status == AR_OK; m++) {
        struct ar_cubex_metric other = describe(p, m);

        if (ar_profile_metric(p, m)->combine != AR_COMBINE_OR)
            status = add(out, p, &other);
    }
    if (status < 0)
        ar_cubex_metrics_free(out);
    return status;
}

void ar_cubex_metrics_free(struct ar_cubex_metrics *metrics)
{
    free(metrics->has_values);
    metrics->has_values = NULL;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static enum ar_status mark_rows(struct ar_cubex_rows *out, const struct ar_profile *p)
{
    struct ar_rows rows;

    if (ar_rows_open(&rows, p, out->metric->metric) < 0)
        return AR_NOMEM;
    for (uint32_t node = (uint32_t)p->n_nodes; node-- > 0;) {
        size_t n_values = ar_rows_get(&rows, node).n;

        if (n_values)
            out->row_of[node] = 0;
        out->is_complete[node] = n_values == p->n_locations;
        if (out->metric->is_inclusive && node && out->row_of[node] != AR_NO_ID)
            out->row_of[p->nodes[node].parent] = 0;
    }
    ar_rows_close(&rows);
    out->row_of[0] = 0;
    return AR_OK;
}

static void number_rows(struct ar_cubex_rows *out, const struct ar_cubex_tree *tree)
{
    const uint32_t *order = out->metric->is_inclusive ? tree->wide : tree->deep;

    for (uint32_t place = 0; place < tree->n; place++) {
        if (out->row_of[order[place]] == AR_NO_ID)
            continue;
        out->row_of[order[place]] = out->n;
        out->places[out->n++] = place;
    }
}

enum ar_status ar_cubex_rows_find(struct ar_cubex_rows *out, const struct ar_cubex_metric *metric,
                                  const struct ar_profile *p, const struct ar_cubex_tree *tree)
{
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_cubex_rows){.metric = metric};
    out->row_of = malloc((p->n_nodes + 1) * sizeof *out->row_of);
    out->places = malloc((tree->n + (size_t)1) * sizeof *out->places);
    out->is_complete = malloc(p->n_nodes + 1);
    if (out->row_of && out->places && out->is_complete) {
        memset(out->row_of, 0xff, p->n_nodes * sizeof *out->row_of);
        status = mark_rows(out, p);
    }
    if (status == AR_OK)
        number_rows(out, tree);
    else
        ar_cubex_rows_free(out);
    return status;
}

void ar_cubex_rows_free(struct ar_cubex_rows *rows)
{
    free(rows->row_of);
    free(rows->places);
    free(rows->is_complete);
    *rows = (struct ar_cubex_rows){0};
}

/* ---- index ------------------------------------------------------------------------------------ */

#define INDEX_MARK "CUBEX.INDEX"
#define DATA_MARK "CUBEX.DATA"
#define MARK_BYTES(mark) (sizeof(mark) - 1)
#define INDEX_HEAD_BYTES (MARK_BYTES(INDEX_MARK) + 4 + 2 + 1 + 4)
#define INDEX_VERSION 0
#define INDEX_SPARSE 1
#define VALUE_BYTES 8

uint64_t ar_cubex_index_bytes(const struct ar_cubex_rows *rows)
{
    return INDEX_HEAD_BYTES + (uint64_t)rows->n * 4;
}

/* The 1 says in which order the bytes of numbers are, here and in the values. */
void ar_cubex_put_index(const struct ar_cubex_rows *rows, struct ar_bytes *out)
{
    ar_bytes_put(out, INDEX_MARK, MARK_BYTES(INDEX_MARK));
    ar_bytes_u32(out, 1);
    ar_bytes_u16(out, INDEX_VERSION);
    ar_bytes_u8(out, INDEX_SPARSE);
    ar_bytes_u32(out, rows->n);
    for (uint32_t i = 0; i < rows->n; i++)
        ar_bytes_u32(out, rows->places[i]);
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Rows begin at odd addresses in the file. */
static uint64_t load(const unsigned char *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return value;
}

static void store(unsigned char *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* As it lies in the file. */
static uint64_t converted(const struct ar_cubex_metric *metric, uint64_t value)
{
    if (metric->form == AR_CUBEX_COUNT || metric->form == AR_CUBEX_SIGNED)
        return htole64(value);
    return htole64(bits_of(metric->is_time ? (double)value / 1e9 : (double)value));
}

/* What CUBE takes for no value at all. */
static uint64_t nothing(const struct ar_cubex_metric *metric)
{
    if (metric->form == AR_CUBEX_LEAST)
        return htole64(bits_of(DBL_MAX));
    return metric->form == AR_CUBEX_LARGEST ? htole64(bits_of(-DBL_MAX)) : 0;
}

uint64_t ar_cubex_values_bytes(const struct ar_cubex_rows *rows,
                               const struct ar_cubex_system *system)
{
    uint64_t row_bytes = (uint64_t)system->n_columns * VALUE_BYTES;
    uint64_t most = row_bytes ? (UINT64_MAX - MARK_BYTES(DATA_MARK)) / row_bytes : UINT64_MAX;

    return rows->n > most ? UINT64_MAX : MARK_BYTES(DATA_MARK) + rows->n * row_bytes;
}

/* What is being written: the values of all rows, one row after the other. */
struct filling {
    const struct ar_cubex_rows *rows;
    const struct ar_profile *p;
    const struct ar_cubex_system *system;
    struct ar_rows source;
    unsigned char *values;
    size_t row_bytes;
};

static unsigned char *row_at(const struct filling *f, uint32_t node)
{
    return f->values + f->rows->row_of[node] * f->row_bytes;
}

static unsigned char *cell_at(const struct filling *f, unsigned char *row, uint32_t location)
{
    return row + (size_t)f->system->column_of[location] * VALUE_BYTES;
}

/* A pause has time, and no function calls it. */
static bool is_uncounted(const struct filling *f, uint32_t node)
{
    return f->rows->metric->metric == AR_METRIC_CALLS &&
           ar_function_is_pause(f->p, f->p->nodes[node].function);
}

static void fill_exclusive(struct filling *f)
{
    uint64_t none = nothing(f->rows->metric);

    for (size_t i = 0; i < f->rows->n * f->row_bytes; i += VALUE_BYTES)
        store(f->values + i, none);
    for (uint32_t node = 0; node < f->p->n_nodes; node++) {
        if (f->rows->row_of[node] == AR_NO_ID)
            continue;

        struct ar_row row = ar_rows_get(&f->source, node);

        for (size_t i = 0; i < row.n && !is_uncounted(f, node); i++)
            store(cell_at(f, row_at(f, node), row.values[i].location),
                  converted(f->rows->metric, row.values[i].value));
    }
}

static void add_to_parent(const struct filling *f, uint32_t node)
{
    uint32_t parent = f->p->nodes[node].parent;

    if (f->rows->is_complete[parent])
        return;

    unsigned char *to = row_at(f, parent);
    const unsigned char *from = row_at(f, node);

    for (size_t i = 0; i < f->row_bytes; i += VALUE_BYTES)
        store(to + i, load(to + i) + load(from + i));
}

/*
 * From the last node to the first: a row has the sums of its node's children when its own values are put in their
 * places. Whole numbers until then, so that nothing is rounded twice.
 */
static void fill_inclusive(struct filling *f)
{
    memset(f->values, 0, f->rows->n * f->row_bytes);
    for (uint32_t node = (uint32_t)f->p->n_nodes; node-- > 0;) {
        if (f->rows->row_of[node] == AR_NO_ID)
            continue;

        struct ar_row row = ar_rows_get(&f->source, node);

        for (size_t i = 0; i < row.n; i++)
            store(cell_at(f, row_at(f, node), row.values[i].location), row.values[i].value);
        if (node)
            add_to_parent(f, node);
    }
    for (size_t i = 0; i < f->rows->n * f->row_bytes; i += VALUE_BYTES)
        store(f->values + i, converted(f->rows->metric, load(f->values + i)));
}

enum ar_status ar_cubex_put_values(const struct ar_cubex_rows *rows, const struct ar_profile *p,
                                   const struct ar_cubex_system *system, struct ar_bytes *out)
{
    struct filling f = {.rows = rows,
                        .p = p,
                        .system = system,
                        .row_bytes = (size_t)system->n_columns * VALUE_BYTES};

    ar_bytes_put(out, DATA_MARK, MARK_BYTES(DATA_MARK));
    f.values = ar_bytes_reserve(out, rows->n * f.row_bytes);
    if (!f.values || ar_rows_open(&f.source, p, rows->metric->metric) < 0)
        return AR_NOMEM;
    if (rows->metric->is_inclusive)
        fill_inclusive(&f);
    else
        fill_exclusive(&f);
    out->n += rows->n * f.row_bytes;
    ar_rows_close(&f.source);
    return AR_OK;
}
