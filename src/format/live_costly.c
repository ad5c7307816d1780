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

struct finding {
    struct ar_costly *out;
    const struct ar_live *live;
    const uint8_t *kinds;
    size_t n_functions;
    uint64_t now_ticks;
    bool all;
    uint64_t *children; /* by ref: time of what it called */
    uint32_t *above;    /* by ref: the nearest node above that is not a function in C */
    uint64_t *inside;   /* by ref of such a node: time of what it called, through C or not */
    uint64_t *claimed;  /* likewise: own time of the functions in C that it called */
    bool *is_called;    /* by function in C, from 1 */
    struct ar_idmap sum_of, time_of_thread;
    struct sum *sums;
    size_t n_sums, cap_sums;
    uint64_t *threads;
    size_t n_threads, cap_threads;
};

uint64_t ar_live_ticks(const struct ar_node *node, uint64_t now_ticks)
{
    int64_t ticks = node->ticks;

    if (ticks < 0)
        ticks = (int64_t)((uint64_t)ticks + now_ticks);
    return ticks > 0 ? (uint64_t)ticks : 0;
}

/* A chain goes to smaller offsets only: a damaged one cannot go round in circles. */
const struct ar_values *ar_live_values(const struct ar_live *live, const struct ar_node *node,
                                       enum ar_values_kind kind)
{
    for (uint32_t ref = node->values_ref; ref;) {
        const struct ar_values *values = ar_live_at(live, ref);

        if (!values)
            return NULL;
        if (values->kind == (uint32_t)kind)
            return values;
        if (values->next_ref >= ref)
            return NULL;
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

        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_node)); i++, ref++) {
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

    return function > 0 && function <= f->n_functions && f->kinds[function] == AR_FUNCTION_BUILTIN;
}

static void add_to_parent(struct finding *f, const struct ar_node *node, uint32_t ref,
                          uint64_t ticks)
{
    uint32_t parent = node->parent_ref;

    f->children[parent] += ticks;
    f->above[ref] = f->above[parent] ? f->above[parent] : parent;
    if (is_builtin(f, node))
        return;
    f->inside[f->above[ref]] += ticks;
    f->above[ref] = 0; /* what it calls has it above */
}

/* The root of a thread has its time; parents come before their children. */
static enum ar_status add_up_children(struct finding *f, const struct ar_node *node, uint32_t ref,
                                      uint32_t thread)
{
    uint64_t ticks = ar_live_ticks(node, f->now_ticks);

    f->out->ticks[ref] = ticks;
    if (node->parent_ref) {
        if (node->parent_ref < ref)
            add_to_parent(f, node, ref, ticks);
        return AR_OK;
    }
    if (ar_grow((void **)&f->threads, &f->cap_threads, f->n_threads + 1, sizeof *f->threads) < 0 ||
        ar_idmap_put(&f->time_of_thread, (uint64_t)thread + 1, (uint32_t)f->n_threads) < 0)
        return AR_NOMEM;
    f->threads[f->n_threads++] = ticks;
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
static uint64_t own_ticks(const struct finding *f, const struct ar_node *node, uint32_t ref)
{
    const struct ar_values *values = ar_live_values(f->live, node, AR_VALUES_ESTIMATE);
    uint64_t seen = f->out->ticks[ref], inside = f->children[ref];
    uint64_t own = inside < seen ? seen - inside : 0;

    if (!values || !seen)
        return own;

    double unseen = (double)values->words[AR_ESTIMATE_TICKS] * (double)own / (double)seen;

    return own + (uint64_t)(unseen < 0x1p62 ? unseen : 0x1p62); /* a damaged file may hold more */
}

static enum ar_status find_own_time(struct finding *f, const struct ar_node *node, uint32_t ref,
                                    uint32_t thread)
{
    (void)thread;
    if (f->all || !is_builtin(f, node))
        return AR_OK;
    f->out->ticks[ref] = own_ticks(f, node, ref);
    f->claimed[f->above[ref]] += f->out->ticks[ref];
    return AR_OK;
}

/* However large the estimates, they are part of the time that their caller did not spend elsewhere. */
static uint64_t fit(const struct finding *f, uint32_t ref)
{
    uint32_t above = f->above[ref];
    uint64_t whole = f->out->ticks[above], inside = f->inside[above];
    uint64_t room = inside < whole ? whole - inside : 0;
    uint64_t ticks = f->out->ticks[ref];

    if (f->claimed[above] <= room)
        return ticks;
    return (uint64_t)((double)ticks * (double)room / (double)f->claimed[above]);
}

static enum ar_status add_up_builtins(struct finding *f, const struct ar_node *node, uint32_t ref,
                                      uint32_t thread)
{
    if (!is_builtin(f, node))
        return AR_OK;

    uint64_t *sum = sum_of(f, (uint32_t)node->key, thread);

    if (!sum)
        return AR_NOMEM;
    if (!f->all)
        f->out->ticks[ref] = fit(f, ref);
    *sum += f->out->ticks[ref];
    return AR_OK;
}

static void keep_what_matters(struct finding *f)
{
    for (size_t i = 0; i < f->n_sums; i++) {
        const struct sum *sum = &f->sums[i];
        uint32_t thread = ar_idmap_get(&f->time_of_thread, (uint64_t)sum->thread + 1, AR_NO_ID);
        double whole = thread == AR_NO_ID ? 0 : (double)f->threads[thread];

        if (f->all || (double)sum->ticks >= SMALLEST_SHARE * whole)
            f->out->is_kept[sum->function] = true;
    }
    for (size_t i = 1; i <= f->n_functions; i++)
        if (f->is_called[i] && !f->out->is_kept[i])
            f->out->n_left_out++;
}

enum ar_status ar_costly_find(struct ar_costly *out, const struct ar_live *live,
                              const uint8_t *kinds, size_t n_functions, bool all,
                              uint64_t now_ticks)
{
    size_t n_refs = live->n_bytes / AR_LIVE_REF_BYTES + 1;
    struct finding f = {
        .out = out,
        .live = live,
        .kinds = kinds,
        .n_functions = n_functions,
        .now_ticks = now_ticks,
        .all = all,
        .children = calloc(n_refs, sizeof *f.children),
        .above = calloc(n_refs, sizeof *f.above),
        .inside = calloc(n_refs, sizeof *f.inside),
        .claimed = calloc(n_refs, sizeof *f.claimed),
        .is_called = calloc(n_functions + 1, sizeof *f.is_called),
    };
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_costly){
        .ticks = calloc(n_refs, sizeof *out->ticks),
        .is_kept = calloc(n_functions + 1, sizeof *out->is_kept),
    };
    if (f.children && f.above && f.inside && f.claimed && f.is_called && out->ticks && out->is_kept)
        status = each_node(&f, add_up_children);
    if (status == AR_OK)
        status = each_node(&f, find_own_time);
    if (status == AR_OK)
        status = each_node(&f, add_up_builtins);
    if (status == AR_OK)
        keep_what_matters(&f);
    free(f.children);
    free(f.above);
    free(f.inside);
    free(f.claimed);
    free(f.is_called);
    free(f.sums);
    free(f.threads);
    ar_idmap_free(&f.sum_of);
    ar_idmap_free(&f.time_of_thread);
    return status;
}

void ar_costly_free(struct ar_costly *costly)
{
    free(costly->ticks);
    free(costly->is_kept);
    *costly = (struct ar_costly){0};
}
