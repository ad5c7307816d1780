// SPDX-License-Identifier: BSD-3-Clause
/*
 * rows: a metric of a profile, node by node, however the profile has it.
 *
 * A profile has its values as plain arrays, or packed as they are in its file, or it shows those of
 * another with several nodes as one. To a caller that reads by rows all are the same, and what is not asked
 * for is not made plain: a run of 34 million values is read in the memory of its file.
 *
 * Plain metrics have to be in order (ar_profile_sort). A row is good until the next one is asked for.
 * Threads: one owner each.
 *
 *     struct ar_rows rows;
 *     if (ar_rows_open(&rows, &profile, AR_METRIC_TIME) < 0) ...
 *     struct ar_row row = ar_rows_get(&rows, node);
 *     ar_rows_close(&rows);
 */
#pragma once

#include "format/profile.h"

/* The values of a node, in order of locations. */
struct ar_row {
    const struct ar_value *values;
    size_t n;
};

struct ar_rows {
    const struct ar_profile *p; /* that has the values */
    unsigned metric;
    size_t *starts;          /* plain: by node, where its values are, with one more */
    uint32_t *row_of;        /* packed: by node, the number of its row plus 1 */
    struct ar_value *values; /* a row that was unpacked */
    /* Several nodes as one: */
    const struct ar_profile *shown; /* NULL: they are not */
    const struct ar_row_list *list;
    struct ar_value *combined;
    uint64_t *by_location, *is_there; /* bits */
};

AR_MUST_CHECK enum ar_status ar_rows_open(struct ar_rows *out, const struct ar_profile *p,
                                          unsigned metric);
struct ar_row ar_rows_get(struct ar_rows *rows, uint32_t node);
void ar_rows_close(struct ar_rows *rows);
