// SPDX-License-Identifier: BSD-3-Clause
/*
 * shown: tables on standard output, as JSON or as CSV; and the option --json, which is the same in every command.
 *
 *     int json = AR_NO_JSON;
 *     const struct ar_option options[] = {AR_JSON_OPTION(&json, "everything"), …};
 *     static const char *const tables[] = {"run", "processes", NULL};
 *     return ar_print_tables(run, "info", tables);
 */
#pragma once

#include "cli/options.h"
#include "export/csv.h"
#include "export/json.h"
#include "run/tables.h"

/* Version 1 is that of programs which were written before tables had one name everywhere: docs/json.md. */
enum ar_json_version { AR_NO_JSON = -1, AR_JSON_2, AR_JSON_1 };
extern const char *const ar_json_versions[];
#define AR_JSON_OPTION(target, what)                                                               \
    {                                                                                              \
        .name = "json", .kind = AR_OPTION_MAYBE, .to = (target), .choices = ar_json_versions,      \
        .help = what ", for programs; --json=1: as earlier versions had it"                        \
    }

/* All of them return an exit status, and free what they print. `made` is how making it went. */
int ar_print_json(struct ar_json *j, enum ar_status made);
int ar_print_csv(struct ar_csv *csv);
/* The whole answer of a command about a run: these tables, up to NULL. */
int ar_print_tables(struct ar_run *run, const char *command, const char *const *names);
/* `rows`: see ar_csv_table. */
int ar_print_table(const struct ar_subject *of, const char *name, const struct ar_shown_rows *rows);
