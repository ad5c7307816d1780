// SPDX-License-Identifier: BSD-3-Clause
/*
 * rdpmc: reads a counter of the processor without a system call.
 *
 * The kernel maps a page per event that says in which register the event is counted at present, and what to add to it. It
 * changes the page whenever the thread is put onto a processor or taken off it, and counts these changes in `lock`.
 *
 * Threads: the page and its register are those of the calling thread. Signals: async-signal-safe.
 *
 *     if (!ar_rdpmc_read(page, ar_rdpmc, &value)) ...            // then ask the kernel
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct perf_event_mmap_page;

/* What the register with that number holds; tests have one of their own. */
typedef uint64_t ar_rdpmc_fn(uint32_t reg);

/* NULL where processors of this kind have no such instruction. */
extern ar_rdpmc_fn *const ar_rdpmc;

/*
 * false: the event is not in a register now, or has been without one for some time, so that its value is an estimate; or
 * the kernel does not allow the instruction.
 */
bool ar_rdpmc_read(const volatile struct perf_event_mmap_page *page, ar_rdpmc_fn *rdpmc,
                   uint64_t *value);
