// SPDX-License-Identifier: BSD-3-Clause
/*
 * cubex_values: which metrics of a profile a CUBE file has, as what, and their values.
 *
 *     struct ar_cubex_metrics metrics;
 *     if (ar_cubex_metrics_find(&metrics, p) < 0) ...
 *     metrics.has_values …                                   which nodes the tree has to have
 *     if (ar_cubex_rows_find(&rows, &metrics.list[i], p, &tree) < 0) ...
 *     ar_cubex_put_index(&rows, &out);
 *     if (ar_cubex_put_values(&rows, p, &system, &out) < 0) ...
 *     ar_cubex_rows_free(&rows);
 *     ar_cubex_metrics_free(&metrics);
 *
 * Life cycle: rows of one metric after the other, as each has a word for every node. Threads: one owner.
 */
#pragma once

#include "export/cubex_system.h"
#include "export/cubex_tree.h"

/* How a stored number becomes one of CUBE. */
enum ar_cubex_form {
    AR_CUBEX_COUNT,   /* UINT64 */
    AR_CUBEX_SIGNED,  /* INT64: of a sum that is inclusive, a difference may be less than nothing */
    AR_CUBEX_DOUBLE,  /* DOUBLE, of nanoseconds */
    AR_CUBEX_LEAST,   /* MINDOUBLE */
    AR_CUBEX_LARGEST, /* MAXDOUBLE */
    AR_N_CUBEX_FORMS
};

struct ar_cubex_metric {
    unsigned metric; /* of the profile */
    enum ar_cubex_form form;
    bool is_inclusive;
    bool is_time; /* of nanoseconds, shown in seconds */
    bool
        is_renamed; /* "recorded_" stands before its name, which is one that Score-P has for something else */
    const char *display, *name, *unit, *description;
};

struct ar_cubex_metrics {
    struct ar_cubex_metric list[AR_MAX_METRICS]; /* its number in the file is its index */
    size_t n;
    bool *has_values; /* by node, of any metric */
};

AR_MUST_CHECK enum ar_status ar_cubex_metrics_find(struct ar_cubex_metrics *out,
                                                   const struct ar_profile *p);
void ar_cubex_metrics_free(struct ar_cubex_metrics *metrics);
const char *ar_cubex_type(enum ar_cubex_form form); /* "UINT64" … */

/* The rows of one metric. */
struct ar_cubex_rows {
    const struct ar_cubex_metric *metric;
    uint32_t *row_of;  /* by node; AR_NO_ID: none */
    uint32_t *places;  /* by row, in the order that the metric's tree has */
    bool *is_complete; /* by node: it has a value on every thread */
    uint32_t n;
};

/* There is at least one, as readers want it: that of the root. */
AR_MUST_CHECK enum ar_status ar_cubex_rows_find(struct ar_cubex_rows *out,
                                                const struct ar_cubex_metric *metric,
                                                const struct ar_profile *p,
                                                const struct ar_cubex_tree *tree);
void ar_cubex_rows_free(struct ar_cubex_rows *rows);

/* What both files take. */
uint64_t ar_cubex_index_bytes(const struct ar_cubex_rows *rows);
uint64_t ar_cubex_values_bytes(const struct ar_cubex_rows *rows,
                               const struct ar_cubex_system *system);
void ar_cubex_put_index(const struct ar_cubex_rows *rows, struct ar_bytes *out);
AR_MUST_CHECK enum ar_status ar_cubex_put_values(const struct ar_cubex_rows *rows,
                                                 const struct ar_profile *p,
                                                 const struct ar_cubex_system *system,
                                                 struct ar_bytes *out);
