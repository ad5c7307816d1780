// SPDX-License-Identifier: BSD-3-Clause
/* Bulk in files: the half of bulk.h that needs the operating system. */
#include "base/file.h"
#include "format/bulk.h"

#include <fcntl.h>
#include <unistd.h>

enum ar_status ar_bulk_read_file(const struct ar_bulk_source *source, uint64_t id, void *to,
                                 size_t n, uint64_t at, struct ar_error *err)
{
    (void)id;
    int fd = ar_file_open(AT_FDCWD, source->path, O_RDONLY, NULL);
    enum ar_status status;

    if (fd < 0)
        return ar_file_refuse(source->path, err);
    status = ar_file_read_at(fd, to, n, at, source->path, err);
    close(fd);
    return status;
}
