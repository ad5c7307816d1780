// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.h"
#include "format/runfile.h"

#include <fcntl.h>
#include <stdlib.h>
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

/* So many sections are looked at to find out whether there is bulk. */
#define MOST_HEAD_BYTES ((size_t)64 << 10)

/* How much of it comes before the bulk. */
static uint64_t bytes_to_read(int fd, uint64_t n_bytes)
{
    unsigned char *head = malloc(MOST_HEAD_BYTES);
    ssize_t n = head ? pread(fd, head, MOST_HEAD_BYTES, 0) : -1;
    uint64_t n_wanted = n > 0 ? ar_run_bytes_to_read(head, (size_t)n, n_bytes) : n_bytes;

    free(head);
    return n_wanted;
}

static enum ar_status read_sections(const char *path, unsigned char **bytes, size_t *n_bytes,
                                    struct ar_error *err)
{
    struct stat st;
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, &st);
    enum ar_status status;

    if (fd < 0)
        return ar_file_refuse(path, err);
    *n_bytes = (size_t)bytes_to_read(fd, (uint64_t)st.st_size);
    if (*n_bytes == (size_t)st.st_size) {
        close(fd);
        status = ar_file_read(path, bytes, &st, err);
        *n_bytes = (size_t)st.st_size;
        return status;
    }
    *bytes = malloc(*n_bytes);
    status = *bytes ? ar_file_read_at(fd, *bytes, *n_bytes, 0, path, err)
                    : ar_fail(err, AR_NOMEM, "%s: no memory for %zu bytes", path, *n_bytes);
    close(fd);
    if (status < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

enum ar_status ar_run_read_packed(struct ar_profile *out, const char *path, struct ar_error *err)
{
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    enum ar_status status = check_version(path, err);

    if (status == AR_OK)
        status = read_sections(path, &bytes, &n_bytes, err);
    if (status == AR_OK)
        status = ar_run_take_packed(out, bytes, n_bytes, path, err);
    if (status == AR_OK && ar_bulks_of_file(&out->bulks, path, ar_bulk_read_file) < 0) {
        ar_profile_free(out);
        status = ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    }
    return status;
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
