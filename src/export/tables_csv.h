// SPDX-License-Identifier: BSD-3-Clause
/*
 * tables_csv: a table as CSV: a line of names, then a line for each row. docs/tables.md has the names.
 *
 *     struct ar_csv csv = {0};
 *     if (ar_csv_table(&csv, ar_run_subject(run), "functions", NULL) < 0) ...
 */
#pragma once

#include "export/csv.h"
#include "run/tables.h"

/* `rows`: only these, in that order; NULL: as the table has them. */
AR_MUST_CHECK enum ar_status ar_csv_table(struct ar_csv *csv, const struct ar_subject *of,
                                          const char *name, const struct ar_shown_rows *rows);
