// SPDX-License-Identifier: BSD-3-Clause
/*
 * other_data: metrics, tables and streams that came with a file and that this program does not know.
 *
 * They are kept when files are merged and written. Metrics can be read by node and thread (run/measured.h), tables can be shown
 * (run/other_tables.h); of a stream only its size is known.
 *
 *     size_t n;
 *     const struct ar_other_row *rows = ar_run_other_data(run, &n);
 *     if (!rows) ...
 */
#pragma once

#include "run/run.h"

enum ar_other_kind { AR_OTHER_METRIC, AR_OTHER_TABLE, AR_OTHER_STREAM };

/* A metric, a table, or all streams of a name. */
struct ar_other_row {
    enum ar_other_kind kind;
    const char *name;
    const char *unit;          /* of a metric, else "" */
    uint64_t n_rows;           /* values of a metric, rows of a table */
    size_t n_threads, n_bytes; /* of a stream */
};

/* "metric", "table", "stream" */
const char *ar_other_kind_name(enum ar_other_kind kind);
/* As the file has them: it does not matter how nodes are folded. They live as long as the run. NULL: no memory. */
const struct ar_other_row *ar_run_other_data(struct ar_run *run, size_t *n);
