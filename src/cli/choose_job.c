// SPDX-License-Identifier: BSD-3-Clause
#include "cli/choose_job.h"

#include "analysis/jobs.h"
#include "analysis/load.h"
#include "cli/screen.h"

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

static void list(const char *command, const struct ar_jobs *jobs, bool running)
{
    size_t n_listed = 0;

    for (size_t i = 0; i < jobs->n; i++) {
        const struct ar_job *job = &jobs->items[i];

        if ((job->n_running > 0) != running || ++n_listed > MOST_LISTED)
            continue;
        ar_note("  allranks %s %s\n      %s, since %s", command, ar_quote(job->path),
                running ? ar_show_items(job->n_running, "process", "processes")
                        : ar_show_items(job->n_processes, "process that has ended",
                                        "processes that have ended"),
                ar_show_date(job->start_real_ns));
        print_program(job->path);
        ar_note("\n");
    }
    if (n_listed > MOST_LISTED)
        ar_note("  and %zu older ones\n", n_listed - MOST_LISTED);
}

static int choose(const struct ar_jobs *jobs, const char *command, char *path, size_t n_path)
{
    size_t n_running = 0;

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
        ar_complain("no job of yours is running on this host (these have left their files):");
        list(command, jobs, false);
    } else {
        ar_complain("no job of yours is running on this host (name its directory: allranks %s DIR)",
                    command);
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
    }
    ar_jobs_free(&jobs);
    return status;
}

int ar_choose_job(const char *command, char *path, size_t n_path)
{
    struct ar_jobs jobs;
    int status;

    if (ar_jobs_find(&jobs) < 0)
        return ar_complain("out of memory");
    status = choose(&jobs, command, path, n_path);
    ar_jobs_free(&jobs);
    return status;
}
