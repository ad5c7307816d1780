// SPDX-License-Identifier: BSD-3-Clause
/*
 * oversubscription: more ranks on a host than processors that they may use.
 *
 * What a process may use is a fact of the run, "processors", as the kernel lists them; ranks that are bound to
 * different ones have different lists, and all of these together are taken for each host's. Fires where
 * a host has more ranks than that. No more can be won than the part of their computing time that they
 * would not have had to share; a rank that sleeps needs no processor, and that time is left out.
 * Says how many ranks are on how many processors.
 */
#include "findings/findings.h"
#include "findings/words.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PROCESSORS 8192

/* "0-3,8" */
static void mark(bool *is_there, const char *list)
{
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (end == list)
            return;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < MOST_PROCESSORS; first++)
            is_there[first] = true;
        list = *end ? end + 1 : end;
    }
}

/* 0: not known. */
static size_t count_processors(const struct ar_profile *p)
{
    static bool is_there[MOST_PROCESSORS];
    size_t n = 0;

    memset(is_there, 0, sizeof is_there);
    for (size_t i = 0; i < p->n_facts; i++)
        if (strcmp(ar_strtab_text(&p->strings, p->facts[i].key), "processors") == 0)
            mark(is_there, ar_strtab_text(&p->strings, p->facts[i].value));
    for (size_t i = 0; i < MOST_PROCESSORS; i++)
        n += is_there[i];
    return n;
}

/* Over all ranks. */
static double sleeping_ns(const struct ar_evidence *e)
{
    double ns = 0;

    for (uint32_t node = 1; node < e->p->n_nodes; node++)
        if (strstr(ar_function_name(e->p, e->p->nodes[node].function), "time.sleep"))
            ns += e->t->self[node].sum;
    return ns;
}

/* The host with most ranks; string. */
static uint32_t fullest_host(struct ar_evidence *e, size_t *n_ranks)
{
    size_t *n = calloc(e->p->strings.n_strings + 1, sizeof *n);
    uint32_t most = 0;

    e->bad |= !n;
    *n_ranks = 0;
    for (size_t i = 0; n && i < e->p->n_roots; i++)
        if (++n[e->p->processes[i].host] > *n_ranks) {
            *n_ranks = n[e->p->processes[i].host];
            most = e->p->processes[i].host;
        }
    free(n);
    return most;
}

void ar_rule_oversubscription(struct ar_evidence *e)
{
    size_t n_processors = count_processors(e->p), n_ranks;
    uint32_t host = fullest_host(e, &n_ranks);
    double won_ns = -sleeping_ns(e);
    struct ar_finding *f;

    for (size_t i = 0; i < e->p->n_roots; i++)
        won_ns += e->w.times[i].computing_ns;
    won_ns *= n_ranks ? 1 - (double)n_processors / (double)n_ranks : 0;
    if (!n_processors || n_ranks <= n_processors || !ar_is_worth_saying(e, won_ns))
        return;
    f = ar_finding_add(e, "oversubscription", won_ns);
    ar_finding_say(e, f,
                   "%s share %s on %s: up to %s (%s) of their computing may be waiting for a turn",
                   ar_show_items(n_ranks, "rank", "ranks"),
                   ar_show_items(n_processors, "processor", "processors"),
                   ar_strtab_text(&e->p->strings, host), ar_show_duration(won_ns),
                   ar_show_share(won_ns / e->all_ns));
    ar_finding_show(e, f, "info", "");
}
