// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_estimates.h"

#include "base/arena.h"
#include "format/live_values.h"

#include <stdlib.h>
#include <string.h>

/*
 * What is reckoned with for a node that has an estimate, and for one that calls such. There are none
 * for the others, which are most: a tree has to be read in little memory.
 */
struct ar_reckoned {
    uint64_t ticks;   /* measured */
    uint64_t inside;  /* of that, in what it called */
    double n_untimed; /* calls; 0: all of its time was measured */
    double added;     /* ticks for those calls */
    double variance;  /* of that, in ticks² */
    double claimed;   /* what is added to the nodes below it */
    uint32_t above;   /* its caller's */
};

/* Calls of a function that were timed. */
struct sample {
    double n, ticks, squares;
};

/* Of all nodes of a function: those with estimates, and the others, of which no squares are known. */
struct pool {
    struct sample estimated, exact;
};

struct finding {
    struct ar_estimates *out;
    const struct ar_live *live;
    size_t n_functions, n_reckoned, cap;
    struct pool *pools; /* by function, from 1 */
};

typedef enum ar_status visit_fn(struct finding *f, const struct ar_node *node, uint32_t ref);

static enum ar_status each_node(struct finding *f, visit_fn *visit)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(f->live, e, AR_EXTENT_NODES));) {
        uint32_t ref =
            (uint32_t)(((const unsigned char *)(e + 1) - f->live->bytes) / AR_LIVE_REF_BYTES);

        for (size_t i = 0, n = ar_extent_count(e, sizeof(struct ar_node)); i < n; i++, ref++) {
            enum ar_status status = visit(f, ar_extent_item(e, i, sizeof(struct ar_node)), ref);

            if (status < 0)
                return status;
        }
    }
    return AR_OK;
}

/* NULL: there is nothing to reckon. */
static struct ar_reckoned *reckoned_at(const struct finding *f, uint32_t ref)
{
    uint32_t i = f->out->reckoned_of[ref];

    return i ? &f->out->reckoned[i] : NULL;
}

static struct ar_reckoned *add_reckoned(struct finding *f)
{
    if (ar_grow((void **)&f->out->reckoned, &f->cap, f->n_reckoned + 1, sizeof *f->out->reckoned) <
        0)
        return NULL;

    struct ar_reckoned *reckoned = &f->out->reckoned[f->n_reckoned++];

    *reckoned = (struct ar_reckoned){0};
    return reckoned;
}

/* Adds one if there is none yet: NULL without memory. Those that were given before may have moved. */
static struct ar_reckoned *make_reckoned(struct finding *f, uint32_t ref)
{
    struct ar_reckoned *reckoned = reckoned_at(f, ref);

    if (!reckoned) {
        reckoned = add_reckoned(f);
        if (reckoned)
            f->out->reckoned_of[ref] = (uint32_t)(f->n_reckoned - 1);
    }
    return reckoned;
}

/* A damaged file may name a parent that is none: then there is one without any time. */
static uint32_t parent_of(const struct ar_node *node, uint32_t ref)
{
    return node->parent_ref < ref ? node->parent_ref : 0;
}

/* NULL: all of its calls were timed. */
static const uint64_t *estimate_of(const struct finding *f, const struct ar_node *node)
{
    const struct ar_values *values =
        node->values_ref ? ar_live_values(f->live, node, AR_VALUES_ESTIMATE) : NULL;

    return values && values->words[AR_ESTIMATE_TIMED] < node->n_calls ? values->words : NULL;
}

static enum ar_status find_estimates(struct finding *f, const struct ar_node *node, uint32_t ref)
{
    const uint64_t *words = estimate_of(f, node);
    uint32_t parent = parent_of(node, ref);

    if (!words)
        return AR_OK;
    if (!make_reckoned(f, parent))
        return AR_NOMEM;

    struct ar_reckoned *own = make_reckoned(f, ref);

    if (!own)
        return AR_NOMEM;
    own->above = f->out->reckoned_of[parent];
    own->n_untimed = (double)(node->n_calls - words[AR_ESTIMATE_TIMED]);
    return AR_OK;
}

static enum ar_status add_up_measured(struct finding *f, const struct ar_node *node, uint32_t ref)
{
    struct ar_reckoned *own = reckoned_at(f, ref), *caller = reckoned_at(f, parent_of(node, ref));
    uint64_t ticks = ar_live_ticks(node, f->out->now_ticks);

    if (own)
        own->ticks = ticks;
    if (caller)
        caller->inside += ticks;
    return AR_OK;
}

/* ---- what is known of timed calls ------------------------------------------------------------- */

/* By Newton, from above: code of the runtime links no libm. */
static double root_of(double x)
{
    double root = x > 1 ? x : 1;

    for (double next; (next = (root + x / root) / 2) < root;)
        root = next;
    return root;
}

static struct sample sample_of(const struct ar_node *node, const struct ar_reckoned *own,
                               const uint64_t *words)
{
    uint64_t n_timed = words[AR_ESTIMATE_TIMED], n_long = words[AR_ESTIMATE_LONG_CALLS];
    uint64_t others = own->inside + words[AR_ESTIMATE_LONG_TICKS];
    struct sample s = {
        .n = n_long < n_timed ? (double)(n_timed - n_long) : 0,
        .ticks = others < own->ticks ? (double)(own->ticks - others) : 0,
    };

    memcpy(&s.squares, &words[AR_ESTIMATE_SQUARES], sizeof s.squares);
    /*
     * An open call is closed now, which may make it any length, and is no example of the others. They
     * have not taken longer than the root of their mean square.
     */
    if (node->ticks < 0 && s.squares >= 0 && s.ticks * s.ticks > s.squares * s.n)
        s.ticks = root_of(s.squares * s.n);
    return s;
}

static void add_sample(struct sample *to, struct sample s)
{
    to->n += s.n;
    to->ticks += s.ticks;
    to->squares += s.squares;
}

static enum ar_status fill_pools(struct finding *f, const struct ar_node *node, uint32_t ref)
{
    uint32_t function = (uint32_t)node->key;
    const struct ar_reckoned *own = reckoned_at(f, ref);
    const uint64_t *words = own && own->n_untimed > 0 ? estimate_of(f, node) : NULL;
    double ticks = (double)ar_live_ticks(node, f->out->now_ticks), n = (double)node->n_calls;

    if (function == 0 || function > f->n_functions || !node->n_calls)
        return AR_OK;
    if (words)
        add_sample(&f->pools[function].estimated, sample_of(node, own, words));
    else if (node->ticks >= 0)
        add_sample(&f->pools[function].exact, (struct sample){n, ticks, ticks * ticks / n});
    return AR_OK;
}

/* ---- estimates -------------------------------------------------------------------------------- */

static double mean_of(struct sample s)
{
    return s.n > 0 ? s.ticks / s.n : 0;
}

/* A single call says nothing of others: then any length up to twice its own is as likely. */
static double variance_of(struct sample s)
{
    double mean = mean_of(s);
    double variance = s.n > 1 ? (s.squares - mean * s.ticks) / (s.n - 1) : mean * mean;

    return variance > 0 ? variance : 0; /* rounding, and damage, may make it less, or no number */
}

/* The best that is known of a node's calls. */
static struct sample best_sample(struct sample own, const struct pool *pool)
{
    if (own.n >= 2 || !pool)
        return own;
    if (pool->estimated.n >= 2)
        return pool->estimated;
    return pool->exact.n > own.n ? pool->exact : own;
}

/* A few calls may all have been short by chance. */
#define FEW 16

static double safe_variance(struct sample s, const struct pool *pool)
{
    double own = variance_of(s), all = pool ? variance_of(pool->estimated) : 0;

    return s.n < FEW && all > own ? all : own;
}

static enum ar_status estimate(struct finding *f, const struct ar_node *node, uint32_t ref)
{
    struct ar_reckoned *own = reckoned_at(f, ref);
    const uint64_t *words = own && own->n_untimed > 0 ? estimate_of(f, node) : NULL;
    uint32_t function = (uint32_t)node->key;

    if (!words)
        return AR_OK;

    const struct pool *pool = function <= f->n_functions ? &f->pools[function] : NULL;
    struct sample s = best_sample(sample_of(node, own, words), pool);

    own->added = own->n_untimed * mean_of(s);
    if (s.n > 0)
        own->variance = safe_variance(s, pool) * own->n_untimed * (own->n_untimed + s.n) / s.n;
    f->out->reckoned[own->above].claimed += own->added;
    return AR_OK;
}

static enum ar_status find_all(struct finding *f)
{
    static visit_fn *const passes[] = {find_estimates, add_up_measured, fill_pools, estimate};
    enum ar_status status = AR_OK;

    f->out->reckoned_of =
        calloc(f->live->n_bytes / AR_LIVE_REF_BYTES + 1, sizeof *f->out->reckoned_of);
    f->pools = calloc(f->n_functions + 1, sizeof *f->pools);
    if (!f->out->reckoned_of || !f->pools || !add_reckoned(f)) /* 0 is none */
        return AR_NOMEM;
    for (size_t i = 0; i < sizeof passes / sizeof *passes && status == AR_OK; i++) {
        status = each_node(f, passes[i]);
        if (f->n_reckoned == 1)
            break; /* there are no estimates */
    }
    return status;
}

enum ar_status ar_estimates_find(struct ar_estimates *out, const struct ar_live *live,
                                 size_t n_functions, uint64_t now_ticks)
{
    struct finding f = {.out = out, .live = live, .n_functions = n_functions};
    enum ar_status status;

    *out = (struct ar_estimates){.now_ticks = now_ticks};
    status = find_all(&f);
    free(f.pools);
    return status;
}

/* What is added to the children of a node is part of the time that it did not spend in measured ones. */
static double fit(const struct ar_reckoned *above)
{
    double room = above->inside < above->ticks ? (double)(above->ticks - above->inside) : 0;

    return above->claimed > room ? room / above->claimed : 1;
}

struct ar_live_time ar_estimates_time(const struct ar_estimates *estimates,
                                      const struct ar_node *node, uint32_t ref)
{
    uint32_t i = estimates->reckoned_of ? estimates->reckoned_of[ref] : 0;
    const struct ar_reckoned *own = &estimates->reckoned[i];

    if (!i || !(own->n_untimed > 0))
        return (struct ar_live_time){.ticks = ar_live_ticks(node, estimates->now_ticks)};

    double part = fit(&estimates->reckoned[own->above]);
    double added = own->added * part;

    return (struct ar_live_time){
        .ticks = own->ticks + (uint64_t)(added < 0x1p62 ? added : 0x1p62),
        .variance = own->variance * part * part,
        .is_estimated = true,
    };
}

void ar_estimates_free(struct ar_estimates *estimates)
{
    free(estimates->reckoned_of);
    free(estimates->reckoned);
    *estimates = (struct ar_estimates){0};
}
