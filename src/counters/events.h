// SPDX-License-Identifier: BSD-3-Clause
/*
 * events: what the kernel can count of a thread, by name.
 *
 * Names are those of perf (page-faults), with or without PAPI's prefix of its component (perf::PAGE-FAULTS), and of PAPI's presets where
 * one is the same as an event of the kernel (PAPI_TOT_INS is instructions). Case, and - or _, make no difference.
 *
 * Threads: nothing here is shared.
 *
 *     const struct ar_event *event = ar_event_find("page-faults");
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_MAX_COUNTERS 24 /* of a thread at a time */

struct ar_event {
    const char *name;
    const char *preset; /* PAPI's name of the same, or NULL */
    uint64_t config;
    const char *unit; /* "1", or "ns" */
    const char *help;
    uint32_t type;  /* PERF_TYPE_… */
    bool in_kernel; /* it happens in the kernel alone: without its work there is nothing to count */
};

extern const struct ar_event ar_events[]; /* `name` NULL ends them */

/* NULL: there is none of that name. */
const struct ar_event *ar_event_find(const char *name);
