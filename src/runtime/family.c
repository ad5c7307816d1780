// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/family.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/text.h"
#include "format/live_names.h"
#include "format/live_profile.h"
#include "format/livefile.h"
#include "format/note.h"
#include "format/runfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program may fork for every request that it serves: memory for live files is not without end. */
#define MAX_CHILDREN 4096
#define PATIENCE_NS ((uint64_t)5 * 1000000000u)

static struct {
    bool expected;
    struct timespec directory_changed;
} begun;

static void path_of(const struct ar_identity *identity, enum ar_live_name_kind kind, char *path)
{
    ar_live_name_file(path, AR_PATH_BYTES, identity->stem, kind);
}

/* ---- are there any ---------------------------------------------------------------------------- */

static struct timespec changed(const struct ar_identity *identity)
{
    struct stat st = {0};

    stat(identity->job_dir, &st);
    return st.st_mtim;
}

void ar_family_begin(const struct ar_identity *identity)
{
    begun.expected = identity->is_child; /* there is its parent, at least */
    begun.directory_changed = changed(identity);
}

void ar_family_expect(void)
{
    begun.expected = true;
}

/*
 * A directory need not be opened to see that no process has made a file in it. That of ranks is changed by
 * all of them: each would read the names of all.
 */
bool ar_family_is_expected(const struct ar_identity *identity)
{
    struct timespec now = changed(identity);

    if (begun.expected || ar_family_root_is_rank(identity))
        return begun.expected;
    return now.tv_sec != begun.directory_changed.tv_sec ||
           now.tv_nsec != begun.directory_changed.tv_nsec;
}

/* ---- one at a time ---------------------------------------------------------------------------- */

/* A process that waited for a file that has been removed meanwhile takes the one that is there now. */
static bool is_still_there(int fd, const char *path)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

enum { NOT_YET = -1, NEVER = -2 };

/* Without the bytes it is a lock as well. */
static void add_magic(int fd, uint64_t n_bytes)
{
    if (ar_file_may_have(n_bytes + AR_NOTE_MAGIC_BYTES) &&
        write(fd, AR_NOTE_MAGIC, AR_NOTE_MAGIC_BYTES) < 0)
        errno = 0; /* there is no room for so much as that */
}

static int try_lock(const char *path)
{
    struct stat st;
    int fd = ar_file_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, &st);

    if (fd < 0)
        return NEVER;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still_there(fd, path)) {
        if (fstat(fd, &st) == 0 && st.st_size == 0)
            add_magic(fd, 0);
        return fd;
    }
    close(fd);
    return NOT_YET;
}

static int lock_file(const char *path)
{
    uint64_t deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    struct timespec short_while = {.tv_nsec = 500000};
    int lock;

    while ((lock = try_lock(path)) == NOT_YET && ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns)
        nanosleep(&short_while, NULL);
    return lock;
}

int ar_family_lock(const struct ar_identity *identity)
{
    char path[AR_PATH_BYTES];

    path_of(identity, AR_NAME_LOCK, path);
    return lock_file(path);
}

int ar_family_lock_ranks(const struct ar_identity *identity)
{
    char path[AR_PATH_BYTES];

    ar_live_name_ranks_lock(path, sizeof path, identity->job_dir);
    return lock_file(path);
}

void ar_family_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* ---- its files -------------------------------------------------------------------------------- */

/* Also what a child was about to write when it was killed. `n_stem` bytes are as those of the root. */
static bool is_of_family(const char *file, size_t n_stem)
{
    struct ar_live_name name;

    return file[n_stem] == '.' && ar_live_name_parse(file, &name) &&
           (name.kind == AR_NAME_LIVE || name.kind == AR_NAME_RUN || name.kind == AR_NAME_PART);
}

/* Calls the visitor with the path of each live file and run file; it says whether to go on. */
static bool each_file(const struct ar_identity *identity, bool (*visit)(const char *path, void *),
                      void *context)
{
    const char *stem = strrchr(identity->stem, '/') + 1;
    size_t n_stem = strlen(stem);
    DIR *dir = opendir(identity->job_dir);
    bool go_on = true;

    if (!dir)
        return true;
    for (struct dirent *entry; go_on && (entry = readdir(dir));) {
        char path[AR_PATH_BYTES];

        if (strncmp(entry->d_name, stem, n_stem) != 0 || !is_of_family(entry->d_name, n_stem))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", identity->job_dir, entry->d_name) <
            (int)sizeof path)
            go_on = visit(path, context);
    }
    closedir(dir);
    return go_on;
}

static bool read_header(const char *path, struct ar_live_header *header)
{
    return ar_file_is_own(path) && ar_live_read_header(path, header) &&
           header->version == AR_LIVE_VERSION;
}

static bool is_not_running(const char *path, void *context)
{
    const struct ar_identity *identity = context;
    struct ar_live_header h;

    if (!ar_live_name_is_live(path) || !read_header(path, &h) || h.state != AR_LIVE_RUNNING)
        return true;
    if ((h.pid == identity->pid && h.pid_start == identity->pid_start) ||
        (h.pid == identity->root_pid && h.pid_start == identity->root_start))
        return true;
    return !ar_process_runs(h.pid, h.pid_start);
}

bool ar_family_runs(const struct ar_identity *identity)
{
    return !each_file(identity, is_not_running, (void *)(uintptr_t)identity);
}

struct gathering {
    struct ar_family *family;
    struct ar_profile *p;
    const char *own_path;
    bool is_locked;
    enum ar_status status;
};

static enum ar_status add_live(struct gathering *g, const char *path, bool *ended)
{
    struct ar_live live;
    struct ar_error err;
    enum ar_status status = ar_live_open(&live, path, &err);

    if (status < 0)
        return status;
    *ended = !ar_live_is_running(live.header);
    live.with_trace = true;
    status = ar_profile_add_live(g->p, &live, 0, &err);
    ar_live_close(&live);
    return status;
}

static enum ar_status add_run(struct gathering *g, const char *path)
{
    struct ar_profile run;
    struct ar_error err;
    enum ar_status status = ar_run_read(&run, path, &err);

    if (status < 0)
        return status;
    status = ar_profile_merge(g->p, &run);
    ar_profile_free(&run);
    return status;
}

/* A file that cannot be read stays for those who can look at it. */
static bool gather_file(const char *path, void *context)
{
    struct gathering *g = context;
    bool ended = true;
    enum ar_status status;

    if (strcmp(path, g->own_path) == 0 || (ar_ends_with(path, AR_PART_ENDING) && !g->is_locked) ||
        !ar_file_is_own(path))
        return true;
    if (ar_ends_with(path, AR_PART_ENDING))
        status =
            AR_OK; /* a process that writes has the lock: this one is dead, and its live file is there */
    else
        status = ar_live_name_is_live(path) ? add_live(g, path, &ended) : add_run(g, path);
    if (status == AR_NOMEM) { /* the profile may be half of what it should be */
        g->status = status;
        return false;
    }
    if (status < 0)
        return true;
    if (!ended) {
        g->family->n_running++;
        return true;
    }
    if (ar_grow((void **)&g->family->paths, &g->family->cap_paths, g->family->n_paths + 1,
                sizeof *g->family->paths) == AR_OK) {
        g->family->paths[g->family->n_paths] = strdup(path);
        g->family->n_paths += g->family->paths[g->family->n_paths] != NULL;
    }
    return true;
}

static enum ar_status add_lost(const struct ar_identity *identity, struct ar_profile *p)
{
    char path[AR_PATH_BYTES];
    struct stat st;

    path_of(identity, AR_NAME_UNRECORDED, path);
    if (!p->n_processes || lstat(path, &st) < 0)
        return AR_OK;
    return ar_profile_lose(p, 0, AR_LOST_PROCESSES, (uint64_t)st.st_size / AR_NOTE_MAGIC_BYTES);
}

enum ar_status ar_family_gather(struct ar_family *family, const struct ar_identity *identity,
                                int lock, const char *own_path, struct ar_profile *p)
{
    struct gathering g = {
        .family = family, .p = p, .own_path = own_path, .is_locked = lock >= 0, .status = AR_OK};

    each_file(identity, gather_file, &g);

    enum ar_status status = add_lost(identity, p);

    return g.status < 0 ? g.status : status;
}

void ar_family_remove(const struct ar_family *family)
{
    for (size_t i = 0; i < family->n_paths; i++)
        unlink(family->paths[i]);
}

void ar_family_free(struct ar_family *family)
{
    for (size_t i = 0; i < family->n_paths; i++)
        free(family->paths[i]);
    free(family->paths);
    *family = (struct ar_family){0};
}

static void remove_own(const char *path)
{
    if (ar_file_is_own(path))
        unlink(path);
}

void ar_family_leave(const struct ar_identity *identity)
{
    static const enum ar_live_name_kind kinds[] = {AR_NAME_UNRECORDED, AR_NAME_LOCK};
    char path[AR_PATH_BYTES];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        path_of(identity, kinds[i], path);
        remove_own(path);
    }
    if (ar_family_root_is_rank(identity)) {
        ar_live_name_ranks_lock(path, sizeof path, identity->job_dir);
        remove_own(path);
    }
}

/* ---- who may join ------------------------------------------------------------------------------ */

/* A process that has become another program by exec runs. Those of other hosts cannot be asked. */
static bool is_not_alive(const char *path, void *context)
{
    const struct ar_identity *identity = context;
    struct ar_live_header h;

    if (!ar_live_name_is_live(path) || !read_header(path, &h) || h.state == AR_LIVE_FINISHED)
        return true;
    return strncmp(h.host, identity->host, sizeof h.host) == 0 &&
           !ar_process_runs(h.pid, h.pid_start);
}

bool ar_family_is_alive(const struct ar_identity *identity)
{
    return !each_file(identity, is_not_alive, (void *)(uintptr_t)identity);
}

/* ---- children that are not recorded ----------------------------------------------------------- */

static bool count(const char *path, void *context)
{
    size_t *n = context;

    (void)path;
    return ++*n < MAX_CHILDREN;
}

bool ar_family_has_room(const struct ar_identity *identity)
{
    size_t n = 0;

    return each_file(identity, count, &n);
}

void ar_family_count_lost(const struct ar_identity *identity)
{
    char path[AR_PATH_BYTES];

    struct stat st;

    path_of(identity, AR_NAME_UNRECORDED, path);
    int fd = ar_file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &st);

    if (fd < 0)
        return;
    add_magic(fd, (uint64_t)st.st_size);
    close(fd);
}

/* ---- the root --------------------------------------------------------------------------------- */

/* Its file is closed, or gone; or it is itself. */
bool ar_family_root_is_done(const struct ar_identity *identity)
{
    char path[AR_PATH_BYTES];
    struct ar_live_header h;

    path_of(identity, AR_NAME_LIVE, path);
    return !read_header(path, &h) || h.state == AR_LIVE_FINISHED ||
           !ar_process_runs(identity->root_pid, identity->root_start);
}

/* Whatever it has become. */
static bool is_not_root(const char *path, void *context)
{
    const struct ar_identity *identity = context;
    struct ar_live_header h;

    return !ar_live_name_is_live(path) || !read_header(path, &h) || h.state != AR_LIVE_RUNNING ||
           h.pid != identity->root_pid || h.pid_start != identity->root_start;
}

bool ar_family_root_is_lost(const struct ar_identity *identity)
{
    char path[AR_PATH_BYTES];
    struct ar_live_header h;

    path_of(identity, AR_NAME_LIVE, path);
    return read_header(path, &h) && h.state == AR_LIVE_REPLACED &&
           each_file(identity, is_not_root, (void *)(uintptr_t)identity);
}

bool ar_family_root_is_rank(const struct ar_identity *identity)
{
    return ar_live_name_is_of_rank(identity->stem);
}

bool ar_family_wrote(const struct ar_identity *identity, const struct ar_profile *run)
{
    for (size_t i = 0; i < run->n_processes; i++) {
        const struct ar_process *process = &run->processes[i];

        if (process->pid == identity->root_pid && process->pid_start == identity->root_start &&
            strcmp(ar_strtab_text(&run->strings, process->host), identity->host) == 0)
            return true;
    }
    return false;
}
