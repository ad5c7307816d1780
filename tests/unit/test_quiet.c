// SPDX-License-Identifier: BSD-3-Clause
/*
 * A tick is a nanosecond. In the function that calls, 1000 of them were seen: of the two functions in
 * C one took 300 in 3 calls, the other 100 in one.
 */
#include "runtime/quiet.h"

#include "dice.h"
#include "own_file.h"
#include "runtime/budget.h"
#include "tap.h"

#include <inttypes.h>

#define BEGIN ((uint64_t)1000000)

static struct ar_thread *thread;
static uint32_t caller, functions[AR_QUIET_SHARES + 2];
static struct ar_node *in_c[AR_QUIET_SHARES + 2];

/* A new caller each time: its nodes have no values yet. */
static void start(double c_call_ns)
{
    static uint32_t place;
    struct ar_thread *t = thread = ar_thread_self();

    ar_costs = (struct ar_costs){.call_ns = 0, .c_call_ns = c_call_ns, .ns_per_tick = 1};
    while (t->current != t->root)
        ar_tree_leave(t, t->current, BEGIN);
    ar_tree_enter(t, (uint64_t)++place << 32 | caller, BEGIN);
    for (size_t i = 0; i < AR_QUIET_SHARES + 2; i++) {
        in_c[i] = ar_tree_enter(t, functions[i], BEGIN);
        ar_tree_leave(t, in_c[i], BEGIN);
    }
    t->quiet = (struct ar_quiet){0};
    t->n_unseen = 0;
}

/* From BEGIN to BEGIN + 1000. */
static void see_calls(void)
{
    ar_quiet_note(thread, in_c[0], BEGIN, BEGIN + 50);
    ar_quiet_note(thread, in_c[1], BEGIN + 100, BEGIN + 200);
    ar_quiet_note(thread, in_c[0], BEGIN + 300, BEGIN + 350);
    ar_quiet_note(thread, in_c[0], BEGIN + 800, BEGIN + 1000);
}

static void check(const char *what, size_t i, uint64_t n_calls, uint64_t ticks)
{
    static const uint64_t none[7];
    uint32_t ref = in_c[i]->values_ref;
    const struct ar_values *values = ref ? ar_live_ptr(ref) : NULL;
    const uint64_t *words = values ? values->words : none;

    if (!tap_ok((!values || values->kind == AR_VALUES_ESTIMATE) &&
                    words[AR_ESTIMATE_CALLS] == n_calls && words[AR_ESTIMATE_TICKS] == ticks,
                "%s", what))
        tap_note("%" PRIu64 " calls, %" PRIu64 " ticks", words[AR_ESTIMATE_CALLS],
                 words[AR_ESTIMATE_TICKS]);
}

static void test_shares(void)
{
    start(0);
    see_calls();
    ar_quiet_begin(thread, BEGIN + 1000);
    tap_ok(thread->n_unseen == AR_UNSEEN_QUIET && thread->turn_ticks == 0,
           "the next event is to say so");
    ar_quiet_begin(thread, BEGIN + 5000); /* again: it has begun already */
    tap_ok(!ar_tree_is_unseen(thread, BEGIN + 1000 + 200000), "which is recorded");
    check("its share of the calls and of the time", 0, 600, 60000);
    check("the other's", 1, 200, 20000);
    tap_ok(thread->n_unseen == 0, "that is over");
    see_calls();
    ar_quiet_begin(thread, BEGIN + 1000);
    ar_quiet_end(thread, BEGIN + 1000 + 200000);
    check("the next time is added", 0, 1200, 120000);
}

static void test_too_short(void)
{
    start(0);
    see_calls();
    ar_quiet_begin(thread, BEGIN + 1000);
    ar_quiet_end(thread, BEGIN + 1000 + 100000);
    check("a tenth of a millisecond is not worth it", 0, 0, 0);
    ar_quiet_begin(thread, BEGIN + 200000);
    ar_quiet_end(thread, BEGIN + 900000);
    check("and is forgotten", 0, 0, 0);
    start(0);
    ar_quiet_begin(thread, BEGIN);
    ar_quiet_end(thread, BEGIN + 900000);
    check("nothing was seen before", 0, 0, 0);
}

/* What another function called says nothing about this one. */
static void test_another_caller(void)
{
    struct ar_node *before;

    start(0);
    see_calls();
    before = in_c[0];
    start(0);
    ar_quiet_note(thread, before, BEGIN, BEGIN + 500);
    see_calls();
    ar_quiet_begin(thread, BEGIN + 1000);
    ar_quiet_end(thread, BEGIN + 1000 + 200000);
    check("the one that calls now", 0, 600, 60000);
    in_c[0] = before;
    check("the one before", 0, 0, 0);
}

/* With 10 ns a look, 4 looks: 960 would have passed, and 5 of each call were ours. */
static void test_cost_of_looking(void)
{
    start(10);
    see_calls();
    ar_quiet_begin(thread, BEGIN + 1000);
    ar_quiet_end(thread, BEGIN + 1000 + 96000 * 2);
    check("without what looking took", 0, 600, (300 - 15) * 200);
    start(500); /* more than all that passed: half of it is left */
    see_calls();
    ar_quiet_begin(thread, BEGIN + 1000);
    ar_quiet_end(thread, BEGIN + 1000 + 200000);
    check("but never all", 0, 1200, 300 / 4 * 400);
}

static void test_many_functions(void)
{
    bool good = true;

    start(0);
    for (uint32_t i = 0; i < AR_QUIET_SHARES + 2; i++)
        ar_quiet_note(thread, in_c[i], BEGIN + 10 * i, BEGIN + 10 * i + 10);
    ar_quiet_begin(thread, BEGIN + 1000);
    ar_quiet_end(thread, BEGIN + 1000 + 200000);
    for (uint32_t i = 0; i < AR_QUIET_SHARES; i++) {
        const struct ar_values *values = ar_live_ptr(in_c[i]->values_ref);

        good = good && values->words[AR_ESTIMATE_CALLS] == 200;
    }
    tap_ok(good, "so many have a share");
    check("and no more", AR_QUIET_SHARES, 0, 0);
}

int main(void)
{
    own_file_make();
    caller = own_file_function("caller");
    for (size_t i = 0; i < AR_QUIET_SHARES + 2; i++) {
        char name[] = {(char)('a' + i), '\0'};

        functions[i] = own_file_function(name);
    }
    test_shares();
    test_too_short();
    test_another_caller();
    test_cost_of_looking();
    test_many_functions();
    scratch_remove();
    return tap_done();
}
