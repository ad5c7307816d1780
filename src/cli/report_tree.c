// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

/* What no chosen rank or thread has is not there. */
static bool is_there(const struct ar_report *r, uint32_t node)
{
    return r->t->time[node].max || r->t->n_calls[node];
}

static bool is_worth_a_row(const struct ar_report *r, uint32_t node)
{
    return (double)r->t->time[node].max >= r->min_share * r->t->mean_wall_ns;
}

/*
 * What a module does while it is imported is seldom the question: it is shown with all rows, or when
 * levels are asked for.
 */
static bool is_opened(const struct ar_report *r, uint32_t node, size_t depth, size_t n_rows)
{
    bool asked = r->n_levels != SIZE_MAX;

    if (r->n_levels && depth + 1 >= r->n_levels)
        return false;
    return r->t->first_child[node] != AR_NO_ID &&
           (n_rows == 0 || asked || !ar_is_kind(r->p, node, AR_FUNCTION_IMPORT));
}

struct walking {
    const struct ar_report *r;
    size_t n_rows;
    void (*row)(const struct ar_report *r, uint32_t node, size_t depth, void *context);
    void *context;
    struct ar_tree_rows rows;
};

/* Whether the node is worth a row, for which there may be no room. */
static bool visit(struct walking *w, uint32_t node, size_t depth)
{
    const struct ar_report *r = w->r;
    bool there = is_there(r, node), worth = there && (r->is_hot[node] || is_worth_a_row(r, node));

    if (!worth || (w->n_rows && w->rows.n_shown >= w->n_rows)) {
        w->rows.n_cut += there;
        return worth;
    }
    if (w->row)
        w->row(r, node, depth, w->context);
    w->rows.n_shown++;
    ar_mark_shown(&w->rows.marks, r->t->time[node].doubt, r->p->n_roots);
    ar_mark_shown(&w->rows.marks, r->t->self[node].doubt, r->p->n_roots);
    w->rows.has_hot |= r->is_hot[node];
    w->rows.has_hot_line |= ar_has_hot_line(r, node);
    return true;
}

/* The next node after all that is below this one, within `top`; `top`: there is none. */
static uint32_t next_within(const struct ar_report *r, uint32_t node, uint32_t top, size_t *depth)
{
    while (node != top && r->t->next_sibling[node] == AR_NO_ID) {
        node = r->p->nodes[node].parent;
        --*depth;
    }
    return node == top ? top : r->t->next_sibling[node];
}

/*
 * `import mpi4py.MPI` calls MPI_Init, which loads no modules: it is shown below an import even though
 * the rest of the import is not.
 */
static void visit_mpi_below(struct walking *w, uint32_t import, size_t depth)
{
    const struct ar_report *r = w->r;
    uint32_t node = r->t->first_child[import];
    size_t below = depth + 1;

    while (node != AR_NO_ID && node != import && r->t->mpi_below_ns[import] > 0) {
        bool is_mpi = ar_is_kind(r->p, node, AR_FUNCTION_MPI);

        if (is_mpi && is_worth_a_row(r, node))
            visit(w, node, depth + 1);
        if (!is_mpi && r->t->mpi_below_ns[node] > 0 && r->t->first_child[node] != AR_NO_ID)
            node = r->t->first_child[node];
        else
            node = next_within(r, node, import, &below);
    }
}

/* Depth first, without recursion: trees are as deep as programs recurse. */
struct ar_tree_rows ar_report_walk(const struct ar_report *r, size_t n_rows,
                                   void (*row)(const struct ar_report *r, uint32_t node,
                                               size_t depth, void *context),
                                   void *context)
{
    struct walking w = {.r = r, .n_rows = n_rows, .row = row, .context = context};
    uint32_t node = r->t->first_child[0];
    size_t depth = 0;

    while (node != AR_NO_ID && node != 0) {
        bool worth = visit(&w, node, depth);

        if (worth && is_opened(r, node, depth, n_rows)) {
            node = r->t->first_child[node];
            depth++;
            continue;
        }
        if (worth && r->n_levels == SIZE_MAX && ar_is_kind(r->p, node, AR_FUNCTION_IMPORT))
            visit_mpi_below(&w, node, depth);
        node = next_within(r, node, 0, &depth);
    }
    return w.rows;
}

static void print_row(const struct ar_report *r, uint32_t node, size_t depth, void *context)
{
    const struct ar_label_columns *columns = context;

    ar_print_label(r, *columns, node, depth, r->is_hot[node] ? '*' : ' ');
    ar_print_mean(r, &r->t->time[node]);
    ar_print_mean(r, &r->t->self[node]);
    ar_print_range(r->p, &r->t->time[node], r->unit_ns);
    ar_print("\n");
}

/* ---- what is not there, and what marks mean --------------------------------------------------- */

size_t ar_report_count_notes(const struct ar_report *r)
{
    struct ar_marks_shown marks = ar_report_walk(r, r->n_rows, NULL, NULL).marks;

    return 1 + ar_count_marks(&marks);
}

void ar_report_tree(const struct ar_report *r, size_t n_rows, size_t n_notes)
{
    struct ar_label_columns columns = ar_tree_columns(r);
    char heads[64];

    snprintf(heads, sizeof heads, " %8s %8s%s", "total", "self", ar_range_head(r));
    ar_print_title(columns, "Where the time goes", r->unit, heads);

    struct ar_tree_rows rows = ar_report_walk(r, n_rows, print_row, &columns);

    if (n_notes == 0)
        return;
    snprintf(heads, sizeof heads, "%s%s%s%s", rows.has_hot ? "* hot path" : "",
             rows.has_hot && rows.has_hot_line ? "   " : "",
             rows.has_hot_line ? ">N hottest line" : "",
             (rows.has_hot || rows.has_hot_line) && rows.n_cut ? "   " : "");
    ar_print_more(rows.n_cut, "more call path", "more call paths", heads);
    if (n_notes > 1)
        ar_print_marks(&rows.marks);
}
