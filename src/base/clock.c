// SPDX-License-Identifier: BSD-3-Clause
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum ar_clock_kind ar_clock_kind = AR_CLOCK_MONOTONIC;

#if defined(__x86_64__)
#define COUNTER "tsc\n"

static bool counter_is_invariant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}
#elif defined(__aarch64__)
#define COUNTER "arch_sys_counter\n"

static bool counter_is_invariant(void)
{
    return true; /* one counter for the whole system, which never stops: so the architecture has it */
}
#else
#define COUNTER ""

static bool counter_is_invariant(void)
{
    return false;
}
#endif

/*
 * The kernel drops the counter as its own clock when cores drift apart, so its choice is the test
 * that matters.
 */
static bool kernel_trusts_counter(void)
{
    char name[32] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name - 1);

    close(fd);
    return n > 0 && strcmp(name, COUNTER) == 0;
}

void ar_clock_choose(void)
{
    static bool is_chosen;

    if (!is_chosen && counter_is_invariant() && kernel_trusts_counter())
        ar_clock_kind = AR_CLOCK_TSC;
    is_chosen = true;
}

/* Of three tries the one that was least disturbed: its two tick reads are closest together. */
struct ar_stamp ar_stamp_now(void)
{
    struct ar_stamp best = {0};
    uint64_t best_gap = UINT64_MAX;

    for (int i = 0; i < 3; i++) {
        uint64_t before = ar_ticks();
        uint64_t mono_ns = ar_clock_ns(CLOCK_MONOTONIC);
        uint64_t gap = ar_ticks() - before;

        if (gap < best_gap) {
            best_gap = gap;
            best.ticks = before + gap / 2;
            best.mono_ns = mono_ns;
        }
    }
    best.real_ns = ar_clock_ns(CLOCK_REALTIME);
    return best;
}
