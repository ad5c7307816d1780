// SPDX-License-Identifier: BSD-3-Clause
/* A tick is half a nanosecond, a call costs 40 ns: all else is arithmetic. */
#include "runtime/budget.h"

#include "own_file.h"
#include "tap.h"

#include <math.h>

static void set_costs(double call_ns)
{
    ar_costs = (struct ar_costs){.call_ns = call_ns, .c_call_ns = 50, .ns_per_tick = 0.5};
}

/* ---- prices ---------------------------------------------------------------------------------- */

static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void test_prices(void)
{
    struct ar_calibration m = {.n_calls = 100,
                               .plain_ticks = 1000,
                               .ticks = 5000,
                               .plain_c_ticks = 2000,
                               .c_ticks = 2700,
                               .times_all = true};

    ar_budget_calibrate(&m);
    tap_ok(ar_costs.ns_per_tick > 0, "how long a tick is");
    tap_ok(is_about(ar_costs.call_ns, 40 * ar_costs.ns_per_tick), "a call in Python");
    tap_ok(is_about(ar_costs.c_call_ns, 7 * ar_costs.ns_per_tick), "a call in C");
    tap_ok(ar_live_header()->call_cost_ns == ar_costs.call_ns &&
               ar_live_header()->c_call_cost_ns == ar_costs.c_call_ns,
           "readers find them in the file");
    m.c_ticks = 1900;
    ar_budget_calibrate(&m);
    tap_ok(ar_costs.c_call_ns == 2, "nothing is for free, whatever was measured");
    m.times_all = false;
    ar_budget_calibrate(&m);
    tap_ok(ar_live_header()->c_count_cost_ns == 2 && ar_costs.c_call_ns > 2,
           "a call that is timed costs more than one that is counted");
}

/* ---- is it over? ----------------------------------------------------------------------------- */

#define SPAN_TICKS 10000000u /* 5 ms */

static struct ar_thread thread_at(uint64_t now)
{
    return (struct ar_thread){.budget = {.span_ticks = now}, .asks = AR_BUDGET_CALLS - 1};
}

static uint64_t n_calls_of_node = 1000;

/* A function of that mean was just entered: its ticks are what is over, minus now. */
static bool is_over(struct ar_thread *t, double mean_ns, uint32_t n_calls, uint64_t now)
{
    struct ar_node node = {.n_calls = n_calls_of_node};

    node.ticks = (int64_t)((uint64_t)(mean_ns * 2 * (double)n_calls_of_node) - now);
    return ar_budget_is_over(t, &node, n_calls, now);
}

/* 1 % of a span are 50,000 ns, or 1,250 calls. A call of 4000 ns is worth its 40. */
static void test_by_hand(void)
{
    uint64_t start = 1000, end = start + SPAN_TICKS;
    struct ar_thread t = thread_at(start);

    set_costs(40);
    ar_budget_set(0);
    tap_ok(!is_over(&t, 10, 100000, end), "without a budget never");
    ar_budget_set(0.01);
    tap_ok(!is_over(&t, 10, 100000, end - 10), "not before a span is over");
    t = thread_at(start);
    tap_ok(!is_over(&t, 10, 1250, end), "as much as is allowed");
    t = thread_at(start);
    tap_ok(!is_over(&t, 10, 1000, end - 10) && is_over(&t, 10, 251, end), "a little more");
    tap_ok(is_over(&t, 3999, 1, end + 10), "cheap enough to be given up");
    tap_ok(!is_over(&t, 4000, 1, end + 20), "not cheap");
    tap_ok(is_over(&t, 11999, 1251, end + SPAN_TICKS) && !is_over(&t, 12000, 0, end + SPAN_TICKS),
           "still over: it need not be that cheap");
    tap_ok(!is_over(&t, 10, 1, end + 2 * SPAN_TICKS), "not over any more");
    tap_ok(is_over(&t, 15999, 1251, end + 3 * SPAN_TICKS) &&
               !is_over(&t, 16000, 0, end + 3 * SPAN_TICKS),
           "over again: half of what was gained is lost");
    for (int i = 4; i < 20; i++)
        is_over(&t, 10, 1251, end + (uint64_t)i * SPAN_TICKS);
    tap_ok(is_over(&t, 99999, 0, end + 19 * SPAN_TICKS) &&
               !is_over(&t, 100001, 0, end + 19 * SPAN_TICKS),
           "but never what is dear");
    n_calls_of_node = 7;
    tap_ok(!is_over(&t, 10, 0, end + 19 * SPAN_TICKS), "nor what is called seldom");
    n_calls_of_node = 1000;

    struct ar_node wanted = {.n_calls = 1000, .flags = AR_MARK_WANTED};

    tap_ok(!ar_budget_is_over(&t, &wanted, 1, end + 19 * SPAN_TICKS + 10),
           "what the program asked for is kept");
}

/* One call of so many, and one of so many on the slow path, which counts for two more. */
static void test_when_it_is_asked(void)
{
    struct ar_thread t = thread_at(0);
    struct ar_node often = {.n_calls = 2 * AR_BUDGET_CALLS}, seldom = {.n_calls = 7};
    uint32_t n_due = 0;

    tap_ok(ar_budget_due(&t, &often) == AR_BUDGET_CALLS, "every so many calls of a node");
    for (uint32_t i = 0; i < 10 * AR_BUDGET_SLOW_CALLS; i++)
        n_due += ar_budget_due(&t, &seldom);
    tap_ok(n_due == 10 * 2 * AR_BUDGET_SLOW_CALLS, "and every so many slow ones");
}

/* Whichever thread it is, and not only the first: asking is the slow path. */
static void test_a_new_thread(void)
{
    const struct ar_thread *t = ar_thread_self();

    tap_ok(t && t->budget.span_ticks, "a new thread has a span of its own");
    tap_ok(t && !ar_budget_asks(t, 1) && ar_budget_asks(t, AR_BUDGET_CALLS), "and asks seldom");
}

int main(void)
{
    own_file_make();
    test_prices();
    test_by_hand();
    test_when_it_is_asked();
    test_a_new_thread();
    scratch_remove();
    return tap_done();
}
