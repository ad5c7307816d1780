// SPDX-License-Identifier: BSD-3-Clause
/*
 * measured: everything that was measured for (node, thread), metric by metric, in whole columns.
 *
 * These are the metrics of the profile, and self time. It is the table `values` of `allranks.load`: its values are too many
 * for cells.
 *
 *     struct ar_measured m;
 *     if (ar_measured_get(&m, run, i) < 0) ...
 *     ar_measured_values(&m, out);
 */
#pragma once

#include "run/tables.h"

struct ar_measured {
    const char *name, *unit; /* "time", "ns" */
    const struct ar_value *values;
    size_t n_values;
};

/* How many metrics there are: ours, and those that came with the file. */
size_t ar_measured_n(struct ar_run *run);
/* "time_s": its name where times are in seconds. */
void ar_measured_name(struct ar_run *run, size_t i, char *out, size_t n_out);
/* Of the form that tables show. It makes packed metrics plain. */
AR_MUST_CHECK enum ar_status ar_measured_get(struct ar_measured *out, struct ar_run *run, size_t i);
void ar_measured_nodes(const struct ar_measured *m, uint32_t *out);
void ar_measured_locations(const struct ar_measured *m, uint32_t *out);
/* 8 bytes each: int64_t, or double of seconds for those in nanoseconds. */
void ar_measured_values(const struct ar_measured *m, void *out);
bool ar_measured_is_time(const struct ar_measured *m);
