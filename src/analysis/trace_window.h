// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_window: a window of time of some threads, as a picture: what each did in each column of it.
 *
 * Cells are made of bins (format/trace_bins.h), the longest ones that are a quarter of a column at most; where even the shortest are
 * longer, of the events themselves. So the work depends on how much is shown, not on how long the run was.
 *
 * Truth: sums of classes are exact but for where a bin lies across the edge between two columns, or of the window. Its time is divided in proportion, so what
 * one column has too much its neighbour has too little: at most `error` of a column, which is an eighth, and 0 where events were read.
 * A node has at least the share that it is said to have.
 *
 *     struct ar_trace_window w;
 *     const struct ar_window_choice choice = {.from_ns = 0, .to_ns = traces.end_ns, .n_columns = 1000};
 *     if (ar_trace_window_read(&w, &traces, &choice, &err) < 0) ...
 *     const struct ar_window_cell *cell = ar_window_cell(&w, row, column);
 *     … cell->shares[AR_CLASS_PYTHON], cell->node …
 *     ar_trace_window_free(&w);
 *
 * Threads: one owner; traces may have any number of readers. There is no operating system in it.
 */
#pragma once

#include "analysis/traces.h"

/* Beside the classes of traces: time in nodes that are not among those that were asked for. */
#define AR_WINDOW_UNWANTED AR_N_TRACE_CLASSES
#define AR_N_WINDOW_CLASSES (AR_N_TRACE_CLASSES + 1)

/* Numbers make no sense: AR_BAD. */
struct ar_window_choice {
    int64_t from_ns, to_ns; /* since the run began */
    const size_t *threads;  /* a row each, indexes of traces; NULL: all of them */
    size_t n_threads;       /* of `threads` */
    size_t n_columns;
    const uint8_t
        *is_wanted; /* by node; NULL: all are. Only events know that: all in the window are read */
};

struct ar_window_cell {
    float shares[AR_N_WINDOW_CLASSES]; /* of the column: they add up to 1 */
    float node_share;
    uint32_t node; /* of the profile: with the largest share; AR_NO_ID: none */
};

struct ar_trace_window {
    int64_t from_ns, to_ns;
    size_t n_rows, n_columns;
    struct ar_window_cell *cells;            /* row by row */
    double (*class_ns)[AR_N_WINDOW_CLASSES]; /* of each row, in all of the window */
    double error;                            /* of a column, at most */
    uint64_t n_events, n_bins;               /* that were read */
};

#define AR_MOST_WINDOW_COLUMNS 100000

AR_MUST_CHECK enum ar_status ar_trace_window_read(struct ar_trace_window *out,
                                                  const struct ar_traces *traces,
                                                  const struct ar_window_choice *choice,
                                                  struct ar_error *err);
void ar_trace_window_free(struct ar_trace_window *w);

static inline const struct ar_window_cell *ar_window_cell(const struct ar_trace_window *w,
                                                          size_t row, size_t column)
{
    return &w->cells[row * w->n_columns + column];
}

/* The class with the largest share, of those that were recorded; AR_CLASS_NONE: nothing was. */
unsigned ar_window_class(const struct ar_window_cell *cell);
