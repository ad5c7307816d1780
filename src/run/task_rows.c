// SPDX-License-Identifier: BSD-3-Clause
#include "run/task_rows.h"

#include "run/parts.h"

#include <stdlib.h>

static int longest_first(const void *a, const void *b)
{
    const struct ar_task_row *x = a, *y = b;

    if (x->sums->time.mean != y->sums->time.mean)
        return x->sums->time.mean < y->sums->time.mean ? 1 : -1;
    return (x->function > y->function) - (x->function < y->function);
}

static bool is_task(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind == AR_FUNCTION_TASK;
}

/* Most runs have no tasks, and need not be summed up by function for this. */
static bool has_tasks(const struct ar_profile *p)
{
    for (uint32_t node = 0; node < p->n_nodes; node++)
        if (is_task(p, node))
            return true;
    return false;
}

/* First at the index of their function; then those with steps at the front, sorted. */
static enum ar_status find_tasks(struct ar_form *f, const struct ar_by_function *by)
{
    const struct ar_profile *p = f->p;
    struct ar_task_row *rows = calloc(p->n_functions + 1, sizeof *rows);

    if (!rows)
        return AR_NOMEM;
    for (uint32_t node = 0; by && node < p->n_nodes; node++)
        if (is_task(p, node)) {
            uint32_t function = p->nodes[node].function;

            rows[function].function = function;
            rows[function].node = node;
            rows[function].awaited_ns += f->totals.awaited_ns[node];
            rows[function].sums = &by->sums[function];
        }
    f->n_tasks = 0;
    for (size_t i = 0; i < p->n_functions; i++)
        if (rows[i].sums && rows[i].sums->n_calls)
            rows[f->n_tasks++] = rows[i];
    qsort(rows, f->n_tasks, sizeof *rows, longest_first);
    f->tasks = rows;
    return AR_OK;
}

const struct ar_task_row *ar_run_tasks(struct ar_run *run, enum ar_tree_form form, size_t *n)
{
    struct ar_form *f = ar_run_form(run, form);
    bool any = f && !f->tasks && has_tasks(f->p);
    const struct ar_by_function *by = any ? ar_run_functions(run, form) : NULL;

    *n = 0;
    if (!f || (any && !by) || (!f->tasks && find_tasks(f, by) < 0))
        return NULL;
    *n = f->n_tasks;
    return f->tasks;
}
