// SPDX-License-Identifier: BSD-3-Clause
/*
 * efficiency: how much of the ranks' time is computing, and where the rest goes, as the POP centre
 * of excellence defines it (co-design.pop-coe.eu/metrics).
 *
 *     computing         a rank's time less its time within MPI; what mpi4py pickles is computing,
 *                       since no rank waits in it and nothing is moved
 *     load balance      mean computing / most computing
 *     communication     most computing / wall time, that of the rank that took longest
 *     parallel          load balance x communication, which is mean computing / wall time
 *     serialisation     most computing / wall time on a network that takes no time
 *     transfer          wall time on such a network / wall time; these two make up communication
 *
 * Wall time is without what MPI_Init and MPI_Finalize take beyond waiting for others: that is the same whatever a
 * program does.
 *
 * The last two need to know how long each rank waited for others (analysis/waits.h): on a network
 * that takes no time a rank's wall time would be its computing and its waiting. All are between 0
 * and 1.
 *
 * Times are those of ranks' main threads: what other threads and children do goes on beside them.
 * Of a function or region, with all that it calls, the wall time is that of the rank that has most
 * of it; a rank that never was there computed for 0. A profile of caller pairs tells this of the
 * run only.
 *
 * Life cycle: built from sums by function, whose profile and totals must outlive the building only.
 * Threads: read-only once built. Cost: linear in nodes and in the values of time, but that those of
 * MPI calls are read once for each different function above them. Memory: functions and ranks.
 *
 *     struct ar_efficiencies e;
 *     if (ar_efficiencies_build(&e, &by_function, &waits) < 0) ...
 *     e.run.load_balance, e.functions[function].parallel …
 *     ar_efficiencies_free(&e);
 */
#pragma once

#include "analysis/by_function.h"
#include "analysis/waits.h"

/* What a rank has of the run, or of a function. */
struct ar_rank_time {
    uint64_t wall_ns, mpi_ns;
    uint64_t setup_ns; /* within MPI: in MPI_Init and MPI_Finalize, less waiting for others */
};

struct ar_efficiency {
    double wall_ns; /* of the rank that took longest; 0: no rank was there, and nothing is known */
    double counted_ns; /* of the rank that took longest, without setting up MPI */
    double mean_computing_ns, max_computing_ns;
    uint32_t max_process; /* that has most computing */
    double load_balance, communication, parallel;
    bool is_split; /* are the next two known? else they are no numbers */
    double serialisation, transfer;
};

struct ar_efficiencies {
    struct ar_efficiency run;
    struct ar_efficiency *functions; /* by function; regions are functions, too */
    struct ar_rank_time *ranks;      /* of the run, by process that is no child */
    size_t n_ranks;
};

/* From any such times; `waiting_ns`, of MPI calls within them, is by rank, or NULL where it is not known. */
struct ar_efficiency ar_efficiency_of(const struct ar_rank_time *ranks, const double *waiting_ns,
                                      size_t n_ranks);

/*
 * Of the run, from the times of ranks that waits have divided. Its wall time is 0 where there are no ranks to compare, or no MPI.
 */
AR_MUST_CHECK enum ar_status ar_efficiency_of_run(struct ar_efficiency *out,
                                                  const struct ar_profile *p,
                                                  const struct ar_waits *w);

/* `w` is by node, and of the same profile; NULL: nothing is split. */
AR_MUST_CHECK enum ar_status ar_efficiencies_build(struct ar_efficiencies *out,
                                                   const struct ar_by_function *b,
                                                   const struct ar_waits *w);
void ar_efficiencies_free(struct ar_efficiencies *e);
