// SPDX-License-Identifier: BSD-3-Clause
/*
 * timeline_view: how `allranks timeline` shows a picture of a trace: on a terminal, and as SVG.
 *
 *     struct ar_timeline_view view = {.path = path, .t = &timeline};
 *     ar_timeline_text(&view, 80);
 *     ar_timeline_svg(&view, &bytes);
 */
#pragma once

#include "analysis/timeline.h"
#include "base/bytes.h"

struct ar_timeline_view {
    const char *path;  /* as the user gave it */
    const char *match; /* NULL: all functions */
    const struct ar_timeline *t;
};

/* "0-3", "5", "2.1", "1 pid 4711": of a row, in a room of so many bytes. */
#define AR_ROW_LABEL_BYTES 64
void ar_timeline_label(const struct ar_timeline *t, size_t row, char *room);
/* "ranks", or what else rows are. */
const char *ar_timeline_rows_are(const struct ar_timeline *t);
const char *ar_timeline_class_label(unsigned kind);
/* Classes that have time in the window, the longest time first; returns how many there are. */
size_t ar_timeline_legend(const struct ar_timeline *t, unsigned classes[AR_N_WINDOW_CLASSES]);

/* As many columns of time as fit beside the labels of rows. */
size_t ar_timeline_columns(const struct ar_profile *p, bool with_threads, size_t n_screen_columns);
void ar_timeline_text(const struct ar_timeline_view *view, size_t n_screen_columns);
/* How many lines that takes besides rows. */
#define AR_TIMELINE_OTHER_LINES 8

/* Rows that are drawn each by itself, at most. */
#define AR_TIMELINE_SVG_ROWS 512
#define AR_TIMELINE_SVG_COLUMNS 1000
void ar_timeline_svg(const struct ar_timeline_view *view, struct ar_bytes *out);
