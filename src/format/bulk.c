// SPDX-License-Identifier: BSD-3-Clause
#include "format/bulk.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct ar_bulk_memory *ar_bulk_memory_new(size_t n)
{
    struct ar_bulk_memory *memory = malloc(sizeof *memory + n);

    if (memory)
        memory->n_owners = 1;
    return memory;
}

void ar_bulk_memory_release(struct ar_bulk_memory *memory)
{
    if (memory && __atomic_sub_fetch(&memory->n_owners, 1, __ATOMIC_ACQ_REL) == 0)
        free(memory);
}

static void free_source(struct ar_bulk_source *source)
{
    free(source->path);
    ar_bulk_memory_release(source->shared);
}

void ar_bulks_free(struct ar_bulks *bulks)
{
    for (size_t i = 0; i < bulks->n; i++)
        free(bulks->items[i].pieces);
    for (size_t i = 0; i < bulks->n_sources; i++)
        free_source(&bulks->sources[i]);
    free(bulks->items);
    free(bulks->sources);
    *bulks = (struct ar_bulks){0};
}

static bool is_same_source(const struct ar_bulk_source *a, const struct ar_bulk_source *b)
{
    if (a->memory || b->memory)
        return a->memory == b->memory;
    if (a->path && b->path)
        return strcmp(a->path, b->path) == 0;
    return !a->path && !b->path && a->read == b->read && a->rank == b->rank;
}

enum ar_status ar_bulks_source(struct ar_bulks *bulks, const struct ar_bulk_source *source,
                               uint32_t *number)
{
    struct ar_bulk_source copy = *source;

    for (size_t i = bulks->n_sources; i-- > 0;)
        if (is_same_source(&bulks->sources[i], source)) {
            *number = (uint32_t)i;
            return AR_OK;
        }
    if (ar_grow((void **)&bulks->sources, &bulks->cap_sources, bulks->n_sources + 1,
                sizeof *bulks->sources) < 0)
        return AR_NOMEM;
    if (source->path && !(copy.path = strdup(source->path)))
        return AR_NOMEM;
    if (source->shared)
        __atomic_add_fetch(&source->shared->n_owners, 1, __ATOMIC_RELAXED);
    *number = (uint32_t)bulks->n_sources;
    bulks->sources[bulks->n_sources++] = copy;
    return AR_OK;
}

const struct ar_bulk *ar_bulks_find(const struct ar_bulks *bulks, uint64_t id)
{
    for (size_t i = bulks->n; i-- > 0;)
        if (bulks->items[i].id == id)
            return &bulks->items[i];
    return NULL;
}

static struct ar_bulk *find_or_make(struct ar_bulks *bulks, uint64_t id)
{
    struct ar_bulk *found = (struct ar_bulk *)(uintptr_t)ar_bulks_find(bulks, id);

    if (found)
        return found;
    if (ar_grow((void **)&bulks->items, &bulks->cap, bulks->n + 1, sizeof *bulks->items) < 0)
        return NULL;
    bulks->items[bulks->n] = (struct ar_bulk){.id = id};
    return &bulks->items[bulks->n++];
}

enum ar_status ar_bulks_add(struct ar_bulks *bulks, uint64_t id, const struct ar_bulk_piece *piece)
{
    struct ar_bulk *bulk = find_or_make(bulks, id);

    if (!bulk || ar_grow((void **)&bulk->pieces, &bulk->cap_pieces, bulk->n_pieces + 1,
                         sizeof *bulk->pieces) < 0)
        return AR_NOMEM;
    bulk->pieces[bulk->n_pieces++] = *piece;
    bulk->n_bytes += piece->n_bytes;
    return AR_OK;
}

static enum ar_status add_bulk(struct ar_bulks *bulks, const struct ar_bulks *other,
                               const struct ar_bulk *bulk)
{
    enum ar_status status = AR_OK;

    if (ar_bulks_find(bulks, bulk->id))
        return AR_OK;
    for (size_t i = 0; i < bulk->n_pieces && status == AR_OK; i++) {
        struct ar_bulk_piece piece = bulk->pieces[i];

        status = ar_bulks_source(bulks, &other->sources[piece.source], &piece.source);
        if (status == AR_OK)
            status = ar_bulks_add(bulks, bulk->id, &piece);
    }
    return status;
}

enum ar_status ar_bulks_merge(struct ar_bulks *bulks, const struct ar_bulks *other)
{
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < other->n && status == AR_OK; i++)
        status = add_bulk(bulks, other, &other->items[i]);
    return status;
}

void ar_bulks_keep(struct ar_bulks *bulks, bool (*is_used)(uint64_t id, const void *context),
                   const void *context)
{
    size_t n = 0;

    for (size_t i = 0; i < bulks->n; i++)
        if (is_used(bulks->items[i].id, context))
            bulks->items[n++] = bulks->items[i];
        else
            free(bulks->items[i].pieces);
    bulks->n = n;
}

uint64_t ar_bulks_bytes(const struct ar_bulks *bulks)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < bulks->n; i++)
        n_bytes += bulks->items[i].n_bytes;
    return n_bytes;
}

enum ar_status ar_bulks_of_file(struct ar_bulks *bulks, const char *path, ar_bulk_read_fn *read)
{
    for (size_t i = 0; i < bulks->n_sources; i++) {
        struct ar_bulk_source *source = &bulks->sources[i];

        if (source->path || source->memory)
            continue;
        source->path = strdup(path);
        source->read = read;
        if (!source->path)
            return AR_NOMEM;
    }
    return AR_OK;
}

void ar_bulks_of_rank(struct ar_bulks *bulks, int rank, const struct ar_bulk_source *like)
{
    for (size_t i = 0; i < bulks->n_sources; i++) {
        bulks->sources[i] = *like;
        bulks->sources[i].rank = rank;
    }
    for (size_t i = 0; i < bulks->n; i++)
        bulks->items[i].pieces->at = 0; /* by identity, and not by a place in a file */
}

/* ---- reading ---------------------------------------------------------------------------------- */

static enum ar_status read_source(const struct ar_bulk_source *source, uint64_t id, void *to,
                                  size_t n, uint64_t at, struct ar_error *err)
{
    if (source->memory) {
        if (at > source->n_bytes || n > source->n_bytes - at)
            return ar_fail(err, AR_BAD, "the trace is truncated (copy the file again)");
        memcpy(to, source->memory + at, n);
        return AR_OK;
    }
    if (!source->read)
        return ar_fail(err, AR_IO, "the trace is not in a file that can be read here");
    return source->read(source, id, to, n, at, err);
}

enum ar_status ar_bulk_get(const struct ar_bulks *bulks, const struct ar_bulk *bulk, uint64_t at,
                           void *to, size_t n, struct ar_error *err)
{
    unsigned char *next = to;

    for (size_t i = 0; i < bulk->n_pieces && n; i++) {
        const struct ar_bulk_piece *piece = &bulk->pieces[i];
        size_t n_here;

        if (at >= piece->n_bytes) {
            at -= piece->n_bytes;
            continue;
        }
        n_here = n < piece->n_bytes - at ? n : (size_t)(piece->n_bytes - at);

        enum ar_status status = read_source(&bulks->sources[piece->source], bulk->id, next, n_here,
                                            piece->at + at, err);

        if (status < 0)
            return status;
        next += n_here;
        n -= n_here;
        at = 0;
    }
    return n ? ar_fail(err, AR_BAD, "the trace is truncated (copy the file again)") : AR_OK;
}

/* ---- as a section ----------------------------------------------------------------------------- */

void ar_bulks_encode(const struct ar_bulks *bulks, struct ar_bytes *out)
{
    ar_bytes_varint(out, bulks->n);
    for (size_t i = 0; i < bulks->n; i++) {
        ar_bytes_u64(out, bulks->items[i].id);
        ar_bytes_varint(out, bulks->items[i].n_bytes);
    }
}

void ar_bulks_decode(struct ar_bulks *bulks, struct ar_cursor *in, uint64_t at, uint64_t n_bytes)
{
    static const struct ar_bulk_source unnamed = {0};
    uint32_t n = ar_cursor_count(in, 9), source;

    if (bulks->n || ar_bulks_source(bulks, &unnamed, &source) < 0)
        in->bad = true; /* there is one such section */
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        uint64_t id = ar_cursor_u64(in), n_here = ar_cursor_varint(in);
        const struct ar_bulk_piece piece = {source, at, n_here};

        if (n_here > n_bytes || ar_bulks_find(bulks, id) || ar_bulks_add(bulks, id, &piece) < 0)
            in->bad = true;
        at += n_here;
        n_bytes -= n_here;
    }
}
