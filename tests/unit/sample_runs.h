// SPDX-License-Identifier: BSD-3-Clause
/*
 * sample_runs: runs of a small program to be compared, whose times the test decides.
 *
 *     main (100 ns and what it calls)
 *         solve      a.py:10
 *         write      a.py:20
 *         MPI_Allreduce
 *
 *     struct ar_profile p;
 *     sample_run_start(&p, 10);
 *     sample_run_rank(&p, solve_ns, write_ns, mpi_ns);     // for each rank
 *     struct ar_summary s;
 *     sample_must(ar_summary_take(&s, &p, false));
 */
#pragma once

#include "analysis/summary.h"

#include "sample_profile.h"

#define SAMPLE_MAIN_NS 100u

enum { SAMPLE_MAIN = 1, SAMPLE_SOLVE, SAMPLE_WRITE, SAMPLE_REDUCE }; /* functions, and nodes */

static inline void sample_run_start(struct ar_profile *p, uint32_t solve_line)
{
    uint32_t main_node;

    sample_start(p);
    main_node = sample_node(p, 0, sample_function(p, AR_FUNCTION_PYTHON, "main", 1), 0);
    sample_node(p, main_node, sample_function(p, AR_FUNCTION_PYTHON, "solve", solve_line), 0);
    sample_node(p, main_node, sample_function(p, AR_FUNCTION_PYTHON, "write", 20), 0);
    sample_node(p, main_node, sample_function(p, AR_FUNCTION_MPI, "MPI_Allreduce", 0), 5);
}

static inline void sample_run_rank(struct ar_profile *p, uint64_t solve_ns, uint64_t write_ns,
                                   uint64_t mpi_ns)
{
    uint64_t wall_ns = SAMPLE_MAIN_NS + solve_ns + write_ns + mpi_ns;
    uint32_t process = sample_rank(p, (uint32_t)p->n_processes);
    uint32_t here = sample_thread(p, process, 0);
    const uint64_t times[] = {wall_ns, wall_ns, solve_ns, write_ns, mpi_ns};

    p->processes[process].wall_ns = wall_ns;
    for (uint32_t node = 0; node < 5; node++)
        if (times[node]) {
            sample_value(p, AR_METRIC_TIME, node, here, times[node]);
            sample_value(p, AR_METRIC_CALLS, node, here, node == SAMPLE_SOLVE ? 10 : 1);
        }
}
