// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/watch.h"

#include "runtime/budget.h"

#define WINDOW_NS 500000
#define SHORTEST_GAP_NS 2000000
#define LONGEST_GAP_NS 1000000000
#define LARGEST_WEIGHT 65536
/*
 * The longer a program has run, the less the next window can tell: their number grows with the
 * logarithm of the time.
 */
#define GAP_SHARE 0.05
/* What looking may take of the time; and what it may take at once, before it has been earned. */
#define WATCH_SHARE 0.01
#define CREDIT_NS 3000000
#define SWITCH_NS 20
/* The part of it that such code would not have taken: 3.11 leaves its specialised instructions. */
#define SLOWED_SHARE 0.4

static void open_window(struct ar_watch *watch, uint64_t now, uint64_t gap_ticks)
{
    uint64_t weight = 1 + gap_ticks / ar_ticks_of_ns(WINDOW_NS);

    watch->open = true;
    watch->gap_ticks = gap_ticks;
    watch->weight = weight < LARGEST_WEIGHT ? (uint32_t)weight : LARGEST_WEIGHT;
    watch->since_ticks = now;
    watch->turn_ticks = now + ar_ticks_of_ns(WINDOW_NS);
}

static void close_window(struct ar_watch *watch, uint64_t now, double gap_ns)
{
    double least_ns = GAP_SHARE * ar_ns_of_ticks(now - watch->start_ticks);

    if (gap_ns > LONGEST_GAP_NS)
        gap_ns = LONGEST_GAP_NS;
    if (gap_ns < least_ns)
        gap_ns = least_ns;
    if (gap_ns < SHORTEST_GAP_NS)
        gap_ns = SHORTEST_GAP_NS;
    watch->open = false;
    watch->since_ticks = now;
    watch->turn_ticks = now + ar_ticks_of_ns(gap_ns);
}

void ar_watch_start(struct ar_watch *watch, uint64_t now)
{
    watch->start_ticks = now;
    open_window(watch, now, 0);
}

/* How much later what has been spent would have been earned; negative: it has been. */
static double debt_ns(const struct ar_watch *watch, uint64_t now)
{
    double spent_ns = (double)watch->n_seen * ar_costs.c_call_ns +
                      (double)watch->n_switches * SWITCH_NS +
                      ar_ns_of_ticks(watch->slowed_ticks) * SLOWED_SHARE - CREDIT_NS;

    return spent_ns / WATCH_SHARE - ar_ns_of_ticks(now - watch->start_ticks);
}

void ar_watch_turn(struct ar_watch *watch, uint64_t now)
{
    double debt = debt_ns(watch, now);

    if (!watch->open)
        open_window(watch, now, now - watch->since_ticks);
    else if (debt > 0)
        close_window(watch, now, debt);
    else
        open_window(watch, now, 0);
}

uint64_t ar_watch_costly_ticks(void)
{
    return ar_ticks_of_ns(ar_costs.c_call_ns / WATCH_SHARE);
}
