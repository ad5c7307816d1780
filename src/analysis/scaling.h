// SPDX-License-Identifier: BSD-3-Clause
/*
 * scaling: how a program behaves on more and more ranks.
 *
 * Runs are put in order of their numbers of ranks, and held against the smallest. Strong scaling:
 * all runs solve the same problem, and n times the ranks should take an n-th of the time. Weak
 * scaling: the problem grows with the ranks, and all runs should take the same time.
 *
 *     speed-up              wall time of the smallest run / wall time; weak: times the ranks' ratio
 *     computation scaling   computing of all ranks there / computing of all ranks here; weak: means
 *     global efficiency     parallel efficiency x computation scaling
 *
 * Each function gets a verdict, from its self time on the rank that has most of it, which is what
 * the others wait for. Between two runs that time falls with a power of the number of ranks: 1 is
 * perfect, 0 is constant, and less than 0 is growing; for weak scaling one is added. From 0.7 on it
 * scales, below 0.2 it does not at all.
 *
 * Life cycle: built from summaries, which must outlive it. Values of single ranks are not needed.
 * Threads: read-only once built. Cost: functions times runs.
 *
 *     struct ar_scaling s;
 *     if (ar_scaling_build(&s, runs, n_runs, false) < 0) ...
 *     s.points[i].speed_up, s.functions[i].verdict …
 *     ar_scaling_free(&s);
 */
#pragma once

#include "analysis/common.h"
#include "analysis/summary.h"

/* A run, or the fastest of those on as many ranks. */
struct ar_scaling_point {
    const struct ar_summary *run;
    size_t n_ranks;
    double wall_ns, speed_up;
    double computation; /* scaling of it */
    double global;
};

enum ar_verdict {
    AR_SCALES,
    AR_SCALES_POORLY,
    AR_STOPS_SCALING,   /* at a number of ranks */
    AR_IMBALANCE_GROWS, /* the mean scales, the most does not */
    AR_ONE_RANK,        /* constant time, on one rank only */
    AR_CONSTANT,        /* the same time on any number of ranks; never of weak scaling */
    AR_GROWS,
    AR_N_VERDICTS
};

struct ar_scaling_function {
    uint32_t row;     /* of `common` */
    uint32_t run, id; /* a point that has it, and its function there */
    enum ar_verdict verdict;
    size_t stops_at; /* AR_STOPS_SCALING: number of ranks */
    double power;    /* from the first point to the last; weak: with one added */
    double lost_ns;  /* at the last point: what it takes beyond what it should */
};

struct ar_scaling {
    bool is_weak;
    struct ar_scaling_point *points; /* in order of ranks, one a number */
    size_t n_points;
    size_t n_left_out; /* runs that were not the fastest on as many ranks */
    struct ar_common common;
    struct ar_scaling_function *functions; /* those that lose most first */
    size_t n_functions;
};

/* Two runs at least, and not all on as many ranks: else AR_BAD. */
AR_MUST_CHECK enum ar_status ar_scaling_build(struct ar_scaling *out, const struct ar_summary *runs,
                                              size_t n_runs, bool is_weak);
void ar_scaling_free(struct ar_scaling *s);
/* Of a function at a point; zeros where it is not there. */
struct ar_function_sums ar_scaling_sums(const struct ar_scaling *s, uint32_t row, size_t point);
/* "stops_scaling", … */
const char *ar_verdict_name(enum ar_verdict verdict);
