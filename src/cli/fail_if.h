// SPDX-License-Identifier: BSD-3-Clause
/*
 * fail_if: conditions under which a comparison of runs fails, for continuous integration.
 *
 *     condition   WHAT > AMOUNT
 *     WHAT        total | mpi | [self of] [region] NAME
 *     AMOUNT      a number and one of % s ms us
 *
 * It holds if WHAT has grown by more than AMOUNT, of the base if that is in percent, and by more
 * than the noise. NAME is a function as in analysis/match.h, with what it calls, or without for
 * "self of"; of several that fit, one is enough.
 *
 *     struct ar_fail_if f;
 *     if (ar_fail_if_parse(&f, "solve > 0.2s", &err) < 0) ...
 *     struct ar_fail_verdict v = ar_fail_if_check(&f, &diff);
 */
#pragma once

#include "analysis/diff.h"
#include "analysis/match.h"

enum ar_fail_what { AR_FAIL_TOTAL, AR_FAIL_MPI, AR_FAIL_FUNCTION };

struct ar_fail_if {
    const char *text; /* the caller's */
    enum ar_fail_what what;
    bool self, region;
    char name[256];
    double amount; /* nanoseconds, or a share */
    bool is_share;
};

struct ar_fail_verdict {
    bool holds;
    bool is_noise;                 /* it would hold, were it more than noise */
    size_t n_fit;                  /* functions that were meant; 1 for total and mpi */
    struct ar_change change;       /* of the one that grew furthest beyond it */
    const struct ar_diff_row *row; /* that one; NULL: of none, or no function */
};

AR_MUST_CHECK enum ar_status ar_fail_if_parse(struct ar_fail_if *out, const char *text,
                                              struct ar_error *err);
struct ar_fail_verdict ar_fail_if_check(const struct ar_fail_if *f, const struct ar_diff *d);
