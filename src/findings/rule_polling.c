// SPDX-License-Identifier: BSD-3-Clause
/*
 * polling: ranks that ask for messages again and again, and sleep in between: they are idle, and no call of MPI waits.
 *
 * The workers of mpi4py.futures wait for tasks like this, and programs of their own do. A sleep belongs to polling if the
 * function that sleeps, or its caller, also calls MPI_Iprobe, MPI_Test or one like these. Sleeps of main threads count: other
 * threads of a rank may poll while the rank works. Fires where it is worth a sentence.
 * Says which ranks, for how long, and in which function. No call of MPI waits, so nothing tells what for: the sentence says so,
 * and names the function of the program that takes longest on one rank.
 */
#include "base/text.h"
#include "findings/findings.h"
#include "findings/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OF_MOST                                                                              \
    0.1 /* of what the rank has that sleeps most: with less, it is not about that rank */

struct polling {
    bool *polls;       /* by node: a function that asks for messages */
    double *ns;        /* by root */
    double *in;        /* by function that sleeps, over all */
    uint32_t function; /* that has most of it */
    double all_ns;
    uint32_t *processes;
    size_t n;
};

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

static bool is_poll(const struct ar_profile *p, uint32_t node)
{
    static const char *const names[] = {"MPI_Iprobe", "MPI_Improbe", "MPI_Test",
                                        "MPI_Request_get_status"};

    if (p->functions[p->nodes[node].function].kind != AR_FUNCTION_MPI)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ar_starts_with(name_of(p, node), names[i]))
            return true;
    return false;
}

/* The nearest Python function above a node; AR_NO_ID: none. */
static uint32_t caller_of(const struct ar_profile *p, uint32_t node)
{
    do
        node = p->nodes[node].parent;
    while (node != AR_NO_ID && p->functions[p->nodes[node].function].kind != AR_FUNCTION_PYTHON);
    return node;
}

static void find_polls(const struct ar_profile *p, struct polling *polling)
{
    for (uint32_t node = 1; node < p->n_nodes; node++)
        if (is_poll(p, node) && caller_of(p, node) != AR_NO_ID)
            polling->polls[caller_of(p, node)] = true;
}

/* The function that sleeps, if that is between polls; else AR_NO_ID. */
static uint32_t sleeper_of(const struct ar_profile *p, const struct polling *polling, uint32_t node)
{
    uint32_t sleeper, caller;

    if (p->functions[p->nodes[node].function].kind != AR_FUNCTION_BUILTIN ||
        !ar_ends_with(name_of(p, node), "time.sleep"))
        return AR_NO_ID;
    sleeper = caller_of(p, node);
    caller = sleeper == AR_NO_ID ? AR_NO_ID : caller_of(p, sleeper);
    if (sleeper != AR_NO_ID &&
        (polling->polls[sleeper] || (caller != AR_NO_ID && polling->polls[caller])))
        return p->nodes[sleeper].function;
    return AR_NO_ID;
}

static void add_sleeps(struct ar_evidence *e, struct polling *polling)
{
    const struct ar_profile *p = e->p;

    for (uint32_t node = 1; node < p->n_nodes; node++) {
        uint32_t function = sleeper_of(p, polling, node);
        struct ar_row row = {0};

        if (function != AR_NO_ID)
            row = ar_selves_get(&e->own.selves, node);
        for (size_t i = 0; i < row.n; i++) {
            const struct ar_location *location = &p->locations[row.values[i].location];

            if (location->thread != 0 || location->process >= p->n_roots)
                continue;
            polling->ns[location->process] += (double)row.values[i].value;
            polling->in[function] += (double)row.values[i].value;
            polling->all_ns += (double)row.values[i].value;
        }
    }
}

static void find_largest(const struct ar_profile *p, struct polling *polling)
{
    double most_ns = 0;

    polling->function = 0;
    for (uint32_t i = 0; i < p->n_functions; i++)
        if (polling->in[i] > polling->in[polling->function])
            polling->function = i;
    for (size_t i = 0; i < p->n_roots; i++)
        most_ns = polling->ns[i] > most_ns ? polling->ns[i] : most_ns;
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (polling->ns[i] >= LEAST_OF_MOST * most_ns)
            polling->processes[polling->n++] = i;
}

/* "; the longest work of the program is pool.py:10 prepare, 1.50 s on rank 0" */
static const char *show_work(struct ar_evidence *e, const struct polling *polling)
{
    char *text = ar_text_buffer();
    uint32_t work = AR_NO_ID, process = 0;
    uint64_t most_ns = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < e->p->n_functions; i++) {
        if (polling->in[i] > 0 || !ar_is_code(e->p, i) || ar_is_installed(e->p, i))
            continue;

        struct ar_spread spread = ar_own_time_get(&e->own, i);

        if (spread.max > most_ns) {
            most_ns = spread.max;
            work = i;
            process = spread.max_process;
        }
    }
    if (work != AR_NO_ID)
        snprintf(text, AR_TEXT_BYTES, "; the longest work of the program is %s, %s on %s",
                 ar_show_culprit(e, work), ar_show_duration((double)most_ns),
                 ar_show_process(e->p, process));
    return text;
}

static void tell(struct ar_evidence *e, const struct polling *polling)
{
    const char *file = ar_strtab_text(&e->p->strings, e->p->functions[polling->function].file);
    struct ar_finding *f = ar_finding_add(e, "polling", polling->all_ns);

    ar_finding_say(e, f,
                   "%s slept %s in all (%s) in %s and polled for %s in between; which rank they "
                   "waited for is not recorded%s",
                   ar_show_ranks(e->p, polling->processes, polling->n),
                   ar_show_duration(polling->all_ns), ar_show_share(polling->all_ns / e->all_ns),
                   ar_show_culprit(e, polling->function),
                   strstr(file, "mpi4py/futures/") ? "tasks of mpi4py.futures" : "messages",
                   show_work(e, polling));
    ar_finding_show(e, f, "ranks", ar_show_function_line(e->p, polling->function));
    ar_finding_about(e, f, polling->processes, polling->n);
    if (f)
        f->place = ar_place_of_function(e->p, polling->function);
}

void ar_rule_polling(struct ar_evidence *e)
{
    struct polling polling = {
        .polls = calloc(e->p->n_nodes + 1, sizeof *polling.polls),
        .ns = calloc(e->p->n_roots + 1, sizeof *polling.ns),
        .in = calloc(e->p->n_functions + 1, sizeof *polling.in),
        .processes = malloc((e->p->n_roots + 1) * sizeof *polling.processes),
    };

    if (polling.polls && polling.ns && polling.in && polling.processes) {
        find_polls(e->p, &polling);
        add_sleeps(e, &polling);
        if (ar_is_worth_saying(e, polling.all_ns)) {
            find_largest(e->p, &polling);
            tell(e, &polling);
        }
    } else {
        e->bad = true;
    }
    free(polling.polls);
    free(polling.ns);
    free(polling.in);
    free(polling.processes);
}
