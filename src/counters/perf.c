// SPDX-License-Identifier: BSD-3-Clause
#include "counters/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Programs that count descriptors from the lowest one on do not see these. */
#define LOWEST_FD 700

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

/* Where that number is not allowed, the descriptor stays where it is. */
static int move_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);

    if (high < 0)
        return fd;
    close(fd);
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
                       "not permitted (kernel.perf_event_paranoid is %d; 2 or less is needed: ask "
                       "your administrator)",
                       paranoid_level());
    case EMFILE:
    case ENFILE:
        return ar_fail(err, AR_UNSUPPORTED, "no file descriptor is left (raise ulimit -n)");
    case EINVAL:
    case ENOSPC:
        return ar_fail(err, AR_UNSUPPORTED,
                       "the processor cannot count it together with the others (ask for fewer)");
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

static uint8_t leader_of(const struct ar_event *const *events, size_t i)
{
    uint8_t leader = 0;

    while (leader < i && !are_together(events[leader], events[i]))
        leader++;
    return leader;
}

static int open_all(struct ar_perf *out, const struct ar_event *const *events, size_t n)
{
    while (out->n < n) {
        uint8_t leader = leader_of(events, out->n);
        int fd =
            open_event(events[out->n], leader < out->n ? out->fds[leader] : -1, out->user_only);

        if (fd < 0)
            return errno;
        out->leaders[out->n] = leader;
        out->fds[out->n] = move_up(fd);
        if (ioctl(out->fds[out->n], PERF_EVENT_IOC_ID, &out->ids[out->n]) < 0) {
            int why = errno;

            close(out->fds[out->n]);
            return why;
        }
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
        *out = (struct ar_perf){.user_only = user_only};
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

    for (; perf->n; perf->n--)
        if (is_own(perf, perf->n - 1))
            close(perf->fds[perf->n - 1]);
    errno = saved_errno;
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

static bool read_group(struct ar_perf *perf, size_t leader, uint64_t *values)
{
    struct ar_perf_group group;
    ssize_t n_bytes = is_own(perf, leader) ? read(perf->fds[leader], &group, sizeof group) : -1;

    return n_bytes >= (ssize_t)(3 * sizeof(uint64_t)) &&
           (size_t)n_bytes >= (3 + group.n) * sizeof(uint64_t) &&
           ar_perf_take(perf, leader, &group, values);
}

bool ar_perf_read(struct ar_perf *perf, uint64_t *values)
{
    int saved_errno = errno;
    bool is_there = perf->n > 0;

    perf->is_scaled = false;
    for (size_t i = 0; i < perf->n && is_there; i++)
        if (perf->leaders[i] == i)
            is_there = read_group(perf, i, values);
    errno = saved_errno;
    return is_there;
}
