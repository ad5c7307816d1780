// SPDX-License-Identifier: BSD-3-Clause
/*
 * packed: metrics as a run file has them, of which single rows can be read.
 *
 *     sets      each set of locations that some row of some metric has, once
 *     rows      of a metric, by node: which set, and where its values lie
 *     values    in blocks of 128: the least of them, and how much more each is, in as few bits as do
 *
 * Ranks run the same program. So most rows have one of a few sets, and most counts are the same on all
 * of them, which takes no bits at all; and of times only the differences are left. Whole columns are
 * never alike, since times differ: it is sets and counts that can be stored once.
 *
 * Life cycle of what is read: ar_sets_open and ar_packed_open check every byte and keep pointers to
 * them; afterwards nothing can fail. The free functions accept zeroed objects.
 * Threads: after opening any number may read.
 */
#pragma once

#include "base/bytes.h"
#include "base/idmap.h"

#define AR_PACKED_BLOCK 128  /* values */
#define AR_PACKED_VARINTS 65 /* in place of a width in bits: one large value among small ones */

struct ar_value {
    uint32_t node, location;
    uint64_t value;
};

enum ar_set_form { AR_SET_RUNS, AR_SET_BITMAP, AR_N_SET_FORMS };

struct ar_set {
    uint32_t n_locations;
    uint32_t form; /* enum ar_set_form */
    const unsigned char *bytes;
    size_t n_bytes;
};

struct ar_sets {
    struct ar_set *items;
    size_t n_sets;
    uint32_t n_most; /* locations in the largest of them */
};

struct ar_packed_row {
    uint32_t node, set;
    const unsigned char *bytes;
    size_t n_bytes;
};

struct ar_packed {
    struct ar_packed_row *rows; /* in order of nodes */
    size_t n_rows;
    uint64_t n_values;
};

/* ---- writing ---------------------------------------------------------------------------------- */

struct ar_set_body {
    uint32_t n_locations, form;
    size_t offset, n_bytes;
};

/* Sets that have been met: bodies one after the other in `bytes`. A zeroed one is empty. */
struct ar_set_writer {
    struct ar_set_body *items;
    size_t n_sets, cap;
    struct ar_bytes bytes;
    struct ar_idmap ids; /* by hash of the body, probing on by one as in strtab */
    /* The set that was asked for last, where it has one location: the next row's is likely the same. */
    uint32_t latest_location, latest_id;
};

/* The number of the set that a row's values have, in order of locations; the same set, the same number. */
AR_MUST_CHECK enum ar_status ar_set_add(struct ar_set_writer *w, const struct ar_value *row,
                                        size_t n_values, uint32_t *id);
void ar_set_writer_put(const struct ar_set_writer *w, struct ar_bytes *out);
void ar_set_writer_free(struct ar_set_writer *w);
/* Values of one row. */
void ar_packed_put(struct ar_bytes *out, const struct ar_value *row, size_t n_values);

/* ---- reading ---------------------------------------------------------------------------------- */

/* Both say by `in->bad` that something is wrong. What they keep points into the bytes of `in`. */
void ar_sets_open(struct ar_sets *out, struct ar_cursor *in, size_t n_locations);
void ar_sets_free(struct ar_sets *sets);
void ar_packed_open(struct ar_packed *out, struct ar_cursor *in, const struct ar_sets *sets,
                    size_t n_nodes);
void ar_packed_free(struct ar_packed *packed);
/* All values of a row; `out` has room for as many as its set has locations. Returns how many. */
size_t ar_packed_get(const struct ar_packed *packed, const struct ar_sets *sets, size_t row,
                     struct ar_value *out);
