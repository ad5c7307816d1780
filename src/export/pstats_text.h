// SPDX-License-Identifier: BSD-3-Clause
/*
 * pstats_text: what pstats.Stats(...).sort_stats(...).print_stats() prints of a rank, for scripts that
 * read such text.
 *
 * Functions, their names and figures are those of pstats.h; "~" stands before times that are estimated. Ranks are read in batches: a walk over the
 * tree fills as many as there is room for, and of ten thousand ranks twenty walks are made, not ten
 * thousand.
 *
 * Life cycle: opened on a profile, which must outlive it and stay as it is; then text by text, in order of
 * roots. Threads: one owner.
 *
 *     struct ar_pstats_texts texts;
 *     struct ar_bytes out = {0};
 *     if (ar_pstats_texts_open(&texts, &profile, AR_PSTATS_BY_CUMULATIVE) < 0) ...
 *     if (ar_pstats_text_put(&texts, 0, &out) < 0) ...
 *     ar_bytes_free(&out);
 *     ar_pstats_texts_close(&texts);
 */
#pragma once

#include "analysis/totals.h"

/* "cumulative", "time" and "calls", as sort_stats has them. */
enum ar_pstats_by { AR_PSTATS_BY_CUMULATIVE, AR_PSTATS_BY_TIME, AR_PSTATS_BY_CALLS };

struct ar_pstats_counts {
    uint64_t n_calls, n_primitive, self_ns, total_ns;
    bool is_there;
    bool self_is_estimated, total_is_estimated; /* some of it */
};

struct ar_pstats_texts {
    const struct ar_profile *p;
    enum ar_pstats_by by;
    struct ar_totals t;
    struct ar_strtab keys; /* as they stand in the text: what reads the same is one function */
    uint32_t *entry_of;    /* by function; 0: it has none */
    uint32_t *n_active;    /* by entry: nodes of it between the root and where the walk is */
    uint32_t *order;       /* entries of a text */
    uint32_t first, n;     /* roots that were read */
    struct ar_pstats_counts *counts; /* by entry and one of those */
};

AR_MUST_CHECK enum ar_status ar_pstats_texts_open(struct ar_pstats_texts *out, struct ar_profile *p,
                                                  enum ar_pstats_by by);
/* Appends. */
AR_MUST_CHECK enum ar_status ar_pstats_text_put(struct ar_pstats_texts *t, uint32_t root,
                                                struct ar_bytes *out);
void ar_pstats_texts_close(struct ar_pstats_texts *t);
