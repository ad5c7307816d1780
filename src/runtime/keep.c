// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/keep.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "format/live_names.h"
#include "format/livefile.h"
#include "runtime/output.h"
#include "runtime/terminated.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK_BYTES 65536

/* As the kernel gives it; readdir() allocates memory. */
struct entry {
    uint64_t inode, offset;
    uint16_t n_bytes;
    uint8_t type;
    char name[];
};

static struct {
    char above[AR_PATH_BYTES], directory[AR_PATH_BYTES]; /* "…/heat.live" and the job's in it */
    char from[AR_PATH_BYTES];
    char stem[256]; /* what names of our own files begin with */
    pid_t pid;
    bool is_wanted;
    void (*say)(void);
} keep;

/*
 * For copying only. A handler that finds them in use, by what it has interrupted or by another thread, leaves it
 * at a note: launchers and schedulers both send the signal, and the second must not cut off what the first began.
 */
static struct {
    bool is_busy, is_asked;
    char source[AR_PATH_BYTES], target[AR_PATH_BYTES], part[AR_PATH_BYTES];
    char block[BLOCK_BYTES];
    _Alignas(struct entry) char entries[16384];
} work;

/* ---- where to -------------------------------------------------------------------------------- */

static bool is_elsewhere(const struct ar_identity *identity)
{
    char directory[AR_PATH_BYTES];
    struct stat a, b;

    ar_output_directory(identity, directory);
    return stat(identity->job_dir, &a) == 0 && stat(directory, &b) == 0 && a.st_dev != b.st_dev;
}

/* The run file's name with another ending. */
static bool name_directories(const struct ar_identity *identity, const char *output)
{
    const char *slash = strrchr(output, '/');
    const char *dot = strrchr(slash ? slash : output, '.');
    int n = dot && dot > slash + 1 ? (int)(dot - output) : (int)strlen(output);

    return snprintf(keep.above, sizeof keep.above, "%.*s" AR_LIVE_ENDING, n, output) <
               (int)sizeof keep.above - 300 &&
           snprintf(keep.directory, sizeof keep.directory, "%.3900s/%s", keep.above,
                    identity->job) < (int)sizeof keep.directory;
}

void ar_keep_prepare(const struct ar_identity *identity, bool always)
{
    char output[AR_PATH_BYTES];

    keep.is_wanted = false;
    if (identity->world_rank == AR_RANK_NONE || !ar_identity_is_root(identity))
        return;
    ar_output_name(identity, output);
    if (!always && !is_elsewhere(identity))
        return;
    snprintf(keep.from, sizeof keep.from, "%s", identity->job_dir);
    snprintf(keep.stem, sizeof keep.stem, "%.250s.", strrchr(identity->stem, '/') + 1);
    keep.pid = (pid_t)identity->pid;
    keep.is_wanted = name_directories(identity, output);
}

const char *ar_keep_directory(void)
{
    return keep.is_wanted ? keep.directory : "";
}

/* ---- one file -------------------------------------------------------------------------------- */

static size_t append(char *path, size_t n, const char *text)
{
    while (*text && n < AR_PATH_BYTES - 1)
        path[n++] = *text++;
    path[n] = '\0';
    return n;
}

/* false: it does not fit. */
static bool join(char *path, const char *directory, const char *name, const char *ending)
{
    size_t n = append(path, 0, directory);

    n = append(path, n, "/");
    n = append(path, n, name);
    return append(path, n, ending) < AR_PATH_BYTES - 1;
}

static bool is_zero(const char *block, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        if (block[i])
            return false;
    return true;
}

static bool write_block(int fd, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = write(fd, work.block + done, n_bytes - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* Live files have holes, which stay holes. */
static bool copy_bytes(int from, int to)
{
    off_t n_total = 0;
    ssize_t n;

    while ((n = read(from, work.block, sizeof work.block)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || !ar_file_may_have((uint64_t)(n_total + n)))
            return false;
        n_total += n;
        if (is_zero(work.block, (size_t)n)) {
            if (lseek(to, n, SEEK_CUR) < 0)
                return false;
        } else if (!write_block(to, (size_t)n)) {
            return false;
        }
    }
    return ftruncate(to, n_total) == 0;
}

static bool is_ours(const char *name)
{
    return ar_starts_with(name, keep.stem);
}

/* Whole or not at all. A copy that another rank has begun is left to it, unless the file is our own. */
static bool copy_file(const char *name, bool is_durable)
{
    if (!join(work.source, keep.from, name, "") || !join(work.target, keep.directory, name, "") ||
        !join(work.part, keep.directory, name, AR_PART_ENDING))
        return false;

    int from = ar_file_open(AT_FDCWD, work.source, O_RDONLY | O_NOFOLLOW, NULL);

    if (from < 0)
        return errno == ENOENT;
    if (is_ours(name))
        unlink(work.part);

    int to = open(work.part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_copied = to >= 0 && copy_bytes(from, to) && (!is_durable || fsync(to) == 0) &&
                     rename(work.part, work.target) == 0;

    if (to >= 0 && !is_copied)
        unlink(work.part);
    if (to >= 0)
        close(to);
    close(from);
    return is_copied;
}

/* ---- which ----------------------------------------------------------------------------------- */

/*
 * Of another rank here: it is dead, or may be before it has done it itself, since some launchers kill all when the
 * first one has ended. Its own copy takes the place of ours.
 */
static bool needs_us(const char *name, const struct ar_live_name *parsed, bool is_last_chance)
{
    pid_t pid = (pid_t)parsed->root_pid;
    struct stat st;

    return parsed->rank != AR_RANK_NONE && pid > 1 &&
           (is_last_chance || (kill(pid, 0) < 0 && errno == ESRCH)) &&
           join(work.target, keep.directory, name, "") && stat(work.target, &st) < 0;
}

/* What of others cannot be copied is still where it was. */
static bool keep_one(const char *name, bool own, bool removes)
{
    struct ar_live_name parsed;

    ar_live_name_parse(name, &parsed);
    if ((parsed.kind != AR_NAME_LIVE && parsed.kind != AR_NAME_RUN) || own != is_ours(name))
        return true;
    if (!own && !needs_us(name, &parsed, !removes))
        return true;

    bool is_kept = copy_file(name, removes);

    if (is_kept && own && removes)
        unlink(work.source);
    return is_kept || !own;
}

static bool keep_listed(int directory, bool own, bool removes)
{
    bool is_kept = true;
    long n;

    if (lseek(directory, 0, SEEK_SET) < 0)
        return false;
    while ((n = syscall(SYS_getdents64, directory, work.entries, sizeof work.entries)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *entry = (const struct entry *)(const void *)(work.entries + at);

            if (entry->type == DT_REG || entry->type == DT_UNKNOWN)
                is_kept &= keep_one(entry->name, own, removes);
            at += entry->n_bytes;
        }
    return is_kept && n == 0;
}

/* Others may be able to write where the output is: a directory of this name may be theirs, or a link. */
static bool make_directory(const char *path)
{
    struct stat st;

    mkdir(path, 0700);
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool ar_keep_files(bool removes)
{
    if (!keep.is_wanted || __atomic_exchange_n(&work.is_busy, true, __ATOMIC_ACQUIRE))
        return false;

    int directory = open(keep.from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_kept = make_directory(keep.above) && make_directory(keep.directory) && directory >= 0 &&
                   keep_listed(directory, true, removes) && keep_listed(directory, false, removes);

    if (directory >= 0)
        close(directory);
    __atomic_store_n(&work.is_busy, false, __ATOMIC_RELEASE);
    if (removes && __atomic_load_n(&work.is_asked, __ATOMIC_ACQUIRE))
        kill(getpid(), SIGTERM);
    return is_kept;
}

/* ---- SIGTERM --------------------------------------------------------------------------------- */

/* A forked child has nothing of its own here. */
static bool keep_at_last(void)
{
    if (getpid() != keep.pid)
        return true;
    if (__atomic_load_n(&work.is_busy, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&work.is_asked, true, __ATOMIC_RELEASE);
        return false;
    }
    if (ar_keep_files(false))
        keep.say();
    return true;
}

void ar_keep_when_terminated(void (*say)(void))
{
    keep.say = say;
    if (keep.is_wanted)
        ar_when_terminated_at_least(keep_at_last);
}
