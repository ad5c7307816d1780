// SPDX-License-Identifier: BSD-3-Clause
/*
 * totals: each node's figures over all ranks.
 *
 * A rank's value is the sum over its threads; a rank that never was at a node has 0 there. Self
 * time is a node's time without its children's, and never less than nothing: where children are
 * estimated they may come to more than the whole. The sum of all self times is the time of the root
 * and of the threads if nothing is estimated (but for rounding to nanoseconds), and no less if
 * something is. Where a child's time is estimated, so is the self time of its parent. In a profile of caller pairs self times are given, and it is those of functions,
 * without pairs, that add up. A forked child begins inside calls of its parent: these have time in the child, and
 * no call. Built in time linear in nodes and values, row by row: see format/rows.h.
 *
 *     struct ar_totals t;
 *     if (ar_totals_build(&t, &profile) < 0) ...
 *     t.time[node].max, t.self[node].mean …
 *     ar_totals_free(&t);
 */
#pragma once

#include "format/rows.h"

/* How far a time is to be believed; all 0: it was measured. */
struct ar_doubt {
    uint32_t marks;  /* enum ar_value_mark: of any part of it */
    double variance; /* of what is estimated of it, in µs² */
};

void ar_doubt_add(struct ar_doubt *to, struct ar_doubt part);
/* The same for the estimates in it alone: what they are taken off is not partial because they are. */
struct ar_doubt ar_doubt_estimated(struct ar_doubt doubt);
/* The standard error of a sum over so many ranks, divided by them; in ns. NAN: it is not known. */
double ar_doubt_error(struct ar_doubt doubt, size_t n_ranks);

struct ar_spread {
    double sum, mean;
    double sd; /* standard deviation: of these ranks, not of what they might be samples of */
    uint64_t min, max;
    uint32_t min_process, max_process; /* the first of them, where several are equal */
    struct ar_doubt doubt;             /* of the sum */
};

/* Value by value, in order of processes; a zeroed struct has none yet. */
struct ar_spreading {
    struct ar_spread s;
    double squares; /* of distances from the mean so far */
    uint32_t n;
};

void ar_spread_add(struct ar_spreading *to, uint64_t value, uint32_t process);
struct ar_spread ar_spread_end(const struct ar_spreading *of);

/* "start", "imports", …: as in JSON and in columns; for people in cli and findings. */
extern const char *const ar_overhead_names[AR_N_OVERHEADS];

struct ar_totals {
    bool of_pairs;                 /* the profile is one of caller pairs, see format/profile.h */
    struct ar_spread *time, *self; /* by node, in nanoseconds */
    uint64_t *n_calls;             /* by node, over all ranks */
    uint64_t *n_primitive;         /* by node, over all ranks, of caller pairs */
    uint64_t *bytes_out, *bytes_in;
    uint64_t *awaited_ns; /* by node of a task, over all ranks */
    double *mpi_below_ns; /* by node: in MPI calls, of all ranks */
    bool *is_inherited;   /* by node: a call that was open when a child was forked */
    uint32_t *first_child, *next_sibling; /* AR_NO_ID ends a list; the longest time comes first */
    double mean_wall_ns;                  /* of the ranks */
    double mpi_ns;                        /* mean over ranks of the time in MPI calls */
    uint64_t n_lost[AR_N_LOSSES];
    uint64_t overhead_ns;                  /* of all ranks; 0: no price of a call was measured */
    uint64_t overheads_ns[AR_N_OVERHEADS]; /* the same by reason */
    double overhead;                       /* as a share of their time */
};

AR_MUST_CHECK enum ar_status ar_totals_build(struct ar_totals *out, struct ar_profile *p);
/*
 * The same of a profile that shows rows of another (format/rows.h) whose totals are built already: nodes that show
 * one row each have its figures, and only the others are read.
 */
AR_MUST_CHECK enum ar_status ar_totals_build_from(struct ar_totals *out, struct ar_profile *p,
                                                  const struct ar_totals *of_rows);
/* Puts children in another order: the largest key, by node, comes first; NULL: what ar_totals_rank
 * says, as it is built. */
AR_MUST_CHECK enum ar_status ar_totals_order(struct ar_totals *t, const struct ar_profile *p,
                                             const double *keys);
/*
 * The time by which siblings are sorted, summed over all ranks. `import mpi4py.MPI` calls MPI_Init, which
 * is no importing: an import ranks without the time of MPI calls below it.
 */
double ar_totals_rank(const struct ar_totals *t, const struct ar_profile *p, uint32_t node);
void ar_totals_free(struct ar_totals *t);

/*
 * Self times of single nodes: as many values as the node's times have, at the same locations. From
 * those its children's are taken off, location by location; `in_children` is one number a location,
 * set back after each node.
 */
struct ar_selves {
    const struct ar_totals *t;
    struct ar_rows times, others; /* the children's; of pairs what is given */
    uint64_t *in_children;
    uint32_t *touched; /* locations where that is not 0 */
    size_t n_touched;
    struct ar_value *values; /* the row that was asked for last */
    struct ar_row time;      /* the times of that node */
};

AR_MUST_CHECK enum ar_status ar_selves_open(struct ar_selves *out, const struct ar_totals *t,
                                            const struct ar_profile *p);
struct ar_row ar_selves_get(struct ar_selves *s, uint32_t node);
void ar_selves_close(struct ar_selves *s);

/*
 * How far the times of single nodes are to be believed, location by location: calls `visit` for each that
 * has a mark.
 */
struct ar_doubts {
    struct ar_rows marks, variances;
};

AR_MUST_CHECK enum ar_status ar_doubts_open(struct ar_doubts *out, const struct ar_profile *p);
void ar_doubts_each(struct ar_doubts *d, uint32_t node,
                    void (*visit)(uint32_t location, struct ar_doubt doubt, void *context),
                    void *context);
void ar_doubts_close(struct ar_doubts *d);

/* Like the values of AR_METRIC_TIME, which is plain and in order, one for one; to be freed. */
AR_MUST_CHECK enum ar_status
ar_totals_self_values(const struct ar_totals *t, const struct ar_profile *p, struct ar_value **out);
/* Whether a node is an MPI call whose time counts: a pair's is its function's already. */
bool ar_totals_is_mpi(const struct ar_totals *t, const struct ar_profile *p, uint32_t node);
