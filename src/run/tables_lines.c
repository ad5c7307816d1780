// SPDX-License-Identifier: BSD-3-Clause
/* The table of lines: lines. */
#include "run/cells.h"

#define LINE_COLUMNS(X)                                                                            \
    INTEGER(X, function_id, "", "row of functions", l->function)                                   \
    TEXT(X, function, "whose line it is", text_of(p, p->functions[l->function].name))              \
    TEXT(X, file, "where it is defined", text_of(p, p->functions[l->function].file))               \
    INTEGER(X, line, "", "the first of a range; 0: from where the function begins", l->first)      \
    INTEGER(X, last_line, "", "the same as line: one line; 0: to where the function ends",         \
            l->last)                                                                               \
    BOOLEAN(X, counted, "whether the lines of the function were counted (--lines)", l->is_counted) \
    OPTIONAL(X, hits, "", "how often the line ran; none: not counted",                             \
             l->is_counted ? (int64_t)l->hits : -1)                                                \
    INTEGER(X, calls, "", "made on that line", l->n_calls)                                         \
    SPREAD(X, time, "with all that it calls, but the function itself", l->time)                    \
    SPREAD(X, here, "without Python functions that it calls", l->here)                             \
    SPREAD(X, own, "without anything that it calls", l->own)                                       \
    SPREAD(X, c, "in C functions and MPI that it calls", l->c)                                     \
    SPREAD(X, mpi, "in MPI calls, wherever below; part of the others", l->mpi)

static const struct ar_shown_column columns[] = {LINE_COLUMNS(DESCRIBE)};

static union ar_cell cell_of(const struct ar_subject *of, size_t column, size_t row)
{
    enum { LINE_COLUMNS(NUMBER) };
    const struct ar_profile *p = of->run->forms[AR_FORM_RECORDED].p;
    const struct ar_line *l = &of->run->lines.rows[row];
    union ar_cell cell = {0};

    switch (column) {
        LINE_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare(const struct ar_subject *of)
{
    return ar_run_lines(of->run) ? AR_OK : AR_NOMEM;
}

static size_t n_rows(const struct ar_subject *of)
{
    return of->run->lines.n;
}

static const uint32_t *order(const struct ar_subject *of, size_t *n)
{
    *n = of->run->lines.n;
    return of->run->lines.hottest;
}

const struct ar_shown_table ar_shown_table_lines = {
    .name = "lines",
    .key = "function_id, line, last_line",
    .help = "lines of Python functions; what is hot comes first. Those of which nothing is known "
            "are not there",
    .columns = columns,
    .n_columns = N_COLUMNS(columns),
    .prepare = prepare,
    .order = order,
    .n_rows = n_rows,
    .cell = cell_of,
};
