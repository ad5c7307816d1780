// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "counters/perf.h"
#include "export/tables_json.h"
#include "run/subjects.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: allranks counters [options]\n"
    "\n"
    "List what this machine can count of a thread, for `allranks run --counters NAME,...`,\n"
    "and why it cannot count the rest. Run it where the program will run: a compute node\n"
    "may offer more, or less.\n";

#define MOST_COUNTERS 64

/* Each is tried by itself: how many can be counted together, the processor says when they are asked for. */
static size_t try_all(struct ar_counter_row *rows)
{
    size_t n = 0;

    for (const struct ar_event *event = ar_events; event->name && n < MOST_COUNTERS; event++) {
        struct ar_error why;
        struct ar_counter_row *row = &rows[n++];

        *row = (struct ar_counter_row){.name = event->name,
                                       .preset = event->preset ? event->preset : "",
                                       .unit = event->unit,
                                       .help = event->help};
        if (ar_perf_try(event, &why) < 0)
            snprintf(row->reason, sizeof row->reason, "%s", why.text);
    }
    return n;
}

static void print_row(const struct ar_counter_row *row)
{
    ar_print("  %-24s %-13s %s\n", row->name, row->preset, row->help);
}

/* Those that have the same reason together, in the order in which they were tried. */
static void print_refused(const struct ar_counter_row *rows, size_t n)
{
    bool is_said[MOST_COUNTERS] = {false};

    for (size_t i = 0; i < n; i++) {
        if (!*rows[i].reason || is_said[i])
            continue;
        ar_print("\nnot here: %s\n", rows[i].reason);
        for (size_t k = i; k < n; k++)
            if (strcmp(rows[k].reason, rows[i].reason) == 0) {
                is_said[k] = true;
                print_row(&rows[k]);
            }
    }
}

static void print_all(const struct ar_counter_row *rows, size_t n)
{
    size_t n_available = 0;

    for (size_t i = 0; i < n; i++)
        n_available += !*rows[i].reason;
    ar_print("%zu of %zu counters are available%s\n", n_available, n, n_available ? ":" : "");
    for (size_t i = 0; i < n; i++)
        if (!*rows[i].reason)
            print_row(&rows[i]);
    print_refused(rows, n);
}

static int print_json(const struct ar_shown_counters *shown)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "counters");
    status = ar_json_table(&j, &(struct ar_subject){.counters = shown}, "counters", NULL);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

int ar_command_counters(int argc, char **argv)
{
    static struct ar_counter_row rows[MOST_COUNTERS];
    bool json = false, csv = false;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "json", .kind = AR_OPTION_FLAG, .to = &json, .help = "as JSON (docs/json.md)"},
        AR_CSV_OPTION(&csv, "as CSV"),
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (optind < argc)
        return ar_complain("counters: %s: no operand is needed (try: allranks counters --help)",
                           argv[optind]);

    struct ar_shown_counters shown = {.rows = rows, .n_rows = try_all(rows)};

    if (json)
        return print_json(&shown);
    if (csv)
        return ar_print_table(&(struct ar_subject){.counters = &shown}, "counters", NULL);
    print_all(rows, shown.n_rows);
    return AR_EXIT_OK;
}
