// SPDX-License-Identifier: BSD-3-Clause
/*
 * timeline: the picture of a window of time, with a row for each rank.
 *
 * A rank's row is that of its main thread. Its other threads, and those of its children, are rows of their own below it where they
 * are wanted. Where there are more ranks than rows, each row has as many ranks in order, and shows their mean.
 *
 *     struct ar_timeline t;
 *     const struct ar_timeline_choice choice = {.to_ns = INT64_MAX, .n_columns = 80, .most_rows = 20};
 *     if (ar_timeline_make(&t, &traces, &choice, &err) < 0) ...
 *     const struct ar_window_cell *cell = ar_timeline_cell(&t, row, column);
 *     ar_timeline_free(&t);
 *
 * Threads: one owner. There is no operating system in it.
 */
#pragma once

#include "analysis/trace_window.h"

struct ar_timeline_choice {
    int64_t from_ns, to_ns;   /* cut to where the run was traced */
    size_t n_columns;         /* fewer where these would be shorter than some units of the trace */
    size_t most_rows;         /* 0: a row for each */
    bool with_threads;        /* other threads than the main ones, and children */
    const uint8_t *is_wanted; /* as in struct ar_window_choice */
};

/* Threads of `threads` that one row shows. */
struct ar_timeline_row {
    size_t first, n;
    double class_ns[AR_N_WINDOW_CLASSES]; /* mean over these threads */
};

struct ar_timeline {
    const struct ar_traces *traces;
    int64_t from_ns, to_ns;
    size_t n_columns, n_rows;
    size_t *threads; /* indexes of traces, in the order of rows */
    size_t n_threads, n_left_out;
    size_t per_row; /* threads, of all rows but the last */
    struct ar_timeline_row *rows;
    struct ar_window_cell *cells;         /* row by row */
    double class_ns[AR_N_WINDOW_CLASSES]; /* mean over all threads that are shown */
    double error;
    uint64_t n_events, n_bins;
    struct ar_clock_hosts clocks;
};

AR_MUST_CHECK enum ar_status ar_timeline_make(struct ar_timeline *out,
                                              const struct ar_traces *traces,
                                              const struct ar_timeline_choice *choice,
                                              struct ar_error *err);
void ar_timeline_free(struct ar_timeline *t);

static inline const struct ar_window_cell *ar_timeline_cell(const struct ar_timeline *t, size_t row,
                                                            size_t column)
{
    return &t->cells[row * t->n_columns + column];
}

/*
 * The class of each column of a row, as it is painted: of those that have time in the column the one that has too few columns so far. So along a
 * row each class has about as many columns as it has time, and none where it has no time.
 */
void ar_timeline_classes(const struct ar_timeline *t, size_t row, uint8_t *classes);
