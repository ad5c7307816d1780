// SPDX-License-Identifier: BSD-3-Clause
/*
 * view: a run with everything that its tables show worked out.
 *
 * Life cycle: ar_view_open, ar_view_close; it never changes in between.
 * Threads: any number may read it at the same time.
 *
 *     struct ar_view v;
 *     if (ar_view_open(&v, "heat.allranks", false, &err) < 0) ...
 *     ar_view_close(&v);
 */
#pragma once

#include "analysis/by_function.h"
#include "analysis/mpi_class.h"

struct ar_view {
    struct ar_profile p;
    struct ar_totals t;
    struct ar_by_function f;
    struct ar_value *selves; /* one for each value of AR_METRIC_TIME */
    uint32_t *depth;         /* by node; the root has 0 */
    uint32_t *caller;        /* by node: the nearest Python function above, AR_NO_ID: none */
    uint32_t *site;          /* by node: the node whose line is where the caller calls it */
    uint64_t *shortest_ns, *longest_ns; /* by node: of a single call, 0 where not measured */
    uint64_t *mpi_ns, *recorded_ns;     /* by location */
    uint64_t *process_mpi_ns;           /* by process */
    uint32_t *functions;                /* those with a call path, the longest self time first */
    uint32_t *mpi_nodes;                /* nodes that are MPI calls, the longest first */
    size_t n_functions, n_mpi_nodes;
    struct ar_profile_sync *syncs; /* of all streams, by location */
    uint64_t *first_part;          /* by sync: index into `parts` */
    struct ar_profile_part *parts;
    size_t n_syncs, n_parts;
    struct ar_mpi_class *classes; /* by function; its `name` is NULL where it is none of MPI */
};

/* `folded`: as the report shows it, see analysis/fold.h. On failure there is nothing to close. */
AR_MUST_CHECK enum ar_status ar_view_open(struct ar_view *out, const char *path, bool folded,
                                          struct ar_error *err);
void ar_view_close(struct ar_view *v);
