// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/traces.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"
#include "run/other_data.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: allranks info [--json | --check] RUN|DIR\n"
    "\n"
    "Show what a run file, a live file, a directory of live files, or files of cProfile\n"
    "('cpu_*.prof') hold: how it was made, by which processes, and what could not be\n"
    "recorded.\n";

static const char *const loss_texts[AR_N_LOSSES] = {
    [AR_LOST_NODES] = "calls without room of their own (their time is their caller's)",
    [AR_LOST_FUNCTIONS] = "functions without room",
    [AR_LOST_THREADS] = "threads that were not recorded",
    [AR_LOST_FRAMES] = "returns that were inferred",
    [AR_LOST_REGIONS] = "ends of regions that were not open",
    [AR_LOST_PROCESSES] = "child processes that were not recorded",
    [AR_LOST_TRAFFIC] = "messages that are not told apart by peer, size and communicator",
    [AR_LOST_REQUESTS] = "requests that were not followed to their end",
    [AR_LOST_SYNCS] = "calls that synchronise ranks of which nothing is known but their time",
    [AR_LOST_COMMS] = "communicators that are not told apart from others",
    [AR_LOST_ROWS] = "rows of other measurements without room or call path",
    [AR_LOST_TRACE] = "threads or pieces whose trace ends early (why: see `trace full`)",
    [AR_LOST_METRICS] = "metrics that there was no room for",
    [AR_LOST_TABLES] = "tables that there was no room for",
    [AR_LOST_SECTIONS] = "parts of files that only a newer allranks can read",
};

static size_t n_values(const struct ar_profile *p)
{
    size_t n = 0;

    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++)
        n += p->metrics[m].n_values + p->packed[m].n_values;
    return n;
}

/* A file of cProfile tells neither. */
static const char *show_host(const struct ar_profile *p, const struct ar_process *process)
{
    return process->host ? ar_strtab_text(&p->strings, process->host) : "?";
}

static const char *show_pid(const struct ar_process *process)
{
    static char text[16];

    snprintf(text, sizeof text, process->pid ? "%u" : "?", process->pid);
    return text;
}

static const char *state_text(uint32_t state)
{
    static const char *const texts[AR_N_PROCESS_STATES] = {
        [AR_PROCESS_SILENT] = "unfinished", /* killed, most likely */
        [AR_PROCESS_FINISHED] = "finished",
        [AR_PROCESS_RUNNING] = "running",
        [AR_PROCESS_REPLACED] = "became another by exec",
    };

    return state < AR_N_PROCESS_STATES ? texts[state] : "unknown";
}

/* What a child was started as, where its parent was not that already: a line of its own, cut. */
static void print_command(const struct ar_profile *p, const struct ar_process *process)
{
    const char *command = ar_strtab_text(&p->strings, process->command);
    size_t n = strcspn(command, "\n");

    if (!*command || process->command == p->processes[process->root].command)
        return;
    ar_print("    ");
    ar_print_fit(command, n < 76 ? n : 76, AR_KEEP_START);
    ar_print("\n");
}

static void print_process(const struct ar_profile *p, uint32_t i)
{
    const struct ar_process *process = &p->processes[i];

    ar_print("%-10s ", ar_show_process(p, i));
    ar_print_fit(show_host(p, process), 16, AR_KEEP_START);
    ar_print(" %8s  %-19s %9s  %s\n", show_pid(process), ar_show_date(process->start_real_ns),
             ar_show_time((double)process->wall_ns, 1e9), state_text(process->state));
    print_command(p, process);
}

/* Each family together, its root first. */
static void print_processes(const struct ar_profile *p)
{
    ar_print("\n%-10s %-16s %8s  %-19s %9s  %s\n", "process", "host", "pid", "started", "seconds",
             "state");
    for (uint32_t root = 0; root < p->n_roots; root++) {
        print_process(p, root);
        for (uint32_t i = (uint32_t)p->n_roots; i < p->n_processes; i++)
            if (p->processes[i].root == root)
                print_process(p, i);
    }
}

static void print_loss(uint64_t n, const char *text, bool *any)
{
    if (n)
        ar_print(*any ? "lost       %s %s\n" : "\nlost       %s %s\n", ar_show_count(n), text);
    *any = *any || n;
}

static void print_losses(const struct ar_profile *p)
{
    uint64_t n_others = ar_profile_lost_in_all(p, AR_NO_ID);
    const char *path;
    bool any = false;

    for (int loss = 0; loss < AR_N_LOSSES; loss++) {
        uint64_t n = ar_profile_lost(p, AR_NO_ID, (enum ar_live_loss)loss);

        print_loss(n, loss_texts[loss], &any);
        n_others -= n;
    }
    print_loss(n_others, "of a kind this version does not know", &any);
    print_loss(ar_bulks_missing(&p->bulks, &path), "bytes of traces: the file is cut off", &any);
    if (!any)
        ar_print("\nlost       nothing\n");
}

/* What a word on the command line meant is said in full. */
static void print_builtins(const char *which)
{
    if (strcmp(which, "none") == 0)
        ar_print(": functions in C were not recorded (--builtins)");
    else if (strcmp(which, "counted") == 0)
        ar_print(": every call of functions in C is counted, short ones are timed now and then");
    else if (strcmp(which, "costly") == 0) /* files before version 8 */
        ar_print(": functions in C under 1 %% of a thread's time are in their callers'");
}

static void print_facts(const struct ar_profile *p, const struct ar_totals *t)
{
    size_t n_processors = 0; /* lists of them */

    for (size_t i = 0; i < p->n_facts; i++) {
        const char *key = ar_strtab_text(&p->strings, p->facts[i].key);
        const char *value = ar_strtab_text(&p->strings, p->facts[i].value);

        /* Ranks that are bound to processors have a list each: the first one's will do. */
        if (strcmp(key, "processors") == 0 && n_processors++)
            continue;
        ar_print_fit(key, strlen(key) < 10 ? 10 : strlen(key), AR_KEEP_START);
        ar_print(" ");
        ar_print("%s", value);
        if (strcmp(key, "builtins") == 0)
            print_builtins(value);
        if (strcmp(key, "source") == 0 && t->of_pairs)
            ar_print(": functions and their callers, no call paths");
        ar_print("\n");
    }
}

static void print_overheads(const struct ar_totals *t)
{
    static const char *const names[AR_N_OVERHEADS] = {
        [AR_OVERHEAD_START] = "start-up",
        [AR_OVERHEAD_IMPORTS] = "imported modules",
        [AR_OVERHEAD_PATHS] = "new call paths",
        [AR_OVERHEAD_PYTHON] = "Python calls",
        [AR_OVERHEAD_C] = "C calls",
        [AR_OVERHEAD_MPI] = "MPI calls",
        [AR_OVERHEAD_END] = "end and merge",
    };

    for (int reason = 0; reason < AR_N_OVERHEADS; reason++)
        if (t->overheads_ns[reason])
            ar_print("%-10s   %-17s %s\n", "", names[reason],
                     ar_show_duration((double)t->overheads_ns[reason]));
}

static void print_recording(const struct ar_totals *t, size_t n_partial)
{
    if (t->overhead_ns)
        ar_print("%-10s %s, %s in all\n", "overhead", ar_show_share(t->overhead),
                 ar_show_duration((double)t->overhead_ns));
    print_overheads(t);
    if (n_partial)
        ar_print("%-10s %s timed no more after a while (--budget)\n", "partial",
                 ar_show_items(n_partial, "function was", "functions were"));
}

static size_t n_pairs(const struct ar_profile *p)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_nodes; i++)
        n += ar_node_is_pair(p, i);
    return n;
}

/* Those that mpi4py has made for itself are shown as what they are duplicates of. */
static void print_comms(const struct ar_profile *p)
{
    size_t n_hidden = 0;

    for (size_t i = 0; i < p->n_comms; i++)
        n_hidden += p->comms[i].is_hidden;
    if (!p->n_comms)
        return;
    ar_print("%-10s %s", "handles",
             ar_show_items(p->n_comms - n_hidden, "communicator, window or file",
                           "communicators, windows and files"));
    if (n_hidden)
        ar_print(", and %zu of mpi4py's own", n_hidden);
    ar_print("\n");
}

/* Data that a later version has recorded: it is kept, but most of it cannot be shown. */
static void print_other_data(const struct ar_other_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ar_other_row *row = &rows[i];

        ar_print("%-10s %s %s, ", "other", ar_other_kind_name(row->kind), row->name);
        if (row->kind == AR_OTHER_STREAM)
            ar_print("%s, %s\n", ar_show_items(row->n_threads, "thread", "threads"),
                     ar_show_bytes(row->n_bytes));
        else if (row->kind == AR_OTHER_TABLE)
            ar_print("%s\n", ar_show_items(row->n_rows, "row", "rows"));
        else
            ar_print("%s\n", ar_show_items(row->n_rows, "value", "values"));
    }
}

static void print_hosts(const struct ar_traces *traces, uint32_t n, uint32_t first)
{
    ar_print("%s", ar_strtab_text(&traces->profile->strings, first));
    if (n > 1)
        ar_print(" and %s", ar_show_items(n - 1, "other host", "other hosts"));
}

/* Each is a line of its own: they may all be true of one run. */
static void print_sources(const struct ar_traces *traces)
{
    const struct ar_clock_hosts *hosts = &traces->hosts;

    if (hosts->is_compared)
        ar_print("%-10s compared when MPI began and ended, to within %s\n", "clocks",
                 ar_show_duration((double)hosts->compared_error_ns));
    if (hosts->n_estimated) {
        ar_print("%-10s estimated from messages, to within %s: ", "clocks",
                 ar_show_duration((double)hosts->estimated_error_ns));
        print_hosts(traces, hosts->n_estimated, hosts->first_estimated);
        ar_print("\n");
    }
    if (hosts->n_unknown) {
        ar_print("%-10s not known (not compared, and no messages go both ways): ", "clocks");
        print_hosts(traces, hosts->n_unknown, hosts->first_unknown);
        ar_print("\n");
    }
}

/* Where clocks of several hosts are involved: how they were found, and whether messages went backward in time. */
static void print_correction(const struct ar_traces *traces)
{
    const struct ar_clock_correction *c = &traces->correction;

    print_sources(traces);
    if (!c->is_done)
        return;
    if (c->n_messages + c->n_collectives == 0) {
        if (!traces->hosts.n_unknown && c->n_checked)
            ar_print("%-10s no message is received before it was sent\n", "clocks");
        return;
    }
    ar_print("%-10s ", "clocks");
    ar_print("times moved forward by up to %s", ar_show_duration((double)c->largest_ns));
    ar_print(" for %s", ar_show_items(c->n_messages, "message", "messages"));
    ar_print(" and %s\n", ar_show_items(c->n_collectives, "collective call", "collective calls"));
}

/* How much of the order of events is known. */
static void print_traces(const struct ar_profile *p)
{
    struct ar_traces traces;
    struct ar_error err;
    enum ar_status status = ar_traces_open(&traces, p, &err);

    if (status == AR_UNSUPPORTED)
        return;
    if (status < 0) {
        ar_print("%-10s %s\n", "trace", err.text);
        return;
    }
    ar_print("%-10s %s", "trace", ar_show_items(traces.n, "thread", "threads"));
    ar_print(", %s", ar_show_items(traces.n_events, "event", "events"));
    ar_print(", %s", ar_show_bytes(traces.n_bytes));
    ar_print(", from %s", ar_show_duration((double)traces.start_ns));
    ar_print(" to %s\n", ar_show_duration((double)traces.recorded_ns));
    print_correction(&traces);
    ar_traces_close(&traces);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void print_file(const char *path)
{
    struct stat st;

    bool is_file = stat(path, &st) == 0 && S_ISREG(st.st_mode);

    ar_print("%-10s ", is_file ? "file" : is_directory(path) ? "directory" : "files");
    ar_print("%s", path);
    if (is_file)
        ar_print(", %s", ar_show_bytes((uint64_t)st.st_size));
    ar_print("\n");
}

static int print_info(struct ar_run *run, const struct ar_profile *p, const struct ar_totals *t,
                      size_t n_partial)
{
    size_t n_others;
    const struct ar_other_row *others = ar_run_other_data(run, &n_others);

    if (!others)
        return ar_complain("out of memory");
    print_file(ar_run_choice(run)->path);
    print_facts(p, t);
    print_recording(t, n_partial);
    ar_print("%-10s %s, %s, %s, %s, %s\n", "holds",
             ar_show_items(p->n_processes, "process", "processes"),
             ar_show_items(p->n_locations, "thread", "threads"),
             ar_show_items(p->n_functions - 1, "function", "functions"),
             t->of_pairs ? ar_show_items(n_pairs(p), "caller pair", "caller pairs")
                         : ar_show_items(p->n_nodes - 1, "call path", "call paths"),
             ar_show_items(n_values(p), "value", "values"));
    print_comms(p);
    print_traces(p);
    print_other_data(others, n_others);
    print_processes(p);
    print_losses(p);
    return AR_EXIT_OK;
}

/* ---- version 1 of the JSON --------------------------------------------------------------------- */

static void put_process(struct ar_json *j, const struct ar_profile *p, uint32_t i)
{
    const struct ar_process *process = &p->processes[i];

    ar_json_open(j, NULL, '{');
    if (process->world_rank == AR_RANK_NONE)
        ar_json_null(j, "rank");
    else
        ar_json_integer(j, "rank", process->world_rank);
    ar_json_text(j, "host", ar_strtab_text(&p->strings, process->host));
    ar_json_integer(j, "pid", process->pid);
    ar_json_integer(j, "start_real_ns", process->start_real_ns);
    ar_json_integer(j, "wall_ns", process->wall_ns);
    ar_json_bool(j, "finished", process->state == AR_PROCESS_FINISHED);
    ar_json_text(j, "state", ar_process_state_name(process->state));
    if (process->parent_pid)
        ar_json_integer(j, "parent_pid", process->parent_pid);
    else
        ar_json_null(j, "parent_pid");
    ar_json_text(j, "command", ar_strtab_text(&p->strings, process->command));
    ar_json_integer(j, "overhead_ns", process->overhead_ns);
    ar_json_overheads(j, process->overheads_ns);
    ar_json_open(j, "lost", '{');
    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        if (ar_loss_name((enum ar_live_loss)loss))
            ar_json_integer(j, ar_loss_name((enum ar_live_loss)loss),
                            ar_profile_lost(p, i, (enum ar_live_loss)loss));
    ar_json_close(j, '}');
    ar_json_close(j, '}');
}

static int print_json_1(const struct ar_profile *p, const struct ar_totals *t, size_t n_partial)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.info");
    ar_json_integer(&j, "version", 2);
    ar_json_facts(&j, "facts", p);
    ar_json_integer(&j, "functions", p->n_functions - 1);
    ar_json_integer(&j, "nodes", p->n_nodes - 1);
    ar_json_bool(&j, "call_paths", !t->of_pairs);
    ar_json_integer(&j, "threads", p->n_locations);
    ar_json_integer(&j, "communicators", p->n_comms);
    ar_json_overhead(&j, t);
    ar_json_integer(&j, "partial_functions", n_partial);
    ar_json_open(&j, "processes", '[');
    for (uint32_t i = 0; i < p->n_processes; i++)
        put_process(&j, p, i);
    ar_json_close(&j, ']');
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}

/* ---- command ---------------------------------------------------------------------------------- */

static int show(struct ar_run *run, int json)
{
    static const char *const tables[] = {"run", "processes", "other_data", NULL};
    const struct ar_profile *p = ar_run_profile(run, AR_FORM_RECORDED);
    const struct ar_totals *t = ar_run_totals(run, AR_FORM_RECORDED);
    size_t n_partial;

    if (json == AR_JSON_2)
        return ar_print_tables(run, "info", tables);
    if (!t || ar_run_count_partial(run, AR_FORM_RECORDED, &n_partial) < 0)
        return ar_complain("out of memory");
    if (json == AR_JSON_1)
        return print_json_1(p, t, n_partial);
    return print_info(run, p, t, n_partial);
}

int ar_command_info(int argc, char **argv)
{
    bool only_check = false;
    int json = AR_NO_JSON;
    struct ar_run *run;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_JSON_OPTION(&json, "the same"),
        {.name = "check",
         .kind = AR_OPTION_FLAG,
         .to = &only_check,
         .help = "only whether every file holds together, also while it is being\n"
                 "written: one line, and status 2 if one does not"},
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, "info RUN");
    if (only_check)
        return ar_check(argv[optind]);
    status = ar_open_run(&run, &(struct ar_run_choice){.path = argv[optind]});
    if (status >= 0)
        return status;
    status = show(run, json);
    ar_run_close(run);
    return status;
}
