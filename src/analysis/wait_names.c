// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_names.h"

#include "base/arena.h"

#include <stdlib.h>

#define LEAST_SHARE 0.1
#define FEW_FUNCTIONS 4
/* The thread, and the module that it runs: these contain everything. */
#define OUTERMOST 2

/* A call path, with what of it has no name by itself. */
struct gathering {
    uint32_t path;
    uint32_t n_in; /* how many paths are gathered here */
    uint32_t home; /* the path that it is named by: where it was gathered in the end */
    double ns;
};

struct naming {
    const struct ar_call_paths *paths;
    const struct ar_site_charge *charges;
    size_t n;
    double least;
    double *functions; /* ns, by function; those of `least` and more are named */
    struct gathering *all;
    size_t n_all, cap_all;
    struct ar_idmap ids; /* by path plus 1 */
};

static bool is_rest(const struct ar_site_charge *charge)
{
    return charge->what & AR_WHAT_REST;
}

static uint32_t path_of(const struct ar_site_charge *charge)
{
    return charge->what >> 2;
}

/* A function that is large by itself, or not known. */
static bool has_name(const struct naming *n, const struct ar_site_charge *charge)
{
    uint32_t path = path_of(charge);

    return path == AR_PATH_UNKNOWN ||
           (!is_rest(charge) && n->functions[n->paths->items[path].function] >= n->least);
}

/* ---- gathering -------------------------------------------------------------------------------- */

static struct gathering *gathering_of(struct naming *n, uint32_t path)
{
    uint32_t id = ar_idmap_get(&n->ids, (uint64_t)path + 1, AR_NO_ID);

    if (id != AR_NO_ID)
        return &n->all[id];
    if (ar_grow((void **)&n->all, &n->cap_all, n->n_all + 1, sizeof *n->all) < 0 ||
        ar_idmap_put(&n->ids, (uint64_t)path + 1, (uint32_t)n->n_all) < 0)
        return NULL;
    n->all[n->n_all] = (struct gathering){.path = path, .home = path};
    return &n->all[n->n_all++];
}

static enum ar_status gather(struct naming *n)
{
    for (size_t i = 0; i < n->n; i++) {
        struct gathering *g;

        if (has_name(n, &n->charges[i]))
            continue;
        g = gathering_of(n, path_of(&n->charges[i]));
        if (!g)
            return AR_NOMEM;
        g->n_in += g->ns == 0;
        g->ns += n->charges[i].ns;
    }
    return AR_OK;
}

static uint32_t deepest(const struct naming *n)
{
    uint32_t depth = 0;

    for (size_t i = 0; i < n->n_all; i++)
        if (n->paths->items[n->all[i].path].depth > depth)
            depth = n->paths->items[n->all[i].path].depth;
    return depth;
}

/* It stays where it is, or goes up to its caller: `home` is the next place then. */
static enum ar_status settle(struct naming *n, size_t i, uint32_t depth)
{
    uint32_t parent = n->paths->items[n->all[i].path].parent;
    struct gathering *up;

    if (n->all[i].ns >= n->least || depth <= OUTERMOST)
        return AR_OK;
    up = gathering_of(n, parent);
    if (!up)
        return AR_NOMEM;
    up->ns += n->all[i].ns;
    up->n_in += n->all[i].n_in;
    n->all[i].home = parent;
    return AR_OK;
}

static enum ar_status settle_all(struct naming *n)
{
    enum ar_status status = AR_OK;

    for (uint32_t depth = deepest(n); depth > 0; depth--)
        for (size_t i = 0, end = n->n_all; i < end && status == AR_OK; i++)
            if (n->paths->items[n->all[i].path].depth == depth)
                status = settle(n, i, depth);
    return status;
}

/* Where it was gathered; itself, if that says nothing. */
static uint32_t home_of(const struct naming *n, uint32_t path)
{
    const struct gathering *g = &n->all[ar_idmap_get(&n->ids, (uint64_t)path + 1, 0)];

    while (g->home != g->path)
        g = &n->all[ar_idmap_get(&n->ids, (uint64_t)g->home + 1, 0)];
    if (g->ns < n->least ||
        (n->paths->items[g->path].depth <= OUTERMOST && g->n_in <= FEW_FUNCTIONS))
        return path;
    return g->path;
}

/* ---- causes ----------------------------------------------------------------------------------- */

static struct ar_wait_cause cause_of(const struct naming *n, const struct ar_site_charge *charge)
{
    struct ar_wait_cause cause = {
        .process = charge->process, .ns = charge->ns, .indirect_ns = charge->indirect_ns};
    uint32_t path = path_of(charge);
    uint32_t home = has_name(n, charge) ? path : home_of(n, path);

    cause.node = n->paths->items[home].node; /* AR_NO_ID of what is not known */
    cause.with_callees = path != AR_PATH_UNKNOWN && (is_rest(charge) || home != path);
    return cause;
}

static uint32_t function_of(const struct naming *n, const struct ar_wait_cause *cause)
{
    return cause->node == AR_NO_ID ? AR_NO_ID : n->paths->p->nodes[cause->node].function;
}

static const struct naming *sorting;

static int by_function(const void *a, const void *b)
{
    const struct ar_wait_cause *x = a, *y = b;
    uint32_t fx = function_of(sorting, x), fy = function_of(sorting, y);

    if (fx != fy)
        return fx < fy ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->with_callees != y->with_callees)
        return x->with_callees ? 1 : -1;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static int largest_first(const void *a, const void *b)
{
    const struct ar_wait_cause *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    if (x->process != y->process)
        return x->process > y->process ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Of several nodes of a function the one with most of it stands for all. */
static size_t merge(const struct naming *n, struct ar_wait_cause *causes, size_t n_causes)
{
    size_t n_merged = 0;

    sorting = n;
    qsort(causes, n_causes, sizeof *causes, by_function);
    for (size_t i = 0; i < n_causes; i++) {
        struct ar_wait_cause *last = n_merged ? &causes[n_merged - 1] : NULL;

        if (last && last->process == causes[i].process &&
            last->with_callees == causes[i].with_callees &&
            function_of(n, last) == function_of(n, &causes[i])) {
            last->ns += causes[i].ns;
            last->indirect_ns += causes[i].indirect_ns;
        } else {
            causes[n_merged++] = causes[i];
        }
    }
    qsort(causes, n_merged, sizeof *causes, largest_first);
    return n_merged;
}

/* Whole nanoseconds, and none is lost: what rounding leaves is the largest's. */
static void round_off(struct ar_wait_site *site)
{
    double left = site->waited_ns;

    for (size_t i = 0; i < site->n_causes; i++) {
        struct ar_wait_cause *cause = &site->causes[i];

        cause->ns = (double)(int64_t)cause->ns;
        cause->indirect_ns = (double)(int64_t)cause->indirect_ns;
        left -= cause->ns;
    }
    if (site->n_causes)
        site->causes[0].ns += left;
}

static enum ar_status name(struct naming *n, struct ar_wait_site *site)
{
    double sum = 0;

    for (size_t i = 0; i < n->n; i++) {
        sum += n->charges[i].ns;
        if (path_of(&n->charges[i]) != AR_PATH_UNKNOWN && !is_rest(&n->charges[i]))
            n->functions[n->paths->items[path_of(&n->charges[i])].function] += n->charges[i].ns;
    }
    n->least = LEAST_SHARE * sum;
    if (gather(n) < 0 || settle_all(n) < 0)
        return AR_NOMEM;
    for (size_t i = 0; i < n->n; i++)
        site->causes[i] = cause_of(n, &n->charges[i]);
    site->n_causes = merge(n, site->causes, n->n);
    round_off(site);
    return AR_OK;
}

enum ar_status ar_wait_name(const struct ar_call_paths *paths, const struct ar_site_charge *charges,
                            size_t n_charges, struct ar_wait_site *site)
{
    struct naming n = {.paths = paths, .charges = charges, .n = n_charges};
    enum ar_status status = AR_NOMEM;

    n.functions = calloc(paths->p->n_functions + 1, sizeof *n.functions);
    site->causes = malloc((n_charges + 1) * sizeof *site->causes);
    if (n.functions && site->causes)
        status = name(&n, site);
    free(n.functions);
    free(n.all);
    ar_idmap_free(&n.ids);
    return status;
}
