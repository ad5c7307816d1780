// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

/* Rows of a table, in the order in which the screen has them. */
struct rows {
    uint32_t *numbers;
    size_t n;
};

static int print_rows(const struct ar_report *r, const char *table, const struct rows *rows)
{
    return ar_print_table(ar_run_subject(r->run), table,
                          &(struct ar_shown_rows){.numbers = rows->numbers, .n = rows->n});
}

static void add_node(const struct ar_report *r, uint32_t node, size_t depth, void *context)
{
    struct rows *rows = context;

    (void)r;
    (void)depth;
    rows->numbers[rows->n++] = node;
}

static int print_tree(const struct ar_report *r)
{
    struct rows rows = {.numbers = malloc((r->p->n_nodes + 1) * sizeof *rows.numbers)};
    int status;

    if (!rows.numbers)
        return ar_complain("out of memory");
    ar_report_walk(r, r->fits ? 0 : r->n_rows, add_node, &rows);
    status = print_rows(r, "tree", &rows);
    free(rows.numbers);
    return status;
}

static int print_functions(const struct ar_report *r)
{
    const struct ar_by_function *f = ar_run_functions(r->run, r->form);
    struct rows rows = {0};
    size_t n, n_most;
    int status;

    if (!f || ar_report_list(r, f, AR_SORT_SELF, &rows.numbers, &n) < 0)
        return ar_complain("out of memory");
    n_most = r->fits || !r->n_rows ? n : r->n_rows;
    for (size_t i = 0; i < n && rows.n < n_most; i++)
        if ((double)f->sums[rows.numbers[i]].time.max >= r->min_share * r->t->mean_wall_ns)
            rows.numbers[rows.n++] = rows.numbers[i];
    status = print_rows(r, "functions", &rows);
    free(rows.numbers);
    return status;
}

int ar_report_csv(struct ar_report *r)
{
    return r->functions || r->t->of_pairs ? print_functions(r) : print_tree(r);
}
