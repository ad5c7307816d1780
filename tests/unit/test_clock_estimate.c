// SPDX-License-Identifier: BSD-3-Clause
/* Clocks that were never compared, with planted offsets: messages and collective calls say what they are, or it is said that they do not. */
#include "analysis/clock_estimate.h"

#include "analysis/trace_clock.h"
#include "dice.h"
#include "made_up_messages.h"
#include "tap.h"

#include <stdlib.h>

#define N_RANKS 4
#define LATENCY_NS 2000

static int64_t offsets[N_RANKS]; /* what a clock shows, less the truth */
static uint32_t numbers[N_RANKS][N_RANKS], sequence;

static uint64_t shown(uint32_t rank, uint64_t ns)
{
    return (uint64_t)((int64_t)(ns + 1000000000000) + offsets[rank]);
}

static void begin(void)
{
    made_up_start(N_RANKS);
    made_up.traces.clocks = calloc(N_RANKS, sizeof *made_up.traces.clocks);
    for (uint32_t i = 0; i < N_RANKS; i++)
        made_up.p.processes[i].host = i + 1;
    memset(numbers, 0, sizeof numbers);
    sequence = 0;
}

static void send(uint32_t from, uint32_t to, uint64_t ns, uint64_t flight_ns)
{
    uint32_t number = ++numbers[from][to];

    made_up_add(from,
                (struct ar_trace_message){.kind = AR_TRACE_SEND, .peer = to, .sequence = number},
                shown(from, ns), shown(from, ns + 100));
    made_up_add(
        to, (struct ar_trace_message){.kind = AR_TRACE_RECEIVE, .peer = from, .sequence = number},
        shown(to, ns - 500), shown(to, ns + flight_ns));
}

/* All come at their own time, and leave after the last. */
static void call_all(enum ar_sync_kind sync, const uint64_t *came_ns, uint64_t left_ns)
{
    for (uint32_t i = 0; i < N_RANKS; i++)
        made_up_add(i,
                    (struct ar_trace_message){.kind = AR_TRACE_COLLECTIVE,
                                              .sync = (uint8_t)sync,
                                              .peer = sync == AR_SYNC_FROM_ROOT ? 0 : AR_PEER_ALL,
                                              .bytes_out = 8,
                                              .sequence = sequence},
                    shown(i, came_ns[i]), shown(i, left_ns));
    sequence++;
}

static struct ar_trace_matches m;

static void estimate(void)
{
    made_up_match(&m);
    sample_must(ar_clock_estimate(&made_up.traces, &m));
}

static void end(void)
{
    free(made_up.traces.sources);
    made_up.traces.sources = NULL;
    free(made_up.traces.clocks);
    ar_trace_matches_free(&m);
    made_up_free();
}

/* By which the clock of a rank is off from that of rank 0 now. */
static int64_t off_by(uint32_t rank)
{
    return ar_traces_ns(&made_up.traces, rank, shown(rank, 0)) -
           ar_traces_ns(&made_up.traces, 0, shown(0, 0));
}

static bool is_estimated(uint32_t rank)
{
    const struct ar_clock_source *source = &made_up.traces.sources[rank];

    tap_note("rank %d: off by %lld, error %lld ns", (int)rank, (long long)off_by(rank),
             (long long)source->error_ns);
    return source->how == AR_CLOCK_ESTIMATED && llabs(off_by(rank)) <= source->error_ns + 1;
}

static size_t n_backward(void)
{
    size_t n = 0;

    for (uint32_t i = 0; i < m.n_ops; i++)
        if (m.ops[i].kind == AR_TRACE_RECEIVE)
            n += ar_traces_ns(&made_up.traces, ar_trace_matches_thread_of(&m, i), m.ops[i].end_ns) <
                 ar_traces_ns(&made_up.traces, ar_trace_matches_thread_of(&m, m.ops[i].partner),
                              m.ops[m.ops[i].partner].start_ns);
    return n;
}

static void check_random(uint64_t seed)
{
    struct dice d = {seed};
    bool all = true;

    begin();
    for (uint32_t i = 0; i < N_RANKS; i++)
        offsets[i] = (int64_t)dice_below(&d, 2000000000) - 1000000000;
    for (uint64_t i = 1; i < 500; i++) {
        uint32_t from = dice_below(&d, N_RANKS), to = (from + 1 + dice_below(&d, 3)) % N_RANKS;

        send(from, to, 100000 * i, LATENCY_NS + dice_below(&d, 50000));
    }
    estimate();
    for (uint32_t i = 1; i < N_RANKS; i++)
        all = is_estimated(i) && made_up.traces.sources[i].error_ns < 5 * LATENCY_NS && all;
    tap_ok(all, "seed %d: clocks are where they should be", (int)seed);
    tap_ok(n_backward() == 0 && made_up.traces.hosts.n_estimated == N_RANKS - 1 &&
               made_up.traces.hosts.n_unknown == 0,
           "seed %d: nothing goes backward", (int)seed);
    end();
}

/* No two exchange messages both ways, but round the ring they do. */
static void check_ring(void)
{
    begin();
    for (uint32_t i = 0; i < N_RANKS; i++)
        offsets[i] = 300000000 * (int64_t)(i % 3) - 100000000;
    for (uint64_t i = 1; i < 50; i++)
        send((uint32_t)(i % N_RANKS), (uint32_t)((i + 1) % N_RANKS), 100000 * i, LATENCY_NS);
    estimate();
    tap_ok(is_estimated(1) && is_estimated(2) && is_estimated(3) && n_backward() == 0 &&
               made_up.traces.sources[2].error_ns <= N_RANKS * LATENCY_NS,
           "messages go round");
    end();
}

static void check_collectives(void)
{
    begin();
    for (uint32_t i = 0; i < N_RANKS; i++)
        offsets[i] = -700000000 * (int64_t)i;
    for (uint64_t i = 1; i < 60; i++) {
        uint64_t came_ns[N_RANKS], last_ns = 0;

        for (uint32_t k = 0; k < N_RANKS; k++) {
            came_ns[k] = 1000000 * i + (k == i % N_RANKS ? 300000 : 1000 * k);
            last_ns = came_ns[k] > last_ns ? came_ns[k] : last_ns;
        }
        call_all(AR_SYNC_ALL, came_ns, last_ns + LATENCY_NS);
    }
    estimate();
    tap_ok(is_estimated(1) && is_estimated(2) && is_estimated(3) &&
               made_up.traces.hosts.estimated_error_ns <= LATENCY_NS + 1,
           "collective calls bound clocks as messages do");
    end();
}

static void check_one_way(void)
{
    const uint64_t came_ns[N_RANKS] = {7000000, 7000000, 7000000, 7000000};

    begin();
    for (uint32_t i = 0; i < N_RANKS; i++) {
        offsets[i] = 500000000 * (int64_t)i;
        made_up.p.processes[i].start_mono_ns = shown(i, 0);
        made_up.p.processes[i].start_real_ns = 1700000000000000000;
    }
    for (uint64_t i = 1; i < 20; i++)
        send(0, 1, 100000 * i, LATENCY_NS);
    send(0, 2, 5000000, LATENCY_NS);
    send(2, 0, 6000000, LATENCY_NS);
    call_all(AR_SYNC_FROM_ROOT, came_ns, 7000500);
    estimate();
    tap_ok(made_up.traces.sources[0].how == AR_CLOCK_SHARED &&
               made_up.traces.sources[1].how == AR_CLOCK_UNKNOWN &&
               made_up.traces.sources[3].how == AR_CLOCK_UNKNOWN && is_estimated(2),
           "messages in one direction do not say enough");
    tap_ok(made_up.traces.hosts.n_unknown == 2 && made_up.traces.hosts.n_estimated == 1 &&
               made_up.traces.hosts.first_unknown == made_up.p.processes[1].host,
           "the hosts are counted");
    tap_ok(off_by(1) == 0, "the time of day places a clock that is not known");
    tap_ok(!ar_traces_have_one_clock(&made_up.traces, 0, 1) &&
               ar_traces_have_one_clock(&made_up.traces, 0, 2),
           "it is known which times can be compared");
    end();
}

/* Between the first messages and the last the clock of rank 1 gains 1 ms. */
static void check_drift(void)
{
    begin();
    for (uint64_t i = 1; i <= 100; i++) {
        offsets[1] = 200000000 + 10000 * (int64_t)i;
        send(0, 1, 1000000 * i, LATENCY_NS);
        send(1, 0, 1000000 * i + 50000, LATENCY_NS);
    }
    estimate();
    int64_t first = (offsets[1] = 200010000, off_by(1)), last = (offsets[1] = 201000000, off_by(1));

    tap_note("off by %lld to %lld, error %lld", (long long)first, (long long)last,
             (long long)made_up.traces.sources[1].error_ns);
    tap_ok(llabs(first + last) < 4 * LATENCY_NS &&
               made_up.traces.sources[1].error_ns + LATENCY_NS >= llabs(first),
           "a clock that drifts is right in the middle, and the error says how far it goes");
    offsets[1] = 0;
    end();
}

/* One host was compared: a child there, which was not, has its clock. */
static void check_compared(void)
{
    begin();
    memset(offsets, 0, sizeof offsets);
    for (uint32_t i = 0; i < N_RANKS; i++)
        made_up.p.processes[i].clock_links[AR_CLOCK_AT_INIT] =
            (struct ar_clock_link){.at_ns = 1, .offset_ns = 1000 * i, .error_ns = 10 * i};
    made_up.p.processes[3].host = made_up.p.processes[2].host;
    made_up.p.processes[3].clock_links[AR_CLOCK_AT_INIT].at_ns = 0;
    estimate();
    tap_ok(made_up.traces.sources[3].how == AR_CLOCK_COMPARED && off_by(3) == 2000 &&
               made_up.traces.hosts.n_estimated + made_up.traces.hosts.n_unknown == 0 &&
               made_up.traces.hosts.compared_error_ns == 20,
           "processes of a host have one clock");
    end();
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        check_random(seed);
    check_ring();
    check_collectives();
    check_one_way();
    check_drift();
    check_compared();
    return tap_done();
}
