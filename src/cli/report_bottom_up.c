// SPDX-License-Identifier: BSD-3-Clause
#include "run/bottom_up_rows.h"

#include "cli/layout.h"
#include "cli/mpi_text.h"
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

#define SCREEN_LEVELS 2 /* functions and their callers: of one screen the most */

struct view {
    struct ar_report *r;
    struct ar_bottom_up b;
    double all_ns;       /* that shares are of, mean over ranks */
    const double *names; /* to sort by; NULL: by something else */
    size_t n_most, n_levels;
    size_t n_shown, n_cut;
    struct ar_marks_shown marks;
};

/* ---- order ------------------------------------------------------------------------------------ */

struct ordered {
    double key;
    size_t row;
};

static int largest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* They are sorted by self time already. Only keys that differ from rank to rank need values. */
static double key_of(struct view *v, const struct ar_bottom_row *row)
{
    enum ar_report_sort sort = (enum ar_report_sort)v->r->sort;
    struct ar_spread s = {0};

    if (v->names)
        return v->names[row->function];
    if (sort == AR_SORT_MAX || sort == AR_SORT_IMBALANCE)
        s = ar_bottom_up_spread(&v->b, row);
    return ar_sort_key(sort, row->self_ns, row->self_ns, row->n_calls, &s);
}

static struct ordered *order_level(struct view *v, const struct ar_level *level)
{
    struct ordered *order = malloc((level->n_rows + 1) * sizeof *order);

    for (size_t i = 0; order && i < level->n_rows; i++)
        order[i] = (struct ordered){v->r->sort < 0 ? 0 : key_of(v, &level->rows[i]), i};
    if (order)
        qsort(order, level->n_rows, sizeof *order, largest_first);
    return order;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static const char *show_place(const struct ar_report *r, const struct ar_bottom_row *row)
{
    for (size_t i = 0; i < row->n_ways; i++)
        if (!ar_have_one_place(r->p, row->node, row->ways[i].at))
            return AR_SEVERAL_PLACES;
    return ar_show_place(r->p, row->node);
}

static void print_row(struct view *v, const struct ar_bottom_row *row, size_t depth,
                      const struct ar_spread *s)
{
    const struct ar_report *r = v->r;
    double share = v->all_ns > 0 ? row->self_ns / v->all_ns : 0;

    ar_print_label_at(r, ar_tree_columns(r), row->node, depth, ' ', show_place(r, row));
    ar_mark_shown(&v->marks, s->doubt, r->p->n_roots);
    ar_print(" %8s %8s", ar_show_doubted(s->doubt, row->self_ns, r->unit_ns),
             ar_show_percent(share));
    ar_print_range(r->p, s, r->unit_ns);
    ar_print("\n");
}

static bool is_worth_a_row(const struct view *v, const struct ar_bottom_row *row)
{
    return row->self_ns >= v->r->min_share * v->all_ns;
}

static enum ar_status show_level(struct view *v, const struct ar_level *level, size_t depth);

static enum ar_status show_row(struct view *v, const struct ar_bottom_row *row, size_t depth)
{
    struct ar_spread s;
    struct ar_level below;
    enum ar_status status = AR_OK;

    if (!is_worth_a_row(v, row) || (v->n_most && v->n_shown == v->n_most)) {
        v->n_cut += depth == 0;
        return AR_OK;
    }
    s = ar_bottom_up_spread(&v->b, row);
    print_row(v, row, depth, &s);
    v->n_shown++;
    if (depth + 1 >= v->n_levels)
        return AR_OK;
    status = ar_bottom_up_below(&v->b, row, &below);
    if (status == AR_OK)
        status = show_level(v, &below, depth + 1);
    ar_level_free(&below);
    return status;
}

static enum ar_status show_level(struct view *v, const struct ar_level *level, size_t depth)
{
    struct ordered *order = order_level(v, level);
    enum ar_status status = order ? AR_OK : AR_NOMEM;

    for (size_t i = 0; i < level->n_rows && status == AR_OK; i++)
        status = show_row(v, &level->rows[order[i].row], depth);
    free(order);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static enum ar_status show(struct view *v)
{
    double *names = v->r->sort == AR_SORT_NAME ? ar_name_keys(v->r->p) : NULL;
    struct ar_level top;
    enum ar_status status = v->r->sort == AR_SORT_NAME && !names ? AR_NOMEM : AR_OK;

    v->names = names;
    if (status == AR_OK)
        status = ar_bottom_up_open(&v->b, v->r->p, v->r->t, &top);
    if (status == AR_OK) {
        v->all_ns = ar_bottom_up_whole(v->r->t, &top);
        status = show_level(v, &top, 0);
        ar_level_free(&top);
        ar_bottom_up_close(&v->b);
    }
    free(names);
    return status;
}

static void print_title(const struct ar_report *r)
{
    char heads[64];

    snprintf(heads, sizeof heads, " %8s %8s%s", "self", "share", ar_range_head(r));
    ar_print_title(ar_tree_columns(r), "Self time, by callers", r->unit, heads);
}

static size_t levels_of(const struct ar_report *r)
{
    if (r->n_levels == SIZE_MAX && r->fits)
        return SCREEN_LEVELS;
    return r->n_levels && r->n_levels < AR_BOTTOM_UP_LEVELS ? r->n_levels : AR_BOTTOM_UP_LEVELS;
}

/* Somewhere: then there is a line more below the table. */
static bool has_marks(const struct ar_report *r)
{
    for (uint32_t i = 0; i < r->p->n_nodes; i++)
        if (r->t->self[i].doubt.marks)
            return true;
    return false;
}

int ar_report_bottom_up(struct ar_report *r, size_t n_lines)
{
    struct ar_layout l = {
        .n_lines = n_lines, .n_tree = AR_SCREEN_LINES, .n_notes = 1 + has_marks(r)};
    struct view v = {.r = r, .n_levels = levels_of(r)};

    ar_layout_fit(&l);
    v.n_most = r->fits ? l.n_tree : r->n_rows;
    print_title(r);
    if (show(&v) < 0)
        return ar_complain("out of memory");
    ar_print_more(v.n_cut, "more function", "more functions", "");
    ar_print_marks(&v.marks);
    return AR_EXIT_OK;
}

/* ---- as CSV ----------------------------------------------------------------------------------- */

/* Rows of the table, with the rows of a level sorted as was asked for. */
struct sorting {
    const struct ar_report *r;
    const struct ar_bottom_up_row *rows;
    const double *names; /* to sort by; NULL: by something else */
    uint32_t *numbers;
    size_t n;
};

static double key_of_row(const struct sorting *s, const struct ar_bottom_up_row *row)
{
    if (s->names)
        return s->names[row->function];
    return ar_sort_key((enum ar_report_sort)s->r->sort, row->self.mean, row->self.mean,
                       row->n_calls, &row->self);
}

/* Those from `first` to `end` that are on one level, each with the rows below it. */
static enum ar_status sort_rows(struct sorting *s, size_t first, size_t end)
{
    struct ordered *order = malloc((end - first + 1) * sizeof *order);
    enum ar_status status = order ? AR_OK : AR_NOMEM;
    size_t n = 0;

    for (size_t i = first; order && i < end; i += 1 + s->rows[i].n_below)
        order[n++] = (struct ordered){s->r->sort < 0 ? 0 : key_of_row(s, &s->rows[i]), i};
    if (order)
        qsort(order, n, sizeof *order, largest_first);
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        size_t row = order[i].row;

        s->numbers[s->n++] = (uint32_t)row;
        if (s->rows[row].n_below)
            status = sort_rows(s, row + 1, row + 1 + s->rows[row].n_below);
    }
    free(order);
    return status;
}

int ar_report_bottom_up_csv(struct ar_report *r)
{
    size_t n = 0;
    double *names = r->sort == AR_SORT_NAME ? ar_name_keys(r->p) : NULL;
    struct sorting s = {.r = r, .rows = ar_run_bottom_up(r->run, &n), .names = names};
    int status;

    s.numbers = malloc((n + 1) * sizeof *s.numbers);
    if (!s.rows || !s.numbers || (r->sort == AR_SORT_NAME && !names) || sort_rows(&s, 0, n) < 0) {
        status = ar_complain("out of memory");
    } else {
        if (!r->fits && r->n_rows && r->n_rows < s.n)
            s.n = r->n_rows;
        status = ar_print_table(ar_run_subject(r->run), "bottom_up",
                                &(struct ar_shown_rows){.numbers = s.numbers, .n = s.n});
    }
    free(s.numbers);
    free(names);
    return status;
}
