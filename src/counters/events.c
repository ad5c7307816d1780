// SPDX-License-Identifier: BSD-3-Clause
#include "counters/events.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

#define SOFTWARE(NAME, CONFIG, UNIT, HELP)                                                         \
    {                                                                                              \
        .name = (NAME), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##CONFIG,              \
        .unit = (UNIT), .help = (HELP)                                                             \
    }
#define IN_KERNEL(NAME, CONFIG, HELP)                                                              \
    {                                                                                              \
        .name = (NAME), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##CONFIG, .unit = "1", \
        .help = (HELP), .in_kernel = true                                                          \
    }
#define HARDWARE(NAME, PRESET, CONFIG, HELP)                                                       \
    {                                                                                              \
        .name = (NAME), .preset = (PRESET), .type = PERF_TYPE_HARDWARE,                            \
        .config = PERF_COUNT_HW_##CONFIG, .unit = "1", .help = (HELP)                              \
    }
#define CACHE(NAME, WHICH, OPERATION, RESULT, HELP)                                                \
    {                                                                                              \
        .name = (NAME), .type = PERF_TYPE_HW_CACHE,                                                \
        .config = PERF_COUNT_HW_CACHE_##WHICH |                                                    \
                  (uint64_t)PERF_COUNT_HW_CACHE_OP_##OPERATION << 8 |                              \
                  (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##RESULT << 16,                             \
        .unit = "1", .help = (HELP)                                                                \
    }

const struct ar_event ar_events[] = {
    HARDWARE("instructions", "PAPI_TOT_INS", INSTRUCTIONS, "instructions completed"),
    HARDWARE("cycles", "PAPI_TOT_CYC", CPU_CYCLES, "processor cycles"),
    HARDWARE("ref-cycles", "PAPI_REF_CYC", REF_CPU_CYCLES, "cycles at a constant frequency"),
    HARDWARE("branches", "PAPI_BR_INS", BRANCH_INSTRUCTIONS, "branch instructions"),
    HARDWARE("branch-misses", "PAPI_BR_MSP", BRANCH_MISSES, "branches that were not foreseen"),
    HARDWARE("cache-references", NULL, CACHE_REFERENCES, "accesses to the last-level cache"),
    HARDWARE("cache-misses", NULL, CACHE_MISSES, "accesses that the last-level cache missed"),
    HARDWARE("stalled-cycles-frontend", NULL, STALLED_CYCLES_FRONTEND,
             "cycles without new instructions"),
    HARDWARE("stalled-cycles-backend", NULL, STALLED_CYCLES_BACKEND,
             "cycles waiting for memory or units"),
    CACHE("L1-dcache-loads", L1D, READ, ACCESS, "loads"),
    CACHE("L1-dcache-load-misses", L1D, READ, MISS, "loads that the first cache missed"),
    CACHE("LLC-loads", LL, READ, ACCESS, "loads from the last-level cache"),
    CACHE("LLC-load-misses", LL, READ, MISS, "loads that the last-level cache missed"),
    CACHE("dTLB-load-misses", DTLB, READ, MISS, "loads whose page was not in the TLB"),
    SOFTWARE("task-clock", TASK_CLOCK, "ns", "processor time of the thread"),
    SOFTWARE("cpu-clock", CPU_CLOCK, "ns", "processor time, by the clock of the processor"),
    SOFTWARE("page-faults", PAGE_FAULTS, "1", "page faults"),
    SOFTWARE("minor-faults", PAGE_FAULTS_MIN, "1", "page faults that needed no disk"),
    SOFTWARE("major-faults", PAGE_FAULTS_MAJ, "1", "page faults that read from disk"),
    IN_KERNEL("context-switches", CONTEXT_SWITCHES, "times it gave up the processor"),
    IN_KERNEL("cpu-migrations", CPU_MIGRATIONS, "times it moved to another processor"),
    SOFTWARE("alignment-faults", ALIGNMENT_FAULTS, "1", "accesses that the kernel had to mend"),
    SOFTWARE("emulation-faults", EMULATION_FAULTS, "1", "instructions that the kernel emulated"),
    {.name = NULL},
};

static int plain(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static bool is_same(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return plain(*a) == plain(*b);
}

const struct ar_event *ar_event_find(const char *name)
{
    static const char prefix[] = "perf::";
    const char *bare =
        strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;

    for (const struct ar_event *e = ar_events; e->name; e++)
        if (is_same(bare, e->name) || (e->preset && is_same(name, e->preset)))
            return e;
    return NULL;
}
