// SPDX-License-Identifier: BSD-3-Clause
/*
 * budget: what recording costs, and what is done when that is too much.
 *
 * The price of a call is measured in the process itself, when it starts: the same small loop with
 * and without the engine. The report states calls times price, and what spending.h has. With a budget, a function that has
 * proved cheap and frequent while the thread is over it is not timed any more: its calls are its
 * caller's from then on, and what was counted so far is marked as partial. The longer the thread
 * stays over it, the less cheap a function has to be.
 *
 * Threads: under the GIL.
 */
#pragma once

#include "runtime/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_costs {
    double call_ns;     /* of a Python function */
    double c_call_ns;   /* of a C function, if the call is timed */
    double ns_per_tick; /* roughly, for decisions; times are converted afterwards, and exactly */
};

extern struct ar_costs ar_costs;

static inline uint64_t ar_ticks_of_ns(double ns)
{
    return (uint64_t)(ns / ar_costs.ns_per_tick);
}

static inline double ar_ns_of_ticks(uint64_t ticks)
{
    return (double)ticks * ar_costs.ns_per_tick;
}

/* A share of the time, 0.02 for 2 %; 0: no limit. */
void ar_budget_set(double share);
/* Two loops of so many calls, of a function in Python and of one in C, without and with the engine. */
struct ar_calibration {
    unsigned n_calls;
    uint64_t plain_ticks, ticks;
    uint64_t plain_c_ticks, c_ticks;
    bool
        times_all; /* every call of a C function; otherwise most calls in the loop are only counted */
};
void ar_budget_calibrate(const struct ar_calibration *measured);

/*
 * Every so many calls of a node the engine asks, more often while it is over: a function can have many
 * nodes. And every so many calls that took the slow path.
 */
#define AR_BUDGET_CALLS 256
#define AR_BUDGET_CALLS_OVER 16
#define AR_BUDGET_SLOW_CALLS 32

/* Does the engine ask in that call of a node? */
static inline bool ar_budget_asks(const struct ar_thread *t, uint64_t n_calls)
{
    return ((uint8_t)n_calls & t->asks) == 0;
}

/* Is the function of `node`, just entered, to be timed no more? `n_calls` have been made since. */
bool ar_budget_is_over(struct ar_thread *t, const struct ar_node *node, uint32_t n_calls,
                       uint64_t now);

/*
 * How many calls' worth to ask for, on the slow path; 0: not now. A call there costs three, which is
 * two more than are counted anyway.
 */
static inline uint32_t ar_budget_due(struct ar_thread *t, const struct ar_node *node)
{
    if (ar_budget_asks(t, node->n_calls))
        return t->asks + 1u;
    if (++t->budget.n_slow_calls % AR_BUDGET_SLOW_CALLS != 0)
        return 0;
    return 2 * AR_BUDGET_SLOW_CALLS;
}
