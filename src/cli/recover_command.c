// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks recover [-o FILE] [--remove] DIR|LIVE...\n"
    "\n"
    "Make a run file of whatever is left of a job: live files of processes that finished,\n"
    "were killed or still run, in directories of jobs or single ones. What a process was\n"
    "in is taken to have lasted until its last event. Of a damaged file the part that can\n"
    "be read is taken. What is missing is said on standard error.\n";
static const char usage_end[] =
    "exit status: 0, 1 if a rank or a part of a file is missing, 2 if nothing was recovered\n";

/* A file that says more is damaged. */
#define MOST_RANKS ((uint32_t)1 << 24)

struct request {
    const char *output;
    bool removes;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* "ranks 2, 5-9": numbers in rising order, cut off where there are too many. */
struct number_list {
    char text[256];
    uint64_t first, last;
    bool is_open;
};

static void end_range(struct number_list *list)
{
    size_t n = strlen(list->text);
    const char *comma = n ? ", " : "";

    if (!list->is_open)
        return;
    if (n > sizeof list->text - 64) {
        if (!strstr(list->text, "..."))
            snprintf(list->text + n, sizeof list->text - n, ", ...");
    } else if (list->first == list->last) {
        snprintf(list->text + n, sizeof list->text - n, "%s%llu", comma,
                 (unsigned long long)list->first);
    } else {
        snprintf(list->text + n, sizeof list->text - n, "%s%llu-%llu", comma,
                 (unsigned long long)list->first, (unsigned long long)list->last);
    }
    list->is_open = false;
}

static void add_number(struct number_list *list, uint64_t number)
{
    if (list->is_open && number == list->last + 1) {
        list->last = number;
        return;
    }
    end_range(list);
    list->first = list->last = number;
    list->is_open = true;
}

/* ---- what is missing ------------------------------------------------------------------------- */

static bool is_of(const struct ar_find *find, const char *job)
{
    return find->is_taken && find->file.has_header && (!job || strcmp(find->file.job, job) == 0);
}

static bool has_rank(const struct ar_find *find)
{
    return find->file.world_rank < find->file.world_size && find->file.world_size <= MOST_RANKS;
}

/* Says which ranks have no file; true: there are some. */
static bool miss_ranks(const struct ar_finds *finds, const char *job)
{
    struct number_list list = {0};
    uint32_t size = 0, n_missing = 0;

    for (size_t i = 0; i < finds->n; i++)
        if (is_of(&finds->items[i], job) && has_rank(&finds->items[i]) &&
            finds->items[i].file.world_size > size)
            size = finds->items[i].file.world_size;

    bool *seen = calloc((size_t)size + 1, sizeof *seen);

    for (size_t i = 0; seen && i < finds->n; i++)
        if (is_of(&finds->items[i], job) && has_rank(&finds->items[i]))
            seen[finds->items[i].file.world_rank] = true;
    for (uint32_t rank = 0; seen && rank < size; rank++)
        if (!seen[rank]) {
            add_number(&list, rank);
            n_missing++;
        }
    end_range(&list);
    free(seen);
    if (n_missing)
        ar_note("allranks: missing: rank%s %s of %u ha%s no file here (not recorded, or on another "
                "node)\n",
                n_missing == 1 ? "" : "s", list.text, size, n_missing == 1 ? "s" : "ve");
    return n_missing > 0;
}

static bool is_first_of_its_job(const struct ar_finds *finds, size_t i)
{
    if (!is_of(&finds->items[i], NULL))
        return false;
    for (size_t k = 0; k < i; k++)
        if (is_of(&finds->items[k], finds->items[i].file.job))
            return false;
    return true;
}

/* The nodes of one job may have given it different names: then no rank is there twice. */
static bool are_several_jobs(const struct ar_finds *finds)
{
    for (size_t i = 0; i < finds->n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct ar_find *a = &finds->items[i], *b = &finds->items[k];

            if (is_of(a, NULL) && is_of(b, NULL) && strcmp(a->file.job, b->file.job) != 0 &&
                (a->file.world_size != b->file.world_size || !has_rank(a) ||
                 a->file.world_rank == b->file.world_rank))
                return true;
        }
    return false;
}

static bool tell_of_ranks(const struct ar_finds *finds)
{
    bool any = false;
    size_t n_jobs = 0;

    if (!are_several_jobs(finds))
        return miss_ranks(finds, NULL);
    for (size_t i = 0; i < finds->n; i++)
        if (is_first_of_its_job(finds, i)) {
            any = miss_ranks(finds, finds->items[i].file.job) || any;
            n_jobs++;
        }
    ar_note("allranks: %s are in this one run (to have one alone, name its directory)\n",
            ar_show_items(n_jobs, "job", "jobs"));
    return any;
}

/* In a process that runs, what it was just making may be seen by half. */
static bool is_damaged(const struct ar_find *find)
{
    return find->n_bytes_left_out ||
           (find->n_paths_left_out && find->file.state != AR_LEFT_RUNNING);
}

static bool tell_of_damage(const struct ar_finds *finds)
{
    bool any = false;

    for (size_t i = 0; i < finds->n; i++) {
        const struct ar_find *find = &finds->items[i];

        if (find->file.is_blank) {
            ar_note("allranks: %s: empty, its process ended as it began\n", find->path);
            continue;
        }
        if (!find->is_taken)
            ar_note("allranks: missing: %s\n", find->why);
        else if (is_damaged(find))
            ar_note(
                "allranks: missing: %s: damaged, %s and %s of it could not be read; the rest is "
                "in the run\n",
                find->path, ar_show_bytes(find->n_bytes_left_out),
                ar_show_items(find->n_paths_left_out, "call path", "call paths"));
        any = any || !find->is_taken || is_damaged(find);
    }
    return any;
}

/* By rank where there are ranks, else by pid. */
static void tell_of_state(const struct ar_finds *finds, enum ar_left_state state, const char *what)
{
    struct number_list ranks = {0}, pids = {0};
    size_t n = 0;

    for (size_t i = 0; i < finds->n; i++) {
        const struct ar_find *find = &finds->items[i];

        if (!find->is_taken || find->file.state != state ||
            (state == AR_LEFT_ELSEWHERE && find->file.is_finished))
            continue;
        n++;
        if (has_rank(find))
            add_number(&ranks, find->file.world_rank);
        else
            add_number(&pids, find->file.pid);
    }
    end_range(&ranks);
    end_range(&pids);
    if (n)
        ar_note("allranks: %s %s (%s%s%s%s%s)\n", ar_show_items(n, "process", "processes"), what,
                *ranks.text ? "rank " : "", ranks.text, *ranks.text && *pids.text ? "; " : "",
                *pids.text ? "pid " : "", pids.text);
}

/* true: something is missing. */
static bool tell(const struct ar_finds *finds)
{
    bool is_damaged = tell_of_damage(finds);
    bool is_missing = tell_of_ranks(finds);

    tell_of_state(finds, AR_LEFT_SILENT,
                  "ended without a word: what was open then lasts until the last event of "
                  "the job");
    tell_of_state(finds, AR_LEFT_RUNNING, "still running: all until now is in the run");
    tell_of_state(finds, AR_LEFT_ELSEWHERE,
                  "of another host, running still or ended without a word");
    return is_damaged || is_missing;
}

/* ---- removing -------------------------------------------------------------------------------- */

static bool may_go(const struct ar_find *find)
{
    bool is_over = find->file.state == AR_LEFT_SILENT || find->file.state == AR_LEFT_FINISHED ||
                   (find->file.state == AR_LEFT_ELSEWHERE && find->file.is_finished);

    return find->is_taken && !is_damaged(find) && is_over;
}

/* Verdicts where no live file is left, and the directory, if its name says that it is the job's. */
static void tidy(const struct ar_find *find)
{
    const char *slash = strrchr(find->path, '/');
    struct ar_leftovers left = {0};
    struct ar_error err;
    char directory[4096];
    uint64_t n_bytes = 0;

    if (!slash || slash == find->path)
        return;
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - find->path), find->path);

    const char *name = strrchr(directory, '/');

    if (strcmp(name ? name + 1 : directory, find->file.job) != 0)
        return;
    if (ar_leftovers_find(&left, directory, &err) == AR_OK && left.n_jobs == 1 &&
        left.jobs[0].n_processes == 0 && left.jobs[0].state == AR_LEFT_SILENT)
        ar_leftovers_remove(&left.jobs[0], &n_bytes);
    ar_leftovers_free(&left);
    ar_left_remove_directory(directory);
}

static void remove_live_files(const struct ar_finds *finds)
{
    size_t n_removed = 0;

    for (size_t i = 0; i < finds->n; i++)
        n_removed +=
            may_go(&finds->items[i]) && ar_left_remove(finds->items[i].path, &finds->items[i].file);
    for (size_t i = 0; i < finds->n; i++)
        tidy(&finds->items[i]);
    ar_note("allranks: %s removed", ar_show_items(n_removed, "live file", "live files"));
    if (n_removed < finds->n)
        ar_note(", %s kept (running, damaged or on another host)",
                ar_show_count(finds->n - n_removed));
    ar_note("\n");
}

/* ---------------------------------------------------------------------------------------------- */

static int recover(struct ar_profile *p, const struct ar_finds *finds,
                   const struct request *request)
{
    bool is_missing = tell(finds);
    char name[2048];

    if (p->n_processes == 0)
        return ar_complain("nothing was recovered");
    ar_default_output(p, name, sizeof name);
    int status = ar_write_run(p, request->output ? request->output : name);

    if (status == AR_EXIT_OK && request->removes)
        remove_live_files(finds);
    return status == AR_EXIT_OK && is_missing ? AR_EXIT_NO : status;
}

static int parse(int argc, char **argv, struct request *request)
{
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_OUTPUT_OPTION(&request->output,
                         "the run file to write (default: named after the program, in the\n"
                         "current directory); an existing one is not overwritten, FILE-2\n"
                         "is written instead"),
        {.name = "remove",
         .kind = AR_OPTION_FLAG,
         .to = &request->removes,
         .help = "then remove the live files that are wholly in it, but for those\n"
                 "of processes that still run"},
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);

    if (status >= 0)
        return status;
    if (optind == argc)
        return ar_complain(
            "what? (usage: allranks recover DIR; allranks clean lists what there is)");
    return -1;
}

int ar_command_recover(int argc, char **argv)
{
    struct request request = {0};
    struct ar_finds finds = {0};
    struct ar_profile p;
    struct ar_error err;
    int status = parse(argc, argv, &request);

    if (status >= 0)
        return status;
    ar_load_traces = true;
    if (ar_profile_init(&p) < 0)
        return ar_complain("out of memory");
    for (int i = optind; i < argc && status < 0; i++)
        if (ar_load_what_is_left(&p, argv[i], &finds, &err) < 0)
            status = ar_complain("%s", err.text);
    if (status < 0)
        status = recover(&p, &finds, &request);
    ar_finds_free(&finds);
    ar_profile_free(&p);
    return status;
}
