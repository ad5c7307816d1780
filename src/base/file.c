// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum ar_status ar_file_read_on(int fd, void *bytes, size_t n_bytes, const char *path,
                               struct ar_error *err)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = read(fd, (char *)bytes + done, n_bytes - done);

        if (n < 0 && errno != EINTR)
            return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
        if (n == 0)
            return ar_fail(err, AR_BAD,
                           "%s: became shorter while it was read (wait until it is all there)",
                           path);
        if (n > 0)
            done += (size_t)n;
    }
    return AR_OK;
}

enum ar_status ar_file_read(const char *path, unsigned char **bytes, struct stat *st,
                            struct ar_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum ar_status status = AR_OK;

    *bytes = NULL;
    *st = (struct stat){0};
    if (fd < 0 || fstat(fd, st) < 0)
        status = ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    if (status == AR_OK) {
        *bytes = ar_large_array((size_t)st->st_size, 1);
        status = *bytes ? ar_file_read_on(fd, *bytes, (size_t)st->st_size, path, err)
                        : ar_fail(err, AR_NOMEM,
                                  "%s: no memory for %lld bytes (free some, or read it elsewhere)",
                                  path, (long long)st->st_size);
    }
    if (fd >= 0)
        close(fd);
    if (status < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}
