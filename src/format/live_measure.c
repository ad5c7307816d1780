// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_measure.h"

#include "base/arena.h"
#include "format/other_streams.h"
#include "format/profile.h"

#include <stdlib.h>

/* ---- those that no record describes ----------------------------------------------------------- */

#define WORD(w)                                                                                    \
    {                                                                                              \
        .word = (w), .n_bits = 64                                                                  \
    }
#define TICKS(w)                                                                                   \
    {                                                                                              \
        .word = (w), .n_bits = 64, .unit = AR_ROW_FIELD_TICKS                                      \
    }
#define BITS(w, first, n)                                                                          \
    {                                                                                              \
        .word = (w), .first_bit = (first), .n_bits = (n)                                           \
    }
/* Word 0: the node that the block belongs to. */
#define OWNER BITS(0, 32, 32)
#define THREAD                                                                                     \
    {                                                                                              \
        .n_bits = 0                                                                                \
    }

static const struct ar_measure mpi = {
    .form = AR_MEASURE_METRICS,
    .n_words = AR_BLOCK_WORDS,
    .n_fields = 4,
    .fields = {WORD(AR_MPI_BYTES_OUT), WORD(AR_MPI_BYTES_IN), TICKS(AR_MPI_MIN_TICKS),
               TICKS(AR_MPI_MAX_TICKS)},
    .metrics = {&ar_metric_kinds[AR_METRIC_BYTES_OUT], &ar_metric_kinds[AR_METRIC_BYTES_IN],
                &ar_metric_kinds[AR_METRIC_MIN_TIME], &ar_metric_kinds[AR_METRIC_MAX_TIME]},
};

static const struct ar_measure task = {
    .form = AR_MEASURE_METRICS,
    .n_words = AR_BLOCK_WORDS,
    .n_fields = 1,
    .fields = {TICKS(AR_TASK_AWAITED_TICKS)},
    .metrics = {&ar_metric_kinds[AR_METRIC_AWAITED]},
};

/* Fields are in the order of the columns: see profile_tables.c. */
static const struct ar_measure messages = {
    .form = AR_MEASURE_TABLE,
    .n_words = AR_BLOCK_WORDS,
    .n_fields = 11,
    .fields = {OWNER, THREAD, BITS(AR_TRAFFIC_WHERE, 8, 24), BITS(AR_TRAFFIC_PEER, 0, 32),
               BITS(AR_TRAFFIC_PEER, 32, 32), BITS(AR_TRAFFIC_WHERE, 0, 8), WORD(AR_TRAFFIC_N_OUT),
               WORD(AR_TRAFFIC_BYTES_OUT), WORD(AR_TRAFFIC_N_IN), WORD(AR_TRAFFIC_BYTES_IN),
               TICKS(AR_TRAFFIC_TICKS)},
    .table = &ar_table_kinds[AR_TABLE_MESSAGES],
};

static const struct ar_measure requests = {
    .form = AR_MEASURE_TABLE,
    .n_words = AR_BLOCK_WORDS,
    .n_fields = 7,
    .fields = {OWNER, THREAD, BITS(AR_COMPLETED_POSTED, 0, 32), WORD(AR_COMPLETED_N),
               TICKS(AR_COMPLETED_FLIGHT_TICKS), TICKS(AR_COMPLETED_WAITED_TICKS),
               TICKS(AR_COMPLETED_EXPOSED_TICKS)},
    .table = &ar_table_kinds[AR_TABLE_REQUESTS],
};

const struct ar_measure *ar_measure_of_kind(uint32_t kind)
{
    switch (kind) {
    case AR_VALUES_MPI:
        return &mpi;
    case AR_VALUES_TASK:
        return &task;
    case AR_VALUES_TRAFFIC:
        return &messages;
    case AR_VALUES_COMPLETED:
        return &requests;
    default:
        return NULL;
    }
}

/* ---- rules ------------------------------------------------------------------------------------ */

static bool is_implied(const struct ar_column *column)
{
    return column->role == AR_ROLE_LOCATION || column->role == AR_ROLE_PROCESS;
}

/* Only rows of tables have a node. */
static bool is_site(const struct ar_measure *m, size_t i)
{
    return m->form == AR_MEASURE_TABLE && m->fields[i].unit == AR_ROW_FIELD_SITE &&
           m->table->columns[i].role == AR_ROLE_NUMBER;
}

static bool field_is_sound(const struct ar_measure *m, size_t i)
{
    const struct ar_row_field *field = &m->fields[i];

    return field->word < m->n_words && field->first_bit + field->n_bits <= 64 &&
           field->unit < AR_N_ROW_FIELD_UNITS;
}

/*
 * Threads and processes are known by whose row it is, and a stream belongs to one thread. Texts would need records of their own.
 */
static bool column_is_sound(const struct ar_measure *m, size_t i)
{
    const struct ar_column *column = &m->table->columns[i];
    const struct ar_row_field *field = &m->fields[i];

    if (column->role == AR_ROLE_STRING || (m->form == AR_MEASURE_STREAM && is_implied(column)))
        return false;
    if (is_implied(column))
        return field->n_bits == 0;
    if (column->flags & AR_COLUMN_KEY)
        return field->n_bits > 0 && field->n_bits <= 32 &&
               (field->unit == AR_ROW_FIELD_NUMBER || is_site(m, i));
    return field->n_bits > 0 && field->unit != AR_ROW_FIELD_SITE;
}

static size_t n_references(const struct ar_table_kind *table)
{
    size_t n = 0;

    for (size_t c = 0; c < table->n_columns; c++)
        n += table->columns[c].role != AR_ROLE_NUMBER;
    return n;
}

static bool columns_are_sound(const struct ar_measure *m)
{
    if (!m->table || m->n_fields != m->table->n_columns)
        return false;
    if (m->form == AR_MEASURE_STREAM && n_references(m->table) > AR_MAX_STREAM_TABLES)
        return false;
    for (size_t i = 0; i < m->n_fields; i++)
        if (!column_is_sound(m, i))
            return false;
    return true;
}

bool ar_measure_is_sound(const struct ar_measure *m)
{
    size_t most_words = m->form == AR_MEASURE_STREAM ? AR_MAX_ROW_WORDS : AR_BLOCK_WORDS;

    if (m->form >= AR_N_MEASURE_FORMS || !m->n_words || m->n_words > most_words || !m->n_fields ||
        m->n_fields > AR_MAX_TABLE_COLUMNS)
        return false;
    for (size_t i = 0; i < m->n_fields; i++)
        if (!field_is_sound(m, i) || (m->form == AR_MEASURE_METRICS && !m->fields[i].n_bits))
            return false;
    return m->form == AR_MEASURE_METRICS || columns_are_sound(m);
}

/* ---- as bytes --------------------------------------------------------------------------------- */

void ar_measure_encode(const struct ar_measure *m, struct ar_bytes *out)
{
    ar_bytes_u8(out, m->form);
    ar_bytes_u8(out, m->n_words);
    if (m->form == AR_MEASURE_METRICS) {
        ar_bytes_u8(out, m->n_fields);
        for (size_t i = 0; i < m->n_fields; i++)
            ar_metric_kind_encode(m->metrics[i], out);
    } else {
        ar_table_kind_encode(m->table, out);
    }
    for (size_t i = 0; i < m->n_fields; i++) {
        ar_bytes_u8(out, m->fields[i].word);
        ar_bytes_u8(out, m->fields[i].first_bit);
        ar_bytes_u8(out, m->fields[i].n_bits);
        ar_bytes_u8(out, m->fields[i].unit);
    }
}

static void decode_metrics(struct ar_measure *m, struct ar_cursor *in)
{
    uint8_t n = ar_cursor_u8(in);

    in->bad = in->bad || n > AR_MAX_TABLE_COLUMNS;
    while (m->n_fields < n && !in->bad) {
        m->metrics[m->n_fields] = ar_metric_kind_decode(in);
        m->n_fields += m->metrics[m->n_fields] != NULL;
    }
}

static void decode_columns(struct ar_measure *m, struct ar_cursor *in)
{
    m->table = ar_table_kind_decode(in);
    m->n_fields = m->table ? (uint8_t)m->table->n_columns : 0;
}

enum ar_status ar_measure_decode(struct ar_measure *out, const void *bytes, size_t n_bytes)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);

    *out = (struct ar_measure){.form = ar_cursor_u8(&in)};
    out->n_words = ar_cursor_u8(&in);
    if (out->form == AR_MEASURE_METRICS)
        decode_metrics(out, &in);
    else
        decode_columns(out, &in);
    for (size_t i = 0; i < out->n_fields; i++) {
        out->fields[i].word = ar_cursor_u8(&in);
        out->fields[i].first_bit = ar_cursor_u8(&in);
        out->fields[i].n_bits = ar_cursor_u8(&in);
        out->fields[i].unit = ar_cursor_u8(&in);
    }
    if (!in.bad && ar_measure_is_sound(out))
        return AR_OK;
    ar_measure_free(out);
    return AR_BAD;
}

void ar_measure_free(struct ar_measure *m)
{
    if (m->form == AR_MEASURE_METRICS)
        for (size_t i = 0; i < m->n_fields; i++)
            free((struct ar_metric_kind *)m->metrics[i]);
    if (m->table)
        ar_table_kind_free(m->table);
    *m = (struct ar_measure){0};
}

/* ---- of a file -------------------------------------------------------------------------------- */

enum ar_status ar_measures_add(struct ar_measures *measures, const struct ar_record *record)
{
    const char *bytes = (const char *)(record + 1) + record->n_name + record->n_file;

    if (measures->n == AR_MAX_MEASURES)
        return AR_OK;
    if (ar_grow((void **)&measures->items, &measures->cap, measures->n + 1,
                sizeof *measures->items) < 0)
        return AR_NOMEM;
    /* One that is no description is left empty. */
    (void)!ar_measure_decode(&measures->items[measures->n], bytes, record->n_linetable);
    measures->n++;
    return AR_OK;
}

const struct ar_measure *ar_measures_find(const struct ar_measures *measures, uint32_t kind)
{
    size_t i = (size_t)kind - AR_FIRST_MEASURE;

    return kind >= AR_FIRST_MEASURE && i < measures->n && measures->items[i].n_fields
               ? &measures->items[i]
               : NULL;
}

void ar_measures_free(struct ar_measures *measures)
{
    for (size_t i = 0; i < measures->n; i++)
        ar_measure_free(&measures->items[i]);
    free(measures->items);
    *measures = (struct ar_measures){0};
}
