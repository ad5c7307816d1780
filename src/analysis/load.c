// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"

#include "format/livefile.h"
#include "format/runfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ar_status load_run(struct ar_profile *p, const char *path, struct ar_error *err)
{
    struct ar_profile run;
    enum ar_status status = ar_run_read(&run, path, err);

    if (status < 0)
        return status;
    if (ar_profile_merge(p, &run) < 0)
        status = ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    ar_profile_free(&run);
    return status;
}

static enum ar_status load_live(struct ar_profile *p, const char *path, struct ar_error *err)
{
    struct ar_live live;
    enum ar_status status = ar_live_open(&live, path, err);

    if (status == AR_OK) {
        status = ar_profile_add_live(p, &live, 0, err);
        ar_live_close(&live);
        if (status < 0)
            ar_fail(err, status, "%s: %s", path,
                    status == AR_BAD ? "damaged live file" : ar_status_text(status));
    }
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* "p100-7.c101-9.allranks": what a child that has ended leaves in place of its live file. */
static bool is_ended_child(const char *name)
{
    return ends_with(name, ".allranks") && strstr(name, ".c") && (name[0] == 'p' || name[0] == 'r');
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Live files in it, and in the directories of jobs below it. */
static enum ar_status load_directory(struct ar_profile *p, const char *path, int depth,
                                     struct ar_error *err)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, versionsort);
    enum ar_status status = AR_OK;

    if (n < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name, full[8192];

        snprintf(full, sizeof full, "%s/%s", path, name);
        if (status == AR_OK && ends_with(name, ".live"))
            status = load_live(p, full, err);
        else if (status == AR_OK && is_ended_child(name))
            status = load_run(p, full, err);
        else if (status == AR_OK && depth == 0 && name[0] != '.' && is_directory(full))
            status = load_directory(p, full, depth + 1, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static bool starts_with_magic(const char *path, const char *magic)
{
    char head[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof head && memcmp(head, magic, sizeof head) == 0;
}

enum ar_status ar_load_into(struct ar_profile *p, const char *path, struct ar_error *err)
{
    size_t n_before = p->n_processes;
    enum ar_status status;
    struct stat st;

    if (stat(path, &st) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        status = load_directory(p, path, 0, err);
        if (status == AR_OK && p->n_processes == n_before)
            status = ar_fail(err, AR_BAD, "%s: no live files in this directory", path);
        return status;
    }
    if (!S_ISREG(st.st_mode))
        return ar_fail(err, AR_BAD, "%s: not a regular file", path);
    if (starts_with_magic(path, AR_LIVE_MAGIC))
        return load_live(p, path, err);
    if (!starts_with_magic(path, AR_RUN_MAGIC))
        return ar_fail(err, AR_BAD,
                       "%s: not a file of allranks (a run file is made by: allranks "
                       "run SCRIPT)",
                       path);
    return load_run(p, path, err);
}

enum ar_status ar_load(struct ar_profile *out, const char *path, struct ar_error *err)
{
    enum ar_status status = ar_profile_init(out);

    if (status < 0)
        ar_fail(err, status, "%s", ar_status_text(status));
    else
        status = ar_load_into(out, path, err);
    if (status < 0)
        ar_profile_free(out);
    return status;
}
