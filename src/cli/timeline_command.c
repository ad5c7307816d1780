// SPDX-License-Identifier: BSD-3-Clause
/* allranks timeline: what each rank did when, as a picture of its trace. */
#include "analysis/load.h"
#include "analysis/match.h"
#include "analysis/timeline.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"
#include "cli/terminal.h"
#include "cli/time_window.h"
#include "cli/timeline_view.h"
#include "cli/trace_notes.h"
#include "export/tables_json.h"
#include "run/subjects.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: allranks timeline [options] RUN|DIR\n"
    "\n"
    "Draw a trace (allranks run --trace): a row for each rank, a column for each part of the\n"
    "time, in it what the rank did. Where a rank did several things in a column, classes take\n"
    "turns: along a row each has about as many columns as it took time.\n";

static const char usage_end[] = "\n"
                                "  allranks timeline run.allranks --from 1.2s --to 1.4s\n"
                                "  allranks timeline run.allranks -o timeline.svg\n";

#define JSON_COLUMNS 100

struct command {
    const char *path, *match, *output;
    struct ar_selection selection;
    struct ar_time_window window;
    size_t width, n_rows;
    bool with_threads, has_rows, csv;
    int json;
    const struct ar_profile *p;
};

/* ---- what is wanted --------------------------------------------------------------------------- */

/* A function with all that it calls. */
static uint8_t *find_wanted(const struct command *c)
{
    const struct ar_wanted wanted = ar_wanted_parse(c->match);
    uint8_t *is_wanted = calloc(c->p->n_nodes + 1, 1);

    for (uint32_t i = 0; is_wanted && i < c->p->n_nodes; i++) {
        uint32_t parent = c->p->nodes[i].parent;

        is_wanted[i] =
            (parent != AR_NO_ID && is_wanted[parent]) || ar_wanted_node(&wanted, c->p, i);
    }
    return is_wanted;
}

static bool wants_any(const struct command *c, const uint8_t *is_wanted)
{
    return memchr(is_wanted, 1, c->p->n_nodes) != NULL;
}

/* ---- how much of it --------------------------------------------------------------------------- */

static size_t number_in_environment(const char *name)
{
    const char *text = getenv(name);
    long number = text ? strtol(text, NULL, 10) : 0;

    return number > 0 && number < 10000 ? (size_t)number : 0;
}

/* A shell may have said how large its screen is where standard output is none. */
static void find_screen(size_t *n_rows, size_t *n_columns)
{
    size_t rows = number_in_environment("LINES"), columns = number_in_environment("COLUMNS");

    ar_terminal_size(n_rows, n_columns);
    if (!isatty(STDOUT_FILENO)) {
        *n_rows = rows ? rows : *n_rows;
        *n_columns = columns ? columns : *n_columns;
    }
    *n_columns = *n_columns < 30 ? 30 : *n_columns;
}

static bool is_table(const struct command *c)
{
    return c->csv || c->json != AR_NO_JSON;
}

static struct ar_timeline_choice choose(const struct command *c, size_t n_lines, size_t n_columns,
                                        const uint8_t *is_wanted)
{
    struct ar_timeline_choice choice = {.from_ns = c->window.from_ns,
                                        .to_ns = c->window.to_ns,
                                        .with_threads = c->with_threads,
                                        .is_wanted = is_wanted,
                                        .n_columns = c->width,
                                        .most_rows = c->n_rows};

    if (c->output) {
        choice.n_columns = c->width ? c->width : AR_TIMELINE_SVG_COLUMNS;
        choice.most_rows = c->has_rows ? c->n_rows : AR_TIMELINE_SVG_ROWS;
    } else if (is_table(c)) {
        choice.n_columns = c->width ? c->width : JSON_COLUMNS;
    } else {
        choice.n_columns =
            ar_timeline_columns(c->p, c->with_threads, c->width ? c->width : n_columns);
        choice.most_rows = c->has_rows ? c->n_rows
                           : n_lines > AR_TIMELINE_OTHER_LINES + 4
                               ? n_lines - AR_TIMELINE_OTHER_LINES
                               : 4;
    }
    if (choice.n_columns > AR_MOST_WINDOW_COLUMNS)
        choice.n_columns = AR_MOST_WINDOW_COLUMNS;
    return choice;
}

/* ---- showing it ------------------------------------------------------------------------------- */

static int write_svg(const struct command *c, const struct ar_timeline_view *view)
{
    struct ar_bytes bytes = {0};
    int status;

    ar_timeline_svg(view, &bytes);
    status = bytes.bad ? ar_complain("out of memory") : ar_write_output(c->output, &bytes);
    ar_bytes_free(&bytes);
    return status;
}

static int print_json(const struct ar_subject *of, const struct ar_profile *p)
{
    static const char *const tables[] = {"timeline", "timeline_rows", "timeline_cells", NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "timeline");
    ar_json_facts(&j, "facts", p);
    status = ar_json_tables(&j, of, tables);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

static int show(const struct command *c, const struct ar_timeline *t, size_t n_columns)
{
    const struct ar_timeline_view view = {.path = c->path, .match = c->match, .t = t};
    const struct ar_shown_timeline shown = {.t = t};
    const struct ar_subject subject = {.timeline = &shown};

    if (c->output)
        return write_svg(c, &view);
    if (c->json != AR_NO_JSON)
        return print_json(&subject, c->p);
    if (c->csv)
        return ar_print_table(&subject, "timeline_cells", NULL);
    ar_timeline_text(&view, c->width ? c->width : n_columns);
    return AR_EXIT_OK;
}

static int draw(struct command *c, const struct ar_traces *traces)
{
    size_t n_lines, n_columns;
    uint8_t *is_wanted = NULL;
    struct ar_timeline t;
    struct ar_error err;
    struct ar_timeline_choice choice;
    int status;

    find_screen(&n_lines, &n_columns);
    if (c->match) {
        is_wanted = find_wanted(c);
        if (!is_wanted)
            return ar_complain("out of memory");
        if (!wants_any(c, is_wanted)) {
            free(is_wanted);
            return ar_complain("%s: no function %s (see: allranks report %s)", c->path, c->match,
                               ar_quote(c->path));
        }
    }
    choice = choose(c, n_lines, n_columns, is_wanted);
    if (ar_timeline_make(&t, traces, &choice, &err) < 0) {
        status = ar_complain_of(c->path, &err);
    } else {
        status = show(c, &t, n_columns);
        ar_timeline_free(&t);
    }
    free(is_wanted);
    return status;
}

static int timeline(struct command *c, struct ar_run *run)
{
    struct ar_traces traces;
    struct ar_error err;
    int status;

    c->p = ar_run_profile(run, AR_FORM_RECORDED);
    if (ar_traces_open(&traces, c->p, &err) < 0)
        return ar_complain_of(c->path, &err);
    ar_note_clocks(c->path, &traces);
    ar_note_early_ends(c->path, &traces);
    status = draw(c, &traces);
    ar_traces_close(&traces);
    return status;
}

static int parse(int argc, char **argv, struct command *c)
{
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_WINDOW_OPTIONS(&c->window),
        AR_RANKS_OPTION(&c->selection.ranks, ""),
        {.name = "match",
         .kind = AR_OPTION_TEXT,
         .to = &c->match,
         .value = "X",
         .help = "only time in functions X and what they call: a name, FILE:LINE or a\n"
                 "pattern; all events of the window are read for that"},
        {.name = "threads",
         .kind = AR_OPTION_FLAG,
         .to = &c->with_threads,
         .help = "rows for other threads and for children, too"},
        {.name = "rows",
         .letter = 'n',
         .kind = AR_OPTION_COUNT,
         .to = &c->n_rows,
         .value = "N",
         .help = "rows at most; where there are more ranks, a row is the mean of\n"
                 "several (default: one screen; 0, and --threads: a row for each)"},
        {.name = "width",
         .kind = AR_OPTION_COUNT,
         .to = &c->width,
         .value = "N",
         .help = "columns of the screen (default: all of it); of a file columns of time\n"
                 "(default: 1000), with --json and --csv, too (default: 100)"},
        AR_OUTPUT_OPTION(&c->output, "write a picture (SVG); - is standard output"),
        AR_CSV_OPTION(&c->csv, "cells for spreadsheets"),
        AR_JSON_OPTION(&c->json, "rows and cells"),
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);

    if (status >= 0)
        return status;
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, "timeline RUN");
    if (!ar_window_read(&c->window))
        return AR_EXIT_BAD;
    if (c->output && strcmp(c->output, "-") != 0 && !ar_ends_with(c->output, ".svg"))
        return ar_complain("-o %s: the picture is SVG (try: -o timeline.svg)", c->output);
    /* Threads and children are shown one by one, however many they are: a mean of different ones says nothing. */
    if (c->n_rows == SIZE_MAX && c->with_threads)
        c->n_rows = 0;
    c->has_rows = c->n_rows != SIZE_MAX;
    c->path = argv[optind];
    return -1;
}

int ar_command_timeline(int argc, char **argv)
{
    struct command c = {.n_rows = SIZE_MAX, .json = AR_NO_JSON};
    struct ar_run *run;
    int status = parse(argc, argv, &c);

    if (status >= 0)
        return status;
    c.n_rows = c.has_rows ? c.n_rows : 0;
    ar_load_traces = true;
    status = ar_open_run(&run, &(struct ar_run_choice){.path = c.path, .selection = &c.selection});
    if (status >= 0)
        return status;
    status = timeline(&c, run);
    ar_run_close(run);
    return status;
}
