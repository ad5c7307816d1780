// SPDX-License-Identifier: BSD-3-Clause
/*
 * other_tables: stored tables that came with a file and that this program does not know, as tables to show.
 *
 * A later version may have recorded them. Their columns say by roles what numbers refer to (format/column.h), so they are shown
 * as other tables are:
 *
 *     number      as it is
 *     node        node, function, file, line      number, and where it was called, as in tree
 *     location    thread, rank                    row of threads
 *     process     process, rank, pid              row of processes
 *     function    function, function_id           name and number
 *     string      text
 *     comm        communicator                    row of communicators
 *
 * The first of them has the name of the stored column. The others have the names above where the stored column is named after its
 * role, else with the stored name before them: `posted`, `posted_function`. So has a name that another column has already: `node_line`.
 * Columns and tables of equal names become NAME_2.
 *
 * Life cycle: made on first use, for the form that tables show, and kept with the run.
 *
 *     size_t n;
 *     const struct ar_other_table *others = ar_run_other_tables(run, &n);
 *     if (!others) ...
 *     status = ar_shown_prepare(&others[0].shown, &others[0].subject, &rows);
 */
#pragma once

#include "run/tables.h"

struct ar_other_cells;

struct ar_other_table {
    struct ar_shown_table shown; /* its name is that of the stored table, or NAME_2 */
    struct ar_subject subject;   /* to read it with: the run, and this table */
    const struct ar_table *stored;
    struct ar_other_cells *cells; /* by column: how it is read */
};

/* NULL: no memory. */
const struct ar_other_table *ar_run_other_tables(struct ar_run *run, size_t *n);
/* NULL: there is none of that name, or no memory. */
const struct ar_other_table *ar_run_other_table(struct ar_run *run, const char *name);
