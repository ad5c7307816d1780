// SPDX-License-Identifier: BSD-3-Clause
/* allranks trace: the traces of a job that runs are switched on or off from outside, or looked at. */
#include "analysis/jobs.h"
#include "analysis/trace_switch.h"
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/who.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char usage[] =
    "usage: allranks trace [on|off] [DIR]\n"
    "\n"
    "Switch the traces of a job that runs on or off: those of all its processes on this host,\n"
    "and on others whose live files are seen from here. Without on or off, show which\n"
    "processes trace. DIR is the directory of the job (allranks where lists it), or one live\n"
    "file in it; without DIR it is your only job that runs on this host, or in $ALLRANKS_LIVE_DIR\n"
    "where that is set.\n"
    "\n"
    "A process notices at one of its next calls. While it is in one long call of a C function,\n"
    "or waits in MPI, it does not: the command waits a second, and names those that will do so\n"
    "later. Processes that are started from then on do as the others.\n"
    "\n"
    "The program need not have been started with --trace. With --trace-later there is room for\n"
    "--trace-limit of events in each process, without it for half of --max-size.\n";

#define ANSWER_NS 1000000000
#define PAUSE_NS 10000000
/* A process that was forked while it was asked is found by then. */
#define LEAST_ROUNDS 5

enum group {
    GROUP_ON,
    GROUP_OFF,
    GROUP_NEVER,
    GROUP_FULL,
    GROUP_WAITING,
    GROUP_ENDED,
    GROUP_FORBIDDEN,
    GROUP_OLD,
    GROUP_UNABLE,
    N_GROUPS
};

static const struct {
    const char *name, *note;
} groups[N_GROUPS] = {
    [GROUP_ON] = {"on", NULL},
    [GROUP_OFF] = {"off", NULL},
    [GROUP_NEVER] = {"no trace", "never switched on so far"},
    [GROUP_FULL] = {"full", "there is no room for more events; see --trace-limit"},
    [GROUP_WAITING] = {"not yet",
                       "asked; it notices at its next call (where is it? allranks where)"},
    [GROUP_ENDED] = {"ended", NULL},
    [GROUP_FORBIDDEN] = {"forbidden", "this user may not write its live file"},
    [GROUP_OLD] = {"too old", "its version of allranks cannot be switched"},
    [GROUP_UNABLE] = {"failed", "its live file cannot be written"},
};

enum wanted { WANT_STATE, WANT_ON, WANT_OFF };

struct tracing {
    enum wanted wanted;
    char path[4096];
    struct ar_switches switches;
};

/* ---- asking ------------------------------------------------------------------------------------ */

static void pause_ns(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};

    nanosleep(&pause, NULL);
}

/* Until all have answered, or the time is up; those that start meanwhile are asked, too. */
static enum ar_status ask_all(struct tracing *t, struct ar_error *err)
{
    size_t n_waiting = 1;
    enum ar_status status = AR_OK;

    for (int round = 0;
         status == AR_OK && round < ANSWER_NS / PAUSE_NS && (n_waiting || round < LEAST_ROUNDS);
         round++) {
        if (round)
            pause_ns(PAUSE_NS);
        status = ar_switches_find(&t->switches, t->path, err);
        ar_switches_ask(&t->switches, t->wanted == WANT_ON);
        n_waiting = ar_switches_look(&t->switches);
    }
    return status;
}

/* ---- what is said ------------------------------------------------------------------------------ */

static enum group group_of_state(uint32_t state)
{
    switch (state) {
    case AR_TRACE_IS_ON:
        return GROUP_ON;
    case AR_TRACE_IS_OFF:
        return GROUP_OFF;
    case AR_TRACE_IS_FULL:
        return GROUP_FULL;
    default:
        return GROUP_NEVER;
    }
}

static enum group group_of(const struct ar_switch *item)
{
    static const enum group others[AR_N_SWITCH_OUTCOMES] = {
        [AR_SWITCH_WAITING] = GROUP_WAITING,     [AR_SWITCH_ENDED] = GROUP_ENDED,
        [AR_SWITCH_FORBIDDEN] = GROUP_FORBIDDEN, [AR_SWITCH_OLD] = GROUP_OLD,
        [AR_SWITCH_UNABLE] = GROUP_UNABLE,
    };

    if (item->outcome == AR_SWITCH_KNOWN || item->outcome == AR_SWITCH_DONE)
        return group_of_state(item->header.trace_state);
    return others[item->outcome];
}

/* Hosts only have to be told apart. */
static uint32_t number_of_host(const struct ar_switches *s, size_t item)
{
    uint32_t i = 0;

    while (i < item && strcmp(s->items[i].header.host, s->items[item].header.host) != 0)
        i++;
    return i;
}

static struct ar_process *describe_processes(const struct ar_switches *s)
{
    struct ar_process *processes = calloc(s->n + 1, sizeof *processes);

    for (size_t i = 0; processes && i < s->n; i++) {
        const struct ar_live_header *h = &s->items[i].header;

        processes[i] = (struct ar_process){.host = number_of_host(s, i),
                                           .pid = h->pid,
                                           .world_rank = h->is_child ? AR_RANK_NONE : h->world_rank,
                                           .world_size = h->world_size,
                                           .parent_pid = h->is_child ? h->parent_pid : 0,
                                           .start_real_ns = h->start.real_ns};
    }
    return processes;
}

static int by_rank(const void *a, const void *b, void *context)
{
    const struct ar_process *processes = context;
    const struct ar_process *x = &processes[*(const uint32_t *)a],
                            *y = &processes[*(const uint32_t *)b];

    if (x->world_rank != y->world_rank)
        return x->world_rank < y->world_rank ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* "on         ranks 0-2", and a note in a line of its own. */
static void print_group(const struct ar_profile *p, enum group group, const uint32_t *members,
                        size_t n)
{
    struct ar_bytes text = {0};
    const char *word = p->processes[members[0]].world_rank == AR_RANK_NONE ? ""
                       : n == 1                                            ? "rank "
                                                                           : "ranks ";

    ar_bytes_put(&text, word, strlen(word));
    ar_who_list(p, members, n, &text);
    ar_print("%s%-10s%s ", ar_bold(), groups[group].name, ar_plain());
    ar_print_wrapped(text.bad ? "?" : (const char *)text.data, ar_screen_columns() - 11, 11, NULL);
    if (groups[group].note)
        ar_print("%11s%s%s%s\n", "", ar_dim(), groups[group].note, ar_plain());
    ar_bytes_free(&text);
}

static void print_groups(const struct ar_switches *s, const struct ar_profile *p, uint32_t *members)
{
    for (int group = 0; group < N_GROUPS; group++) {
        size_t n = 0;

        for (size_t i = 0; i < s->n; i++)
            if ((int)group_of(&s->items[i]) == group)
                members[n++] = (uint32_t)i;
        if (!n)
            continue;
        qsort_r(members, n, sizeof *members, by_rank, p->processes);
        print_group(p, (enum group)group, members, n);
    }
}

static size_t count(const struct ar_switches *s, enum ar_switch_outcome outcome)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->items[i].outcome == (uint8_t)outcome;
    return n;
}

static void print_head(const struct tracing *t, size_t n_running)
{
    const char *which = t->wanted == WANT_ON ? "on" : "off";
    size_t n_done = count(&t->switches, AR_SWITCH_DONE);

    if (n_done == n_running)
        ar_print("trace switched %s in %s\n", which,
                 ar_show_items(n_running, "process", "processes"));
    else
        ar_print("trace switched %s in %zu of %s\n", which, n_done,
                 ar_show_items(n_running, "process", "processes"));
}

static int print_outcome(const struct tracing *t)
{
    const struct ar_switches *s = &t->switches;
    size_t n_running = s->n - count(s, AR_SWITCH_ENDED);
    struct ar_profile p = {.n_processes = (uint32_t)s->n, .processes = describe_processes(s)};
    uint32_t *members = calloc(s->n + 1, sizeof *members);

    if (!p.processes || !members) {
        free(p.processes);
        free(members);
        return ar_complain("out of memory");
    }
    if (t->wanted != WANT_STATE)
        print_head(t, n_running);
    print_groups(s, &p, members);
    free(p.processes);
    free(members);
    if (t->wanted == WANT_STATE)
        return AR_EXIT_OK;
    return n_running == count(s, AR_SWITCH_DONE) + count(s, AR_SWITCH_WAITING) ? AR_EXIT_OK
                                                                               : AR_EXIT_NO;
}

/* ---- which job --------------------------------------------------------------------------------- */

static const char *name_of(enum wanted wanted)
{
    return wanted == WANT_ON ? "trace on" : wanted == WANT_OFF ? "trace off" : "trace";
}

/* The one job below a directory of jobs. Returns an exit status, or -1 to go on. */
static int find_directory(struct tracing *t)
{
    struct ar_jobs jobs;
    struct stat st;
    int status = ar_refuse_several_jobs(name_of(t->wanted), t->path);

    if (status >= 0 || stat(t->path, &st) < 0 || !S_ISDIR(st.st_mode))
        return status;
    if (ar_jobs_find_in(&jobs, t->path) < 0)
        return ar_complain("out of memory");
    if (jobs.n == 1)
        snprintf(t->path, sizeof t->path, "%s", jobs.items[0].path);
    ar_jobs_free(&jobs);
    return status;
}

static int parse(int argc, char **argv, struct tracing *t)
{
    const struct ar_option options[] = {AR_HEADING("options"), AR_HELP_OPTION};
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);
    const char *word = optind < argc ? argv[optind] : "";

    if (status >= 0)
        return status;
    t->wanted = strcmp(word, "on") == 0    ? WANT_ON
                : strcmp(word, "off") == 0 ? WANT_OFF
                                           : WANT_STATE;
    if (t->wanted != WANT_STATE)
        optind++;
    if (argc - optind > 1)
        return ar_complain("one job at a time (usage: allranks trace [on|off] [DIR])");
    if (argc == optind)
        return ar_choose_job(name_of(t->wanted), t->path, sizeof t->path);
    snprintf(t->path, sizeof t->path, "%s", argv[optind]);
    return find_directory(t);
}

static int refuse(const struct tracing *t)
{
    if (!t->switches.n)
        return ar_complain("%s: no job runs there (it holds no live files)", t->path);
    return ar_complain("%s: the job has ended (what it recorded: allranks recover %s)", t->path,
                       ar_quote(t->path));
}

static int run(struct tracing *t)
{
    struct ar_error err;
    enum ar_status status =
        t->wanted == WANT_STATE ? ar_switches_find(&t->switches, t->path, &err) : ask_all(t, &err);

    if (status < 0)
        return ar_complain("%s", err.text);
    if (count(&t->switches, AR_SWITCH_ENDED) == t->switches.n)
        return refuse(t);
    return print_outcome(t);
}

int ar_command_trace(int argc, char **argv)
{
    struct tracing t = {.wanted = WANT_STATE};
    int status = parse(argc, argv, &t);

    if (status < 0)
        status = run(&t);
    ar_switches_free(&t.switches);
    return status;
}
