// SPDX-License-Identifier: BSD-3-Clause
/*
 * other_streams: what happened on threads, in order of time, as only a later version knows how to read it.
 *
 * A stream is bytes, and tables of what they refer to: merging replaces numbers in the tables, and leaves the bytes alone. So one that this
 * program cannot read is kept, renumbered, and written again. Our own, of synchronising calls, is stored in the same way
 * (format/streams.h).
 *
 *     section   name, number of reference tables, of each its role and flags; number of streams
 *     stream    location; of each table its size and numbers; number of bytes, bytes
 *
 * Threads: one owner; any number may read.
 */
#pragma once

#include "format/column.h"

#define AR_MAX_STREAM_TABLES 8

/* What numbers in the bytes stand for. */
struct ar_stream_table {
    uint32_t *numbers;
    size_t n;
};

struct ar_other_stream {
    const char *name;
    uint32_t location;
    size_t number;                                /* where it was, when they are put in order */
    struct ar_column roles[AR_MAX_STREAM_TABLES]; /* of the tables: role and flags */
    struct ar_stream_table tables[AR_MAX_STREAM_TABLES];
    size_t n_tables;
    const unsigned char *bytes;
    size_t n_bytes;
    unsigned char
        *own; /* the same bytes where they are this stream's; NULL: another owner keeps them */
};

/* All of a kind, in any order. A zeroed one is empty. */
struct ar_other_streams {
    struct ar_other_stream *items;
    size_t n, cap;
};

void ar_other_streams_free(struct ar_other_streams *streams);
/* Another's, with its numbers replaced; what it refers to has one. Without bytes of its own that one has to live longer. */
AR_MUST_CHECK enum ar_status ar_other_streams_add(struct ar_other_streams *streams,
                                                  const struct ar_other_stream *other,
                                                  const struct ar_role_maps *maps, bool with_bytes);
/* Bytes of their own, if they were another's. */
AR_MUST_CHECK enum ar_status ar_other_streams_keep(struct ar_other_streams *streams);
/* Numbers of locations become `numbers[location]`; where that is AR_NO_ID, the stream is removed. */
void ar_other_streams_renumber(struct ar_other_streams *streams, const uint32_t *numbers);
/* By name, then location; those of one location stay in their order. */
void ar_other_streams_sort(struct ar_other_streams *streams);

/* How many from `first` on have the same name and tables: they are one section. */
size_t ar_other_streams_alike(const struct ar_other_streams *streams, size_t first);
void ar_other_streams_encode(const struct ar_other_streams *streams, size_t first, size_t n,
                             struct ar_bytes *out);
/* Those of a section whose name has been read. What is read points into the bytes of `in`. */
void ar_other_streams_decode(struct ar_other_streams *streams, const char *name, size_t n_name,
                             struct ar_cursor *in, const struct ar_role_limits *limits);

/* ---- what our own streams share ---------------------------------------------------------------- */

void ar_stream_head_encode(const char *name, const struct ar_column *roles, size_t n_tables,
                           size_t n_streams, struct ar_bytes *out);
/* After the name. How many streams follow; `roles` has AR_MAX_STREAM_TABLES. */
uint32_t ar_stream_head_decode(struct ar_cursor *in, struct ar_column *roles, size_t *n_tables);
