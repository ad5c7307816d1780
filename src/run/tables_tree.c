// SPDX-License-Identifier: BSD-3-Clause
/* Tables of functions and call paths: functions, tree, callers, callees. */
#include "analysis/callers.h"
#include "run/cells.h"

#include <stdlib.h>

/* ---- functions -------------------------------------------------------------------------------- */

#define FUNCTION_COLUMNS(X)                                                                        \
    TEXT(X, name, "the function; of C functions as cProfile has it", text_of(p, function->name))   \
    OPTIONAL_TEXT(X, file, "where it is defined; MPI functions have none",                         \
                  text_of(p, function->file))                                                      \
    INTEGER(X, line, "", "where it is defined; 0: not known", function->first_line)                \
    INTEGER(X, calls, "", "of all ranks", sums->n_calls)                                           \
    SPREAD(X, time, "with what it calls; recursion counts once", sums->time)                       \
    SPREAD(X, self, "without what it calls", sums->self)                                           \
    RANGE(X, rank_calls, "", "calls", sums->calls)                                                 \
    TEXT(X, kind,                                                                                  \
         "python, mpi, operation (a method of mpi4py), builtin (a C function), unassigned, "       \
         "region, task, thread, import, other",                                                    \
         plain_text(ar_function_kind_name(function->kind)))                                        \
    INTEGER(X, ranks, "", "how many ranks called it", sums->n_processes)                           \
    INTEGER(X, paths, "", "in how many call paths it is; 0: not known",                            \
            f->totals.of_pairs ? 0 : sums->n_nodes)                                                \
    INTEGER(X, bytes_out, "bytes", "sent, of MPI functions", sums->bytes_out)                      \
    INTEGER(X, bytes_in, "bytes", "received, of MPI functions", sums->bytes_in)                    \
    INTEGER(X, id, "", "its number: function_id of other tables", row)

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};

static union ar_cell function_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_function *function = &p->functions[row];
    const struct ar_function_sums *sums = &f->functions.sums[row];
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_COLUMNS(READ)
    }
    return cell;
}

/* Function 0 is that of the root, which is no function of the program. */
enum ar_status ar_order_functions(struct ar_run *run, enum ar_tree_form form)
{
    const struct ar_by_function *by = ar_run_functions(run, form);
    struct ar_form *f = by ? ar_run_form(run, form) : NULL;
    size_t n = by ? by->n_groups : 0;
    double *keys;
    bool *is_shown;

    if (!by || f->function_rows)
        return by ? AR_OK : AR_NOMEM;
    keys = malloc((n + 1) * sizeof *keys);
    is_shown = malloc(n + 1);
    for (size_t i = 0; keys && is_shown && i < n; i++) {
        keys[i] = by->sums[i].self.sum;
        is_shown[i] = i && by->sums[i].n_nodes;
    }
    if (keys && is_shown)
        f->function_rows = ar_rows_by(keys, is_shown, n, &f->n_function_rows);
    free(keys);
    free(is_shown);
    return f->function_rows ? AR_OK : AR_NOMEM;
}

static enum ar_status prepare_functions(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return ar_order_functions(run, run->choice.form);
}

static size_t n_functions(const struct ar_subject *of)
{
    return of->run->shown->p->n_functions;
}

static const uint32_t *order_functions(const struct ar_subject *of, size_t *n)
{
    const struct ar_run *run = of->run;

    *n = run->shown->n_function_rows;
    return run->shown->function_rows;
}

const struct ar_shown_table ar_shown_table_functions = {
    .name = "functions",
    .key = "id",
    .help = "functions, over all of their call paths; the longest self time first",
    .columns = function_columns,
    .n_columns = N_COLUMNS(function_columns),
    .prepare = prepare_functions,
    .n_rows = n_functions,
    .cell = function_cell,
    .order = order_functions,
};

/* ---- call paths ------------------------------------------------------------------------------- */

#define TREE_COLUMNS(X)                                                                            \
    INTEGER(X, id, "", "number of the node, which is its row", row)                                \
    OPTIONAL(X, parent, "", "node that called it; none: the root", id_or_none(node->parent))       \
    INTEGER(X, depth, "", "0 for the root", f->places.depth[row])                                  \
    TEXT(X, function, "what was called", text_of(p, function_at(p, id)->name))                     \
    INTEGER(X, calls, "", "of all ranks", t->n_calls[row])                                         \
    SPREAD(X, time, "with what it calls", t->time[row])                                            \
    SPREAD(X, self, "without what it calls", t->self[row])                                         \
    OPTIONAL_TEXT(X, file, "where it was called: in the nearest Python function above",            \
                  file_of(f, id))                                                                  \
    INTEGER(X, line, "", "where it was called; 0: not known, or several", line_of(f, id))          \
    OPTIONAL_TEXT(X, caller, "the Python function that this line is in", caller_of(f, id))         \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(function_at(p, id)->kind)))  \
    INTEGER(X, function_id, "", "number of the function", node->function)                          \
    OPTIONAL_TEXT(X, function_file, "where the function is defined",                               \
                  text_of(p, function_at(p, id)->file))                                            \
    INTEGER(X, function_line, "", "where the function is defined; 0: not known",                   \
            function_at(p, id)->first_line)                                                        \
    INTEGER(X, bytes_out, "bytes", "sent, of MPI calls", t->bytes_out[row])                        \
    INTEGER(X, bytes_in, "bytes", "received, of MPI calls", t->bytes_in[row])                      \
    BOOLEAN(X, partial, "calls and times are of a part of the calls, because of --budget",         \
            (t->time[row].doubt.marks & AR_MARK_PARTIAL) != 0)                                     \
    INTEGER(X, awaited, "ns",                                                                      \
            "from the end of a step of an asyncio task to the next, of all ranks",                 \
            t->awaited_ns[row])                                                                    \
    BOOLEAN(X, hot, "on the hot path: the most expensive callee at each level", f->is_hot[row])    \
    OPTIONAL(X, primitive_calls, "", "of files of cProfile: calls that were no recursion",         \
             t->of_pairs ? (int64_t)t->n_primitive[row] : -1)

static const struct ar_shown_column tree_columns[] = {TREE_COLUMNS(DESCRIBE)};

static union ar_cell tree_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { TREE_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_totals *t = &f->totals;
    const struct ar_profile_node *node = &p->nodes[row];
    uint32_t id = (uint32_t)row;
    union ar_cell cell = {0};

    switch (column) {
        TREE_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_tree(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    enum ar_tree_form form = run->choice.form;

    return ar_run_totals(run, form) && ar_run_places(run, form) && ar_run_hot_path(run, form)
               ? AR_OK
               : AR_NOMEM;
}

static size_t n_nodes(const struct ar_subject *of)
{
    return of->run->shown->p->n_nodes;
}

const struct ar_shown_table ar_shown_table_tree = {
    .name = "tree",
    .key = "id",
    .help = "call paths; the root is the first, and parents come before children",
    .columns = tree_columns,
    .n_columns = N_COLUMNS(tree_columns),
    .prepare = prepare_tree,
    .n_rows = n_nodes,
    .cell = tree_cell,
};

/* ---- callers and callees ---------------------------------------------------------------------- */

#define RELATIVE_COLUMNS(X)                                                                        \
    TEXT(X, relation, "caller, callee, or itself: what the function does itself",                  \
         plain_text(relation_names[r->relation]))                                                  \
    INTEGER(X, function_id, "", "the function that was asked about", r->function)                  \
    TEXT(X, function, "its name", text_of(p, p->functions[r->function].name))                      \
    OPTIONAL(X, other_id, "", "the caller or callee; none: no function, or itself",                \
             id_or_none(r->other))                                                                 \
    OPTIONAL_TEXT(X, other, "its name", text_of(p, other_of(p, r)->name))                          \
    OPTIONAL_TEXT(X, file, "where the other is defined", text_of(p, other_of(p, r)->file))         \
    INTEGER(X, line, "", "where the other is defined; 0: not known", other_of(p, r)->first_line)   \
    OPTIONAL_TEXT(                                                                                 \
        X, kind, "of the other, as in functions",                                                  \
        plain_text(r->other == AR_NO_ID ? "" : ar_function_kind_name(other_of(p, r)->kind)))       \
    INTEGER(X, calls, "", "of all ranks, from the one to the other", r->sums.n_calls)              \
    REAL(X, share, "share", "of the time of the function", r->share)                               \
    SPREAD(X, time, "of these calls", r->sums.time)                                                \
    SPREAD(X, self, "of these calls, without what they call", r->sums.self)

static const struct ar_shown_column relative_columns[] = {RELATIVE_COLUMNS(DESCRIBE)};
static const char *const relation_names[] = {
    [AR_IS_CALLER] = "caller", [AR_IS_CALLEE] = "callee", [AR_IS_ITSELF] = "itself"};

/* String 0 is empty. */
static const struct ar_function *other_of(const struct ar_profile *p, const struct ar_relative *r)
{
    static const struct ar_function none = {0};

    return r->other == AR_NO_ID ? &none : &p->functions[r->other];
}

static union ar_cell relative_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RELATIVE_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->shown->p;
    const struct ar_relative *r = &run->relatives[row];
    union ar_cell cell = {0};

    switch (column) {
        RELATIVE_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status add_relative(struct ar_run *run, struct ar_relative relative)
{
    if (run->n_relatives == run->cap_relatives) {
        size_t cap = run->cap_relatives ? 2 * run->cap_relatives : 16;
        struct ar_relative *grown = realloc(run->relatives, cap * sizeof *grown);

        if (!grown)
            return AR_NOMEM;
        run->relatives = grown;
        run->cap_relatives = cap;
    }
    run->relatives[run->n_relatives++] = relative;
    return AR_OK;
}

/* The function to which these are related, and how. */
struct asked {
    enum ar_relation relation;
    uint32_t function;
    double whole_ns;
};

static struct ar_relative relative_of(const struct ar_profile *p, const struct ar_by_function *by,
                                      struct asked asked, uint32_t group)
{
    struct ar_relative r = {.relation = asked.relation,
                            .function = asked.function,
                            .other = group == p->nodes[0].function ? AR_NO_ID : group,
                            .sums = by->sums[group]};

    if (group == p->n_functions) { /* see callers.h */
        r.relation = AR_IS_ITSELF;
        r.other = AR_NO_ID;
        r.sums.time = r.sums.self;
    }
    r.share = asked.whole_ns > 0 ? r.sums.time.mean / asked.whole_ns : 0;
    return r;
}

/* The longest first; what the function does itself comes last. */
static enum ar_status add_relatives(struct ar_run *run, const struct ar_by_function *by,
                                    struct asked asked)
{
    const struct ar_profile *p = run->shown->p;
    double *keys = malloc((by->n_groups + 1) * sizeof *keys);
    bool *is_shown = malloc(by->n_groups + 1);
    uint32_t *order = NULL;
    size_t n = 0;

    for (size_t i = 0; keys && is_shown && i < by->n_groups; i++) {
        const struct ar_function_sums *s = &by->sums[i];

        keys[i] = i == p->n_functions ? -1 : s->time.sum;
        is_shown[i] = s->n_nodes && (i == p->n_functions || s->n_calls || s->time.max);
    }
    if (keys && is_shown)
        order = ar_rows_by(keys, is_shown, by->n_groups, &n);

    enum ar_status status = order ? AR_OK : AR_NOMEM;

    for (size_t i = 0; i < n && status == AR_OK; i++)
        status = add_relative(run, relative_of(p, by, asked, order[i]));
    free(order);
    free(keys);
    free(is_shown);
    return status;
}

static enum ar_status find_relatives(struct ar_run *run, enum ar_relation relation,
                                     const char *name)
{
    const struct ar_form *f = run->shown;
    const struct ar_by_function *by = ar_run_functions(run, run->choice.form);
    struct ar_wanted wanted = ar_wanted_parse(name);
    enum ar_status status = by ? AR_OK : AR_NOMEM;

    for (uint32_t i = 1; name && status == AR_OK && i < f->p->n_functions; i++) {
        const struct ar_function_sums *s = &by->sums[i];
        struct ar_by_function relatives = {0};

        if (!s->n_nodes || !(s->n_calls || s->time.max) || !ar_wanted_function(&wanted, f->p, i))
            continue;
        status = (relation == AR_IS_CALLER ? ar_callers_build : ar_callees_build)(&relatives, f->p,
                                                                                  &f->totals, i);
        if (status == AR_OK)
            status = add_relatives(run, &relatives, (struct asked){relation, i, s->time.mean});
        ar_by_function_free(&relatives);
    }
    return status;
}

static enum ar_status prepare_relatives(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    enum ar_status status = AR_OK;

    if (run->has_relatives)
        return AR_OK;
    run->n_relatives = 0;
    status = find_relatives(run, AR_IS_CALLER, run->choice.callers);
    if (status == AR_OK)
        status = find_relatives(run, AR_IS_CALLEE, run->choice.callees);
    run->has_relatives = status == AR_OK;
    return status;
}

static size_t n_relatives(const struct ar_subject *of)
{
    return of->run->n_relatives;
}

const struct ar_shown_table ar_shown_table_relatives = {
    .name = "relatives",
    .key = "relation, function_id, other_id",
    .help = "callers of the functions of --callers, and callees of those of --callees, with the "
            "figures of "
            "these calls",
    .columns = relative_columns,
    .n_columns = N_COLUMNS(relative_columns),
    .prepare = prepare_relatives,
    .n_rows = n_relatives,
    .cell = relative_cell,
};
