// SPDX-License-Identifier: BSD-3-Clause
/*
 * oversubscription: more ranks on a host than processors that they may use, and more computing than these can do.
 *
 * What a process may use is a fact of the run, "processors", as the kernel lists them; ranks that are bound to
 * different ones have different lists, and all of these together are taken for each host's. Fires where
 * ranks of a host compute for longer, in all, than its processors had time while they ran, by so much that
 * it is worth a sentence: that is what they waited for a turn, at least. Sleeping is no computing, nor is waiting for
 * a lock, a child or a socket, nor MPI.
 * Says how many ranks are on how many processors, and how long they computed.
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

bool ar_do_ranks_share(struct ar_evidence *e)
{
    size_t *n_ranks = calloc(e->p->strings.n_strings + 1, sizeof *n_ranks), most = 0;
    size_t n_processors = count_processors(e->p);

    e->bad |= !n_ranks;
    for (size_t i = 0; n_ranks && i < e->p->n_roots; i++) {
        size_t n = ++n_ranks[e->p->processes[i].host];

        most = n > most ? n : most;
    }
    free(n_ranks);
    return n_processors && most > n_processors;
}

struct host {
    size_t n_ranks;
    double computing_ns, wall_ns; /* in all, and of the rank that ran longest */
};

/* Names are as cProfile has them. */
static bool is_asleep(const char *name)
{
    static const char *const parts[] = {
        "time.sleep",      "'acquire' of '_thread.", "posix.wait",  "select.select",
        "of 'select.",     "of '_socket.",           "of '_queue.", "signal.pause",
        "_wait_for_tstate"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* Computing is that of main threads, and so is what is taken off it. */
static void take_off_sleep(struct ar_evidence *e, struct host *hosts)
{
    for (uint32_t node = 1; node < e->p->n_nodes; node++) {
        if (!is_asleep(ar_function_name(e->p, e->p->nodes[node].function)))
            continue;

        struct ar_row row = ar_selves_get(&e->own.selves, node);

        for (size_t i = 0; i < row.n; i++) {
            const struct ar_location *location = &e->p->locations[row.values[i].location];

            if (location->thread == 0 && location->process < e->p->n_roots)
                hosts[e->p->processes[location->process].host].computing_ns -=
                    (double)row.values[i].value;
        }
    }
}

/* By string. */
static struct host *add_up(struct ar_evidence *e)
{
    struct host *hosts = calloc(e->p->strings.n_strings + 1, sizeof *hosts);

    e->bad |= !hosts;
    for (size_t i = 0; hosts && i < e->p->n_roots; i++) {
        const struct ar_process *process = &e->p->processes[i];
        struct host *host = &hosts[process->host];

        host->n_ranks++;
        host->computing_ns += e->w->times[i].computing_ns;
        if ((double)process->wall_ns > host->wall_ns)
            host->wall_ns = (double)process->wall_ns;
    }
    if (hosts)
        take_off_sleep(e, hosts);
    return hosts;
}

static double waited_for_turns_ns(const struct host *host, size_t n_processors)
{
    double ns = host->computing_ns - (double)n_processors * host->wall_ns;

    return host->n_ranks > n_processors && ns > 0 ? ns : 0;
}

static void tell(struct ar_evidence *e, const struct host *hosts, uint32_t worst,
                 size_t n_processors, double won_ns)
{
    const struct host *host = &hosts[worst];
    struct ar_finding *f = ar_finding_add(e, "oversubscription", won_ns);

    ar_finding_say(
        e, f, "%s share %s on %s: of %s that they compute in %s they waited %s (%s) for a turn",
        ar_show_items(host->n_ranks, "rank", "ranks"),
        ar_show_items(n_processors, "processor", "processors"),
        ar_strtab_text(&e->p->strings, worst), ar_show_duration(host->computing_ns),
        ar_show_duration(host->wall_ns), ar_show_duration(won_ns),
        ar_show_share(won_ns / e->all_ns));
    ar_finding_show(e, f, "info", "");
}

void ar_rule_oversubscription(struct ar_evidence *e)
{
    size_t n_processors = count_processors(e->p);
    struct host *hosts = n_processors ? add_up(e) : NULL;
    uint32_t worst = 0;
    double won_ns = 0;

    for (uint32_t i = 0; hosts && i < e->p->strings.n_strings; i++) {
        won_ns += waited_for_turns_ns(&hosts[i], n_processors);
        if (waited_for_turns_ns(&hosts[i], n_processors) >
            waited_for_turns_ns(&hosts[worst], n_processors))
            worst = i;
    }
    if (hosts && ar_is_worth_saying(e, won_ns))
        tell(e, hosts, worst, n_processors, won_ns);
    free(hosts);
}
