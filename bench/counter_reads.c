// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads counters again and again, each way by itself. Prints a JSON object: by way, ns per read, or why it is not available here.
 *
 *     counter_reads
 */
#include "counters/counter_set.h"

#include <stdio.h>
#include <time.h>

#define N_READS 100000
#define N_TRIES 20

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double best_ns(struct ar_counter_set *set)
{
    uint64_t values[AR_MAX_COUNTERS];
    double best = 1e18;

    for (int try = 0; try < N_TRIES; try++) {
        double start = now_ns();

        for (int i = 0; i < N_READS; i++)
            if (!ar_counter_set_read(set, values))
                return -1;

        double ns = (now_ns() - start) / N_READS;

        best = ns < best ? ns : best;
    }
    return best;
}

static void print(const char *way, double ns, const char *why_not)
{
    static const char *before = "{";

    if (why_not)
        printf("%s\"%s\": \"%s\"", before, way, why_not);
    else
        printf("%s\"%s\": %.1f", before, way, ns);
    before = ", ";
}

static void measure(const char *way, const char *const *names, bool needs_registers, bool is_papi)
{
    struct ar_counter counters[AR_MAX_COUNTERS];
    struct ar_counter_set set;
    struct ar_error err = {""};
    size_t n = 0, which;
    enum ar_status status = AR_OK;

    for (; names[n] && status == AR_OK; n++)
        status = ar_counter_find(&counters[n], names[n], &err);
    if (status == AR_OK && is_papi && counters[0].event)
        status = ar_fail(&err, AR_UNSUPPORTED, "PAPI cannot count any event here");
    if (status == AR_OK)
        status = ar_counter_set_open(&set, counters, n, &which, &err);
    if (status < 0) {
        print(way, 0, err.text);
        return;
    }
    if (needs_registers && !set.perf.pages[0])
        print(way, 0, "the kernel does not allow rdpmc");
    else
        print(way, best_ns(&set), NULL);
    ar_counter_set_close(&set);
}

/* The kernel counts without registers only if it is told to. */
static void measure_kernel_asked(void)
{
    struct ar_counter counter;
    struct ar_counter_set set;
    struct ar_error err;
    size_t which;

    if (ar_counter_find(&counter, "instructions", &err) < 0 ||
        ar_counter_set_open(&set, &counter, 1, &which, &err) < 0) {
        print("kernel, instructions", 0, err.text);
        return;
    }
    set.perf.rdpmc = NULL;
    print("kernel, instructions", best_ns(&set), NULL);
    ar_counter_set_close(&set);
}

int main(void)
{
    measure("kernel, page-faults", (const char *[]){"page-faults", NULL}, false, false);
    measure(
        "kernel, four counters",
        (const char *[]){"page-faults", "context-switches", "cpu-migrations", "major-faults", NULL},
        false, false);
    measure("kernel, task-clock", (const char *[]){"task-clock", NULL}, false, false);
    measure_kernel_asked();
    measure("rdpmc, instructions", (const char *[]){"instructions", NULL}, true, false);
    measure("PAPI, PAPI_TOT_INS", (const char *[]){"PAPI_TOT_INS", NULL}, false, true);
    printf("}\n");
    return 0;
}
