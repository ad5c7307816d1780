// SPDX-License-Identifier: BSD-3-Clause
#include "cli/shown.h"

#include "cli/screen.h"
#include "export/tables_csv.h"
#include "export/tables_json.h"

const char *const ar_json_versions[] = {[AR_JSON_2] = "2", [AR_JSON_1] = "1", NULL};

static int print_bytes(struct ar_bytes *bytes, enum ar_status made)
{
    int status =
        made < 0 || bytes->bad ? ar_complain("out of memory") : ar_write_output("-", bytes);

    ar_bytes_free(bytes);
    return status;
}

int ar_print_json(struct ar_json *j, enum ar_status made)
{
    return print_bytes(j->out, made);
}

int ar_print_csv(struct ar_csv *csv)
{
    return print_bytes(&csv->out, AR_OK);
}

int ar_print_tables(struct ar_run *run, const char *command, const char *const *names)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, command);
    ar_json_about(&j, run);
    status = ar_json_tables(&j, ar_run_subject(run), names);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

int ar_print_table(const struct ar_subject *of, const char *name, const struct ar_shown_rows *rows)
{
    struct ar_csv csv = {0};

    if (ar_csv_table(&csv, of, name, rows) < 0)
        csv.out.bad = true;
    return ar_print_csv(&csv);
}
