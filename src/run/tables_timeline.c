// SPDX-License-Identifier: BSD-3-Clause
/* Tables of a window of a trace: timeline, timeline_rows, timeline_cells. */
#include "run/cells.h"
#include "run/subjects.h"

static const struct ar_timeline *timeline_of(const struct ar_subject *of)
{
    return of->timeline->t;
}

/* ---- the window ------------------------------------------------------------------------------- */

#define WINDOW_COLUMNS(X)                                                                          \
    INTEGER(X, from, "ns", "where the window begins, since the run began", t->from_ns)             \
    INTEGER(X, to, "ns", "where it ends", t->to_ns)                                                \
    INTEGER(X, rows, "", "of the picture", t->n_rows)                                              \
    INTEGER(X, columns, "", "of the picture, all as long", t->n_columns)                           \
    INTEGER(X, threads, "", "that are shown", t->n_threads)                                        \
    INTEGER(X, threads_per_row, "", "a row is the mean of so many; the last one may have fewer",   \
            t->per_row)                                                                            \
    INTEGER(X, threads_left_out, "", "other threads than main ones, and children: --threads",      \
            t->n_left_out)                                                                         \
    REAL(X, error, "share",                                                                        \
         "of a column, at most, that may have been counted in the column beside it; 0: none",      \
         t->error)                                                                                 \
    INTEGER(X, events_read, "", "to make the picture", t->n_events)                                \
    INTEGER(X, bins_read, "", "parts of the trace that were read instead of their events",         \
            t->n_bins)                                                                             \
    TEXT(X, clocks,                                                                                \
         "where clocks come from: one (of one host), compared (when MPI began and ended), "        \
         "estimated (some, from messages), not_known (some)",                                      \
         plain_text(ar_clock_hosts_name(&t->clocks)))

static const struct ar_shown_column window_columns[] = {WINDOW_COLUMNS(DESCRIBE)};

static union ar_cell window_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { WINDOW_COLUMNS(NUMBER) };
    const struct ar_timeline *t = timeline_of(of);
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        WINDOW_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_timeline = {
    .name = "timeline",
    .key = "",
    .help = "the window of a trace that is shown",
    .about = AR_ABOUT_TIMELINE,
    .columns = window_columns,
    .n_columns = N_COLUMNS(window_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = window_cell,
};

/* ---- classes ---------------------------------------------------------------------------------- */

/* The names are those of ar_trace_class_key. */
#define CLASS_COLUMNS(X, MEMBER, unit)                                                             \
    MEMBER(X, not_recorded, unit, "nothing was recorded: the trace was off, or not there",         \
           AR_CLASS_NONE)                                                                          \
    MEMBER(X, other, unit, "in no function that is known", AR_CLASS_OTHER)                         \
    MEMBER(X, python, unit, "in Python functions", AR_CLASS_PYTHON)                                \
    MEMBER(X, c, unit, "in C functions that are not told apart below", AR_CLASS_C)                 \
    MEMBER(X, region, unit, "directly in regions", AR_CLASS_REGION)                                \
    MEMBER(X, import, unit, "importing modules", AR_CLASS_IMPORT)                                  \
    MEMBER(X, io, unit, "reading or writing files, MPI-IO included", AR_CLASS_IO)                  \
    MEMBER(X, sleep, unit, "in C functions that wait for time, threads, processes or sockets",     \
           AR_CLASS_SLEEP)                                                                         \
    MEMBER(X, mpi4py, unit, "in methods of mpi4py outside MPI: pickling", AR_CLASS_MPI4PY)         \
    MEMBER(X, mpi_other, unit, "in MPI functions that are not told apart below", AR_CLASS_MPI)     \
    MEMBER(X, mpi_p2p, unit, "in MPI functions that send or receive, or post that", AR_CLASS_P2P)  \
    MEMBER(X, mpi_collective, unit, "in collective MPI functions", AR_CLASS_COLLECTIVE)            \
    MEMBER(X, mpi_wait, unit, "in MPI functions that wait or test for requests and messages",      \
           AR_CLASS_WAIT)                                                                          \
    MEMBER(X, unwanted, unit, "in other functions than those of --match", AR_WINDOW_UNWANTED)

/* ---- rows ------------------------------------------------------------------------------------- */

static const struct ar_location *location_at(const struct ar_timeline *t, size_t thread)
{
    return &t->traces->profile->locations[t->traces->items[t->threads[thread]].location];
}

static const struct ar_process *process_at(const struct ar_timeline *t, size_t thread)
{
    return &t->traces->profile->processes[location_at(t, thread)->process];
}

static int64_t rank_at(const struct ar_timeline *t, size_t thread)
{
    uint32_t rank = t->traces->profile->processes[process_at(t, thread)->root].world_rank;

    return rank == AR_RANK_NONE ? -1 : (int64_t)rank;
}

#define ROW_COLUMNS(X)                                                                             \
    INTEGER(X, row, "", "of the picture, from the top", row)                                       \
    OPTIONAL(X, rank, "", "of the thread, or of the first of several; none: not known",            \
             rank_at(t, r->first))                                                                 \
    OPTIONAL(X, last_rank, "", "of the last thread", rank_at(t, r->first + r->n - 1))              \
    INTEGER(X, threads, "", "of which the row is the mean", r->n)                                  \
    INTEGER(X, process, "", "pid of the first thread's process", process_at(t, r->first)->pid)     \
    INTEGER(X, thread, "", "number of the first thread in its process; 0: the main thread",        \
            location_at(t, r->first)->thread)                                                      \
    CLASS_COLUMNS(X, ROW_CLASS, "ns")

#define ROW_CLASS(X, id, unit, help, class)                                                        \
    X(class_##id, real, AR_CELL_REAL, false, "class", #id, unit, help, r->class_ns[class])

static const struct ar_shown_column row_columns[] = {ROW_COLUMNS(DESCRIBE)};

static union ar_cell row_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { ROW_COLUMNS(NUMBER) };
    const struct ar_timeline *t = timeline_of(of);
    const struct ar_timeline_row *r = &t->rows[row];
    union ar_cell cell = {0};

    switch (column) {
        ROW_COLUMNS(READ)
    }
    return cell;
}

static size_t n_rows(const struct ar_subject *of)
{
    return timeline_of(of)->n_rows;
}

const struct ar_shown_table ar_shown_table_timeline_rows = {
    .name = "timeline_rows",
    .key = "row",
    .help = "threads, or several in one row; their time in the window by class",
    .about = AR_ABOUT_TIMELINE,
    .columns = row_columns,
    .n_columns = N_COLUMNS(row_columns),
    .n_rows = n_rows,
    .cell = row_cell,
};

/* ---- cells ------------------------------------------------------------------------------------ */

static const struct ar_function *function_in(const struct ar_timeline *t,
                                             const struct ar_window_cell *c)
{
    return c->node == AR_NO_ID ? NULL : function_at(t->traces->profile, c->node);
}

static int64_t start_of(const struct ar_timeline *t, size_t column)
{
    return t->from_ns +
           (int64_t)((double)(t->to_ns - t->from_ns) * ((double)column / (double)t->n_columns));
}

#define CELL_CLASS(X, id, unit, help, class)                                                       \
    X(share_##id, real, AR_CELL_REAL, false, "share", #id, unit, help, (double)c->shares[class])

#define CELL_COLUMNS(X)                                                                            \
    INTEGER(X, row, "", "of timeline_rows", row / t->n_columns)                                    \
    INTEGER(X, column, "", "of the picture, from the left", at)                                    \
    INTEGER(X, from, "ns", "where the column begins, since the run began", start_of(t, at))        \
    CLASS_COLUMNS(X, CELL_CLASS, "share")                                                          \
    OPTIONAL_TEXT(X, function, "with the largest share; C functions as cProfile names them",       \
                  f ? text_of(p, f->name) : plain_text(""))                                        \
    OPTIONAL_TEXT(X, file, "where it is defined", f ? text_of(p, f->file) : plain_text(""))        \
    INTEGER(X, line, "", "where it is defined; 0: not known", f ? f->first_line : 0)               \
    REAL(X, function_share, "share",                                                               \
         "of the column, that it has at least; on the call path with most", (double)c->node_share)

static const struct ar_shown_column cell_columns[] = {CELL_COLUMNS(DESCRIBE)};

static union ar_cell cell_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { CELL_COLUMNS(NUMBER) };
    const struct ar_timeline *t = timeline_of(of);
    const struct ar_profile *p = t->traces->profile;
    size_t at = row % t->n_columns;
    const struct ar_window_cell *c = &t->cells[row];
    const struct ar_function *f = function_in(t, c);
    union ar_cell cell = {0};

    switch (column) {
        CELL_COLUMNS(READ)
    }
    return cell;
}

static size_t n_cells(const struct ar_subject *of)
{
    return timeline_of(of)->n_rows * timeline_of(of)->n_columns;
}

const struct ar_shown_table ar_shown_table_timeline_cells = {
    .name = "timeline_cells",
    .key = "row, column",
    .help = "cells of the picture, row by row: the share of each class",
    .about = AR_ABOUT_TIMELINE,
    .columns = cell_columns,
    .n_columns = N_COLUMNS(cell_columns),
    .n_rows = n_cells,
    .cell = cell_cell,
};
