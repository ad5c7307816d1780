// SPDX-License-Identifier: BSD-3-Clause
/*
 * Callers, callees, the hot path and the tree from its other end, of one tree on two ranks; rank 1 has
 * twice what rank 0 has:
 *
 *     main            1000
 *         f           600             calls itself
 *             f       400
 *                 g   300
 *             g       100             calls f back
 *                 f   40
 *         g           150
 */
#include "analysis/callers.h"

#include "analysis/bottom_up.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_profile p;
static struct ar_totals t;
static uint32_t main_f, f, g;

static uint32_t call(uint32_t parent, uint32_t function, uint64_t n_calls, uint64_t ns)
{
    uint32_t node = sample_node(&p, parent, function, 1);

    for (uint32_t rank = 0; rank < 2; rank++) {
        sample_value(&p, AR_METRIC_CALLS, node, rank, n_calls);
        sample_value(&p, AR_METRIC_TIME, node, rank, (rank + 1) * ns);
    }
    return node;
}

static void start(void)
{
    sample_start(&p);
    for (uint32_t rank = 0; rank < 2; rank++)
        sample_thread(&p, sample_rank(&p, rank), 0);
    main_f = sample_function(&p, AR_FUNCTION_PYTHON, "main", 1);
    f = sample_function(&p, AR_FUNCTION_PYTHON, "f", 2);
    g = sample_function(&p, AR_FUNCTION_PYTHON, "g", 3);

    uint32_t top = call(0, main_f, 1, 1000), outer = call(top, f, 2, 600);

    call(call(outer, f, 3, 400), g, 4, 300);
    call(call(outer, g, 5, 100), f, 6, 40);
    call(top, g, 7, 150);
    sample_must(ar_totals_build(&t, &p));
}

static bool has(const struct ar_function_sums *s, uint64_t n_calls, double mean_ns)
{
    return s->n_calls == n_calls && s->time.mean == mean_ns;
}

static void test_callers(void)
{
    struct ar_by_function by;

    sample_must(ar_callers_build(&by, &p, &t, f));
    tap_ok(has(&by.sums[main_f], 4, 900), "main calls f");
    tap_ok(has(&by.sums[f], 6, 0), "and f itself, within a call that counts already");
    tap_ok(has(&by.sums[g], 12, 0), "as g does");
    tap_ok(by.sums[main_f].time.max == 1200 && by.sums[main_f].time.max_process == 1,
           "which differs between ranks");
    ar_by_function_free(&by);
    sample_must(ar_callers_build(&by, &p, &t, g));
    tap_ok(has(&by.sums[f], 18, 600) && has(&by.sums[main_f], 14, 225), "who calls g");
    ar_by_function_free(&by);
    sample_must(ar_callers_build(&by, &p, &t, main_f));
    tap_ok(has(&by.sums[0], 2, 1500), "nobody calls main");
    ar_by_function_free(&by);
}

/* They add up: 900 = 600 + 300. */
static void test_callees(void)
{
    struct ar_by_function by;

    sample_must(ar_callees_build(&by, &p, &t, f));
    tap_ok(has(&by.sums[g], 18, 600), "f calls g, on both levels");
    tap_ok(by.sums[f].n_nodes == 0, "and nobody else");
    tap_ok(by.sums[p.n_functions].self.mean == 300, "what it does itself but for what g has");
    ar_by_function_free(&by);
    sample_must(ar_callees_build(&by, &p, &t, main_f));
    tap_ok(has(&by.sums[f], 4, 900) && has(&by.sums[g], 14, 225) &&
               by.sums[p.n_functions].self.mean == 375,
           "what main calls, and does");
    ar_by_function_free(&by);
}

static void test_hot_path(void)
{
    bool is_hot[16] = {false};

    ar_mark_hot_path(&p, &t, is_hot);
    tap_ok(!is_hot[0] && is_hot[sample_node_at(&p, "/main:1")] &&
               is_hot[sample_node_at(&p, "/main:1/f:1/f:1/g:1")],
           "to the longest callee each time");
    tap_ok(!is_hot[sample_node_at(&p, "/main:1/g:1")] &&
               !is_hot[sample_node_at(&p, "/main:1/f:1/g:1")],
           "and to no other");

    double keys[16] = {0};

    keys[sample_node_at(&p, "/main:1/g:1")] = 1;
    sample_must(ar_totals_order(&t, &p, keys));
    tap_ok(t.first_child[sample_node_at(&p, "/main:1")] == sample_node_at(&p, "/main:1/g:1"),
           "another order");
    memset(is_hot, 0, sizeof is_hot);
    ar_mark_hot_path(&p, &t, is_hot);
    tap_ok(is_hot[sample_node_at(&p, "/main:1/f:1/f:1")], "does not lead elsewhere");
    sample_must(ar_totals_order(&t, &p, NULL));
}

static const struct ar_bottom_row *row_of(const struct ar_level *level, uint32_t function)
{
    static const struct ar_bottom_row none = {.function = AR_NO_ID};

    for (size_t i = 0; i < level->n_rows; i++)
        if (level->rows[i].function == function)
            return &level->rows[i];
    return &none;
}

/* Self: main 250, f 100 + 100 + 40, g 300 + 60 + 150, and half as much again for the mean. */
static void test_bottom_up(void)
{
    struct ar_bottom_up b;
    struct ar_level top, callers, above;

    sample_must(ar_bottom_up_open(&b, &p, &t, &top));
    tap_ok(top.n_rows == 3 && top.rows[0].function == g && top.rows[0].self_ns == 765 &&
               top.rows[1].function == main_f && top.rows[1].self_ns == 375 &&
               row_of(&top, f)->self_ns == 360,
           "functions by self time");

    struct ar_spread s = ar_bottom_up_spread(&b, &top.rows[0]);

    tap_ok(s.mean == 765 && s.min == 510 && s.max == 1020 && s.max_process == 1, "over ranks");
    sample_must(ar_bottom_up_below(&b, &top.rows[0], &callers));
    tap_ok(callers.n_rows == 2 && callers.rows[0].function == f && callers.rows[0].self_ns == 540 &&
               row_of(&callers, main_f)->self_ns == 225,
           "their callers' parts add up");
    sample_must(ar_bottom_up_below(&b, &callers.rows[0], &above));
    tap_ok(above.n_rows == 2 && row_of(&above, f)->self_ns == 450 &&
               row_of(&above, main_f)->self_ns == 90,
           "and those of theirs");
    ar_level_free(&above);
    ar_level_free(&callers);
    sample_must(ar_bottom_up_below(&b, row_of(&top, main_f), &callers));
    tap_ok(callers.n_rows == 0, "nobody calls main");
    ar_level_free(&callers);
    ar_level_free(&top);
    ar_bottom_up_close(&b);
}

/* As pstats has it: f calls g 3 times, main calls g once; figures are those of the pairs. */
static void test_pairs(void)
{
    struct ar_profile q;
    struct ar_totals u;
    struct ar_by_function by;

    sample_start(&q);
    sample_must(ar_profile_declare_pairs(&q));
    sample_thread(&q, sample_rank(&q, 0), 0);

    uint32_t caller = sample_function(&q, AR_FUNCTION_PYTHON, "caller", 1);
    uint32_t callee = sample_function(&q, AR_FUNCTION_PYTHON, "callee", 2);
    uint32_t nodes[] = {sample_node(&q, 0, caller, 0), sample_node(&q, 0, callee, 0)};
    uint32_t pair = sample_node(&q, nodes[0], callee, 0);

    for (uint32_t i = 0; i < 3; i++) {
        static const uint64_t ns[][2] = {{90, 20}, {80, 80}, {70, 70}};
        uint32_t node = i < 2 ? nodes[i] : pair;

        sample_value(&q, AR_METRIC_CALLS, node, 0, i + 1);
        sample_value(&q, AR_METRIC_PRIMITIVE, node, 0, i + 1);
        sample_value(&q, AR_METRIC_TIME, node, 0, ns[i][0]);
        sample_value(&q, AR_METRIC_SELF, node, 0, ns[i][1]);
    }
    sample_must(ar_totals_build(&u, &q));
    sample_must(ar_callers_build(&by, &q, &u, callee));
    tap_ok(has(&by.sums[caller], 3, 70) && by.sums[caller].self.mean == 70, "a caller's pair");
    ar_by_function_free(&by);
    sample_must(ar_callees_build(&by, &q, &u, caller));
    tap_ok(has(&by.sums[callee], 3, 70) && by.sums[q.n_functions].self.mean == 20, "a callee's");
    ar_by_function_free(&by);

    struct ar_bottom_up b;
    struct ar_level top, callers;

    sample_must(ar_bottom_up_open(&b, &q, &u, &top));
    tap_ok(top.n_rows == 2 && top.rows[0].function == callee && top.rows[0].self_ns == 80,
           "functions by self time");
    sample_must(ar_bottom_up_below(&b, &top.rows[0], &callers));
    tap_ok(callers.n_rows == 1 && callers.rows[0].self_ns == 70, "and one level of callers");
    ar_level_free(&callers);
    ar_level_free(&top);
    ar_bottom_up_close(&b);
    ar_totals_free(&u);
    ar_profile_free(&q);
}

static enum ar_status try_all(void)
{
    struct ar_by_function by;
    struct ar_bottom_up b;
    struct ar_level top, below;
    enum ar_status status = ar_callers_build(&by, &p, &t, f);

    if (status == AR_OK)
        ar_by_function_free(&by);
    if (status == AR_OK)
        status = ar_bottom_up_open(&b, &p, &t, &top);
    if (status == AR_OK) {
        status = ar_bottom_up_below(&b, &top.rows[0], &below);
        ar_level_free(&below);
        ar_level_free(&top);
        ar_bottom_up_close(&b);
    }
    return status;
}

/* main calls f, which forks: the child goes on in the parent's calls, works in f itself and calls g. */
static void test_forked(void)
{
    struct ar_profile forked;
    struct ar_totals totals;
    struct ar_by_function by, callees, callers;

    sample_start(&forked);

    uint32_t here = sample_thread(&forked, sample_rank(&forked, 0), 0);
    uint32_t functions[] = {sample_function(&forked, AR_FUNCTION_PROCESS, "a.py", 0),
                            sample_function(&forked, AR_FUNCTION_PYTHON, "main", 1),
                            sample_function(&forked, AR_FUNCTION_PYTHON, "f", 2),
                            sample_function(&forked, AR_FUNCTION_PYTHON, "g", 3)};
    const struct {
        uint32_t parent, function, n_calls, ns;
    } nodes[] = {{0, 1, 1, 100}, {1, 2, 1, 40},  {2, 3, 1, 30}, /* the parent's */
                 {0, 0, 0, 500}, {4, 1, 0, 500}, {5, 2, 0, 500}, {6, 3, 2, 480}};

    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        uint32_t node = sample_node(&forked, nodes[i].parent, functions[nodes[i].function], 1);

        sample_value(&forked, AR_METRIC_TIME, node, here, nodes[i].ns);
        if (nodes[i].n_calls)
            sample_value(&forked, AR_METRIC_CALLS, node, here, nodes[i].n_calls);
    }
    sample_must(ar_totals_build(&totals, &forked));
    sample_must(ar_by_function_build(&by, &forked, &totals));
    sample_must(ar_callees_build(&callees, &forked, &totals, functions[2]));
    sample_must(ar_callers_build(&callers, &forked, &totals, functions[3]));
    tap_ok(has(&by.sums[functions[1]], 1, 100) && has(&by.sums[functions[2]], 1, 40 + 20) &&
               by.sums[functions[2]].self.mean == 10 + 20 && has(&by.sums[functions[3]], 3, 510),
           "what a forked child calls is no part of the calls that it was born in");
    tap_ok(has(&callees.sums[functions[3]], 1, 30) &&
               callees.sums[forked.n_functions].self.mean == 10 + 20 &&
               has(&callers.sums[functions[2]], 3, 510),
           "nor is it among what these call, and yet its callers are known");
    ar_by_function_free(&by);
    ar_by_function_free(&callees);
    ar_by_function_free(&callers);
    ar_totals_free(&totals);
    ar_profile_free(&forked);
}

static void test_no_memory(void)
{
    enum ar_status status = AR_NOMEM;
    size_t n = 0;

    for (; status == AR_NOMEM && n < 200; n++) {
        alloc_fail_after(n);
        status = try_all();
        alloc_restore();
    }
    tap_ok(status == AR_OK && n > 15, "memory may run out anywhere");
}

int main(void)
{
    start();
    test_callers();
    test_callees();
    test_hot_path();
    test_bottom_up();
    test_pairs();
    test_forked();
    test_no_memory();
    ar_totals_free(&t);
    ar_profile_free(&p);
    return tap_done();
}
