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

/* The program closes what it does not know, and uses the number for a descriptor of its own. */
static void test_taken_number(void)
{
    const struct ar_event *faults = ar_event_find("page-faults");
    struct ar_perf perf;
    struct ar_error err;
    uint64_t value;
    size_t which;
    int ends[2];
    char text[8] = "";

    if (ar_perf_open(&perf, &faults, 1, &which, &err) < 0 || pipe(ends) < 0)
        return;

    int number = perf.fds[0];

    dup2(ends[0], number);
    if (write(ends[1], "theirs", 6) != 6)
        return;
    tap_ok(!ar_perf_read(&perf, &value) && read(number, text, sizeof text) == 6 &&
               strcmp(text, "theirs") == 0,
           "what the program has there is not read");
    ar_perf_close(&perf);
    tap_ok(fcntl(number, F_GETFD) >= 0, "and not closed");
    close(number);
    close(ends[0]);
    close(ends[1]);
}

/* Two groups: the second and fourth event are of one that ran half of the time. */
static void test_scaling(void)
{
    struct ar_perf perf = {.leaders = {0, 1, 0, 1}, .n = 4};
    struct ar_perf_group whole = {.n = 2, .enabled = 100, .running = 100, .values = {7, 9}};
    struct ar_perf_group half = {.n = 2, .enabled = 100, .running = 50, .values = {10, 3}};
    struct ar_perf_group never = {.n = 2, .enabled = 100, .running = 0};
    uint64_t values[4] = {0};

    tap_ok(ar_perf_take(&perf, 0, &whole, values) && !perf.is_scaled && values[0] == 7 &&
               values[2] == 9,
           "counted all the time");
    tap_ok(ar_perf_take(&perf, 1, &half, values) && perf.is_scaled && values[1] == 20 &&
               values[3] == 6 && values[0] == 7,
           "half of the time: scaled, and marked");
    tap_ok(!ar_perf_take(&perf, 1, &never, values), "never: nothing is known");
}

int main(void)
{
    struct ar_error err;

    test_scaling();
    if (ar_perf_try(ar_event_find("page-faults"), &err) < 0) {
        tap_note("page faults are not counted here: %s", err.text);
        return tap_done();
    }
    test_counting("page-faults", "minor-faults", "task-clock");
    test_counting("cpu-clock", "task-clock", "page-faults");
    test_refused();
    test_taken_number();
    return tap_done();
}
