// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"

#include "analysis/last_sign.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "format/live_names.h"
#include "format/live_profile.h"
#include "format/livefile.h"
#include "format/runfile.h"
#include "import/file_ranks.h"
#include "import/pstats_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ar_load_traces;
void (*ar_load_tell)(size_t n_read, size_t n_files);

static void tell(size_t n_read, size_t n_files)
{
    if (ar_load_tell)
        ar_load_tell(n_read, n_files);
}

/*
 * A tree and pairs of callers have nothing in common that could be added up by one rule: a pair's
 * time says nothing of the paths, and a path's caller may be anywhere.
 */
static enum ar_status check_same_kind(const struct ar_profile *p, bool of_pairs, const char *path,
                                      struct ar_error *err)
{
    if (p->n_processes == 0 || ar_profile_of_pairs(p) == of_pairs)
        return AR_OK;
    return ar_fail(err, AR_BAD,
                   "%s: has %s, what it is to be merged with has %s (make pstats files of runs "
                   "first, by: allranks export RUN -f pstats)",
                   path, of_pairs ? "no call paths" : "call paths", of_pairs ? "some" : "none");
}

static enum ar_status add_profile(struct ar_profile *p, const struct ar_profile *other,
                                  const char *path, struct ar_error *err)
{
    enum ar_status status = check_same_kind(p, ar_profile_of_pairs(other), path, err);

    if (status == AR_OK && (ar_profile_unpack(p) < 0 || ar_profile_merge(p, other) < 0))
        status = ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    return status;
}

/* As ar_profile_init leaves it. */
static bool is_untouched(const struct ar_profile *p)
{
    return p->n_processes == 0 && p->n_nodes == 1 && p->n_facts == 0 && p->strings.n_strings == 1;
}

/* The first is taken as it is, packed; what comes after it makes it plain. */
static enum ar_status load_run(struct ar_profile *p, const char *path, struct ar_error *err)
{
    struct ar_profile run;
    enum ar_status status = ar_run_read_packed(&run, path, err);

    if (status < 0)
        return status;
    if (is_untouched(p)) {
        ar_profile_free(p);
        *p = run;
        return AR_OK;
    }
    status = add_profile(p, &run, path, err);
    ar_profile_free(&run);
    return status;
}

/* ---- live files ------------------------------------------------------------------------------- */

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

/*
 * With a `find` what can be read is taken, and it says what that was. `signs` are of all processes of the job; NULL: they are
 * not known.
 */
static enum ar_status load_live(struct ar_profile *p, const char *path, struct ar_find *find,
                                const struct ar_signs *signs, struct ar_error *err)
{
    struct ar_live live;
    size_t n_before = p->n_processes;
    enum ar_status status = check_same_kind(p, false, path, err);

    if (status == AR_OK && ar_profile_unpack(p) < 0)
        status = ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    if (status == AR_OK)
        status = find ? ar_live_salvage(&live, path, err) : ar_live_open(&live, path, err);
    if (status != AR_OK)
        return status;
    if (find) {
        find->n_bytes_left_out = live.n_bytes_left_out;
        find->n_bytes_read = live.n_bytes;
    }
    if (live.was_running && live.header->state == AR_LIVE_RUNNING)
        stamp_now(&live);
    live.with_trace = ar_load_traces;
    status = ar_profile_add_live(p, &live, signs ? ar_signs_ticks(signs, live.header) : 0, err);
    if (find && status == AR_OK && p->n_processes > n_before)
        find->n_paths_left_out = ar_profile_lost(p, (uint32_t)p->n_processes - 1, AR_LOST_NODES) -
                                 live.header->n_lost[AR_LOST_NODES];
    ar_live_close(&live);
    if (status < 0)
        ar_fail(err, status, "%s: %s", path,
                status == AR_BAD ? "damaged live file (what can be had of it: allranks recover)"
                                 : ar_status_text(status));
    return status;
}

enum ar_status ar_load_live(struct ar_profile *p, const char *path, struct ar_error *err)
{
    return load_live(p, path, NULL, NULL, err);
}

/* Of a child that has ended: nothing is open in it, and its process is of no interest. */
static enum ar_status find_run(struct ar_profile *p, const char *path, struct ar_find *find,
                               struct ar_error *err)
{
    find->file.kind = AR_LEFT_RUN;
    find->file.is_finished = true;
    find->file.is_blank = false;
    find->file.state = AR_LEFT_FINISHED;
    return load_run(p, path, err);
}

/* The process is looked for before its file is read: of one that has ended nothing is missed. */
static enum ar_status find_file(struct ar_profile *p, const char *path, bool is_run,
                                struct ar_finds *finds, const struct ar_signs *signs,
                                struct ar_error *err)
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
        status = is_run ? find_run(p, path, &find, err) : load_live(p, path, &find, signs, err);
    find.is_taken = status == AR_OK;
    if (status < 0)
        snprintf(find.why, sizeof find.why, "%.255s", err->text);
    finds->items[finds->n++] = find;
    return status == AR_NOMEM ? status : AR_OK;
}

/* "p100-7.c101-9.allranks": what a child that has ended leaves in place of its live file. */
static bool is_ended_child(const char *name)
{
    struct ar_live_name parsed;

    return ar_live_name_parse(name, &parsed) && parsed.kind == AR_NAME_RUN && parsed.is_child;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 || errno != ENOENT;
}

/* A file that lies in a directory, not one that the user has named: no link is followed. */
static enum ar_status load_found(struct ar_profile *p, const char *path, bool is_run,
                                 const struct ar_signs *signs, struct ar_error *err)
{
    enum ar_status status = ar_file_check_found(path, err);

    if (status < 0)
        return status;
    return is_run ? load_run(p, path, err) : load_live(p, path, NULL, signs, err);
}

/*
 * One of which the process has only just started, or has ended meanwhile, is none yet, or no more. If it
 * begins between two looks, it is read once more.
 */
static enum ar_status load_entry(struct ar_profile *p, const char *path, bool is_run,
                                 struct ar_finds *finds, const struct ar_signs *signs,
                                 struct ar_error *err)
{
    enum ar_status status;

    if (finds)
        return find_file(p, path, is_run, finds, signs, err);
    status = load_found(p, path, is_run, signs, err);
    if (status == AR_OK || !is_there(path))
        return AR_OK;
    if (is_run)
        return status;
    return ar_live_has_begun(path) ? load_found(p, path, false, signs, err) : AR_OK;
}

static enum ar_status find_signs(struct ar_signs *signs, const char *path, struct dirent **entries,
                                 int n, struct ar_error *err)
{
    for (int i = 0; i < n; i++) {
        char full[8192];

        snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
        if (ar_live_name_is_live(full) && !is_directory(full) && ar_signs_add(signs, full) < 0)
            return ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    }
    return AR_OK;
}

/* Live files in it, and in the directories of jobs below it; `n_files` counts them. */
static enum ar_status load_directory(struct ar_profile *p, const char *path, int depth,
                                     struct ar_finds *finds, size_t *n_files, struct ar_error *err)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, versionsort);
    struct ar_signs signs = {0};
    enum ar_status status;

    if (n < 0 && depth > 0 && !is_there(path))
        return AR_OK;
    if (n < 0)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    status = find_signs(&signs, path, entries, n, err);
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name, full[8192];

        snprintf(full, sizeof full, "%s/%s", path, name);
        tell((size_t)i, (size_t)n);
        p->n_to_come = (size_t)(n - i);
        if (status == AR_OK && name[0] != '.' &&
            is_directory(full)) { /* also "heat.live": keep.h */
            if (depth == 0)
                status = load_directory(p, full, depth + 1, finds, n_files, err);
        } else if (status == AR_OK && (ar_live_name_is_live(name) || is_ended_child(name))) {
            status = load_entry(p, full, is_ended_child(name), finds, &signs, err);
            ++*n_files;
        }
        free(entries[i]);
    }
    free(entries);
    ar_signs_free(&signs);
    p->n_to_come = 0;
    tell((size_t)n, (size_t)n);
    return status;
}

/* ---- what a path is -------------------------------------------------------------------------- */

enum file_kind { IS_UNKNOWN, IS_DIRECTORY, IS_LIVE, IS_RUN, IS_PSTATS, IS_SPECIAL, IS_NOT_THERE };

/* By what is in it: names have any ending. */
static enum file_kind kind_of_file(const char *path)
{
    char head[8] = "";
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, NULL);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    if (n == (ssize_t)sizeof head && memcmp(head, AR_LIVE_MAGIC, sizeof head) == 0)
        return IS_LIVE;
    if (n == (ssize_t)sizeof head && memcmp(head, AR_RUN_MAGIC, sizeof head) == 0)
        return IS_RUN;
    return n > 0 && ar_pstats_is(head, (size_t)n) ? IS_PSTATS : IS_UNKNOWN;
}

static enum file_kind kind_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return IS_NOT_THERE;
    if (S_ISDIR(st.st_mode))
        return IS_DIRECTORY;
    return S_ISREG(st.st_mode) ? kind_of_file(path) : IS_SPECIAL;
}

/* ---- pstats ---------------------------------------------------------------------------------- */

static enum ar_status load_pstats(struct ar_profile *p, const char *path, uint32_t rank,
                                  uint32_t n_ranks, struct ar_error *err)
{
    unsigned char *bytes = NULL;
    struct stat st;
    enum ar_status status = check_same_kind(p, true, path, err);

    if (status == AR_OK && ar_profile_unpack(p) < 0)
        status = ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    if (status < 0)
        return status;
    status = ar_file_read(path, &bytes, &st, err);
    if (status == AR_OK)
        status = ar_pstats_add(p, bytes, (size_t)st.st_size, path, err);
    free(bytes);
    if (status < 0)
        return status;

    struct ar_process *process = &p->processes[p->n_processes - 1];

    process->world_rank = rank;
    process->world_size = n_ranks;
    process->start_real_ns =
        (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    return AR_OK;
}

struct ranked {
    const char *path;
    uint32_t rank;
};

static int by_rank(const void *a, const void *b)
{
    uint32_t x = ((const struct ranked *)a)->rank, y = ((const struct ranked *)b)->rank;

    return (x > y) - (x < y);
}

/* One rank each, in order of their ranks. */
static enum ar_status load_all_pstats(struct ar_profile *p, char *const *paths, size_t n,
                                      struct ar_error *err)
{
    struct ranked *files = calloc(n + 1, sizeof *files);
    uint32_t *ranks = calloc(n + 1, sizeof *ranks);
    enum ar_status status = AR_OK;

    if (files && ranks) {
        ar_file_ranks(paths, n, ranks);
        for (size_t i = 0; i < n; i++)
            files[i] = (struct ranked){paths[i], ranks[i]};
        qsort(files, n, sizeof *files, by_rank);
        for (size_t i = 0; i < n && status == AR_OK; i++) {
            tell(i, n);
            p->n_to_come = n - i;
            status = load_pstats(p, files[i].path, files[i].rank, (uint32_t)n, err);
        }
        p->n_to_come = 0;
        tell(n, n);
    } else {
        status = ar_fail(err, AR_NOMEM, "out of memory");
    }
    free(files);
    free(ranks);
    return status;
}

/* ---- paths and patterns ---------------------------------------------------------------------- */

struct paths {
    char **items;
    size_t n, cap;
};

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (struct paths){0};
}

static enum ar_status add_path(struct paths *paths, const char *path, struct ar_error *err)
{
    char *copy = strdup(path);

    if (!copy || ar_grow((void **)&paths->items, &paths->cap, paths->n + 1, sizeof copy) < 0) {
        free(copy);
        return ar_fail(err, AR_NOMEM, "out of memory");
    }
    paths->items[paths->n++] = copy;
    return AR_OK;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* What there is under that very name is meant, else what fits it as a pattern. */
static enum ar_status expand(struct paths *paths, const char *path, struct ar_error *err)
{
    glob_t found = {0};
    enum ar_status status = AR_OK;

    if (kind_of(path) != IS_NOT_THERE)
        return add_path(paths, path, err);
    if (!strpbrk(path, "*?["))
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));

    int failed = glob(path, GLOB_NOSORT, NULL, &found);

    if (failed == GLOB_NOMATCH)
        status = ar_fail(err, AR_IO, "%s: no file fits this pattern (is this the right directory?)",
                         path);
    else if (failed)
        status = ar_fail(err, AR_IO, "%s: %s", path,
                         failed == GLOB_NOSPACE ? "out of memory" : strerror(errno));
    else
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_version);
    for (size_t i = 0; status == AR_OK && i < found.gl_pathc; i++)
        status = add_path(paths, found.gl_pathv[i], err);
    globfree(&found);
    return status;
}

/*
 * A process that is there already is replaced by what it has done since: then there are not more,
 * but they last longer.
 */
static uint64_t recorded_ns(const struct ar_profile *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->n_processes; i++)
        sum += p->processes[i].wall_ns + 1;
    return sum;
}

static char remark[512];

const char *ar_load_remark(void)
{
    return remark;
}

static enum ar_status load_jobs(struct ar_profile *p, const char *path, struct ar_error *err)
{
    uint64_t before = recorded_ns(p);
    size_t n_files = 0;
    enum ar_status status = load_directory(p, path, 0, NULL, &n_files, err);

    if (status < 0 || recorded_ns(p) != before)
        return status;
    if (n_files && before) {
        snprintf(remark, sizeof remark, "%s: adds nothing, all of its processes are there already",
                 path);
        return AR_OK;
    }
    return ar_fail(err, AR_BAD, "%s: no live files in this directory (name that of a job)", path);
}

static enum ar_status load_other(struct ar_profile *p, const char *path, struct ar_error *err)
{
    switch (kind_of(path)) {
    case IS_DIRECTORY:
        return load_jobs(p, path, err);
    case IS_LIVE:
        return load_live(p, path, NULL, NULL, err);
    case IS_RUN:
        return load_run(p, path, err);
    case IS_SPECIAL:
        return ar_fail(err, AR_BAD,
                       "%s: not a regular file (name a run, a live file or a directory)", path);
    default:
        if (access(path, R_OK) != 0)
            return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
        return ar_fail(err, AR_BAD,
                       "%s: not a file of allranks or of cProfile (a run file is made by: allranks "
                       "run SCRIPT)",
                       path);
    }
}

/* The pstats files among them are the ranks of one run, whatever stands between them. */
static enum ar_status load_paths(struct ar_profile *p, const struct paths *paths,
                                 struct ar_error *err)
{
    char **pstats = calloc(paths->n + 1, sizeof *pstats);
    size_t n_pstats = 0;
    enum ar_status status = AR_OK;

    if (!pstats)
        return ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < paths->n && status == AR_OK; i++)
        if (kind_of(paths->items[i]) == IS_PSTATS) {
            pstats[n_pstats++] = paths->items[i];
        } else {
            tell(i, paths->n);
            status = load_other(p, paths->items[i], err);
        }
    tell(paths->n, paths->n);
    if (status == AR_OK)
        status = load_all_pstats(p, pstats, n_pstats, err);
    free(pstats);
    return status;
}

/* In the order in which its metrics are packed, or plain. */
static enum ar_status settle(struct ar_profile *p, bool may_be_packed, struct ar_error *err)
{
    enum ar_status status = may_be_packed ? ar_profile_families(p) : ar_profile_unpack(p);

    return status < 0 ? ar_fail(err, status, "out of memory") : AR_OK;
}

/* Frees the paths. */
static enum ar_status load_and_free(struct ar_profile *out, struct paths *paths, bool may_be_packed,
                                    enum ar_status status, struct ar_error *err)
{
    *out = (struct ar_profile){0};
    if (status == AR_OK && ar_profile_init(out) < 0)
        status = ar_fail(err, AR_NOMEM, "out of memory");
    if (status == AR_OK)
        status = load_paths(out, paths, err);
    if (status == AR_OK)
        status = settle(out, may_be_packed, err);
    if (status < 0)
        ar_profile_free(out);
    free_paths(paths);
    return status;
}

enum ar_status ar_load_all(struct ar_profile *out, char *const *names, size_t n,
                           struct ar_error *err)
{
    struct paths paths = {0};
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < n && status == AR_OK; i++)
        status = expand(&paths, names[i], err);
    return load_and_free(out, &paths, false, status, err);
}

/* Several runs are not one, only because a pattern fits them all. */
static enum ar_status check_is_one(const struct paths *paths, const char *name,
                                   struct ar_error *err)
{
    char word[4096];
    size_t n_others = 0;

    for (size_t i = 0; i < paths->n; i++)
        n_others += kind_of(paths->items[i]) != IS_PSTATS;
    if (paths->n < 2 || n_others == 0)
        return AR_OK;
    return ar_fail(err, AR_BAD,
                   "%s: %zu files fit this pattern, and not all are of cProfile (one run of many "
                   "is made by: allranks merge %s -o all.allranks)",
                   name, paths->n, ar_text_quote(name, word, sizeof word) ? word : "...");
}

static enum ar_status load_one(struct ar_profile *out, const char *path, bool may_be_packed,
                               struct ar_error *err)
{
    struct paths paths = {0};
    enum ar_status status = expand(&paths, path, err);

    if (status == AR_OK)
        status = check_is_one(&paths, path, err);
    return load_and_free(out, &paths, may_be_packed, status, err);
}

enum ar_status ar_load(struct ar_profile *out, const char *path, struct ar_error *err)
{
    return load_one(out, path, false, err);
}

enum ar_status ar_load_packed(struct ar_profile *out, const char *path, struct ar_error *err)
{
    return load_one(out, path, true, err);
}

enum ar_status ar_load_what_is_left(struct ar_profile *p, const char *path, struct ar_finds *finds,
                                    struct ar_error *err)
{
    size_t n_files = 0;

    switch (kind_of(path)) {
    case IS_NOT_THERE:
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    case IS_DIRECTORY:
        return load_directory(p, path, 0, finds, &n_files, err);
    case IS_RUN:
        return load_run(p, path, err);
    default:
        return find_file(p, path, false, finds, NULL, err);
    }
}

void ar_finds_free(struct ar_finds *finds)
{
    for (size_t i = 0; i < finds->n; i++)
        free(finds->items[i].path);
    free(finds->items);
    *finds = (struct ar_finds){0};
}
