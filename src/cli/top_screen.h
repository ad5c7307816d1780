// SPDX-License-Identifier: BSD-3-Clause
/*
 * top_screen: what `allranks top` shows of a watch, as text.
 *
 *     heat.py   4 ranks on 1 host, all running   12.3 s             every 2.0 s
 *     (processes: rank, pid, host, state, last sign of life, share in MPI, where it is)
 *     (functions: shares of the time in the last interval and since the start)
 *     s sort: self   / filter   p process   space freeze   ? help   q quit
 *
 * The text has at most so many lines of so many columns as the view says.
 */
#pragma once

#include "run/subjects.h"

enum ar_top_sort {
    AR_TOP_BY_SELF, /* in the last interval, as long as there is one */
    AR_TOP_BY_TOTAL,
    AR_TOP_BY_SELF_EVER,
    AR_TOP_BY_TOTAL_EVER,
    AR_TOP_BY_CALLS,
    AR_TOP_BY_NAME,
    AR_TOP_N_SORTS
};

struct ar_top_view {
    const struct ar_watch *watch;
    size_t n_rows, n_columns; /* of the screen; n_rows 0: as many as there are functions to show */
    double interval_s;
    bool has_interval; /* there have been two looks */
    enum ar_top_sort sort;
    char filter[64];
    bool has_picked; /* functions of one process only */
    struct ar_process picked;
    size_t first_function, first_process; /* of those that are in sight */
    bool scrolls_processes;               /* arrow keys move these, not the functions */
    bool frozen, helps, is_plain;
    const char *prompt; /* what is being asked for, or NULL */
    const char *typed;
};

/* Positions beyond the end are set back. false: no memory. */
bool ar_top_screen(struct ar_top_view *view, struct ar_bytes *text);
/* The process that was picked, or AR_NO_ID for all. */
uint32_t ar_top_picked(const struct ar_top_view *view);
const char *ar_top_sort_name(enum ar_top_sort sort);

/*
 * Those that pass the filter, in order; the caller frees them. `lately` is `ever` if there is no
 * interval. NULL: no memory.
 */
struct ar_top_row *ar_top_rows(const struct ar_top_view *view, size_t *n_rows);
