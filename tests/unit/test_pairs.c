// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random calls, kept here also in the slow and obvious way: a list of open calls in which
 * everything is counted by looking at all of it. Keys are addresses of `functions`, objects their
 * names.
 */
#include "runtime/pairs.h"

#include "dice.h"
#include "failing_alloc.h"
#include "tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 60
#define MAX_DEPTH 5000
#define NOBODY MAX_FUNCTIONS /* as a caller: the outermost, or not to be told */

static char functions[MAX_FUNCTIONS];
static char names[MAX_FUNCTIONS];

/* ---- the slow way ---------------------------------------------------------------------------- */

struct count {
    uint64_t n_calls, n_nested, time, self_time;
    bool was_opened;
};

static struct {
    struct {
        int function, caller;
        uint64_t start, inner_time;
    } open[MAX_DEPTH];
    int n_open;
    uint64_t n_unseen;
    struct count functions[MAX_FUNCTIONS];
    struct count pairs[MAX_FUNCTIONS + 1][MAX_FUNCTIONS]; /* caller, callee */
} model;

static void model_enter(int function, bool by_caller, uint64_t now)
{
    int caller = NOBODY;

    if (by_caller && model.n_open > 0)
        caller = model.open[model.n_open - 1].function;
    model.open[model.n_open].function = function;
    model.open[model.n_open].caller = caller;
    model.open[model.n_open].start = now;
    model.open[model.n_open].inner_time = 0;
    model.n_open++;
    model.pairs[caller][function].was_opened = true;
}

static void model_count(struct count *count, bool is_nested, uint64_t time, uint64_t self_time)
{
    count->n_calls++;
    count->self_time += self_time;
    if (is_nested)
        count->n_nested++;
    else
        count->time += time;
}

static void model_close(uint64_t now)
{
    int at = --model.n_open, function = model.open[at].function, caller = model.open[at].caller;
    uint64_t time = now - model.open[at].start;
    uint64_t self_time = time - model.open[at].inner_time;
    bool function_is_open = false, pair_is_open = false;

    for (int i = 0; i < at; i++)
        if (model.open[i].function == function) {
            function_is_open = true;
            pair_is_open = pair_is_open || model.open[i].caller == caller;
        }
    if (at > 0)
        model.open[at - 1].inner_time += time;
    model_count(&model.functions[function], function_is_open, time, self_time);
    model_count(&model.pairs[caller][function], pair_is_open, time, self_time);
}

static void model_leave(int function, uint64_t now)
{
    int at = model.n_open - 1;

    if (model.n_unseen > 0) {
        model.n_unseen--;
        return;
    }
    while (at >= 0 && model.open[at].function != function)
        at--;
    if (at >= 0)
        while (model.n_open > at)
            model_close(now);
}

static int model_n_callees(int caller)
{
    int n = 0;

    for (int i = 0; i < MAX_FUNCTIONS; i++)
        n += model.pairs[caller][i].was_opened;
    return n;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int number_of(const struct ar_pairs_row *row)
{
    return (int)((const char *)row->object - names);
}

static bool same(const struct ar_pairs_row *row, const struct count *count)
{
    bool good = row->n_calls == count->n_calls && row->n_nested == count->n_nested &&
                row->time == (int64_t)count->time && row->self_time == (int64_t)count->self_time;

    if (!good)
        tap_note("%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " but %" PRIu64 " %" PRIu64
                 " %" PRId64 " %" PRId64,
                 count->n_calls, count->n_nested, (int64_t)count->time, (int64_t)count->self_time,
                 row->n_calls, row->n_nested, row->time, row->self_time);
    return good;
}

static bool callees_agree(const struct ar_pairs_row *row)
{
    int caller = number_of(row);
    bool seen[MAX_FUNCTIONS] = {false};
    bool good = row->n_callees == (size_t)model_n_callees(caller);

    for (size_t i = 1; good && i <= row->n_callees; i++) {
        int callee = number_of(&row[i]);

        good =
            !seen[callee] && row[i].n_callees == 0 && same(&row[i], &model.pairs[caller][callee]);
        seen[callee] = true;
    }
    return good;
}

static bool agrees(struct ar_pairs *p)
{
    struct ar_pairs_row *rows;
    size_t n_rows, n_functions = 0, n_expected = 0;
    bool good = ar_pairs_rows(p, &rows, &n_rows) == AR_OK;

    for (size_t i = 0; good && i < n_rows; i += 1 + rows[i].n_callees) {
        good = same(&rows[i], &model.functions[number_of(&rows[i])]) && callees_agree(&rows[i]);
        n_functions++;
    }
    for (int i = 0; i < MAX_FUNCTIONS; i++)
        n_expected += model.functions[i].n_calls > 0;
    free(rows);
    return good && n_functions == n_expected && ar_pairs_n_open(p) == (size_t)model.n_open;
}

/* ---- the fast way, and both ------------------------------------------------------------------ */

static void both_enter(struct ar_pairs *p, int function, uint64_t now)
{
    struct ar_pair *pair = ar_pairs_find(p, &functions[function]);

    if (!pair && ar_pairs_add(p, &functions[function], &names[function]) == AR_OK)
        pair = ar_pairs_find(p, &functions[function]);

    struct ar_open_call *call = ar_pairs_push(p, pair);

    if (call) {
        call->start = now;
        model_enter(function, p->by_caller, now);
        return;
    }
    if (pair && model.n_unseen == 0) { /* it was made, and there was no room on the stack */
        model_enter(function, p->by_caller, now);
        model.n_open--;
    }
    model.n_unseen++;
}

static void both_leave(struct ar_pairs *p, int function, uint64_t now)
{
    for (size_t n = ar_pairs_n_to_close(p, &functions[function]); n > 0; n--)
        ar_pairs_pop(p, now);
    model_leave(function, now);
}

/* What a program does: mostly pairs of enter and leave, repeated; at times something else. */
struct manner {
    const char *name;
    uint32_t n_functions;
    uint32_t wrong_leaves; /* per thousand */
    uint32_t switches;     /* of by_caller, per thousand */
    uint32_t going_down;   /* of 100 steps, so many enter */
    bool clock_is_restless;
};

static void step(struct ar_pairs *p, const struct manner *how, struct dice *d, uint64_t now)
{
    int any = (int)dice_below(d, how->n_functions);

    if (dice_below(d, 1000) < how->switches)
        p->by_caller = !p->by_caller;
    if (model.n_open < MAX_DEPTH && dice_below(d, 100) < how->going_down)
        both_enter(p, any, now);
    else if (dice_below(d, 1000) < how->wrong_leaves || model.n_open == 0)
        both_leave(p, any, now);
    else
        both_leave(p, model.open[model.n_open - 1].function, now);
}

static void close_rest(struct ar_pairs *p, uint64_t now)
{
    while (ar_pairs_n_open(p) > 0)
        ar_pairs_pop(p, now);
    while (model.n_open > 0)
        model_close(now);
}

static void test_random(const struct manner *how, uint64_t seed, int n_steps)
{
    struct ar_pairs p;
    struct dice d = {seed};
    uint64_t now = dice_roll(&d);
    bool good = ar_pairs_init(&p) == AR_OK;

    memset(&model, 0, sizeof model);
    for (int i = 0; good && i < n_steps; i++) {
        now += how->clock_is_restless ? dice_roll(&d) : dice_below(&d, 100);
        step(&p, how, &d, now);
        if (i % 500 == 0)
            good = agrees(&p);
    }
    good = good && agrees(&p);
    close_rest(&p, now);
    tap_ok(good && agrees(&p), "%s, seed %" PRIu64, how->name, seed);
    ar_pairs_free(&p);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void test_nothing(void)
{
    struct ar_pairs p;
    struct ar_pairs_row *rows;
    size_t n_rows;

    memset(&model, 0, sizeof model);
    tap_ok(ar_pairs_init(&p) == AR_OK && p.by_caller, "callers are kept unless told otherwise");
    tap_ok(ar_pairs_rows(&p, &rows, &n_rows) == AR_OK && !rows && n_rows == 0, "no rows at first");
    tap_ok(ar_pairs_n_to_close(&p, &functions[1]) == 0, "nothing to close");
    tap_ok(!ar_pairs_find(&p, &functions[1]) && !ar_pairs_knows(&p, &functions[1]), "unknown");
    tap_ok(ar_pairs_add(&p, &functions[1], &names[1]) == AR_OK &&
               ar_pairs_knows(&p, &functions[1]) &&
               ar_pairs_add(&p, &functions[1], &names[2]) == AR_OK,
           "added, and added again");
    tap_ok(ar_pairs_find(&p, &functions[1])->callee->object == &names[1], "the first object stays");
    tap_ok(agrees(&p), "a function that was never called has no row");
    ar_pairs_free(&p);
    ar_pairs_free(&p);
    tap_ok(!p.calls && !p.entries, "freed twice");
}

/* f(0..10) { f(10..20) { g(30..60) } } : the pair f-f is not nested, f is. */
static void test_recursion(void)
{
    struct ar_pairs p;
    struct ar_pairs_row *rows;
    size_t n_rows;

    memset(&model, 0, sizeof model);
    if (ar_pairs_init(&p) < 0)
        return;
    both_enter(&p, 1, 0);
    both_enter(&p, 1, 10);
    both_enter(&p, 2, 30);
    both_leave(&p, 2, 60);
    both_leave(&p, 1, 70);
    both_leave(&p, 1, 100);
    tap_ok(ar_pairs_rows(&p, &rows, &n_rows) == AR_OK && n_rows == 4, "f, f-f, f-g, g");
    tap_ok(rows[0].n_calls == 2 && rows[0].n_nested == 1 && rows[0].time == 100 &&
               rows[0].self_time == 70,
           "f: total of the outer call, self of both");
    tap_ok(rows[1].n_calls == 1 && rows[1].n_nested == 0 && rows[1].time == 60 &&
               rows[1].self_time == 30,
           "f called by f is an outermost call of that pair");
    tap_ok(rows[2].time == 30 && rows[3].time == 30, "g");
    tap_ok(agrees(&p), "the model says the same");
    free(rows);
    ar_pairs_free(&p);
}

/* Keys that make hash(first function, a) = hash(second function, b); keys are never looked into. */
static void test_collision(void)
{
    struct ar_pairs p;
    struct ar_pairs_row *rows;
    size_t n_rows;
    const uint64_t a = 0x1234567, b = a - 0x9e3779b97f4a7c15u;
    const uint64_t calls[][2] = {{1, a}, {2, b}, {1, a}, {2, b}, {2, b}};
    bool good = ar_pairs_init(&p) == AR_OK && ar_pair_key(1, a) == ar_pair_key(2, b);

    for (uint64_t i = 1; good && i <= 2; i++)
        good = ar_pairs_add(&p, (void *)(uintptr_t)i, &names[i]) == AR_OK;
    good = good && ar_pairs_add(&p, (void *)(uintptr_t)a, &names[3]) == AR_OK &&
           ar_pairs_add(&p, (void *)(uintptr_t)b, &names[4]) == AR_OK;
    for (size_t i = 0; good && i < sizeof calls / sizeof *calls; i++) {
        for (int k = 0; k < 2; k++)
            ar_pairs_push(&p, ar_pairs_find(&p, (void *)(uintptr_t)calls[i][k]))->start = 0;
        for (int k = 0; k < 2; k++)
            ar_pairs_pop(&p, 1);
    }
    good = good && ar_pairs_rows(&p, &rows, &n_rows) == AR_OK && n_rows == 6;
    tap_ok(good && rows[1].object == &names[3] && rows[1].n_calls == 2 &&
               rows[3].object == &names[4] && rows[3].n_calls == 3,
           "two pairs with one hash");
    free(rows);
    ar_pairs_free(&p);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_no_memory_at(size_t n_allocs)
{
    const struct manner how = {"", 40, 20, 5, 60, false};
    struct ar_pairs p;
    struct dice d = {n_allocs};
    uint64_t now = 0;

    memset(&model, 0, sizeof model);
    if (ar_pairs_init(&p) < 0)
        return;
    for (int i = 0; i < 2000; i++) {
        if (i == 300)
            alloc_fail_after(n_allocs);
        if (i == 1200)
            alloc_restore();
        step(&p, &how, &d, now += 3);
    }
    tap_ok(agrees(&p), "no memory after %zu allocations, and then again", n_allocs);
    ar_pairs_free(&p);
}

static void test_no_memory(void)
{
    struct ar_pairs p;
    struct ar_pairs_row *rows;
    size_t n_rows;
    bool worked = false;

    for (size_t n = 0; !worked; n++) {
        alloc_fail_after(n);
        worked = ar_pairs_init(&p) == AR_OK;
        alloc_restore();
        tap_ok(worked || (!p.calls && !p.root), "init with %zu allocations", n);
    }
    both_enter(&p, 1, 0);
    both_leave(&p, 1, 1);
    alloc_fail_after(0);
    tap_ok(ar_pairs_rows(&p, &rows, &n_rows) == AR_NOMEM && !rows, "rows");
    alloc_restore();
    ar_pairs_free(&p);
    for (size_t n = 0; n < 12; n++)
        test_no_memory_at(n);
}

int main(void)
{
    static const struct manner manners[] = {
        {"few functions", 3, 0, 0, 50, false},
        {"many functions", MAX_FUNCTIONS, 0, 0, 50, false},
        {"deep", 20, 0, 0, 90, false},
        {"returns that were missed", 10, 200, 0, 55, false},
        {"with callers and without", 10, 10, 50, 50, false},
        {"a restless clock", 10, 10, 10, 50, true},
    };

    test_nothing();
    test_recursion();
    test_collision();
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            test_random(&manners[i], seed, 6000);
    test_no_memory();
    return tap_done();
}
