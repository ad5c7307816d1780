// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"

#include "base/process.h"
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
        status = ar_fail(err, AR_NOMEM, "%s: no memory for %zu bytes", path, n_bytes);
    for (size_t done = 0; status == AR_OK && done < n_bytes;) {
        ssize_t n = read(fd, *bytes + done, n_bytes - done);

        if (n < 0 && errno != EINTR)
            status = ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
        else if (n == 0)
            status = ar_fail(err, AR_BAD, "%s: became shorter while it was read", path);
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

static enum ar_status load_run(struct ar_profile *p, const char *path, size_t n_bytes,
                               struct ar_error *err)
{
    struct ar_profile run;
    unsigned char *bytes = NULL;
    enum ar_status status = read_whole(path, n_bytes, &bytes, err);

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

/* ---- live files ------------------------------------------------------------------------------- */

bool ar_live_is_running(const struct ar_live_header *header)
{
    char host[sizeof header->host] = "";

    gethostname(host, sizeof host - 1);
    return header->state == AR_LIVE_RUNNING && strncmp(host, header->host, sizeof host) == 0 &&
           ar_process_runs(header->pid, header->pid_start);
}

bool ar_live_read_header(const char *path, struct ar_live_header *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, out, sizeof *out);

    if (fd >= 0)
        close(fd);
    if (n != (ssize_t)sizeof *out || memcmp(out->magic, AR_LIVE_MAGIC, sizeof out->magic) != 0)
        return false;
    out->host[sizeof out->host - 1] = out->job[sizeof out->job - 1] = '\0';
    return true;
}

/*
 * The writer renews its own stamp when it meets new functions, and so hardly ever in a loop. While
 * it runs on this machine its clock is ours: what is open has been open until now, and the length of
 * a tick follows from all of its life. The copy is changed, not the file.
 */
static void stamp_now(struct ar_live *live)
{
    struct ar_live_header *header = (struct ar_live_header *)live->bytes;
    struct ar_stamp now;

    ar_clock_choose();
    now = ar_stamp_now();
    if (header->clock_kind == AR_CLOCK_MONOTONIC)
        now.ticks = now.mono_ns;
    else if (header->clock_kind != (uint32_t)ar_clock_kind)
        return;
    if (now.ticks > header->latest.ticks && now.mono_ns > header->latest.mono_ns)
        header->latest = now;
}

/* Whether it runs is asked first: one that ends while it is read has run when it was looked at. */
enum ar_status ar_load_live(struct ar_profile *p, const char *path, bool keep_builtins,
                            struct ar_error *err)
{
    struct ar_live_header before;
    bool runs = ar_live_read_header(path, &before) && ar_live_is_running(&before);
    struct ar_live live;
    enum ar_status status = ar_live_open(&live, path, err);

    if (status == AR_OK) {
        live.keep_builtins = keep_builtins;
        runs = runs && live.header->state == AR_LIVE_RUNNING;
        if (runs)
            stamp_now(&live);
        status = ar_profile_add_live(p, &live, 0, err);
        if (status == AR_OK && runs)
            p->processes[p->n_processes - 1].state = AR_PROCESS_RUNNING;
        ar_live_close(&live);
        if (status < 0)
            ar_fail(err, status, "%s: %s", path,
                    status == AR_BAD ? "damaged live file" : ar_status_text(status));
    }
    return status;
}

/* ---- whatever there is ------------------------------------------------------------------------ */

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
            status = ar_load_live(p, full, false, err);
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
        return ar_load_live(p, path, false, err);
    if (!starts_with_magic(path, AR_RUN_MAGIC))
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
