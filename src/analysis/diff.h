// SPDX-License-Identifier: BSD-3-Clause
/*
 * diff: what got slower or faster between runs of a program.
 *
 * Two sides, the base and what is compared with it, of one run each, or of several that should be
 * alike. Times are means over ranks, and over a side's runs, so that runs on different numbers of
 * ranks can be held against each other. Functions and call paths are matched as analysis/common.h
 * says.
 *
 * A change counts if it is larger than the noise. What that is depends on what is known:
 *
 *     several runs on a side     Student's t at 95 %, of the runs' means; both sides are taken to vary
 *                                alike, so that one of them may be a single run
 *     one each, the same ranks   how much the ranks' relative changes differ from each other: twice
 *                                the error of their mean, from the median distance to the median, so
 *                                that one rank that got slower is no noise
 *     one each, other ranks      the same of the ranks' times on either side
 *     one process each           nothing: then only what follows
 *
 * but it is never less than 0.1 % of the run's time, and with one run a side never less than 2 % of
 * the time itself; nor, where times are estimated, than twice the standard error of the change.
 *
 * Fewer than three runs per side, or ranks, say little about noise: then a change by more than half that
 * does not count is undecided, and is not called noise.
 *
 * Life cycle: built from summaries, which must outlive it, base first; where there is one run a
 * side these must still have their values. Threads: read-only once built. Cost: rows times ranks.
 *
 *     struct ar_diff d;
 *     if (ar_diff_build(&d, runs, n_base, n_runs, false) < 0) ...
 *     d.functions.rows[i].self.now - d.functions.rows[i].self.base …
 *     ar_diff_free(&d);
 */
#pragma once

#include "analysis/common.h"
#include "analysis/summary.h"

struct ar_change {
    double base, now;  /* nanoseconds: mean over ranks, and then over runs */
    double noise;      /* a change has to be larger */
    bool counts;       /* it is */
    bool is_undecided; /* it is not, but is large, and there is too little to tell noise by */
    /* How far the means are to be believed: `variance` is that of the mean over ranks and runs. */
    struct ar_doubt base_doubt, now_doubt;
};

struct ar_diff_row {
    uint32_t row;           /* of `common` */
    uint32_t run, id;       /* a run that has it, and its function or node there */
    bool has_base, has_now; /* some run of that side has it */
    struct ar_change time, self;
    double base_calls, now_calls; /* mean over ranks and runs */
};

struct ar_diff_table {
    struct ar_common common;
    struct ar_diff_row *rows; /* what counts first, the largest change of self time first */
    size_t n_rows;
};

enum ar_diff_noise { AR_NOISE_OF_RUNS, AR_NOISE_OF_PAIRS, AR_NOISE_OF_RANKS, AR_NOISE_UNKNOWN };

struct ar_diff {
    const struct ar_summary *runs;
    size_t n_base, n_runs;
    enum ar_diff_noise noise;
    bool has_few;           /* runs, or ranks, to tell noise by */
    struct ar_change total; /* wall time */
    struct ar_change mpi;   /* time in MPI, of main threads */
    struct ar_diff_table functions;
    struct ar_diff_table paths; /* empty if not asked for */
};

/* The first `n_base` are the base; at least one each. */
AR_MUST_CHECK enum ar_status ar_diff_build(struct ar_diff *out, const struct ar_summary *runs,
                                           size_t n_base, size_t n_runs, bool with_paths);
void ar_diff_free(struct ar_diff *d);
/* By the change of time with what is called, or without. */
void ar_diff_sort(struct ar_diff_table *table, bool inclusive);
/* Whether the values of single ranks are needed. */
bool ar_diff_needs_values(size_t n_base, size_t n_runs);

static inline double ar_change_ns(const struct ar_change *change)
{
    return change->now - change->base;
}
