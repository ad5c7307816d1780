// SPDX-License-Identifier: BSD-3-Clause
/* Tables of two views of the report: asyncio tasks, and the tree from its other end. */
#include "run/bottom_up_rows.h"
#include "run/cells.h"
#include "run/task_rows.h"

/* ---- tasks ------------------------------------------------------------------------------------ */

#define TASK_COLUMNS(X)                                                                            \
    TEXT(X, name, "of the tasks", text_of(p, function->name))                                      \
    OPTIONAL_TEXT(X, file, "where their coroutine is defined", text_of(p, function->file))         \
    INTEGER(X, line, "", "where their coroutine is defined; 0: not known", function->first_line)   \
    INTEGER(X, steps, "", "of all ranks: a task runs from one await to the next",                  \
            task->sums->n_calls)                                                                   \
    SPREAD(X, time, "that they ran, with what they call", task->sums->time)                        \
    INTEGER(X, awaited, "ns", "from the end of a step to the next, of all ranks",                  \
            task->awaited_ns)                                                                      \
    INTEGER(X, function_id, "", "number of the function, of kind task", task->function)

static const struct ar_shown_column task_columns[] = {TASK_COLUMNS(DESCRIBE)};

static union ar_cell task_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { TASK_COLUMNS(NUMBER) };
    const struct ar_profile *p = of->run->shown->p;
    const struct ar_task_row *task = &of->run->shown->tasks[row];
    const struct ar_function *function = &p->functions[task->function];
    union ar_cell cell = {0};

    switch (column) {
        TASK_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_tasks(const struct ar_subject *of)
{
    size_t n;

    return ar_run_tasks(of->run, of->run->choice.form, &n) ? AR_OK : AR_NOMEM;
}

static size_t n_tasks(const struct ar_subject *of)
{
    return of->run->shown->n_tasks;
}

const struct ar_shown_table ar_shown_table_tasks = {
    .name = "tasks",
    .key = "function_id",
    .help = "asyncio tasks by name, in whatever call paths they run; the longest time first",
    .columns = task_columns,
    .n_columns = N_COLUMNS(task_columns),
    .prepare = prepare_tasks,
    .n_rows = n_tasks,
    .cell = task_cell,
};

/* ---- bottom up -------------------------------------------------------------------------------- */

#define BOTTOM_UP_COLUMNS(X)                                                                       \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    OPTIONAL(X, parent, "", "row that this one called; none: a function by itself",                \
             id_or_none(at->parent))                                                               \
    INTEGER(X, depth, "", "0: a function by itself; 1: its callers", at->depth)                    \
    TEXT(X, function, "at depth 0 the one whose self time it is, below that a caller",             \
         text_of(p, function->name))                                                               \
    INTEGER(X, calls, "", "of the function at depth 0, through this caller, of all ranks",         \
            at->n_calls)                                                                           \
    REAL(X, share, "share", "of the wall time, or of all self times where these are more",         \
         at->share)                                                                                \
    SPREAD(X, self, "of the function at depth 0, through this caller", at->self)                   \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function->kind)))            \
    INTEGER(X, function_id, "", "number of the function", at->function)                            \
    OPTIONAL_TEXT(X, function_file, "where the function is defined", text_of(p, function->file))   \
    INTEGER(X, function_line, "", "where the function is defined; 0: not known",                   \
            function->first_line)

static const struct ar_shown_column bottom_up_columns[] = {BOTTOM_UP_COLUMNS(DESCRIBE)};

static union ar_cell bottom_up_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { BOTTOM_UP_COLUMNS(NUMBER) };
    const struct ar_profile *p = of->run->shown->p;
    const struct ar_bottom_up_row *at = &of->run->shown->bottom_up[row];
    const struct ar_function *function = &p->functions[at->function];
    union ar_cell cell = {0};

    switch (column) {
        BOTTOM_UP_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_bottom_up(const struct ar_subject *of)
{
    size_t n;

    return ar_run_bottom_up(of->run, &n) ? AR_OK : AR_NOMEM;
}

static size_t n_bottom_up(const struct ar_subject *of)
{
    return of->run->shown->n_bottom_up;
}

const struct ar_shown_table ar_shown_table_bottom_up = {
    .name = "bottom_up",
    .key = "id",
    .help = "functions by self time, each followed by its callers with the part of that time that "
            "was spent on the way through them; the longest first",
    .columns = bottom_up_columns,
    .n_columns = N_COLUMNS(bottom_up_columns),
    .prepare = prepare_bottom_up,
    .n_rows = n_bottom_up,
    .cell = bottom_up_cell,
};
