// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_cheap.h"

#include "runtime/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHEAP_NS 500.0
/* Where two looks at the clock are a hundredth of the time a function is never left untimed. */
#define DEAR_NS 2000.0
/* A node whose first calls were all timed has a mean of its own. */
#define FIRST_CALLS 16
#define GAP_NS 500000.0
/* After so many gaps a function is timed for ever. */
#define MOST_GAPS 8
/* In the name of a gap; of more it says no names. */
#define MOST_NAMES 3

bool ar_c_learns;
static const struct ar_c_naming *naming;

/* ---- proof ----------------------------------------------------------------------------------- */

struct ar_c_known *ar_c_known_make(struct ar_thread *t, uint32_t index)
{
    struct ar_c_known **page = &t->c_known[index / AR_C_PAGE];

    if (!*page)
        *page = calloc(AR_C_PAGE, sizeof **page);
    return *page ? &(*page)[index % AR_C_PAGE] : NULL;
}

void ar_c_forget(struct ar_thread *t)
{
    for (uint32_t i = 0; i < AR_C_PAGES; i++)
        free(t->c_known[i]);
    memset(t->c_known, 0, sizeof t->c_known);
}

static void judge_again(struct ar_c_known *known)
{
    known->n = known->ticks = 0;
}

/* It took long although it had been cheap. */
static void lose_trust(struct ar_c_known *known)
{
    known->is_cheap = false;
    known->is_exact = ++known->n_gaps >= MOST_GAPS;
    judge_again(known);
}

static void judge(struct ar_c_known *known)
{
    double mean_ns = ar_ns_of_ticks(known->ticks) / known->n;

    known->is_cheap = mean_ns < CHEAP_NS;
    known->is_exact = mean_ns > DEAR_NS;
    judge_again(known);
}

static void learn(struct ar_c_known *known, uint64_t ticks)
{
    if (ticks >= ar_gap_ticks) {
        if (known->is_cheap)
            lose_trust(known);
        known->is_exact |= known->n_gaps > 0;
        judge_again(known);
        return;
    }
    if (known->is_cheap)
        return;
    known->ticks += (uint32_t)ticks;
    if (++known->n >= AR_C_PROOF << known->n_gaps || known->ticks > UINT32_MAX / 2)
        judge(known);
}

/* ---- nodes whose calls are not all timed ----------------------------------------------------- */

/* It comes before all others. NULL: every call of the node is timed; other values are what measures have (measures.h). */
static uint64_t *estimate_of(const struct ar_node *node)
{
    struct ar_values *first = node->values_ref ? ar_live_ptr(node->values_ref) : NULL;

    return first && first->kind == AR_VALUES_ESTIMATE ? first->words : NULL;
}

static void add_square(uint64_t *bits, double ticks)
{
    double sum;

    memcpy(&sum, bits, sizeof sum);
    sum += ticks * ticks;
    memcpy(bits, &sum, sizeof sum);
}

/* Until a node has values. */
static float squares_of(const struct ar_node *node)
{
    float squares;

    memcpy(&squares, &node->squares, sizeof squares);
    return squares;
}

static void set_squares(struct ar_node *node, float squares)
{
    memcpy(&node->squares, &squares, sizeof squares);
}

static void begin_sampling(struct ar_thread *t, struct ar_node *node)
{
    struct ar_values *values = ar_tree_values(t, node, AR_VALUES_ESTIMATE);
    double squares = squares_of(node);

    if (!values)
        return;
    memcpy(&values->words[AR_ESTIMATE_SQUARES], &squares, sizeof squares);
    values->words[AR_ESTIMATE_TIMED] = node->n_calls;
    node->flags |= AR_NODE_SAMPLED;
}

void ar_c_sample_begins(const struct ar_node *node)
{
    uint64_t *words = estimate_of(node);

    if (words)
        words[AR_ESTIMATE_TIMED]++;
}

static void add_sample(uint64_t *words, uint64_t ticks)
{
    if (ticks < ar_gap_ticks) {
        add_square(&words[AR_ESTIMATE_SQUARES], (double)ticks);
    } else {
        words[AR_ESTIMATE_LONG_CALLS]++;
        words[AR_ESTIMATE_LONG_TICKS] += ticks;
    }
}

void ar_c_teach(struct ar_thread *t, struct ar_node *node, uint32_t index, uint64_t ticks)
{
    struct ar_c_known *known = ar_c_known_make(t, index);

    if (!known)
        return;
    learn(known, ticks);

    uint64_t *estimate = estimate_of(node);

    if (estimate)
        add_sample(estimate, ticks);
    else
        set_squares(node, squares_of(node) +
                              (ticks < ar_gap_ticks ? (float)ticks * (float)ticks : INFINITY));
    if (known->is_cheap && !estimate && node->n_calls >= FIRST_CALLS && isfinite(squares_of(node)))
        begin_sampling(t, node);
}

/*
 * What it did before, in this call, is its caller's, unless it was long: then it is a gap. The node is
 * timed at every call from now on, since it has called something.
 */
void ar_c_calls_something(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    bool is_timed = node->ticks < 0;

    node->flags &= ~AR_NODE_SAMPLED;
    if (is_timed)
        return;
    t->current = ar_live_ptr(node->parent_ref);
    ar_tree_look(t, node, now);
    ar_c_sample_begins(node);
    ar_tree_touch(t, node);
    __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks - now), __ATOMIC_RELAXED);
    ar_tree_move(t, node, now);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

struct concerned {
    char names[MOST_NAMES * 82];
    uint32_t n;
};

static void concern(struct concerned *c, struct ar_c_known *known, uint32_t index)
{
    size_t n = strlen(c->names);

    lose_trust(known);
    if (c->n++ >= MOST_NAMES)
        return;
    n += (size_t)snprintf(c->names + n, sizeof c->names - n, "%s", n ? ", " : "");
    naming->write_name(index, c->names + n, sizeof c->names - n);
}

static void find_concerned(struct ar_thread *t, struct concerned *c, uint64_t stamp)
{
    for (uint32_t page = 0; page < AR_C_PAGES; page++)
        for (uint32_t i = 0; t->c_known[page] && i < AR_C_PAGE; i++)
            if (t->c_known[page][i].is_cheap && t->c_known[page][i].stamp == stamp)
                concern(c, &t->c_known[page][i], page * AR_C_PAGE + i);
}

static void add_gap(struct ar_thread *t, const struct concerned *c, uint64_t ticks, uint64_t now)
{
    const char *name = c->n <= MOST_NAMES ? c->names : "functions in C";
    uint32_t function = naming->number_of_gaps(name);
    struct ar_node *node = function ? ar_tree_child(t, function, now) : NULL;

    if (!node)
        return;
    ar_tree_touch(t, node);
    __atomic_store_n(&node->n_calls, node->n_calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks + ticks), __ATOMIC_RELAXED);
}

/* The current node is the caller of what went untimed. */
static void on_gap(struct ar_thread *t, uint64_t now)
{
    uint64_t then = t->slot->latest_ticks;
    struct concerned c = {.n = 0};

    if (now <= then || t->untimed_at != then)
        return;
    t->untimed_at = 0;
    find_concerned(t, &c, then);
    if (c.n)
        add_gap(t, &c, now - then, now);
}

void ar_c_cheap_start(bool exact, const struct ar_c_naming *names)
{
    ar_c_learns = !exact;
    naming = names;
    ar_tree_gap = on_gap;
    ar_c_cheap_calibrate();
}

void ar_c_cheap_calibrate(void)
{
    ar_gap_ticks = ar_ticks_of_ns(GAP_NS);
}
