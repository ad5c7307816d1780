// SPDX-License-Identifier: BSD-3-Clause
/*
 * Time between two calls is sampled: a program with a made-up clock, in which it is known exactly, is within the stated error.
 * Five standard errors are allowed for each figure, so that one of two million runs fails by chance.
 */
#include "runtime/stretches.h"

#include "own_file.h"
#include "runtime/budget.h"
#include "runtime/c_cheap.h"
#include "runtime/tree.h"
#include "tap.h"

#include <math.h>

#define MOST_ERRORS 5
#define US_PER_PERIOD 50.0

static struct ar_thread *t;
static uint64_t now;
static uint32_t leaf;

static void pass(double us)
{
    now += (uint64_t)(us * (double)ar_ticks_of_ns(50000) / US_PER_PERIOD);
}

static void call(uint32_t site)
{
    struct ar_node *node = ar_tree_enter(t, (uint64_t)site << 32 | leaf, now);

    pass(0.05);
    ar_tree_leave(t, node, now);
}

/* What the file has of time between two sites, in microseconds; `error_us` is its standard error. */
static double stretch_us(const struct ar_node *node, uint32_t from, uint32_t to, double *error_us)
{
    for (uint32_t ref = node->values_ref; ref;) {
        const struct ar_values *values = ar_live_ptr(ref);

        if ((uint32_t)values->words[0] == from && values->words[1] == to) {
            *error_us = sqrt((double)values->words[3]);
            return (double)values->words[2] * US_PER_PERIOD / (double)ar_ticks_of_ns(50000);
        }
        ref = values->next_ref;
    }
    *error_us = 0;
    return 0;
}

static void check(const struct ar_node *node, uint32_t from, uint32_t to, double expected_us,
                  double most_error)
{
    double error_us, us = stretch_us(node, from, to, &error_us);

    if (!tap_ok(fabs(us - expected_us) <= MOST_ERRORS * error_us + 1e-6 * expected_us &&
                    error_us <= most_error * expected_us,
                "%u to %u: %g ms, to within %g %%", from, to, expected_us / 1000, most_error * 100))
        tap_note("%g ms, standard error %g us", us / 1000, error_us);
}

/* 0.2 and 0.7 us again and again, and now and then 5 ms. */
static void test_short_and_long(void)
{
    struct ar_node *node = ar_tree_enter(t, own_file_function("short_and_long"), now);

    for (int i = 0; i < 200000; i++) {
        call(1);
        pass(0.2);
        call(2);
        pass(i % 10000 == 0 ? 5000 : 0.7);
        if (i % 10000 == 0)
            call(3);
    }
    ar_tree_leave(t, node, now);
    check(node, 1, 2, 200000 * 0.2, 0.1);
    check(node, 2, 1, 199980 * 0.7, 0.05);
    check(node, 2, 3, 20 * 5000.0, 1e-6);
}

/* 100 s: samples become rare, and each then stands for more. */
static void test_long_run(void)
{
    struct ar_node *node = ar_tree_enter(t, own_file_function("long_run"), now);

    for (int i = 0; i < 4000000; i++) {
        call(1);
        pass(24);
        call(2);
        pass(1);
    }
    ar_tree_leave(t, node, now);
    check(node, 1, 2, 4e6 * 24, 0.02);
    check(node, 2, 1, 4e6 * 1, 0.1);
}

/* From one end to the other nothing is called: that says nothing that self time does not say. */
static void test_no_calls(void)
{
    struct ar_node *node = ar_tree_enter(t, own_file_function("no_calls"), now);

    pass(10000);
    ar_tree_leave(t, node, now);
    tap_ok(!node->values_ref, "a function that calls nothing has no stretches");
}

/* As in recursion. */
static void test_unknown_lines(void)
{
    struct ar_node *node = ar_tree_enter(t, own_file_function("unknown_lines"), now);

    pass(10000);
    call(0);
    pass(10000);
    call(5);
    ar_tree_leave(t, node, now);
    tap_ok(!node->values_ref, "time before and after a call whose line is not known has none");
}

/* Its first event begins a stretch at its entry, its last one ends it at its end. */
static void test_ends(void)
{
    struct ar_node *node = ar_tree_enter(t, own_file_function("ends"), now);

    pass(30000);
    call(7);
    pass(20000);
    ar_tree_leave(t, node, now);
    check(node, 0, 7, 30000, 1e-6);
    check(node, 7, 0, 20000, 1e-6);
}

int main(void)
{
    own_file_make();
    ar_c_cheap_calibrate();
    if (ar_source_stretches.start(NULL, NULL) < 0)
        tap_ok(false, "it starts");
    now = ar_ticks();
    t = ar_thread_self();
    leaf = own_file_function("leaf");
    test_ends();
    test_no_calls();
    test_unknown_lines();
    test_short_and_long();
    test_long_run();
    scratch_remove();
    return tap_done();
}
