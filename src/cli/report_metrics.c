// SPDX-License-Identifier: BSD-3-Clause
/* What was counted in functions and regions, beside their time. */
#include "cli/figures_text.h"
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

/* Names are shorter than in the tree, for the metrics. */
#define NAME_COLUMNS 19
#define PLACE_COLUMNS 14
#define TIME_COLUMNS 9

struct list {
    const struct ar_report *r;
    const struct ar_by_function *f;
    const struct ar_figure_items *items;
    struct ar_figure_columns columns;
    uint32_t *functions;
    size_t n;
    struct ar_marks_shown marks;
};

static const struct ar_by_function *sorting;

static int longest_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double tx = sorting->sums[x].time.sum, ty = sorting->sums[y].time.sum;

    if (tx != ty)
        return tx < ty ? 1 : -1;
    return (x > y) - (x < y);
}

/* Functions that have a metric, each once. The root is no function of the program. */
static enum ar_status find(struct list *l, const struct ar_report *r, size_t first)
{
    size_t n_label = NAME_COLUMNS + PLACE_COLUMNS + 3 + TIME_COLUMNS;
    const struct ar_figures *figures = ar_run_figures(r->run, r->form);

    *l = (struct list){.r = r,
                       .f = ar_run_functions(r->run, r->form),
                       .items = ar_run_function_figures(r->run, r->form)};
    if (!figures || !l->f || !l->items ||
        ar_figure_columns_find(&l->columns, figures, first,
                               r->n_columns > n_label ? r->n_columns - n_label : 0) < 0)
        return AR_NOMEM;
    l->functions = calloc(l->items->n + 1, sizeof *l->functions);
    if (!l->functions) {
        ar_figure_columns_free(&l->columns);
        return AR_NOMEM;
    }
    for (size_t i = 0; i < l->items->n; i++)
        if (l->items->list[i].id != r->p->nodes[0].function &&
            (!l->n || l->functions[l->n - 1] != l->items->list[i].id))
            l->functions[l->n++] = l->items->list[i].id;
    sorting = l->f;
    qsort(l->functions, l->n, sizeof *l->functions, longest_first);
    return AR_OK;
}

static void free_list(struct list *l)
{
    ar_figure_columns_free(&l->columns);
    free(l->functions);
}

static void print_title(const struct list *l, struct ar_label_columns columns)
{
    ar_print("\n%s", ar_bold());
    ar_print_fit("Metrics", columns.name + 1, AR_KEEP_START);
    ar_print("%s ", ar_plain());
    ar_print_fit(l->r->unit, columns.place, AR_KEEP_START);
    ar_print(" %8s", "total");
    ar_print_figure_heads(&l->columns);
    ar_print("\n");
}

/* "3 more functions, 2 more metrics: allranks counters heat.allranks" */
static void print_rest(const struct list *l, size_t n_rows)
{
    size_t n_functions = n_rows < l->n ? l->n - n_rows : 0;
    size_t n_metrics = l->columns.f->n - l->columns.n;

    if (!n_functions && !n_metrics)
        return;
    ar_print(" %s", ar_dim());
    if (n_functions)
        ar_print("%s%s", ar_show_items(n_functions, "more function", "more functions"),
                 n_metrics ? ", " : "");
    if (n_metrics)
        ar_print("%s", ar_show_items(n_metrics, "more metric", "more metrics"));
    ar_print(": allranks counters %s%s\n", ar_quote(l->r->path), ar_plain());
}

static void print_rows(struct list *l, size_t n_rows)
{
    struct ar_label_columns columns = {NAME_COLUMNS, PLACE_COLUMNS};

    print_title(l, columns);
    for (size_t i = 0; i < l->n && i < n_rows; i++) {
        const struct ar_spread *time = &l->f->sums[l->functions[i]].time;

        ar_print_function_label(l->r, columns, l->f, l->functions[i]);
        ar_print(" %8s", ar_show_mean(time, l->r->p->n_roots, l->r->unit_ns, &l->marks));
        ar_print_figures(&l->columns, l->items, l->functions[i], l->r->unit_ns);
        ar_print("\n");
    }
}

enum ar_status ar_report_count_metrics(const struct ar_report *r, size_t *n)
{
    struct list l;

    *n = 0;
    if (find(&l, r, 0) < 0)
        return AR_NOMEM;
    *n = l.n;
    free_list(&l);
    return AR_OK;
}

enum ar_status ar_report_metrics(const struct ar_report *r, size_t n_rows)
{
    struct list l;

    if (find(&l, r, 0) < 0)
        return AR_NOMEM;
    if (l.n && n_rows) {
        print_rows(&l, n_rows);
        ar_print_figure_doubt(r->p);
        print_rest(&l, n_rows);
    }
    free_list(&l);
    return AR_OK;
}

/* One table below the other, each with the metrics that it has room for. */
enum ar_status ar_report_all_metrics(const struct ar_report *r, size_t n_rows)
{
    size_t first = 0, n_most = n_rows ? n_rows : SIZE_MAX; /* 0: all */
    struct list l;

    do {
        if (find(&l, r, first) < 0)
            return AR_NOMEM;
        print_rows(&l, n_most);
        if (n_most < l.n)
            ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(),
                     ar_show_items(l.n - n_most, "more function", "more functions"), ar_plain());
        first += l.columns.n;
        if (first >= l.columns.f->n)
            ar_print_figure_doubt(r->p);
        free_list(&l);
    } while (first < ar_run_figures(r->run, r->form)->n);
    return AR_OK;
}
