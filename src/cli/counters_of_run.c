// SPDX-License-Identifier: BSD-3-Clause
#include "cli/counters_of_run.h"

#include "cli/figures_text.h"
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

static int print_json(struct ar_run *run)
{
    static const char *const tables[] = {"run", "metrics", "derived_metrics", "function_metrics",
                                         NULL};

    return ar_print_tables(run, "counters", tables);
}

static int complain_nothing(const struct ar_profile *p, const char *path)
{
    if (*ar_profile_fact_text(p, "counters"))
        return ar_complain(
            "%s: nothing was counted in it: there was no region, and no function that "
            "--counters-at names (try: --counters-at 'FILE.py:*')",
            path);
    return ar_complain("%s: nothing was counted in it (record with: allranks run --counters NAMES; "
                       "allranks counters lists them)",
                       path);
}

/* The head of a report, and its table of metrics with all of them. */
static int print_screen(struct ar_run *run, const struct ar_counters_choice *choice)
{
    struct ar_report r = {.run = run,
                          .form = AR_FORM_FOLDED,
                          .path = choice->path,
                          .selection = choice->selection,
                          .n_columns = ar_screen_columns()};
    size_t n;

    r.p = ar_run_profile(run, r.form);
    r.t = ar_run_totals(run, r.form);
    if (!r.p || !r.t || ar_report_count_metrics(&r, &n) < 0)
        return ar_complain("out of memory");
    if (n == 0)
        return complain_nothing(r.p, choice->path);
    ar_report_choose_unit(&r);
    ar_report_head(&r);
    return ar_report_all_metrics(&r, choice->n_rows) < 0 ? ar_complain("out of memory")
                                                         : AR_EXIT_OK;
}

int ar_counters_of_run(const struct ar_counters_choice *choice)
{
    struct ar_run *run;
    int status = ar_open_run(&run, &(struct ar_run_choice){.path = choice->path,
                                                           .selection = &choice->selection,
                                                           .metrics = &choice->metrics,
                                                           .form = choice->json || choice->csv
                                                                       ? AR_FORM_RECORDED
                                                                       : AR_FORM_FOLDED});

    if (status >= 0)
        return status;
    if (choice->json)
        status = print_json(run);
    else if (choice->csv)
        status = ar_print_table(ar_run_subject(run), "function_metrics", NULL);
    else
        status = print_screen(run, choice);
    ar_run_close(run);
    return status;
}
