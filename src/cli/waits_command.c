// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks waits: who waited for whom, and which line made them wait. One screen of sentences, the largest
 * first; with a number one of them in full.
 */
#include "analysis/load.h"
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/findings_text.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"
#include "cli/waits_json.h"
#include "cli/waits_of_trace.h"
#include "cli/waits_requests.h"
#include "findings/wait_words.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks waits [options] RUN [NUMBER]\n"
    "\n"
    "Show who waited for whom in MPI, how long, and what the one who came last was doing\n"
    "meanwhile. Each line of the program at which ranks waited is one wait, the largest\n"
    "first; with its NUMBER it is shown in full, rank by rank.\n"
    "\n"
    "A rank waits in a call until the one that it needs has come: the last one in barriers\n"
    "and where all get from all, the root of a broadcast, a sender, a receiver. It is charged\n"
    "to what had to be done for that one to come, and not for the one who waited: its own\n"
    "work, and where it had waited itself, that of those it had waited for.\n";

#define SCREEN_LINES 24
#define DEFAULT_ROWS SIZE_MAX

struct command {
    struct ar_run *run;
    /* Folded, as findings look at it: their numbers and places are those shown here. */
    const struct ar_profile *p;
    const struct ar_waits *w;
    const char *path, *number, *ranks;
    const bool *of; /* by root: those ranks; NULL: all */
    bool csv, trace, critical_path;
    int json; /* enum ar_json_version */
    size_t n_rows, n_columns;
    double all_ns; /* wall time of all ranks */
    struct ar_wait_words words;
};

/* ---- in words --------------------------------------------------------------------------------- */

static void print_head(const struct command *c)
{
    const char *name = ar_file_name(ar_profile_fact_text(c->p, "program"));

    ar_print("%s", ar_bold());
    ar_print_fit(*name ? name : ar_file_name(c->path), *name ? ar_count_columns(name, 30) : 20,
                 AR_KEEP_START);
    ar_print("%s   %s on %s   %s   waiting %s in all (%s)\n", ar_plain(),
             ar_show_items(c->p->n_roots, "rank", "ranks"),
             ar_show_items(ar_count_hosts(c->p), "host", "hosts"),
             ar_show_duration(c->p->n_roots ? c->all_ns / (double)c->p->n_roots : 0),
             ar_show_duration(c->w->waited_ns),
             ar_show_share(c->all_ns > 0 ? c->w->waited_ns / c->all_ns : 0));
}

static void print_doubts(const struct command *c)
{
    if (c->w->n_unresolved)
        ar_print("%sof %s it is not known who met whom%s\n", ar_dim(),
                 ar_show_items(c->w->n_unresolved, "call", "calls"), ar_plain());
    if (c->w->n_lost)
        ar_print("%s%s could not be recorded (allranks info)%s\n", ar_dim(),
                 ar_show_items(c->w->n_lost, "call", "calls"), ar_plain());
}

static size_t n_sites(const struct command *c)
{
    size_t n = 0;

    while (n < c->w->n_sites && c->w->sites[n].n)
        n++;
    return n;
}

static void print_waits(const struct command *c)
{
    size_t n = n_sites(c), i = 0, n_lines = c->p->n_completed ? 8 : 5;

    print_head(c);
    if (c->w->n_calls == 0)
        ar_print("\nNo call that waits for other ranks is in this run.\n");
    else if (n == 0)
        ar_print("\nNobody waited for anybody.\n");
    else
        ar_print(
            "\n%sWho waited for whom%s   sums over ranks, and their share of all ranks' time\n",
            ar_bold(), ar_plain());
    for (; i < n; i++) {
        struct ar_bytes text = {0};

        if (c->n_rows == DEFAULT_ROWS ? n_lines + 3 > SCREEN_LINES : c->n_rows && i >= c->n_rows)
            break;
        ar_put_wait(&text, &c->words, &c->w->sites[i]);
        ar_bytes_u8(&text, 0);
        ar_print("%s%3zu%s  ", ar_bold(), i + 1, ar_plain());
        n_lines +=
            text.bad ? 0 : ar_print_wrapped((const char *)text.data, c->n_columns - 1, 5, NULL);
        ar_bytes_free(&text);
    }
    if (i < n)
        ar_print("     %s%s: -n 0 shows all%s\n", ar_dim(),
                 ar_show_items(n - i, "smaller one", "smaller ones"), ar_plain());
    if (n) {
        ar_print("%sallranks waits ", ar_dim());
        ar_print_word(c->path);
        ar_print(" 1 shows the first in full%s\n", ar_plain());
    }
    ar_print_hidden(c->p, c->of, c->path);
    print_doubts(c);
}

/* ---- one of them ------------------------------------------------------------------------------ */

static void print_shares(const struct command *c, const char *what,
                         const struct ar_wait_share *shares, size_t n, size_t n_most)
{
    ar_print("\n%s%-40s %10s %12s%s\n", ar_bold(), what, "times", "seconds", ar_plain());
    for (size_t i = 0; i < n && i < n_most; i++)
        ar_print(" %-39s %10s %12.6f\n", ar_show_process(c->p, shares[i].process),
                 ar_show_count(shares[i].n), shares[i].ns / 1e9);
    if (n > n_most)
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(), ar_show_items(n - n_most, "more", "more"),
                 ar_plain());
}

static void print_cause(const struct command *c, const struct ar_wait_cause *cause, size_t width)
{
    struct ar_bytes text = {0};

    ar_put_words(&text, ar_show_process(c->p, cause->process));
    ar_put_words(&text, cause->indirect_ns > cause->ns / 2 ? ", through others: " : ": ");
    ar_put_cause(&text, &c->words, cause->node, cause->with_callees, cause->process);
    ar_bytes_u8(&text, 0);
    ar_print(" ");
    if (!text.bad)
        ar_print_fit((const char *)text.data, width, AR_KEEP_START);
    ar_print(" %12.6f\n", cause->ns / 1e9);
    ar_bytes_free(&text);
}

static void print_causes(const struct command *c, const struct ar_wait_site *site, size_t n_most)
{
    size_t n = site->n_causes, width = c->n_columns - 15;

    ar_print("\n%s%-*s %12s%s\n", ar_bold(), (int)width + 1, "Because of what they did", "seconds",
             ar_plain());
    for (size_t i = 0; i < n && i < n_most; i++)
        print_cause(c, &site->causes[i], width);
    if (n > n_most)
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(), ar_show_items(n - n_most, "more", "more"),
                 ar_plain());
}

static int print_one(const struct command *c)
{
    char *end;
    unsigned long long number = strtoull(c->number, &end, 10);
    size_t n_most = c->n_rows == DEFAULT_ROWS ? 4 : c->n_rows ? c->n_rows : SIZE_MAX;

    if (*end || number == 0 || number > n_sites(c))
        return ar_complain("%s: there is no wait %s (there are %zu: allranks waits %s)", c->path,
                           c->number, n_sites(c), c->path);

    const struct ar_wait_site *site = &c->w->sites[number - 1];
    struct ar_bytes text = {0};

    print_head(c);
    ar_put_wait(&text, &c->words, site);
    ar_bytes_u8(&text, 0);
    ar_print("\n");
    if (!text.bad)
        ar_print_wrapped((const char *)text.data, c->n_columns - 1, 0, NULL);
    ar_bytes_free(&text);
    print_shares(c, "Who waited", site->waiting, site->n_waiting, n_most);
    print_shares(c, "For whom", site->late, site->n_late, n_most);
    print_causes(c, site, n_most);
    ar_print_requests(c->p, c->of, site, c->n_columns);
    return AR_EXIT_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static int print_json(const struct command *c)
{
    static const char *const tables[] = {"run",        "waiting",  "wait_times", "waits",
                                         "wait_ranks", "requests", NULL};

    return ar_print_tables(c->run, "waits", tables);
}

/* ---- command ---------------------------------------------------------------------------------- */

static int show(struct command *c)
{
    for (size_t i = 0; i < c->p->n_roots; i++)
        c->all_ns += (double)c->p->processes[i].wall_ns;
    c->words.all_ns = c->all_ns;
    if (c->json != AR_NO_JSON)
        return c->json == AR_JSON_1 ? ar_waits_json(c->p, c->w) : print_json(c);
    if (c->csv)
        return ar_print_table(ar_run_subject(c->run), "wait_ranks", NULL);
    if (c->number)
        return print_one(c);
    print_waits(c);
    return AR_EXIT_OK;
}

static int show_trace(struct command *c)
{
    const struct ar_trace_waits_shown how = {.path = c->path,
                                             .critical_path = c->critical_path,
                                             .csv = c->csv,
                                             .json = c->json != AR_NO_JSON,
                                             .n_rows = c->n_rows,
                                             .n_columns = c->n_columns};

    if (c->number || c->ranks)
        return ar_complain("--trace and --critical-path show all waits of all ranks (leave out %s)",
                           c->number ? c->number : "--ranks");
    return ar_show_trace_waits(c->run, &how);
}

static enum ar_status find_waits(struct command *c)
{
    c->p = ar_run_profile(c->run, AR_FORM_FOLDED);
    c->w = ar_run_waits(c->run);
    c->of = ar_run_waiting(c->run);
    c->words = (struct ar_wait_words){.p = c->p, .children = ar_run_child_waits(c->run)};
    return c->w && c->words.children ? AR_OK : AR_NOMEM;
}

int ar_command_waits(int argc, char **argv)
{
    struct command c = {
        .json = AR_NO_JSON, .n_rows = DEFAULT_ROWS, .n_columns = ar_screen_columns()};
    bool is_trace;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_RANKS_OPTION(&c.ranks, "waits of "),
        {.name = "trace",
         .kind = AR_OPTION_FLAG,
         .to = &c.trace,
         .help = "from the trace (allranks run --trace): exactly when, and how much of it\n"
                 "is handed on by ranks that waited themselves"},
        {.name = "critical-path",
         .kind = AR_OPTION_FLAG,
         .to = &c.critical_path,
         .help = "from the trace: the chain of work through all ranks that took as long as\n"
                 "the run, by function and rank"},
        AR_ROWS_OPTION(&c.n_rows,
                       "waits on the first screen, or rows of each list of one (default:\n"
                       "one screen; 0: all of them)"),
        AR_CSV_OPTION(&c.csv, "for spreadsheets: a row for each rank that waited, was late, or is\n"
                              "to blame"),
        AR_JSON_OPTION(&c.json, "everything"),
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (argc - optind < 1 || argc - optind > 2)
        return ar_complain_runs(argc - optind, "waits RUN [NUMBER]");
    c.path = argv[optind];
    c.number = argc - optind == 2 ? argv[optind + 1] : NULL;
    is_trace = c.trace || c.critical_path;
    ar_load_traces = is_trace;
    status = ar_refuse_several_jobs("waits", c.path);
    if (status < 0)
        status = ar_open_run(
            &c.run, &(struct ar_run_choice){.path = c.path,
                                            .waiting = is_trace ? NULL : c.ranks,
                                            .form = is_trace ? AR_FORM_RECORDED : AR_FORM_FOLDED});
    if (status >= 0)
        return status;
    if (is_trace)
        status = show_trace(&c);
    else
        status = find_waits(&c) < 0 ? ar_complain("out of memory") : show(&c);
    ar_run_close(c.run);
    return status;
}
