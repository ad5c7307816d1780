// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"

#include "base/clock.h"
#include "base/limits.h"
#include "format/live_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a run file consists of. */
struct contents {
    const struct ar_bytes *bytes;
    const struct ar_bulks *bulks; /* NULL: none */
};

static enum ar_status write_bytes(int fd, const void *bytes, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = write(fd, (const char *)bytes + done, n_bytes - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return AR_IO;
        done += (size_t)n;
    }
    return AR_OK;
}

/* So much is in memory at a time. */
#define PIECE_BYTES ((size_t)4 << 20)

static enum ar_status copy_bulk(int fd, const struct ar_bulks *bulks, const struct ar_bulk *bulk,
                                void *room)
{
    struct ar_error err;
    enum ar_status status = AR_OK;

    for (uint64_t at = 0; at < bulk->n_bytes && status == AR_OK; at += PIECE_BYTES) {
        uint64_t n_left = bulk->n_bytes - at;
        size_t n = n_left < PIECE_BYTES ? (size_t)n_left : PIECE_BYTES;

        errno = EIO; /* where the reader does not say */
        status = ar_bulk_get(bulks, bulk, at, room, n, &err);
        if (status == AR_OK)
            status = write_bytes(fd, room, n);
    }
    return status;
}

static enum ar_status copy_bulks(int fd, const struct ar_bulks *bulks)
{
    enum ar_status status = AR_OK;
    void *room = bulks && bulks->n ? malloc(PIECE_BYTES) : NULL;

    if (bulks && bulks->n && !room) {
        errno = ENOMEM;
        return AR_NOMEM;
    }
    for (size_t i = 0; bulks && i < bulks->n && status == AR_OK; i++)
        status = copy_bulk(fd, bulks, &bulks->items[i], room);
    free(room);
    return status;
}

static enum ar_status write_all(int fd, const struct contents *all)
{
    uint64_t n_bytes = all->bytes->n + (all->bulks ? ar_bulks_bytes(all->bulks) : 0);
    enum ar_status status;

    if (!ar_file_may_have(n_bytes)) {
        errno = EFBIG;
        return AR_IO;
    }
    status = write_bytes(fd, all->bytes->data, all->bytes->n);
    return status == AR_OK ? copy_bulks(fd, all->bulks) : status;
}

bool ar_run_numbered(const char *path, int n, char *name, size_t n_name)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);

    int n_used = n == 1 ? snprintf(name, n_name, "%s", path)
                        : snprintf(name, n_name, "%.*s-%d%s", stem, path, n, path + stem);

    return n_used >= 0 && (size_t)n_used < n_name;
}

/*
 * linkat() fails where the name exists, which rename() does not. It follows the link that stands in
 * /proc for a file without a name.
 */
static enum ar_status give_name(const char *temporary, const char *path, char *written,
                                size_t n_written)
{
    for (int n = 1; n < 10000; n++) {
        if (!ar_run_numbered(path, n, written, n_written)) {
            errno = ENAMETOOLONG;
            return AR_IO;
        }
        if (linkat(AT_FDCWD, temporary, AT_FDCWD, written, AT_SYMLINK_FOLLOW) == 0)
            return AR_OK;
        if (errno == EEXIST)
            continue;
        /* File systems without hard links: a rename after a look is the best there is. */
        if ((errno == EPERM || errno == EOPNOTSUPP) && access(written, F_OK) != 0)
            return rename(temporary, written) == 0 ? AR_OK : AR_IO;
        return AR_IO;
    }
    return AR_EXISTS;
}

static enum ar_status flush(int fd)
{
    return fsync(fd) < 0 && errno != EINVAL ? AR_IO : AR_OK;
}

/* The directory of a file, "." where the path names none. */
static bool directory_of(const char *path, char *directory, size_t n_directory)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;

    return snprintf(directory, n_directory, "%.*s.", (int)n, path) < (int)n_directory;
}

/*
 * A file without a name, which is gone if we are killed before it has one. -1: this file system has
 * no such files, or something else is in the way, which the usual way will tell of.
 */
static int write_nameless(const struct contents *all, const char *path)
{
    char directory[4096];
    int fd = -1;

    if (directory_of(path, directory, sizeof directory))
        fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0 && (write_all(fd, all) < 0 || flush(fd) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Under a name of its own, open still; on failure there is no such file. */
static enum ar_status write_temporary(const struct contents *all, const char *path, char *temporary,
                                      size_t n_temporary, int *fd, struct ar_error *err)
{
    enum ar_status status;

    if (!ar_live_name_part(temporary, n_temporary, path, (uint32_t)getpid(),
                           ar_clock_ns(CLOCK_REALTIME)))
        return ar_fail(err, AR_IO, "%s: name too long", path);

    *fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0)
        return ar_fail(err, AR_IO, "%s: cannot write: %s", path, strerror(errno));
    status = write_all(*fd, all);
    if (status == AR_OK)
        status = flush(*fd);
    if (status < 0) {
        ar_fail(err, status, "%s: cannot write: %s", path, strerror(errno));
        close(*fd);
        unlink(temporary);
    }
    return status;
}

/*
 * The name is as safe as the contents before anybody removes what the file was made of: flushing a
 * file again flushes that it was given a name. The directory need not be opened for that.
 */
static enum ar_status make_name_last(int fd, enum ar_status status)
{
    if (status == AR_OK)
        status = flush(fd);
    if (close(fd) < 0)
        status = AR_IO;
    return status;
}

static bool write_and_name(const struct contents *all, const char *path, char *written,
                           size_t n_written)
{
    int fd = write_nameless(all, path);
    char in_proc[32];

    if (fd < 0)
        return false;
    snprintf(in_proc, sizeof in_proc, "/proc/self/fd/%d", fd);

    enum ar_status status = give_name(in_proc, path, written, n_written);

    if (status < 0) {
        close(fd);
        return false;
    }
    if (make_name_last(fd, status) == AR_OK)
        return true;
    unlink(written);
    return false;
}

enum ar_status ar_run_write(const struct ar_bytes *bytes, const struct ar_bulks *bulks,
                            const char *path, char *written, size_t n_written, struct ar_error *err)
{
    const struct contents all = {bytes, bulks};
    char temporary[4096];
    int fd = -1;

    if (write_and_name(&all, path, written, n_written))
        return AR_OK;

    enum ar_status status = write_temporary(&all, path, temporary, sizeof temporary, &fd, err);

    if (status < 0)
        return status;
    status = make_name_last(fd, give_name(temporary, path, written, n_written));
    if (status < 0)
        ar_fail(err, status, "%s: cannot write: %s", path, strerror(errno));
    unlink(temporary);
    return status;
}

enum ar_status ar_run_replace(const struct ar_bytes *bytes, const struct ar_bulks *bulks,
                              const char *path, struct ar_error *err)
{
    const struct contents all = {bytes, bulks};
    char temporary[4096];
    int fd = -1;
    enum ar_status status = write_temporary(&all, path, temporary, sizeof temporary, &fd, err);

    if (status < 0)
        return status;
    status = make_name_last(fd, rename(temporary, path) < 0 ? AR_IO : AR_OK);
    if (status < 0) {
        ar_fail(err, status, "%s: cannot write: %s", path, strerror(errno));
        unlink(temporary);
    }
    return status;
}
