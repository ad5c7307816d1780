// SPDX-License-Identifier: BSD-3-Clause
/*
 * spending: what the recording itself takes, measured while it is taken.
 *
 * For slow and rare work alone, which can afford two looks at the clock: a call that is guessed right
 * cannot, and is counted and multiplied by its price (budget.h). The sums are words of the live file's
 * header, so that a killed process has them, too.
 *
 *     uint64_t begin = ar_ticks();
 *     ...
 *     ar_spent(AR_OVERHEAD_PATHS, ar_ticks() - begin);
 *
 * Work of more than some microseconds is likely to be interrupted by other processes: it is measured by
 * the processor's clock, which takes half a microsecond to read.
 *
 *     uint64_t begin_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID);
 *     ...
 *     ar_spent_since(AR_OVERHEAD_IMPORTS, begin_ns);
 *
 * Threads: any.
 */
#pragma once

#include "runtime/livemap.h"

static inline void ar_spent(enum ar_overhead reason, uint64_t ticks)
{
    if (ar_live_base)
        __atomic_fetch_add(&ar_live_header()->spent_ticks[reason], ticks, __ATOMIC_RELAXED);
}

static inline void ar_spent_since(enum ar_overhead reason, uint64_t begin_ns)
{
    if (ar_live_base)
        __atomic_fetch_add(&ar_live_header()->spent_ns[reason],
                           ar_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns, __ATOMIC_RELAXED);
}
