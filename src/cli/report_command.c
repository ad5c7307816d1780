// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks report: where the time goes and on which rank. The first screen fits 80 columns and 24
 * lines; what is cut from it is said. What the views are, is in report.h.
 */
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/figures_text.h"
#include "cli/findings_text.h"
#include "cli/hang_json.h"
#include "cli/hang_text.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/screen.h"
#include "export/tables_json.h"

#include <getopt.h>
#include <stdlib.h>

static const char usage[] =
    "usage: allranks report [options] RUN|DIR\n"
    "\n"
    "Show what holds the program back, where the time goes, which ranks differ, and what\n"
    "MPI costs: one screen, unless more is asked for. In the tree * marks the hot path: from\n"
    "the top always on to what takes longest, until a function takes more itself.\n"
    "\n"
    "RUN is a run file, a live file, or a file that cProfile has written, whatever its\n"
    "name; 'cpu_*.prof', in quotes, is a run of one rank a file. Files of cProfile have no\n"
    "call paths: their functions are shown instead of the tree.\n";

#define DEFAULT_ROWS 10

static int parse_share(const char *min, double *share)
{
    char *end;

    if (!min)
        return -1;
    *share = strtod(min, &end) / 100;
    if (end == min || *end || !(*share >= 0))
        return ar_complain("--min %s: not a percentage", min);
    return -1;
}

static int parse(int argc, char **argv, struct ar_report *r)
{
    static const char *const trees[] = {"top-down", "bottom-up", NULL};
    static const char *const sorts[] = {"total", "self", "calls", "max", "imbalance", "name", NULL};
    const char *min = NULL;
    const struct ar_option options[] = {
        AR_HEADING("what to show"),
        {.name = "tree",
         .kind = AR_OPTION_CHOICE,
         .to = &r->tree,
         .choices = trees,
         .value = "WAY",
         .help = "top-down (default), or bottom-up: functions by self time, and\n"
                 "below each who called it"},
        {.name = "functions",
         .kind = AR_OPTION_FLAG,
         .to = &r->functions,
         .help = "functions in a list, with all of their callers"},
        {.name = "callers",
         .kind = AR_OPTION_TEXT,
         .to = &r->callers,
         .value = "F",
         .help = "who calls function F, and with which share of its time"},
        {.name = "callees",
         .kind = AR_OPTION_TEXT,
         .to = &r->callees,
         .value = "F",
         .help = "what function F calls, and does itself\n"
                 "F is a name (Solver.step), the end of one, a pattern or FILE:LINE"},
        {.name = "per-rank-text",
         .kind = AR_OPTION_TEXT,
         .to = &r->text,
         .value = "NAME",
         .help = "write a text file for each rank, NAME with {rank} in it, as\n"
                 "pstats.Stats(...).sort_stats('cumulative').print_stats() has it:\n"
                 "--per-rank-text 'cpu_{rank}.txt'; --sort self or calls instead"},
        AR_METRIC_OPTION(&r->metrics),
        AR_HEADING("how much of it"),
        {.name = "sort",
         .kind = AR_OPTION_CHOICE,
         .to = &r->sort,
         .choices = sorts,
         .value = "WHAT",
         .help = "total (default for trees), self (default for lists), calls, max,\n"
                 "imbalance (max-mean), both of what min-max shows, or name"},
        {.name = "depth",
         .kind = AR_OPTION_COUNT,
         .to = &r->n_levels,
         .value = "N",
         .help = "levels of the tree (0: all of them; default: all, from the bottom\n"
                 "up 2 if it is to be one screen)"},
        AR_ROWS_OPTION(&r->n_rows, AR_ROWS_HELP),
        {.name = "min",
         .kind = AR_OPTION_TEXT,
         .to = &min,
         .value = "PERCENT",
         .help = "leave out calls with less of the run's time (default: 1)"},
        AR_CSV_OPTION(&r->csv, "what is shown, for spreadsheets; all rows unless --rows says else"),
        AR_JSON_OPTION(&r->json, "everything"),
        AR_HELP_OPTION,
        AR_SELECTION_OPTIONS(&r->selection),
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status < 0)
        status = parse_share(min, &r->min_share);
    if (status >= 0)
        return status;
    r->fits = r->n_rows == SIZE_MAX;
    r->n_rows = r->fits ? DEFAULT_ROWS : r->n_rows;
    if (r->csv && !min)
        r->min_share = 0;
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, "report RUN");
    r->path = argv[optind];
    return ar_refuse_several_jobs("report", r->path);
}

static enum ar_status sort_children(struct ar_report *r)
{
    const struct ar_totals *t = r->t;
    double *keys = malloc((r->p->n_nodes + 1) * sizeof *keys);
    double *names = r->sort == AR_SORT_NAME ? ar_name_keys(r->p) : NULL;
    enum ar_status status = keys && (names || r->sort != AR_SORT_NAME) ? AR_OK : AR_NOMEM;

    for (uint32_t i = 0; i < r->p->n_nodes && status == AR_OK; i++)
        keys[i] = names ? names[r->p->nodes[i].function]
                        : ar_sort_key((enum ar_report_sort)r->sort, ar_totals_rank(t, r->p, i),
                                      t->self[i].sum, t->n_calls[i], &t->time[i]);
    if (status == AR_OK)
        status = ar_run_order(r->run, r->form, keys);
    free(keys);
    free(names);
    return status;
}

static enum ar_status prepare(struct ar_report *r)
{
    r->p = ar_run_profile(r->run, r->form);
    r->t = ar_run_totals(r->run, r->form);
    r->is_hot = ar_run_hot_path(r->run, r->form);
    if (!r->is_hot)
        return AR_NOMEM;
    return r->sort < 0 ? AR_OK : sort_children(r);
}

/* On one screen half of it is left to the tables. */
#define FINDING_LINES 12

static int print_first_screen(struct ar_report *r, size_t n_lines)
{
    const struct ar_findings *findings = ar_run_findings(r->run);

    r->hot_lines = ar_run_hot_lines(r->run);
    if (!findings || !r->hot_lines)
        return ar_complain("out of memory");
    n_lines += ar_print_efficiency(findings);
    /* Folding leaves out where threads are. */
    n_lines += ar_print_hang(ar_run_profile(r->run, AR_FORM_RECORDED));
    n_lines += ar_print_findings(findings, r->path, r->fits ? FINDING_LINES : 0);
    return ar_report_screen(r, findings->calls, findings->n_calls, n_lines);
}

static int print_report(struct ar_report *r)
{
    size_t n_lines = ar_report_head(r);

    if (r->tree == AR_TREE_BOTTOM_UP)
        return ar_report_bottom_up(r, n_lines);
    if (r->functions || r->t->of_pairs)
        return ar_report_functions(r, n_lines);
    return print_first_screen(r, n_lines);
}

static int print_json(struct ar_report *r)
{
    static const char *const before[] = {"run", "efficiency", NULL};
    static const char *const after[] = {"findings",
                                        "functions",
                                        "tree",
                                        "tasks",
                                        "metrics",
                                        "tree_metrics",
                                        "derived_metrics",
                                        "tree_derived",
                                        "function_metrics",
                                        NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "report");
    ar_json_about(&j, r->run);
    status = ar_json_tables(&j, ar_run_subject(r->run), before);
    ar_json_hang(&j, r->p);
    if (status == AR_OK)
        status = ar_json_tables(&j, ar_run_subject(r->run), after);
    if (status == AR_OK && (r->callers || r->callees))
        status = ar_json_table(&j, ar_run_subject(r->run), "relatives", NULL);
    if (status == AR_OK && r->tree == AR_TREE_BOTTOM_UP)
        status = ar_json_table(&j, ar_run_subject(r->run), "bottom_up", NULL);
    if (status == AR_OK)
        status = ar_json_other_tables(&j, r->run);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

static int show(struct ar_report *r)
{
    if (prepare(r) < 0)
        return ar_complain("out of memory");
    ar_report_choose_unit(r);
    if (r->text)
        return ar_report_texts(r);
    if (r->json != AR_NO_JSON)
        return r->json == AR_JSON_1 ? ar_report_json(r) : print_json(r);
    if (r->callers || r->callees)
        return ar_report_callers(r);
    if (r->csv && r->tree == AR_TREE_BOTTOM_UP)
        return ar_report_bottom_up_csv(r);
    return r->csv ? ar_report_csv(r) : print_report(r);
}

/* JSON, and files a rank, are of what was recorded. */
static int open_run(struct ar_report *r)
{
    bool is_json = r->json != AR_NO_JSON;

    r->form = is_json || r->text ? AR_FORM_RECORDED : AR_FORM_FOLDED;
    return ar_open_run(&r->run,
                       &(struct ar_run_choice){
                           .path = r->path,
                           .selection = &r->selection,
                           .metrics = &r->metrics,
                           .callers = r->callers,
                           .callees = r->callees,
                           .bottom_up_levels = is_json || r->n_levels == SIZE_MAX ? 0 : r->n_levels,
                           .bottom_up_share = is_json ? 0 : r->min_share,
                           .form = r->form});
}

int ar_command_report(int argc, char **argv)
{
    struct ar_report r = {.n_rows = SIZE_MAX,
                          .n_levels = SIZE_MAX,
                          .min_share = 0.01,
                          .sort = -1,
                          .json = AR_NO_JSON,
                          .n_columns = ar_screen_columns()};
    int status = parse(argc, argv, &r);

    if (status < 0)
        status = open_run(&r);
    if (status >= 0)
        return status;
    status = show(&r);
    ar_run_close(r.run);
    return status;
}
