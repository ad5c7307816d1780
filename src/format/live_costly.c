// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_costly.h"

#include "base/arena.h"
#include "base/idmap.h"

#include <stdlib.h>

#define SMALLEST_SHARE 0.01

/* Time of a function in a thread. */
struct sum {
    uint32_t function, thread;
    uint64_t ticks;
};

/*
 * What is reckoned with for a function in C, and for a node that calls one. There are none for the
 * others, which are most: a tree has to be read in little memory.
 */
struct ar_cost {
    uint64_t ticks;   /* of a function in C: its own time; of a caller: all */
    uint64_t inside;  /* time of what it called; of a caller: through C or not */
    uint64_t claimed; /* of a caller: own time of the functions in C that it called */
    uint32_t above;   /* of a function in C: cost of the nearest node above that is none */
};

struct finding {
    struct ar_costly *out;
    const struct ar_live *live;
    const uint8_t *kinds;
    size_t n_functions;
    size_t n_costs, cap_costs;
    bool *is_called; /* by function in C, from 1 */
    struct ar_idmap sum_of, time_of_thread;
    struct sum *sums;
    size_t n_sums, cap_sums;
    uint64_t *threads;
    size_t n_threads, cap_threads;
};

uint64_t ar_live_ticks(const struct ar_node *node, uint64_t now_ticks)
{
    int64_t ticks = __atomic_load_n(&node->ticks, __ATOMIC_RELAXED);

    if (ticks < 0)
        ticks = (int64_t)((uint64_t)ticks + now_ticks);
    return ticks > 0 ? (uint64_t)ticks : 0;
}

/*
 * A node has one block of each kind: a damaged chain is not followed for longer than that, or a file of
 * nodes that all have the same long chain would keep its reader busy for hours.
 */
#define MOST_BLOCKS 16

const struct ar_values *ar_live_values(const struct ar_live *live, const struct ar_node *node,
                                       enum ar_values_kind kind)
{
    uint32_t ref = node->values_ref;

    for (int n = 0; ref && n < MOST_BLOCKS; n++) {
        const struct ar_values *values = ar_live_at(live, ref);

        if (!values || values->kind == (uint32_t)kind)
            return values;
        ref = values->next_ref;
    }
    return NULL;
}

typedef enum ar_status visit_fn(struct finding *f, const struct ar_node *node, uint32_t ref,
                                uint32_t thread);

static enum ar_status each_node(struct finding *f, visit_fn *visit)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(f->live, e, AR_EXTENT_NODES));) {
        uint32_t ref =
            (uint32_t)(((const unsigned char *)(e + 1) - f->live->bytes) / AR_LIVE_REF_BYTES);

        for (size_t i = 0, n = ar_extent_count(e, sizeof(struct ar_node)); i < n; i++, ref++) {
            enum ar_status status =
                visit(f, ar_extent_item(e, i, sizeof(struct ar_node)), ref, e->owner);

            if (status < 0)
                return status;
        }
    }
    return AR_OK;
}

static bool is_builtin(const struct finding *f, const struct ar_node *node)
{
    uint32_t function = (uint32_t)node->key;

    return function > 0 && function <= f->n_functions &&
           f->kinds[function] == AR_FUNCTION_BUILTIN && !(node->flags & AR_NODE_OPERATION);
}

/* NULL: there is nothing to reckon. */
static struct ar_cost *cost_at(const struct finding *f, uint32_t ref)
{
    uint32_t i = f->out->cost_of[ref];

    return i ? &f->out->costs[i] : NULL;
}

static struct ar_cost *add_cost(struct finding *f)
{
    if (ar_grow((void **)&f->out->costs, &f->cap_costs, f->n_costs + 1, sizeof *f->out->costs) < 0)
        return NULL;

    struct ar_cost *cost = &f->out->costs[f->n_costs++];

    *cost = (struct ar_cost){0};
    return cost;
}

/* Adds one if there is none yet: NULL without memory. Those that were given before may have moved. */
static struct ar_cost *make_cost(struct finding *f, uint32_t ref)
{
    struct ar_cost *cost = cost_at(f, ref);

    if (!cost) {
        cost = add_cost(f);
        if (cost)
            f->out->cost_of[ref] = (uint32_t)(f->n_costs - 1);
    }
    return cost;
}

/* A damaged file may name a parent that is none: then there is one without any time. */
static uint32_t parent_of(const struct ar_node *node, uint32_t ref)
{
    return node->parent_ref < ref ? node->parent_ref : 0;
}

/* Parents come before their children: that of a function in C has its own `above` already. */
static enum ar_status find_costs(struct finding *f, const struct ar_node *node, uint32_t ref,
                                 uint32_t thread)
{
    uint32_t parent = parent_of(node, ref);

    (void)thread;
    if (!is_builtin(f, node))
        return AR_OK;

    const struct ar_cost *caller = make_cost(f, parent);
    uint32_t above = caller && caller->above ? caller->above : f->out->cost_of[parent];
    struct ar_cost *own = caller ? make_cost(f, ref) : NULL;

    if (!own)
        return AR_NOMEM;
    own->above = above;
    return AR_OK;
}

static enum ar_status note_thread(struct finding *f, uint32_t thread, uint64_t ticks)
{
    if (ar_grow((void **)&f->threads, &f->cap_threads, f->n_threads + 1, sizeof *f->threads) < 0 ||
        ar_idmap_put(&f->time_of_thread, (uint64_t)thread + 1, (uint32_t)f->n_threads) < 0)
        return AR_NOMEM;
    f->threads[f->n_threads++] = ticks;
    return AR_OK;
}

/* The root of a thread has its time. */
static enum ar_status add_up_children(struct finding *f, const struct ar_node *node, uint32_t ref,
                                      uint32_t thread)
{
    uint64_t ticks = ar_live_ticks(node, f->out->now_ticks);
    struct ar_cost *own = cost_at(f, ref), *caller = cost_at(f, parent_of(node, ref));

    if (own)
        own->ticks = ticks;
    if (!node->parent_ref)
        return note_thread(f, thread, ticks);
    if (!caller)
        return AR_OK;
    if (!caller->above)
        caller->inside += is_builtin(f, node) ? 0 : ticks;
    else {
        caller->inside += ticks;
        if (!is_builtin(f, node))
            f->out->costs[caller->above].inside += ticks;
    }
    return AR_OK;
}

static uint64_t *sum_of(struct finding *f, uint32_t function, uint32_t thread)
{
    uint64_t key = ((uint64_t)thread + 1) << 32 | function;
    uint32_t i = ar_idmap_get(&f->sum_of, key, AR_NO_ID);

    if (i != AR_NO_ID)
        return &f->sums[i].ticks;
    if (ar_grow((void **)&f->sums, &f->cap_sums, f->n_sums + 1, sizeof *f->sums) < 0 ||
        ar_idmap_put(&f->sum_of, key, (uint32_t)f->n_sums) < 0)
        return NULL;
    f->is_called[function] = true;
    f->sums[f->n_sums] = (struct sum){.function = function, .thread = thread};
    return &f->sums[f->n_sums++].ticks;
}

/* Of what was seen only the function's own part stands for what was not. */
static uint64_t own_ticks(const struct finding *f, const struct ar_node *node,
                          const struct ar_cost *cost)
{
    const struct ar_values *values = ar_live_values(f->live, node, AR_VALUES_ESTIMATE);
    uint64_t seen = cost->ticks;
    uint64_t own = cost->inside < seen ? seen - cost->inside : 0;

    if (!values || !seen)
        return own;

    double unseen = (double)values->words[AR_ESTIMATE_TICKS] * (double)own / (double)seen;

    return own + (uint64_t)(unseen < 0x1p62 ? unseen : 0x1p62); /* a damaged file may hold more */
}

static enum ar_status find_own_time(struct finding *f, const struct ar_node *node, uint32_t ref,
                                    uint32_t thread)
{
    struct ar_cost *own = cost_at(f, ref);

    (void)thread;
    if (!own || !own->above)
        return AR_OK;
    own->ticks = own_ticks(f, node, own);
    f->out->costs[own->above].claimed += own->ticks;
    return AR_OK;
}

/* However large the estimates, they are part of the time that their caller did not spend elsewhere. */
static uint64_t fit(const struct finding *f, const struct ar_cost *own)
{
    const struct ar_cost *above = &f->out->costs[own->above];
    uint64_t room = above->inside < above->ticks ? above->ticks - above->inside : 0;

    if (above->claimed <= room)
        return own->ticks;
    return (uint64_t)((double)own->ticks * (double)room / (double)above->claimed);
}

static enum ar_status add_up_builtins(struct finding *f, const struct ar_node *node, uint32_t ref,
                                      uint32_t thread)
{
    struct ar_cost *own = cost_at(f, ref);

    if (!own || !own->above)
        return AR_OK;

    uint64_t *sum = sum_of(f, (uint32_t)node->key, thread);

    if (!sum)
        return AR_NOMEM;
    own->ticks = fit(f, own);
    *sum += own->ticks;
    return AR_OK;
}

static enum ar_status keep(struct finding *f, const struct ar_node *node, uint32_t ref,
                           uint32_t thread)
{
    (void)ref;
    (void)thread;
    if (is_builtin(f, node))
        f->out->is_kept[(uint32_t)node->key] = true;
    return AR_OK;
}

static void keep_what_matters(struct finding *f)
{
    for (size_t i = 0; i < f->n_sums; i++) {
        const struct sum *sum = &f->sums[i];
        uint32_t thread = ar_idmap_get(&f->time_of_thread, (uint64_t)sum->thread + 1, AR_NO_ID);
        double whole = thread == AR_NO_ID ? 0 : (double)f->threads[thread];

        if ((double)sum->ticks >= SMALLEST_SHARE * whole)
            f->out->is_kept[sum->function] = true;
    }
    for (size_t i = 1; i <= f->n_functions; i++)
        if (f->is_called[i] && !f->out->is_kept[i])
            f->out->n_left_out++;
}

/* What a method of mpi4py does besides MPI is shown apart, however little it is: pickling. */
static enum ar_status keep_parts_of_operations(struct finding *f, const struct ar_node *node,
                                               uint32_t ref, uint32_t thread)
{
    const struct ar_node *parent = ar_live_at(f->live, parent_of(node, ref));
    uint32_t function = parent ? (uint32_t)parent->key : 0;

    if (function && function <= f->n_functions && f->kinds[function] == AR_FUNCTION_OPERATION)
        return keep(f, node, ref, thread);
    return AR_OK;
}

static enum ar_status find_costly(struct finding *f)
{
    static visit_fn *const passes[] = {find_costs, add_up_children, find_own_time, add_up_builtins,
                                       keep_parts_of_operations};
    enum ar_status status = AR_OK;

    f->out->cost_of = calloc(f->live->n_bytes / AR_LIVE_REF_BYTES + 1, sizeof *f->out->cost_of);
    f->is_called = calloc(f->n_functions + 1, sizeof *f->is_called);
    if (!f->out->cost_of || !f->is_called || !add_cost(f)) /* 0 is none */
        return AR_NOMEM;
    for (size_t i = 0; i < sizeof passes / sizeof *passes && status == AR_OK; i++)
        status = each_node(f, passes[i]);
    if (status == AR_OK)
        keep_what_matters(f);
    return status;
}

enum ar_status ar_costly_find(struct ar_costly *out, const struct ar_live *live,
                              const uint8_t *kinds, size_t n_functions, bool all,
                              uint64_t now_ticks)
{
    struct finding f = {
        .out = out,
        .live = live,
        .kinds = kinds,
        .n_functions = n_functions,
    };
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_costly){
        .now_ticks = now_ticks,
        .is_kept = calloc(n_functions + 1, sizeof *out->is_kept),
    };
    if (out->is_kept)
        status = all ? each_node(&f, keep) : find_costly(&f);
    free(f.is_called);
    free(f.sums);
    free(f.threads);
    ar_idmap_free(&f.sum_of);
    ar_idmap_free(&f.time_of_thread);
    return status;
}

uint64_t ar_costly_ticks(const struct ar_costly *costly, const struct ar_node *node, uint32_t ref)
{
    uint32_t i = costly->cost_of ? costly->cost_of[ref] : 0;

    if (i && costly->costs[i].above)
        return costly->costs[i].ticks;
    return ar_live_ticks(node, costly->now_ticks);
}

void ar_costly_free(struct ar_costly *costly)
{
    free(costly->cost_of);
    free(costly->costs);
    free(costly->is_kept);
    *costly = (struct ar_costly){0};
}
