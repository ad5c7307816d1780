// SPDX-License-Identifier: BSD-3-Clause
#include "counters/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Programs that count descriptors from the lowest one on do not see these; where the limit is low, the upper third is ours. */
#define LOWEST_FD 700
/* Below the limit, for the program. */
#define FREE_FDS ((rlim_t)32)

static uint32_t n_forks; /* of this process and those it descends from */

/* ---- opening ---------------------------------------------------------------------------------- */

static int open_event(const struct ar_event *event, int group, bool user_only)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = event->type,
        .config = event->config,
        .exclude_kernel = user_only,
        .exclude_hv = user_only,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };

    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* -1 with errno: there is no room above, and what is below is the program's. */
static int move_up(int fd)
{
    struct rlimit limit = {.rlim_cur = 1024};
    int lowest = LOWEST_FD, high, why;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < LOWEST_FD + 2 * FREE_FDS)
        lowest = (int)limit.rlim_cur * 2 / 3;
    high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    why = high < 0 ? EMFILE : 0;
    close(fd);
    if (high >= 0 && (rlim_t)high + FREE_FDS >= limit.rlim_cur && limit.rlim_cur > 2 * FREE_FDS) {
        close(high);
        high = -1;
        why = EMFILE;
    }
    errno = why;
    return high;
}

static int paranoid_level(void)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int level = -1;

    if (file) {
        if (fscanf(file, "%d", &level) != 1)
            level = -1;
        fclose(file);
    }
    return level;
}

static enum ar_status refuse(const struct ar_event *event, int why, struct ar_error *err)
{
    switch (why) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return ar_fail(err, AR_UNSUPPORTED, "%s",
                       event->type == PERF_TYPE_SOFTWARE
                           ? "this kernel does not count it"
                           : "this processor, or the virtual machine, does not offer it");
    case EACCES:
    case EPERM:
        return ar_fail(err, AR_UNSUPPORTED,
                       "not permitted (kernel.perf_event_paranoid is %d; %d or less is needed: ask "
                       "your administrator)",
                       paranoid_level(), event->in_kernel ? 1 : 2);
    case EMFILE:
    case ENFILE:
        return ar_fail(err, AR_UNSUPPORTED, "no file descriptor is left (raise ulimit -n)");
    case EINVAL:
    case ENOSPC:
        return ar_fail(err, AR_UNSUPPORTED, "this processor cannot count it");
    default:
        return ar_fail(err, AR_UNSUPPORTED, "%s", strerror(why));
    }
}

static bool is_clock(const struct ar_event *event)
{
    return event->type == PERF_TYPE_SOFTWARE &&
           (event->config == PERF_COUNT_SW_TASK_CLOCK || event->config == PERF_COUNT_SW_CPU_CLOCK);
}

static bool are_together(const struct ar_event *a, const struct ar_event *b)
{
    return !is_clock(a) && !is_clock(b) &&
           (a->type == PERF_TYPE_SOFTWARE) == (b->type == PERF_TYPE_SOFTWARE);
}

/* The newest group that the next event may be in; the event itself where there is none. */
static size_t leader_for_next(const struct ar_perf *perf, const struct ar_event *const *events)
{
    for (size_t i = perf->n; i-- > 0;)
        if (perf->leaders[i] == i && are_together(events[i], events[perf->n]))
            return i;
    return perf->n;
}

/* A group that is full is followed by another one; the kernel lets them take turns. */
static int open_next(struct ar_perf *out, const struct ar_event *const *events)
{
    const struct ar_event *event = events[out->n];
    size_t leader = leader_for_next(out, events);
    int fd = open_event(event, leader < out->n ? out->fds[leader] : -1, out->user_only);

    if (fd < 0 && leader < out->n && (errno == EINVAL || errno == ENOSPC)) {
        leader = out->n;
        fd = open_event(event, -1, out->user_only);
    }
    if (fd >= 0 && out->user_only && event->in_kernel) { /* it would stay 0 */
        close(fd);
        fd = -1;
        errno = EACCES;
    }
    out->leaders[out->n] = (uint8_t)leader;
    return fd;
}

/* NULL: the kernel is asked for every value. */
static struct perf_event_mmap_page *map_page(const struct ar_event *event, int fd)
{
    size_t n_bytes = (size_t)sysconf(_SC_PAGESIZE);

    if (event->type == PERF_TYPE_SOFTWARE || !ar_rdpmc)
        return NULL;

    void *page = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (((struct perf_event_mmap_page *)page)->cap_user_rdpmc)
        return page;
    munmap(page, n_bytes);
    return NULL;
}

static int open_all(struct ar_perf *out, const struct ar_event *const *events, size_t n)
{
    while (out->n < n) {
        int fd = open_next(out, events);

        if (fd < 0)
            return errno;
        out->fds[out->n] = move_up(fd);
        if (out->fds[out->n] < 0)
            return errno;
        out->pages[out->n] = NULL;
        if (ioctl(out->fds[out->n], PERF_EVENT_IOC_ID, &out->ids[out->n]) < 0) {
            int why = errno;

            close(out->fds[out->n]);
            return why;
        }
        out->pages[out->n] = map_page(events[out->n], out->fds[out->n]);
        out->n++;
    }
    return 0;
}

/* What a program does in the kernel counts for it, where that may be seen. */
enum ar_status ar_perf_open(struct ar_perf *out, const struct ar_event *const *events, size_t n,
                            size_t *which, struct ar_error *err)
{
    int why = 0;

    for (int user_only = 0; user_only < 2; user_only++) {
        *out = (struct ar_perf){.user_only = user_only, .rdpmc = ar_rdpmc, .n_forks = n_forks};
        why = open_all(out, events, n);
        if (!why)
            return AR_OK;

        *which = out->n;
        ar_perf_close(out);
        if (why != EACCES && why != EPERM)
            break;
    }
    return refuse(events[*which], why, err);
}

/* What another owner has under that number is neither read nor closed. */
static bool is_own(const struct ar_perf *perf, size_t i)
{
    uint64_t id;

    return ioctl(perf->fds[i], PERF_EVENT_IOC_ID, &id) == 0 && id == perf->ids[i];
}

void ar_perf_close(struct ar_perf *perf)
{
    int saved_errno = errno;

    for (; perf->n; perf->n--) {
        size_t i = perf->n - 1;

        if (perf->pages[i] && perf->n_forks == n_forks)
            munmap(perf->pages[i], (size_t)sysconf(_SC_PAGESIZE));
        if (is_own(perf, i))
            close(perf->fds[i]);
    }
    errno = saved_errno;
}

void ar_perf_forked(void)
{
    n_forks++;
}

enum ar_status ar_perf_try(const struct ar_event *event, struct ar_error *err)
{
    struct ar_perf perf;
    size_t which;
    enum ar_status status = ar_perf_open(&perf, &event, 1, &which, err);

    if (status == AR_OK)
        ar_perf_close(&perf);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/*
 * Values of a group are in the order in which its events were opened. A group that was not on the processor all the time is
 * scaled to all of it; of one that never was, nothing is known.
 */
bool ar_perf_take(struct ar_perf *perf, size_t leader, const struct ar_perf_group *group,
                  uint64_t *values)
{
    bool is_scaled = group->running < group->enabled;
    size_t n = 0;

    if (is_scaled && !group->running)
        return false;
    for (size_t i = leader; i < perf->n && n < group->n; i++)
        if (perf->leaders[i] == leader) {
            double share = is_scaled ? (double)group->running / (double)group->enabled : 1;

            values[i] = is_scaled ? (uint64_t)((double)group->values[n] / share) : group->values[n];
            n++;
        }
    perf->is_scaled |= is_scaled;
    return n == group->n;
}

/* false: one of the group has to be asked for, so all are, since values of a group belong together. */
static bool read_registers(const struct ar_perf *perf, size_t leader, uint64_t *values)
{
    for (size_t i = leader; i < perf->n; i++)
        if (perf->leaders[i] == leader &&
            !(perf->pages[i] && ar_rdpmc_read(perf->pages[i], perf->rdpmc, &values[i])))
            return false;
    return true;
}

static bool read_group(struct ar_perf *perf, size_t leader, uint64_t *values)
{
    struct ar_perf_group group;

    if (read_registers(perf, leader, values))
        return true;

    ssize_t n_bytes = is_own(perf, leader) ? read(perf->fds[leader], &group, sizeof group) : -1;

    return n_bytes >= (ssize_t)(3 * sizeof(uint64_t)) &&
           (size_t)n_bytes >= (3 + group.n) * sizeof(uint64_t) &&
           ar_perf_take(perf, leader, &group, values);
}

bool ar_perf_read(struct ar_perf *perf, uint64_t *values)
{
    int saved_errno = errno;
    bool is_there = perf->n > 0 && perf->n_forks == n_forks;

    perf->is_scaled = false;
    for (size_t i = 0; i < perf->n && is_there; i++)
        if (perf->leaders[i] == i)
            is_there = read_group(perf, i, values);
    errno = saved_errno;
    return is_there;
}
