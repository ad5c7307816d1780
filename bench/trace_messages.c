// SPDX-License-Identifier: BSD-3-Clause
/*
 * What it takes to match the messages of a trace, to correct clocks by them, and to find waits and the critical path.
 *
 *     trace_messages RANKS STEPS
 *
 * Made-up events: in each step every rank passes a message on in a ring, and all meet in a collective call: three events a step and rank. Clocks of
 * ranks are off by up to 1 ms. Prints lines of a name and seconds of this thread's processor, and the most memory in MiB.
 */
#include "analysis/trace_clock.h"
#include "analysis/trace_waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(enum ar_status status)
{
    if (status < 0) {
        fprintf(stderr, "trace_messages: %s\n", ar_status_text(status));
        exit(1);
    }
}

static void start(struct ar_profile *p, struct ar_traces *traces, uint32_t n_ranks)
{
    uint32_t id;

    must(ar_profile_init(p));
    must(ar_profile_comm(
        p, (struct ar_comm){.identity = 1, .origin = AR_COMM_WORLD, .size = n_ranks}, &id));
    *traces = (struct ar_traces){.profile = p,
                                 .items = calloc(n_ranks, sizeof *traces->items),
                                 .clocks = calloc(n_ranks, sizeof *traces->clocks),
                                 .n = n_ranks};
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        struct ar_process process = {.world_rank = rank, .world_size = n_ranks, .pid = rank + 1};
        struct ar_location location = {0};

        process.clock_links[AR_CLOCK_AT_INIT].at_ns = 1;
        must(ar_profile_process(p, &process, &location.process));
        must(ar_profile_location(p, &location, &id));
        traces->items[rank] = (struct ar_trace){.profile = p, .location = id};
    }
    must(ar_profile_sort(p));
}

static void add(struct ar_trace_matches *m, struct ar_trace_message message, uint64_t start_ns,
                uint64_t end_ns)
{
    struct ar_trace_event event = {.kind = AR_EVENT_MESSAGE,
                                   .node = AR_NO_ID,
                                   .message = message,
                                   .call_start_ns = start_ns,
                                   .call_end_ns = end_ns};

    must(ar_trace_matches_add(m, &event, false));
}

static void add_rank(struct ar_trace_matches *m, uint32_t rank, uint32_t n_ranks, uint32_t n_steps)
{
    uint64_t off_ns = rank * UINT64_C(7919) % 1000000;

    ar_trace_matches_thread(m, rank);
    for (uint32_t step = 0; step < n_steps; step++) {
        uint64_t at = off_ns + step * UINT64_C(100000);
        struct ar_trace_message message = {.comm = 1, .rank = AR_OWN_RANK(rank, 0)};

        message.kind = AR_TRACE_SEND;
        message.peer = (rank + 1) % n_ranks;
        message.sequence = step + 1;
        add(m, message, at + (rank + step) % 16 * 1000, at + 20000);
        message.kind = AR_TRACE_RECEIVE;
        message.peer = (rank + n_ranks - 1) % n_ranks;
        add(m, message, at + 20000, at + 50000);
        message.kind = AR_TRACE_COLLECTIVE;
        message.sync = AR_SYNC_BARRIER;
        message.peer = AR_PEER_ALL;
        message.sequence = step;
        add(m, message, at + 60000 + (rank + step) % 16 * 1000, at + 90000);
    }
}

int main(int argc, char **argv)
{
    uint32_t n_ranks = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
    uint32_t n_steps = argc == 3 ? (uint32_t)atoi(argv[2]) : 0;
    struct ar_profile p;
    struct ar_traces traces;
    struct ar_trace_matches m;
    struct ar_trace_waits w;
    struct ar_error err;
    struct rusage usage;
    double began;

    if (n_ranks < 2 || !n_steps) {
        fprintf(stderr, "usage: trace_messages RANKS STEPS\n");
        return 2;
    }
    start(&p, &traces, n_ranks);
    began = now_s();
    must(ar_trace_matches_begin(&m, &traces));
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        add_rank(&m, rank, n_ranks, n_steps);
    must(ar_trace_matches_end(&m));
    printf("match %.3f\n", now_s() - began);
    began = now_s();
    must(ar_trace_clock_correct(&traces, &m));
    printf("clock %.3f\n", now_s() - began);
    began = now_s();
    must(ar_trace_waits_build(&w, &m, &err));
    printf("waits %.3f\n", now_s() - began);
    getrusage(RUSAGE_SELF, &usage);
    printf("events %zu\nmessages %llu\nfound %zu\nmoved %llu\nMiB %ld\n", m.n_ops,
           (unsigned long long)m.n_messages, w.n,
           (unsigned long long)(traces.correction.n_messages + traces.correction.n_collectives),
           usage.ru_maxrss >> 10);
    return 0;
}
