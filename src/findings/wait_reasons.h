// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_reasons: why ranks waited.
 *
 * What a wait is charged to is functions of ranks (analysis/waits.h). A reason is a function, with all that any rank
 * spent in it while others waited.
 *
 *     struct ar_wait_reasons reasons;
 *     if (ar_reasons_build(&reasons, &profile, &waits.sites[0]) < 0) ...
 *     reasons.items[0].function …
 *     ar_reasons_free(&reasons);
 */
#pragma once

#include "analysis/waits.h"

/* The caller of a function in C is to blame, not the function: see own_time.h. */
uint32_t ar_to_blame(const struct ar_profile *p, uint32_t node);
/* How many of these, the largest first, have nearly all of it: of many ranks a few were late once or twice. */
size_t ar_n_main_shares(const struct ar_wait_share *shares, size_t n, double all_ns, double part);
#define AR_MOST_LATE 0.9
#define AR_MOST_WAITING 0.99

/* What one function has of a wait, whichever rank was in it, and from wherever it was called. */
struct ar_wait_reason {
    uint32_t function; /* AR_NO_ID: not known */
    uint32_t node;     /* one of those with most of it; AR_NO_ID: not known */
    bool with_callees; /* and the functions that it calls */
    bool indirect;     /* more than a tenth of it came through others who had waited for it */
    double ns;
    const struct ar_wait_share *late; /* who was in it, the largest first; `n` is 0 */
    size_t n_late;
};

struct ar_wait_reasons {
    struct ar_wait_reason *items; /* the largest first */
    size_t n;
    struct ar_wait_share *shares;
};

AR_MUST_CHECK enum ar_status ar_reasons_build(struct ar_wait_reasons *out,
                                              const struct ar_profile *p,
                                              const struct ar_wait_site *site);
void ar_reasons_free(struct ar_wait_reasons *r);
/* Which part of a wait has no reason that is known. */
double ar_unknown_share(const struct ar_wait_site *site);
