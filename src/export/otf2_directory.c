// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_directory.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What an archive consists of; the anchor comes last: without it there is no archive. */
static const char *const parts[] = {AR_OTF2_NAME, AR_OTF2_NAME ".def", AR_OTF2_NAME ".otf2"};
#define N_PARTS (sizeof parts / sizeof *parts)
#define ANCHOR parts[2]

static bool name_in(char *out, const char *directory, const char *before, const char *name)
{
    return snprintf(out, PATH_MAX, "%s/%s%s", directory, before, name) < PATH_MAX;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* ---- what is there already -------------------------------------------------------------------- */

#define MOST_ANCHOR_BYTES (1 << 20)

static bool is_of_allranks(const char *anchor)
{
    unsigned char *bytes = NULL;
    struct stat st;
    bool is_ours;

    if (stat(anchor, &st) < 0 || st.st_size > MOST_ANCHOR_BYTES ||
        ar_file_read(anchor, &bytes, &st, NULL) < 0)
        return false;
    is_ours = memmem(bytes, (size_t)st.st_size, AR_OTF2_CREATOR, strlen(AR_OTF2_CREATOR)) != NULL;
    free(bytes);
    return is_ours;
}

/* "12.evt", "12.def" */
static bool is_of_location(const char *name)
{
    size_t n = strspn(name, "0123456789");

    return n > 0 && (strcmp(name + n, ".evt") == 0 || strcmp(name + n, ".def") == 0);
}

static bool has_only_locations(const char *directory)
{
    DIR *all = opendir(directory);
    bool has_others = !all;

    for (struct dirent *each; all && (each = readdir(all));)
        has_others =
            has_others || (strcmp(each->d_name, ".") != 0 && strcmp(each->d_name, "..") != 0 &&
                           !is_of_location(each->d_name));
    if (all)
        closedir(all);
    return !has_others;
}

static enum ar_status check_free(const char *path, struct ar_error *err)
{
    char anchor[PATH_MAX], each[PATH_MAX];
    bool is_ours;

    if (!name_in(anchor, path, "", ANCHOR))
        return ar_fail(err, AR_IO, "%s: name too long", path);
    is_ours = is_of_allranks(anchor);
    for (size_t i = 0; i < N_PARTS; i++) {
        if (!name_in(each, path, "", parts[i]))
            return ar_fail(err, AR_IO, "%s: name too long", path);
        if (!is_there(each))
            continue;
        if (!is_ours || (i == 0 && !has_only_locations(each)))
            return ar_fail(err, AR_EXISTS,
                           "%.380s is not from allranks and is not replaced (choose another "
                           "directory, or remove it)",
                           each);
    }
    return AR_OK;
}

/* ---- begin and end ---------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    remove(path);
    return 0;
}

static void remove_all(const char *directory)
{
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What is above it; whether that has worked shows when it is made itself. */
static void make_parents(const char *path)
{
    char part[PATH_MAX];

    snprintf(part, sizeof part, "%s", path);
    for (char *at = part; (at = strchr(at + 1, '/'));) {
        *at = '\0';
        mkdir(part, 0777);
        *at = '/';
    }
}

static enum ar_status make(struct ar_otf2_directory *d, struct ar_error *err)
{
    struct stat st;

    make_parents(d->path);
    d->is_new = mkdir(d->path, 0777) == 0;
    if (!d->is_new && errno != EEXIST)
        return ar_fail(err, AR_IO, "%s: cannot make the directory: %s", d->path, strerror(errno));
    if (!d->is_new && (stat(d->path, &st) < 0 || !S_ISDIR(st.st_mode)))
        return ar_fail(err, AR_EXISTS, "%s is no directory (choose another name)", d->path);
    return AR_OK;
}

enum ar_status ar_otf2_directory_begin(struct ar_otf2_directory *d, const char *path,
                                       struct ar_error *err)
{
    enum ar_status status;

    *d = (struct ar_otf2_directory){0};
    if (snprintf(d->path, sizeof d->path, "%s", path) >= PATH_MAX ||
        snprintf(d->part, sizeof d->part, "%s/.allranks-otf2-%ld", path, (long)getpid()) >=
            PATH_MAX)
        return ar_fail(err, AR_IO, "%s: name too long", path);
    status = make(d, err);
    if (status == AR_OK && !d->is_new)
        status = check_free(d->path, err);
    if (status < 0)
        return status;
    remove_all(d->part); /* of a process that was killed, and had the same number */
    if (mkdir(d->part, 0777) < 0) {
        status = ar_fail(err, AR_IO, "%s: cannot write: %s", d->path, strerror(errno));
        if (d->is_new)
            rmdir(d->path);
    }
    return status;
}

void ar_otf2_directory_drop(struct ar_otf2_directory *d)
{
    remove_all(d->part);
    if (d->is_new)
        rmdir(d->path);
}

/* The parts of one directory become those of another; those that are not there are passed over. */
static bool move(const char *from, const char *before_from, const char *to, const char *before_to)
{
    char old[PATH_MAX], new[PATH_MAX];

    for (size_t i = 0; i < N_PARTS; i++) {
        if (!name_in(old, from, before_from, parts[i]) || !name_in(new, to, before_to, parts[i]))
            return false;
        if (rename(old, new) < 0 && errno != ENOENT)
            return false;
    }
    return true;
}

/* Each of them ends with the ends of its last chunk and of the file. */
static bool is_whole(const char *path, uint64_t least_bytes)
{
    static const unsigned char end[] = {2, 1};
    unsigned char last[sizeof end];
    struct stat st;
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, &st);
    bool is_complete;

    if (fd < 0)
        return false;
    is_complete = (uint64_t)st.st_size >= least_bytes && st.st_size >= (off_t)sizeof end &&
                  ar_file_read_at(fd, last, sizeof last, (uint64_t)st.st_size - sizeof last, path,
                                  NULL) == AR_OK &&
                  memcmp(last, end, sizeof end) == 0;
    close(fd);
    return is_complete;
}

enum ar_status ar_otf2_directory_check(const struct ar_otf2_directory *d, const char *kind,
                                       uint64_t location, uint64_t least_bytes,
                                       struct ar_error *err)
{
    char path[PATH_MAX], name[64] = AR_OTF2_NAME ".def";

    if (kind)
        snprintf(name, sizeof name, AR_OTF2_NAME "/%" PRIu64 ".%s", location, kind);
    if (!name_in(path, d->part, "", name) || !is_whole(path, least_bytes))
        return ar_fail(err, AR_IO, "%s: cannot write all of %s (is the disk full?)", d->path, name);
    return AR_OK;
}

enum ar_status ar_otf2_directory_end(struct ar_otf2_directory *d, struct ar_error *err)
{
    enum ar_status status = AR_OK;
    char anchor[PATH_MAX];

    if (!name_in(anchor, d->part, "", ANCHOR) || !is_of_allranks(anchor)) {
        ar_otf2_directory_drop(d);
        return ar_fail(err, AR_IO, "%s: cannot write all of %s (is the disk full?)", d->path,
                       ANCHOR);
    }
    if (!move(d->path, "", d->part, "old-") || !move(d->part, "", d->path, "")) {
        status = ar_fail(err, AR_IO, "%s: cannot write: %s", d->path, strerror(errno));
        (void)!move(d->part, "old-", d->path, "");
    }
    if (status < 0)
        ar_otf2_directory_drop(d);
    else
        remove_all(d->part);
    return status;
}
