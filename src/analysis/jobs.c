// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/jobs.h"

#include "analysis/load.h"
#include "base/arena.h"
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* Somebody else's job may be looked at, too, by one who names it. */
static bool may_be_read(const char *path, bool is_named)
{
    struct ar_error err;

    return is_named ? ar_file_check_found(path, &err) == AR_OK : ar_file_is_own(path);
}

static void look_at(struct ar_job *job, const char *path, bool is_named)
{
    struct ar_live_header header;

    if (!may_be_read(path, is_named) || !ar_live_read_header(path, &header))
        return;
    job->n_processes++;
    job->n_running += ar_live_is_running(&header);
    if (!job->start_real_ns || header.start.real_ns < job->start_real_ns)
        job->start_real_ns = header.start.real_ns;
}

static void look_into(struct ar_job *job, const char *directory, bool is_named)
{
    DIR *dir = opendir(directory);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t n = strlen(entry->d_name);
        char path[PATH_BYTES];

        if (n > 5 && strcmp(entry->d_name + n - 5, ".live") == 0 &&
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path)
            look_at(job, path, is_named);
    }
    if (dir)
        closedir(dir);
}

static enum ar_status add_job(struct ar_jobs *jobs, const char *path, bool is_named)
{
    struct ar_job job = {0};

    look_into(&job, path, is_named);
    if (!job.n_processes)
        return AR_OK;
    job.path = strdup(path);
    if (!job.path ||
        ar_grow((void **)&jobs->items, &jobs->cap, jobs->n + 1, sizeof *jobs->items) < 0) {
        free(job.path);
        return AR_NOMEM;
    }
    jobs->items[jobs->n++] = job;
    return AR_OK;
}

/* Whoever can write to these places can make a directory of this name: only the user's own count. */
static enum ar_status add_place(struct ar_jobs *jobs, const char *place)
{
    char parent[PATH_BYTES], path[2 * PATH_BYTES];
    enum ar_status status = AR_OK;

    snprintf(parent, sizeof parent, "%s/allranks-%u", place, (unsigned)geteuid());
    DIR *dir = ar_file_is_own_directory(parent) ? opendir(parent) : NULL;

    for (struct dirent *entry; dir && status == AR_OK && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        if (entry->d_name[0] != '.' && ar_file_is_own_directory(path))
            status = add_job(jobs, path, false);
    }
    if (dir)
        closedir(dir);
    return status;
}

static int newest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct ar_job *)a)->start_real_ns;
    uint64_t y = ((const struct ar_job *)b)->start_real_ns;

    return (x < y) - (x > y);
}

enum ar_status ar_jobs_find(struct ar_jobs *out)
{
    const char *places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    enum ar_status status = AR_OK;

    *out = (struct ar_jobs){0};
    for (size_t i = 0; i < sizeof places / sizeof *places && status == AR_OK; i++)
        if (places[i] && *places[i] && !(i == 1 && strcmp(places[i], "/tmp") == 0))
            status = add_place(out, places[i]);
    if (status < 0)
        ar_jobs_free(out);
    else if (out->n)
        qsort(out->items, out->n, sizeof *out->items, newest_first);
    return status;
}

/* Links are not followed, as where the files are read: see load.h. */
static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum ar_status ar_jobs_find_in(struct ar_jobs *out, const char *directory)
{
    DIR *dir = opendir(directory);
    enum ar_status status;

    *out = (struct ar_jobs){0};
    status = dir ? add_job(out, directory, true) : AR_OK;
    for (struct dirent *entry; dir && status == AR_OK && (entry = readdir(dir));) {
        char path[2 * PATH_BYTES];

        if (entry->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path &&
            is_directory(path))
            status = add_job(out, path, true);
    }
    if (dir)
        closedir(dir);
    if (status < 0)
        ar_jobs_free(out);
    else if (out->n)
        qsort(out->items, out->n, sizeof *out->items, newest_first);
    return status;
}

void ar_jobs_free(struct ar_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        free(jobs->items[i].path);
    free(jobs->items);
    *jobs = (struct ar_jobs){0};
}
