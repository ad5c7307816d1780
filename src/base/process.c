// SPDX-License-Identifier: BSD-3-Clause
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_stat(uint32_t pid, struct ar_process_stat *out, char *state)
{
    char path[64], text[1024];

    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);

    close(fd);
    text[n > 0 ? n : 0] = '\0';

    /* The second field is a name that may hold blanks and brackets; the fields after it do not. */
    const char *name = strchr(text, '('), *after_name = strrchr(text, ')');

    if (!name || !after_name ||
        sscanf(after_name + 1,
               " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               state, &out->parent, &out->start) != 3)
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)(after_name - name - 1), name + 1);
    return true;
}

bool ar_process_read(uint32_t pid, struct ar_process_stat *out)
{
    char state;

    return read_stat(pid, out, &state);
}

uint64_t ar_process_start(uint32_t pid)
{
    struct ar_process_stat stat;

    return ar_process_read(pid, &stat) ? stat.start : 0;
}

bool ar_process_runs(uint32_t pid, uint64_t start)
{
    struct ar_process_stat stat;
    char state;

    return read_stat(pid, &stat, &state) && stat.start == start && state != 'Z' && state != 'X';
}
