// SPDX-License-Identifier: BSD-3-Clause
/*
 * subjects: the data that tables are about where that is not a run (run/tables.h).
 *
 *     diff        runs that are compared          allranks diff
 *     scaling     runs on more and more ranks     allranks scale
 *     job         one snapshot of a running job   allranks top
 *     leftovers   files that jobs have left       allranks clean
 *     timeline    a window of a trace             allranks timeline
 *     trace       waits of a trace                allranks waits --trace, --critical-path
 *
 * Each points to data that the caller owns and that outlives it.
 *
 *     struct ar_shown_scaling scaling = {.s = &s};
 *     struct ar_subject subject = {.scaling = &scaling};
 *     status = ar_json_table(&j, &subject, "scaling_runs", NULL);
 */
#pragma once

#include "analysis/diff.h"
#include "analysis/leftovers.h"
#include "analysis/look.h"
#include "analysis/scaling.h"
#include "analysis/timeline.h"
#include "analysis/trace_waits.h"
#include "base/arena.h"

/* ---- diff ------------------------------------------------------------------------------------- */

/* A condition of --fail-if, and whether it holds. */
struct ar_shown_condition {
    const char *text;
    bool holds, is_noise;
    const struct ar_diff_row *row; /* the function that grew furthest; NULL: no function is meant */
    struct ar_change change;
};

struct ar_shown_diff {
    const struct ar_diff *d;
    const struct ar_shown_condition *conditions;
    size_t n_conditions;
    /* Worked out for the table of call paths, and freed by ar_shown_diff_free. */
    struct ar_str *paths; /* by row of `d->paths`; NULL: not yet */
    uint32_t *path_rows;  /* all but that of the root */
    size_t n_path_rows;
    struct ar_arena texts;
};

void ar_shown_diff_free(struct ar_shown_diff *diff);

#define AR_PATH_NODES 64 /* recursion goes deeper; the innermost ones are listed */

/* The node and those above it without the root, which is no function. Returns how many there are. */
size_t ar_path_nodes(const struct ar_profile *p, uint32_t node, uint32_t nodes[AR_PATH_NODES]);
/* "main > step > relax", from the outermost function on; `out` ends in NUL then. */
void ar_path_text(const struct ar_profile *p, uint32_t node, struct ar_bytes *out);

/* ---- scale ------------------------------------------------------------------------------------ */

struct ar_shown_scaling {
    const struct ar_scaling *s;
};

/* ---- top -------------------------------------------------------------------------------------- */

/* A function with its figures of all processes. */
struct ar_top_row {
    uint32_t function;
    struct ar_share lately, ever; /* since the previous snapshot; since the start */
};

struct ar_shown_job {
    const struct ar_watch *watch;
    const struct ar_top_row *rows;
    size_t n_rows;
    bool has_interval; /* there was a previous snapshot */
};

/* ---- counters --------------------------------------------------------------------------------- */

struct ar_counter_row {
    char name[128];
    const char *source; /* which counts it: "kernel" or "PAPI" */
    const char *preset; /* PAPI's name of an event of the kernel, or "" */
    const char *unit;
    char help[128];
    char reason[200]; /* why it cannot be counted; "": it can */
};

struct ar_shown_counters {
    const struct ar_counter_row *rows;
    size_t n_rows;
};

/* ---- waits of a trace ------------------------------------------------------------------------- */

struct ar_shown_trace {
    const struct ar_trace_waits *w;
};

/* ---- clean ------------------------------------------------------------------------------------ */

struct ar_left_row {
    const struct ar_left_job *job;
    const char *host;  /* "-": not known */
    const char *state; /* in words */
    char *run;         /* the run file that was made of it; "": none was found */
    bool is_removed;
};

struct ar_shown_leftovers {
    const struct ar_left_row *rows;
    size_t n_rows;
    size_t n_removed; /* files */
    uint64_t removed_bytes;
};

/* ---- timeline --------------------------------------------------------------------------------- */

struct ar_shown_timeline {
    const struct ar_timeline *t;
};
