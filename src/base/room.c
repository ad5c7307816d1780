// SPDX-License-Identifier: BSD-3-Clause
#include "base/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The beginning of a small file; false: it cannot be read. */
static bool read_start(const char *path, char *text, size_t n_text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, n_text - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

static uint64_t left_of_machine(void)
{
    char text[1024];
    const char *line =
        read_start("/proc/meminfo", text, sizeof text) ? strstr(text, "MemAvailable:") : NULL;

    return line ? strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024 : UINT64_MAX;
}

/* "max" is no number, and no limit. */
static uint64_t read_limit(const char *group, const char *name)
{
    char path[600], text[64], *end;
    unsigned long long value;

    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, name);
    if (!read_start(path, text, sizeof text))
        return UINT64_MAX;
    value = strtoull(text, &end, 10);
    return end == text ? UINT64_MAX : value;
}

/* Of version 2, and of all groups around it: any of them may have the limit. */
static uint64_t left_of_groups(void)
{
    char text[512], *group, *end;
    uint64_t least = UINT64_MAX;

    if (!read_start("/proc/self/cgroup", text, sizeof text) || !(group = strstr(text, "0::/")))
        return least;
    group += strlen("0::");
    group[strcspn(group, "\n")] = '\0';
    while (true) {
        uint64_t limit = read_limit(group, "memory.max"),
                 used = read_limit(group, "memory.current");
        uint64_t left = limit == UINT64_MAX || used == UINT64_MAX ? UINT64_MAX
                        : limit > used                            ? limit - used
                                                                  : 0;

        least = left < least ? left : least;
        end = strrchr(group, '/');
        if (!end || !*group)
            return least;
        *end = '\0';
    }
}

uint64_t ar_memory_left(void)
{
    int saved_errno = errno;
    uint64_t machine = left_of_machine(), groups = left_of_groups();

    errno = saved_errno;
    return machine < groups ? machine : groups;
}

uint64_t ar_disk_left(const char *path, uint64_t *n_all)
{
    int saved_errno = errno;
    struct statvfs st;
    bool is_known = statvfs(path, &st) == 0;

    errno = saved_errno;
    *n_all = is_known ? (uint64_t)st.f_blocks * st.f_frsize : UINT64_MAX;
    return is_known ? (uint64_t)st.f_bavail * st.f_frsize : UINT64_MAX;
}
