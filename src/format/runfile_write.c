// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"

#include "base/clock.h"
#include "base/limits.h"
#include "format/live_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum ar_status write_all(int fd, const struct ar_bytes *bytes)
{
    if (!ar_file_may_have(bytes->n)) {
        errno = EFBIG;
        return AR_IO;
    }
    for (size_t done = 0; done < bytes->n;) {
        ssize_t n = write(fd, bytes->data + done, bytes->n - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return AR_IO;
        done += (size_t)n;
    }
    return AR_OK;
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
static int write_nameless(const struct ar_bytes *bytes, const char *path)
{
    char directory[4096];
    int fd = -1;

    if (directory_of(path, directory, sizeof directory))
        fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0 && (write_all(fd, bytes) < 0 || flush(fd) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Under a name of its own, open still; on failure there is no such file. */
static enum ar_status write_temporary(const struct ar_bytes *bytes, const char *path,
                                      char *temporary, size_t n_temporary, int *fd,
                                      struct ar_error *err)
{
    enum ar_status status;

    if (!ar_live_name_part(temporary, n_temporary, path, (uint32_t)getpid(),
                           ar_clock_ns(CLOCK_REALTIME)))
        return ar_fail(err, AR_IO, "%s: name too long", path);

    *fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0)
        return ar_fail(err, AR_IO, "%s: cannot write: %s", path, strerror(errno));
    status = write_all(*fd, bytes);
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

static bool write_and_name(const struct ar_bytes *bytes, const char *path, char *written,
                           size_t n_written)
{
    int fd = write_nameless(bytes, path);
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

enum ar_status ar_run_write(const struct ar_bytes *bytes, const char *path, char *written,
                            size_t n_written, struct ar_error *err)
{
    char temporary[4096];
    int fd = -1;

    if (write_and_name(bytes, path, written, n_written))
        return AR_OK;

    enum ar_status status = write_temporary(bytes, path, temporary, sizeof temporary, &fd, err);

    if (status < 0)
        return status;
    status = make_name_last(fd, give_name(temporary, path, written, n_written));
    if (status < 0)
        ar_fail(err, status, "%s: cannot write: %s", path, strerror(errno));
    unlink(temporary);
    return status;
}

enum ar_status ar_run_replace(const struct ar_bytes *bytes, const char *path, struct ar_error *err)
{
    char temporary[4096];
    int fd = -1;
    enum ar_status status = write_temporary(bytes, path, temporary, sizeof temporary, &fd, err);

    if (status < 0)
        return status;
    status = make_name_last(fd, rename(temporary, path) < 0 ? AR_IO : AR_OK);
    if (status < 0) {
        ar_fail(err, status, "%s: cannot write: %s", path, strerror(errno));
        unlink(temporary);
    }
    return status;
}
