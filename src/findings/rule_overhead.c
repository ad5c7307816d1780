// SPDX-License-Identifier: BSD-3-Clause
/*
 * overhead: recording takes too much of the time that is shown.
 *
 * Fires from a tenth of all time on: below that the largest functions are the same ones without us, as
 * a rule; above it those that are called most look larger than they are.
 * Says how much it is, and which function is called most.
 */
#include "findings/findings.h"
#include "findings/words.h"

#include <stdlib.h>

#define LEAST_SHARE 0.1

/* Of Python's functions: those in C are recorded in their callers' calls, and left out by another option. */
static uint32_t most_called(struct ar_evidence *e, uint64_t *n_calls)
{
    uint64_t *calls = calloc(e->p->n_functions + 1, sizeof *calls);
    uint32_t most = 0;

    e->bad |= !calls;
    for (size_t i = 1; calls && i < e->p->n_nodes; i++)
        if (e->p->functions[e->p->nodes[i].function].kind == AR_FUNCTION_PYTHON)
            calls[e->p->nodes[i].function] += e->t->n_calls[i];
    for (uint32_t i = 0; calls && i < e->p->n_functions; i++)
        if (calls[i] > calls[most])
            most = i;
    *n_calls = calls ? calls[most] : 0;
    free(calls);
    return most;
}

void ar_rule_overhead(struct ar_evidence *e)
{
    uint64_t n_calls;
    uint32_t function;
    struct ar_finding *f;

    if (e->t->overhead < LEAST_SHARE || !ar_is_worth_saying(e, (double)e->t->overhead_ns))
        return;
    function = most_called(e, &n_calls);
    f = ar_finding_add(e, "overhead", (double)e->t->overhead_ns);
    if (!f)
        return;
    f->place = ar_place_of_function(e->p, function);
    ar_finding_say(e, f,
                   "recording takes %s of the time: %s is called %s times; run with --budget 5%%, "
                   "or --exclude '%s', it would take less",
                   ar_show_share(e->t->overhead), ar_function_name(e->p, function),
                   ar_show_count(n_calls), ar_function_name(e->p, function));
    ar_finding_show(e, f, "info", "");
}
