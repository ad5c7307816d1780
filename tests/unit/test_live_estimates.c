// SPDX-License-Identifier: BSD-3-Clause
/*
 * By hand where a rule is to be seen; then calls at random of which some were timed, whose true time is
 * known; then trees at random, in which no part may be more than its whole.
 */
#include "format/live_estimates.h"

#include "dice.h"
#include "failing_alloc.h"
#include "live_image.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>

enum { MAIN = 1, STEP, LEN, SLEEP, SORTED, N_FUNCTIONS = SORTED };

static struct ar_live live;
static struct ar_estimates estimates;
static struct ar_error error;
static size_t nodes, values;

static void start(void)
{
    image_start();
    nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    values = image_extent(AR_EXTENT_VALUES, 0, 1);
}

static void estimate(uint32_t node, uint64_t n_timed, double squares)
{
    struct ar_values *v = image_values(values, node, AR_VALUES_ESTIMATE);

    v->words[AR_ESTIMATE_TIMED] = n_timed;
    memcpy(&v->words[AR_ESTIMATE_SQUARES], &squares, sizeof squares);
}

static void find(void)
{
    tap_ok(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) == AR_OK &&
               ar_estimates_find(&estimates, &live, N_FUNCTIONS, 3000) == AR_OK,
           "found %s", error.text);
}

static void finish(void)
{
    ar_estimates_free(&estimates);
    ar_live_close(&live);
}

static struct ar_live_time time_of(uint32_t node)
{
    return ar_estimates_time(&estimates, ar_live_at(&live, node), node);
}

static void check(const char *what, uint32_t node, uint64_t ticks, double variance)
{
    struct ar_live_time time = time_of(node);

    if (!tap_ok(time.is_estimated && time.ticks == ticks &&
                    fabs(time.variance - variance) <= 1e-9 * variance,
                "%s", what))
        tap_note("%" PRIu64 " ticks, variance %g", time.ticks, time.variance);
}

static void check_exact(const char *what, uint32_t node, uint64_t ticks)
{
    struct ar_live_time time = time_of(node);

    if (!tap_ok(!time.is_estimated && time.ticks == ticks && time.variance == 0, "%s", what))
        tap_note("%" PRIu64 " ticks, variance %g", time.ticks, time.variance);
}

/* ---- rules ------------------------------------------------------------------------------------ */

/* Calls of 2, 3, 4, 3 ticks were timed, of 20: mean 3, s2 = 2/3; 16 calls were not. */
static void test_estimate(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, -1000, 1);
    uint32_t main_node = image_node(nodes, MAIN, root, 1500, 1);
    uint32_t len = image_node(nodes, LEN, main_node, 12, 20);
    uint32_t sleep = image_node(nodes, SLEEP, main_node, 40, 2);
    uint32_t sorted = image_node(nodes, SORTED, main_node, 40, 2);

    estimate(len, 4, 4 + 9 + 16 + 9);
    estimate(sleep, 2, 800);
    estimate(sorted, 3, 800); /* more than there were: nonsense, or it is being written */
    find();
    check("what was timed, and what that stands for", len, 60, 2.0 / 3 * 16 * 20 / 4);
    check_exact("all calls were timed", sleep, 40);
    check_exact("more than all", sorted, 40);
    check_exact("an open call is closed", root, 2000);
    check_exact("a caller's time is measured", main_node, 1500);
    finish();
}

/* Equal calls leave no doubt. */
static void test_equal_calls(void)
{
    start();

    uint32_t len = image_node(nodes, LEN, image_node(nodes, 0, 0, 2000, 1), 30, 1000);

    estimate(len, 100, 9);
    find();
    check("no variance", len, 300, 0);
    finish();
}

/* Fewer than two timed calls: those of the function's other nodes are examples, too. */
static void test_few_timed(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    uint32_t step = image_node(nodes, STEP, root, 1000, 1);
    uint32_t often = image_node(nodes, LEN, root, 12, 4 + 16);
    uint32_t none = image_node(nodes, LEN, step, 0, 5);
    uint32_t one = image_node(nodes, SLEEP, root, 10, 3);
    uint32_t plain = image_node(nodes, SORTED, root, 30, 3);
    uint32_t below = image_node(nodes, SORTED, step, 0, 2);

    estimate(often, 4, 4 + 9 + 16 + 9);
    estimate(none, 0, 0);
    estimate(one, 1, 100);
    estimate(below, 0, 0);
    find();
    check("none here, four elsewhere", none, 15, 2.0 / 3 * 5 * (5 + 4) / 4);
    check("one in all: it may as well have been none or two of them", one, 30, 100.0 * 2 * 3);
    check_exact("three elsewhere, of which no squares are known", plain, 30);
    check("their mean", below, 20, 0);
    finish();
}

/* Two equal calls here, and others elsewhere that were not. */
static void test_few_are_not_trusted(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    uint32_t step = image_node(nodes, STEP, root, 1000, 1);
    uint32_t often = image_node(nodes, LEN, root, 12, 4 + 16);
    uint32_t equal = image_node(nodes, LEN, step, 6, 12);
    double mean = 3, squares = 4 + 9 + 16 + 9 + 9 + 9;

    estimate(often, 4, 4 + 9 + 16 + 9);
    estimate(equal, 2, 18);
    find();
    check("their own mean, the variance of all", equal, 36,
          (squares - 6 * mean * mean) / 5 * 10 * 12 / 2);
    finish();
}

/* 150 ticks are left of main's 200 where 300 are to be added: half of each. */
static void test_no_more_than_there_was(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    uint32_t main_node = image_node(nodes, MAIN, root, 200, 1);
    uint32_t len = image_node(nodes, LEN, main_node, 20, 20);
    uint32_t sleep = image_node(nodes, SLEEP, main_node, 10, 12);
    uint32_t step = image_node(nodes, STEP, main_node, 20, 3);

    estimate(len, 2, 202);   /* 9 and 11: s2 = 2 */
    estimate(sleep, 1, 100); /* 110 to be added */
    image_node_at(len)->n_calls = 21;
    find();
    check("half of what was to be added", len, 20 + 95, 2.0 * 19 * 21 / 2 / 4);
    check("the same", sleep, 10 + 55, 100.0 * 11 * 12 / 4);
    check_exact("measured children stay", step, 20);
    finish();
}

/* A function in C that has called something is timed from then on; only its own time stands for others. */
static void test_children(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    uint32_t sorted = image_node(nodes, SORTED, root, 1012, 20);
    uint32_t step = image_node(nodes, STEP, sorted, 1000, 7);

    estimate(sorted, 4, 1e6);
    find();
    tap_ok(time_of(sorted).ticks == 1012 + 16 * 3, "what it called is not multiplied");
    check_exact("nor is it changed", step, 1000);
    finish();
}

/* 500 ticks in a call that goes on, after three of 3: the others took 3 each as well. */
static void test_open_call(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, -1000, 1);
    uint32_t len = image_node(nodes, LEN, root, 9 - 2500, 20);

    estimate(len, 3, 27);
    find();
    tap_ok(time_of(len).ticks == 509 + 17 * 3, "no example of the others");
    finish();
}

static void test_damage(void)
{
    static const double squares[] = {-1, 1e308, (double)INFINITY, (double)-INFINITY, (double)NAN};

    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        start();

        uint32_t root = image_node(nodes, 0, 0, 2000, 1);
        uint32_t alone = image_node(nodes, LEN, 0xffffff, 10, 20);
        uint32_t forward = image_node(nodes, SLEEP, root + 9, 10, 20);
        uint32_t huge = image_node(nodes, 77, root, 10, UINT64_MAX);

        estimate(alone, 5, squares[i]);
        estimate(forward, 5, squares[i]);
        estimate(huge, 1, squares[i]);
        find();
        tap_ok(time_of(alone).ticks == 10, "a caller that is not there has no room");
        tap_ok(time_of(forward).ticks == 10, "nor has one that comes later");
        tap_ok(time_of(huge).ticks == 10 + 1990, "all that there is");
        finish();
    }
}

/* ---- calls at random -------------------------------------------------------------------------- */

/* Some take longer, as calls do. */
static uint64_t random_call(struct dice *d)
{
    return 20 + dice_below(d, 20) + (dice_below(d, 20) ? 0 : dice_below(d, 200));
}

struct round {
    double truth, off, variance;
};

/* After 256 calls one in 16, at random, is timed. */
static struct round run_round(struct dice *d)
{
    uint64_t n_calls = 1000 + dice_below(d, 9000), n_timed = 0, timed = 0, truth = 0;
    double squares = 0;

    for (uint64_t i = 0; i < n_calls; i++) {
        uint64_t ticks = random_call(d);
        bool is_timed = i < 256 || dice_below(d, 16) == 0;

        truth += ticks;
        n_timed += is_timed;
        timed += is_timed ? ticks : 0;
        squares += is_timed ? (double)(ticks * ticks) : 0;
    }
    start();

    uint32_t root = image_node(nodes, 0, 0, 1 << 30, 1);
    uint32_t len = image_node(nodes, LEN, root, (int64_t)timed, n_calls);

    estimate(len, n_timed, squares);
    if (ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) < 0 ||
        ar_estimates_find(&estimates, &live, N_FUNCTIONS, 3000) < 0)
        exit(2);

    struct ar_live_time time = time_of(len);

    finish();
    return (struct round){(double)truth, (double)time.ticks - (double)truth, time.variance};
}

static void test_truth(void)
{
    struct dice d = {31};
    int n_rounds = 2000, n_within_two = 0;
    double truth = 0, off = 0, squares = 0, variance = 0, most = 0;

    for (int i = 0; i < n_rounds; i++) {
        struct round round = run_round(&d);
        double errors = fabs(round.off) / sqrt(round.variance);

        truth += round.truth;
        off += round.off;
        squares += round.off * round.off;
        variance += round.variance;
        n_within_two += errors < 2;
        most = errors > most ? errors : most;
    }
    tap_note(
        "bias %.2g, variance %.3f of the true one, %d of %d within two errors, all within %.1f",
        off / truth, variance / squares, n_within_two, n_rounds, most);
    tap_ok(fabs(off / truth) < 0.001, "neither too much nor too little");
    tap_ok(variance / squares > 0.9 && variance / squares < 1.1, "the error is what is said of it");
    tap_ok(n_within_two > 0.9 * n_rounds && most < 6, "and no estimate is far beyond");
}

/* ---- trees at random -------------------------------------------------------------------------- */

#define MAX_NODES 60

static struct {
    uint32_t ref;
    int parent;           /* index; -1: a root */
    uint64_t ticks, left; /* and what is left of it for children */
} made[MAX_NODES];
static int n_made;

static void add_random(struct dice *d, size_t extent, int parent)
{
    uint64_t most = parent < 0 ? 2000 : made[parent].left;
    uint64_t ticks = dice_below(d, 1 + (uint32_t)most), n_calls = 1 + dice_below(d, 100);
    uint32_t parent_ref = parent < 0 ? 0 : made[parent].ref;
    uint32_t ref = image_node(extent, parent < 0 ? 0 : 1 + dice_below(d, N_FUNCTIONS + 1),
                              parent_ref, (int64_t)ticks, n_calls);

    if (parent >= 0)
        made[parent].left -= ticks;
    if (parent >= 0 && dice_below(d, 2))
        estimate(ref, dice_below(d, (uint32_t)n_calls + 2),
                 (double)ticks * dice_below(d, 1 + (uint32_t)ticks));
    made[n_made].ref = ref;
    made[n_made].parent = parent;
    made[n_made].ticks = made[n_made].left = ticks;
    n_made++;
}

static void make_random(struct dice *d)
{
    start();
    n_made = 0;
    add_random(d, nodes, -1);
    for (int i = 0, n = (int)dice_below(d, MAX_NODES - 2); i < n; i++)
        add_random(d, nodes, (int)dice_below(d, (uint32_t)n_made));
}

/* Children are within what was measured of their caller, and nothing is less than was measured. */
static bool wholes_are_wholes(void)
{
    bool good = true;

    for (int i = 0; i < n_made; i++) {
        uint64_t inside = 0;

        for (int k = 0; k < n_made; k++)
            if (made[k].parent == i)
                inside += time_of(made[k].ref).ticks;
        good = good && inside <= made[i].ticks && time_of(made[i].ref).ticks >= made[i].ticks;
    }
    return good;
}

static void test_random_trees(void)
{
    struct dice d = {2024};
    bool good = true;

    for (int round = 0; round < 3000 && good; round++) {
        make_random(&d);
        good = ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) == AR_OK &&
               ar_estimates_find(&estimates, &live, N_FUNCTIONS, 3000) == AR_OK &&
               wholes_are_wholes();
        finish();
        if (!good)
            tap_note("round %d", round);
    }
    tap_ok(good, "parts are not more than the whole");
}

static void test_no_memory(void)
{
    struct dice d = {7};
    bool refused = true, worked = false;
    size_t n = 0;

    make_random(&d);
    if (ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) < 0)
        refused = false;
    for (; refused && !worked; n++) {
        alloc_fail_after(n);
        enum ar_status status = ar_estimates_find(&estimates, &live, N_FUNCTIONS, 3000);
        alloc_restore();
        worked = status == AR_OK;
        refused = worked || status == AR_NOMEM;
        ar_estimates_free(&estimates);
    }
    tap_ok(refused && n > 3, "every one of %zu allocations may fail", n - 1);
    ar_live_close(&live);
}

int main(void)
{
    test_estimate();
    test_equal_calls();
    test_few_timed();
    test_few_are_not_trusted();
    test_no_more_than_there_was();
    test_children();
    test_open_call();
    test_damage();
    test_truth();
    test_random_trees();
    test_no_memory();
    return tap_done();
}
