// SPDX-License-Identifier: BSD-3-Clause
#include "format/streams.h"

#include "base/arena.h"
#include "format/livefile.h"
#include "format/runfile_layout.h"

#include <stdlib.h>
#include <string.h>

enum { HAS_OTHER_SEQUENCE = 1, HAS_PARTS = 2, SHAPE_SHIFT = 2 };

void ar_stream_free(struct ar_stream *stream)
{
    free(stream->nodes);
    free(stream->comms);
    free(stream->shapes);
    free(stream->own);
    *stream = (struct ar_stream){0};
}

static void *copy_of(const void *items, size_t n_bytes)
{
    void *copy = malloc(n_bytes ? n_bytes : 1);

    if (copy && items)
        memcpy(copy, items, n_bytes);
    return copy;
}

enum ar_status ar_stream_keep(struct ar_stream *stream)
{
    if (stream->own)
        return AR_OK;
    stream->own = copy_of(stream->bytes, stream->n_bytes);
    stream->bytes = stream->own;
    return stream->own ? AR_OK : AR_NOMEM;
}

enum ar_status ar_stream_copy(struct ar_stream *to, const struct ar_stream *from, bool with_bytes)
{
    *to = *from;
    to->own = NULL;
    to->nodes = copy_of(from->nodes, from->n_nodes * sizeof *from->nodes);
    to->comms = copy_of(from->comms, from->n_comms * sizeof *from->comms);
    to->shapes = copy_of(from->shapes, from->n_shapes * sizeof *from->shapes);
    to->cap_nodes = from->n_nodes;
    to->cap_comms = from->n_comms;
    to->cap_shapes = from->n_shapes;
    if (to->nodes && to->comms && to->shapes && (!with_bytes || ar_stream_keep(to) == AR_OK))
        return AR_OK;
    ar_stream_free(to);
    return AR_NOMEM;
}

/* ---- sequence numbers ------------------------------------------------------------------------- */

/* Messages, and what is no collective call of a communicator's: their numbers do not count anything. */
static bool is_not_counted(uint32_t kind)
{
    return kind >= AR_SYNC_SEND;
}

/* Where the one before is: tables of shapes and communicators grow, so each has every second place. */
static size_t place_of_last(const struct ar_stream_shape *shape, uint32_t id)
{
    return is_not_counted(shape->kind) ? 2 * (size_t)id : 2 * (size_t)shape->comm + 1;
}

static uint32_t expected(const uint32_t *last, const struct ar_stream_shape *shape, uint32_t id)
{
    return last[place_of_last(shape, id)] + !is_not_counted(shape->kind);
}

static size_t n_places(const struct ar_stream *stream)
{
    return 2 * (stream->n_shapes > stream->n_comms ? stream->n_shapes : stream->n_comms) + 2;
}

/* ---- writing ---------------------------------------------------------------------------------- */

void ar_stream_begin(struct ar_stream_writer *w, uint32_t location)
{
    *w = (struct ar_stream_writer){.stream.location = location};
}

static enum ar_status number_of(struct ar_idmap *ids, uint32_t **items, size_t *n, size_t *cap,
                                uint32_t item, uint32_t *number)
{
    *number = ar_idmap_get(ids, (uint64_t)item + 1, AR_NO_ID);
    if (*number != AR_NO_ID)
        return AR_OK;
    if (ar_grow((void **)items, cap, *n + 1, sizeof **items) < 0 ||
        ar_idmap_put(ids, (uint64_t)item + 1, (uint32_t)*n) < 0)
        return AR_NOMEM;
    *number = (uint32_t)*n;
    (*items)[(*n)++] = item;
    return AR_OK;
}

static enum ar_status node_number(struct ar_stream_writer *w, uint32_t node, uint32_t *number)
{
    struct ar_stream *s = &w->stream;

    return number_of(&w->node_ids, &s->nodes, &s->n_nodes, &s->cap_nodes, node, number);
}

static enum ar_status find_shape(struct ar_stream_writer *w, const struct ar_profile_sync *sync,
                                 struct ar_stream_shape *shape)
{
    struct ar_stream *s = &w->stream;
    uint32_t posted;

    *shape = (struct ar_stream_shape){.kind = sync->kind, .flags = sync->flags, .peer = sync->peer};
    if (node_number(w, sync->node, &shape->node) < 0 ||
        number_of(&w->comm_ids, &s->comms, &s->n_comms, &s->cap_comms, sync->comm, &shape->comm) <
            0)
        return AR_NOMEM;
    if (!sync->posted)
        return AR_OK;
    if (node_number(w, sync->posted - 1, &posted) < 0)
        return AR_NOMEM;
    shape->posted = posted + 1;
    return AR_OK;
}

static enum ar_status add_shape(struct ar_stream_writer *w, const struct ar_stream_shape *shape,
                                uint64_t key, uint32_t *id)
{
    struct ar_stream *s = &w->stream;

    if (ar_grow((void **)&s->shapes, &s->cap_shapes, s->n_shapes + 1, sizeof *s->shapes) < 0 ||
        ar_idmap_put(&w->shape_ids, key, (uint32_t)s->n_shapes) < 0)
        return AR_NOMEM;
    *id = (uint32_t)s->n_shapes;
    s->shapes[s->n_shapes++] = *shape;
    return AR_OK;
}

static enum ar_status shape_number(struct ar_stream_writer *w, const struct ar_stream_shape *shape,
                                   uint32_t *id)
{
    uint64_t key =
        ar_pair_key(ar_pair_key((uint64_t)shape->kind << 32 | shape->flags, shape->comm),
                    ar_pair_key((uint64_t)shape->peer << 32 | shape->node, shape->posted));

    for (;; key++) {
        *id = ar_idmap_get(&w->shape_ids, key ? key : 1, AR_NO_ID);
        if (*id == AR_NO_ID)
            return add_shape(w, shape, key ? key : 1, id);
        if (memcmp(&w->stream.shapes[*id], shape, sizeof *shape) == 0)
            return AR_OK;
    }
}

static enum ar_status make_places(struct ar_stream_writer *w)
{
    size_t n_before = w->cap_last, n = n_places(&w->stream);

    if (ar_grow((void **)&w->last, &w->cap_last, n, sizeof *w->last) < 0)
        return AR_NOMEM;
    /* The first of a communicator is 0. */
    for (size_t i = n_before; i < w->cap_last; i++)
        w->last[i] = i % 2 ? UINT32_MAX : 0;
    return AR_OK;
}

static void put_call(struct ar_stream_writer *w, const struct ar_profile_sync *sync,
                     const struct ar_stream_shape *shape, uint32_t id)
{
    uint32_t next = expected(w->last, shape, id), other = sync->sequence - next;

    ar_bytes_varint(&w->bytes, (uint64_t)id << SHAPE_SHIFT | (sync->n_parts ? HAS_PARTS : 0) |
                                   (other ? HAS_OTHER_SEQUENCE : 0));
    if (other)
        ar_bytes_varint(&w->bytes, (uint32_t)(other << 1 ^ (uint32_t) - (int32_t)(other >> 31)));
    ar_bytes_varint(&w->bytes, sync->exit_ns - w->exit_ns);
    ar_bytes_varint(&w->bytes, sync->exit_ns - sync->enter_ns);
    if (sync->posted)
        ar_bytes_varint(&w->bytes, sync->exit_ns - sync->post_ns);
    w->last[place_of_last(shape, id)] = sync->sequence;
    w->exit_ns = sync->exit_ns;
}

enum ar_status ar_stream_put(struct ar_stream_writer *w, const struct ar_profile_sync *sync,
                             const struct ar_profile_part *parts)
{
    struct ar_stream_shape shape;
    uint32_t id, node;

    if (find_shape(w, sync, &shape) < 0 || shape_number(w, &shape, &id) < 0 || make_places(w) < 0)
        return AR_NOMEM;
    put_call(w, sync, &shape, id);
    if (sync->n_parts)
        ar_bytes_varint(&w->bytes, sync->n_parts);
    for (uint32_t i = 0; i < sync->n_parts; i++) {
        if (node_number(w, parts[i].node, &node) < 0)
            return AR_NOMEM;
        ar_bytes_varint(&w->bytes, node);
        ar_bytes_varint(&w->bytes, parts[i].ns);
    }
    w->stream.n_syncs++;
    w->stream.n_parts += sync->n_parts;
    return w->bytes.bad ? AR_NOMEM : AR_OK;
}

struct ar_stream ar_stream_so_far(const struct ar_stream_writer *w)
{
    struct ar_stream stream = w->stream;

    stream.bytes = w->bytes.data;
    stream.n_bytes = w->bytes.n;
    return stream;
}

enum ar_status ar_stream_end(struct ar_stream_writer *w, struct ar_stream *out)
{
    bool bad = w->bytes.bad;

    *out = w->stream;
    out->bytes = out->own = w->bytes.data;
    out->n_bytes = w->bytes.n;
    if (!out->own && !bad)
        bad = ar_stream_keep(out) < 0;
    ar_idmap_free(&w->node_ids);
    ar_idmap_free(&w->comm_ids);
    ar_idmap_free(&w->shape_ids);
    free(w->last);
    *w = (struct ar_stream_writer){0};
    if (bad)
        ar_stream_free(out);
    return bad ? AR_NOMEM : AR_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */

enum ar_status ar_stream_open(struct ar_stream_cursor *out, const struct ar_stream *stream)
{
    size_t n = n_places(stream);

    out->stream = stream;
    out->in = ar_cursor_over(stream->bytes, stream->n_bytes);
    out->sync = (struct ar_profile_sync){.location = stream->location};
    out->last = malloc(n * sizeof *out->last);
    if (!out->last)
        return AR_NOMEM;
    for (size_t i = 0; i < n; i++)
        out->last[i] = i % 2 ? UINT32_MAX : 0;
    return AR_OK;
}

void ar_stream_close(struct ar_stream_cursor *c)
{
    free(c->last);
    c->last = NULL;
    c->stream = NULL;
}

static void get_parts(struct ar_stream_cursor *c, struct ar_cursor *in)
{
    uint64_t n = ar_cursor_varint(in);
    const struct ar_stream *stream = c->stream;

    if (n > AR_MOST_PARTS)
        in->bad = true;
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        uint64_t node = ar_cursor_varint(in), ns = ar_cursor_varint(in);

        if (node < stream->n_nodes)
            c->parts[i] = (struct ar_profile_part){.node = stream->nodes[node], .ns = ns};
        else
            in->bad = true;
    }
    c->sync.n_parts = (uint32_t)n;
}

/* Times of one that says it took longer than the whole run are damage. */
static void get_times(struct ar_profile_sync *s, struct ar_cursor *in)
{
    uint64_t gap = ar_cursor_varint(in), took = ar_cursor_varint(in);
    uint64_t flight = s->posted ? ar_cursor_varint(in) : 0;

    if (gap > UINT64_MAX / 2 - s->exit_ns || took > s->exit_ns + gap || flight > s->exit_ns + gap) {
        in->bad = true;
        return;
    }
    s->exit_ns += gap;
    s->enter_ns = s->exit_ns - took;
    s->post_ns = s->posted ? s->exit_ns - flight : 0;
}

static void get_call(struct ar_stream_cursor *c, struct ar_cursor *in, uint64_t head)
{
    const struct ar_stream *stream = c->stream;
    uint32_t id = (uint32_t)(head >> SHAPE_SHIFT);
    const struct ar_stream_shape *shape = &stream->shapes[id];
    uint32_t *last = &c->last[place_of_last(shape, id)];

    *last += !is_not_counted(shape->kind);
    if (head & HAS_OTHER_SEQUENCE) {
        uint32_t other = ar_cursor_varint32(in);

        *last += other >> 1 ^ (uint32_t) - (int32_t)(other & 1);
    }
    c->sync.kind = shape->kind;
    c->sync.flags = shape->flags;
    c->sync.peer = shape->peer;
    c->sync.sequence = *last;
    c->sync.comm = stream->comms[shape->comm];
    c->sync.node = stream->nodes[shape->node];
    c->sync.posted = shape->posted ? stream->nodes[shape->posted - 1] + 1 : 0;
    c->sync.n_parts = 0;
    get_times(&c->sync, in);
    if (head & HAS_PARTS)
        get_parts(c, in);
}

bool ar_stream_next(struct ar_stream_cursor *c)
{
    struct ar_cursor in = c->in; /* of its own, so that it is in registers meanwhile */

    if (in.at == in.end || in.bad)
        return false;

    uint64_t head = ar_cursor_varint(&in);

    if (head >> SHAPE_SHIFT < c->stream->n_shapes)
        get_call(c, &in, head);
    else
        in.bad = true;
    c->in = in;
    __builtin_prefetch(in.at +
                       64); /* many streams are read side by side: more than a processor guesses */
    return !in.bad;
}

/* ---- as a section ----------------------------------------------------------------------------- */

void ar_stream_encode(const struct ar_stream *stream, struct ar_bytes *out)
{
    ar_bytes_varint(out, stream->location);
    ar_bytes_varint(out, stream->n_syncs);
    ar_bytes_varint(out, stream->n_parts);
    ar_bytes_varint(out, stream->n_nodes);
    for (size_t i = 0; i < stream->n_nodes; i++)
        ar_bytes_varint(out, stream->nodes[i]);
    ar_bytes_varint(out, stream->n_comms);
    for (size_t i = 0; i < stream->n_comms; i++)
        ar_bytes_varint(out, stream->comms[i]);
    ar_bytes_varint(out, stream->n_shapes);
    for (size_t i = 0; i < stream->n_shapes; i++) {
        const struct ar_stream_shape *shape = &stream->shapes[i];

        ar_bytes_varint(out, shape->kind);
        ar_bytes_varint(out, shape->flags);
        ar_bytes_varint(out, shape->comm);
        ar_bytes_varint(out, (uint32_t)(shape->peer + AR_PEER_SHIFT));
        ar_bytes_varint(out, shape->node);
        ar_bytes_varint(out, shape->posted);
    }
    ar_bytes_varint(out, stream->n_bytes);
    ar_bytes_put(out, stream->bytes, stream->n_bytes);
}

static uint32_t *get_numbers(struct ar_cursor *in, size_t *n, size_t limit)
{
    uint32_t count = ar_cursor_count(in, 1);
    uint32_t *items = malloc(((size_t)count + 1) * sizeof *items);

    *n = items ? count : 0;
    if (!items)
        in->bad = true;
    for (size_t i = 0; i < *n; i++) {
        items[i] = ar_cursor_varint32(in);
        if (items[i] >= limit)
            in->bad = true;
    }
    return items;
}

static void get_shapes(struct ar_stream *out, struct ar_cursor *in)
{
    out->n_shapes = ar_cursor_count(in, 6);
    out->shapes = malloc((out->n_shapes + 1) * sizeof *out->shapes);
    if (!out->shapes)
        in->bad = true;
    for (size_t i = 0; i < out->n_shapes && !in->bad; i++) {
        struct ar_stream_shape *shape = &out->shapes[i];

        shape->kind = ar_cursor_varint32(in);
        shape->flags = ar_cursor_varint32(in);
        shape->comm = ar_cursor_varint32(in);
        shape->peer = ar_cursor_varint32(in) - AR_PEER_SHIFT;
        shape->node = ar_cursor_varint32(in);
        shape->posted = ar_cursor_varint32(in);
        if (shape->kind == AR_SYNC_NONE || shape->kind >= AR_N_SYNC_KINDS ||
            shape->comm >= out->n_comms || shape->node >= out->n_nodes ||
            shape->posted > out->n_nodes)
            in->bad = true;
    }
}

void ar_stream_decode(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes, size_t n_comms)
{
    *out = (struct ar_stream){.location = ar_cursor_varint32(in)};
    out->n_syncs = ar_cursor_varint(in);
    out->n_parts = ar_cursor_varint(in);
    out->nodes = get_numbers(in, &out->n_nodes, n_nodes);
    out->comms = get_numbers(in, &out->n_comms, n_comms + 1);
    get_shapes(out, in);
    out->cap_nodes = out->n_nodes;
    out->cap_comms = out->n_comms;
    out->cap_shapes = out->n_shapes;
    out->n_bytes = ar_cursor_count(in, 1);
    out->bytes = ar_cursor_take(in, out->n_bytes);
    /* A call is three bytes at least, a part two. */
    if (in->bad || out->n_syncs > out->n_bytes / 3 || out->n_parts > out->n_bytes / 2) {
        in->bad = true;
        ar_stream_free(out);
    }
}
