// SPDX-License-Identifier: BSD-3-Clause
/*
 * Merging two profiles: every table of the other one is added to ours, which says what its numbers
 * become here; then the values follow with their numbers replaced. Linear in what is added,
 * whatever is there already, so that a merge of P ranks in any order costs the sum of their sizes.
 */
#include "format/profile.h"

#include <stdlib.h>

struct remap {
    uint32_t *string, *function, *node;
    uint32_t process, location; /* added to the other one's numbers */
};

static enum ar_status add_strings(struct ar_profile *p, const struct ar_profile *other,
                                  struct remap *map)
{
    for (uint32_t i = 0; i < other->strings.n_strings; i++)
        if (ar_profile_string(p, ar_strtab_get(&other->strings, i), &map->string[i]) < 0)
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

static enum ar_status add_processes(struct ar_profile *p, const struct ar_profile *other,
                                    const struct remap *map)
{
    uint32_t id;

    for (size_t i = 0; i < other->n_processes; i++) {
        struct ar_process process = other->processes[i];

        process.host = map->string[process.host];
        process.command = map->string[process.command];
        if (ar_profile_process(p, &process, &id) < 0)
            return AR_NOMEM;
    }
    for (size_t i = 0; i < other->n_locations; i++) {
        struct ar_location location = other->locations[i];

        location.process += map->process;
        location.name = map->string[location.name];
        location.current = current_node(other, map, location.current);
        if (ar_profile_location(p, &location, &id) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_values(struct ar_profile *p, const struct ar_profile *other,
                                 const struct remap *map)
{
    for (int m = 0; m < AR_N_METRICS; m++)
        for (size_t i = 0; i < other->metrics[m].n_values; i++) {
            struct ar_value value = other->metrics[m].values[i];

            value.node = map->node[value.node];
            value.location += map->location;
            if (ar_profile_value(p, (enum ar_metric_id)m, value) < 0)
                return AR_NOMEM;
        }
    return AR_OK;
}

enum ar_status ar_profile_merge(struct ar_profile *p, const struct ar_profile *other)
{
    struct remap map = {
        .string = calloc(other->strings.n_strings + 1, sizeof *map.string),
        .function = calloc(other->n_functions + 1, sizeof *map.function),
        .node = calloc(other->n_nodes + 1, sizeof *map.node),
        .process = (uint32_t)p->n_processes,
        .location = (uint32_t)p->n_locations,
    };
    enum ar_status status = AR_NOMEM;

    if (!map.string || !map.function || !map.node)
        goto out;
    status = add_strings(p, other, &map);
    if (status == AR_OK)
        status = add_facts(p, other);
    if (status == AR_OK)
        status = add_functions(p, other, &map);
    if (status == AR_OK)
        status = add_nodes(p, other, &map);
    if (status == AR_OK)
        status = add_processes(p, other, &map);
    if (status == AR_OK)
        status = add_values(p, other, &map);
out:
    free(map.string);
    free(map.function);
    free(map.node);
    return status;
}
