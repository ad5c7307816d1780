// SPDX-License-Identifier: BSD-3-Clause
#include "format/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ar_status read_whole(int fd, size_t n_bytes, unsigned char **bytes, const char *path,
                                 struct ar_error *err)
{
    *bytes = malloc(n_bytes ? n_bytes : 1);
    if (!*bytes)
        return ar_fail(err, AR_NOMEM, "%s: no memory for %zu bytes", path, n_bytes);
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = read(fd, *bytes + done, n_bytes - done);

        if (n < 0 && errno != EINTR)
            return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
        if (n == 0)
            return ar_fail(err, AR_BAD, "%s: became shorter while it was read", path);
        if (n > 0)
            done += (size_t)n;
    }
    return AR_OK;
}

enum ar_status ar_run_read(struct ar_profile *out, const char *path, struct ar_error *err)
{
    unsigned char *bytes = NULL;
    enum ar_status status;
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        status = ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    else
        status = read_whole(fd, (size_t)st.st_size, &bytes, path, err);
    if (fd >= 0)
        close(fd);
    if (status == AR_OK)
        status = ar_run_decode(out, bytes, (size_t)st.st_size, path, err);
    free(bytes);
    return status;
}
