// SPDX-License-Identifier: BSD-3-Clause
/*
 * By hand where a rule is to be seen; then trees at random against a reference that looks at all
 * nodes for every node.
 */
#include "format/live_costly.h"

#include "dice.h"
#include "failing_alloc.h"
#include "live_image.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>

enum { MAIN = 1, STEP, LEN, SLEEP, SORTED, N_FUNCTIONS = SORTED };

static const uint8_t kinds[N_FUNCTIONS + 1] = {
    [MAIN] = AR_FUNCTION_PYTHON,   [STEP] = AR_FUNCTION_PYTHON,    [LEN] = AR_FUNCTION_BUILTIN,
    [SLEEP] = AR_FUNCTION_BUILTIN, [SORTED] = AR_FUNCTION_BUILTIN,
};
static struct ar_live live;
static struct ar_costly costly;
static struct ar_error error;
static size_t nodes, values;

static void start(void)
{
    image_start();
    nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    values = image_extent(AR_EXTENT_VALUES, 0, 1);
}

static void estimate(uint32_t node, uint64_t n_calls, uint64_t ticks)
{
    struct ar_values *v = image_values(values, node, AR_VALUES_ESTIMATE);

    v->words[AR_ESTIMATE_CALLS] = n_calls;
    v->words[AR_ESTIMATE_TICKS] = ticks;
}

static void find(bool all)
{
    tap_ok(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) == AR_OK &&
               ar_costly_find(&costly, &live, kinds, N_FUNCTIONS, all, 3000) == AR_OK,
           "found %s", error.text);
}

static void finish(void)
{
    ar_costly_free(&costly);
    ar_live_close(&live);
}

static uint64_t ticks_of(uint32_t node)
{
    return ar_costly_ticks(&costly, ar_live_at(&live, node), node);
}

static void check(const char *what, uint32_t node, uint64_t ticks)
{
    if (!tap_ok(ticks_of(node) == ticks, "%s", what))
        tap_note("%" PRIu64 " ticks", ticks_of(node));
}

/* ---- which are kept -------------------------------------------------------------------------- */

/* A hundredth of the thread's time is enough, one tick less is not. */
static void test_threshold(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 10000, 1);
    uint32_t len = image_node(nodes, LEN, root, 100, 7);

    image_node(nodes, SLEEP, root, 99, 7);
    image_node(nodes, SORTED, root, 50, 1);
    image_node(nodes, SORTED, image_node(nodes, STEP, root, 60, 1), 50, 1);
    find(false);
    tap_ok(costly.is_kept[LEN], "a hundredth");
    tap_ok(!costly.is_kept[SLEEP], "less");
    tap_ok(costly.is_kept[SORTED], "the sum over the thread counts, not a node");
    tap_ok(costly.n_left_out == 1, "one is left out");
    check("and its time is what it was", len, 100);
    finish();
    find(true);
    tap_ok(costly.is_kept[SLEEP] && costly.n_left_out == 0, "all of them, if wanted");
    finish();
}

/* What is little in a long thread may be all that a short one does. */
static void test_threads_by_themselves(void)
{
    start();
    image_node(nodes, LEN, image_node(nodes, 0, 0, 100000, 1), 10, 7);

    size_t others = image_extent(AR_EXTENT_NODES, 7, 1);
    uint32_t root = image_node(others, 0, 0, 500, 1);

    image_node(others, SLEEP, root, 4, 7);
    find(false);
    tap_ok(!costly.is_kept[LEN] && !costly.is_kept[SLEEP], "little in both");
    finish();
    image_node(others, LEN, root, 5, 7);
    find(false);
    tap_ok(costly.is_kept[LEN] && !costly.is_kept[SLEEP], "enough in the short one");
    finish();
}

/* A function of which there is a record, but no node, is no function that was left out. */
static void test_never_called(void)
{
    start();
    image_node(nodes, MAIN, image_node(nodes, 0, 0, 100, 1), 100, 1);
    find(false);
    tap_ok(costly.n_left_out == 0, "never called");
    finish();
}

/* ---- what is added --------------------------------------------------------------------------- */

static void test_unseen(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, -1000, 1);
    uint32_t main_node = image_node(nodes, MAIN, root, 1500, 1);
    uint32_t len = image_node(nodes, LEN, main_node, 10, 5);
    uint32_t sorted = image_node(nodes, SORTED, main_node, 40, 2);
    uint32_t step = image_node(nodes, STEP, sorted, 30, 9);

    estimate(len, 45, 90);
    estimate(sorted, 8, 160);
    estimate(step, 100, 1000);
    find(false);
    check("an open call is closed", root, 2000);
    check("what was seen, and what was not", len, 100);
    check("its own part alone, and what that stands for", sorted, 10 + 160 / 4);
    check("functions in Python are all seen", step, 30);
    check("and their time is theirs", main_node, 1500);
    finish();
    find(true);
    check("where all calls were seen it has all of its time", sorted, 40);
    finish();
}

/* 150 ticks are left of main's 200: functions in C that seem to have taken 450 are cut to a third. */
static void test_no_more_than_there_was(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    uint32_t main_node = image_node(nodes, MAIN, root, 200, 1);
    uint32_t len = image_node(nodes, LEN, main_node, 20, 1);
    uint32_t sleep = image_node(nodes, SLEEP, main_node, 30, 1);

    image_node(nodes, STEP, main_node, 50, 1);
    estimate(len, 10, 100);
    estimate(sleep, 40, 300);
    find(false);
    check("both in their proportion", len, 40);
    check("the other", sleep, 110);
    finish();
    image_node_at(main_node)->ticks = 50;
    find(false);
    check("nothing is left", len, 0);
    finish();
}

static void test_damage(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    uint32_t alone = image_node(nodes, LEN, 0, 10, 1);
    uint32_t forward = image_node(nodes, LEN, alone + 5, 10, 1);
    uint32_t huge = image_node(nodes, SLEEP, root, 10, 1);
    uint32_t in_header = image_node(nodes, LEN, 3, 10, 1);

    image_node(nodes, N_FUNCTIONS + 1, root, 10, 1);
    estimate(alone, 5, 50);
    estimate(forward, 5, 50);
    estimate(in_header, 5, 50);
    estimate(huge, UINT64_MAX, UINT64_MAX);
    find(false);
    check("a caller that is not there has no time", alone, 0);
    check("nor has one that comes later", forward, 0);
    check("nor has what is no node", in_header, 0);
    check("what no clock has counted is cut off", huge, 1990);
    finish();
}

/* Blocks that lead from one to the next are followed for as many as a node can have, not for ever. */
static void test_chains(void)
{
    start();

    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    struct ar_values *last = image_values(values, root, AR_VALUES_ESTIMATE);

    for (int i = 0; i < 20; i++)
        image_values(values, root, AR_VALUES_MEMORY);
    last->next_ref = image_node_at(root)->values_ref; /* in a circle, too */
    find(true);
    tap_ok(!ar_live_values(&live, ar_live_at(&live, root), AR_VALUES_ESTIMATE), "a long chain");
    tap_ok(!ar_live_values(&live, ar_live_at(&live, root), AR_VALUES_TASK), "one without an end");
    finish();
}

/* ---- at random ------------------------------------------------------------------------------- */

#define MAX_NODES 120

struct slow_node {
    uint32_t ref, thread, function;
    int parent; /* index; -1: a root */
    uint64_t ticks, estimate_calls, estimate_ticks;
};
static struct slow_node slow[MAX_NODES];
static int n_slow;

static bool in_c(const struct slow_node *n)
{
    return n->parent >= 0 && kinds[n->function] == AR_FUNCTION_BUILTIN;
}

static void add_random(struct dice *d, size_t extent, uint32_t thread, int parent)
{
    struct slow_node *n = &slow[n_slow++];
    uint32_t parent_ref = parent < 0 ? 0 : slow[parent].ref;

    *n = (struct slow_node){
        .thread = thread,
        .parent = parent,
        .function = parent < 0 ? 0 : 1 + dice_below(d, N_FUNCTIONS),
        .ticks = dice_below(d, parent < 0 ? 2000 : 1 + (uint32_t)slow[parent].ticks),
    };
    /* Half of the roots are open: since then, until 3000. */
    bool open = parent < 0 && dice_below(d, 2);

    n->ref = image_node(extent, n->function, parent_ref,
                        open ? (int64_t)n->ticks - 3000 : (int64_t)n->ticks, 1);
    if (dice_below(d, 3) == 0) {
        n->estimate_calls = dice_below(d, 100);
        n->estimate_ticks = dice_below(d, dice_below(d, 2) ? 50 : 5000);
        estimate(n->ref, n->estimate_calls, n->estimate_ticks);
    }
}

/* Nodes of two threads by turns; parents are any before them in their thread. */
static void make_random(struct dice *d)
{
    size_t extents[2];

    start();
    extents[0] = nodes;
    extents[1] = image_extent(AR_EXTENT_NODES, 1, 1);
    n_slow = 0;
    add_random(d, extents[0], 0, -1);
    add_random(d, extents[1], 1, -1);
    for (int i = 0, n = (int)dice_below(d, 58); i < n; i++) {
        int parent = (int)dice_below(d, (uint32_t)n_slow);

        add_random(d, extents[slow[parent].thread], slow[parent].thread, parent);
    }
}

/* Own time, and what that stands for. */
static double slow_own(int i)
{
    double own = (double)slow[i].ticks;

    for (int k = 0; k < n_slow; k++)
        if (slow[k].parent == i)
            own -= (double)slow[k].ticks;
    if (own <= 0)
        return 0;
    return own + floor((double)slow[i].estimate_ticks * own / (double)slow[i].ticks);
}

/* The nearest above that is not in C. */
static int slow_above(int i)
{
    for (i = slow[i].parent; in_c(&slow[i]); i = slow[i].parent)
        ;
    return i;
}

static double slow_room(int above)
{
    double room = (double)slow[above].ticks;

    for (int k = 0; k < n_slow; k++)
        if (slow[k].parent >= 0 && !in_c(&slow[k]) && slow_above(k) == above)
            room -= (double)slow[k].ticks;
    return room > 0 ? room : 0;
}

static uint64_t slow_ticks(int i)
{
    double claimed = 0, room;

    if (!in_c(&slow[i]))
        return slow[i].ticks;
    for (int k = 0; k < n_slow; k++)
        if (in_c(&slow[k]) && slow_above(k) == slow_above(i))
            claimed += slow_own(k);
    room = slow_room(slow_above(i));
    return (uint64_t)(claimed <= room ? slow_own(i) : slow_own(i) * room / claimed);
}

static bool slow_is_kept(uint32_t function)
{
    for (uint32_t thread = 0; thread < 2; thread++) {
        uint64_t sum = 0;
        bool called = false;

        for (int i = 0; i < n_slow; i++)
            if (slow[i].thread == thread && slow[i].parent >= 0 && slow[i].function == function) {
                sum += slow_ticks(i);
                called = true;
            }
        if (called && (double)sum >= 0.01 * (double)slow[thread].ticks)
            return true;
    }
    return false;
}

static bool slow_is_called(uint32_t function)
{
    for (int i = 0; i < n_slow; i++)
        if (slow[i].parent >= 0 && slow[i].function == function)
            return true;
    return false;
}

static bool nodes_agree(void)
{
    bool agree = true;

    for (int i = 0; i < n_slow; i++) {
        uint64_t ticks = ticks_of(slow[i].ref), expected = slow_ticks(i);

        /* One tick for another order of adding up. */
        agree = agree && ticks + 1 >= expected && ticks <= expected + 1;
    }
    return agree;
}

/* What a function calls, through C or not, is within its time, unless Python functions are not. */
static bool wholes_are_wholes(void)
{
    bool good = true;

    for (int i = 0; i < n_slow; i++) {
        double in_builtins = 0;

        for (int k = 0; k < n_slow; k++)
            if (in_c(&slow[k]) && slow_above(k) == i)
                in_builtins += (double)ticks_of(slow[k].ref);
        good = good && in_builtins <= slow_room(i);
    }
    return good;
}

static bool kept_agree(void)
{
    uint64_t n_left_out = 0;
    bool agree = true;

    for (uint32_t f = 1; f <= N_FUNCTIONS; f++)
        if (kinds[f] == AR_FUNCTION_BUILTIN) {
            agree = agree && costly.is_kept[f] == slow_is_kept(f);
            n_left_out += !slow_is_kept(f) && slow_is_called(f);
        }
    return agree && costly.n_left_out == n_left_out;
}

static void test_against_reference(void)
{
    struct dice d = {2024};
    bool nodes_good = true, kept_good = true, whole = true;

    for (int round = 0; round < 3000 && nodes_good && kept_good && whole; round++) {
        make_random(&d);
        if (ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) < 0 ||
            ar_costly_find(&costly, &live, kinds, N_FUNCTIONS, false, 3000) < 0)
            nodes_good = false;
        nodes_good = nodes_good && nodes_agree();
        kept_good = kept_good && kept_agree();
        whole = whole && wholes_are_wholes();
        finish();
        if (!nodes_good || !kept_good || !whole)
            tap_note("round %d", round);
    }
    tap_ok(nodes_good, "ticks and calls as the reference has them");
    tap_ok(kept_good, "the same functions are kept");
    tap_ok(whole, "parts are not more than the whole");
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
        enum ar_status status = ar_costly_find(&costly, &live, kinds, N_FUNCTIONS, false, 3000);
        alloc_restore();
        worked = status == AR_OK;
        refused = worked || status == AR_NOMEM;
        ar_costly_free(&costly);
    }
    tap_ok(refused && n > 5, "every one of %zu allocations may fail", n - 1);
    ar_live_close(&live);
}

int main(void)
{
    test_threshold();
    test_threads_by_themselves();
    test_never_called();
    test_unseen();
    test_no_more_than_there_was();
    test_damage();
    test_chains();
    test_against_reference();
    test_no_memory();
    return tap_done();
}
