// SPDX-License-Identifier: BSD-3-Clause
/* Tables of one snapshot of a running job: top, top_processes, top_functions. */
#include "run/cells.h"
#include "run/subjects.h"

/* ---- all together ----------------------------------------------------------------------------- */

#define TOP_COLUMNS(X)                                                                             \
    INTEGER(X, span, "ns", "time of all processes since they started",                             \
            ar_watch_span_ns(w, AR_NO_ID, true))                                                   \
    OPTIONAL(X, lately_span, "ns", "of it, between two snapshots; none: there was one only",       \
             of->job->has_interval ? (int64_t)ar_watch_span_ns(w, AR_NO_ID, false) : -1)           \
    INTEGER(X, unreadable_files, "", "live files that could not be read", w->n_unreadable)

static const struct ar_shown_column top_columns[] = {TOP_COLUMNS(DESCRIBE)};

static union ar_cell top_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { TOP_COLUMNS(NUMBER) };
    const struct ar_watch *w = of->job->watch;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        TOP_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_top = {
    .name = "top",
    .key = "",
    .help = "one snapshot of a running job",
    .about = AR_ABOUT_JOB,
    .columns = top_columns,
    .n_columns = N_COLUMNS(top_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = top_cell,
};

/* ---- processes -------------------------------------------------------------------------------- */

/* String 0 is empty. */
static const struct ar_function *function_in(const struct ar_profile *p,
                                             const struct ar_watched *at)
{
    static const struct ar_function none = {0};
    uint32_t function = at->leaf == AR_NO_ID ? at->function : at->leaf;

    return function == AR_NO_ID ? &none : &p->functions[function];
}

#define PROCESS_COLUMNS(X)                                                                         \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD",                                                     \
             at->process.world_rank == AR_RANK_NONE ? -1 : (int64_t)at->process.world_rank)        \
    OPTIONAL_TEXT(X, host, "where it runs", text_of(p, at->process.host))                          \
    INTEGER(X, pid, "", "process id", at->process.pid)                                             \
    TEXT(X, state, "as in processes", plain_text(ar_process_state_name(at->process.state)))        \
    INTEGER(X, threads, "", "that have not ended", at->n_threads)                                  \
    INTEGER(X, still, "ns", "that none of them has begun or ended a call", at->still_ns)           \
    INTEGER(X, wall, "ns", "how long it was recorded", at->now.wall_ns)                            \
    INTEGER(X, mpi, "ns", "in MPI calls", at->now.mpi_ns)                                          \
    OPTIONAL_TEXT(X, function,                                                                     \
                  "the innermost one that its main thread is in: of MPI, C or Python",             \
                  text_of(p, function->name))                                                      \
    OPTIONAL_TEXT(X, file, "where that is defined", text_of(p, function->file))                    \
    INTEGER(X, line, "", "where that is defined; 0: not known", function->first_line)              \
    OPTIONAL_TEXT(X, kind, "of that, as in functions",                                             \
                  plain_text(function->name ? ar_function_kind_name(function->kind) : ""))

static const struct ar_shown_column process_columns[] = {PROCESS_COLUMNS(DESCRIBE)};

static union ar_cell process_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { PROCESS_COLUMNS(NUMBER) };
    const struct ar_profile *p = &of->job->watch->names;
    const struct ar_watched *at = &of->job->watch->processes[row];
    const struct ar_function *function = function_in(p, at);
    union ar_cell cell = {0};

    switch (column) {
        PROCESS_COLUMNS(READ)
    }
    return cell;
}

static size_t n_processes(const struct ar_subject *of)
{
    return of->job->watch->n_processes;
}

const struct ar_shown_table ar_shown_table_top_processes = {
    .name = "top_processes",
    .key = "id",
    .help = "processes of a running job, sorted by rank, then by pid",
    .about = AR_ABOUT_JOB,
    .columns = process_columns,
    .n_columns = N_COLUMNS(process_columns),
    .n_rows = n_processes,
    .cell = process_cell,
};

/* ---- functions -------------------------------------------------------------------------------- */

#define LATELY(X, group, ns, doubt, help)                                                          \
    X(group##_sum, integer, AR_CELL_INTEGER, true, #group, "sum", "ns",                            \
      help ", since the previous snapshot; none: there was none",                                  \
      of->job->has_interval ? (int64_t)(ns) : -1)                                                  \
    DOUBTED(X, group, "ns", doubt)

#define FUNCTION_COLUMNS(X)                                                                        \
    TEXT(X, name, "the function; of C functions as cProfile has it", text_of(p, function->name))   \
    OPTIONAL_TEXT(X, file, "where it is defined; MPI functions have none",                         \
                  text_of(p, function->file))                                                      \
    INTEGER(X, line, "", "where it is defined; 0: not known", function->first_line)                \
    INTEGER(X, calls, "", "of all processes, since they started", at->ever.n_calls)                \
    MEMBER_INTEGER(X, time, sum, "ns", "with what it calls", at->ever.time_ns)                     \
    DOUBTED(X, time, "ns", at->ever.time_doubt)                                                    \
    MEMBER_INTEGER(X, self, sum, "ns", "without what it calls", at->ever.self_ns)                  \
    DOUBTED(X, self, "ns", at->ever.self_doubt)                                                    \
    OPTIONAL(X, lately_calls, "", "since the previous snapshot; none: there was none",             \
             of->job->has_interval ? (int64_t)at->lately.n_calls : -1)                             \
    LATELY(X, lately_time, at->lately.time_ns, at->lately.time_doubt, "with what it calls")        \
    LATELY(X, lately_self, at->lately.self_ns, at->lately.self_doubt, "without what it calls")     \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function->kind)))            \
    INTEGER(X, id, "", "its number in this snapshot", at->function)

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};

static union ar_cell function_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_COLUMNS(NUMBER) };
    const struct ar_profile *p = &of->job->watch->names;
    const struct ar_top_row *at = &of->job->rows[row];
    const struct ar_function *function = &p->functions[at->function];
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_COLUMNS(READ)
    }
    return cell;
}

static size_t n_functions(const struct ar_subject *of)
{
    return of->job->n_rows;
}

const struct ar_shown_table ar_shown_table_top_functions = {
    .name = "top_functions",
    .key = "id",
    .help = "functions of a running job, over all processes and threads; the longest self time "
            "since the previous snapshot first",
    .about = AR_ABOUT_JOB,
    .columns = function_columns,
    .n_columns = N_COLUMNS(function_columns),
    .n_rows = n_functions,
    .cell = function_cell,
};
