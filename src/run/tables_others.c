// SPDX-License-Identifier: BSD-3-Clause
/* The table of data that came with a file and that this program does not know: other_data. */
#include "run/cells.h"
#include "run/other_data.h"

#define IN_STREAMS(n) (is_stream ? (int64_t)(n) : -1)

#define OTHER_COLUMNS(X)                                                                           \
    TEXT(X, kind, "metric, table or stream", plain_text(ar_other_kind_name(at->kind)))             \
    TEXT(X, name, "as the file has it", plain_text(at->name))                                      \
    OPTIONAL_TEXT(X, unit, "of a metric", plain_text(at->unit))                                    \
    OPTIONAL(X, rows, "", "values of a metric, rows of a table; none: a stream",                   \
             is_stream ? -1 : (int64_t)at->n_rows)                                                 \
    OPTIONAL(X, threads, "", "that have such a stream; none: a metric or a table",                 \
             IN_STREAMS(at->n_threads))                                                            \
    OPTIONAL(X, bytes, "bytes", "of a stream; none: a metric or a table", IN_STREAMS(at->n_bytes))

static const struct ar_shown_column other_columns[] = {OTHER_COLUMNS(DESCRIBE)};

static union ar_cell other_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { OTHER_COLUMNS(NUMBER) };
    const struct ar_other_row *at = &of->run->other_rows[row];
    bool is_stream = at->kind == AR_OTHER_STREAM;
    union ar_cell cell = {0};

    switch (column) {
        OTHER_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_others(const struct ar_subject *of)
{
    size_t n;

    return ar_run_other_data(of->run, &n) ? AR_OK : AR_NOMEM;
}

static size_t n_others(const struct ar_subject *of)
{
    return of->run->n_other_rows;
}

const struct ar_shown_table ar_shown_table_other_data = {
    .name = "other_data",
    .key = "kind, name",
    .help =
        "metrics, tables and streams of the file that this version does not know; they are kept, "
        "and only tables and metrics can be shown",
    .columns = other_columns,
    .n_columns = N_COLUMNS(other_columns),
    .prepare = prepare_others,
    .n_rows = n_others,
    .cell = other_cell,
};
