// SPDX-License-Identifier: BSD-3-Clause
/*
 * bulk: what is too large to be read with the rest of a run, and is looked up in the file where it lies.
 *
 * The events of traces are bulk: a run of gigabytes is opened, merged and reported without reading them. What belongs together has an
 * identity, by which streams of the profile refer to it, and lies in pieces of files: in a run file in one, in a live file in chunks.
 * Merging passes on where the pieces lie; writing a run file copies them, 4 MiB at a time.
 *
 * Files are opened for each read and closed again, since programs count descriptors.
 *
 * Threads: one owner; any number may read.
 */
#pragma once

#include "base/bytes.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes that were made while reading, for as many sources as refer to them. */
struct ar_bulk_memory {
    uint32_t n_owners; /* changed atomically: profiles of several threads may share one */
    unsigned char bytes[];
};

struct ar_bulk_source;
/* Exactly `n` bytes from `at` on, of a file (bulk_read.c), or of the bulk `id`. */
typedef enum ar_status ar_bulk_read_fn(const struct ar_bulk_source *source, uint64_t id, void *to,
                                       size_t n, uint64_t at, struct ar_error *err);

/* Of a file, of memory that lives longer or is shared, or of whatever `read` knows: another rank. */
struct ar_bulk_source {
    char *path;                    /* NULL: not a file that this process can read */
    const unsigned char *memory;   /* NULL: it is none */
    uint64_t n_bytes;              /* of memory */
    struct ar_bulk_memory *shared; /* that `memory` points into; NULL: it lives longer by itself */
    int rank;                      /* for `read`, where there is no path */
    ar_bulk_read_fn *read;
};

struct ar_bulk_piece {
    uint32_t source;
    uint64_t at, n_bytes;
};

struct ar_bulk {
    uint64_t id;
    uint64_t n_bytes;
    struct ar_bulk_piece *pieces;
    size_t n_pieces, cap_pieces;
};

/* A zeroed one is empty. */
struct ar_bulks {
    struct ar_bulk *items;
    size_t n, cap;
    struct ar_bulk_source *sources;
    size_t n_sources, cap_sources;
};

void ar_bulks_free(struct ar_bulks *bulks);
/* Memory for `n` bytes with one owner, who is to release it; NULL: there is none. */
struct ar_bulk_memory *ar_bulk_memory_new(size_t n);
void ar_bulk_memory_release(struct ar_bulk_memory *memory);
/* The number of a source that is the same already, or of a new one; its path is copied. */
AR_MUST_CHECK enum ar_status ar_bulks_source(struct ar_bulks *bulks,
                                             const struct ar_bulk_source *source, uint32_t *number);
/* Behind the pieces that the bulk has already; a new bulk, where there is none of that identity. */
AR_MUST_CHECK enum ar_status ar_bulks_add(struct ar_bulks *bulks, uint64_t id,
                                          const struct ar_bulk_piece *piece);
/* NULL: there is none. */
const struct ar_bulk *ar_bulks_find(const struct ar_bulks *bulks, uint64_t id);
/* Those that `bulks` has already are the same. */
AR_MUST_CHECK enum ar_status ar_bulks_merge(struct ar_bulks *bulks, const struct ar_bulks *other);
/* Removes what no stream refers to: `is_used` is asked for each. */
void ar_bulks_keep(struct ar_bulks *bulks, bool (*is_used)(uint64_t id, const void *context),
                   const void *context);
uint64_t ar_bulks_bytes(const struct ar_bulks *bulks);
/* Of a run that was just decoded: it is in that file, or `rank` has it, by whose `read` it is to be had. */
AR_MUST_CHECK enum ar_status ar_bulks_of_file(struct ar_bulks *bulks, const char *path,
                                              ar_bulk_read_fn *read);
void ar_bulks_of_rank(struct ar_bulks *bulks, int rank, const struct ar_bulk_source *like);

AR_MUST_CHECK enum ar_status ar_bulk_get(const struct ar_bulks *bulks, const struct ar_bulk *bulk,
                                         uint64_t at, void *to, size_t n, struct ar_error *err);

/* As a section of a run file: of each its identity, and where it begins in the bytes that follow all sections. */
void ar_bulks_encode(const struct ar_bulks *bulks, struct ar_bytes *out);
/* `at`: where those bytes begin in the file, and how many there are. */
void ar_bulks_decode(struct ar_bulks *bulks, struct ar_cursor *in, uint64_t at, uint64_t n_bytes);

/* From files: the reader of sources that have a path. */
ar_bulk_read_fn ar_bulk_read_file;
/* How many bytes lie behind the ends of their files, which have been cut off then; `path`: of the first such file. */
uint64_t ar_bulks_missing(const struct ar_bulks *bulks, const char **path);
