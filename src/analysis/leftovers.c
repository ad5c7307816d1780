// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/leftovers.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "format/live_names.h"
#include "format/livefile.h"
#include "format/note.h"
#include "format/runfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/*
 * A job may have made its directory and not yet its first file, and a run file is written in one step:
 * what is younger than this may be about to be used.
 */
#define EMPTY_AFTER_NS ((uint64_t)60 * 1000000000u)
#define PART_AFTER_NS ((uint64_t)3600 * 1000000000u)

const char *ar_left_state_name(enum ar_left_state state)
{
    static const char *const names[AR_N_LEFT_STATES] = {
        [AR_LEFT_SILENT] = "dead",
        [AR_LEFT_FINISHED] = "finished",
        [AR_LEFT_RUNNING] = "running",
        [AR_LEFT_ELSEWHERE] = "elsewhere",
    };

    return names[state];
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool kind_of(const char *name, enum ar_left_kind *kind)
{
    struct ar_live_name parsed;

    if (!ar_live_name_parse(name, &parsed))
        return false;
    switch (parsed.kind) {
    case AR_NAME_LIVE:
        *kind = AR_LEFT_LIVE;
        break;
    case AR_NAME_RUN:
        *kind = AR_LEFT_RUN;
        break;
    case AR_NAME_PART:
        *kind = AR_LEFT_PART;
        break;
    default:
        *kind = AR_LEFT_NOTE;
    }
    return true;
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool is_this_host(const char *host)
{
    char own[64] = "";

    if (gethostname(own, sizeof own) < 0)
        return false;
    own[sizeof own - 1] = '\0';
    return strcmp(own, host) == 0;
}

/* What lies in memory is of this host. */
static bool is_in_memory(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

static bool name_runs(const char *name)
{
    struct ar_live_name parsed;

    return ar_live_name_parse(name, &parsed) && parsed.pid &&
           ar_process_runs(parsed.pid, parsed.start);
}

static void take_header(struct ar_left_file *out, const struct ar_live_header *h)
{
    out->has_header = true;
    out->is_finished = h->state == AR_LIVE_FINISHED;
    out->pid = h->pid;
    out->world_rank = h->world_rank;
    out->world_size = h->world_size;
    out->start_real_ns = h->start.real_ns;
    out->latest_real_ns = h->latest.real_ns;
    snprintf(out->host, sizeof out->host, "%.63s", h->host);
    snprintf(out->job, sizeof out->job, "%.63s", h->job);
    if (!is_this_host(out->host))
        out->state = AR_LEFT_ELSEWHERE;
    else if (ar_process_runs(h->pid, h->pid_start))
        out->state = AR_LEFT_RUNNING;
    else
        out->state = out->is_finished ? AR_LEFT_FINISHED : AR_LEFT_SILENT;
}

static uint64_t modified_ns(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static void take_stat(struct ar_left_file *out, const struct stat *st)
{
    out->n_bytes = (uint64_t)st->st_blocks * 512;
    out->device = st->st_dev;
    out->inode = st->st_ino;
    if (modified_ns(st) > out->latest_real_ns)
        out->latest_real_ns = modified_ns(st);
}

/* The name is all there is to know a file by whose process was killed before it wrote the header. */
static enum ar_left_state state_by_name(int fd, const char *name)
{
    if (name_runs(name))
        return AR_LEFT_RUNNING;
    return is_in_memory(fd) ? AR_LEFT_SILENT : AR_LEFT_ELSEWHERE;
}

static int open_to_look(int directory, const char *name, struct stat *st)
{
    return ar_file_open(directory, name, O_RDONLY | O_NOFOLLOW, st);
}

bool ar_left_look(int directory, const char *name, struct ar_left_file *out)
{
    const char *slash = strrchr(name, '/');
    struct ar_live_header header = {0};
    struct stat st;
    int fd = open_to_look(directory, name, &st);

    if (fd < 0)
        return false;
    *out = (struct ar_left_file){.kind = AR_LEFT_LIVE};
    snprintf(out->name, sizeof out->name, "%.255s", slash ? slash + 1 : name);
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.magic, AR_LIVE_MAGIC, sizeof header.magic) == 0)
        take_header(out, &header);
    else
        out->state = state_by_name(fd, out->name);
    out->is_blank = memcmp(header.magic, (char[sizeof header.magic]){0}, sizeof header.magic) == 0;
    take_stat(out, &st);
    close(fd);
    return true;
}

static bool has_magic_of(enum ar_left_kind kind, const char head[8])
{
    bool is_live = memcmp(head, AR_LIVE_MAGIC, 8) == 0, is_run = memcmp(head, AR_RUN_MAGIC, 8) == 0;

    switch (kind) {
    case AR_LEFT_LIVE:
        return is_live;
    case AR_LEFT_RUN:
        return is_run;
    case AR_LEFT_PART:
        return is_live || is_run;
    default:
        return memcmp(head, AR_NOTE_MAGIC, AR_NOTE_MAGIC_BYTES) == 0;
    }
}

/*
 * A file without the first bytes of its kind is ours only if they have not been written yet, and then only where
 * there are others of ours: `is_blank`. A run file has its name when it is whole.
 */
static bool begins_as_ours(int fd, enum ar_left_kind kind, bool *is_blank)
{
    static const char nothing[8];
    char head[8] = "";
    ssize_t n = pread(fd, head, sizeof head, 0);

    *is_blank = n == 0 || (kind == AR_LEFT_LIVE && n == (ssize_t)sizeof head &&
                           memcmp(head, nothing, sizeof head) == 0);
    return (*is_blank && kind != AR_LEFT_RUN) ||
           (n == (ssize_t)sizeof head && has_magic_of(kind, head));
}

static bool look_at_ours(int directory, const char *name, enum ar_left_kind kind,
                         struct ar_left_file *out)
{
    struct stat st;
    int fd = open_to_look(directory, name, &st);
    bool is_blank;
    bool ours = fd >= 0 && st.st_uid == geteuid() && begins_as_ours(fd, kind, &is_blank);

    if (ours && kind == AR_LEFT_LIVE) {
        ours = ar_left_look(directory, name, out);
    } else if (ours) {
        *out = (struct ar_left_file){
            .kind = kind, .state = state_by_name(fd, name), .is_blank = is_blank};
        snprintf(out->name, sizeof out->name, "%.255s", name);
        take_stat(out, &st);
    }
    if (fd >= 0)
        close(fd);
    return ours;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static enum ar_status add_file(struct ar_left_job *job, const struct ar_left_file *file)
{
    if (ar_grow((void **)&job->files, &job->cap_files, job->n_files + 1, sizeof *job->files) < 0)
        return AR_NOMEM;
    job->files[job->n_files++] = *file;
    job->n_bytes += file->n_bytes;
    if (file->latest_real_ns > job->latest_real_ns)
        job->latest_real_ns = file->latest_real_ns;
    job->n_processes += file->kind == AR_LEFT_LIVE || file->kind == AR_LEFT_RUN;
    if (!file->has_header)
        return AR_OK;
    if (file->world_rank != AR_RANK_NONE)
        job->n_ranks++;
    if (file->world_size > job->world_size)
        job->world_size = file->world_size;
    if (!job->start_real_ns || file->start_real_ns < job->start_real_ns)
        job->start_real_ns = file->start_real_ns;
    return AR_OK;
}

/*
 * Running if any process is, elsewhere if any may be. Verdicts and the like tell of a process by pid
 * alone: they are where the live files are, and on this host if there are none.
 */
static void judge(struct ar_left_job *job)
{
    bool all_finished = job->n_processes > 0;

    for (size_t i = 0; i < job->n_files; i++) {
        struct ar_left_file *file = &job->files[i];

        if (file->state == AR_LEFT_RUNNING)
            job->state = AR_LEFT_RUNNING;
        else if (file->kind == AR_LEFT_LIVE && file->state == AR_LEFT_ELSEWHERE &&
                 job->state != AR_LEFT_RUNNING)
            job->state = AR_LEFT_ELSEWHERE;
        if (file->kind == AR_LEFT_LIVE && !file->is_finished)
            all_finished = false;
    }
    if (job->state == AR_LEFT_SILENT && all_finished)
        job->state = AR_LEFT_FINISHED;
}

static bool is_ours_alone(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

static uint64_t age_ns(uint64_t real_ns)
{
    uint64_t now = ar_clock_ns(CLOCK_REALTIME);

    return now > real_ns ? now - real_ns : 0;
}

static enum ar_status add_files(struct ar_left_job *job, int fd, size_t *n_others)
{
    enum ar_status status = AR_OK;
    DIR *dir = fdopendir(fd);

    if (!dir) {
        close(fd);
        return AR_NOMEM;
    }
    for (struct dirent *entry; status == AR_OK && (entry = readdir(dir));) {
        enum ar_left_kind kind;
        struct ar_left_file file;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (kind_of(entry->d_name, &kind) && look_at_ours(dirfd(dir), entry->d_name, kind, &file))
            status = add_file(job, &file);
        else
            ++*n_others;
    }
    closedir(dir);
    return status;
}

static void free_job(struct ar_left_job *job)
{
    free(job->path);
    free(job->files);
    *job = (struct ar_left_job){0};
}

/* A directory may be named twice, or found in two ways. */
static bool is_listed(const struct ar_leftovers *out, const struct ar_left_job *job)
{
    for (size_t i = 0; i < out->n_jobs; i++)
        if (out->jobs[i].is_job == job->is_job && out->jobs[i].device == job->device &&
            out->jobs[i].inode == job->inode)
            return true;
    return false;
}

static enum ar_status add_job(struct ar_leftovers *out, struct ar_left_job *job)
{
    if (is_listed(out, job)) {
        free_job(job);
        return AR_OK;
    }
    if (ar_grow((void **)&out->jobs, &out->cap_jobs, out->n_jobs + 1, sizeof *out->jobs) < 0) {
        free_job(job);
        return AR_NOMEM;
    }
    out->jobs[out->n_jobs++] = *job;
    return AR_OK;
}

static bool has_file_of_ours(const struct ar_left_job *job)
{
    for (size_t i = 0; i < job->n_files; i++)
        if (!job->files[i].is_blank)
            return true;
    return false;
}

/* The directory of a job, if it is one; nothing is added otherwise. */
static enum ar_status look_at_directory(struct ar_leftovers *out, int parent, const char *name,
                                        const char *path, bool parent_is_ours)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct ar_left_job job = {.is_job = true, .state = AR_LEFT_SILENT};
    size_t n_others = 0;
    struct stat st;

    if (fd < 0)
        return AR_OK;
    if (fstat(fd, &st) < 0 || !is_ours_alone(&st)) {
        close(fd);
        return AR_OK;
    }
    job.device = st.st_dev;
    job.inode = st.st_ino;
    job.path = strdup(path);

    enum ar_status status = add_files(&job, fd, &n_others);
    bool has_our_name = parent_is_ours || ar_live_name_is_job(ar_base_name(path));
    bool is_empty_job = has_our_name && n_others == 0 && age_ns(modified_ns(&st)) > EMPTY_AFTER_NS;
    bool has_files = has_file_of_ours(&job) || (has_our_name && job.n_files);

    if (!job.path)
        status = AR_NOMEM;
    if (status == AR_OK && (has_files || is_empty_job)) {
        judge(&job);
        if (!job.n_files)
            job.latest_real_ns = modified_ns(&st);
        return add_job(out, &job);
    }
    free_job(&job);
    return status;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return versionsort(a, b);
}

static enum ar_status look_below(struct ar_leftovers *out, int fd, const char *path)
{
    struct dirent **entries;
    int n = scandirat(fd, ".", &entries, NULL, by_name);
    enum ar_status status = AR_OK;

    for (int i = 0; i < n; i++) {
        char full[8192];

        snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
        if (status == AR_OK && entries[i]->d_name[0] != '.')
            status =
                look_at_directory(out, fd, entries[i]->d_name, full, ar_live_name_is_home(path));
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return status;
}

enum ar_status ar_leftovers_find(struct ar_leftovers *out, const char *path, struct ar_error *err)
{
    size_t n_before = out->n_jobs;
    char clean[4096];

    snprintf(clean, sizeof clean, "%s", path);
    for (size_t n = strlen(clean); n > 1 && clean[n - 1] == '/'; n--)
        clean[n - 1] = '\0';
    int fd = open(clean, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return AR_OK;
    if (fd < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));

    enum ar_status status = look_at_directory(out, fd, ".", clean, false);

    if (status == AR_OK && out->n_jobs == n_before)
        status = look_below(out, fd, clean);
    close(fd);
    return status < 0 ? ar_fail(err, status, "%s: %s", path, ar_status_text(status)) : status;
}

/* ---- beside run files ------------------------------------------------------------------------ */

/* The process that writes it may be on another host: a run file takes seconds, not an hour. */
static bool is_forsaken(const struct ar_left_file *file, uint32_t pid)
{
    return age_ns(file->latest_real_ns) > PART_AFTER_NS && !ar_process_start(pid);
}

/* In which nodes look for each other in MPI_Init: of a job that was killed just then. */
static enum ar_status look_at_meeting_place(struct ar_leftovers *out, int directory,
                                            const char *path, const char *name)
{
    char full[8192];
    struct stat st;

    if (!ar_live_name_is_meeting(name) || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        age_ns(modified_ns(&st)) <= PART_AFTER_NS)
        return AR_OK;
    snprintf(full, sizeof full, "%s/%s", path, name);
    return look_at_directory(out, directory, name, full, false);
}

/* "heat.live", with the live files of ranks that were not merged: see runtime/keep.h. */
static enum ar_status look_at_kept(struct ar_leftovers *out, int directory, const char *path,
                                   const char *name)
{
    char full[8192];
    int fd = -1;
    struct stat st;
    enum ar_status status = AR_OK;

    if (ar_live_name_is_live(name))
        fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return AR_OK;
    snprintf(full, sizeof full, "%s/%s", path, name);
    if (fstat(fd, &st) == 0 && is_ours_alone(&st))
        status = look_below(out, fd, full);
    close(fd);
    return status;
}

enum ar_status ar_leftovers_find_parts(struct ar_leftovers *out, const char *path,
                                       struct ar_error *err)
{
    struct ar_left_job beside = {.state = AR_LEFT_SILENT, .path = strdup(path)};
    enum ar_status status = beside.path ? AR_OK : AR_NOMEM;
    DIR *dir = opendir(path);
    struct stat st;

    for (struct dirent *entry; dir && status == AR_OK && (entry = readdir(dir));) {
        struct ar_left_file file;
        bool is_certain;
        uint32_t pid;

        status = look_at_meeting_place(out, dirfd(dir), path, entry->d_name);
        if (status == AR_OK)
            status = look_at_kept(out, dirfd(dir), path, entry->d_name);
        if (status == AR_OK && ar_live_name_parse_part(entry->d_name, &pid, &is_certain) &&
            look_at_ours(dirfd(dir), entry->d_name, AR_LEFT_PART, &file) &&
            (!file.is_blank || is_certain) && is_forsaken(&file, pid))
            status = add_file(&beside, &file);
    }
    if (dir && fstat(dirfd(dir), &st) == 0) {
        beside.device = st.st_dev;
        beside.inode = st.st_ino;
    }
    if (dir)
        closedir(dir);
    if (status == AR_OK && beside.n_files)
        status = add_job(out, &beside);
    else
        free_job(&beside);
    return status < 0 ? ar_fail(err, status, "%s: %s", path, ar_status_text(status)) : status;
}

/* ---- removing -------------------------------------------------------------------------------- */

static bool remove_file(int directory, const struct ar_left_file *file)
{
    struct stat st;

    return fstatat(directory, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_dev == file->device && st.st_ino == file->inode &&
           unlinkat(directory, file->name, 0) == 0;
}

bool ar_left_remove(const char *path, const struct ar_left_file *file)
{
    const char *slash = strrchr(path, '/');
    char directory[4096] = ".";

    if (slash)
        snprintf(directory, sizeof directory, "%.*s", (int)(slash - path) + 1, path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool removed = fd >= 0 && remove_file(fd, file);

    if (fd >= 0)
        close(fd);
    return removed;
}

/* Also the directory above, if it is one that the runtime makes: rmdir takes only what is empty. */
void ar_left_remove_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char parent[4096];

    if (rmdir(path) < 0 || !slash)
        return;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (ar_live_name_is_home(parent) || ar_live_name_is_live(parent))
        rmdir(parent);
}

size_t ar_leftovers_remove(const struct ar_left_job *job, uint64_t *n_bytes)
{
    int fd = open(job->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    size_t n_removed = 0;
    struct stat st;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && st.st_dev == job->device && st.st_ino == job->inode) {
        for (size_t i = 0; i < job->n_files; i++)
            if (remove_file(fd, &job->files[i])) {
                n_removed++;
                *n_bytes += job->files[i].n_bytes;
            }
        if (job->is_job)
            ar_left_remove_directory(job->path);
    }
    close(fd);
    return n_removed;
}

void ar_leftovers_free(struct ar_leftovers *left)
{
    for (size_t i = 0; i < left->n_jobs; i++)
        free_job(&left->jobs[i]);
    free(left->jobs);
    *left = (struct ar_leftovers){0};
}
