// SPDX-License-Identifier: BSD-3-Clause
/*
 * tables_json: tables as JSON, schema version 2. docs/json.md describes it.
 *
 * A row is an object, and a group of columns is an object in it; a table is an array of rows, or one object where it never has more
 * than one. Lines of a table are short: one row a line.
 *
 *     struct ar_json j = {.out = &bytes};
 *     ar_json_begin(&j, "report");
 *     status = ar_json_table(&j, ar_run_subject(run), "functions", NULL);
 *     ar_json_end(&j);
 */
#pragma once

#include "export/json.h"
#include "run/tables.h"

/* Opens the object: "schema", "command". */
void ar_json_begin(struct ar_json *j, const char *command);
/* Closes it, with the end of the line. */
void ar_json_end(struct ar_json *j);
/* The members "facts" and "selection", which every object about a run has. */
void ar_json_about(struct ar_json *j, struct ar_run *run);
/* `key` is "facts", or NULL in an array. */
void ar_json_facts(struct ar_json *j, const char *key, const struct ar_profile *p);
/* Null for all of it. */
void ar_json_selection(struct ar_json *j, const struct ar_selection *s);
/* The member of that name. `rows`: only these, in that order; NULL: as the table has them. AR_NOMEM: it is not there. */
AR_MUST_CHECK enum ar_status ar_json_table(struct ar_json *j, const struct ar_subject *of,
                                           const char *name, const struct ar_shown_rows *rows);
/* Several, up to NULL. */
AR_MUST_CHECK enum ar_status ar_json_tables(struct ar_json *j, const struct ar_subject *of,
                                            const char *const *names);
/* The member "other_tables": an object of tables that came with the file and that this program does not know. */
AR_MUST_CHECK enum ar_status ar_json_other_tables(struct ar_json *j, struct ar_run *run);
