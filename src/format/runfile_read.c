// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.h"
#include "format/runfile.h"

#include <fcntl.h>
#include <unistd.h>

/* One that cannot be read need not be in memory for that, however large it is. */
static enum ar_status check_version(const char *path, struct ar_error *err)
{
    unsigned char head[16] = {0};
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, NULL);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
    struct ar_profile none;

    if (fd >= 0)
        close(fd);
    return n > 0 && ar_run_decode(&none, head, (size_t)n, path, err) == AR_UNSUPPORTED
               ? AR_UNSUPPORTED
               : AR_OK;
}

enum ar_status ar_run_read_packed(struct ar_profile *out, const char *path, struct ar_error *err)
{
    unsigned char *bytes = NULL;
    struct stat st;
    enum ar_status status = check_version(path, err);

    if (status == AR_OK)
        status = ar_file_read(path, &bytes, &st, err);
    return status < 0 ? status : ar_run_take_packed(out, bytes, (size_t)st.st_size, path, err);
}

enum ar_status ar_run_read(struct ar_profile *out, const char *path, struct ar_error *err)
{
    enum ar_status status = ar_run_read_packed(out, path, err);

    if (status < 0)
        return status;
    status = ar_profile_unpack(out);
    if (status < 0) {
        ar_profile_free(out);
        ar_fail(err, status, "%s: %s (free some memory)", path, ar_status_text(status));
    }
    return status;
}
