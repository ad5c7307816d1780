// SPDX-License-Identifier: BSD-3-Clause
/*
 * Clocks with planted offsets, drifts and steps: after the correction nothing is received before it was sent, and no time is
 * further off than all clocks are together.
 */
#include "analysis/trace_clock.h"

#include "dice.h"
#include "made_up_messages.h"
#include "tap.h"

#define N_RANKS 6
#define N_STEPS 400
#define END_NS 2000000000.0 /* of the program */

/* How a clock goes: what it shows at a time. Base, what is made of it, is a line through its first and last time. */
struct clock {
    double offset_ns, drift, step_ns, step_at_ns;
};

static struct clock clocks[N_RANKS];
static double truth_begin[MADE_UP_EVENTS], truth_end[MADE_UP_EVENTS];

static uint64_t shown(uint32_t rank, double ns)
{
    const struct clock *c = &clocks[rank];
    double since = ns > c->step_at_ns ? ns - c->step_at_ns : 0;
    /* A steady clock never goes back: it goes slower for a while. */
    double step = c->step_ns >= 0 ? (since > 0 ? c->step_ns : 0)
                                  : -(since / 2 < -c->step_ns ? since / 2 : -c->step_ns);

    return (uint64_t)(ns + c->offset_ns + c->drift * ns + step + 0.5);
}

/* As the comparisons at the begin and the end give it. */
static void compare_clocks(uint32_t rank)
{
    double first = (double)shown(rank, 0), last = (double)shown(rank, END_NS);
    double rate = END_NS / (last - first);

    made_up.traces.clocks[rank] =
        (struct ar_trace_clock){.offset_ns = (int64_t)(-first * rate), .drift = rate - 1};
}

static void add(uint32_t rank, struct ar_trace_message message, double begin, double end)
{
    size_t at = made_up_add(rank, message, shown(rank, begin), shown(rank, end));

    truth_begin[at] = begin;
    truth_end[at] = end;
}

/* Rings, barriers, broadcasts, reductions and pauses, in which time goes on as the dice say. */
static void make(struct dice *d)
{
    double now[N_RANKS] = {0};
    uint32_t numbers[N_RANKS][N_RANKS] = {{0}}, sequence = 0;

    for (int step = 0; step < N_STEPS; step++) {
        uint32_t what = dice_below(d, 8), root = dice_below(d, N_RANKS);
        double last = 0, begin[N_RANKS];

        for (uint32_t i = 0; i < N_RANKS; i++) {
            now[i] += 1000 + dice_below(d, 2000000);
            begin[i] = now[i];
            last = now[i] > last ? now[i] : last;
        }
        if (what < 6) { /* a message */
            uint32_t from = dice_below(d, N_RANKS),
                     to = (from + 1 + dice_below(d, N_RANKS - 1)) % N_RANKS;
            uint32_t number = ++numbers[from][to];
            double sent = now[from], came = now[to] > sent ? now[to] : sent;

            now[from] += 500;
            now[to] = came + 1500;
            add(from,
                (struct ar_trace_message){.kind = AR_TRACE_SEND, .peer = to, .sequence = number},
                sent, now[from]);
            add(to,
                (struct ar_trace_message){
                    .kind = AR_TRACE_RECEIVE, .peer = from, .sequence = number},
                begin[to], now[to]);
            continue;
        }
        for (uint32_t i = 0; i < N_RANKS; i++) {
            bool is_all = what == 6;
            double end = is_all ? last : begin[i] > begin[root] ? begin[i] : begin[root];

            now[i] = end + 1000 + dice_below(d, 1000);
            add(i,
                (struct ar_trace_message){.kind = AR_TRACE_COLLECTIVE,
                                          .sync = is_all ? AR_SYNC_ALL : AR_SYNC_FROM_ROOT,
                                          .peer = is_all ? AR_PEER_ALL : root,
                                          .bytes_out = 8,
                                          .sequence = sequence},
                begin[i], now[i]);
        }
        sequence++;
    }
}

static void start(struct dice *d, struct ar_trace_matches *m)
{
    made_up_start(N_RANKS);
    made_up.traces.clocks = calloc(N_RANKS, sizeof *made_up.traces.clocks);
    for (uint32_t i = 0; i < N_RANKS; i++) {
        made_up.p.processes[i].host = i;
        made_up.p.processes[i].clock_links[AR_CLOCK_AT_INIT].at_ns = 1;
        compare_clocks(i);
    }
    make(d);
    made_up_match(m);
}

static void stop(struct ar_trace_matches *m)
{
    for (uint32_t i = 0; i < N_RANKS; i++)
        ar_trace_shifts_free(&made_up.traces.shifts[i]);
    free(made_up.traces.shifts);
    free(made_up.traces.clocks);
    ar_trace_matches_free(m);
    made_up_free();
}

static int64_t ns_of(uint32_t rank, uint64_t at)
{
    return ar_traces_ns(&made_up.traces, rank, at);
}

static int64_t begin_ns(const struct ar_trace_matches *m, uint32_t op)
{
    return ns_of((uint32_t)ar_trace_matches_thread_of(m, op), m->ops[op].start_ns);
}

/* How many ends come before a begin that they need, now. */
static size_t n_backward(const struct ar_trace_matches *m)
{
    size_t n = 0;

    for (uint32_t i = 0; i < m->n_ops; i++) {
        const struct ar_trace_op *op = &m->ops[i];
        uint32_t thread = (uint32_t)ar_trace_matches_thread_of(m, i);
        int64_t end = ns_of(thread, op->end_ns);

        if (op->kind == AR_TRACE_RECEIVE)
            n += end < begin_ns(m, op->partner);
        if (op->kind != AR_TRACE_COLLECTIVE)
            continue;
        for (uint32_t k = 0; k < m->groups[op->partner].n; k++) {
            uint32_t other = m->members[m->groups[op->partner].first + k];
            bool is_needed = op->sync == AR_SYNC_ALL || m->ops[other].flags & AR_OP_ROOT;

            n += is_needed && end < begin_ns(m, other);
        }
    }
    return n;
}

/*
 * How far clocks are off without a correction, and how far times are with it. A time is moved at most to where another clock says that
 * it must be, which is off as clocks are; while the shift decays its own clock may change, and so may that of those who follow.
 */
struct off {
    double most, least;
};

static void widen(struct off *off, double by)
{
    off->most = by > off->most ? by : off->most;
    off->least = by < off->least ? by : off->least;
}

static void check_bounds(const struct ar_trace_matches *m)
{
    struct off before = {0}, after = {0}, own[N_RANKS] = {{0}};
    double ranges = 0;
    struct ar_trace_shifts *shifts = made_up.traces.shifts;
    bool is_ordered = true, is_inverse = true;

    (void)m;
    for (size_t i = 0; i < made_up.n_events; i++) {
        uint64_t at = made_up.events[i].call_end_ns;

        widen(&after, (double)ns_of(made_up.rank[i], at) - truth_end[i]);
        widen(&after,
              (double)ns_of(made_up.rank[i], made_up.events[i].call_start_ns) - truth_begin[i]);
        is_ordered = is_ordered && ns_of(made_up.rank[i], at) >=
                                       ns_of(made_up.rank[i], made_up.events[i].call_start_ns);
        uint64_t back = ar_traces_at(&made_up.traces, made_up.rank[i], ns_of(made_up.rank[i], at));

        is_inverse = is_inverse && back + 3 >= at && back <= at + 3;
    }
    made_up.traces.shifts = NULL;
    for (size_t i = 0; i < made_up.n_events; i++) {
        uint32_t rank = made_up.rank[i];

        widen(&own[rank], (double)ns_of(rank, made_up.events[i].call_end_ns) - truth_end[i]);
        widen(&own[rank], (double)ns_of(rank, made_up.events[i].call_start_ns) - truth_begin[i]);
    }
    for (uint32_t i = 0; i < N_RANKS; i++) {
        widen(&before, own[i].most);
        widen(&before, own[i].least);
        ranges += own[i].most - own[i].least;
    }
    made_up.traces.shifts = shifts;
    tap_ok(after.most <= before.most + ranges + 5 && after.least >= before.least - 5,
           "times are off by %.0f to %.0f ns, before by %.0f to %.0f", after.least, after.most,
           before.least, before.most);
    tap_ok(is_ordered, "no call ends before it begins");
    tap_ok(is_inverse, "times lead back to where they come from");
}

static void check(uint64_t seed, const char *what, bool is_wrong)
{
    struct dice d = {seed};
    struct ar_trace_matches m;
    size_t n_before;

    start(&d, &m);
    n_before = n_backward(&m);
    sample_must(ar_trace_clock_correct(&made_up.traces, &m));

    const struct ar_clock_correction *c = &made_up.traces.correction;

    tap_note("%s: %zu backward, %d messages and %d ends moved, by %.0f us at most", what, n_before,
             (int)c->n_messages, (int)c->n_collectives, (double)c->largest_ns / 1e3);
    tap_ok((n_before > 0) == is_wrong, "%s: clocks are %s", what, is_wrong ? "wrong" : "right");
    tap_ok(n_backward(&m) == 0, "%s: nothing goes backward", what);
    tap_ok((c->n_messages + c->n_collectives > 0) == is_wrong && (c->largest_ns > 0) == is_wrong &&
               c->n_ignored == 0 && c->n_checked > 0,
           "%s: it is told", what);
    check_bounds(&m);
    stop(&m);
}

/* A shift is gone after a hundred times its length. */
static void check_decay(void)
{
    struct ar_trace_matches m;

    made_up_start(N_RANKS);
    made_up.traces.clocks = calloc(N_RANKS, sizeof *made_up.traces.clocks);
    made_up_add(0, (struct ar_trace_message){.kind = AR_TRACE_SEND, .peer = 1, .sequence = 1}, 5000,
                5100);
    made_up_add(1, (struct ar_trace_message){.kind = AR_TRACE_RECEIVE, .peer = 0, .sequence = 1},
                3000, 4000);
    made_up_match(&m);
    sample_must(ar_trace_clock_correct(&made_up.traces, &m));
    tap_ok(ns_of(1, 4000) == 5002 && ns_of(1, 0) == 0, "the receive ends after the send begins");
    tap_ok(ns_of(1, 54100) == 54601, "later it is half as much");
    tap_ok(ns_of(1, 104200) == 104200 && ns_of(1, 200000) == 200000, "and then nothing");
    tap_ok(ns_of(0, 5000) == 5000, "the sender is where it was");
    stop(&m);
}

/* What no program does: each needs the other first. */
static void check_circle(void)
{
    struct ar_trace_matches m;

    made_up_start(2);
    made_up.traces.clocks = calloc(N_RANKS, sizeof *made_up.traces.clocks);
    for (uint32_t i = 0; i < 2; i++) {
        made_up_add(
            i, (struct ar_trace_message){.kind = AR_TRACE_RECEIVE, .peer = 1 - i, .sequence = 1},
            100, 200);
        made_up_add(i,
                    (struct ar_trace_message){.kind = AR_TRACE_SEND, .peer = 1 - i, .sequence = 1},
                    300, 400);
    }
    made_up_match(&m);
    sample_must(ar_trace_clock_correct(&made_up.traces, &m));
    tap_ok(made_up.traces.correction.n_ignored > 0, "a circle is broken, and told");
    for (uint32_t i = 0; i < 2; i++)
        ar_trace_shifts_free(&made_up.traces.shifts[i]);
    free(made_up.traces.shifts);
    free(made_up.traces.clocks);
    ar_trace_matches_free(&m);
    made_up_free();
}

int main(void)
{
    check(1, "one clock", false);
    for (uint32_t i = 0; i < N_RANKS; i++)
        clocks[i] = (struct clock){.offset_ns = 1e9 * i, .drift = 1e-5 * ((double)i - 2)};
    check(2, "offsets and drifts that were compared", false);
    clocks[3].step_ns = 3e6;
    clocks[3].step_at_ns = 1e8;
    check(3, "a step forward", true);
    clocks[3].step_ns = -3e6;
    check(4, "a step back", true);
    for (uint64_t seed = 5; seed < 15; seed++) {
        struct dice d = {seed};

        for (uint32_t i = 0; i < N_RANKS; i++)
            clocks[i] = (struct clock){.offset_ns = 1e8 + 1e4 * dice_below(&d, 100),
                                       .drift = 1e-7 * ((double)dice_below(&d, 1000) - 500),
                                       .step_ns = 1e4 * ((double)dice_below(&d, 600) - 300),
                                       .step_at_ns = 1e6 * dice_below(&d, 400)};
        check(seed, "random clocks", true);
    }
    check_decay();
    check_circle();
    return tap_done();
}
