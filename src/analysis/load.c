// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"

#include "base/arena.h"
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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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

/* With a `find` what can be read is taken, and it says what that was. */
static enum ar_status load_live(struct ar_profile *p, const char *path, struct ar_find *find,
                                struct ar_error *err)
{
    struct ar_live live;
    size_t n_before = p->n_processes;
    enum ar_status status =
        find ? ar_live_salvage(&live, path, err) : ar_live_open(&live, path, err);

    if (status < 0)
        return status;
    if (find) {
        find->n_bytes_left_out = live.n_bytes_left_out;
        find->n_bytes_read = live.n_bytes;
    }
    status = ar_profile_add_live(p, &live, 0, err);
    if (find && status == AR_OK && p->n_processes > n_before)
        find->n_paths_left_out = p->processes[p->n_processes - 1].n_lost[AR_LOST_NODES] -
                                 live.header->n_lost[AR_LOST_NODES];
    ar_live_close(&live);
    if (status < 0)
        ar_fail(err, status, "%s: %s", path,
                status == AR_BAD ? "damaged live file" : ar_status_text(status));
    return status;
}

/* Of a child that has ended: nothing is open in it, and its process is nobody's concern. */
static enum ar_status find_run(struct ar_profile *p, const char *path, struct ar_find *find,
                               struct ar_error *err)
{
    struct stat st;

    find->file.kind = AR_LEFT_RUN;
    find->file.is_finished = true;
    find->file.is_blank = false;
    find->file.state = AR_LEFT_FINISHED;
    if (stat(path, &st) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    return load_run(p, path, (size_t)st.st_size, err);
}

/* The process is looked for before its file is read: of one that has ended nothing is missed. */
static enum ar_status find_file(struct ar_profile *p, const char *path, bool is_run,
                                struct ar_finds *finds, struct ar_error *err)
{
    struct ar_find find = {.path = strdup(path)};
    enum ar_status status = AR_OK;

    if (!find.path ||
        ar_grow((void **)&finds->items, &finds->cap, finds->n + 1, sizeof *finds->items) < 0) {
        free(find.path);
        return ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    }
    if (!ar_left_look(AT_FDCWD, path, &find.file))
        status = ar_fail(err, AR_IO, "%s: not a regular file that can be read", path);
    else
        status = is_run ? find_run(p, path, &find, err) : load_live(p, path, &find, err);
    find.is_taken = status == AR_OK;
    if (status < 0)
        snprintf(find.why, sizeof find.why, "%.255s", err->text);
    finds->items[finds->n++] = find;
    return status == AR_NOMEM ? status : AR_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool is_ended_child(const char *name)
{
    return ends_with(name, ".allranks") && strstr(name, ".c") && (name[0] == 'p' || name[0] == 'r');
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool starts_with(const char *path, const char *magic)
{
    char head[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof head && memcmp(head, magic, sizeof head) == 0;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 || errno != ENOENT;
}

/* A process that is just starting, or was killed then: the header is written last. */
static bool is_empty(const char *path)
{
    struct stat st;

    return (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) ||
           starts_with(path, "\0\0\0\0\0\0\0");
}

static enum ar_status load_entry(struct ar_profile *p, const char *path, bool is_run,
                                 struct ar_finds *finds, struct ar_error *err)
{
    enum ar_status status;

    if (finds)
        return find_file(p, path, is_run, finds, err);
    if (is_empty(path))
        return AR_OK;
    status = is_run ? ar_load_into(p, path, err) : load_live(p, path, NULL, err);
    return status == AR_IO && !is_there(path) ? AR_OK : status;
}

/* Live files in it, and in the directories of jobs below it. */
static enum ar_status load_directory(struct ar_profile *p, const char *path, int depth,
                                     struct ar_finds *finds, struct ar_error *err)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, versionsort);
    enum ar_status status = AR_OK;

    if (n < 0 && depth > 0 && !is_there(path))
        return AR_OK;
    if (n < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name, full[8192];

        snprintf(full, sizeof full, "%s/%s", path, name);
        if (status == AR_OK && (ends_with(name, ".live") || is_ended_child(name)))
            status = load_entry(p, full, is_ended_child(name), finds, err);
        else if (status == AR_OK && depth == 0 && name[0] != '.' && is_directory(full))
            status = load_directory(p, full, depth + 1, finds, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum ar_status ar_load_into(struct ar_profile *p, const char *path, struct ar_error *err)
{
    size_t n_before = p->n_processes;
    enum ar_status status;
    struct stat st;

    if (stat(path, &st) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        status = load_directory(p, path, 0, NULL, err);
        if (status == AR_OK && p->n_processes == n_before)
            status = ar_fail(err, AR_BAD, "%s: no live files in this directory", path);
        return status;
    }
    if (!S_ISREG(st.st_mode))
        return ar_fail(err, AR_BAD, "%s: not a regular file", path);
    if (starts_with(path, AR_LIVE_MAGIC))
        return load_live(p, path, NULL, err);
    if (!starts_with(path, AR_RUN_MAGIC))
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

enum ar_status ar_load_what_is_left(struct ar_profile *p, const char *path, struct ar_finds *finds,
                                    struct ar_error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return load_directory(p, path, 0, finds, err);
    if (S_ISREG(st.st_mode) && starts_with(path, AR_RUN_MAGIC))
        return ar_load_into(p, path, err);
    return find_file(p, path, false, finds, err);
}

void ar_finds_free(struct ar_finds *finds)
{
    for (size_t i = 0; i < finds->n; i++)
        free(finds->items[i].path);
    free(finds->items);
    *finds = (struct ar_finds){0};
}
