// SPDX-License-Identifier: BSD-3-Clause
/*
 * For LD_PRELOAD: a processor with counters that are known to the digit, for a machine without any.
 *
 * perf_event_open for events of the processor gives a descriptor of ours. They count what a thread does by calling
 * shim_work(n): instructions 10 n, cycles 4 n, all others n. PERF_SHIM_TURNS=1: groups were on the processor half of the time.
 * PERF_SHIM_ROOM: how many events a group may have (4).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_EVENTS 4096

/* A descriptor is known by the file behind it: the program may move it or close it. */
static struct event {
    ino_t file;
    uint64_t per_unit;
    int leader; /* index; its own where it leads */
    long long since;
} events[MOST_EVENTS];
static int n_events;
static __thread long long work;

void shim_work(long long n)
{
    work += n;
}

static struct event *find(int fd)
{
    struct stat st;

    if (!n_events || fstat(fd, &st) < 0)
        return NULL;
    for (int i = 0; i < n_events; i++)
        if (events[i].file == st.st_ino)
            return &events[i];
    return NULL;
}

static int limit(const char *name, int otherwise)
{
    return getenv(name) ? atoi(getenv(name)) : otherwise;
}

static int open_event(const struct perf_event_attr *attr, int group_fd)
{
    struct event *leader = group_fd >= 0 ? find(group_fd) : NULL;
    int n_members = 0;
    struct stat st;

    for (int i = 0; i < n_events && leader; i++)
        n_members += events[i].leader == leader - events;
    if (n_members >= limit("PERF_SHIM_ROOM", 4)) {
        errno = EINVAL;
        return -1;
    }

    int number = __atomic_fetch_add(&n_events, 1, __ATOMIC_SEQ_CST) % MOST_EVENTS;
    int fd = (int)syscall(SYS_memfd_create, "event", 1U /* MFD_CLOEXEC */);

    if (ftruncate(fd, sysconf(_SC_PAGESIZE)) <
        0) /* the page that it is mapped as: all zero, so without rdpmc */
        return -1;
    fstat(fd, &st);
    events[number] = (struct event){
        .file = st.st_ino,
        .per_unit = attr->type != PERF_TYPE_HARDWARE             ? 1
                    : attr->config == PERF_COUNT_HW_INSTRUCTIONS ? 10
                    : attr->config == PERF_COUNT_HW_CPU_CYCLES   ? 4
                                                                 : 1,
        .leader = leader ? (int)(leader - events) : number,
        .since = work,
    };
    return fd;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_perf_event_open) {
        const struct perf_event_attr *attr = (const void *)a[0]; // NOLINT

        if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE)
            return open_event(attr, (int)a[3]);
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list list;

    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);

    struct event *event = request == PERF_EVENT_IOC_ID ? find(fd) : NULL;

    if (!event)
        return (int)syscall(SYS_ioctl, fd, request, argument);
    *(uint64_t *)argument = 1000000 + (uint64_t)(event - events);
    return 0;
}

static ssize_t read_group(const struct event *leader, uint64_t *to, size_t n_bytes)
{
    int takes_turns = limit("PERF_SHIM_TURNS", 0);
    uint64_t n = 0;

    for (int i = 0; i < n_events && (4 + n) * sizeof *to <= n_bytes; i++)
        if (events[i].leader == leader - events)
            to[3 + n++] =
                (uint64_t)(work - events[i].since) * events[i].per_unit / (takes_turns ? 2 : 1);
    to[0] = n;
    to[1] = 1000;
    to[2] = takes_turns ? 500 : 1000;
    return (ssize_t)((3 + n) * sizeof *to);
}

ssize_t read(int fd, void *to, size_t n_bytes)
{
    struct event *event = n_bytes >= 4 * sizeof(uint64_t) ? find(fd) : NULL;

    return event ? read_group(event, to, n_bytes) : (ssize_t)syscall(SYS_read, fd, to, n_bytes);
}
