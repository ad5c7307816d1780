// SPDX-License-Identifier: BSD-3-Clause
/*
 * What it takes to open a run and to make pictures of its trace.
 *
 *     trace_windows RUN COLUMNS ROUNDS
 *
 * Prints lines of a name and numbers: `open` reading the run and opening its traces, `all` a window of all of it, `ms` one of a millisecond, `tenth` one of a tenth;
 * of each the median of the rounds in ns of this thread's processor, the longest, and how many events and bins were read. `span`: how long the run
 * was, bytes of its events, and with bins.
 */
#include "analysis/trace_window.h"
#include "format/runfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_ROUNDS 100

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void must(enum ar_status status, const struct ar_error *err)
{
    if (status < 0) {
        fprintf(stderr, "trace_windows: %s\n", err->text);
        exit(1);
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void show(const char *name, uint64_t *ns, int n, uint64_t n_events, uint64_t n_bins)
{
    qsort(ns, (size_t)n, sizeof *ns, by_size);
    printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, ns[n / 2], ns[n - 1],
           n_events, n_bins);
}

/* Windows of one length at different places. */
static void measure(const char *name, const struct ar_traces *traces, size_t n_columns,
                    int64_t length_ns, int n_rounds)
{
    uint64_t ns[MOST_ROUNDS], n_events = 0, n_bins = 0;
    struct ar_error err;

    for (int i = 0; i < n_rounds; i++) {
        int64_t room = traces->end_ns - length_ns;
        struct ar_window_choice choice = {.from_ns = room / n_rounds * i, .n_columns = n_columns};
        struct ar_trace_window w;
        uint64_t start = now_ns();

        choice.to_ns = choice.from_ns + length_ns;
        must(ar_trace_window_read(&w, traces, &choice, &err), &err);
        ns[i] = now_ns() - start;
        n_events = w.n_events > n_events ? w.n_events : n_events;
        n_bins = w.n_bins > n_bins ? w.n_bins : n_bins;
        ar_trace_window_free(&w);
    }
    show(name, ns, n_rounds, n_events, n_bins);
}

/* Without bins. */
static uint64_t event_bytes(const struct ar_traces *traces)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < traces->n; i++)
        for (size_t k = 0; k < traces->items[i].n_chunks; k++)
            n_bytes += traces->items[i].chunks[k].n_bytes;
    return n_bytes;
}

int main(int argc, char **argv)
{
    int n_rounds = argc == 4 ? atoi(argv[3]) : 0;
    size_t n_columns = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t ns[MOST_ROUNDS];
    struct ar_profile p;
    struct ar_traces traces;
    struct ar_error err;

    if (n_rounds < 1 || n_rounds > MOST_ROUNDS || !n_columns) {
        fprintf(stderr, "usage: trace_windows RUN COLUMNS ROUNDS (at most 100)\n");
        return 2;
    }
    for (int i = 0; i < n_rounds; i++) {
        uint64_t start = now_ns();

        must(ar_run_read(&p, argv[1], &err), &err);
        must(ar_traces_open(&traces, &p, &err), &err);
        ns[i] = now_ns() - start;
        if (i + 1 < n_rounds) {
            ar_traces_close(&traces);
            ar_profile_free(&p);
        }
    }
    show("open", ns, n_rounds, traces.n_events, 0);
    measure("all", &traces, n_columns, traces.end_ns, n_rounds);
    measure("tenth", &traces, n_columns, traces.end_ns / 10, n_rounds);
    measure("ms", &traces, n_columns, 1000000, n_rounds);
    printf("span %" PRId64 " %" PRIu64 " %" PRIu64 "\n", traces.end_ns, event_bytes(&traces),
           traces.n_bytes);
    ar_traces_close(&traces);
    ar_profile_free(&p);
    return 0;
}
