// SPDX-License-Identifier: BSD-3-Clause
/* Bulk in files: the half of bulk.h that needs the operating system. */
#include "base/file.h"
#include "format/bulk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static enum ar_status refuse_cut(const char *path, struct ar_error *err)
{
    return ar_fail(err, AR_BAD,
                   "%s: the file is cut off: a part of its trace is missing (copy it again)", path);
}

enum ar_status ar_bulk_read_file(const struct ar_bulk_source *source, uint64_t id, void *to,
                                 size_t n, uint64_t at, struct ar_error *err)
{
    (void)id;
    struct stat st;
    int fd = ar_file_open(AT_FDCWD, source->path, O_RDONLY, &st);
    enum ar_status status;

    if (fd < 0)
        return ar_file_refuse(source->path, err);
    if (at > (uint64_t)st.st_size || n > (uint64_t)st.st_size - at)
        status = refuse_cut(source->path, err);
    else
        status = ar_file_read_at(fd, to, n, at, source->path, err);
    close(fd);
    return status;
}

/* One that is not there any more is another matter: reading it says so. */
static uint64_t size_of(const struct ar_bulk_source *source)
{
    struct stat st;

    return source->path && stat(source->path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

static uint64_t missing_of(const struct ar_bulk_piece *piece, uint64_t size)
{
    uint64_t n_there = piece->at < size ? size - piece->at : 0;

    return n_there < piece->n_bytes ? piece->n_bytes - n_there : 0;
}

uint64_t ar_bulks_missing(const struct ar_bulks *bulks, const char **path)
{
    uint64_t *sizes = calloc(bulks->n_sources + 1, sizeof *sizes), n_missing = 0;

    *path = NULL;
    for (size_t i = 0; sizes && i < bulks->n_sources; i++)
        sizes[i] = size_of(&bulks->sources[i]);
    for (size_t i = 0; sizes && i < bulks->n; i++)
        for (size_t k = 0; k < bulks->items[i].n_pieces; k++) {
            const struct ar_bulk_piece *piece = &bulks->items[i].pieces[k];
            uint64_t n = missing_of(piece, sizes[piece->source]);

            *path = n && !*path ? bulks->sources[piece->source].path : *path;
            n_missing += n;
        }
    free(sizes);
    return n_missing;
}
