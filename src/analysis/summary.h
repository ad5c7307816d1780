// SPDX-License-Identifier: BSD-3-Clause
/*
 * summary: a run to be held against others: its tree, folded, its figures by node and by function,
 * and its efficiencies.
 *
 * With waits, efficiencies tell serialisation from transfer, too (analysis/efficiency.h).
 *
 * Values of single ranks may be forgotten once that is built: what is left has the size of the
 * tree, however many ranks there were, so that many runs fit into memory.
 *
 * Life cycle: ar_summary_load or ar_summary_take, then ar_summary_free, which accepts a zeroed one.
 * It points into itself and must stay where it is. Threads: read-only once built.
 *
 *     struct ar_summary s;
 *     if (ar_summary_load(&s, "heat.allranks", true, &err) < 0) ...
 *     s.f.sums[function].self.mean, s.e.run.parallel …
 *     ar_summary_free(&s);
 */
#pragma once

#include "analysis/efficiency.h"

struct ar_summary {
    const char *path;        /* the caller's; NULL: of no file */
    struct ar_profile whole; /* as it was loaded */
    struct ar_profile p;     /* call sites folded */
    struct ar_totals t;
    struct ar_by_function f;
    struct ar_efficiencies e;
    bool has_values; /* of single ranks */
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_summary_load(struct ar_summary *out, const char *path,
                                             bool with_waits, struct ar_error *err);
/* The profile is the summary's from now on, whatever this returns, and `*p` is empty. */
AR_MUST_CHECK enum ar_status ar_summary_take(struct ar_summary *out, struct ar_profile *p,
                                             bool with_waits);
void ar_summary_forget_values(struct ar_summary *s);
void ar_summary_free(struct ar_summary *s);
