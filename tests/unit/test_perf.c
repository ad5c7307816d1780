// SPDX-License-Identifier: BSD-3-Clause
/* Page faults, since any machine can count them, and the program knows how many it causes. */
#include "counters/perf.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_PAGES 64

static void touch_pages(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *fresh = mmap(NULL, (size_t)page * N_PAGES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(fresh, (size_t)page * N_PAGES, MADV_NOHUGEPAGE);
    for (long i = 0; i < N_PAGES; i++)
        fresh[i * page] = 1;
    munmap(fresh, (size_t)page * N_PAGES);
}

static void test_counting(const char *first, const char *second, const char *third)
{
    const struct ar_event *events[] = {ar_event_find(first), ar_event_find(second),
                                       ar_event_find(third)};
    int faults = strcmp(first, "page-faults") == 0 ? 0 : 2, clock = 2 - faults;
    uint64_t before[3], after[3];
    struct ar_perf perf;
    struct ar_error err;
    size_t which;

    if (!tap_ok(ar_perf_open(&perf, events, 3, &which, &err) == AR_OK, "%s, %s and %s", first,
                second, third)) {
        tap_note("%s", err.text);
        return;
    }
    touch_pages(); /* what the test itself needs is there then */
    tap_ok(ar_perf_read(&perf, before) && !perf.is_scaled, "it can be read");
    touch_pages();
    errno = 77;
    tap_ok(ar_perf_read(&perf, after) && errno == 77, "and leaves errno alone");
    tap_ok(after[faults] - before[faults] >= N_PAGES &&
               after[faults] - before[faults] <= N_PAGES + 4,
           "it has counted %d pages: %d", N_PAGES, (int)(after[faults] - before[faults]));
    tap_ok(after[clock] > before[clock], "and processor time: %d ns",
           (int)(after[clock] - before[clock]));
    tap_ok(perf.fds[0] >= 700 && fcntl(perf.fds[0], F_GETFD) == FD_CLOEXEC,
           "its descriptor is out of the way: %d", perf.fds[0]);
    close(perf.fds[0]);
    tap_ok(!ar_perf_read(&perf, after), "what the program has closed is gone");
    ar_perf_close(&perf);
    tap_ok(perf.n == 0 && !ar_perf_read(&perf, after), "closed");
}

static void test_refused(void)
{
    static const struct ar_event none = {
        .name = "none", .type = PERF_TYPE_SOFTWARE, .config = 9999, .unit = "1", .help = "none"};
    const struct ar_event *events[] = {ar_event_find("page-faults"), &none};
    struct ar_perf perf;
    struct ar_error err;
    size_t which = 99;

    tap_ok(ar_perf_open(&perf, events, 2, &which, &err) == AR_UNSUPPORTED && which == 1 &&
               perf.n == 0,
           "which one cannot be counted, and why: %s", err.text);
    tap_ok(ar_perf_try(&none, &err) == AR_UNSUPPORTED && ar_perf_try(events[0], &err) == AR_OK,
           "one by itself");
}

int main(void)
{
    struct ar_error err;

    if (ar_perf_try(ar_event_find("page-faults"), &err) < 0) {
        printf("1..0 # SKIP page faults: %s\n", err.text);
        return 0;
    }
    test_counting("page-faults", "minor-faults", "task-clock");
    test_counting("cpu-clock", "task-clock", "page-faults");
    test_refused();
    return tap_done();
}
