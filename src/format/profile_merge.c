// SPDX-License-Identifier: BSD-3-Clause
/*
 * Merging two profiles: every table of the other one is added to ours, which says what its numbers
 * become here; then the values follow with their numbers replaced. Linear in what is added,
 * whatever is there already, so that a merge of P ranks in any order costs the sum of their sizes.
 */
#include "format/profile.h"

#include <stdlib.h>

struct remap {
    uint32_t *string, *function, *node, *process, *location, *comm; /* AR_NO_ID: left out */
};

/* ---- processes that are met twice ------------------------------------------------------------- */

static bool is_twin(const struct ar_process *a, const struct ar_process *b)
{
    return a->pid && a->pid == b->pid && a->host == b->host && a->start_real_ns == b->start_real_ns;
}

/* By what twins have in common; equal hashes are told apart by a look. */
static uint64_t name_of(const struct ar_process *process)
{
    return ar_pair_key((uint64_t)process->host << 32 | process->pid, process->start_real_ns);
}

/* Those that came since it was looked at last. false: no memory. */
static bool index_processes(struct ar_profile *p)
{
    struct ar_idmap *ids = &p->process_ids;

    for (; p->n_indexed < p->n_processes; p->n_indexed++) {
        uint64_t key = name_of(&p->processes[p->n_indexed]);

        while (ar_idmap_get(ids, key ? key : 1, AR_NO_ID) != AR_NO_ID)
            key++;
        if (ar_idmap_put(ids, key ? key : 1, (uint32_t)p->n_indexed) < 0)
            return false;
    }
    return true;
}

void ar_profile_forget_processes(struct ar_profile *p)
{
    ar_idmap_free(&p->process_ids);
    p->n_indexed = 0;
}

/* AR_NO_ID: there is none. */
static uint32_t find_twin(struct ar_profile *p, const struct ar_process *process)
{
    uint32_t found = 0;

    if (!index_processes(p)) { /* without it, one by one */
        while (found < p->n_processes && !is_twin(&p->processes[found], process))
            found++;
        return found < p->n_processes ? found : AR_NO_ID;
    }
    for (uint64_t key = name_of(process);; key++) {
        found = ar_idmap_get(&p->process_ids, key ? key : 1, AR_NO_ID);
        if (found == AR_NO_ID || is_twin(&p->processes[found], process))
            return found;
    }
}

/* Gives what stays its new number, in order. */
static void number_processes(const struct ar_profile *p, uint32_t process, uint32_t *numbers)
{
    for (uint32_t i = 0; i < p->n_processes; i++)
        numbers[i] = i == process ? AR_NO_ID : i - (i > process);
}

static uint32_t number_locations(const struct ar_profile *p, uint32_t process, uint32_t *numbers)
{
    uint32_t n = 0;

    for (size_t i = 0; i < p->n_locations; i++)
        numbers[i] = p->locations[i].process == process ? AR_NO_ID : n++;
    return n;
}

static void remove_values(struct ar_metric *m, const uint32_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_values; i++)
        if (numbers[m->values[i].location] != AR_NO_ID) {
            m->values[n] = m->values[i];
            m->values[n++].location = numbers[m->values[i].location];
        }
    m->n_values = n;
}

/* With its threads and their values. Its nodes and communicators stay: others may have them, too. */
static bool remove_process(struct ar_profile *p, uint32_t process)
{
    uint32_t *numbers = malloc((p->n_locations + p->n_processes + 1) * sizeof *numbers);

    if (!numbers)
        return false;

    uint32_t *processes = numbers + p->n_locations;
    uint32_t n = number_locations(p, process, numbers);
    const struct ar_role_maps maps = {
        .to = {[AR_ROLE_LOCATION] = numbers, [AR_ROLE_PROCESS] = processes}};

    number_processes(p, process, processes);
    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++)
        remove_values(&p->metrics[m], numbers);
    ar_profile_renumber_tables(p, &maps);

    bool is_done = ar_profile_renumber_syncs(p, numbers) == AR_OK;

    for (size_t i = 0; i < p->n_locations; i++)
        if (numbers[i] != AR_NO_ID) {
            p->locations[numbers[i]] = p->locations[i];
            p->locations[numbers[i]].process = processes[p->locations[i].process];
        }
    p->n_locations = n;
    for (size_t i = process + 1; i < p->n_processes; i++)
        p->processes[i - 1] = p->processes[i];
    p->n_processes--;
    ar_profile_forget_processes(p);
    free(numbers);
    return is_done;
}

bool ar_profile_admit(struct ar_profile *p, const struct ar_process *process)
{
    uint32_t twin = find_twin(p, process);

    return twin == AR_NO_ID ||
           (process->wall_ns > p->processes[twin].wall_ns && remove_process(p, twin));
}

/* ---- tables ----------------------------------------------------------------------------------- */

enum ar_status ar_profile_find_strings(struct ar_profile *p, const struct ar_profile *other,
                                       uint32_t *numbers)
{
    for (uint32_t i = 0; i < other->strings.n_strings; i++)
        if (ar_profile_string(p, ar_strtab_get(&other->strings, i), &numbers[i]) < 0)
            return AR_NOMEM;
    return AR_OK;
}

static enum ar_status add_facts(struct ar_profile *p, const struct ar_profile *other)
{
    for (size_t i = 0; i < other->n_facts; i++)
        if (ar_profile_fact(p, ar_strtab_get(&other->strings, other->facts[i].key),
                            ar_strtab_get(&other->strings, other->facts[i].value)) < 0)
            return AR_NOMEM;
    return AR_OK;
}

static enum ar_status add_functions(struct ar_profile *p, const struct ar_profile *other,
                                    struct remap *map)
{
    for (size_t i = 0; i < other->n_functions; i++) {
        struct ar_function function = other->functions[i];

        function.name = map->string[function.name];
        function.file = map->string[function.file];
        function.module = map->string[function.module];
        if (ar_profile_function(p, function, &map->function[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_nodes(struct ar_profile *p, const struct ar_profile *other,
                                struct remap *map)
{
    for (size_t i = 1; i < other->n_nodes; i++) {
        struct ar_profile_node node = other->nodes[i];

        node.parent = map->node[node.parent];
        node.function = map->function[node.function];
        if (ar_profile_node(p, node, &map->node[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Where only tables are merged, as in fold.c, there is no such node. */
static uint32_t current_node(const struct ar_profile *other, const struct remap *map,
                             uint32_t current)
{
    return current && current <= other->n_nodes ? map->node[current - 1] + 1 : 0;
}

/* Only afterwards are numbers given: those that are replaced leave a gap, which is closed. */
static enum ar_status add_processes(struct ar_profile *p, const struct ar_profile *other,
                                    struct remap *map)
{
    for (size_t i = 0; i < other->n_processes; i++) {
        struct ar_process process = other->processes[i];

        process.host = map->string[process.host];
        map->process[i] = ar_profile_admit(p, &process) ? 0 : AR_NO_ID;
    }
    for (size_t i = 0; i < other->n_processes; i++) {
        struct ar_process process = other->processes[i];

        if (map->process[i] == AR_NO_ID)
            continue;
        process.host = map->string[process.host];
        process.command = map->string[process.command];
        if (ar_profile_process(p, &process, &map->process[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_locations(struct ar_profile *p, const struct ar_profile *other,
                                    struct remap *map)
{
    for (size_t i = 0; i < other->n_locations; i++) {
        struct ar_location location = other->locations[i];

        map->location[i] = AR_NO_ID;
        location.process = map->process[location.process];
        if (location.process == AR_NO_ID)
            continue;
        location.name = map->string[location.name];
        location.current = current_node(other, map, location.current);
        if (ar_profile_location(p, &location, &map->location[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_row(struct ar_profile *p, unsigned metric, const struct ar_value *values,
                              size_t n, const struct remap *map)
{
    for (size_t i = 0; i < n; i++) {
        struct ar_value value = values[i];

        value.node = map->node[value.node];
        value.location = map->location[value.location];
        if (value.location == AR_NO_ID)
            continue;
        if (ar_profile_value(p, metric, value) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Row by row: there is never more than one that is plain. */
static enum ar_status add_packed(struct ar_profile *p, unsigned metric,
                                 const struct ar_profile *other, unsigned theirs,
                                 const struct remap *map)
{
    const struct ar_packed *packed = &other->packed[theirs];
    struct ar_value *row = malloc((other->sets.n_most + 1) * sizeof *row);
    enum ar_status status = row ? AR_OK : AR_NOMEM;

    for (size_t i = 0; i < packed->n_rows && status == AR_OK; i++)
        status = add_row(p, metric, row, ar_packed_get(packed, &other->sets, i, row), map);
    free(row);
    return status;
}

static enum ar_status add_metric(struct ar_profile *p, const struct ar_profile *other,
                                 unsigned theirs, const struct remap *map)
{
    const struct ar_metric *plain = &other->metrics[theirs];
    unsigned metric;
    enum ar_status status = ar_profile_find_metric(p, ar_profile_metric(other, theirs), &metric);

    if (status == AR_BAD)
        return p->n_processes ? ar_profile_lose(p, 0, AR_LOST_METRICS, 1) : AR_OK;
    if (status == AR_OK)
        status = add_row(p, metric, plain->values, plain->n_values, map);
    if (status == AR_OK && other->packed[theirs].n_rows)
        status = add_packed(p, metric, other, theirs, map);
    return status;
}

static enum ar_status add_values(struct ar_profile *p, const struct ar_profile *other,
                                 const struct remap *map)
{
    enum ar_status status = AR_OK;

    for (unsigned m = 0; m < ar_profile_n_metrics(other) && status == AR_OK; m++)
        status = add_metric(p, other, m, map);
    return status;
}

/* Of numbers plus one, where 0 is none. */
static uint32_t mapped(const uint32_t *map, uint32_t number)
{
    return number ? map[number - 1] + 1 : 0;
}

static enum ar_status add_comms(struct ar_profile *p, const struct ar_profile *other,
                                struct remap *map)
{
    for (size_t i = 0; i < other->n_comms; i++) {
        struct ar_comm comm = other->comms[i];

        comm.name = map->string[comm.name];
        comm.parent = mapped(map->comm, comm.parent);
        comm.made_at = mapped(map->node, comm.made_at);
        if (ar_profile_comm(p, comm, &map->comm[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_tables(struct ar_profile *p, const struct ar_profile *other,
                                 const struct remap *map)
{
    const struct ar_role_maps maps = {.to = {[AR_ROLE_STRING] = map->string,
                                             [AR_ROLE_FUNCTION] = map->function,
                                             [AR_ROLE_NODE] = map->node,
                                             [AR_ROLE_PROCESS] = map->process,
                                             [AR_ROLE_LOCATION] = map->location,
                                             [AR_ROLE_COMM] = map->comm}};

    enum ar_status status = ar_profile_add_tables(p, other, &maps);

    return status == AR_OK ? ar_profile_add_other_streams(p, other, &maps, true) : status;
}

static enum ar_status add_stream(struct ar_profile *p, const struct ar_stream *stream,
                                 const struct remap *map)
{
    const struct ar_stream_maps maps = {map->node, map->comm};
    uint32_t location = map->location[stream->location];

    return location == AR_NO_ID ? AR_OK : ar_profile_stream(p, stream, location, &maps, true);
}

static enum ar_status add_streams(struct ar_profile *p, const struct ar_profile *other,
                                  const struct remap *map)
{
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < other->n_streams && status == AR_OK; i++)
        status = add_stream(p, &other->streams[i], map);
    if (status == AR_OK && other->writer) {
        const struct ar_stream so_far = ar_stream_so_far(other->writer);

        status = add_stream(p, &so_far, map);
    }
    return status;
}

enum ar_status ar_profile_merge(struct ar_profile *p, const struct ar_profile *other)
{
    struct remap map = {
        .string = calloc(other->strings.n_strings + 1, sizeof *map.string),
        .function = calloc(other->n_functions + 1, sizeof *map.function),
        .node = calloc(other->n_nodes + 1, sizeof *map.node),
        .process = calloc(other->n_processes + 1, sizeof *map.process),
        .location = calloc(other->n_locations + 1, sizeof *map.location),
        .comm = calloc(other->n_comms + 1, sizeof *map.comm),
    };
    enum ar_status status = AR_NOMEM;

    if (!map.string || !map.function || !map.node || !map.process || !map.location || !map.comm)
        goto out;
    status = ar_profile_find_strings(p, other, map.string);
    if (status == AR_OK)
        status = add_facts(p, other);
    if (status == AR_OK)
        status = add_functions(p, other, &map);
    if (status == AR_OK)
        status = add_nodes(p, other, &map);
    if (status == AR_OK)
        status = add_processes(p, other, &map);
    if (status == AR_OK)
        status = add_locations(p, other, &map);
    if (status == AR_OK)
        status = add_values(p, other, &map);
    if (status == AR_OK)
        status = add_comms(p, other, &map);
    if (status == AR_OK)
        status = add_tables(p, other, &map);
    if (status == AR_OK)
        status = add_streams(p, other, &map);
    p->n_unknown_sections += other->n_unknown_sections;
out:
    free(map.string);
    free(map.function);
    free(map.node);
    free(map.process);
    free(map.location);
    free(map.comm);
    return status;
}
