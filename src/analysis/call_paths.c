// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/call_paths.h"

#include "analysis/own_time.h"
#include "base/arena.h"

#include <stdlib.h>

enum ar_status ar_call_paths_open(struct ar_call_paths *out, const struct ar_profile *p)
{
    *out = (struct ar_call_paths){.p = p};
    out->of_node = calloc(p->n_nodes + 1, sizeof *out->of_node);
    if (!out->of_node || ar_grow((void **)&out->items, &out->cap, 1, sizeof *out->items) < 0) {
        ar_call_paths_close(out);
        return AR_NOMEM;
    }
    out->items[out->n++] = (struct ar_call_path){.function = AR_NO_ID, .node = AR_NO_ID};
    return AR_OK;
}

void ar_call_paths_close(struct ar_call_paths *c)
{
    free(c->items);
    free(c->of_node);
    ar_idmap_free(&c->ids);
    *c = (struct ar_call_paths){0};
}

static uint32_t add_path(struct ar_call_paths *c, uint32_t parent, uint32_t node, uint64_t key)
{
    uint32_t function = c->p->nodes[node].function;

    if (ar_grow((void **)&c->items, &c->cap, c->n + 1, sizeof *c->items) < 0 ||
        ar_idmap_put(&c->ids, key, (uint32_t)c->n) < 0) {
        c->failed = true;
        return AR_PATH_UNKNOWN;
    }
    c->items[c->n] =
        (struct ar_call_path){.parent = parent,
                              .function = function,
                              .depth = c->items[parent].depth + 1,
                              .node = node,
                              .mask = c->items[parent].mask | ar_function_bit(function)};
    return (uint32_t)c->n++;
}

/* Of calls of MPI and of imports the line is all there is to know: ranks that meet call from different ones. */
static uint64_t key_of(const struct ar_profile *p, uint32_t parent, uint32_t node)
{
    uint32_t kind = p->functions[p->nodes[node].function].kind;
    uint64_t key = ((uint64_t)parent << 32 | p->nodes[node].function) + 1;

    if (kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_OPERATION || kind == AR_FUNCTION_IMPORT)
        key = ar_pair_key(key, p->nodes[node].line);
    return key;
}

static uint32_t below(struct ar_call_paths *c, uint32_t parent, uint32_t node)
{
    uint64_t key = key_of(c->p, parent, node);
    uint32_t id;

    if (ar_is_callers_own(c->p, node) && parent != AR_PATH_UNKNOWN)
        return parent;
    id = ar_idmap_get(&c->ids, key, AR_NO_ID);
    return id == AR_NO_ID ? add_path(c, parent, node, key) : id;
}

/* From the nearest caller that is known downwards; a tree may be deep. */
uint32_t ar_call_path_of(struct ar_call_paths *c, uint32_t node)
{
    while (!c->of_node[node]) {
        uint32_t at = node, parent = c->p->nodes[at].parent;

        while (parent != AR_NO_ID && !c->of_node[parent]) {
            at = parent;
            parent = c->p->nodes[at].parent;
        }
        c->of_node[at] =
            below(c, parent == AR_NO_ID ? AR_PATH_UNKNOWN : c->of_node[parent] - 1, at) + 1;
    }
    return c->of_node[node] - 1;
}

bool ar_call_path_has(const struct ar_call_paths *c, uint32_t path, uint32_t function)
{
    if (!(c->items[path].mask & ar_function_bit(function)))
        return false;
    for (; path != AR_PATH_UNKNOWN; path = c->items[path].parent)
        if (c->items[path].function == function)
            return true;
    return false;
}
