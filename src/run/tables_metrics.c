// SPDX-License-Identifier: BSD-3-Clause
/* Tables of what was measured beyond calls and time: metrics, tree_metrics. */
#include "run/cells.h"

/* ---- which there are -------------------------------------------------------------------------- */

static const char *combine_name(uint8_t combine)
{
    static const char *const names[AR_N_COMBINES] = {[AR_COMBINE_SUM] = "sum",
                                                     [AR_COMBINE_MIN] = "min",
                                                     [AR_COMBINE_MAX] = "max",
                                                     [AR_COMBINE_OR] = "or"};

    return names[combine];
}

static const char *scope_name(uint8_t scope)
{
    static const char *const names[AR_N_SCOPES] = {[AR_SCOPE_INCLUSIVE] = "inclusive",
                                                   [AR_SCOPE_EXCLUSIVE] = "exclusive",
                                                   [AR_SCOPE_CALL] = "call"};

    return names[scope];
}

#define METRIC_COLUMNS(X)                                                                          \
    TEXT(X, name, "of the metric", plain_text(kind->name))                                         \
    TEXT(X, unit, "of its values; 1: a number", plain_text(kind->unit))                            \
    TEXT(X, combine, "how values of threads and ranks become one: sum, min, max or or",            \
         plain_text(combine_name(kind->combine)))                                                  \
    TEXT(X, scope,                                                                                 \
         "inclusive: with what a function calls; exclusive: without; call: of its calls alone",    \
         plain_text(scope_name(kind->scope)))                                                      \
    OPTIONAL_TEXT(X, divided_by, "the metric by which it is divided to be shown",                  \
                  plain_text(kind->divide_by ? kind->divide_by : ""))                              \
    BOOLEAN(X, known, "this version of allranks has tables with it, under names of their own",     \
            row < AR_N_METRICS)

static const struct ar_shown_column metric_columns[] = {METRIC_COLUMNS(DESCRIBE)};

static union ar_cell metric_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { METRIC_COLUMNS(NUMBER) };
    const struct ar_metric_kind *kind = ar_profile_metric(of->run->shown->p, (unsigned)row);
    union ar_cell cell = {0};

    switch (column) {
        METRIC_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_metrics(const struct ar_subject *of)
{
    return ar_run_form(of->run, of->run->choice.form) ? AR_OK : AR_NOMEM;
}

static size_t n_metrics(const struct ar_subject *of)
{
    return ar_profile_n_metrics(of->run->shown->p);
}

const struct ar_shown_table ar_shown_table_metrics = {
    .name = "metrics",
    .key = "name",
    .help = "what is measured of call paths, by its name in the file",
    .columns = metric_columns,
    .n_columns = N_COLUMNS(metric_columns),
    .prepare = prepare_metrics,
    .n_rows = n_metrics,
    .cell = metric_cell,
};

/* ---- their values ----------------------------------------------------------------------------- */

#define TREE_METRIC_COLUMNS(X)                                                                     \
    INTEGER(X, node, "", "id in tree", item->node)                                                 \
    TEXT(X, function, "what was called", text_of(p, function_at(p, item->node)->name))             \
    TEXT(X, metric, "name in metrics", plain_text(kind->name))                                     \
    TEXT(X, unit, "of its values", plain_text(kind->unit))                                         \
    INTEGER(X, value, "", "of all ranks, as the metric combines", item->value)                     \
    RANGE(X, rank_value, "", "value", item->ranks)                                                 \
    REAL(X, quotient, "", "value by that of the metric by which it is divided; none: there is no", \
         item->quotient)

static const struct ar_shown_column tree_metric_columns[] = {TREE_METRIC_COLUMNS(DESCRIBE)};

static union ar_cell tree_metric_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { TREE_METRIC_COLUMNS(NUMBER) };
    const struct ar_profile *p = of->run->shown->p;
    const struct ar_node_metric *item = &of->run->shown->metrics.items[row];
    const struct ar_metric_kind *kind = ar_profile_metric(p, item->metric);
    union ar_cell cell = {0};

    switch (column) {
        TREE_METRIC_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_tree_metrics(const struct ar_subject *of)
{
    return ar_run_node_metrics(of->run, of->run->choice.form) ? AR_OK : AR_NOMEM;
}

static size_t n_tree_metrics(const struct ar_subject *of)
{
    return of->run->shown->metrics.n;
}

const struct ar_shown_table ar_shown_table_tree_metrics = {
    .name = "tree_metrics",
    .key = "node, metric",
    .help = "values of call paths, of metrics that no other table has",
    .columns = tree_metric_columns,
    .n_columns = N_COLUMNS(tree_metric_columns),
    .prepare = prepare_tree_metrics,
    .n_rows = n_tree_metrics,
    .cell = tree_metric_cell,
};
