// SPDX-License-Identifier: BSD-3-Clause
#include "cli/output_file.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/screen.h"
#include "format/live_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 4096

static enum ar_status fail(const struct ar_output_file *out, struct ar_error *err)
{
    return ar_fail(err, AR_IO, "%s: cannot write: %s", out->path, strerror(errno));
}

/* The directory of a file, "." where the path names none. */
static bool directory_of(const char *path, char *directory, size_t n_directory)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;

    return snprintf(directory, n_directory, "%.*s.", (int)n, path) < (int)n_directory;
}

static bool make_temporary_name(struct ar_output_file *out)
{
    char name[PATH_ROOM];

    errno = ENAMETOOLONG;
    if (!ar_live_name_part(name, sizeof name, out->real, (uint32_t)getpid(),
                           ar_clock_ns(CLOCK_REALTIME)))
        return false;
    out->temporary = strdup(name);
    return out->temporary;
}

/* One that is gone if we are killed before it has a name; else one with a temporary name. */
static bool open_new(struct ar_output_file *out)
{
    char directory[PATH_ROOM];

    out->is_replaced = true;
    if (directory_of(out->real, directory, sizeof directory))
        out->fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (out->fd >= 0)
        return true;
    if (!make_temporary_name(out))
        return false;
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out->fd >= 0)
        return true;
    free(out->temporary);
    out->temporary = NULL;
    return false;
}

enum ar_status ar_output_file_open(struct ar_output_file *out, const char *path,
                                   struct ar_error *err)
{
    bool is_open = true;

    *out = (struct ar_output_file){.path = path, .fd = -1};
    if (strcmp(path, "-") == 0)
        return AR_OK;
    if (ar_is_recording(path))
        return ar_fail(err, AR_IO, AR_HOLDS_RECORDING, path);
    out->real = realpath(path, NULL);
    if (!out->real)
        out->real = strdup(path);
    if (!out->real)
        return ar_fail(err, AR_NOMEM, "out of memory");
    if (ar_is_replaceable(out->real)) {
        is_open = open_new(out);
    } else {
        out->fd = open(out->real, O_WRONLY | O_CLOEXEC);
        is_open = out->fd >= 0;
    }
    if (is_open)
        return AR_OK;
    fail(out, err);
    free(out->real);
    return AR_IO;
}

enum ar_status ar_output_file_write(void *file, const void *bytes, size_t n_bytes,
                                    struct ar_error *err)
{
    const struct ar_output_file *out = file;
    const char *at = bytes;

    if (out->fd < 0) {
        ar_print_bytes(&(struct ar_bytes){.data = (unsigned char *)bytes, .n = n_bytes});
        return AR_OK;
    }
    while (n_bytes) {
        ssize_t n = write(out->fd, at, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(out, err);
        at += n;
        n_bytes -= (size_t)n;
    }
    return AR_OK;
}

/* linkat() does not replace a file, rename() does: so it has a temporary name for a moment. */
static bool give_name(struct ar_output_file *out)
{
    char in_proc[32];

    if (!out->temporary) {
        snprintf(in_proc, sizeof in_proc, "/proc/self/fd/%d", out->fd);
        if (!make_temporary_name(out))
            return false;
        if (linkat(AT_FDCWD, in_proc, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) < 0) {
            free(out->temporary);
            out->temporary = NULL;
            return false;
        }
    }
    return rename(out->temporary, out->real) == 0;
}

/* File systems of other hosts tell only here that they are full. */
static bool finish(struct ar_output_file *out)
{
    if (fsync(out->fd) < 0 && errno != EINVAL && errno != EROFS)
        return false;
    return !out->is_replaced || give_name(out);
}

enum ar_status ar_output_file_close(struct ar_output_file *out, enum ar_status status,
                                    struct ar_error *err)
{
    if (status == AR_OK && out->fd >= 0 && !finish(out))
        status = fail(out, err);
    if (out->fd >= 0 && close(out->fd) < 0 && status == AR_OK && !out->is_replaced)
        status = fail(out, err);
    if (status < 0 && out->temporary)
        unlink(out->temporary);
    free(out->temporary);
    free(out->real);
    *out = (struct ar_output_file){.fd = -1};
    return status;
}
