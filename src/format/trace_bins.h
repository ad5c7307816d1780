// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_bins: what a thread did in each small part of a chunk of its trace, so that pictures of long times need no events.
 *
 * A chunk has bins on several levels. Those of level 0 last 2^bin_shift units each, those of each further level four times as long
 * as those of the level below; the last one of a level may be shorter. A bin has the time of each class exactly, in units, so
 * that sums of bins are exact, too; and the items that took most of it, with their shares of 255, rounded down: what these leave is of other items.
 *
 *     bin      u8: number of classes, from 1, + 16 times the number of items
 *              classes: of each but the last its number u8 and its units; of the last its number u8: it has the rest
 *              items: of each its number and a byte, its share
 *     0        as the bin before, which lasted as long; a number says how many more times
 *
 *     struct ar_trace_bins bins = {.in = ar_cursor_over(bytes, n), .width = width, .n_units = chunk->units, .n_items = n_items};
 *     while (ar_trace_bins_next(&bins))
 *         … bins.bin …
 *     if (bins.in.bad) ...
 *
 * Threads: one owner of a reader. Nothing in the bytes is trusted.
 */
#pragma once

#include "base/bytes.h"
#include "format/trace_class.h"

#define AR_TRACE_BIN_TOPS 4
#define AR_TRACE_LEVEL_SHIFT 2 /* a bin is so many bits longer than those of the level below */
#define AR_MOST_TRACE_LEVELS 6

struct ar_trace_bin {
    uint64_t n_units;
    uint8_t n_classes, n_tops;
    uint8_t classes[AR_N_TRACE_CLASSES]; /* that have some of it */
    uint64_t units[AR_N_TRACE_CLASSES];  /* of these, in the same order: n_units in all */
    uint32_t items[AR_TRACE_BIN_TOPS];
    uint8_t shares[AR_TRACE_BIN_TOPS];
};

/*
 * Places in the events of a chunk where reading may begin, about 8 KiB apart: a short window reads what lies between two of them. The first is
 * the beginning of the chunk. Each has the checksum of the bytes up to the next.
 *
 *     marks    of each how much further on it is in bytes and in units, its item plus 1 (0: nothing is recorded there), crc32 u32
 */
#define AR_MOST_TRACE_MARKS 64

struct ar_trace_mark {
    uint32_t at, crc; /* `at`: in the chunk */
    uint64_t units;
    uint32_t item; /* where the thread is; UINT32_MAX: nothing is recorded there */
};

/* Returns how many there are, at most AR_MOST_TRACE_MARKS; 0: they make no sense. */
size_t ar_trace_marks_get(const void *bytes, size_t n_bytes, uint32_t n_items,
                          uint64_t n_chunk_bytes, struct ar_trace_mark *out);
void ar_trace_marks_put(struct ar_bytes *out, const struct ar_trace_mark *marks, size_t n);

void ar_trace_bin_put(struct ar_bytes *out, const struct ar_trace_bin *bin);
/* `n_units` says how long it is. Bad: it makes no sense. */
void ar_trace_bin_get(struct ar_cursor *in, uint64_t n_units, uint32_t n_items,
                      struct ar_trace_bin *out);

/* Those of a level, one after the other. */
struct ar_trace_bins {
    struct ar_cursor in;
    uint64_t width, n_units; /* of a bin; left of the chunk */
    uint32_t n_items;
    uint64_t n_same; /* how often the last one comes again */
    struct ar_trace_bin bin;
};

bool ar_trace_bins_next(struct ar_trace_bins *bins);

/* Writes those of a level: the same ones are counted. */
struct ar_trace_bins_writer {
    struct ar_bytes *out;
    struct ar_trace_bin last;
    uint64_t n_same;
};

void ar_trace_bins_put(struct ar_trace_bins_writer *w, const struct ar_trace_bin *bin);
/* Ends the level. */
void ar_trace_bins_end(struct ar_trace_bins_writer *w);
