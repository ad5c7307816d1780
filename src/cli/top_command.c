// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks top: a running job, live. Looks at its live files every two seconds or so, and shows what
 * has happened since the last look.
 */
#include "analysis/look.h"
#include "base/clock.h"
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "cli/terminal.h"
#include "cli/top_json.h"
#include "cli/top_screen.h"
#include "export/tables_json.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: allranks top [options] [DIR]\n"
    "\n"
    "Watch a running job: its processes, and the functions in which they spend their time, since\n"
    "the last look and since the start. Only files are read, so the job is not disturbed. DIR is\n"
    "its directory of live files; without one it is your only job that runs on this host,\n"
    "or in $ALLRANKS_LIVE_DIR where that is set.\n"
    "\n"
    "keys: s sort, / filter, p one process, space freeze, arrows scroll, ? help, q quit\n";

#define REST_FACTOR 4 /* a look that takes long is not repeated immediately */

struct top {
    struct ar_watch watch;
    struct ar_top_view view;
    char path[4096];
    char typed[sizeof(((struct ar_top_view *)0)->filter)];
    bool once, asks_process;
    int json;      /* enum ar_json_version */
    double look_s; /* how long the last one took */
};

/* ---- looking ---------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    return (double)ar_clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static enum ar_status look(struct top *t, struct ar_error *err)
{
    double begin = seconds_now();
    bool had_one = t->watch.n_processes > 0;
    enum ar_status status = ar_watch_look(&t->watch, t->path, err);

    t->look_s = seconds_now() - begin;
    t->view.has_interval = had_one;
    return status;
}

static void sleep_s(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

/* What there is to say when nothing runs any more; files that stay were left by processes that were killed. */
static void print_end(const struct top *t)
{
    bool any_left = false;

    for (size_t i = 0; i < t->watch.n_processes; i++)
        any_left = any_left || t->watch.processes[i].was_seen;
    ar_print("allranks: %s\n",
             t->watch.n_processes == 1 ? "the process has ended" : "all processes have ended");
    if (any_left)
        ar_print("allranks: see: allranks where %s, allranks report %s\n", ar_quote(t->path),
                 ar_quote(t->path));
}

/* ---- plain ------------------------------------------------------------------------------------ */

static int print_json(const struct ar_top_view *view)
{
    static const char *const tables[] = {"top", "top_processes", "top_functions", NULL};
    struct ar_shown_job job = {.watch = view->watch, .has_interval = view->has_interval};
    struct ar_top_row *rows = ar_top_rows(view, &job.n_rows);
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status = rows ? AR_OK : AR_NOMEM;

    job.rows = rows;
    ar_json_begin(&j, "top");
    ar_json_facts(&j, "facts", &view->watch->names);
    if (status == AR_OK)
        status = ar_json_tables(&j, &(struct ar_subject){.job = &job}, tables);
    ar_json_end(&j);
    free(rows);
    return ar_print_json(&j, status);
}

static int print_once(struct top *t)
{
    struct ar_bytes text = {0};
    int status;

    if (t->json != AR_NO_JSON)
        return t->json == AR_JSON_1 ? ar_top_json(&t->view) : print_json(&t->view);
    t->view.is_plain = true;
    t->view.n_rows = 24;
    t->view.n_columns = ar_screen_columns();
    if (!ar_top_screen(&t->view, &text))
        status = ar_complain("out of memory");
    else
        status = ar_write_output("-", &text);
    ar_bytes_free(&text);
    if (status == AR_EXIT_OK && !ar_watch_any_running(&t->watch))
        print_end(t);
    return status;
}

/* ---- keys ------------------------------------------------------------------------------------- */

static bool picks(const struct ar_process *process, const char *typed)
{
    char *end;
    unsigned long number = strtoul(typed, &end, 10);

    if (end == typed || *end)
        return false;
    return number == process->world_rank || number == process->pid;
}

/* A rank before a pid: ranks come first in the list. */
static void pick(struct top *t)
{
    t->view.has_picked = false;
    for (size_t i = 0; i < t->watch.n_processes && !t->view.has_picked; i++)
        if (picks(&t->watch.processes[i].process, t->typed)) {
            t->view.has_picked = true;
            t->view.picked = t->watch.processes[i].process;
        }
}

static void ask(struct top *t, const char *prompt, bool process)
{
    t->view.prompt = prompt;
    t->view.typed = t->typed;
    t->asks_process = process;
    snprintf(t->typed, sizeof t->typed, "%s", process ? "" : t->view.filter);
}

static void answer(struct top *t)
{
    t->view.prompt = NULL;
    if (t->asks_process)
        pick(t);
    else
        snprintf(t->view.filter, sizeof t->view.filter, "%s", t->typed);
    t->view.first_function = 0;
}

/* While something is asked for, keys are letters. */
static void type(struct top *t, int key)
{
    size_t n = strlen(t->typed);

    if (key == '\r' || key == '\n') {
        answer(t);
    } else if (key == '\033') {
        t->view.prompt = NULL;
    } else if (key == 0x7f || key == '\b') {
        while (n && (t->typed[n - 1] & 0xc0) == 0x80)
            n--; /* of a character of several bytes */
        t->typed[n ? n - 1 : 0] = '\0';
    } else if (key >= 0x20 && key < 256 && n + 1 < sizeof t->typed) {
        t->typed[n] = (char)key;
        t->typed[n + 1] = '\0';
    }
}

static void scroll(struct top *t, int key)
{
    size_t *first = t->view.scrolls_processes ? &t->view.first_process : &t->view.first_function;
    size_t page = t->view.n_rows > 12 ? t->view.n_rows / 2 : 5;
    size_t step = key == AR_KEY_PAGE_UP || key == AR_KEY_PAGE_DOWN ? page : 1;

    if (key == AR_KEY_HOME)
        *first = 0;
    else if (key == AR_KEY_END)
        *first = 1u << 30; /* the screen sets it back */
    else if (key == AR_KEY_UP || key == AR_KEY_PAGE_UP)
        *first -= *first < step ? *first : step;
    else if (key == AR_KEY_DOWN || key == AR_KEY_PAGE_DOWN)
        *first += step;
}

/* false: quit. */
static bool obey(struct top *t, int key)
{
    struct ar_top_view *view = &t->view;

    if (view->prompt) {
        type(t, key);
        return true;
    }
    if (view->helps) {
        view->helps = false;
        return key != 'q';
    }
    switch (key) {
    case 'q':
        return false;
    case 's':
        view->sort = (view->sort + 1) % AR_TOP_N_SORTS;
        view->first_function = 0;
        break;
    case 'f':
    case '/':
        ask(t, "show only functions with (empty: all): ", false);
        break;
    case 'p':
        ask(t, "show only the process with rank or pid (empty: all): ", true);
        break;
    case ' ':
        view->frozen = !view->frozen;
        break;
    case '\t':
        view->scrolls_processes = !view->scrolls_processes;
        break;
    case '?':
    case 'h':
        view->helps = true;
        break;
    default:
        scroll(t, key);
    }
    return true;
}

/* ---- live ------------------------------------------------------------------------------------- */

static bool paint(struct top *t)
{
    struct ar_bytes text = {0};

    ar_terminal_size(&t->view.n_rows, &t->view.n_columns);
    bool good = ar_top_screen(&t->view, &text);

    if (good)
        ar_terminal_paint(&text);
    ar_bytes_free(&text);
    return good;
}

/* So that looking takes at most a part of a processor, however much there is to read. */
static double pause_s(const struct top *t)
{
    double rest = REST_FACTOR * t->look_s;

    return rest > t->view.interval_s ? rest : t->view.interval_s;
}

/* Until the user quits, nothing runs any more, or something goes wrong. */
static enum ar_status follow(struct top *t, bool *has_quit, struct ar_error *err)
{
    double next = seconds_now() + pause_s(t);
    enum ar_status status = AR_OK;

    while (status == AR_OK && ar_watch_any_running(&t->watch)) {
        if (!paint(t))
            return ar_fail(err, AR_NOMEM, "out of memory");

        double left = next - seconds_now();
        int key = left > 0 ? ar_terminal_wait(left) : ar_terminal_wait(0);

        if (key == AR_KEY_SIGNAL)
            ar_terminal_die();
        if (key && key != AR_KEY_RESIZE && !obey(t, key)) {
            *has_quit = true;
            return AR_OK;
        }
        if (seconds_now() < next)
            continue;
        if (!t->view.frozen)
            status = look(t, err);
        next = seconds_now() + pause_s(t);
    }
    return status;
}

static int run_live(struct top *t)
{
    struct ar_error err;
    bool has_quit = false;
    enum ar_status status = follow(t, &has_quit, &err);

    ar_terminal_close();
    if (status < 0)
        return ar_complain("%s", err.text);
    if (!has_quit)
        print_end(t);
    return AR_EXIT_OK;
}

/* ---- command ---------------------------------------------------------------------------------- */

static bool parse_seconds(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    return end != text && !*end && *seconds >= 0.05 && *seconds <= 86400;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct top *t)
{
    const char *interval = NULL;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.letter = 'd',
         .kind = AR_OPTION_TEXT,
         .to = &interval,
         .value = "SECONDS",
         .help = "how long between two looks (default: 2)"},
        {.name = "once",
         .kind = AR_OPTION_FLAG,
         .to = &t->once,
         .help = "print one screen as plain text, of the time since the start; with -d\n"
                 "also of the time between two looks. The same if the output is no\n"
                 "terminal"},
        AR_JSON_OPTION(&t->json, "the same"),
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (interval && !parse_seconds(interval, &t->view.interval_s))
        return ar_complain("-d %s: not a number of seconds from 0.05 on", interval);
    if (argc - optind > 1)
        return ar_complain("one job at a time (usage: allranks top [DIR])");
    if (argc == optind)
        return ar_choose_job("top", t->path, sizeof t->path);
    snprintf(t->path, sizeof t->path, "%s", argv[optind]);
    return -1;
}

static int check_path(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return ar_complain("%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return ar_complain("%s: not a directory of a running job (allranks report %s shows a run)",
                           path, ar_quote(path));
    return ar_refuse_several_jobs("top", path);
}

static int run(struct top *t)
{
    struct ar_error err;
    bool plain = t->once || t->json != AR_NO_JSON || !isatty(STDOUT_FILENO);
    bool twice = plain && t->view.interval_s > 0;

    if (look(t, &err) < 0)
        return ar_complain("%s", err.text);
    if (twice)
        sleep_s(t->view.interval_s);
    if (twice && look(t, &err) < 0)
        return ar_complain("%s", err.text);
    if (t->view.interval_s == 0)
        t->view.interval_s = 2;
    if (plain || !ar_watch_any_running(&t->watch) || !ar_terminal_open())
        return print_once(t);
    return run_live(t);
}

int ar_command_top(int argc, char **argv)
{
    static struct top t = {.json = AR_NO_JSON};
    int status = parse(argc, argv, &t);

    if (status < 0)
        status = check_path(t.path);
    if (status >= 0)
        return status;
    if (ar_watch_init(&t.watch) < 0)
        return ar_complain("out of memory");
    t.view.watch = &t.watch;
    status = run(&t);
    ar_watch_free(&t.watch);
    return status;
}
