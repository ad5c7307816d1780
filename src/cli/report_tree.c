// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

/* What no chosen rank or thread has is not there. */
static bool is_there(const struct ar_report *r, uint32_t node)
{
    return r->t.time[node].max || r->t.n_calls[node];
}

static bool is_worth_a_row(const struct ar_report *r, uint32_t node)
{
    return (double)r->t.time[node].max >= r->min_share * r->t.mean_wall_ns;
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
    return r->t.first_child[node] != AR_NO_ID &&
           (n_rows == 0 || asked || !ar_is_kind(r->p, node, AR_FUNCTION_IMPORT));
}

/* Depth first, without recursion: trees are as deep as programs recurse. */
struct ar_tree_rows ar_report_walk(const struct ar_report *r, size_t n_rows,
                                   void (*row)(const struct ar_report *r, uint32_t node,
                                               size_t depth, void *context),
                                   void *context)
{
    struct ar_tree_rows rows = {0};
    uint32_t node = r->t.first_child[0];
    size_t depth = 0;

    while (node != AR_NO_ID && node != 0) {
        bool there = is_there(r, node),
             worth = there && (r->is_hot[node] || is_worth_a_row(r, node));

        if (worth && (n_rows == 0 || rows.n_shown < n_rows)) {
            if (row)
                row(r, node, depth, context);
            rows.n_shown++;
            ar_mark_shown(&rows.marks, r->t.time[node].doubt, r->p->n_roots);
            ar_mark_shown(&rows.marks, r->t.self[node].doubt, r->p->n_roots);
            rows.has_hot |= r->is_hot[node];
        } else {
            rows.n_cut += there;
        }
        if (worth && is_opened(r, node, depth, n_rows)) {
            node = r->t.first_child[node];
            depth++;
            continue;
        }
        while (node != 0 && r->t.next_sibling[node] == AR_NO_ID) {
            node = r->p->nodes[node].parent;
            depth--;
        }
        if (node != 0)
            node = r->t.next_sibling[node];
    }
    return rows;
}

static void print_row(const struct ar_report *r, uint32_t node, size_t depth, void *context)
{
    const struct ar_label_columns *columns = context;

    ar_print_label(r, *columns, node, depth, r->is_hot[node] ? '*' : ' ');
    ar_print_mean(r, &r->t.time[node]);
    ar_print_mean(r, &r->t.self[node]);
    ar_print_range(r->p, &r->t.time[node], r->unit_ns);
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
    ar_print_more(rows.n_cut, "more call path", "more call paths",
                  !rows.has_hot ? ""
                  : rows.n_cut  ? "* hot path   "
                                : "* hot path");
    if (n_notes > 1)
        ar_print_marks(&rows.marks);
}
