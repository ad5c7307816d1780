// SPDX-License-Identifier: BSD-3-Clause
/*
 * node_metrics: values of call paths over all ranks, of the metrics that totals.h does not know: those that a file describes.
 *
 * The value of a rank is what its threads have together, as the metric combines. Ranks that never were at a node have 0 of a sum, and
 * of a least or largest value they have none.
 *
 *     struct ar_node_metrics m;
 *     if (ar_node_metrics_build(&m, &profile) < 0) ...
 *     m.items[i].value, m.items[i].ranks.max_process …
 *     ar_node_metrics_free(&m);
 */
#pragma once

#include "analysis/totals.h"

struct ar_node_metric {
    uint32_t node;
    unsigned metric;        /* its number in the profile */
    uint64_t value;         /* over all ranks, as the metric combines */
    struct ar_spread ranks; /* over ranks */
    double quotient;        /* by the sum that the metric names; NAN: it names none */
};

/* By metric, then node; only where there is a value. */
struct ar_node_metrics {
    struct ar_node_metric *items;
    size_t n, cap;
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_node_metrics_build(struct ar_node_metrics *out,
                                                   const struct ar_profile *p);
void ar_node_metrics_free(struct ar_node_metrics *m);
