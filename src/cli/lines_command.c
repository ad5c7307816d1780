// SPDX-License-Identifier: BSD-3-Clause
/* allranks lines: which lines of Python take the time. */
#include "cli/commands.h"
#include "cli/lines_text.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"

#include <getopt.h>

static const char usage[] =
    "usage: allranks lines [options] RUN [FUNCTION|FILE]\n"
    "\n"
    "Show which lines take the time: the hottest of the run or, with FUNCTION or FILE, their "
    "source,\n"
    "line by line. Calls are known by their lines in every run. The time between two calls of a "
    "function is that\n"
    "of the lines between them, a range if there are several; `allranks run --lines GLOB` counts\n"
    "each line of chosen functions.\n";
static const char usage_end[] = "`here` is what a line takes itself, with functions in C and MPI, "
                                "without Python functions that it calls.\n";

#define SCREEN_ROWS 24
#define DEFAULT_ROWS SIZE_MAX

struct command {
    struct ar_run *run;
    struct ar_lines_screen screen;
    const char *path, *what;
    struct ar_wanted wanted;
    struct ar_selection selection;
    size_t n_rows;
    bool json, csv;
};

static int complain_nothing(const struct command *c)
{
    if (c->what)
        return ar_complain(
            "%s: no lines of %s are known: it is no Python function of this run (see: "
            "allranks report %s)",
            c->path, c->what, ar_quote(c->path));
    return ar_complain("%s: no lines are known in it", c->path);
}

static void print_hint(const struct command *c, size_t n, size_t n_shown)
{
    if (n > n_shown)
        ar_print(" %s%s: --rows 0 shows all%s\n", ar_dim(),
                 ar_show_items(n - n_shown, "more line", "more lines"), ar_plain());
    ar_print_marks(&c->screen.marks);
    if (!c->what && c->screen.lines->n)
        ar_print(" %ssource with times: allranks lines %s %s%s\n", ar_dim(), ar_quote(c->path),
                 "FUNCTION", ar_plain());
}

static int print_hottest(struct command *c)
{
    size_t n_rows = c->n_rows == DEFAULT_ROWS ? SCREEN_ROWS - 9
                    : c->n_rows               ? c->n_rows
                                              : SIZE_MAX - 1;
    size_t n;

    ar_print("\n");
    n = ar_print_hot_lines(&c->screen, n_rows);
    if (!n)
        return complain_nothing(c);
    print_hint(c, n, n_rows);
    return AR_EXIT_OK;
}

static int print_functions(struct command *c)
{
    const struct ar_lines *lines = c->screen.lines;
    bool has_any = false;

    for (size_t first = 0, last; first < lines->n; first = last) {
        for (last = first;
             last < lines->n && lines->rows[last].function == lines->rows[first].function;)
            last++;
        ar_print_function_lines(&c->screen, first, last);
        has_any = true;
    }
    if (!has_any)
        return complain_nothing(c);
    ar_print_marks(&c->screen.marks);
    return AR_EXIT_OK;
}

static int print_screen(struct command *c)
{
    struct ar_report r = {.run = c->run,
                          .form = AR_FORM_RECORDED,
                          .path = c->path,
                          .selection = c->selection,
                          .n_columns = ar_screen_columns()};

    r.p = ar_run_profile(c->run, r.form);
    r.t = ar_run_totals(c->run, r.form);
    c->screen.lines = ar_run_lines(c->run);
    if (!r.p || !r.t || !c->screen.lines)
        return ar_complain("out of memory");
    ar_report_choose_unit(&r);
    c->screen.p = r.p;
    c->screen.t = r.t;
    c->screen.path = c->path;
    c->screen.unit_ns = r.unit_ns;
    c->screen.n_columns = r.n_columns;
    if (c->what)
        return print_functions(c);
    ar_report_head(&r);
    return print_hottest(c);
}

int ar_command_lines(int argc, char **argv)
{
    static const char *const tables[] = {"run", "lines", NULL};
    struct command c = {.n_rows = DEFAULT_ROWS};
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_ROWS_OPTION(&c.n_rows, AR_ROWS_HELP),
        {.name = "json",
         .kind = AR_OPTION_FLAG,
         .to = &c.json,
         .help = "all lines as JSON (docs/json.md)"},
        AR_CSV_OPTION(&c.csv, "all lines as CSV"),
        AR_HELP_OPTION,
        AR_SELECTION_OPTIONS(&c.selection),
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);

    if (status >= 0)
        return status;
    if (argc - optind < 1 || argc - optind > 2)
        return ar_complain_runs(argc - optind, "lines RUN [FUNCTION|FILE]");
    c.path = argv[optind];
    c.what = argv[optind + 1];
    c.wanted = ar_wanted_parse(c.what);
    status = ar_open_run(&c.run, &(struct ar_run_choice){.path = c.path,
                                                         .selection = &c.selection,
                                                         .wanted = c.what ? &c.wanted : NULL,
                                                         .form = AR_FORM_RECORDED});
    if (status >= 0)
        return status;
    status = c.json  ? ar_print_tables(c.run, "lines", tables)
             : c.csv ? ar_print_table(ar_run_subject(c.run), "lines", NULL)
                     : print_screen(&c);
    ar_run_close(c.run);
    return status;
}
