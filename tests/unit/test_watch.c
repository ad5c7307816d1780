// SPDX-License-Identifier: BSD-3-Clause
/* Time is made up: a tick is a nanosecond, looking at a call costs 50 of them. */
#include "runtime/watch.h"

#include "dice.h"
#include "runtime/budget.h"
#include "tap.h"

#include <math.h>

#define MS ((uint64_t)1000000)
#define S (1000 * MS)
#define BEGIN (5 * S)
#define WINDOW (MS / 2)

static struct ar_watch watch;

static void start(void)
{
    ar_costs = (struct ar_costs){.call_ns = 40, .c_call_ns = 50, .ns_per_tick = 1};
    watch = (struct ar_watch){0};
    ar_watch_start(&watch, BEGIN);
}

static void test_start(void)
{
    start();
    tap_ok(watch.open && watch.weight == 1 && watch.gap_ticks == 0, "the first window is open");
    tap_ok(watch.turn_ticks == BEGIN + WINDOW, "for half a millisecond");
    tap_ok(ar_watch_costly_ticks() == 5000, "a hundredth of a call of 5 us is its price");
}

/* Two calls a millisecond cost 100 ns of it. */
static void test_few_calls(void)
{
    bool always = true;

    start();
    for (uint64_t now = BEGIN; now < BEGIN + 2 * S; now += WINDOW) {
        watch.n_seen++;
        if (now >= watch.turn_ticks)
            ar_watch_turn(&watch, now);
        always = always && watch.open && watch.weight == 1;
    }
    tap_ok(always, "where calls are few, all are looked at, and count for themselves");
}

/* What has not been earned may be spent once: 3 ms, which are 60,000 calls. */
static void test_credit(void)
{
    start();
    watch.n_seen = 60000;
    ar_watch_turn(&watch, BEGIN + WINDOW);
    tap_ok(watch.open, "on credit");
    watch.n_seen = 60000 + 201; /* 10,050 ns, which are earned in 1,005,000 */
    ar_watch_turn(&watch, BEGIN + WINDOW);
    tap_ok(!watch.open, "and no further");
    tap_ok(watch.turn_ticks == BEGIN + WINDOW + 2 * MS, "for no less than two milliseconds");
    start();
    watch.n_seen = 60000;
    watch.n_switches = 50000; /* 20 ns each */
    ar_watch_turn(&watch, BEGIN + WINDOW);
    tap_ok(watch.turn_ticks == BEGIN + WINDOW + 100 * MS - WINDOW, "until it is earned");
    start();
    watch.n_seen = 100000000;
    ar_watch_turn(&watch, BEGIN + WINDOW);
    tap_ok(watch.turn_ticks == BEGIN + WINDOW + S, "nor for more than a second");
    start();
    watch.n_seen = 100000000;
    ar_watch_turn(&watch, BEGIN + 100 * S);
    tap_ok(watch.turn_ticks == BEGIN + 105 * S, "unless that is little of the time so far");
}

static void test_weight(void)
{
    start();
    watch.n_seen = 100000000;
    ar_watch_turn(&watch, BEGIN + WINDOW);
    ar_watch_turn(&watch, BEGIN + WINDOW + 10 * MS);
    tap_ok(watch.open && watch.weight == 21, "one window seen, twenty not");
    tap_ok(watch.gap_ticks == 10 * MS, "that is how long it was closed");
    ar_watch_turn(&watch, BEGIN + 11 * MS);
    tap_ok(!watch.open, "closed again");
    ar_watch_turn(&watch, BEGIN + 3600 * S);
    tap_ok(watch.open && watch.weight == 65536, "after an hour without events there is a limit");
    watch.n_seen = 0;
    ar_watch_turn(&watch, BEGIN + 3601 * S);
    tap_ok(watch.open && watch.weight == 1 && watch.gap_ticks == 0, "then nothing went unseen");
}

/*
 * A minute of calls without a pause, each as long as the dice say: looking is to take its share, and
 * what was seen is to stand for what was not. A look makes a call longer, so fewer fit in a window.
 */
static void test_in_the_long_run(uint64_t seed)
{
    struct dice d = {seed};
    uint32_t longest = 100 + dice_below(&d, 2000);
    uint64_t now = BEGIN, n_calls = 0;
    double n_estimated = 0;

    start();
    while (now < BEGIN + 60 * S) {
        now += 50 + dice_below(&d, longest);
        n_calls++;
        if (watch.open) {
            watch.n_seen++;
            n_estimated += watch.weight;
            now += 50;
        }
        if (now >= watch.turn_ticks) {
            ar_watch_turn(&watch, now);
            watch.n_switches++;
        }
    }

    double share = (double)watch.n_seen * 50 / (60.0 * S), mean_ns = 50 + longest / 2.0;
    double ratio = n_estimated / (double)n_calls, expected = mean_ns / (mean_ns + 50);

    tap_ok(share < 0.011 && share > 0.0001, "%.4f of the time", share);
    tap_ok(fabs(ratio / expected - 1) < 0.1, "%.3f of the calls, expected %.3f", ratio, expected);
}

int main(void)
{
    test_start();
    test_few_calls();
    test_credit();
    test_weight();
    for (uint64_t seed = 1; seed <= 4; seed++)
        test_in_the_long_run(seed);
    return tap_done();
}
