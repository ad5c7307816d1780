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

static enum ar_status read_whole(const char *path, size_t n_bytes, unsigned char **bytes,
                                 struct ar_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum ar_status status = AR_OK;

    if (fd < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    *bytes = malloc(n_bytes ? n_bytes : 1);
    if (!*bytes)
        status =
            ar_fail(err, AR_NOMEM, "%s: no memory for %zu bytes (free some, or read it elsewhere)",
                    path, n_bytes);
    for (size_t done = 0; status == AR_OK && done < n_bytes;) {
        ssize_t n = read(fd, *bytes + done, n_bytes - done);

        if (n < 0 && errno != EINTR)
            status = ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
        else if (n == 0)
            status =
                ar_fail(err, AR_BAD,
                        "%s: became shorter while it was read (wait until it is all there)", path);
        else if (n > 0)
            done += (size_t)n;
    }
    close(fd);
    if (status < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

/* One that cannot be read need not be in memory for that, however large it is. */
static enum ar_status check_version(const char *path, struct ar_error *err)
{
    unsigned char head[16] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
    struct ar_profile none;

    if (fd >= 0)
        close(fd);
    return n > 0 && ar_run_decode(&none, head, (size_t)n, path, err) == AR_UNSUPPORTED
               ? AR_UNSUPPORTED
               : AR_OK;
}

static enum ar_status load_run(struct ar_profile *p, const char *path, size_t n_bytes,
                               struct ar_error *err)
{
    struct ar_profile run;
    unsigned char *bytes = NULL;
    enum ar_status status = check_version(path, err);

    if (status == AR_OK)
        status = read_whole(path, n_bytes, &bytes, err);

    if (status < 0)
        return status;
    status = ar_run_decode(&run, bytes, n_bytes, path, err);
    free(bytes);
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
                    status == AR_BAD ? "damaged live file (move it away to read the others)"
                                     : ar_status_text(status));
    }
    return status;
}

/* One of which the process has only just started, or has ended meanwhile, is none yet, or no more. */
static enum ar_status load_live_in_directory(struct ar_profile *p, const char *path,
                                             struct ar_error *err)
{
    enum ar_status status = load_live(p, path, err);

    return status < 0 && !ar_live_has_begun(path) ? AR_OK : status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
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
            status = load_live_in_directory(p, full, err);
        else if (status == AR_OK && depth == 0 && name[0] != '.' && is_directory(full))
            status = load_directory(p, full, depth + 1, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static bool is_run(const char *path)
{
    char head[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof head && memcmp(head, AR_RUN_MAGIC, sizeof head) == 0;
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
            status = ar_fail(err, AR_BAD,
                             "%s: no live files in this directory (name that of a job)", path);
        return status;
    }
    if (!S_ISREG(st.st_mode))
        return ar_fail(err, AR_BAD,
                       "%s: not a regular file (name a run, a live file or a directory)", path);
    if (access(path, R_OK) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (ar_live_has_magic(path))
        return load_live(p, path, err);
    if (!is_run(path))
        return ar_fail(err, AR_BAD,
                       "%s: not a file of allranks (a run file is made by: allranks "
                       "run SCRIPT)",
                       path);
    return load_run(p, path, (size_t)st.st_size, err);
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
