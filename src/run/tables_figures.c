// SPDX-License-Identifier: BSD-3-Clause
/* Tables of metrics as they are shown, and of those that are computed: derived_metrics, function_metrics, function_rank_metrics, tree_derived. */
#include "run/cells.h"

#include <stdlib.h>

/* ---- formulas --------------------------------------------------------------------------------- */

#define DERIVED_COLUMNS(X)                                                                         \
    TEXT(X, name, "of the metric", plain_text(figure->name))                                       \
    TEXT(X, unit, "of its values; 1: a number; share: 0.013 is 1.3 %", plain_text(figure->unit))   \
    TEXT(X, formula, "what it is computed from; times are in seconds",                             \
         plain_text(figure->formula))                                                              \
    OPTIONAL_TEXT(X, help, "what it says; none: the user gave the formula",                        \
                  plain_text(figure->help))

static const struct ar_shown_column derived_columns[] = {DERIVED_COLUMNS(DESCRIBE)};

static union ar_cell derived_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { DERIVED_COLUMNS(NUMBER) };
    const struct ar_figures *figures = &of->run->shown->figures;
    const struct ar_figure *figure = &figures->list[figures->n_recorded + row];
    union ar_cell cell = {0};

    switch (column) {
        DERIVED_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_derived(const struct ar_subject *of)
{
    return ar_run_figures(of->run, of->run->choice.form) ? AR_OK : AR_NOMEM;
}

static size_t n_derived(const struct ar_subject *of)
{
    const struct ar_figures *figures = &of->run->shown->figures;

    return figures->n_recorded ? figures->n - figures->n_recorded : 0;
}

const struct ar_shown_table ar_shown_table_derived_metrics = {
    .name = "derived_metrics",
    .key = "name",
    .help = "metrics that are computed from recorded ones, as far as those are there",
    .columns = derived_columns,
    .n_columns = N_COLUMNS(derived_columns),
    .prepare = prepare_derived,
    .n_rows = n_derived,
    .cell = derived_cell,
};

/* ---- values ----------------------------------------------------------------------------------- */

/* Over ranks, of a value that may be no whole number. */
#define REAL_RANGE(X, group, v)                                                                    \
    MEMBER_REAL(X, group, mean, "", "mean over ranks", (v).mean)                                   \
    MEMBER_REAL(X, group, sd, "", "standard deviation of these ranks", (v).sd)                     \
    MEMBER_REAL(X, group, min, "", "of the rank that has least", (v).min)                          \
    X(group##_min_rank, integer, AR_CELL_INTEGER, true, #group, "min_rank", "",                    \
      "that rank; of equal ones the first", rank_of(p, (v).min_process))                           \
    MEMBER_REAL(X, group, max, "", "of the rank that has most", (v).max)                           \
    X(group##_max_rank, integer, AR_CELL_INTEGER, true, #group, "max_rank", "",                    \
      "that rank; of equal ones the first", rank_of(p, (v).max_process))

#define VALUE_COLUMNS(X)                                                                           \
    TEXT(X, metric, "name in metrics or derived_metrics", plain_text(figure->name))                \
    TEXT(X, unit, "of its values", plain_text(figure->unit))                                       \
    REAL(X, value, "", "of all ranks together", item->v.value)                                     \
    REAL_RANGE(X, rank_value, item->v)

#define FUNCTION_COLUMNS(X)                                                                        \
    INTEGER(X, function_id, "", "number of the function", item->id)                                \
    TEXT(X, function, "its name", text_of(p, p->functions[item->id].name))                         \
    VALUE_COLUMNS(X)

#define NODE_COLUMNS(X)                                                                            \
    INTEGER(X, node, "", "id in tree", item->id)                                                   \
    TEXT(X, function, "what was called", text_of(p, function_at(p, item->id)->name))               \
    VALUE_COLUMNS(X)

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};
static const struct ar_shown_column node_columns[] = {NODE_COLUMNS(DESCRIBE)};

static union ar_cell function_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_COLUMNS(NUMBER) };
    const struct ar_form *f = of->run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_figure_item *item = &f->function_figures.list[row];
    const struct ar_figure *figure = &f->figures.list[item->figure];
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_COLUMNS(READ)
    }
    return cell;
}

static union ar_cell node_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { NODE_COLUMNS(NUMBER) };
    const struct ar_form *f = of->run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_figure_item *item = &f->node_figures.list[f->derived_rows[row]];
    const struct ar_figure *figure = &f->figures.list[item->figure];
    union ar_cell cell = {0};

    switch (column) {
        NODE_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_functions(const struct ar_subject *of)
{
    return ar_run_function_figures(of->run, of->run->choice.form) ? AR_OK : AR_NOMEM;
}

/* What was recorded is in tree_metrics. */
static enum ar_status prepare_nodes(const struct ar_subject *of)
{
    const struct ar_figure_items *items = ar_run_node_figures(of->run, of->run->choice.form);
    struct ar_form *f = of->run->shown;

    if (!items || f->derived_rows)
        return items ? AR_OK : AR_NOMEM;
    f->derived_rows = calloc(items->n + 1, sizeof *f->derived_rows);
    for (size_t i = 0; f->derived_rows && i < items->n; i++)
        if (f->figures.list[items->list[i].figure].formula)
            f->derived_rows[f->n_derived_rows++] = (uint32_t)i;
    return f->derived_rows ? AR_OK : AR_NOMEM;
}

static size_t n_functions(const struct ar_subject *of)
{
    return of->run->shown->function_figures.n;
}

static size_t n_nodes(const struct ar_subject *of)
{
    return of->run->shown->n_derived_rows;
}

const struct ar_shown_table ar_shown_table_function_metrics = {
    .name = "function_metrics",
    .key = "function_id, metric",
    .help = "values of functions, of metrics that no other table has; recursion counts once",
    .columns = function_columns,
    .n_columns = N_COLUMNS(function_columns),
    .prepare = prepare_functions,
    .n_rows = n_functions,
    .cell = function_cell,
};

const struct ar_shown_table ar_shown_table_tree_derived = {
    .name = "tree_derived",
    .key = "node, metric",
    .help = "values of call paths, of derived_metrics",
    .columns = node_columns,
    .n_columns = N_COLUMNS(node_columns),
    .prepare = prepare_nodes,
    .n_rows = n_nodes,
    .cell = node_cell,
};

/* ---- a function on each rank ------------------------------------------------------------------ */

#define RANK_COLUMNS(X)                                                                            \
    INTEGER(X, function_id, "", "number of the function", item->id)                                \
    TEXT(X, function, "its name", text_of(p, p->functions[item->id].name))                         \
    INTEGER(X, rank_id, "", "row of ranks", root)                                                  \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, root))                                   \
    TEXT(X, metric, "name in metrics or derived_metrics", plain_text(figure->name))                \
    TEXT(X, unit, "of its values", plain_text(figure->unit))                                       \
    REAL(X, value, "", "on that rank; none: it cannot be computed there",                          \
         ar_figure_of_root(reader, item->figure, root))

static const struct ar_shown_column rank_columns[] = {RANK_COLUMNS(DESCRIBE)};

static union ar_cell rank_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RANK_COLUMNS(NUMBER) };
    const struct ar_form *f = of->run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_figure_item *item = &f->function_figures.list[row / p->n_roots];
    const struct ar_figure *figure = &f->figures.list[item->figure];
    const struct ar_figure_reader *reader =
        ar_run_figures_of(of->run, of->run->choice.form, item->id);
    uint32_t root = (uint32_t)(row % p->n_roots);
    union ar_cell cell = {0};

    switch (column) {
        RANK_COLUMNS(READ)
    }
    return cell;
}

/* The reader is opened here: reading cells does not fail. */
static enum ar_status prepare_ranks(const struct ar_subject *of)
{
    const struct ar_figure_items *items = ar_run_function_figures(of->run, of->run->choice.form);

    if (!items || (items->n && !ar_run_figures_of(of->run, of->run->choice.form, items->list->id)))
        return AR_NOMEM;
    return AR_OK;
}

static size_t n_rank_rows(const struct ar_subject *of)
{
    return of->run->shown->function_figures.n * of->run->shown->p->n_roots;
}

const struct ar_shown_table ar_shown_table_function_rank_metrics = {
    .name = "function_rank_metrics",
    .key = "function_id, rank_id, metric",
    .help = "what each rank has of function_metrics",
    .columns = rank_columns,
    .n_columns = N_COLUMNS(rank_columns),
    .prepare = prepare_ranks,
    .n_rows = n_rank_rows,
    .cell = rank_cell,
};
