// SPDX-License-Identifier: BSD-3-Clause
/*
 * clock: the cheapest steady clock of this machine.
 *
 * Ticks are the time stamp counter where it is invariant and the kernel itself trusts it (10 ns a
 * read here); otherwise CLOCK_MONOTONIC in nanoseconds (24 ns). Ticks become nanoseconds
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

/* Where it is the time stamp counter, it can be read in one instruction and without a branch. */
static inline bool ar_clock_is_tsc(void)
{
#if defined(__x86_64__)
    return ar_clock_kind == AR_CLOCK_TSC;
#else
    return false;
#endif
}

static inline uint64_t ar_tsc(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return ar_clock_ns(CLOCK_MONOTONIC);
#endif
}

/* Inline because it is the larger part of what an event costs. */
static inline uint64_t ar_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(ar_clock_kind == AR_CLOCK_TSC, 1))
        return __builtin_ia32_rdtsc();
#endif
    return ar_clock_ns(CLOCK_MONOTONIC);
}
