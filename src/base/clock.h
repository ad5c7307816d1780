// SPDX-License-Identifier: BSD-3-Clause
/*
 * clock: the cheapest steady clock of this machine.
 *
 * Ticks are those of the processor's counter where it is invariant and the kernel itself trusts it:
 * the time stamp counter on x86-64 (10 ns per read here), the virtual count of the generic timer on
 * aarch64 (a tick takes 1 ns to 40 ns, by machine; CLOCK_MONOTONIC has the same resolution there).
 * Otherwise they are CLOCK_MONOTONIC in nanoseconds (24 ns per read). Ticks become nanoseconds
 * afterwards, from two stamps that were taken on both clocks, as far apart as possible: no start-up
 * spent on calibration, and better than 1 ppm after a second.
 *
 * Threads, signals: everything but ar_clock_choose may be called anywhere.
 *
 *     ar_clock_choose();                     // before the first read; again changes nothing
 *     struct ar_stamp start = ar_stamp_now();
 *     uint64_t t = ar_ticks();
 *     struct ar_scale scale = ar_scale_between(&start, &end);
 *     double ns = t * scale.ns_per_tick;
 */
#pragma once

#include "base/hidden.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* TSC stands for the processor's counter on any machine. */
enum ar_clock_kind { AR_CLOCK_MONOTONIC = 0, AR_CLOCK_TSC = 1 };

/* One instant on the three clocks. */
struct ar_stamp {
    uint64_t ticks;
    uint64_t mono_ns;
    uint64_t real_ns; /* since 1970 */
};

struct ar_scale {
    double ns_per_tick;
};

extern AR_HIDDEN enum ar_clock_kind ar_clock_kind;

void ar_clock_choose(void);
struct ar_stamp ar_stamp_now(void);
/* Stamps 100 us apart give 0.05 %, a second apart better than 1 ppm. Equal ones give 1. */
struct ar_scale ar_scale_between(const struct ar_stamp *a, const struct ar_stamp *b);

static inline uint64_t ar_clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Where it is the processor's counter, it can be read in one instruction and without a branch. */
static inline bool ar_clock_is_tsc(void)
{
    return ar_clock_kind == AR_CLOCK_TSC;
}

/*
 * Neither instruction waits for those before it: an event is some nanoseconds early or late, which
 * cancels out over a call, and waiting costs more than the read. The volatile asm keeps two reads in
 * the order of the program.
 */
static inline uint64_t ar_tsc(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return ar_clock_ns(CLOCK_MONOTONIC);
#endif
}

/* Can a thread not read the same time twice? On aarch64 a tick may be longer than an event. */
static inline bool ar_ticks_are_unique(void)
{
#if defined(__aarch64__)
    return false;
#else
    return true;
#endif
}

/* Inline because it is the larger part of what an event costs. */
static inline uint64_t ar_ticks(void)
{
    return __builtin_expect(ar_clock_is_tsc(), 1) ? ar_tsc() : ar_clock_ns(CLOCK_MONOTONIC);
}
