// SPDX-License-Identifier: BSD-3-Clause
/*
 * task_rows: the asyncio tasks of a run, by name.
 *
 * All tasks of a name are one row, in whatever call paths they run. Steps and times are those of the function of that name:
 * an eager task that runs within a task of the same name counts once.
 *
 *     size_t n;
 *     const struct ar_task_row *rows = ar_run_tasks(run, AR_FORM_FOLDED, &n);
 *     if (!rows) ...
 */
#pragma once

#include "run/run.h"

struct ar_task_row {
    uint32_t function;
    uint32_t node;       /* one of its nodes */
    uint64_t awaited_ns; /* from the end of a step to the next, of all ranks */
    const struct ar_function_sums *sums;
};

/* The longest first; they live as long as the run. NULL: no memory. */
const struct ar_task_row *ar_run_tasks(struct ar_run *run, enum ar_tree_form form, size_t *n);
