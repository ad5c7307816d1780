// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

static int longest_first(const void *a, const void *b)
{
    double x = ((const struct ar_task_row *)a)->ns, y = ((const struct ar_task_row *)b)->ns;

    return (x < y) - (x > y);
}

/* A task that runs within one of its name, as eager ones do: that one's time has its time. */
static bool is_within_its_like(const struct ar_profile *p, uint32_t node)
{
    uint32_t function = p->nodes[node].function;

    for (node = p->nodes[node].parent; node != AR_NO_ID; node = p->nodes[node].parent)
        if (p->nodes[node].function == function)
            return true;
    return false;
}

static void add_task(const struct ar_report *r, uint32_t node, struct ar_task_row *row)
{
    row->node = node;
    row->n_steps += r->t->n_calls[node];
    row->awaited_ns += r->t->awaited_ns[node];
    if (!is_within_its_like(r->p, node))
        row->ns += r->t->time[node].mean;
}

/* At the index of their function first, then those that are there in front. */
enum ar_status ar_report_find_tasks(const struct ar_report *r, struct ar_task_row **out, size_t *n)
{
    struct ar_task_row *rows = calloc(r->p->n_functions + 1, sizeof *rows);

    *out = rows;
    *n = 0;
    if (!rows)
        return AR_NOMEM;
    for (uint32_t node = 0; node < r->p->n_nodes; node++)
        if (ar_is_kind(r->p, node, AR_FUNCTION_TASK))
            add_task(r, node, &rows[r->p->nodes[node].function]);
    for (size_t i = 0; i < r->p->n_functions; i++)
        if (rows[i].n_steps)
            rows[(*n)++] = rows[i];
    qsort(rows, *n, sizeof *rows, longest_first);
    return AR_OK;
}

void ar_report_tasks(const struct ar_report *r, const struct ar_task_row *rows, size_t n_rows)
{
    struct ar_label_columns columns = ar_tree_columns(r);

    if (n_rows)
        ar_print_title(columns, "asyncio tasks", r->unit, "    steps  running   awaited");
    for (size_t i = 0; i < n_rows; i++) {
        ar_print_label(r, columns, rows[i].node, 0, ' ');
        ar_print(" %8s %8s %9s\n", ar_show_count(rows[i].n_steps),
                 ar_show_time(rows[i].ns, r->unit_ns),
                 ar_show_time((double)rows[i].awaited_ns / (double)r->p->n_roots, r->unit_ns));
    }
}
