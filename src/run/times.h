// SPDX-License-Identifier: BSD-3-Clause
/*
 * times: sums that tables show beside totals: the shortest and longest call of each node, and how long each thread and
 * rank was recorded and within MPI.
 *
 * Read row by row (format/rows.h), so that packed runs stay packed.
 *
 *     struct ar_thread_times times;
 *     if (ar_thread_times_sum(&times, &profile, &totals) < 0) ...
 *     times.mpi_ns[location] …
 *     ar_thread_times_free(&times);
 */
#pragma once

#include "analysis/totals.h"

/* By node: of a single call on any rank; 0 where it was not measured. */
struct ar_call_times {
    uint64_t *shortest_ns, *longest_ns;
};

struct ar_thread_times {
    uint64_t *recorded_ns, *mpi_ns; /* by location */
    uint64_t *root_mpi_ns;          /* by process that is no child, with its children */
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_call_times_find(struct ar_call_times *out,
                                                const struct ar_profile *p);
void ar_call_times_free(struct ar_call_times *times);
AR_MUST_CHECK enum ar_status ar_thread_times_sum(struct ar_thread_times *out,
                                                 const struct ar_profile *p,
                                                 const struct ar_totals *t);
void ar_thread_times_free(struct ar_thread_times *times);
