// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 16384
/* A file of zeros up to this size may be read as what it claims to be. */
#define MOST_ZEROS ((size_t)64 << 20)
#define ZEROS_PER_BYTE 16

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * Looked at first, since a writer that waits for a reader of a FIFO would go on when it is opened, and fail.
 * Looked at again afterwards, since it may have been replaced.
 */
int ar_file_open(int directory, const char *path, int flags, struct stat *st)
{
    struct stat own;
    int fd;

    if (!st)
        st = &own;
    if (fstatat(directory, path, st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
        !S_ISREG(st->st_mode)) {
        errno = EINVAL;
        return -1;
    }
    fd = openat(directory, path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

enum ar_status ar_file_refuse(const char *path, struct ar_error *err)
{
    if (errno == EINVAL)
        return ar_fail(err, AR_BAD, "%s: not a regular file (move it away to read the others)",
                       path);
    return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
}

enum ar_status ar_file_check_found(const char *path, struct ar_error *err)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        return AR_OK;
    errno = EINVAL;
    return ar_file_refuse(path, err);
}

bool ar_file_is_own(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

bool ar_file_is_own_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & 022);
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum ar_status became_shorter(const char *path, struct ar_error *err)
{
    return ar_fail(err, AR_BAD, "%s: became shorter while it was read (wait until it is all there)",
                   path);
}

enum ar_status ar_file_read_at(int fd, void *bytes, size_t n_bytes, uint64_t offset,
                               const char *path, struct ar_error *err)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = pread(fd, (char *)bytes + done, n_bytes - done, (off_t)(offset + done));

        if (n < 0 && errno != EINTR)
            return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
        if (n == 0)
            return became_shorter(path, err);
        if (n > 0)
            done += (size_t)n;
    }
    return AR_OK;
}

static bool is_zero(const char *bytes, size_t n_bytes)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n_bytes - 1) == 0;
}

/* Where data follows, from `at` on; `end` if none does before that, `at` if the file system does not say. */
static uint64_t next_data(int fd, uint64_t at, uint64_t end)
{
    off_t found = lseek(fd, (off_t)at, SEEK_DATA);

    if (found < 0)
        return errno == ENXIO ? end : at;
    return (uint64_t)found < end ? (uint64_t)found : end;
}

/* Asked only where zeros were: a file without holes costs no more than its blocks. */
int64_t ar_file_read_sparse(int fd, void *zeros, size_t n_bytes, uint64_t offset, bool skips_holes,
                            const char *path, struct ar_error *err)
{
    _Alignas(8) char block[BLOCK_BYTES];
    uint64_t at = offset, end = offset + n_bytes;
    int64_t n_written = 0;
    struct stat st;

    while (at < end) {
        size_t n = end - at < sizeof block ? (size_t)(end - at) : sizeof block;
        enum ar_status status = ar_file_read_at(fd, block, n, at, path, err);
        bool has_data = status == AR_OK && !is_zero(block, n);

        if (status < 0)
            return status;
        if (has_data)
            memcpy((char *)zeros + (at - offset), block, n);
        n_written += has_data ? (int64_t)n : 0;
        at += n;
        if (!has_data && skips_holes)
            at = next_data(fd, at, end);
    }
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size < end)
        return became_shorter(path, err); /* by what was taken for a hole */
    return n_written;
}

bool ar_file_is_sparse(const struct stat *st, uint64_t n_bytes)
{
    return n_bytes / 2 > (uint64_t)st->st_blocks * 512;
}

/*
 * What is decoded takes memory in proportion to the bytes, zeros or not. A file that takes some kilobytes on disk
 * could so use up all memory: one that is nearly all zeros is refused. A file system may store real files in
 * less than their size, so that alone says nothing.
 */
static enum ar_status read_with_holes(int fd, unsigned char **bytes, size_t n_bytes,
                                      const char *path, struct ar_error *err)
{
    *bytes = calloc(n_bytes, 1);
    if (!*bytes)
        return AR_NOMEM;

    int64_t n_data = ar_file_read_sparse(fd, *bytes, n_bytes, 0, true, path, err);

    if (n_data < 0)
        return (enum ar_status)n_data;
    if (n_bytes > MOST_ZEROS && n_bytes / ZEROS_PER_BYTE > (uint64_t)n_data)
        return ar_fail(err, AR_BAD, "%s: nearly all of it is zeros (copy it once more)", path);
    return AR_OK;
}

static enum ar_status read_whole(int fd, unsigned char **bytes, size_t n_bytes, const char *path,
                                 struct ar_error *err)
{
    *bytes = ar_large_array(n_bytes, 1);
    return *bytes ? ar_file_read_at(fd, *bytes, n_bytes, 0, path, err) : AR_NOMEM;
}

enum ar_status ar_file_read(const char *path, unsigned char **bytes, struct stat *st,
                            struct ar_error *err)
{
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, st);
    enum ar_status status;

    *bytes = NULL;
    if (fd < 0)
        return ar_file_refuse(path, err);

    size_t n_bytes = (size_t)st->st_size;

    status = ar_file_is_sparse(st, n_bytes) ? read_with_holes(fd, bytes, n_bytes, path, err)
                                            : read_whole(fd, bytes, n_bytes, path, err);
    if (!*bytes)
        ar_fail(err, status, "%s: no memory for %zu bytes (free some, or read it elsewhere)", path,
                n_bytes);
    close(fd);
    if (status < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}
