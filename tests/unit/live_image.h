// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_image: a live file made by hand in memory, word by word as livefile.h has it. The runtime is
 * not needed.
 *
 * One image at a time. Places in it are offsets of extents and refs of nodes; 2 ns are a tick, the
 * file begins at tick 1000 and its newest stamp is of tick 3000.
 *
 *     image_start();
 *     size_t records = image_extent(AR_EXTENT_RECORDS, 0, 1);
 *     size_t nodes = image_extent(AR_EXTENT_NODES, 0, 1);
 *     image_function(records, AR_FUNCTION_PYTHON, "main");         // number 1
 *     uint32_t root = image_node(nodes, 0, 0, -1000, 1);
 *     image_node(nodes, 1, root, 500, 3);
 *     ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &err);
 */
#pragma once

#include "format/live_measure.h"

#include <stdlib.h>
#include <string.h>

#ifndef IMAGE_BYTES
#define IMAGE_BYTES (64 << 10)
#endif

static struct {
    _Alignas(64) unsigned char bytes[IMAGE_BYTES];
    size_t n_bytes;
} image;

static inline struct ar_live_header *image_header(void)
{
    return (struct ar_live_header *)image.bytes;
}

static inline void image_start(void)
{
    struct ar_live_header *h = image_header();

    memset(&image, 0, sizeof image);
    image.n_bytes = AR_LIVE_HEADER_BYTES;
    *h = (struct ar_live_header){
        .version = AR_LIVE_VERSION,
        .header_bytes = AR_LIVE_HEADER_BYTES,
        .state = AR_LIVE_RUNNING,
        .n_bytes_used = image.n_bytes,
        .n_bytes_max = sizeof image.bytes,
        .pid = 4321,
        .world_rank = 2,
        .world_size = 8,
        .host = "node-7",
        .job = "job-1",
        .start = {1000, 50000, 1700000000000000000u},
        .latest = {3000, 54000, 1700000000000004000u},
    };
    memcpy(h->magic, AR_LIVE_MAGIC, sizeof h->magic);
}

static inline struct ar_extent *image_at(size_t extent)
{
    return (struct ar_extent *)(image.bytes + extent);
}

/* Returns where it is. */
static inline size_t image_extent(enum ar_extent_kind kind, uint32_t owner, size_t n_pages)
{
    size_t at = image.n_bytes;

    image.n_bytes += n_pages * AR_LIVE_PAGE_BYTES;
    if (image.n_bytes > sizeof image.bytes)
        abort();
    *image_at(at) = (struct ar_extent){.kind = kind,
                                       .owner = owner,
                                       .n_bytes = n_pages * AR_LIVE_PAGE_BYTES,
                                       .n_bytes_used = sizeof(struct ar_extent)};
    image_header()->n_bytes_used = image.n_bytes;
    return at;
}

/* Room at the end of an extent; returns where it is. */
static inline size_t image_room(size_t extent, size_t n_bytes)
{
    struct ar_extent *e = image_at(extent);
    size_t at = extent + e->n_bytes_used;

    if (e->n_bytes - e->n_bytes_used < n_bytes)
        abort();
    e->n_bytes_used += n_bytes;
    return at;
}

static inline struct ar_live_thread *image_thread(size_t extent, uint32_t number, uint32_t root_ref,
                                                  const char *name)
{
    struct ar_live_thread *t = (void *)(image.bytes + image_room(extent, sizeof *t));

    *t = (struct ar_live_thread){
        .current_ref = root_ref, .root_ref = root_ref, .number = number, .start_ticks = 1000};
    memcpy(t->name, name, strlen(name));
    return t;
}

static inline struct ar_record *image_record(size_t extent, struct ar_record head, const char *name,
                                             const char *file, const void *linetable)
{
    head.n_name = (uint32_t)strlen(name);
    head.n_file = (uint32_t)strlen(file);
    head.n_bytes = (uint32_t)(sizeof head + head.n_name + head.n_file + head.n_linetable + 7) & ~7u;

    unsigned char *at = image.bytes + image_room(extent, head.n_bytes);

    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, name, head.n_name);
    memcpy(at + sizeof head + head.n_name, file, head.n_file);
    if (linetable)
        memcpy(at + sizeof head + head.n_name + head.n_file, linetable, head.n_linetable);
    return (struct ar_record *)at;
}

static inline void image_function(size_t extent, enum ar_function_kind kind, const char *name)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION, .function_kind = (uint8_t)kind};

    image_record(extent, head, name, "", NULL);
}

/* The first one has number AR_FIRST_MEASURE. */
static inline struct ar_record *image_measure(size_t extent, const struct ar_measure *measure)
{
    struct ar_bytes bytes = {0};

    ar_measure_encode(measure, &bytes);

    struct ar_record head = {.kind = AR_RECORD_MEASURE, .n_linetable = (uint32_t)bytes.n};
    struct ar_record *record = image_record(extent, head, "", "", bytes.data);

    ar_bytes_free(&bytes);
    return record;
}

/* A row of a stream. */
static inline uint64_t *image_row(size_t extent, const uint64_t *words, size_t n_words)
{
    uint64_t *row = (uint64_t *)(image.bytes + image_room(extent, n_words * sizeof *row));

    memcpy(row, words, n_words * sizeof *row);
    return row;
}

/* Returns its ref. */
static inline uint32_t image_node(size_t extent, uint64_t key, uint32_t parent_ref, int64_t ticks,
                                  uint64_t n_calls)
{
    size_t at = image_room(extent, sizeof(struct ar_node));

    *(struct ar_node *)(image.bytes + at) =
        (struct ar_node){.key = key, .ticks = ticks, .n_calls = n_calls, .parent_ref = parent_ref};
    return (uint32_t)(at / AR_LIVE_REF_BYTES);
}

static inline struct ar_node *image_node_at(uint32_t ref)
{
    return (struct ar_node *)(image.bytes + (size_t)ref * AR_LIVE_REF_BYTES);
}

/* Puts values in front of a node's chain. */
static inline struct ar_values *image_values(size_t extent, uint32_t node_ref,
                                             enum ar_values_kind kind)
{
    size_t at = image_room(extent, sizeof(struct ar_values));
    struct ar_values *values = (void *)(image.bytes + at);

    *values = (struct ar_values){.kind = kind, .next_ref = image_node_at(node_ref)->values_ref};
    image_node_at(node_ref)->values_ref = (uint32_t)(at / AR_LIVE_REF_BYTES);
    return values;
}

/* Puts values after the first of a node's chain, as cells of messages and requests are. */
static inline struct ar_values *image_values_after(size_t extent, uint32_t node_ref,
                                                   enum ar_values_kind kind)
{
    size_t at = image_room(extent, sizeof(struct ar_values));
    struct ar_values *values = (void *)(image.bytes + at);
    struct ar_values *first = (void *)image_node_at(image_node_at(node_ref)->values_ref);

    *values = (struct ar_values){.kind = kind, .next_ref = first->next_ref};
    first->next_ref = (uint32_t)(at / AR_LIVE_REF_BYTES);
    return values;
}

static inline struct ar_sync *image_sync(size_t extent, struct ar_sync sync,
                                         const struct ar_sync_part *parts, uint8_t n_parts)
{
    size_t at = image_room(extent, sizeof sync + n_parts * sizeof *parts);

    sync.n_parts = n_parts;
    memcpy(image.bytes + at, &sync, sizeof sync);
    memcpy(image.bytes + at + sizeof sync, parts, n_parts * sizeof *parts);
    return (struct ar_sync *)(image.bytes + at);
}
