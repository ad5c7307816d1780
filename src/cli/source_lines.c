// SPDX-License-Identifier: BSD-3-Clause
#include "cli/source_lines.h"

#include "base/arena.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((off_t)16 << 20)

static bool read_file(struct ar_source_lines *out, int fd, const struct stat *st)
{
    char block[65536];
    ssize_t n;

    if (!S_ISREG(st->st_mode) || st->st_size > MOST_BYTES)
        return false;
    while ((n = read(fd, block, sizeof block)) > 0 && out->text.n < (size_t)MOST_BYTES)
        for (ssize_t i = 0; i < n; i++) {
            unsigned char c = (unsigned char)block[i];

            if (c == '\t')
                ar_bytes_put(&out->text, "    ", 4);
            else if (c != '\r' && c != '\f')
                ar_bytes_u8(&out->text, c == '\n' ? 0 : c < ' ' || c == 0x7f ? '?' : c);
        }
    ar_bytes_u8(&out->text, 0);
    return n == 0 && !out->text.bad;
}

static bool find_starts(struct ar_source_lines *out)
{
    size_t cap = 0;

    for (size_t at = 0; at < out->text.n; at += strlen((char *)out->text.data + at) + 1) {
        if (ar_grow((void **)&out->starts, &cap, out->n + 1u, sizeof *out->starts) < 0)
            return false;
        out->starts[out->n++] = (uint32_t)at;
    }
    return true;
}

static bool open_path(struct ar_source_lines *out, const char *path, uint64_t since_real_ns)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool is_there = fd >= 0 && fstat(fd, &st) == 0;

    *out = (struct ar_source_lines){0};
    if (is_there) {
        out->is_newer = since_real_ns &&
                        (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec >
                            since_real_ns;
        is_there = read_file(out, fd, &st) && find_starts(out);
    }
    if (fd >= 0)
        close(fd);
    if (!is_there)
        ar_source_close(out);
    return is_there;
}

bool ar_source_open(struct ar_source_lines *out, const char *name, const char *run_path,
                    uint64_t since_real_ns)
{
    const char *slash = strrchr(run_path, '/'), *last = strrchr(name, '/');
    char beside[4096];
    int n = snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash + 1 - run_path) : 0,
                     run_path, last ? last + 1 : name);

    if (!*name || *name == '<')
        return false;
    return open_path(out, name, since_real_ns) ||
           (n > 0 && n < (int)sizeof beside && open_path(out, beside, since_real_ns)) ||
           (last && open_path(out, last + 1, since_real_ns));
}

const char *ar_source_line(const struct ar_source_lines *source, uint32_t line)
{
    return line && line <= source->n ? (const char *)source->text.data + source->starts[line - 1]
                                     : "";
}

void ar_source_close(struct ar_source_lines *source)
{
    ar_bytes_free(&source->text);
    free(source->starts);
    *source = (struct ar_source_lines){0};
}
