// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/jobs.h"

#include "analysis/load.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/text.h"
#include "format/live_names.h"
#include "format/livefile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* The job of another user may be looked at, too, if its directory is named. */
static bool may_be_read(const char *path, bool is_named)
{
    struct ar_error err;

    return is_named ? ar_file_check_found(path, &err) == AR_OK : ar_file_is_own(path);
}

/* A live file, and what tells its job from another one. */
struct file {
    char *path;
    struct ar_live_header header;
    size_t job; /* index */
};

struct directory {
    struct file *files;
    size_t n, cap, n_jobs;
};

static bool has_rank(const struct ar_live_header *h)
{
    return h->world_rank != AR_RANK_NONE && h->world_size;
}

static bool can_be_one_job(const struct ar_live_header *a, const struct ar_live_header *b)
{
    if (strncmp(a->job, b->job, sizeof a->job) == 0 || a->is_child || b->is_child)
        return true;
    return has_rank(a) && has_rank(b) && a->world_size == b->world_size &&
           a->world_rank != b->world_rank;
}

static bool is_of_job(const struct directory *d, const struct ar_live_header *header, size_t job)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->files[i].job == job && !can_be_one_job(&d->files[i].header, header))
            return false;
    return true;
}

/* By its name, if there is a file of that name; else the first job that it can be of, or a new one. */
static size_t job_of(struct directory *d, const struct ar_live_header *header)
{
    size_t job = 0;

    for (size_t i = 0; i < d->n; i++)
        if (strncmp(d->files[i].header.job, header->job, sizeof header->job) == 0)
            return d->files[i].job;
    while (job < d->n_jobs && !is_of_job(d, header, job))
        job++;
    if (job == d->n_jobs)
        d->n_jobs++;
    return job;
}

static enum ar_status look_at(struct directory *d, const char *path, bool is_named)
{
    struct file file = {0};

    if (!may_be_read(path, is_named) || !ar_live_read_header(path, &file.header))
        return AR_OK;
    file.path = strdup(path);
    if (!file.path || ar_grow((void **)&d->files, &d->cap, d->n + 1, sizeof *d->files) < 0) {
        free(file.path);
        return AR_NOMEM;
    }
    file.job = job_of(d, &file.header);
    d->files[d->n++] = file;
    return AR_OK;
}

/* Sorted, so that the result does not depend on the order in which the file system lists them. */
static enum ar_status look_into(struct directory *d, const char *directory, bool is_named)
{
    struct dirent **entries;
    int n = scandir(directory, &entries, NULL, versionsort);
    enum ar_status status = AR_OK;

    for (int i = 0; i < n; i++) {
        char path[PATH_BYTES];

        if (status == AR_OK && ar_live_name_is_live(entries[i]->d_name) &&
            snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name) < (int)sizeof path)
            status = look_at(d, path, is_named);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return status;
}

static void free_job(struct ar_job *job)
{
    for (size_t i = 0; job->files && i < job->n_processes; i++)
        free(job->files[i]);
    free(job->files);
    free(job->path);
}

static void add_file(struct ar_job *job, struct file *file)
{
    if (!job->n_processes)
        memcpy(job->name, file->header.job, sizeof job->name - 1);
    if (job->files) {
        job->files[job->n_processes] = file->path;
        file->path = NULL;
    }
    job->n_processes++;
    job->n_running += ar_live_is_running(&file->header);
    if (!job->start_real_ns || file->header.start.real_ns < job->start_real_ns)
        job->start_real_ns = file->header.start.real_ns;
}

static enum ar_status add_job(struct ar_jobs *jobs, const char *path, struct directory *d,
                              size_t number)
{
    struct ar_job job = {.path = strdup(path)};

    if (d->n_jobs > 1)
        job.files = calloc(d->n + 1, sizeof *job.files);
    if (!job.path || (d->n_jobs > 1 && !job.files) ||
        ar_grow((void **)&jobs->items, &jobs->cap, jobs->n + 1, sizeof *jobs->items) < 0) {
        free_job(&job);
        return AR_NOMEM;
    }
    for (size_t i = 0; i < d->n; i++)
        if (d->files[i].job == number)
            add_file(&job, &d->files[i]);
    jobs->items[jobs->n++] = job;
    return AR_OK;
}

static enum ar_status add_directory(struct ar_jobs *jobs, const char *path, bool is_named)
{
    struct directory d = {0};
    enum ar_status status = look_into(&d, path, is_named);

    for (size_t i = 0; i < d.n_jobs && status == AR_OK; i++)
        status = add_job(jobs, path, &d, i);
    for (size_t i = 0; i < d.n; i++)
        free(d.files[i].path);
    free(d.files);
    return status;
}

/* Any user that can write to these places can make a directory of this name: only the user's own count. */
static enum ar_status add_place(struct ar_jobs *jobs, const char *place)
{
    char parent[PATH_BYTES], path[2 * PATH_BYTES];
    enum ar_status status = AR_OK;

    ar_live_name_home(parent, sizeof parent, place);
    DIR *dir = ar_file_is_own_directory(parent) ? opendir(parent) : NULL;

    for (struct dirent *entry; dir && status == AR_OK && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        if (entry->d_name[0] != '.' && ar_file_is_own_directory(path))
            status = add_directory(jobs, path, false);
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
    enum ar_status status = AR_OK;

    *out = (struct ar_jobs){0};
    for (unsigned i = 0; i < AR_N_LIVE_PLACES && status == AR_OK; i++)
        if (ar_live_place(i))
            status = add_place(out, ar_live_place(i));
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
    status = dir ? add_directory(out, directory, true) : AR_OK;
    for (struct dirent *entry; dir && status == AR_OK && (entry = readdir(dir));) {
        char path[2 * PATH_BYTES];

        if (entry->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < (int)sizeof path &&
            is_directory(path))
            status = add_directory(out, path, true);
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
        free_job(&jobs->items[i]);
    free(jobs->items);
    *jobs = (struct ar_jobs){0};
}
