// SPDX-License-Identifier: BSD-3-Clause
/* Tables that compare runs: diff, diff_runs, diff_functions, diff_paths, diff_conditions. */
#include "analysis/names.h"
#include "analysis/place.h"
#include "run/cells.h"
#include "run/subjects.h"

#include <stdlib.h>

#define MEMBER_BOOLEAN(X, group, id, help, value)                                                  \
    X(group##_##id, boolean, AR_CELL_BOOL, false, #group, #id, "", help, value)

/* A time on both sides. `c` is a struct ar_change. */
#define CHANGE(X, group, help, c)                                                                  \
    MEMBER_REAL(X, group, base, "ns", help ": mean over ranks, then over the runs of the base",    \
                (c).base)                                                                          \
    MEMBER_REAL(X, group, now, "ns", help ": mean over ranks, then over the other runs", (c).now)  \
    MEMBER_REAL(X, group, change, "ns", "now less base", ar_change_ns(&(c)))                       \
    MEMBER_REAL(X, group, noise, "ns", "a change that is not larger does not count", (c).noise)    \
    MEMBER_BOOLEAN(X, group, counts, "the change is larger than the noise", (c).counts)            \
    MEMBER_BOOLEAN(X, group, undecided,                                                            \
                   "it is not, but is more than half, and too few runs or ranks tell the noise",   \
                   (c).is_undecided)                                                               \
    MEMBER_BOOLEAN(X, group, base_estimated, "base is estimated from some of the calls",           \
                   ((c).base_doubt.marks & AR_MARK_ESTIMATED) != 0)                                \
    MEMBER_REAL(X, group, base_error, "ns", "standard error of base",                              \
                ar_doubt_error((c).base_doubt, 1))                                                 \
    MEMBER_BOOLEAN(X, group, now_estimated, "now is estimated from some of the calls",             \
                   ((c).now_doubt.marks & AR_MARK_ESTIMATED) != 0)                                 \
    MEMBER_REAL(X, group, now_error, "ns", "standard error of now",                                \
                ar_doubt_error((c).now_doubt, 1))

#define FIGURES(X)                                                                                 \
    MEMBER_REAL(X, calls, base, "", "mean over ranks, then over the runs of the base",             \
                row_of->base_calls)                                                                \
    MEMBER_REAL(X, calls, now, "", "mean over ranks, then over the other runs", row_of->now_calls) \
    CHANGE(X, time, "with what it calls", row_of->time)                                            \
    CHANGE(X, self, "without what it calls", row_of->self)

/* ---- all together ----------------------------------------------------------------------------- */

#define DIFF_COLUMNS(X)                                                                            \
    TEXT(X, noise_from,                                                                            \
         "runs: several per side, Student's t at 95 %; pairs: one per side, how the changes of "   \
         "ranks differ; ranks: how times of ranks differ, since their numbers differ; unknown: "   \
         "one process per side",                                                                   \
         plain_text(noise_names[d->noise]))                                                        \
    BOOLEAN(X, few, "fewer than three runs per side, or ranks: too few to tell the noise",         \
            d->has_few)                                                                            \
    CHANGE(X, wall, "how long ranks were recorded", d->total)                                      \
    CHANGE(X, mpi, "of main threads in MPI calls", d->mpi)

static const struct ar_shown_column diff_columns[] = {DIFF_COLUMNS(DESCRIBE)};
static const char *const noise_names[] = {[AR_NOISE_OF_RUNS] = "runs",
                                          [AR_NOISE_OF_PAIRS] = "pairs",
                                          [AR_NOISE_OF_RANKS] = "ranks",
                                          [AR_NOISE_UNKNOWN] = "unknown"};

static union ar_cell diff_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { DIFF_COLUMNS(NUMBER) };
    const struct ar_diff *d = of->diff->d;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        DIFF_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_diff = {
    .name = "diff",
    .key = "",
    .help = "two sides of runs, compared as a whole",
    .about = AR_ABOUT_DIFF,
    .columns = diff_columns,
    .n_columns = N_COLUMNS(diff_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = diff_cell,
};

/* ---- runs ------------------------------------------------------------------------------------- */

#define RUN_COLUMNS(X)                                                                             \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    TEXT(X, side, "base or now", plain_text(row < d->n_base ? "base" : "now"))                     \
    TEXT(X, path, "of the file, as it was given", plain_text(run->path))                           \
    INTEGER(X, ranks, "", "that means are over; or processes that are no children",                \
            run->p.n_roots)                                                                        \
    REAL(X, wall, "ns", "how long ranks were recorded, on average", run->t.mean_wall_ns)           \
    REAL(X, mpi, "ns", "in MPI calls, mean over ranks", run->t.mpi_ns)

static const struct ar_shown_column run_columns[] = {RUN_COLUMNS(DESCRIBE)};

static union ar_cell run_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RUN_COLUMNS(NUMBER) };
    const struct ar_diff *d = of->diff->d;
    const struct ar_summary *run = &d->runs[row];
    union ar_cell cell = {0};

    switch (column) {
        RUN_COLUMNS(READ)
    }
    return cell;
}

static size_t n_runs(const struct ar_subject *of)
{
    return of->diff->d->n_runs;
}

const struct ar_shown_table ar_shown_table_diff_runs = {
    .name = "diff_runs",
    .key = "id",
    .help = "the runs of both sides, the base first",
    .about = AR_ABOUT_DIFF,
    .columns = run_columns,
    .n_columns = N_COLUMNS(run_columns),
    .n_rows = n_runs,
    .cell = run_cell,
};

/* ---- functions -------------------------------------------------------------------------------- */

/* The function on one side: that of the last run there that has it. NULL: none has. */
static const struct ar_function *function_on(const struct ar_diff *d, const struct ar_diff_row *row,
                                             bool is_base, const struct ar_profile **p)
{
    size_t first = is_base ? 0 : d->n_base, end = is_base ? d->n_base : d->n_runs;

    while (end > first && ar_common_id(&d->functions.common, end - 1, row->row) == AR_NO_ID)
        end--;
    if (end == first)
        return NULL;
    *p = &d->runs[end - 1].p;
    return &(*p)->functions[ar_common_id(&d->functions.common, end - 1, row->row)];
}

static struct ar_str file_on(const struct ar_diff *d, const struct ar_diff_row *row, bool is_base)
{
    const struct ar_profile *p;
    const struct ar_function *f = function_on(d, row, is_base, &p);

    return f ? text_of(p, f->file) : plain_text("");
}

static int64_t line_on(const struct ar_diff *d, const struct ar_diff_row *row, bool is_base)
{
    const struct ar_profile *p;
    const struct ar_function *f = function_on(d, row, is_base, &p);

    return f ? (int64_t)f->first_line : -1;
}

#define FUNCTION_COLUMNS(X)                                                                        \
    TEXT(X, name, "the function; of C functions as cProfile has it", text_of(p, function->name))   \
    OPTIONAL_TEXT(X, file, "where it is defined; MPI functions have none",                         \
                  text_of(p, function->file))                                                      \
    INTEGER(X, line, "", "where it is defined; 0: not known", function->first_line)                \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function->kind)))            \
    OPTIONAL_TEXT(X, base_file, "where it is defined in the base", file_on(d, row_of, true))       \
    OPTIONAL(X, base_line, "", "where it is defined in the base; none: the base does not have it", \
             line_on(d, row_of, true))                                                             \
    OPTIONAL_TEXT(X, now_file, "where it is defined now", file_on(d, row_of, false))               \
    OPTIONAL(X, now_line, "", "where it is defined now; none: it is gone",                         \
             line_on(d, row_of, false))                                                            \
    FIGURES(X)                                                                                     \
    INTEGER(X, id, "", "number of the function in this comparison", row_of->row)

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};

static union ar_cell function_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_COLUMNS(NUMBER) };
    const struct ar_diff *d = of->diff->d;
    const struct ar_diff_row *row_of = &d->functions.rows[row];
    const struct ar_profile *p = &d->runs[row_of->run].p;
    const struct ar_function *function = &p->functions[row_of->id];
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_COLUMNS(READ)
    }
    return cell;
}

static size_t n_functions(const struct ar_subject *of)
{
    return of->diff->d->functions.n_rows;
}

const struct ar_shown_table ar_shown_table_diff_functions = {
    .name = "diff_functions",
    .key = "id",
    .help = "functions, compared; changes that count first, then the largest change of self time "
            "first, with --inclusive of time",
    .about = AR_ABOUT_DIFF,
    .columns = function_columns,
    .n_columns = N_COLUMNS(function_columns),
    .n_rows = n_functions,
    .cell = function_cell,
};

/* ---- call paths ------------------------------------------------------------------------------- */

size_t ar_path_nodes(const struct ar_profile *p, uint32_t node, uint32_t nodes[AR_PATH_NODES])
{
    size_t n = 0;

    for (; node != 0 && node != AR_NO_ID && n < AR_PATH_NODES; node = p->nodes[node].parent)
        nodes[n++] = node;
    return n;
}

static const char *name_at(const struct ar_profile *p, uint32_t node, char *room)
{
    uint32_t function = p->nodes[node].function;

    if (p->functions[function].kind == AR_FUNCTION_MPI)
        return ar_strtab_text(&p->strings, p->functions[function].name);
    return ar_plain_name(p, function, room);
}

void ar_path_text(const struct ar_profile *p, uint32_t node, struct ar_bytes *out)
{
    uint32_t nodes[AR_PATH_NODES];
    char room[AR_NAME_BYTES];

    for (size_t n = ar_path_nodes(p, node, nodes); n-- > 0;) {
        const char *name = name_at(p, nodes[n], room);

        ar_bytes_put(out, name, strlen(name));
        if (n)
            ar_bytes_put(out, " > ", 3);
    }
    ar_bytes_u8(out, '\0');
}

/* The row of the path above; -1: that is the root, which has none. */
static int64_t parent_of(const struct ar_diff *d, const struct ar_diff_row *row)
{
    uint32_t parent = d->runs[row->run].p.nodes[row->id].parent;

    return parent == 0 ? -1 : (int64_t)d->paths.common.row_of[row->run][parent];
}

/* Only calls that are told apart by their lines have one. */
static bool has_place(const struct ar_profile *p, uint32_t node)
{
    return p->nodes[node].line != 0;
}

#define PATH_COLUMNS(X)                                                                            \
    TEXT(X, path, "names of functions from the outermost on; of long ones the innermost 64",       \
         of->diff->paths[row])                                                                     \
    TEXT(X, function, "what was called", text_of(p, function->name))                               \
    OPTIONAL_TEXT(X, file, "where MPI calls and methods of mpi4py were called; others have none",  \
                  plain_text(has_place(p, row_of->id) ? ar_place_file(p, place) : ""))             \
    OPTIONAL(X, line, "", "in that file", has_place(p, row_of->id) ? (int64_t)place.line : -1)     \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function->kind)))            \
    OPTIONAL_TEXT(X, function_file, "where the function is defined", text_of(p, function->file))   \
    INTEGER(X, function_line, "", "where the function is defined; 0: not known",                   \
            function->first_line)                                                                  \
    BOOLEAN(X, has_base, "a run of the base has it", row_of->has_base)                             \
    BOOLEAN(X, has_now, "one of the other runs has it", row_of->has_now)                           \
    FIGURES(X)                                                                                     \
    INTEGER(X, id, "", "number of the call path in this comparison", row_of->row)                  \
    OPTIONAL(X, parent, "", "id of the call path that called it; none: it is the outermost",       \
             parent_of(d, row_of))

static const struct ar_shown_column path_columns[] = {PATH_COLUMNS(DESCRIBE)};

static union ar_cell path_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { PATH_COLUMNS(NUMBER) };
    const struct ar_diff *d = of->diff->d;
    const struct ar_diff_row *row_of = &d->paths.rows[row];
    const struct ar_profile *p = &d->runs[row_of->run].p;
    const struct ar_function *function = function_at(p, row_of->id);
    struct ar_place place = ar_place_of_call(p, row_of->id);
    union ar_cell cell = {0};

    switch (column) {
        PATH_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status name_path(struct ar_shown_diff *diff, size_t row)
{
    const struct ar_diff_row *at = &diff->d->paths.rows[row];
    struct ar_bytes text = {0};
    const char *kept = NULL;

    ar_path_text(&diff->d->runs[at->run].p, at->id, &text);
    if (!text.bad)
        kept = ar_arena_copy(&diff->texts, text.data, text.n - 1);
    diff->paths[row] = (struct ar_str){kept, kept ? text.n - 1 : 0};
    ar_bytes_free(&text);
    return kept ? AR_OK : AR_NOMEM;
}

void ar_shown_diff_free(struct ar_shown_diff *diff)
{
    free(diff->paths);
    free(diff->path_rows);
    ar_arena_free(&diff->texts);
    diff->paths = NULL;
    diff->path_rows = NULL;
}

static enum ar_status prepare_paths(const struct ar_subject *of)
{
    struct ar_shown_diff *diff = of->diff;
    const struct ar_diff_table *table = &diff->d->paths;
    enum ar_status status = AR_OK;

    if (diff->paths)
        return AR_OK;
    diff->paths = calloc(table->n_rows + 1, sizeof *diff->paths);
    diff->path_rows = malloc((table->n_rows + 1) * sizeof *diff->path_rows);
    diff->n_path_rows = 0;
    if (!diff->paths || !diff->path_rows)
        status = AR_NOMEM;
    for (uint32_t i = 0; i < table->n_rows && status == AR_OK; i++) {
        if (table->rows[i].id == 0)
            continue;
        diff->path_rows[diff->n_path_rows++] = i;
        status = name_path(diff, i);
    }
    if (status < 0)
        ar_shown_diff_free(diff);
    return status;
}

static size_t n_paths(const struct ar_subject *of)
{
    return of->diff->d->paths.n_rows;
}

static const uint32_t *order_paths(const struct ar_subject *of, size_t *n)
{
    *n = of->diff->n_path_rows;
    return of->diff->path_rows;
}

const struct ar_shown_table ar_shown_table_diff_paths = {
    .name = "diff_paths",
    .key = "id",
    .help = "call paths, compared; sorted as diff_functions",
    .about = AR_ABOUT_DIFF,
    .columns = path_columns,
    .n_columns = N_COLUMNS(path_columns),
    .prepare = prepare_paths,
    .n_rows = n_paths,
    .cell = path_cell,
    .order = order_paths,
};

/* ---- conditions ------------------------------------------------------------------------------- */

static struct ar_str function_of(const struct ar_diff *d, const struct ar_diff_row *row)
{
    const struct ar_profile *p = row ? &d->runs[row->run].p : NULL;

    return row ? text_of(p, p->functions[row->id].name) : plain_text("");
}

#define CONDITION_COLUMNS(X)                                                                       \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    TEXT(X, condition, "as it was given to --fail-if", plain_text(condition->text))                \
    BOOLEAN(X, holds, "the exit status is 1 if one of them does", condition->holds)                \
    BOOLEAN(X, within_noise, "it would hold if the change were larger than the noise",             \
            condition->is_noise)                                                                   \
    OPTIONAL_TEXT(X, function, "the one that grew furthest; none: total or mpi is meant",          \
                  function_of(of->diff->d, condition->row))                                        \
    CHANGE(X, time, "the time that it is about", condition->change)

static const struct ar_shown_column condition_columns[] = {CONDITION_COLUMNS(DESCRIBE)};

static union ar_cell condition_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { CONDITION_COLUMNS(NUMBER) };
    const struct ar_shown_condition *condition = &of->diff->conditions[row];
    union ar_cell cell = {0};

    switch (column) {
        CONDITION_COLUMNS(READ)
    }
    return cell;
}

static size_t n_conditions(const struct ar_subject *of)
{
    return of->diff->n_conditions;
}

const struct ar_shown_table ar_shown_table_diff_conditions = {
    .name = "diff_conditions",
    .key = "id",
    .help = "conditions of --fail-if, in the order in which they were given",
    .about = AR_ABOUT_DIFF,
    .columns = condition_columns,
    .n_columns = N_COLUMNS(condition_columns),
    .n_rows = n_conditions,
    .cell = condition_cell,
};
