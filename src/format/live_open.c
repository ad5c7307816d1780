// SPDX-License-Identifier: BSD-3-Clause
/* Live files by their paths: the half of livefile.h that needs the operating system. */
#include "base/file.h"
#include "format/live_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ar_status read_piece(const struct ar_live_source *from, void *zeros, size_t at,
                                 size_t n_bytes, struct ar_error *err)
{
    int64_t n =
        ar_file_read_sparse(from->fd, zeros, n_bytes, at, !from->is_written, from->name, err);

    return n < 0 ? (enum ar_status)n : AR_OK;
}

/* The process has ended and no longer writes: the order of copying does not matter. */
static enum ar_status read_at_rest(struct ar_live *out, int fd, const struct ar_live_header *header,
                                   const char *path, struct ar_error *err)
{
    size_t n_bytes = header->n_bytes_used;
    enum ar_status status;

    out->is_at_rest = true;
    out->n_bytes = n_bytes;
    out->bytes = malloc(n_bytes);
    if (!out->bytes)
        return ar_live_no_memory(n_bytes, path, err);
    status = ar_file_read_at(fd, out->bytes, n_bytes, 0, path, err);
    if (status == AR_OK)
        status = ar_live_check_extents(out->bytes, n_bytes, path, err);
    if (status < 0) {
        ar_live_close(out);
        return status;
    }
    ar_live_terminate_texts((struct ar_live_header *)out->bytes);
    out->header = (const struct ar_live_header *)out->bytes;
    return AR_OK;
}

/* See fetch_header in livefile.c. */
static bool has_magic(int fd, char magic[8])
{
    bool is_there = pread(fd, magic, 8, 0) == 8 && memcmp(magic, AR_LIVE_MAGIC, 8) == 0;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_there;
}

static bool get_header(int fd, struct ar_live_header *header)
{
    if (!has_magic(fd, header->magic) ||
        pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header)
        return false;
    ar_live_terminate_texts(header);
    return true;
}

/* Of a file with holes only the data is copied: it may claim to be larger than all memory. */
static bool is_at_rest(const struct stat *st, const struct ar_live_header *header)
{
    return header->state == AR_LIVE_FINISHED && !header->trace_state &&
           ar_live_version_is_read(header) &&
           ar_live_length_is_sound(header, (uint64_t)st->st_size) &&
           !ar_file_is_sparse(st, header->n_bytes_used);
}

/* `grew`: it has outgrown the size that it had at first, and has to be read again. */
static enum ar_status read_once(struct ar_live *out, int fd, bool *grew, const char *path,
                                struct ar_error *err)
{
    struct ar_live_header header = {0};
    bool has_header = get_header(fd, &header);
    struct stat st;

    if (fstat(fd, &st) < 0 || st.st_size < AR_LIVE_HEADER_BYTES)
        return ar_fail(err, AR_BAD, "%s: not a live file of allranks " AR_LIVE_AWAY, path);
    if (!out->salvages && has_header && is_at_rest(&st, &header))
        return read_at_rest(out, fd, &header, path, err);
    /* Asked first: one that ends while it is read has run when it was looked at. */
    out->was_running = has_header && ar_live_is_running(&header);

    struct ar_live_source from = {.read = read_piece,
                                  .fd = fd,
                                  .n_bytes = (size_t)st.st_size,
                                  .is_written = out->was_running,
                                  .name = path};
    enum ar_status status = ar_live_read_source(out, &from, err);

    *grew = get_header(fd, &header) && header.n_bytes_used > (uint64_t)st.st_size;
    return status;
}

static enum ar_status read_file(struct ar_live *out, int fd, bool salvage, const char *path,
                                struct ar_error *err)
{
    enum ar_status status = AR_BAD;
    bool grew = true;

    for (int attempt = 0; attempt < 8 && grew; attempt++) {
        grew = false;
        ar_live_close(out);
        out->salvages = salvage;
        status = read_once(out, fd, &grew, path, err);
    }
    return status;
}

enum ar_status ar_live_find_traces(struct ar_live *live, const char *path)
{
    live->trace_source = (struct ar_bulk_source){.path = strdup(path), .read = ar_bulk_read_file};
    return live->trace_source.path ? AR_OK : AR_NOMEM;
}

static enum ar_status open_live(struct ar_live *out, const char *path, bool salvage,
                                struct ar_error *err)
{
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, NULL);

    *out = (struct ar_live){0};
    if (fd < 0)
        return ar_file_refuse(path, err);

    enum ar_status status = read_file(out, fd, salvage, path, err);

    close(fd);
    if (status == AR_OK && ar_live_find_traces(out, path) < 0) {
        ar_live_close(out);
        status = ar_fail(err, AR_NOMEM, "%s: out of memory", path);
    }
    return status;
}

enum ar_status ar_live_open(struct ar_live *out, const char *path, struct ar_error *err)
{
    return open_live(out, path, false, err);
}

enum ar_status ar_live_salvage(struct ar_live *out, const char *path, struct ar_error *err)
{
    return open_live(out, path, true, err);
}

/* As much as there is, -1: it cannot be read. */
static ssize_t read_magic(const char *path, char magic[8])
{
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, NULL);
    ssize_t n = fd >= 0 ? read(fd, magic, 8) : -1;

    if (fd >= 0)
        close(fd);
    return n;
}

bool ar_live_has_magic(const char *path)
{
    char magic[8];

    return read_magic(path, magic) == 8 && memcmp(magic, AR_LIVE_MAGIC, 8) == 0;
}

bool ar_live_has_begun(const char *path)
{
    static const char zeros[8];
    char magic[8];

    errno = 0;

    ssize_t n = read_magic(path, magic);

    return n < 0 ? errno != ENOENT : n == 8 && memcmp(magic, zeros, 8) != 0;
}

bool ar_live_read_header(const char *path, struct ar_live_header *out)
{
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, NULL);
    bool has_header = fd >= 0 && get_header(fd, out);

    if (fd >= 0)
        close(fd);
    return has_header;
}

bool ar_live_read_newest(const char *path, struct ar_live_header *out, uint64_t *newest_ticks)
{
    struct stat st;
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &st);
    bool has_header = fd >= 0 && get_header(fd, out) && ar_live_version_is_read(out);

    if (has_header) {
        struct ar_live_source from = {.read = read_piece,
                                      .fd = fd,
                                      .n_bytes = (size_t)st.st_size,
                                      .is_written = true,
                                      .name = path};
        uint64_t ticks = ar_live_newest_ticks(&from, out->n_bytes_used);

        *newest_ticks = ticks > out->latest.ticks ? ticks : out->latest.ticks;
    }
    if (fd >= 0)
        close(fd);
    return has_header;
}
