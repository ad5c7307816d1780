// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/budget.h"

/* Until it has been measured: prices seen on machines of today. */
struct ar_costs ar_costs = {.call_ns = 40, .c_call_ns = 50, .ns_per_tick = 0.4};

static double budget_share;

void ar_budget_set(double share)
{
    budget_share = share;
}

/* Whatever disturbed the measurement, nothing is for free. */
#define LEAST_NS 2.0

static double price_ns(uint64_t plain_ticks, uint64_t ticks, unsigned n_calls)
{
    double ns = ticks > plain_ticks ? ar_ns_of_ticks(ticks - plain_ticks) / n_calls : 0;

    return ns > LEAST_NS ? ns : LEAST_NS;
}

#define N_LOOKS 64

/* Of one look at the clock. */
static double look_ns(void)
{
    uint64_t begin = ar_ticks(), end = begin;

    for (int i = 0; i < N_LOOKS; i++)
        end = ar_ticks();
    return ar_ns_of_ticks(end - begin) / N_LOOKS;
}

/* The loop is too short to time enough of its calls; a timed one takes two looks at the clock more. */
static void set_c_prices(struct ar_live_header *h, const struct ar_calibration *m)
{
    h->c_count_cost_ns = price_ns(m->plain_c_ticks, m->c_ticks, m->n_calls);
    ar_costs.c_call_ns = h->c_count_cost_ns + (m->times_all ? 0 : 2 * look_ns());
    h->c_call_cost_ns = ar_costs.c_call_ns;
}

void ar_budget_calibrate(const struct ar_calibration *m)
{
    struct ar_live_header *h = ar_live_header();
    struct ar_stamp now = ar_stamp_now();

    ar_costs.ns_per_tick = ar_scale_between(&h->start, &now).ns_per_tick;
    ar_costs.call_ns = price_ns(m->plain_ticks, m->ticks, m->n_calls);
    h->call_cost_ns = ar_costs.call_ns;
    set_c_prices(h, m);
}

#define SPAN_NS 5000000
/* What is called seldom, or takes that long, is never cheap and frequent. */
#define FEW_CALLS 8
#define DEAR_NS 100000

/* At the end of each span: was it over? */
static void judge_span(struct ar_thread *t, uint64_t now)
{
    struct ar_budget *b = &t->budget;
    double span_ns = ar_ns_of_ticks(now - b->span_ticks);

    if (span_ns < SPAN_NS)
        return;
    b->is_over = (double)b->n_calls * ar_costs.call_ns > budget_share * span_ns;
    b->leniency = b->is_over ? 2 * b->leniency + 1 : b->leniency / 2;
    b->span_ticks = now;
    b->n_calls = 0;
    t->asks = (b->is_over ? AR_BUDGET_CALLS_OVER : AR_BUDGET_CALLS) - 1;
}

bool ar_budget_is_over(struct ar_thread *t, const struct ar_node *node, uint32_t n_calls,
                       uint64_t now)
{
    if (ar_tree_polled)
        ar_tree_polled();
    if (budget_share <= 0)
        return false;
    t->budget.n_calls += n_calls;
    judge_span(t, now);
    if (!t->budget.is_over || node->flags & (AR_MARK_WANTED | AR_NODE_COUNTED) ||
        node->n_calls < FEW_CALLS)
        return false;

    double mean_ns = ar_ns_of_ticks((uint64_t)node->ticks + now) / (double)node->n_calls;

    return mean_ns < DEAR_NS && mean_ns * budget_share < ar_costs.call_ns * t->budget.leniency;
}
