// SPDX-License-Identifier: BSD-3-Clause
#include "format/other_streams.h"

#include "base/arena.h"
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

static void free_stream(struct ar_other_stream *stream)
{
    for (size_t i = 0; i < stream->n_tables; i++)
        free(stream->tables[i].numbers);
    free((char *)stream->name);
    free(stream->own);
}

void ar_other_streams_free(struct ar_other_streams *streams)
{
    for (size_t i = 0; i < streams->n; i++)
        free_stream(&streams->items[i]);
    free(streams->items);
    *streams = (struct ar_other_streams){0};
}

static struct ar_column_place place_of(const struct ar_stream_table *table)
{
    return (struct ar_column_place){
        .at = table->numbers, .step = sizeof(uint32_t), .n = table->n, .n_bytes = sizeof(uint32_t)};
}

/* ---- keeping ---------------------------------------------------------------------------------- */

static bool keep_bytes(struct ar_other_stream *stream)
{
    if (stream->own)
        return true;
    stream->own = malloc(stream->n_bytes + 1);
    if (!stream->own)
        return false;
    memcpy(stream->own, stream->bytes, stream->n_bytes);
    stream->bytes = stream->own;
    return true;
}

static bool copy_table(struct ar_stream_table *to, const struct ar_stream_table *from)
{
    to->n = from->n;
    to->numbers = malloc((from->n + 1) * sizeof *to->numbers);
    if (to->numbers)
        memcpy(to->numbers, from->numbers, from->n * sizeof *to->numbers);
    return to->numbers != NULL;
}

static bool copy_stream(struct ar_other_stream *to, const struct ar_other_stream *from,
                        bool with_bytes)
{
    bool is_whole;

    *to = *from;
    to->own = NULL;
    to->name = strdup(from->name);
    is_whole = to->name != NULL;
    for (size_t i = 0; i < from->n_tables; i++)
        is_whole = copy_table(&to->tables[i], &from->tables[i]) && is_whole;
    is_whole = is_whole && (!with_bytes || keep_bytes(to));
    if (!is_whole)
        free_stream(to);
    return is_whole;
}

enum ar_status ar_other_streams_add(struct ar_other_streams *streams,
                                    const struct ar_other_stream *other,
                                    const struct ar_role_maps *maps, bool with_bytes)
{
    const uint32_t *locations = maps->to[AR_ROLE_LOCATION];
    uint32_t location = locations ? locations[other->location] : other->location;

    if (location == AR_NO_ID)
        return AR_OK;
    if (ar_grow((void **)&streams->items, &streams->cap, streams->n + 1, sizeof *streams->items) <
            0 ||
        !copy_stream(&streams->items[streams->n], other, with_bytes))
        return AR_NOMEM;

    struct ar_other_stream *stream = &streams->items[streams->n++];

    stream->location = location;
    for (size_t i = 0; i < stream->n_tables; i++)
        ar_column_map(&stream->roles[i], place_of(&stream->tables[i]), maps);
    return AR_OK;
}

enum ar_status ar_other_streams_keep(struct ar_other_streams *streams)
{
    for (size_t i = 0; i < streams->n; i++)
        if (!keep_bytes(&streams->items[i]))
            return AR_NOMEM;
    return AR_OK;
}

void ar_other_streams_renumber(struct ar_other_streams *streams, const uint32_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < streams->n; i++) {
        struct ar_other_stream *stream = &streams->items[i];

        stream->location = numbers[stream->location];
        if (stream->location == AR_NO_ID)
            free_stream(stream);
        else
            streams->items[n++] = *stream;
    }
    streams->n = n;
}

/* ---- order ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const struct ar_other_stream *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = (x->location > y->location) - (x->location < y->location);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

void ar_other_streams_sort(struct ar_other_streams *streams)
{
    for (size_t i = 0; i < streams->n; i++)
        streams->items[i].number = i;
    if (streams->n)
        qsort(streams->items, streams->n, sizeof *streams->items, by_name);
}

static bool same_tables(const struct ar_other_stream *a, const struct ar_other_stream *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->n_tables == b->n_tables;

    for (size_t i = 0; same && i < a->n_tables; i++)
        same = a->roles[i].role == b->roles[i].role && a->roles[i].flags == b->roles[i].flags;
    return same;
}

size_t ar_other_streams_alike(const struct ar_other_streams *streams, size_t first)
{
    size_t n = 1;

    while (first + n < streams->n &&
           same_tables(&streams->items[first], &streams->items[first + n]))
        n++;
    return n;
}

/* ---- as bytes --------------------------------------------------------------------------------- */

void ar_stream_head_encode(const char *name, const struct ar_column *roles, size_t n_tables,
                           size_t n_streams, struct ar_bytes *out)
{
    ar_bytes_text(out, name);
    ar_bytes_varint(out, n_tables);
    for (size_t i = 0; i < n_tables; i++) {
        ar_bytes_u8(out, roles[i].role);
        ar_bytes_u8(out, roles[i].flags);
    }
    ar_bytes_varint(out, n_streams);
}

uint32_t ar_stream_head_decode(struct ar_cursor *in, struct ar_column *roles, size_t *n_tables)
{
    *n_tables = ar_cursor_count(in, 2);
    if (*n_tables > AR_MAX_STREAM_TABLES)
        in->bad = true;
    for (size_t i = 0; i < *n_tables && !in->bad; i++) {
        roles[i] = (struct ar_column){.role = ar_cursor_u8(in), .flags = ar_cursor_u8(in)};
        if (roles[i].role == AR_ROLE_NUMBER || roles[i].role >= AR_N_ROLES ||
            roles[i].flags & ~(unsigned)AR_COLUMN_OPTIONAL)
            in->bad = true;
    }
    return ar_cursor_count(in, 2 + *n_tables);
}

void ar_other_streams_encode(const struct ar_other_streams *streams, size_t first, size_t n,
                             struct ar_bytes *out)
{
    const struct ar_other_stream *s = &streams->items[first];

    ar_stream_head_encode(s->name, s->roles, s->n_tables, n, out);
    for (; n; n--, s++) {
        ar_bytes_varint(out, s->location);
        for (size_t i = 0; i < s->n_tables; i++) {
            ar_bytes_varint(out, s->tables[i].n);
            ar_column_put(&s->roles[i], place_of(&s->tables[i]), out);
        }
        ar_bytes_varint(out, s->n_bytes);
        ar_bytes_put(out, s->bytes, s->n_bytes);
    }
}

static void decode_stream(struct ar_other_stream *s, struct ar_cursor *in,
                          const struct ar_role_limits *limits)
{
    s->location = ar_cursor_varint32(in);
    if (s->location >= limits->n[AR_ROLE_LOCATION])
        in->bad = true;
    for (size_t i = 0; i < s->n_tables; i++) {
        s->tables[i].n = ar_cursor_count(in, 1);
        s->tables[i].numbers = calloc(s->tables[i].n + 1, sizeof(uint32_t));
        if (!s->tables[i].numbers) {
            s->tables[i].n = 0;
            in->bad = true;
        }
        ar_column_get(&s->roles[i], place_of(&s->tables[i]), in, limits);
    }
    s->n_bytes = ar_cursor_count(in, 1);
    s->bytes = ar_cursor_take(in, s->n_bytes);
}

void ar_other_streams_decode(struct ar_other_streams *streams, const char *name, size_t n_name,
                             struct ar_cursor *in, const struct ar_role_limits *limits)
{
    struct ar_other_stream like = {0};
    uint32_t n = ar_stream_head_decode(in, like.roles, &like.n_tables);

    for (uint32_t i = 0; i < n && !in->bad; i++) {
        if (ar_grow((void **)&streams->items, &streams->cap, streams->n + 1,
                    sizeof *streams->items) < 0) {
            in->bad = true;
            return;
        }

        struct ar_other_stream *stream = &streams->items[streams->n++];

        *stream = like;
        stream->name = strndup(name, n_name);
        in->bad = in->bad || !stream->name;
        decode_stream(stream, in, limits);
    }
}
