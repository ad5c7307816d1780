// SPDX-License-Identifier: BSD-3-Clause
/*
 * Only the order of stamps is looked at, and arithmetic: how long anything takes is not for a test
 * to say.
 */
#include "base/clock.h"

#include "tap.h"

#include <inttypes.h>

static void test_order(const char *kind)
{
    uint64_t last = ar_ticks();
    bool ordered = true;

    for (int i = 0; i < 200000; i++) {
        uint64_t now = ar_ticks();

        ordered = ordered && now >= last;
        last = now;
    }
    tap_ok(ordered, "%s: ticks never go back", kind);
}

static void test_stamps(const char *kind)
{
    struct ar_stamp last = ar_stamp_now();
    bool ordered = true, between = true;

    for (int i = 0; i < 2000; i++) {
        uint64_t ticks_before = ar_ticks(), ns_before = ar_clock_ns(CLOCK_MONOTONIC);
        struct ar_stamp now = ar_stamp_now();

        between = between && now.ticks >= ticks_before && now.ticks <= ar_ticks() &&
                  now.mono_ns >= ns_before && now.mono_ns <= ar_clock_ns(CLOCK_MONOTONIC);
        ordered = ordered && now.ticks >= last.ticks && now.mono_ns >= last.mono_ns;
        last = now;
    }
    tap_ok(between, "%s: a stamp is of the time at which it was taken", kind);
    tap_ok(ordered, "%s: stamps are in order", kind);
    tap_ok(last.real_ns > (uint64_t)1500000000 * 1000000000, "%s: real time is since 1970", kind);
}

static void check_scale(struct ar_stamp a, struct ar_stamp b, double expected, const char *what)
{
    double found = ar_scale_between(&a, &b).ns_per_tick;

    if (!tap_ok(found == expected, "%s", what))
        tap_note("%.17g instead of %.17g", found, expected);
}

static void test_scale(void)
{
    uint64_t far = (uint64_t)1 << 62;

    check_scale((struct ar_stamp){1000, 500, 0}, (struct ar_stamp){3000, 1500, 0}, 0.5, "half");
    check_scale((struct ar_stamp){0, 0, 0}, (struct ar_stamp){1000, 1250, 0}, 1.25, "1.25");
    check_scale((struct ar_stamp){far, far, 9}, (struct ar_stamp){far + 8, far + 2, 1}, 0.25,
                "large stamps, and a clock that was set back");
    check_scale((struct ar_stamp){7, 8, 9}, (struct ar_stamp){7, 8, 9}, 1, "equal stamps give 1");
    check_scale((struct ar_stamp){7, 8, 9}, (struct ar_stamp){7, 9, 9}, 1, "equal ticks give 1");
    check_scale((struct ar_stamp){7, 8, 9}, (struct ar_stamp){8, 8, 9}, 1, "equal times give 1");
    check_scale((struct ar_stamp){9, 9, 9}, (struct ar_stamp){7, 8, 9}, 1, "the wrong way gives 1");
}

int main(void)
{
    tap_ok(ar_clock_kind == AR_CLOCK_MONOTONIC, "before the choice ticks are nanoseconds");
    test_order("monotonic");
    test_stamps("monotonic");

    uint64_t before = ar_clock_ns(CLOCK_MONOTONIC), ticks = ar_ticks();

    tap_ok(before <= ticks && ticks <= ar_clock_ns(CLOCK_MONOTONIC), "of CLOCK_MONOTONIC");
    ar_clock_choose();
    tap_note("chosen: %s", ar_clock_kind == AR_CLOCK_TSC ? "processor's counter" : "monotonic");
    test_order("chosen");
    test_stamps("chosen");
    test_scale();
    return tap_done();
}
