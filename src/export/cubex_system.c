// SPDX-License-Identifier: BSD-3-Clause
#include "export/cubex_system.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* By what processes are sorted, one after the other. */
struct place {
    uint32_t host; /* number of the first process that is there */
    uint32_t rank; /* of the family */
    uint32_t root, process;
};

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Roots come before their children, as in the profile. */
static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = compare(x->host, y->host);

    order = order ? order : compare(x->rank, y->rank);
    order = order ? order : compare(x->root, y->root);
    return order ? order : compare(x->process, y->process);
}

static enum ar_status find_hosts(const struct ar_profile *p, struct place *places)
{
    struct ar_idmap first = {0};
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < p->n_processes && status == AR_OK; i++) {
        uint64_t key = (uint64_t)p->processes[i].host + 1;

        places[i].host = ar_idmap_get(&first, key, i);
        if (places[i].host == i)
            status = ar_idmap_put(&first, key, i);
    }
    ar_idmap_free(&first);
    return status;
}

static enum ar_status sort_processes(struct ar_cubex_system *system, const struct ar_profile *p)
{
    struct place *places = calloc(p->n_processes + 1, sizeof *places);
    enum ar_status status = places ? find_hosts(p, places) : AR_NOMEM;

    for (uint32_t i = 0; i < p->n_processes && status == AR_OK; i++) {
        places[i].process = i;
        places[i].root = p->processes[i].root;
        places[i].rank = p->processes[places[i].root].world_rank;
    }
    if (status == AR_OK)
        qsort(places, p->n_processes, sizeof *places, by_place);
    for (uint32_t i = 0; i < p->n_processes && status == AR_OK; i++)
        system->processes[i] = (struct ar_cubex_process){
            .process = places[i].process, .host = p->processes[places[i].process].host};
    system->n_processes = (uint32_t)p->n_processes;
    free(places);
    return status;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool is_root(const struct ar_profile *p, uint32_t process)
{
    return p->processes[process].root == process;
}

/* Runs of several jobs may have a rank twice: the second is numbered with those that have none. */
static enum ar_status take_ranks(struct ar_cubex_system *system, const struct ar_profile *p,
                                 uint32_t *next)
{
    struct ar_idmap taken = {0};
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < system->n_processes && status == AR_OK; i++) {
        struct ar_cubex_process *process = &system->processes[i];
        uint32_t rank = p->processes[process->process].world_rank;
        uint64_t key = (uint64_t)rank + 1;

        process->rank = AR_RANK_NONE;
        if (!is_root(p, process->process) || rank >= INT32_MAX ||
            ar_idmap_get(&taken, key, AR_NO_ID) != AR_NO_ID)
            continue;
        process->rank = rank;
        *next = rank >= *next ? rank + 1 : *next;
        status = ar_idmap_put(&taken, key, i);
    }
    ar_idmap_free(&taken);
    return status;
}

static enum ar_status number_processes(struct ar_cubex_system *system, const struct ar_profile *p)
{
    uint32_t next = 0;
    enum ar_status status = take_ranks(system, p, &next);

    for (uint32_t i = 0; i < system->n_processes; i++)
        if (system->processes[i].rank == AR_RANK_NONE)
            system->processes[i].rank = next++;
    return status;
}

/* ---- columns ---------------------------------------------------------------------------------- */

static enum ar_status number_columns(struct ar_cubex_system *system, const struct ar_profile *p)
{
    uint32_t *next = calloc(p->n_processes + 1, sizeof *next); /* by process of the profile */

    if (!next)
        return AR_NOMEM;
    for (size_t i = 0; i < p->n_locations; i++)
        next[p->locations[i].process]++;
    for (uint32_t i = 0; i < system->n_processes; i++) {
        struct ar_cubex_process *process = &system->processes[i];
        uint32_t n = next[process->process];

        process->first_column = system->n_columns;
        process->n_columns = n ? n : 1;
        next[process->process] = process->first_column;
        system->location_at[process->first_column] = AR_NO_ID;
        system->n_columns += process->n_columns;
    }
    for (uint32_t i = 0; i < p->n_locations; i++) {
        system->column_of[i] = next[p->locations[i].process]++;
        system->location_at[system->column_of[i]] = i;
    }
    free(next);
    return AR_OK;
}

enum ar_status ar_cubex_system_build(struct ar_cubex_system *out, const struct ar_profile *p)
{
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_cubex_system){0};
    out->processes = calloc(p->n_processes + 1, sizeof *out->processes);
    out->column_of = calloc(p->n_locations + 1, sizeof *out->column_of);
    out->location_at = calloc(p->n_locations + p->n_processes + 1, sizeof *out->location_at);
    if (out->processes && out->column_of && out->location_at)
        status = sort_processes(out, p);
    if (status == AR_OK)
        status = number_processes(out, p);
    if (status == AR_OK)
        status = number_columns(out, p);
    if (status < 0)
        ar_cubex_system_free(out);
    return status;
}

void ar_cubex_system_free(struct ar_cubex_system *system)
{
    free(system->processes);
    free(system->column_of);
    free(system->location_at);
    *system = (struct ar_cubex_system){0};
}

/* ---- names ------------------------------------------------------------------------------------ */

/* As Score-P calls them. */
static void name_root(const struct ar_process *process, char *name, size_t n_name)
{
    if (process->world_rank != AR_RANK_NONE)
        snprintf(name, n_name, "MPI Rank %" PRIu32, process->world_rank);
    else if (process->pid)
        snprintf(name, n_name, "Process (pid %" PRIu32 ")", process->pid);
    else
        snprintf(name, n_name, "Process");
}

void ar_cubex_process_name(const struct ar_profile *p, uint32_t process, char *name, size_t n_name)
{
    const struct ar_process *found = &p->processes[process];
    char root[64];

    name_root(&p->processes[found->root], root, sizeof root);
    if (is_root(p, process))
        snprintf(name, n_name, "%s", root);
    else
        snprintf(name, n_name, "%s: %s (pid %" PRIu32 ")", root,
                 ar_strtab_text(&p->strings, found->command), found->pid);
}
