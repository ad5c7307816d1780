// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/hang.h"

#include "analysis/mpi_class.h"
#include "analysis/stacks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEAST_NS 1000000000u /* ranks are apart by less than that in programs that move */

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, function_of(p, node)->name);
}

/* The method of mpi4py around an MPI call, which may be made of messages; or else the call itself. */
static uint32_t find_call(const struct ar_profile *p, uint32_t node)
{
    uint32_t call = AR_NO_ID;

    for (; node != AR_NO_ID && node != 0; node = p->nodes[node].parent) {
        uint32_t kind = function_of(p, node)->kind;

        if (kind == AR_FUNCTION_OPERATION)
            return node;
        if (kind == AR_FUNCTION_MPI)
            call = node;
        else if (kind != AR_FUNCTION_BUILTIN)
            break;
    }
    return call;
}

static bool is_collective(const struct ar_profile *p, uint32_t call)
{
    static const char *const methods[] = {"barrier",  "bcast",  "gather",    "scatter", "allgather",
                                          "alltoall", "reduce", "allreduce", "scan",    "exscan"};
    const char *name = name_of(p, call), *dot = strrchr(name, '.');

    if (function_of(p, call)->kind == AR_FUNCTION_MPI)
        return strcmp(ar_mpi_class_of(name).name, "collective") == 0;
    for (size_t i = 0; dot && i < sizeof methods / sizeof *methods; i++)
        if (strncasecmp(dot + 1, methods[i], strlen(methods[i])) == 0)
            return true;
    return false;
}

static size_t list_ranks(const struct ar_profile *p, struct ar_hang_rank *ranks)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].state == AR_PROCESS_FINISHED)
            ranks[n++] = (struct ar_hang_rank){.process = i, .node = AR_NO_ID, .call = AR_NO_ID};
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct ar_location *at = &p->locations[i];

        if (at->thread == 0 && at->process < p->n_roots && at->current &&
            p->processes[at->process].state != AR_PROCESS_FINISHED)
            ranks[n++] = (struct ar_hang_rank){.process = at->process,
                                               .node = at->current - 1,
                                               .call = find_call(p, at->current - 1),
                                               .still_ns = ar_stacks_still_ns(p, i)};
    }
    return n;
}

/* One that was killed waits no longer, however short it was: then this is where the job stopped. */
static bool waits(const struct ar_profile *p, const struct ar_hang_rank *rank)
{
    bool is_running = p->processes[rank->process].state == AR_PROCESS_RUNNING;

    return rank->call != AR_NO_ID && (!is_running || rank->still_ns >= LEAST_NS) &&
           is_collective(p, rank->call);
}

static bool is_in(const struct ar_profile *p, const struct ar_hang_rank *rank, uint32_t function)
{
    return rank->call != AR_NO_ID && p->nodes[rank->call].function == function;
}

/* The function that most of them wait in; AR_NO_ID: none does. */
static uint32_t find_function(const struct ar_profile *p, const struct ar_hang_rank *ranks,
                              size_t n)
{
    uint32_t best = AR_NO_ID;
    size_t n_best = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t function = waits(p, &ranks[i]) ? p->nodes[ranks[i].call].function : AR_NO_ID;
        size_t n_in = 0;

        if (function == AR_NO_ID || function == best)
            continue;
        for (size_t k = 0; k < n; k++)
            n_in += is_in(p, &ranks[k], function);
        if (n_in > n_best) {
            n_best = n_in;
            best = function;
        }
    }
    return best;
}

static int by_process(const void *a, const void *b)
{
    const struct ar_hang_rank *x = a, *y = b;

    return (x->process > y->process) - (x->process < y->process);
}

static void divide(struct ar_hang *out, const struct ar_profile *p, struct ar_hang_rank *ranks,
                   size_t n, uint32_t function)
{
    out->least_ns = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!is_in(p, &ranks[i], function)) {
            out->missing[out->n_missing++] = ranks[i];
            continue;
        }
        out->in[out->n_in++] = ranks[i];
        if (ranks[i].still_ns < out->least_ns)
            out->least_ns = ranks[i].still_ns;
        if (ranks[i].still_ns > out->most_ns)
            out->most_ns = ranks[i].still_ns;
    }
}

enum ar_status ar_hang_find(struct ar_hang *out, const struct ar_profile *p)
{
    struct ar_hang_rank *ranks = malloc((2 * p->n_roots + 1) * sizeof *ranks);

    *out = (struct ar_hang){.in = malloc((2 * p->n_roots + 1) * sizeof *ranks),
                            .missing = malloc((2 * p->n_roots + 1) * sizeof *ranks)};
    if (!ranks || !out->in || !out->missing) {
        free(ranks);
        ar_hang_free(out);
        return AR_NOMEM;
    }

    size_t n = list_ranks(p, ranks);
    uint32_t function;

    qsort(ranks, n, sizeof *ranks, by_process);
    function = find_function(p, ranks, n);
    if (function != AR_NO_ID)
        divide(out, p, ranks, n, function);
    if (!out->n_missing)
        out->n_in = 0;
    free(ranks);
    return AR_OK;
}

void ar_hang_free(struct ar_hang *hang)
{
    free(hang->in);
    free(hang->missing);
    *hang = (struct ar_hang){0};
}
