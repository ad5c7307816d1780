// SPDX-License-Identifier: BSD-3-Clause
/*
 * idle_ranks: ranks that have nothing to do, ever, while several others work.
 *
 * Work is what a rank computes, without its imports. Fires where ranks have less than a tenth of the most that
 * one has, at least two others have more, and what the work would gain if all shared it is worth a
 * sentence. A tenth, since nobody gets by without a setup and an output; two, since all ranks but one
 * are idle in a serial phase, which has a rule of its own.
 * Says which ranks, and how long the others worked.
 */
#include "findings/findings.h"
#include "findings/wait_words.h"
#include "findings/words.h"

#include <stdlib.h>

#define MOST_WORK 0.1
#define FEWEST_BUSY 2

struct idle {
    bool *is_idle; /* by root */
    uint32_t *processes;
    size_t n;
    double busy_ns, waited_ns; /* work of the others, and waits of these */
};

static double work_of(const struct ar_evidence *e, size_t i)
{
    double ns = e->w.times[i].computing_ns - e->importing_ns[i];

    return ns > 0 ? ns : 0;
}

static void divide(const struct ar_evidence *e, struct idle *idle)
{
    double most_ns = 0;

    for (size_t i = 0; i < e->p->n_roots; i++)
        most_ns = work_of(e, i) > most_ns ? work_of(e, i) : most_ns;
    for (uint32_t i = 0; i < e->p->n_roots; i++) {
        idle->is_idle[i] = work_of(e, i) < MOST_WORK * most_ns;
        if (idle->is_idle[i]) {
            idle->processes[idle->n++] = i;
            idle->waited_ns += e->w.times[i].waiting_ns;
        } else {
            idle->busy_ns += work_of(e, i);
        }
    }
}

/* Waits of idle ranks are told with that. */
static void tell_stories(struct ar_evidence *e, const struct idle *idle)
{
    for (size_t i = 0; i < e->n_stories; i++) {
        const struct ar_wait_site *site = e->stories[i].site;
        size_t n = ar_n_main_shares(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_LATE);
        bool all = true;

        for (size_t k = 0; k < n && all; k++)
            all = idle->is_idle[site->waiting[k].process];
        e->stories[i].is_told |= all;
    }
}

static void tell(struct ar_evidence *e, const struct idle *idle)
{
    size_t n_busy = e->p->n_roots - idle->n;
    double mean_ns = idle->busy_ns / (double)n_busy, won_ns = mean_ns * (double)idle->n;
    struct ar_finding *f;

    won_ns = won_ns < idle->waited_ns ? won_ns : idle->waited_ns;
    if (!ar_is_worth_saying(e, won_ns))
        return;
    f = ar_finding_add(e, "idle_ranks", won_ns);
    ar_finding_say(e, f, "%s did nothing but wait, %s in all (%s), while %s worked %s each",
                   ar_show_ranks(e->p, idle->processes, idle->n), ar_show_duration(idle->waited_ns),
                   ar_show_share(idle->waited_ns / e->all_ns),
                   ar_show_items(n_busy, "other", "others"), ar_show_duration(mean_ns));
    ar_finding_show(e, f, "waits", "");
    ar_finding_about(e, f, idle->processes, idle->n);
    tell_stories(e, idle);
}

void ar_rule_idle_ranks(struct ar_evidence *e)
{
    struct idle idle = {.is_idle = calloc(e->p->n_roots + 1, sizeof *idle.is_idle),
                        .processes = malloc((e->p->n_roots + 1) * sizeof *idle.processes)};

    if (idle.is_idle && idle.processes) {
        divide(e, &idle);
        if (idle.n && e->p->n_roots >= idle.n + FEWEST_BUSY)
            tell(e, &idle);
    } else {
        e->bad = true;
    }
    free(idle.is_idle);
    free(idle.processes);
}
