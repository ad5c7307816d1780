// SPDX-License-Identifier: BSD-3-Clause
#include "counters/rdpmc.h"

#include <linux/perf_event.h>
#include <stddef.h>

#if defined(__x86_64__)
static uint64_t read_register(uint32_t reg)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(reg));
    return (uint64_t)high << 32 | low;
}

ar_rdpmc_fn *const ar_rdpmc = read_register;
#else
ar_rdpmc_fn *const ar_rdpmc = NULL;
#endif

/* Registers are narrower than 64 bits, and what they hold is signed. */
static int64_t extend(uint64_t value, uint32_t n_bits)
{
    uint32_t shift = n_bits && n_bits < 64 ? 64 - n_bits : 0;

    return (int64_t)(value << shift) >> shift;
}

bool ar_rdpmc_read(const volatile struct perf_event_mmap_page *page, ar_rdpmc_fn *rdpmc,
                   uint64_t *value)
{
    uint32_t before;
    bool is_exact;

    if (!rdpmc)
        return false;
    do {
        before = page->lock;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);

        uint32_t index = page->index; /* 0: in none */

        is_exact = page->cap_user_rdpmc && index && page->time_enabled == page->time_running;
        if (is_exact)
            *value = (uint64_t)page->offset + (uint64_t)extend(rdpmc(index - 1), page->pmc_width);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (page->lock != before);
    return is_exact;
}
