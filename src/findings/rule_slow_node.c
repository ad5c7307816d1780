// SPDX-License-Identifier: BSD-3-Clause
/*
 * slow_node: a function takes longer on all ranks of one host than elsewhere, with as many calls.
 *
 * Fires where ranks wait for such a function, the host has at least two ranks (one is a slow rank and may have
 * more work), all of these take longer than nineteen of twenty elsewhere, and the host's mean is a fifth above
 * theirs: cores of one model differ by some percent, and hosts that are ill by factors.
 * Says how long it takes here and there, and how long others waited for it.
 */
#include "findings/findings.h"
#include "findings/words.h"

#include <stdlib.h>

#define LEAST_FACTOR 1.2
#define MOST_AS_SLOW 0.05
#define MOST_CALLS 1.1

struct host {
    uint32_t name; /* string */
    size_t n;
    double ns, n_calls, min_ns; /* in all, and of its fastest rank */
};

/* By string. */
static struct host *add_up(struct ar_evidence *e, const struct ar_busy_time *times)
{
    const struct ar_profile *p = e->p;
    struct host *hosts = calloc(p->strings.n_strings + 1, sizeof *hosts);

    e->bad |= !hosts;
    for (size_t i = 0; hosts && i < p->n_roots; i++) {
        struct host *h = &hosts[p->processes[i].host];

        h->name = p->processes[i].host;
        h->min_ns = h->n == 0 || times[i].ns < h->min_ns ? times[i].ns : h->min_ns;
        h->ns += times[i].ns;
        h->n_calls += (double)times[i].n_calls;
        h->n++;
    }
    return hosts;
}

static struct host slowest(const struct ar_profile *p, const struct host *hosts)
{
    struct host worst = {0};

    for (size_t i = 0; i < p->n_roots; i++) {
        const struct host *h = &hosts[p->processes[i].host];

        if (worst.n == 0 || h->ns / (double)h->n > worst.ns / (double)worst.n)
            worst = *h;
    }
    return worst;
}

static bool is_slow(const struct ar_profile *p, const struct ar_busy_time *times,
                    const struct host *host, double *others_ns)
{
    double ns = 0, n_calls = 0;
    size_t n = 0, n_as_slow = 0;

    for (size_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].host != host->name) {
            n++;
            ns += times[i].ns;
            n_calls += (double)times[i].n_calls;
            n_as_slow += times[i].ns >= host->min_ns;
        }
    if (n == 0 || host->n < 2 || n_calls == 0)
        return false;
    *others_ns = ns / (double)n;
    return host->ns / (double)host->n >= LEAST_FACTOR * *others_ns &&
           (double)n_as_slow <= MOST_AS_SLOW * (double)n &&
           host->n_calls / (double)host->n <= MOST_CALLS * n_calls / (double)n;
}

static void be_about(struct ar_evidence *e, struct ar_finding *f, uint32_t host)
{
    uint32_t *processes = malloc((e->p->n_roots + 1) * sizeof *processes);
    size_t n = 0;

    e->bad |= !processes;
    for (uint32_t i = 0; processes && i < e->p->n_roots; i++)
        if (e->p->processes[i].host == host)
            processes[n++] = i;
    if (processes)
        ar_finding_about(e, f, processes, n);
    free(processes);
}

static void tell(struct ar_evidence *e, struct ar_story *story, const struct host *host,
                 double others_ns)
{
    struct ar_finding *f = ar_finding_add(e, "slow_node", story->waited_ns);

    if (!f)
        return;
    be_about(e, f, host->name);
    f->place = ar_place_of_function(e->p, story->function);
    ar_finding_say(e, f,
                   "%s takes %s on %s (%s) and %s elsewhere, with as many calls; the other ranks "
                   "waited %s in all (%s)",
                   ar_show_culprit(e, story->function),
                   ar_show_duration(host->ns / (double)host->n),
                   ar_strtab_text(&e->p->strings, host->name),
                   ar_show_ranks(e->p, f->processes, f->n_processes), ar_show_duration(others_ns),
                   ar_show_duration(story->waited_ns), ar_show_share(story->waited_ns / e->all_ns));
    ar_finding_show(e, f, "ranks", ar_show_function_line(e->p, story->function));
    story->is_told = true;
}

static void look_at(struct ar_evidence *e, struct ar_story *story)
{
    struct ar_busy_time *times = ar_times_in(e, story->function);
    struct host *hosts = times ? add_up(e, times) : NULL;
    double others_ns;

    if (hosts) {
        struct host worst = slowest(e->p, hosts);

        if (is_slow(e->p, times, &worst, &others_ns))
            tell(e, story, &worst, others_ns);
    }
    free(hosts);
    free(times);
}

void ar_rule_slow_node(struct ar_evidence *e)
{
    if (ar_count_hosts(e->p) < 2)
        return;
    for (size_t i = 0; i < e->n_stories; i++)
        if (!e->stories[i].is_told && ar_is_code(e->p, e->stories[i].function))
            look_at(e, &e->stories[i]);
}
