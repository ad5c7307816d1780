// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.h"
#include "cli/counters_of_run.h"
#include "cli/figures_text.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "counters/counter_set.h"
#include "export/tables_json.h"
#include "run/subjects.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: allranks counters [options] [RUN]\n"
    "\n"
    "List what this machine can count of a thread, for `allranks run --counters NAME,...`,\n"
    "and why it cannot count the rest. Run it where the program will run: a compute node\n"
    "may offer more, or less. $ALLRANKS_PAPI names PAPI's library if it is in no usual place.\n"
    "\n"
    "With RUN: what was counted in it, in regions and functions, on average of its ranks, and\n"
    "what is computed from that. allranks ranks RUN FUNCTION has the ranks one by one.\n";

#define MOST_COUNTERS 256

/* Each is tried by itself: how many can be counted together, the processor says when they are asked for. */
static void try_one(struct ar_counter_row *row, const struct ar_counter *counter)
{
    struct ar_error why;

    if (ar_counter_try(counter, &why) < 0)
        snprintf(row->reason, sizeof row->reason, "%.190s", why.text);
}

static size_t try_kernel(struct ar_counter_row *rows)
{
    size_t n = 0;

    for (const struct ar_event *event = ar_events; event->name && n < MOST_COUNTERS; event++) {
        struct ar_counter_row *row = &rows[n++];

        *row = (struct ar_counter_row){
            .source = "kernel", .preset = event->preset ? event->preset : "", .unit = event->unit};
        snprintf(row->name, sizeof row->name, "%s", event->name);
        snprintf(row->help, sizeof row->help, "%s", event->help);
        try_one(row, &(struct ar_counter){.event = event});
    }
    return n;
}

/* Native events are thousands, which papi_native_avail lists. */
static size_t try_presets(struct ar_counter_row *rows, size_t n)
{
    for (int code = 0; n < MOST_COUNTERS && ar_papi_next_preset(&code);) {
        struct ar_counter_row *row = &rows[n];

        *row = (struct ar_counter_row){.source = "PAPI", .preset = "", .unit = "1"};
        if (ar_papi_name(row->name, code, NULL) < 0)
            continue;
        ar_papi_describe(row->help, sizeof row->help, code);
        try_one(row, &(struct ar_counter){.papi_code = code});
        n++;
    }
    return n;
}

static bool is_papi(const struct ar_counter_row *row)
{
    return strcmp(row->source, "PAPI") == 0;
}

static void print_row(const struct ar_counter_row *row)
{
    ar_print("  %-24s %-13s %s\n", row->name, row->preset, row->help);
}

/* Those of the kernel that have the same reason together, in the order in which they were tried. */
static void print_refused(const struct ar_counter_row *rows, size_t n)
{
    bool is_said[MOST_COUNTERS] = {false};

    for (size_t i = 0; i < n; i++) {
        if (!*rows[i].reason || is_said[i] || is_papi(&rows[i]))
            continue;
        ar_print("\nnot here: %s\n", rows[i].reason);
        for (size_t k = i; k < n; k++)
            if (!is_papi(&rows[k]) && strcmp(rows[k].reason, rows[i].reason) == 0) {
                is_said[k] = true;
                print_row(&rows[k]);
            }
    }
}

static void print_available(const struct ar_counter_row *rows, size_t n, bool of_papi,
                            const char *of)
{
    size_t n_all = 0, n_available = 0;
    const char *why = "";

    for (size_t i = 0; i < n; i++)
        if (is_papi(&rows[i]) == of_papi) {
            n_all++;
            n_available += !*rows[i].reason;
            why = rows[i].reason;
        }
    ar_print("%zu of %zu %s are available%s%s\n", n_available, n_all, of,
             n_available ? ":" : " here: ", n_available ? "" : why);
    for (size_t i = 0; i < n; i++)
        if (is_papi(&rows[i]) == of_papi && !*rows[i].reason)
            print_row(&rows[i]);
}

static void print_papi(const struct ar_counter_row *rows, size_t n)
{
    struct ar_error why;
    const char *version;
    char of[64];

    ar_print("\n");
    if (ar_papi_version(&version, &why) < 0) {
        ar_print("PAPI is not used: %s\n", why.text);
        return;
    }
    snprintf(of, sizeof of, "presets of PAPI %s", version);
    print_available(rows, n, true, of);
    ar_print(
        "Native events of PAPI can be counted by their names: papi_native_avail lists them.\n");
}

static void print_all(const struct ar_counter_row *rows, size_t n)
{
    print_available(rows, n, false, "counters of the kernel");
    print_refused(rows, n);
    print_papi(rows, n);
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

/* What the machine offers has no ranks and no functions. */
static int refuse_selection(const struct ar_counters_choice *choice)
{
    if (choice->metrics.n || choice->n_rows != SIZE_MAX || !ar_selection_is_all(&choice->selection))
        return ar_complain("counters: a RUN is missing for these options (try: allranks counters "
                           "--help)");
    return -1;
}

static int list_offered(bool json, bool csv)
{
    static struct ar_counter_row rows[MOST_COUNTERS];
    struct ar_shown_counters shown = {.rows = rows, .n_rows = try_presets(rows, try_kernel(rows))};

    if (json)
        return print_json(&shown);
    if (csv)
        return ar_print_table(&(struct ar_subject){.counters = &shown}, "counters", NULL);
    print_all(rows, shown.n_rows);
    return AR_EXIT_OK;
}

int ar_command_counters(int argc, char **argv)
{
    struct ar_counters_choice choice = {.n_rows = SIZE_MAX};
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "json",
         .kind = AR_OPTION_FLAG,
         .to = &choice.json,
         .help = "as JSON (docs/json.md)"},
        AR_CSV_OPTION(&choice.csv, "as CSV"),
        AR_HELP_OPTION,
        AR_HEADING("of a RUN"),
        AR_METRIC_OPTION(&choice.metrics),
        AR_ROWS_OPTION(&choice.n_rows, "rows (default and 0: all of them)"),
        AR_SELECTION_OPTIONS(&choice.selection),
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (argc - optind > 1)
        return ar_complain_runs(argc - optind, "counters RUN");
    if (optind == argc) {
        status = refuse_selection(&choice);
        return status >= 0 ? status : list_offered(choice.json, choice.csv);
    }
    choice.path = argv[optind];
    return ar_counters_of_run(&choice);
}
