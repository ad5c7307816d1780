// SPDX-License-Identifier: BSD-3-Clause
#include "reader/view.h"

#include "analysis/fold.h"
#include "analysis/load.h"

#include <stdlib.h>
#include <string.h>

static uint32_t kind_of(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind;
}

/* ---- by node --------------------------------------------------------------------------------- */

/*
 * Where a call stands: a line of the Python function that is nearest above. Below "(import)" that
 * is the line that imports, below a method of mpi4py its own, and so it is below other functions in C where no line is
 * known. Parents come first, so that each node finds its parent's answer.
 */
static void find_place(struct ar_view *v, uint32_t i)
{
    uint32_t parent = v->p.nodes[i].parent;
    uint32_t kind = kind_of(&v->p, parent);
    bool is_parents = kind == AR_FUNCTION_IMPORT || kind == AR_FUNCTION_OPERATION ||
                      (kind == AR_FUNCTION_BUILTIN && !v->p.nodes[i].line) ||
                      v->site[parent] != parent;

    v->depth[i] = v->depth[parent] + 1;
    if (kind == AR_FUNCTION_PYTHON) {
        v->caller[i] = parent;
        v->site[i] = i;
    } else {
        v->caller[i] = v->caller[parent];
        v->site[i] = is_parents ? v->site[parent] : i;
    }
}

static void find_places(struct ar_view *v)
{
    v->depth[0] = v->site[0] = 0;
    v->caller[0] = AR_NO_ID;
    for (uint32_t i = 1; i < v->p.n_nodes; i++)
        find_place(v, i);
}

static void combine_over_ranks(const struct ar_profile *p, enum ar_metric_id metric,
                               uint64_t *by_node)
{
    const struct ar_metric *m = &p->metrics[metric];

    for (size_t i = 0; i < m->n_values; i++) {
        uint64_t *all = &by_node[m->values[i].node];
        bool first = i == 0 || m->values[i].node != m->values[i - 1].node;

        *all = first ? m->values[i].value
                     : ar_combine((enum ar_combine)ar_metric_kinds[metric].combine, *all,
                                  m->values[i].value);
    }
}

/* ---- by location ----------------------------------------------------------------------------- */

/* A thread's whole time is its root's: the run's, or a node of its own, the outermost there is. */
static bool is_root(const struct ar_view *v, struct ar_value value)
{
    if (value.node == 0)
        return true;
    if (v->recorded_ns[value.location])
        return false;
    return kind_of(&v->p, value.node) == AR_FUNCTION_THREAD ||
           kind_of(&v->p, value.node) == AR_FUNCTION_PROCESS;
}

static void sum_locations(struct ar_view *v)
{
    const struct ar_metric *times = &v->p.metrics[AR_METRIC_TIME];

    for (size_t i = 0; i < times->n_values; i++) {
        struct ar_value value = times->values[i];

        if (is_root(v, value))
            v->recorded_ns[value.location] = value.value;
        if (ar_totals_is_mpi(&v->t, &v->p, value.node))
            v->mpi_ns[value.location] += v->selves[i].value;
    }
    for (size_t i = 0; i < v->p.n_locations; i++)
        v->process_mpi_ns[v->p.processes[v->p.locations[i].process].root] += v->mpi_ns[i];
}

/* ---- in order of time ------------------------------------------------------------------------ */

struct ordered {
    double ns;
    uint32_t id;
};

static int longest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static void put_in_order(struct ordered *order, size_t n, uint32_t *ids)
{
    qsort(order, n, sizeof *order, longest_first);
    for (size_t i = 0; i < n; i++)
        ids[i] = order[i].id;
}

/* Function 0 is that of the root, which is no function of the program. */
static void order_functions(struct ar_view *v, struct ordered *order)
{
    for (uint32_t i = 1; i < v->p.n_functions; i++)
        if (v->f.sums[i].n_nodes)
            order[v->n_functions++] = (struct ordered){v->f.sums[i].self.sum, i};
    put_in_order(order, v->n_functions, v->functions);
}

static void order_mpi_nodes(struct ar_view *v, struct ordered *order)
{
    for (uint32_t i = 0; i < v->p.n_nodes; i++)
        if (ar_totals_is_mpi(&v->t, &v->p, i))
            order[v->n_mpi_nodes++] = (struct ordered){v->t.time[i].sum, i};
    put_in_order(order, v->n_mpi_nodes, v->mpi_nodes);
}

static void find_classes(struct ar_view *v)
{
    for (size_t i = 0; i < v->p.n_functions; i++)
        if (v->p.functions[i].kind == AR_FUNCTION_MPI)
            v->classes[i] = ar_mpi_class_of(ar_strtab_text(&v->p.strings, v->p.functions[i].name));
}

/* ---- all together ---------------------------------------------------------------------------- */

static bool allocate(struct ar_view *v)
{
    size_t n_nodes = v->p.n_nodes + 1, n_locations = v->p.n_locations + 1;

    v->depth = calloc(n_nodes, sizeof *v->depth);
    v->caller = calloc(n_nodes, sizeof *v->caller);
    v->site = calloc(n_nodes, sizeof *v->site);
    v->shortest_ns = calloc(n_nodes, sizeof *v->shortest_ns);
    v->longest_ns = calloc(n_nodes, sizeof *v->longest_ns);
    v->mpi_ns = calloc(n_locations, sizeof *v->mpi_ns);
    v->recorded_ns = calloc(n_locations, sizeof *v->recorded_ns);
    v->process_mpi_ns = calloc(v->p.n_processes + 1, sizeof *v->process_mpi_ns);
    v->functions = calloc(v->p.n_functions + 1, sizeof *v->functions);
    v->mpi_nodes = calloc(n_nodes, sizeof *v->mpi_nodes);
    v->classes = calloc(v->p.n_functions + 1, sizeof *v->classes);
    return v->classes && v->depth && v->caller && v->site && v->shortest_ns && v->longest_ns &&
           v->mpi_ns && v->recorded_ns && v->process_mpi_ns && v->functions && v->mpi_nodes;
}

/* A damaged stream has fewer calls than it says. */
static enum ar_status unpack_stream(struct ar_view *v, const struct ar_stream *stream)
{
    struct ar_stream_cursor *c = malloc(sizeof *c);
    enum ar_status status = c ? ar_stream_open(c, stream) : AR_NOMEM;

    if (status == AR_OK) {
        uint64_t n_syncs = v->n_syncs + stream->n_syncs, n_parts = v->n_parts + stream->n_parts;

        while (v->n_syncs < n_syncs && ar_stream_next(c) &&
               v->n_parts + c->sync.n_parts <= n_parts) {
            ar_stream_parts(c, v->parts + v->n_parts);
            v->first_part[v->n_syncs] = v->n_parts;
            v->syncs[v->n_syncs++] = c->sync;
            v->n_parts += c->sync.n_parts;
        }
        ar_stream_close(c);
    }
    free(c);
    return status;
}

static enum ar_status unpack_streams(struct ar_view *v)
{
    uint64_t n_parts = 0, n_syncs = ar_profile_n_syncs(&v->p);
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < v->p.n_streams; i++)
        n_parts += v->p.streams[i].n_parts;
    v->syncs = calloc(n_syncs + 1, sizeof *v->syncs);
    v->first_part = calloc(n_syncs + 1, sizeof *v->first_part);
    v->parts = calloc(n_parts + 1, sizeof *v->parts);
    if (!v->syncs || !v->first_part || !v->parts)
        return AR_NOMEM;
    for (size_t i = 0; i < v->p.n_streams && status == AR_OK; i++)
        status = unpack_stream(v, &v->p.streams[i]);
    return status;
}

static enum ar_status work_out(struct ar_view *v)
{
    size_t n = v->p.n_nodes > v->p.n_functions ? v->p.n_nodes : v->p.n_functions;
    struct ordered *order = calloc(n + 1, sizeof *order);
    enum ar_status status = order && allocate(v) ? ar_totals_build(&v->t, &v->p) : AR_NOMEM;

    if (status == AR_OK)
        status = ar_by_function_build(&v->f, &v->p, &v->t);
    if (status == AR_OK)
        status = ar_totals_self_values(&v->t, &v->p, &v->selves);
    if (status == AR_OK)
        status = unpack_streams(v);
    if (status == AR_OK) {
        find_places(v);
        combine_over_ranks(&v->p, AR_METRIC_MIN_TIME, v->shortest_ns);
        combine_over_ranks(&v->p, AR_METRIC_MAX_TIME, v->longest_ns);
        sum_locations(v);
        order_functions(v, order);
        order_mpi_nodes(v, order);
        find_classes(v);
    }
    free(order);
    return status;
}

static enum ar_status open_profile(struct ar_profile *out, const char *path, bool folded,
                                   struct ar_error *err)
{
    struct ar_profile whole;
    enum ar_status status;

    if (!folded)
        return ar_load(out, path, err);
    status = ar_load(&whole, path, err);
    if (status < 0)
        return status;
    status = ar_fold(out, &whole);
    ar_profile_free(&whole);
    return status < 0 ? ar_fail(err, status, "%s: %s", path, ar_status_text(status)) : AR_OK;
}

enum ar_status ar_view_open(struct ar_view *out, const char *path, bool folded,
                            struct ar_error *err)
{
    enum ar_status status;

    *out = (struct ar_view){0};
    status = open_profile(&out->p, path, folded, err);
    if (status < 0)
        return status;
    status = work_out(out);
    if (status < 0) {
        ar_view_close(out);
        return ar_fail(err, status, "%s: %s", path, ar_status_text(status));
    }
    return AR_OK;
}

void ar_view_close(struct ar_view *v)
{
    ar_by_function_free(&v->f);
    ar_totals_free(&v->t);
    ar_profile_free(&v->p);
    free(v->selves);
    free(v->syncs);
    free(v->first_part);
    free(v->parts);
    free(v->depth);
    free(v->caller);
    free(v->site);
    free(v->shortest_ns);
    free(v->longest_ns);
    free(v->mpi_ns);
    free(v->recorded_ns);
    free(v->process_mpi_ns);
    free(v->functions);
    free(v->mpi_nodes);
    free(v->classes);
    *v = (struct ar_view){0};
}
