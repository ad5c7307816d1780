// SPDX-License-Identifier: BSD-3-Clause
/* Tables of ranks, processes and threads, and of what each rank has of a function. */
#include "analysis/imbalance.h"
#include "run/cells.h"

#include <stdlib.h>

/* ---- ranks, processes, threads ---------------------------------------------------------------- */

#define LOST(X, id, loss)                                                                          \
    MEMBER_INTEGER(X, lost, id, "", "that could not be recorded, in all and by kind",              \
                   ar_profile_lost(p, (uint32_t)(process - p->processes), loss))

#define LOST_COLUMNS(X)                                                                            \
    MEMBER_INTEGER(X, lost, sum, "", "that could not be recorded, in all and by kind",             \
                   ar_profile_lost_in_all(p, (uint32_t)(process - p->processes)))                  \
    EACH_LOSS(X)

#define OVERHEAD(X, id, reason)                                                                    \
    MEMBER_INTEGER(X, overheads, id, "ns", "of recording, for this reason",                        \
                   process->overheads_ns[reason])

#define OVERHEAD_COLUMNS(X)                                                                        \
    INTEGER(X, overhead, "ns", "that recording added; 0: no price was measured",                   \
            process->overhead_ns)                                                                  \
    EACH_OVERHEAD(X)

#define RANK_COLUMNS(X)                                                                            \
    INTEGER(X, id, "", "row of this table and of processes", row)                                  \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, id))                                     \
    INTEGER(X, world_size, "", "of MPI_COMM_WORLD; 0: not known", process->world_size)             \
    OPTIONAL_TEXT(X, host, "where it ran", text_of(p, process->host))                              \
    INTEGER(X, pid, "", "process id", process->pid)                                                \
    INTEGER(X, start_real, "ns", "when the recording began, since 1970", process->start_real_ns)   \
    INTEGER(X, wall, "ns", "how long it was recorded", process->wall_ns)                           \
    INTEGER(X, mpi, "ns", "in MPI calls, with its child processes",                                \
            run->shown->thread_times.root_mpi_ns[row])                                             \
    BOOLEAN(X, finished, "false: it was killed, or is still running",                              \
            process->state == AR_PROCESS_FINISHED)                                                 \
    LOST_COLUMNS(X)                                                                                \
    OVERHEAD_COLUMNS(X)

#define CLOCK(X, group, at, when)                                                                  \
    X(group##_compared, boolean, AR_CELL_BOOL, false, #group, "compared", "",                      \
      "whether its clock was compared with that of rank 0 when " when,                             \
      process->clock_links[at].at_ns != 0)                                                         \
    MEMBER_INTEGER(X, group, offset, "ns", "to be added to its clock",                             \
                   process->clock_links[at].offset_ns)                                             \
    MEMBER_INTEGER(X, group, error, "ns", "how far off that may be",                               \
                   process->clock_links[at].error_ns)

#define PROCESS_COLUMNS(X)                                                                         \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    INTEGER(X, rank_id, "", "row of ranks that it counts for", process->root)                      \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, id))                                     \
    OPTIONAL_TEXT(X, host, "where it ran", text_of(p, process->host))                              \
    INTEGER(X, pid, "", "process id", process->pid)                                                \
    OPTIONAL(X, parent_pid, "", "none: it was started by the user",                                \
             process->parent_pid ? (int64_t)process->parent_pid : -1)                              \
    OPTIONAL_TEXT(X, command, "what it was started as; a forked one as its parent",                \
                  text_of(p, process->command))                                                    \
    TEXT(X, state,                                                                                 \
         "finished, running, silent (ended without closing its file), replaced (by exec)",         \
         plain_text(ar_process_state_name(process->state)))                                        \
    BOOLEAN(X, finished, "false: it was killed, or is still running",                              \
            process->state == AR_PROCESS_FINISHED)                                                 \
    INTEGER(X, start_real, "ns", "when the recording began, since 1970", process->start_real_ns)   \
    INTEGER(X, wall, "ns", "how long it was recorded", process->wall_ns)                           \
    LOST_COLUMNS(X)                                                                                \
    OVERHEAD_COLUMNS(X)                                                                            \
    CLOCK(X, clock, AR_CLOCK_AT_INIT, "MPI began")                                                 \
    CLOCK(X, clock_end, AR_CLOCK_AT_FINALIZE, "MPI ended")

#define THREAD_COLUMNS(X)                                                                          \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    INTEGER(X, process, "", "row of processes", location->process)                                 \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, location->process))                      \
    INTEGER(X, thread, "", "number within the process; 0: the main thread", location->thread)      \
    OPTIONAL_TEXT(X, name, "name of the thread", text_of(p, location->name))                       \
    INTEGER(X, time, "ns", "how long it was recorded", run->shown->thread_times.recorded_ns[row])  \
    INTEGER(X, mpi, "ns", "in MPI calls", run->shown->thread_times.mpi_ns[row])

static const struct ar_shown_column rank_columns[] = {RANK_COLUMNS(DESCRIBE)};
static const struct ar_shown_column process_columns[] = {PROCESS_COLUMNS(DESCRIBE)};
static const struct ar_shown_column thread_columns[] = {THREAD_COLUMNS(DESCRIBE)};

static union ar_cell rank_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RANK_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->shown->p;
    const struct ar_process *process = &p->processes[row];
    uint32_t id = (uint32_t)row;
    union ar_cell cell = {0};

    switch (column) {
        RANK_COLUMNS(READ)
    }
    return cell;
}

static union ar_cell process_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { PROCESS_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->shown->p;
    const struct ar_process *process = &p->processes[row];
    uint32_t id = (uint32_t)row;
    union ar_cell cell = {0};

    switch (column) {
        PROCESS_COLUMNS(READ)
    }
    return cell;
}

static union ar_cell thread_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { THREAD_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->shown->p;
    const struct ar_location *location = &p->locations[row];
    union ar_cell cell = {0};

    switch (column) {
        THREAD_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_times(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return ar_run_thread_times(run, run->choice.form) ? AR_OK : AR_NOMEM;
}

/* Ranks are the first processes only when families are put together. */
static enum ar_status prepare_processes(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return ar_profile_sort(run->shown->p);
}

static size_t n_ranks(const struct ar_subject *of)
{
    return of->run->shown->p->n_roots;
}

static size_t n_processes(const struct ar_subject *of)
{
    return of->run->shown->p->n_processes;
}

static size_t n_threads(const struct ar_subject *of)
{
    return of->run->shown->p->n_locations;
}

const struct ar_shown_table ar_shown_table_ranks = {
    .name = "ranks",
    .key = "id",
    .help = "ranks, or the program where there are none; child processes count for their rank",
    .columns = rank_columns,
    .n_columns = N_COLUMNS(rank_columns),
    .prepare = prepare_times,
    .n_rows = n_ranks,
    .cell = rank_cell,
};

const struct ar_shown_table ar_shown_table_processes = {
    .name = "processes",
    .key = "id",
    .help = "processes, child processes included",
    .columns = process_columns,
    .n_columns = N_COLUMNS(process_columns),
    .prepare = prepare_processes,
    .n_rows = n_processes,
    .cell = process_cell,
};

const struct ar_shown_table ar_shown_table_threads = {
    .name = "threads",
    .key = "id",
    .help = "threads",
    .columns = thread_columns,
    .n_columns = N_COLUMNS(thread_columns),
    .prepare = prepare_times,
    .n_rows = n_threads,
    .cell = thread_cell,
};

/* ---- a function on each rank ------------------------------------------------------------------ */

#define SHARE_COLUMNS(X)                                                                           \
    INTEGER(X, function_id, "", "number of the function", function)                                \
    TEXT(X, function, "its name", text_of(p, p->functions[function].name))                         \
    OPTIONAL_TEXT(X, file, "where it is defined", text_of(p, p->functions[function].file))         \
    INTEGER(X, line, "", "where it is defined; 0: not known", p->functions[function].first_line)   \
    TEXT(X, kind, "as in functions",                                                               \
         plain_text(ar_function_kind_name(p->functions[function].kind)))                           \
    INTEGER(X, rank_id, "", "row of ranks", root)                                                  \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, root))                                   \
    OPTIONAL_TEXT(X, host, "where it ran", text_of(p, p->processes[root].host))                    \
    INTEGER(X, calls, "", "on that rank", share->n_calls)                                          \
    MEMBER_INTEGER(X, time, sum, "ns", "with what it calls", share->time_ns)                       \
    DOUBTED(X, time, "ns", share->time_doubt)                                                      \
    MEMBER_INTEGER(X, self, sum, "ns", "without what it calls", share->self_ns)                    \
    DOUBTED(X, self, "ns", share->self_doubt)

static const struct ar_shown_column share_columns[] = {SHARE_COLUMNS(DESCRIBE)};

static union ar_cell share_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { SHARE_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    uint32_t function = f->function_rows[row / p->n_roots], root = (uint32_t)(row % p->n_roots);
    const struct ar_share *share = &ar_form_shares(f, function)[root];
    union ar_cell cell = {0};

    switch (column) {
        SHARE_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_shares(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    if (!ar_run_shares_of(run, run->choice.form, 0))
        return AR_NOMEM;
    return ar_order_functions(run, run->choice.form);
}

static size_t n_shares(const struct ar_subject *of)
{
    return of->run->shown->n_function_rows * of->run->shown->p->n_roots;
}

const struct ar_shown_table ar_shown_table_function_ranks = {
    .name = "function_ranks",
    .key = "function_id, rank_id",
    .help = "what each rank has of each function, in the order of functions",
    .columns = share_columns,
    .n_columns = N_COLUMNS(share_columns),
    .prepare = prepare_shares,
    .n_rows = n_shares,
    .cell = share_cell,
};

/* ---- efficiencies of functions ---------------------------------------------------------------- */

#define FUNCTION_EFFICIENCY_COLUMNS(X)                                                             \
    INTEGER(X, function_id, "", "number of the function", row)                                     \
    TEXT(X, function, "its name", text_of(p, p->functions[row].name))                              \
    EFFICIENCY_COLUMNS(X)

static const struct ar_shown_column efficiency_columns[] = {FUNCTION_EFFICIENCY_COLUMNS(DESCRIBE)};

static union ar_cell efficiency_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_EFFICIENCY_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_efficiency *e = &run->efficiencies.functions[row];
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_EFFICIENCY_COLUMNS(READ)
    }
    return cell;
}

/* Those that main threads have any of; in the order of the table of functions. */
static enum ar_status prepare_efficiencies(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_efficiencies *e = ar_run_efficiencies(run);
    const struct ar_form *f;

    if (!e || ar_order_functions(run, AR_FORM_FOLDED) < 0)
        return AR_NOMEM;
    if (run->efficiency_rows)
        return AR_OK;
    f = run->folded_form;
    run->efficiency_rows = malloc((f->p->n_functions + 1) * sizeof *run->efficiency_rows);
    for (size_t i = 0; run->efficiency_rows && i < f->n_function_rows; i++) {
        uint32_t function = f->function_rows[i];

        if (e->functions[function].wall_ns > 0)
            run->efficiency_rows[run->n_efficiency_rows++] = function;
    }
    return run->efficiency_rows ? AR_OK : AR_NOMEM;
}

static size_t n_functions(const struct ar_subject *of)
{
    return of->run->folded_form->p->n_functions;
}

static const uint32_t *order_efficiencies(const struct ar_subject *of, size_t *n)
{
    const struct ar_run *run = of->run;

    *n = run->n_efficiency_rows;
    return run->efficiency_rows;
}

const struct ar_shown_table ar_shown_table_function_efficiency = {
    .name = "function_efficiency",
    .key = "function_id",
    .help = "efficiencies of functions and regions, with all that they call, on main threads",
    .columns = efficiency_columns,
    .n_columns = N_COLUMNS(efficiency_columns),
    .prepare = prepare_efficiencies,
    .n_rows = n_functions,
    .cell = efficiency_cell,
    .order = order_efficiencies,
};

/* ---- ranks that differ ------------------------------------------------------------------------ */

#define IMBALANCE_COLUMNS(X)                                                                       \
    INTEGER(X, function_id, "", "number of the function", c->function)                             \
    TEXT(X, function, "its name", text_of(p, p->functions[c->function].name))                      \
    TEXT(X, compared_by,                                                                           \
         "time by which ranks are compared: self_with_c (self time with what it "                  \
         "calls in C), self, or time (with all that it calls)",                                    \
         plain_text(ar_compared_name(c->by)))                                                      \
    SPREAD(X, compared, "that time", c->time)                                                      \
    REAL(X, max_over_mean, "", "of that time", c->im.max_over_mean)

static const struct ar_shown_column imbalance_columns[] = {IMBALANCE_COLUMNS(DESCRIBE)};

static union ar_cell imbalance_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { IMBALANCE_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_comparison *c = &run->comparisons[row];
    union ar_cell cell = {0};

    switch (column) {
        IMBALANCE_COLUMNS(READ)
    }
    return cell;
}

/* One function after the other costs as much as the table of functions does. */
static enum ar_status prepare_comparisons(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    enum ar_status status = ar_order_functions(run, AR_FORM_FOLDED);
    size_t n;

    if (status < 0 || run->has_comparisons)
        return status;
    n = run->folded_form->n_function_rows;
    if (!run->comparisons)
        run->comparisons = calloc(n + 1, sizeof *run->comparisons);
    if (!run->comparisons)
        return AR_NOMEM;
    while (run->n_comparisons < n && status == AR_OK) {
        status = ar_compare_ranks(&run->comparisons[run->n_comparisons], run,
                                  run->folded_form->function_rows[run->n_comparisons]);
        run->n_comparisons += status == AR_OK;
    }
    run->has_comparisons = status == AR_OK;
    return status;
}

static size_t n_comparisons(const struct ar_subject *of)
{
    return of->run->n_comparisons;
}

const struct ar_shown_table ar_shown_table_imbalance = {
    .name = "imbalance",
    .key = "function_id",
    .help = "how ranks differ in a function",
    .columns = imbalance_columns,
    .n_columns = N_COLUMNS(imbalance_columns),
    .prepare = prepare_comparisons,
    .n_rows = n_comparisons,
    .cell = imbalance_cell,
};

#define CLASS_COLUMNS(X)                                                                           \
    INTEGER(X, function_id, "", "number of the function", c->function)                             \
    TEXT(X, function, "its name", text_of(p, p->functions[c->function].name))                      \
    INTEGER(X, rank_class, "", "1: those that have most", class + 1)                               \
    MEMBER_REAL(X, compared, mean, "ns",                                                           \
                "of the ranks of the class; compared_by of imbalance says "                        \
                "which time",                                                                      \
                c->im.classes[class].mean)                                                         \
    MEMBER_INTEGER(X, compared, min, "ns", "of the rank that has least",                           \
                   c->im.classes[class].least)                                                     \
    MEMBER_INTEGER(X, compared, max, "ns", "of the rank that has most", c->im.classes[class].most) \
    RANKS(X, ranks, "of the class",                                                                \
          ((struct ar_rank_list){c->ranks + c->first_rank[class],                                  \
                                 c->first_rank[class + 1] - c->first_rank[class]}))

static const struct ar_shown_column class_columns[] = {CLASS_COLUMNS(DESCRIBE)};

static union ar_cell class_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { CLASS_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_comparison *c = &run->comparisons[row / AR_MOST_CLASSES];
    size_t class = row % AR_MOST_CLASSES;
    union ar_cell cell = {0};

    switch (column) {
        CLASS_COLUMNS(READ)
    }
    return cell;
}

/* Row 4 i + k is class k of comparison i. */
static enum ar_status prepare_classes(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    if (prepare_comparisons(of) < 0)
        return AR_NOMEM;
    if (run->class_rows)
        return AR_OK;
    run->class_rows = malloc((AR_MOST_CLASSES * run->n_comparisons + 1) * sizeof *run->class_rows);
    for (size_t i = 0; run->class_rows && i < run->n_comparisons; i++)
        for (size_t k = 0; k < run->comparisons[i].im.n_classes; k++)
            run->class_rows[run->n_class_rows++] = (uint32_t)(AR_MOST_CLASSES * i + k);
    return run->class_rows ? AR_OK : AR_NOMEM;
}

static size_t n_classes(const struct ar_subject *of)
{
    const struct ar_run *run = of->run;

    return AR_MOST_CLASSES * run->n_comparisons;
}

static const uint32_t *order_classes(const struct ar_subject *of, size_t *n)
{
    const struct ar_run *run = of->run;

    *n = run->n_class_rows;
    return run->class_rows;
}

const struct ar_shown_table ar_shown_table_rank_classes = {
    .name = "rank_classes",
    .key = "function_id, rank_class",
    .help = "ranks that are alike in a function",
    .columns = class_columns,
    .n_columns = N_COLUMNS(class_columns),
    .prepare = prepare_classes,
    .n_rows = n_classes,
    .cell = class_cell,
    .order = order_classes,
};
