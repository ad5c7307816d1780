// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

void ar_report_tasks(const struct ar_report *r, const struct ar_task_row *rows, size_t n_rows)
{
    struct ar_label_columns columns = ar_tree_columns(r);

    if (n_rows)
        ar_print_title(columns, "asyncio tasks", r->unit, "    steps  running   awaited");
    for (size_t i = 0; i < n_rows; i++) {
        ar_print_label(r, columns, rows[i].node, 0, ' ');
        ar_print(" %8s %8s %9s\n", ar_show_count(rows[i].sums->n_calls),
                 ar_show_time(rows[i].sums->time.mean, r->unit_ns),
                 ar_show_time((double)rows[i].awaited_ns / (double)r->p->n_roots, r->unit_ns));
    }
}
