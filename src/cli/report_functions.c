// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/imbalance.h"
#include "cli/figures_text.h"
#include "cli/layout.h"
#include "cli/mpi_text.h"
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

#define IMBALANCE_ROWS 3

/* ---- order ------------------------------------------------------------------------------------ */

struct ordered {
    double key, then;
    uint32_t function;
};

static int largest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    if (x->then != y->then)
        return x->then < y->then ? 1 : -1;
    return (x->function > y->function) - (x->function < y->function);
}

static struct ordered order_of(const struct ar_report *r, const struct ar_by_function *f,
                               uint32_t function, enum ar_report_sort by_default,
                               const double *names)
{
    const struct ar_function_sums *s = &f->sums[function];
    enum ar_report_sort sort = r->sort < 0 ? by_default : (enum ar_report_sort)r->sort;
    const struct ar_spread *range = by_default == AR_SORT_SELF ? &s->self : &s->time;

    return (struct ordered){
        .key = names ? names[function]
                     : ar_sort_key(sort, s->time.sum, s->self.sum, s->n_calls, range),
        .then = s->time.sum,
        .function = function};
}

/* The root is no function of the program, but it calls some. */
static bool is_listed(const struct ar_report *r, const struct ar_by_function *f, uint32_t function,
                      enum ar_report_sort by_default)
{
    const struct ar_function_sums *s = &f->sums[function];

    return (s->n_calls || s->time.max) &&
           (by_default != AR_SORT_SELF || function != r->p->nodes[0].function);
}

enum ar_status ar_report_list(const struct ar_report *r, const struct ar_by_function *f,
                              enum ar_report_sort by_default, uint32_t **functions, size_t *n)
{
    double *names = r->sort == AR_SORT_NAME ? ar_name_keys(r->p) : NULL;
    struct ordered *order = calloc(r->p->n_functions + 1, sizeof *order);

    *n = 0;
    *functions = calloc(r->p->n_functions + 1, sizeof **functions);
    if (!order || !*functions || (r->sort == AR_SORT_NAME && !names)) {
        free(*functions);
        *functions = NULL;
    } else {
        for (uint32_t i = 0; i < r->p->n_functions; i++)
            if (is_listed(r, f, i, by_default))
                order[(*n)++] = order_of(r, f, i, by_default, names);
        qsort(order, *n, sizeof *order, largest_first);
        for (size_t i = 0; i < *n; i++)
            (*functions)[i] = order[i].function;
    }
    free(order);
    free(names);
    return *functions ? AR_OK : AR_NOMEM;
}

/* ---- rows ------------------------------------------------------------------------------------- */

struct list {
    const struct ar_report *r;
    const struct ar_by_function *f;
    uint32_t *functions;
    size_t n, n_metrics;
    struct ar_marks_shown marks;
};

static const struct ar_function_sums *sums_of(const struct list *l, size_t row)
{
    return &l->f->sums[l->functions[row]];
}

static void print_name(const struct list *l, size_t row)
{
    ar_print_function_label(l->r, ar_list_columns(l->r), l->f, l->functions[row]);
}

static void print_title(const struct list *l, const char *title, const char *a, const char *b,
                        const char *c)
{
    char heads[80];

    snprintf(heads, sizeof heads, " %8s %8s %8s%s", a, b, c,
             l->r->p->n_roots > 1 ? " self min-max (rank)" : "");
    ar_print_title(ar_list_columns(l->r), title, l->r->unit, heads);
}

static const char *show_mean(struct list *l, const struct ar_spread *s)
{
    return ar_show_mean(s, l->r->p->n_roots, l->r->unit_ns, &l->marks);
}

static void print_function(struct list *l, size_t row)
{
    const struct ar_function_sums *s = sums_of(l, row);

    print_name(l, row);
    ar_print(" %8s %8s %8s", ar_show_short_count(s->n_calls, 8), show_mean(l, &s->time),
             show_mean(l, &s->self));
    ar_print_range(l->r->p, &s->self, l->r->unit_ns);
    ar_print("\n");
}

static void print_functions(struct list *l, size_t n_rows)
{
    const struct ar_report *r = l->r;
    size_t n_shown = 0;

    print_title(l, "Functions", "calls", "total", "self");
    for (size_t i = 0; i < l->n && (n_rows == 0 || n_shown < n_rows); i++)
        if ((double)sums_of(l, i)->time.max >= r->min_share * r->t->mean_wall_ns) {
            print_function(l, i);
            n_shown++;
        }
    ar_print_more(l->n - n_shown, "more function", "more functions", "");
    ar_print_marks(&l->marks);
}

/* ---- imbalance -------------------------------------------------------------------------------- */

/* What the run would win if the slowest rank were an average one; waiting in MPI is no cause. */
static double gain_ns(const struct list *l, size_t row)
{
    const struct ar_spread *s = &sums_of(l, row)->self;
    bool is_mpi = l->r->p->functions[l->functions[row]].kind == AR_FUNCTION_MPI;

    return is_mpi ? 0 : (double)s->max - s->mean;
}

static size_t next_worst(const struct list *l, double below)
{
    size_t worst = l->n;

    for (size_t i = 0; i < l->n; i++)
        if (gain_ns(l, i) < below && ar_is_uneven(&sums_of(l, i)->self) && gain_ns(l, i) > 0 &&
            gain_ns(l, i) >= l->r->min_share * l->r->t->mean_wall_ns &&
            (worst == l->n || gain_ns(l, i) > gain_ns(l, worst)))
            worst = i;
    return worst;
}

/* Returns how many rows there are. */
static size_t print_imbalance(struct list *l)
{
    double below = 1e300;
    size_t n = 0;

    for (size_t worst; n < IMBALANCE_ROWS && l->r->p->n_roots > 1; n++) {
        worst = next_worst(l, below);
        if (worst == l->n)
            break;
        if (n == 0)
            print_title(l, "Imbalance", "", "max-mean", "self");
        below = gain_ns(l, worst);
        print_name(l, worst);
        ar_print(" %8s %8s %8s", "", ar_show_time(below, l->r->unit_ns),
                 show_mean(l, &sums_of(l, worst)->self));
        ar_print_range(l->r->p, &sums_of(l, worst)->self, l->r->unit_ns);
        ar_print("\n");
    }
    return n;
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* The list of a run has a screen to itself; that of pstats files is the report, as ever ten rows. */
static size_t rows_that_fit(struct list *list, size_t n_lines, size_t n_imbalance)
{
    const struct ar_report *r = list->r;
    struct ar_layout l = {.n_lines = n_lines + (list->n_metrics && ar_has_figure_doubt(r->p)),
                          .n_imbalance = n_imbalance,
                          .n_tree = r->functions ? AR_SCREEN_LINES : r->n_rows,
                          .n_metrics = list->n_metrics,
                          .n_notes = 1};

    for (size_t i = 0; i < list->n && l.n_notes == 1; i++)
        l.n_notes += sums_of(list, i)->self.doubt.marks != 0;

    if (!r->fits)
        return r->n_rows;
    ar_layout_fit(&l);
    list->n_metrics = l.n_metrics;
    return l.n_tree;
}

int ar_report_functions(struct ar_report *r, size_t n_lines)
{
    struct list l = {.r = r, .f = ar_run_functions(r->run, r->form)};
    int status = AR_EXIT_OK;

    if (!l.f || ar_report_list(r, l.f, AR_SORT_SELF, &l.functions, &l.n) < 0 ||
        ar_report_count_metrics(r, &l.n_metrics) < 0) {
        status = ar_complain("out of memory");
    } else {
        size_t n_imbalance = r->functions ? 0 : print_imbalance(&l);

        print_functions(&l, rows_that_fit(&l, n_lines, n_imbalance));
        if (ar_report_metrics(r, l.n_metrics) < 0)
            status = ar_complain("out of memory");
    }
    free(l.functions);
    return status;
}
