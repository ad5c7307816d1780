// SPDX-License-Identifier: BSD-3-Clause
/*
 * imbalance: which ranks have how much of something, and which of them are alike.
 *
 * Ranks are put into a few classes by their values: at most four, and no more than half as many as
 * there are ranks. Ranks that have 0 are a class. The others are cut where a gap between neighbouring
 * values, in their order, is a fifth of the larger value and three times any gap within a class: so
 * noise makes no classes, nor does work that grows evenly from rank to rank. Where there is no such
 * gap all of them are one.
 *
 * Cost: n log n. Threads: a result is read-only; building needs nothing shared.
 *
 *     struct ar_imbalance im;
 *     if (ar_imbalance_build(&im, values, n_ranks) < 0) ...
 *     im.max_over_mean, im.classes[0].mean, im.class_of[rank] …
 *     ar_imbalance_free(&im);
 */
#pragma once

#include "analysis/totals.h"

#define AR_MOST_CLASSES 4

/* Ranks that do the same differ by less than that: by a tenth of the mean, as machines and processors do, … */
#define AR_UNEVEN_FACTOR 1.1
/* … or by what they are apart when they start, which is much of a run that is short. */
#define AR_UNEVEN_NS 20e6

/* Does the slowest rank have so much more than the mean that this is no noise? */
bool ar_is_uneven(const struct ar_spread *s);

struct ar_rank_class {
    uint64_t least, most;
    double mean;
    size_t n_ranks;
};

struct ar_imbalance {
    double mean, max_over_mean; /* 1 where all are 0 */
    size_t n_ranks;
    struct ar_rank_class classes[AR_MOST_CLASSES]; /* those that have most first */
    size_t n_classes;                              /* 0 only where there are no ranks */
    uint8_t *class_of;                             /* by index into the values */
};

AR_MUST_CHECK enum ar_status ar_imbalance_build(struct ar_imbalance *out, const uint64_t *values,
                                                size_t n_ranks);
/* Of a node: its row of time, or of self time; threads and children count for their rank. */
AR_MUST_CHECK enum ar_status ar_imbalance_of_row(struct ar_imbalance *out,
                                                 const struct ar_profile *p, struct ar_row row);
void ar_imbalance_free(struct ar_imbalance *im);
/* The class that most ranks are in: "the others". */
size_t ar_imbalance_largest(const struct ar_imbalance *im);

/* How numbers of ranks are written; a zeroed one writes all of them. */
struct ar_range_style {
    bool splits_pairs; /* two in a row are "0,1", as in sentences; else "0-1" */
    size_t n_chars;    /* what does not fit into so many ends in ".."; 0: no limit */
    size_t n_ranges;   /* after so many: " and 5 more"; 0: no limit */
};
/* Numbers of ranks, sorted: "0-3,8". It is the only printer of them. */
void ar_rank_ranges_text(struct ar_bytes *out, const uint32_t *ranks, size_t n,
                         struct ar_range_style style);
/*
 * Numbers of ranks, which are in order, in few words: "0-3,8", "every 8th from 0", "every 2nd from
 * 1 to 9". What does not fit into `n_most` characters ends in "..". `n_all`: how many ranks there
 * are, which says where "every 8th" ends by itself.
 */
void ar_rank_set_text(struct ar_bytes *out, const uint32_t *ranks, size_t n, uint32_t n_all,
                      size_t n_most);
