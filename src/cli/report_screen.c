// SPDX-License-Identifier: BSD-3-Clause
#include "cli/figures_text.h"
#include "cli/layout.h"
#include "cli/mpi_text.h"
#include "cli/report.h"
#include "cli/screen.h"

#define IMBALANCE_ROWS 3
#define TASK_ROWS 5
#define MPI_ROWS 3
#define METRIC_ROWS 4

/* As `allranks mpi` has them: a method of mpi4py stands for the calls that it makes. */
static void print_mpi(const struct ar_report *r, const struct ar_mpi_row *rows, size_t n_rows)
{
    struct ar_label_columns columns = ar_tree_columns(r);

    if (n_rows)
        ar_print_title(columns, "MPI", r->unit, "    calls     time       out        in");
    for (size_t i = 0; i < n_rows; i++) {
        ar_print(" ");
        ar_print_fit(rows[i].name, columns.name, AR_KEEP_START);
        ar_print(" ");
        ar_print_fit(ar_show_place(r->p, rows[i].node), columns.place, AR_KEEP_END);
        ar_print(" %8s %8s %9s %9s\n", ar_show_short_count(rows[i].n_calls, 8),
                 ar_show_time(rows[i].time.mean, r->unit_ns), ar_show_bytes(rows[i].bytes_out),
                 ar_show_bytes(rows[i].bytes_in));
    }
}

static size_t at_most(const struct ar_report *r, size_t n, size_t most)
{
    return r->n_rows && n > most ? most : n;
}

int ar_report_screen(struct ar_report *r, const struct ar_mpi_row *mpi, size_t n_mpi,
                     size_t n_lines)
{
    size_t n_tasks, n_metrics;
    const struct ar_task_row *tasks = ar_run_tasks(r->run, r->form, &n_tasks);

    if (!tasks || ar_report_count_metrics(r, &n_metrics) < 0)
        return ar_complain("out of memory");

    struct ar_layout l = {.n_lines = n_lines,
                          .n_imbalance = ar_report_count_imbalance(r, IMBALANCE_ROWS),
                          .n_tree = r->n_rows,
                          .n_notes = ar_report_count_notes(r),
                          .n_tasks = at_most(r, n_tasks, TASK_ROWS),
                          .n_mpi = at_most(r, n_mpi, MPI_ROWS),
                          .n_metrics = at_most(r, n_metrics, METRIC_ROWS)};

    l.n_lines += n_metrics && ar_has_figure_doubt(r->p);
    if (r->fits)
        ar_layout_fit(&l);
    ar_report_imbalance(r, l.n_imbalance);
    ar_report_tree(r, l.n_tree, l.n_notes);
    ar_report_tasks(r, tasks, l.n_tasks);
    if (ar_report_metrics(r, l.n_metrics) < 0)
        return ar_complain("out of memory");
    print_mpi(r, mpi, l.n_mpi);
    return AR_EXIT_OK;
}
