// SPDX-License-Identifier: BSD-3-Clause
#include "run/times.h"

#include <stdlib.h>

/* ---- by node ---------------------------------------------------------------------------------- */

static uint64_t combine_row(struct ar_row row, enum ar_metric_id metric)
{
    uint64_t all = row.n ? row.values[0].value : 0;

    for (size_t i = 1; i < row.n; i++)
        all =
            ar_combine((enum ar_combine)ar_metric_kinds[metric].combine, all, row.values[i].value);
    return all;
}

static uint64_t *combine_over_ranks(const struct ar_profile *p, enum ar_metric_id metric)
{
    uint64_t *by_node = calloc(p->n_nodes + 1, sizeof *by_node);
    struct ar_rows rows;

    if (!by_node || ar_rows_open(&rows, p, metric) < 0) {
        free(by_node);
        return NULL;
    }
    for (uint32_t i = 0; i < p->n_nodes; i++)
        by_node[i] = combine_row(ar_rows_get(&rows, i), metric);
    ar_rows_close(&rows);
    return by_node;
}

enum ar_status ar_call_times_find(struct ar_call_times *out, const struct ar_profile *p)
{
    *out = (struct ar_call_times){
        .shortest_ns = combine_over_ranks(p, AR_METRIC_MIN_TIME),
        .longest_ns = combine_over_ranks(p, AR_METRIC_MAX_TIME),
    };
    if (out->shortest_ns && out->longest_ns)
        return AR_OK;
    ar_call_times_free(out);
    return AR_NOMEM;
}

void ar_call_times_free(struct ar_call_times *times)
{
    free(times->shortest_ns);
    free(times->longest_ns);
    *times = (struct ar_call_times){0};
}

/* ---- by location ------------------------------------------------------------------------------ */

/* A thread's whole time is its root's: the run's, or a node of its own, the outermost there is. */
static bool may_be_root(const struct ar_profile *p, uint32_t node)
{
    uint32_t kind = p->functions[p->nodes[node].function].kind;

    return node == 0 || kind == AR_FUNCTION_THREAD || kind == AR_FUNCTION_PROCESS;
}

static void add_recorded(struct ar_thread_times *times, uint32_t node, struct ar_row row)
{
    for (size_t i = 0; i < row.n; i++) {
        uint64_t *recorded_ns = &times->recorded_ns[row.values[i].location];

        if (node == 0 || !*recorded_ns)
            *recorded_ns = row.values[i].value;
    }
}

static enum ar_status sum_recorded(struct ar_thread_times *times, const struct ar_profile *p)
{
    struct ar_rows rows;

    if (ar_rows_open(&rows, p, AR_METRIC_TIME) < 0)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (may_be_root(p, i))
            add_recorded(times, i, ar_rows_get(&rows, i));
    ar_rows_close(&rows);
    return AR_OK;
}

static enum ar_status sum_mpi(struct ar_thread_times *times, const struct ar_profile *p,
                              const struct ar_totals *t)
{
    struct ar_selves selves;

    if (ar_selves_open(&selves, t, p) < 0)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (ar_totals_is_mpi(t, p, i)) {
            struct ar_row row = ar_selves_get(&selves, i);

            for (size_t k = 0; k < row.n; k++)
                times->mpi_ns[row.values[k].location] += row.values[k].value;
        }
    ar_selves_close(&selves);
    for (uint32_t i = 0; i < p->n_locations; i++)
        times->root_mpi_ns[ar_profile_root(p, i)] += times->mpi_ns[i];
    return AR_OK;
}

enum ar_status ar_thread_times_sum(struct ar_thread_times *out, const struct ar_profile *p,
                                   const struct ar_totals *t)
{
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_thread_times){
        .recorded_ns = calloc(p->n_locations + 1, sizeof *out->recorded_ns),
        .mpi_ns = calloc(p->n_locations + 1, sizeof *out->mpi_ns),
        .root_mpi_ns = calloc(p->n_processes + 1, sizeof *out->root_mpi_ns),
    };
    if (out->recorded_ns && out->mpi_ns && out->root_mpi_ns)
        status = sum_recorded(out, p);
    if (status == AR_OK)
        status = sum_mpi(out, p, t);
    if (status < 0)
        ar_thread_times_free(out);
    return status;
}

void ar_thread_times_free(struct ar_thread_times *times)
{
    free(times->recorded_ns);
    free(times->mpi_ns);
    free(times->root_mpi_ns);
    *times = (struct ar_thread_times){0};
}
