// SPDX-License-Identifier: BSD-3-Clause
/* Which processes belong together, and their order: roots first, then children as they came. */
#include "format/profile.h"

#include <stdlib.h>

/* Hash of host, pid and start to the index of a root; equal hashes are told apart by a look. */
struct roots {
    const struct ar_profile *p;
    struct ar_idmap by_name;
};

static uint64_t name_of(uint32_t host, uint32_t pid, uint64_t start)
{
    return ar_pair_key((uint64_t)host << 32 | pid, start);
}

static enum ar_status list_roots(struct roots *roots)
{
    const struct ar_profile *p = roots->p;

    for (uint32_t i = 0; i < p->n_processes; i++) {
        const struct ar_process *process = &p->processes[i];
        uint64_t name = name_of(process->host, process->pid, process->pid_start);

        if (process->root_pid || ar_idmap_get(&roots->by_name, name, AR_NO_ID) != AR_NO_ID)
            continue;
        if (ar_idmap_put(&roots->by_name, name, i) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Its own index where it is a root, or where that is not known. */
static uint32_t root_of(const struct roots *roots, uint32_t i)
{
    const struct ar_process *process = &roots->p->processes[i];
    uint32_t root;

    if (!process->root_pid)
        return i;
    root = ar_idmap_get(&roots->by_name,
                        name_of(process->host, process->root_pid, process->root_start), AR_NO_ID);
    return root != AR_NO_ID && roots->p->processes[root].pid == process->root_pid ? root : i;
}

/* `number` says what each process becomes. */
static enum ar_status order_processes(struct ar_profile *p, uint32_t *number)
{
    struct ar_process *ordered = calloc(p->n_processes + 1, sizeof *ordered);
    uint32_t n = 0;

    if (!ordered)
        return AR_NOMEM;
    for (int children = 0; children < 2; children++)
        for (uint32_t i = 0; i < p->n_processes; i++)
            if ((p->processes[i].root != i) == children)
                number[i] = n++;
    p->n_roots = 0;
    for (uint32_t i = 0; i < p->n_processes; i++) {
        struct ar_process *process = &ordered[number[i]];

        p->n_roots += p->processes[i].root == i;
        *process = p->processes[i];
        process->root = number[process->root];
    }
    free(p->processes);
    p->processes = ordered;
    ar_profile_forget_processes(p);
    p->cap_processes = p->n_processes + 1;
    return AR_OK;
}

/* Counting sort by root; those of one family keep their order. */
static void number_locations(const struct ar_profile *p, uint32_t *start, uint32_t *number)
{
    for (size_t i = 0; i < p->n_locations; i++)
        start[p->processes[p->locations[i].process].root + 1]++;
    for (size_t i = 0; i < p->n_processes; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < p->n_locations; i++)
        number[i] = start[p->processes[p->locations[i].process].root]++;
}

static enum ar_status renumber_values(struct ar_profile *p, const uint32_t *number)
{
    const struct ar_role_maps maps = {.to = {[AR_ROLE_LOCATION] = number}};

    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++) {
        struct ar_metric *metric = &p->metrics[m];

        for (size_t i = 0; i < metric->n_values; i++)
            metric->values[i].location = number[metric->values[i].location];
        metric->sorted = metric->n_values == 0;
        metric->is_by_location = false;
    }
    ar_profile_renumber_tables(p, &maps);
    return ar_profile_renumber_syncs(p, number);
}

/* No version writes packed metrics in another order than that of families, but a file may say anything. */
static enum ar_status renumber(struct ar_profile *p, const uint32_t *number)
{
    enum ar_status status = ar_profile_unpack(p);

    if (status == AR_OK)
        status = renumber_values(p, number);
    return status;
}

static enum ar_status order_locations(struct ar_profile *p)
{
    uint32_t *start = calloc(p->n_processes + 2, sizeof *start);
    uint32_t *number = malloc((p->n_locations + 1) * sizeof *number);
    struct ar_location *ordered = malloc((p->n_locations + 1) * sizeof *ordered);
    bool changed = false;

    if (!start || !number || !ordered) {
        free(ordered);
        ordered = NULL;
    } else {
        number_locations(p, start, number);
        for (uint32_t i = 0; i < p->n_locations; i++) {
            ordered[number[i]] = p->locations[i];
            changed = changed || number[i] != i;
        }
        free(p->locations);
        p->locations = ordered;
        p->cap_locations = p->n_locations + 1;
        if (changed && renumber(p, number) < 0)
            ordered = NULL;
    }
    free(start);
    free(number);
    return ordered ? AR_OK : AR_NOMEM;
}

static bool has_children(const struct ar_profile *p)
{
    for (size_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].root_pid)
            return true;
    return false;
}

static enum ar_status find_families(struct ar_profile *p)
{
    struct roots roots = {.p = p};
    uint32_t *number = malloc((p->n_processes + 1) * sizeof *number);
    enum ar_status status = number ? list_roots(&roots) : AR_NOMEM;

    for (uint32_t i = 0; status == AR_OK && i < p->n_processes; i++)
        p->processes[i].root = root_of(&roots, i);
    ar_idmap_free(&roots.by_name);
    if (status == AR_OK)
        status = order_processes(p, number);
    for (size_t i = 0; status == AR_OK && i < p->n_locations; i++)
        p->locations[i].process = number[p->locations[i].process];
    if (status == AR_OK)
        ar_profile_renumber_tables(p, &(struct ar_role_maps){.to = {[AR_ROLE_PROCESS] = number}});
    free(number);
    return status == AR_OK ? order_locations(p) : status;
}

enum ar_status ar_profile_families(struct ar_profile *p)
{
    if (has_children(p))
        return find_families(p);
    p->n_roots = p->n_processes;
    for (uint32_t i = 0; i < p->n_processes; i++)
        p->processes[i].root = i;
    return AR_OK;
}

/* Parents come first: below a child process, all of it is the child's. */
enum ar_status ar_profile_find_inherited(const struct ar_profile *p, const uint64_t *n_calls,
                                         bool *is_inherited)
{
    bool *is_in_child = calloc(p->n_nodes + 1, sizeof *is_in_child);

    if (!is_in_child)
        return AR_NOMEM;
    for (uint32_t node = 1; node < p->n_nodes; node++) {
        uint32_t kind = p->functions[p->nodes[node].function].kind;

        is_in_child[node] = kind == AR_FUNCTION_PROCESS || is_in_child[p->nodes[node].parent];
        is_inherited[node] = is_in_child[node] && !n_calls[node] && kind != AR_FUNCTION_PROCESS &&
                             kind != AR_FUNCTION_THREAD;
    }
    free(is_in_child);
    return AR_OK;
}
