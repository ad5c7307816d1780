// SPDX-License-Identifier: BSD-3-Clause
/*
 * overhead: recording takes too much of the time that is shown.
 *
 * Fires from a tenth of all time on: below that the largest functions are the same ones without us, as
 * a rule; above it those that are called most look larger than they are.
 * Says how much it is, and what most of it is for: of calls, which function is called most. Our start-up
 * and end are outside of the time that is shown: they make no function look larger.
 */
#include "findings/findings.h"
#include "findings/words.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAST_SHARE 0.1
/* What is done once, at imports and new call paths, is much of a run that is short. */
#define SHORT_RUN_NS 500e6

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

static uint64_t n_c_calls(const struct ar_evidence *e)
{
    uint64_t n = 0;

    for (size_t i = 1; i < e->p->n_nodes; i++)
        if (e->p->functions[e->p->nodes[i].function].kind == AR_FUNCTION_BUILTIN)
            n += e->t->n_calls[i];
    return n;
}

static bool is_outside(int reason)
{
    return reason == AR_OVERHEAD_START || reason == AR_OVERHEAD_END;
}

static enum ar_overhead main_reason(const struct ar_totals *t)
{
    enum ar_overhead most = AR_OVERHEAD_PYTHON; /* also where reasons are not known */

    for (int reason = 0; reason < AR_N_OVERHEADS; reason++)
        if (!is_outside(reason) && t->overheads_ns[reason] > t->overheads_ns[most])
            most = (enum ar_overhead)reason;
    return most;
}

/* What of it is in the time that is shown. */
static double inside_ns(const struct ar_totals *t)
{
    uint64_t outside = t->overheads_ns[AR_OVERHEAD_START] + t->overheads_ns[AR_OVERHEAD_END];

    return outside < t->overhead_ns ? (double)(t->overhead_ns - outside) : 0;
}

static double inside_share(const struct ar_totals *t)
{
    return t->overhead_ns ? t->overhead * inside_ns(t) / (double)t->overhead_ns : 0;
}

static void say_calls(struct ar_evidence *e, struct ar_finding *f)
{
    uint64_t n_calls;
    uint32_t function = most_called(e, &n_calls);

    f->place = ar_place_of_function(e->p, function);
    ar_finding_say(e, f,
                   "recording takes %s of the time: %s is called %s times; run with --budget 5%%, "
                   "or --exclude '%s', it would take less",
                   ar_show_share(inside_share(e->t)), ar_function_name(e->p, function),
                   ar_show_count(n_calls), ar_function_name(e->p, function));
}

static void say_reason(struct ar_evidence *e, struct ar_finding *f, enum ar_overhead reason)
{
    static const char *const reasons[AR_N_OVERHEADS] = {
        [AR_OVERHEAD_IMPORTS] = "modules written in C took %s to look through",
        [AR_OVERHEAD_PATHS] = "new call paths took %s; a longer run takes most paths again",
        [AR_OVERHEAD_MPI] = "MPI calls took %s more",
    };
    char text[128];

    snprintf(text, sizeof text, reasons[reason],
             ar_show_duration((double)e->t->overheads_ns[reason]));
    ar_finding_say(e, f, "recording takes %s of the time: %s", ar_show_share(inside_share(e->t)),
                   text);
}

void ar_rule_overhead(struct ar_evidence *e)
{
    enum ar_overhead reason = main_reason(e->t);
    struct ar_finding *f;

    if ((reason == AR_OVERHEAD_IMPORTS || reason == AR_OVERHEAD_PATHS) &&
        e->t->mean_wall_ns < SHORT_RUN_NS)
        return;
    if (inside_share(e->t) < LEAST_SHARE || !ar_is_worth_saying(e, inside_ns(e->t)))
        return;
    f = ar_finding_add(e, "overhead", inside_ns(e->t));
    if (!f)
        return;
    if (reason == AR_OVERHEAD_PYTHON)
        say_calls(e, f);
    else if (reason == AR_OVERHEAD_C)
        ar_finding_say(e, f,
                       "recording takes %s of the time: C functions are called %s times; run with "
                       "--builtins none, it would take less",
                       ar_show_share(inside_share(e->t)), ar_show_count(n_c_calls(e)));
    else
        say_reason(e, f, reason);
    ar_finding_show(e, f, "info", "");
}
