// SPDX-License-Identifier: BSD-3-Clause
#include "counters/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
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

static int open_group(struct ar_perf *out, const struct ar_event *const *events, size_t n)
{
    while (out->n < n) {
        int fd = open_event(events[out->n], out->n ? out->fds[0] : -1, out->user_only);

        if (fd < 0)
            return errno;
        out->fds[out->n++] = move_up(fd);
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
        why = open_group(out, events, n);
        if (!why)
            return AR_OK;

        *which = out->n;
        ar_perf_close(out);
        if (why != EACCES && why != EPERM)
            break;
    }
    return refuse(events[*which], why, err);
}

void ar_perf_close(struct ar_perf *perf)
{
    int saved_errno = errno;

    while (perf->n)
        close(perf->fds[--perf->n]);
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

bool ar_perf_read(struct ar_perf *perf, uint64_t *values)
{
    struct {
        uint64_t n, enabled, running, values[AR_MAX_COUNTERS];
    } group;
    int saved_errno = errno;
    size_t n_bytes = (3 + perf->n) * sizeof(uint64_t);
    bool is_there = perf->n && read(perf->fds[0], &group, n_bytes) == (ssize_t)n_bytes;

    errno = saved_errno;
    if (!is_there || group.n != perf->n)
        return false;
    perf->is_scaled = group.running < group.enabled;
    for (size_t i = 0; i < perf->n; i++) {
        double scale =
            perf->is_scaled && group.running ? (double)group.enabled / (double)group.running : 1;

        values[i] = perf->is_scaled ? (uint64_t)((double)group.values[i] * scale) : group.values[i];
    }
    return true;
}
