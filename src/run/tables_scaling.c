// SPDX-License-Identifier: BSD-3-Clause
/* Tables of runs on more and more ranks: scaling, scaling_runs, scaling_functions, scaling_function_runs. */
#include "run/cells.h"
#include "run/subjects.h"

/* ---- all together ----------------------------------------------------------------------------- */

#define SCALING_COLUMNS(X)                                                                         \
    TEXT(X, scaling, "strong: all runs solve the same problem; weak: it grows with the ranks",     \
         plain_text(s->is_weak ? "weak" : "strong"))                                               \
    INTEGER(X, runs, "", "that are shown, one per number of ranks", s->n_points)                   \
    INTEGER(X, left_out, "", "runs that were not the fastest on their number of ranks",            \
            s->n_left_out)

static const struct ar_shown_column scaling_columns[] = {SCALING_COLUMNS(DESCRIBE)};

static union ar_cell scaling_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { SCALING_COLUMNS(NUMBER) };
    const struct ar_scaling *s = of->scaling->s;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        SCALING_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_scaling = {
    .name = "scaling",
    .key = "",
    .help = "how runs on different numbers of ranks are compared",
    .about = AR_ABOUT_SCALING,
    .columns = scaling_columns,
    .n_columns = N_COLUMNS(scaling_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = scaling_cell,
};

/* ---- runs ------------------------------------------------------------------------------------- */

#define RUN_COLUMNS(X)                                                                             \
    TEXT(X, path, "of the file, as it was given", plain_text(point->run->path))                    \
    INTEGER(X, ranks, "", "of the run", point->n_ranks)                                            \
    REAL(X, speed_up, "",                                                                          \
         "wall time of the smallest run by that of this run; weak: times the ratio of ranks",      \
         point->speed_up)                                                                          \
    REAL(X, global_efficiency, "share", "parallel efficiency times computation scaling",           \
         point->global)                                                                            \
    REAL(X, computation_scaling, "share",                                                          \
         "computing of all ranks in the smallest run by that of all ranks here; weak: of means",   \
         point->computation)                                                                       \
    EFFICIENCY_COLUMNS(X)

static const struct ar_shown_column run_columns[] = {RUN_COLUMNS(DESCRIBE)};

static union ar_cell run_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RUN_COLUMNS(NUMBER) };
    const struct ar_scaling_point *point = &of->scaling->s->points[row];
    const struct ar_efficiency *e = &point->run->e.run;
    const struct ar_profile *p = &point->run->p;
    union ar_cell cell = {0};

    switch (column) {
        RUN_COLUMNS(READ)
    }
    return cell;
}

static size_t n_runs(const struct ar_subject *of)
{
    return of->scaling->s->n_points;
}

const struct ar_shown_table ar_shown_table_scaling_runs = {
    .name = "scaling_runs",
    .key = "ranks",
    .help = "runs, the one on the fewest ranks first; of several on as many ranks the fastest",
    .about = AR_ABOUT_SCALING,
    .columns = run_columns,
    .n_columns = N_COLUMNS(run_columns),
    .n_rows = n_runs,
    .cell = run_cell,
};

/* ---- functions -------------------------------------------------------------------------------- */

#define VERDICT_COLUMNS(X)                                                                         \
    TEXT(X, verdict,                                                                               \
         "scales (power from 0.7 on), scales_poorly, stops_scaling, imbalance_grows (the mean "    \
         "scales), one_rank (constant, and only one rank has any), constant, grows",               \
         plain_text(ar_verdict_name(f->verdict)))                                                  \
    OPTIONAL(X, stops_at, "", "ranks from which on it does not scale; none: it has no such limit", \
             f->verdict == AR_STOPS_SCALING ? (int64_t)f->stops_at : -1)                           \
    REAL(X, power, "",                                                                             \
         "of the number of ranks, with which its time falls: 1 is perfect, 0 constant; weak: "     \
         "plus one",                                                                               \
         f->power)                                                                                 \
    REAL(X, lost, "ns",                                                                            \
         "self time in the largest run beyond what it should be, on the rank that has most",       \
         f->lost_ns)

#define FUNCTION_COLUMNS(X)                                                                        \
    TEXT(X, name, "the function; of C functions as cProfile has it", text_of(p, function->name))   \
    OPTIONAL_TEXT(X, file, "where it is defined; MPI functions have none",                         \
                  text_of(p, function->file))                                                      \
    INTEGER(X, line, "", "where it is defined; 0: not known", function->first_line)                \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function->kind)))            \
    VERDICT_COLUMNS(X)                                                                             \
    INTEGER(X, id, "", "number of the function in this comparison", f->row)

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};

static union ar_cell function_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_COLUMNS(NUMBER) };
    const struct ar_scaling *s = of->scaling->s;
    const struct ar_scaling_function *f = &s->functions[row];
    const struct ar_profile *p = &s->points[f->run].run->p;
    const struct ar_function *function = &p->functions[f->id];
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_COLUMNS(READ)
    }
    return cell;
}

static size_t n_functions(const struct ar_subject *of)
{
    return of->scaling->s->n_functions;
}

const struct ar_shown_table ar_shown_table_scaling_functions = {
    .name = "scaling_functions",
    .key = "id",
    .help = "functions that have 0.1 % of a run or more, and whether they scale; those that lose "
            "most first",
    .about = AR_ABOUT_SCALING,
    .columns = function_columns,
    .n_columns = N_COLUMNS(function_columns),
    .n_rows = n_functions,
    .cell = function_cell,
};

/* ---- a function in each run ------------------------------------------------------------------- */

#define FUNCTION_RUN_COLUMNS(X)                                                                    \
    INTEGER(X, function_id, "", "id of the function", f->row)                                      \
    TEXT(X, function, "its name", text_of(named, function->name))                                  \
    OPTIONAL_TEXT(X, file, "where it is defined", text_of(named, function->file))                  \
    INTEGER(X, line, "", "where it is defined; 0: not known", function->first_line)                \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function->kind)))            \
    VERDICT_COLUMNS(X)                                                                             \
    INTEGER(X, ranks, "", "of the run", s->points[at].n_ranks)                                     \
    INTEGER(X, calls, "", "of all ranks", sums.n_calls)                                            \
    SPREAD(X, time, "with what it calls; recursion counts once", sums.time)                        \
    SPREAD(X, self, "without what it calls", sums.self)                                            \
    RANGE(X, rank_calls, "", "calls", sums.calls)

static const struct ar_shown_column function_run_columns[] = {FUNCTION_RUN_COLUMNS(DESCRIBE)};

static union ar_cell function_run_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_RUN_COLUMNS(NUMBER) };
    const struct ar_scaling *s = of->scaling->s;
    size_t at = row % s->n_points;
    const struct ar_scaling_function *f = &s->functions[row / s->n_points];
    const struct ar_profile *p = &s->points[at].run->p, *named = &s->points[f->run].run->p;
    const struct ar_function *function = &named->functions[f->id];
    struct ar_function_sums sums = ar_scaling_sums(s, f->row, at);
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_RUN_COLUMNS(READ)
    }
    return cell;
}

static size_t n_function_runs(const struct ar_subject *of)
{
    return of->scaling->s->n_functions * of->scaling->s->n_points;
}

const struct ar_shown_table ar_shown_table_scaling_function_runs = {
    .name = "scaling_function_runs",
    .key = "function_id, ranks",
    .help = "each of these functions in each run; a run that does not have it has zeros",
    .about = AR_ABOUT_SCALING,
    .columns = function_run_columns,
    .n_columns = N_COLUMNS(function_run_columns),
    .n_rows = n_function_runs,
    .cell = function_run_cell,
};
