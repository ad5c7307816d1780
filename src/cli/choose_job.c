// SPDX-License-Identifier: BSD-3-Clause
#include "cli/choose_job.h"

#include "analysis/jobs.h"
#include "analysis/load.h"
#include "base/text.h"
#include "cli/screen.h"
#include "format/live_names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* What it runs is in each of its files: the first that can be read will do. */
static void print_program(const char *path)
{
    struct ar_profile p;
    struct ar_error err;

    if (ar_load(&p, path, &err) < 0)
        return;
    ar_note("  %s", ar_profile_fact_text(&p, "command"));
    ar_profile_free(&p);
}

#define MOST_LISTED 10
#define MOST_FILES 4 /* on a line; more are named by what they have in common */

/* One process is shown as it is; those of several have to become a run first. */
static void print_files(const char *command, const struct ar_job *job, size_t number)
{
    if (job->n_processes == 1) {
        ar_note("  allranks %s %s\n", strcmp(command, "top") == 0 ? "report" : command,
                ar_quote(job->files[0]));
        return;
    }
    ar_note("  allranks merge");
    for (size_t i = 0; i < job->n_processes && job->n_processes <= MOST_FILES; i++)
        ar_note(" %s", ar_quote(job->files[i]));
    if (job->n_processes > MOST_FILES)
        ar_note(" $(grep -laFe %s %s/*" AR_LIVE_ENDING ")", ar_quote(job->name),
                ar_quote(job->path));
    ar_note(" -o job%zu.allranks\n", number);
}

static void print_job(const char *command, const struct ar_job *job, size_t number)
{
    if (job->files)
        print_files(command, job, number);
    else
        ar_note("  allranks %s %s\n", command, ar_quote(job->path));
    ar_note("      %s, since %s",
            job->n_running ? ar_show_items(job->n_running, "process", "processes")
                           : ar_show_items(job->n_processes, "process that has ended",
                                           "processes that have ended"),
            ar_show_date(job->start_real_ns));
    print_program(job->files ? job->files[0] : job->path);
    ar_note("\n");
}

static void list(const char *command, const struct ar_jobs *jobs, bool running)
{
    size_t n_listed = 0;

    for (size_t i = 0; i < jobs->n; i++)
        if ((jobs->items[i].n_running > 0) == running && ++n_listed <= MOST_LISTED)
            print_job(command, &jobs->items[i], i + 1);
    if (n_listed > MOST_LISTED)
        ar_note("  and %zu older ones\n", n_listed - MOST_LISTED);
}

/* ---- run files -------------------------------------------------------------------------------- */

static int is_run_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && ar_ends_with(entry->d_name, ".allranks");
}

/* Where there are no live files the user may have meant a run beside others. -1: there is none. */
static int refuse_runs(const char *command, const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_run_file, versionsort);

    if (n > 0)
        ar_complain("%s: no live files are in it, but %s (say which one):", path,
                    ar_show_items((uint64_t)n, "run file", "run files"));
    for (int i = 0; i < n; i++) {
        char full[4096];

        snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
        if (i < MOST_LISTED) {
            ar_note("  allranks %s %s\n    ", strcmp(command, "top") == 0 ? "report" : command,
                    ar_quote(full));
            print_program(full);
            ar_note("\n");
        }
        free(entries[i]);
    }
    if (n > MOST_LISTED)
        ar_note("  and %d more\n", n - MOST_LISTED);
    if (n >= 0)
        free(entries);
    return n > 0 ? AR_EXIT_BAD : -1;
}

/* ---- which one -------------------------------------------------------------------------------- */

/* Where allranks run puts live files in this environment; NULL: in the usual places. */
static const char *chosen_directory(void)
{
    const char *chosen = getenv("ALLRANKS_LIVE_DIR");

    return chosen && *chosen ? chosen : NULL;
}

/* "on this host", or where alone jobs were looked for */
static const char *describe_places(char *room, size_t n_room)
{
    const char *chosen = chosen_directory();

    if (chosen)
        snprintf(room, n_room, "in %s ($ALLRANKS_LIVE_DIR)", chosen);
    return chosen ? room : "on this host";
}

static int choose(const struct ar_jobs *jobs, const char *command, char *path, size_t n_path)
{
    size_t n_running = 0;
    char places[4200];

    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->items[i].n_running) {
            n_running++;
            snprintf(path, n_path, "%s", jobs->items[i].path);
        }
    if (n_running == 1)
        return -1;
    if (n_running) {
        ar_complain("%zu jobs of yours are running (say which one):", n_running);
        list(command, jobs, true);
    } else if (jobs->n && strcmp(command, "where") == 0) {
        ar_complain("no job of yours is running %s (these have left their files):",
                    describe_places(places, sizeof places));
        list(command, jobs, false);
    } else {
        ar_complain("no job of yours is running %s (name its directory: allranks %s DIR)",
                    describe_places(places, sizeof places), command);
    }
    return AR_EXIT_BAD;
}

int ar_refuse_several_jobs(const char *command, const char *path)
{
    struct ar_jobs jobs;
    int status = -1;

    if (ar_jobs_find_in(&jobs, path) < 0)
        return ar_complain("out of memory");
    if (jobs.n > 1) {
        status = ar_complain("%s: live files of %zu jobs are in it (say which one):", path, jobs.n);
        list(command, &jobs, true);
        list(command, &jobs, false);
    } else if (jobs.n == 0) {
        status = refuse_runs(command, path);
    }
    ar_jobs_free(&jobs);
    return status;
}

int ar_choose_job(const char *command, char *path, size_t n_path)
{
    struct ar_jobs jobs;
    int status;

    const char *chosen = chosen_directory();

    if ((chosen ? ar_jobs_find_in(&jobs, chosen) : ar_jobs_find(&jobs)) < 0)
        return ar_complain("out of memory");
    status = choose(&jobs, command, path, n_path);
    ar_jobs_free(&jobs);
    return status;
}
