// SPDX-License-Identifier: BSD-3-Clause
/*
 * A tick is a nanosecond, and calls are made as the stubs make them: `call` says how long each takes, and
 * keeps the books that the node is compared with.
 */
#include "runtime/c_cheap.h"

#include "dice.h"
#include "own_file.h"
#include "runtime/budget.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>

#define GAP 500000u

static struct ar_thread *t;
static struct ar_node *caller;
static uint64_t now = 1000000;
static uint32_t caller_function, functions[4], gap_function;
static char gap_name[200];

static void write_name(uint32_t index, char *name, size_t room)
{
    snprintf(name, room, "%c", (int)('a' + index));
}

static uint32_t number_of_gaps(const char *names)
{
    snprintf(gap_name, sizeof gap_name, "%s", names);
    return gap_function;
}

/* A new caller each time, and nothing is known. */
static void start(bool exact)
{
    static const struct ar_c_naming naming = {write_name, number_of_gaps};
    static uint32_t place;

    ar_costs.ns_per_tick = 1;
    ar_c_cheap_start(exact, &naming);
    t = ar_thread_self();
    ar_c_forget(t);
    while (t->current != t->root)
        ar_tree_leave(t, t->current, now);
    caller = ar_tree_enter(t, (uint64_t)++place << 32 | caller_function, now);
    *gap_name = '\0';
}

/* What the stubs do. */
static struct ar_node *begin(uint32_t index)
{
    struct ar_node *node = ar_tree_guess(t, functions[index]);
    struct ar_c_known *known = ar_c_known_of(t, index);

    if (!node)
        node = ar_tree_child(t, functions[index], now);
    if (node->flags & AR_NODE_SAMPLED && !ar_c_is_sample(node->n_calls) && known->is_cheap) {
        ar_c_untimed_open(t, node, known);
        return node;
    }
    ar_tree_open(t, node, now);
    if (node->values_ref)
        ar_c_sample_begins(node);
    return node;
}

static bool end(struct ar_node *node, uint32_t index)
{
    bool is_timed = node->ticks < 0;

    if (!is_timed) {
        ar_c_untimed_close(t, node);
    } else {
        if (!node->left_ref)
            ar_c_learn(t, node, index, now - t->slot->latest_ticks);
        ar_tree_close(t, node, now);
    }
    return is_timed;
}

struct books {
    uint64_t n, n_timed, ticks, timed_ticks;
    double squares;
    struct ar_node *node;
};

static void call(struct books *b, uint32_t index, uint64_t ticks)
{
    now += 10;
    b->node = begin(index);
    now += ticks;
    b->n++;
    b->ticks += ticks;
    if (end(b->node, index)) {
        b->n_timed++;
        b->timed_ticks += ticks;
        b->squares += (double)ticks * (double)ticks;
    }
}

static const uint64_t *words_of(const struct books *b)
{
    static const uint64_t none[7];
    const struct ar_values *values = b->node->values_ref ? ar_live_ptr(b->node->values_ref) : NULL;

    return values ? values->words : none;
}

static double squares_of(const struct books *b)
{
    double squares;

    memcpy(&squares, &words_of(b)[AR_ESTIMATE_SQUARES], sizeof squares);
    return squares;
}

static void test_proof(void)
{
    struct books b = {0};

    start(false);
    for (uint32_t i = 0; i < AR_C_PROOF; i++)
        call(&b, 0, 100);
    tap_ok(b.n_timed == AR_C_PROOF, "until it has proved cheap every call is timed");
    tap_ok(ar_c_known_of(t, 0)->is_cheap, "then it is cheap");
    for (uint32_t i = 0; i < 16000; i++)
        call(&b, 0, 100);
    tap_ok(b.node->n_calls == b.n, "every call is counted");
    tap_ok(b.n_timed > 1100 && b.n_timed < 1400, "one in 16 is timed");
    tap_ok(words_of(&b)[AR_ESTIMATE_TIMED] == b.n_timed, "how many is in the file");
    tap_ok((uint64_t)b.node->ticks == b.timed_ticks, "and how long they took");
    tap_ok(fabs(squares_of(&b) - b.squares) < 1e-6 * b.squares, "and their squares");
    tap_ok(t->current == caller, "the caller goes on");
}

static void test_dear_and_exact(void)
{
    struct books dear = {0}, exact = {0};

    start(false);
    for (uint32_t i = 0; i < 5000; i++)
        call(&dear, 1, 600);
    tap_ok(dear.n_timed == 5000 && !dear.node->values_ref,
           "what is not cheap is timed at every call");
    start(true);
    for (uint32_t i = 0; i < 5000; i++)
        call(&exact, 0, 50);
    tap_ok(exact.n_timed == 5000 && !exact.node->values_ref, "and all is, if that is wanted");
}

static void test_few_calls_of_a_node(void)
{
    struct books b = {0}, here = {0};

    start(false);
    for (uint32_t i = 0; i < 1000; i++)
        call(&b, 0, 100);
    caller = ar_tree_enter(t, (uint64_t)12345 << 32 | caller_function, now);
    for (uint32_t i = 0; i < 15; i++)
        call(&here, 0, 100);
    tap_ok(here.n_timed == 15 && !here.node->values_ref,
           "the first calls of a node are timed anyway");
}

/* The mean is that of all calls, whatever the rhythm of the program. */
static void test_no_rhythm(void)
{
    bool is_even = true;

    for (uint32_t period = 2; period <= 64; period++) {
        struct books b = {0};

        start(false);
        for (uint32_t i = 0; i < 64000; i++)
            call(&b, 2, i % period == 0 ? 400 : 100);

        double mean = (double)b.timed_ticks / (double)b.n_timed;
        double true_mean = (double)b.ticks / (double)b.n;

        is_even = is_even && fabs(mean - true_mean) < 0.1 * true_mean;
    }
    tap_ok(is_even, "no period of calls is seen more than another");
}

static struct ar_node *gap_node(void)
{
    struct ar_node *before = t->current, *node;

    t->current = caller;
    node = ar_tree_child(t, gap_function, now);
    t->current = before;
    return node;
}

/* Calls it until one goes untimed, which takes so long. */
static void one_long_untimed(struct books *b, uint32_t index, uint64_t ticks)
{
    uint64_t n_timed;

    do {
        n_timed = b->n_timed;
        call(b, index, 100);
    } while (b->n_timed != n_timed || ar_c_is_sample(b->node->n_calls));
    call(b, index, ticks);
}

static void test_gap(void)
{
    struct books a = {0}, b = {0}, other = {0};

    start(false);
    for (uint32_t i = 0; i < 1000; i++)
        call(&a, 0, 100), call(&b, 1, 100), call(&other, 2, 100);
    now += 10; /* a look, before which all is known */
    ar_tree_leave(t, ar_tree_enter(t, functions[3], now), now);

    uint64_t then = now;

    one_long_untimed(&a, 0, 3 * GAP);
    while (t->slot->latest_ticks > then) { /* it was timed in between: once more */
        then = t->slot->latest_ticks;
        one_long_untimed(&a, 0, 3 * GAP);
    }
    now += 10;
    ar_tree_leave(t, ar_tree_enter(t, functions[3], now), now);
    tap_ok(strcmp(gap_name, "a") == 0, "whoever was called and not timed is concerned");
    tap_ok((uint64_t)gap_node()->ticks == now - then, "the whole gap is known");
    tap_ok(gap_node()->n_calls == 1, "as one");
    tap_ok(!ar_c_known_of(t, 0)->is_cheap && ar_c_known_of(t, 2)->is_cheap, "it is timed again");

    uint64_t n_timed = a.n_timed;

    for (uint32_t i = 0; i < 2 * AR_C_PROOF; i++)
        call(&a, 0, 100);
    tap_ok(a.n_timed - n_timed == 2 * AR_C_PROOF, "for longer than at first");
    tap_ok(ar_c_known_of(t, 0)->is_cheap, "until it has proved cheap once more");
    tap_ok(words_of(&a)[AR_ESTIMATE_TIMED] == a.n_timed, "all that were timed count as such");
}

static void test_short_gap(void)
{
    struct books a = {0};

    start(false);
    for (uint32_t i = 0; i < 1000; i++)
        call(&a, 0, 100);
    one_long_untimed(&a, 0, GAP / 4);
    ar_tree_leave(t, ar_tree_enter(t, functions[3], now), now);
    tap_ok(!*gap_name && ar_c_known_of(t, 0)->is_cheap, "less than half a millisecond is no gap");
    now += 10 * GAP;
    ar_tree_leave(t, ar_tree_enter(t, functions[3], now), now);
    tap_ok(!*gap_name, "nor is one without such calls");
}

/* Where a tick is longer than an event, an untimed call and the event after it have the same time. */
static void test_event_in_the_same_tick(void)
{
    struct books a = {0};

    if (ar_ticks_are_unique())
        return;
    start(false);
    for (uint32_t i = 0; i < 1000; i++)
        call(&a, 0, 100);
    while (ar_c_is_sample(a.node->n_calls))
        call(&a, 0, 100);
    now += 10;
    ar_tree_leave(t, ar_tree_enter(t, functions[3], now), now);
    end(begin(0), 0);

    struct ar_node *other = ar_tree_enter(t, functions[3], now);

    now += 2 * GAP;
    ar_tree_leave(t, other, now);
    tap_ok(!*gap_name, "nor is a long call that begins in the tick of an untimed one");
}

/* A long call that happens to be timed says nothing about those that are not. */
static void test_long_sample(void)
{
    struct books a = {0};

    start(false);
    for (uint32_t i = 0; i < 1000; i++)
        call(&a, 0, 100);

    double squares = squares_of(&a);

    while (!ar_c_is_sample(a.node->n_calls))
        call(&a, 0, 100);
    call(&a, 0, 4 * GAP);
    tap_ok(words_of(&a)[AR_ESTIMATE_LONG_CALLS] == 1 &&
               words_of(&a)[AR_ESTIMATE_LONG_TICKS] == 4 * GAP,
           "a long call is kept apart");
    tap_ok(squares_of(&a) < 2 * squares, "and is not in the squares");
    tap_ok(ar_c_known_of(t, 0)->is_exact, "the function is timed from then on");
}

static void test_calling_something(void)
{
    struct books a = {0};

    start(false);
    for (uint32_t i = 0; i < 1000; i++)
        call(&a, 0, 100);
    while (ar_c_is_sample(a.node->n_calls))
        call(&a, 0, 100);
    now += 10;

    struct ar_node *node = begin(0);
    uint64_t before = (uint64_t)node->ticks;

    tap_ok(node->ticks >= 0, "it is not timed");
    now += 70;

    struct ar_node *inner = ar_tree_enter(t, functions[3], now);

    tap_ok(node->ticks < 0 && inner->parent_ref == ar_live_ref(node), "until it calls something");
    now += 30;
    ar_tree_leave(t, inner, now);
    now += 20;
    tap_ok(end(node, 0), "from there on it is timed");
    tap_ok((uint64_t)node->ticks - before == 50, "with what it called");
    tap_ok(t->current == caller, "and the caller goes on");

    uint32_t n_timed = 0;

    for (uint32_t i = 0; i < 100; i++)
        n_timed += end(begin(0), 0);
    tap_ok(n_timed == 100, "every call of that node is timed now");
}

static void test_many_gaps(void)
{
    struct books a = {0};

    start(false);
    for (uint32_t round = 0; round < 12 && !(round && ar_c_known_of(t, 0)->is_exact); round++) {
        do
            call(&a, 0, 100);
        while (!ar_c_known_of(t, 0)->is_cheap);
        one_long_untimed(&a, 0, 2 * GAP);
        ar_tree_leave(t, ar_tree_enter(t, functions[3], now), now);
    }
    tap_ok(ar_c_known_of(t, 0)->is_exact, "after some gaps it is timed for ever");
    tap_ok(gap_node()->n_calls <= 8, "so there are few");
}

int main(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    own_file_make();
    caller_function = own_file_function("caller");
    gap_function = own_file_function("gap");
    for (int i = 0; i < 4; i++) {
        functions[i] = own_file_function(names[i]);
        ar_tree_mark(functions[i], i < 3 ? AR_MARK_BUILTIN : 0);
    }
    test_proof();
    test_dear_and_exact();
    test_few_calls_of_a_node();
    test_no_rhythm();
    test_gap();
    test_short_gap();
    test_event_in_the_same_tick();
    test_long_sample();
    test_calling_something();
    test_many_gaps();
    scratch_remove();
    return tap_done();
}
