// SPDX-License-Identifier: BSD-3-Clause
#include "format/streams.h"

#include "format/column.h"

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
    free(stream->patterns);
    free(stream->items);
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
    to->patterns = copy_of(from->patterns, from->n_patterns * sizeof *from->patterns);
    to->items = copy_of(from->items, from->n_items * sizeof *from->items);
    to->cap_nodes = from->n_nodes;
    to->cap_comms = from->n_comms;
    to->cap_shapes = from->n_shapes;
    to->cap_patterns = from->n_patterns;
    to->cap_items = from->n_items;
    if (to->nodes && to->comms && to->shapes && to->patterns && to->items &&
        (!with_bytes || ar_stream_keep(to) == AR_OK))
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

static enum ar_status node_number(struct ar_stream_writer *w, uint32_t node, uint32_t *number)
{
    struct ar_stream *s = &w->stream;

    *number = ar_idmap_get(&w->node_ids, (uint64_t)node + 1, AR_NO_ID);
    if (*number != AR_NO_ID)
        return AR_OK;
    if (ar_grow((void **)&s->nodes, &s->cap_nodes, s->n_nodes + 1, sizeof *s->nodes) < 0 ||
        ar_idmap_put(&w->node_ids, (uint64_t)node + 1, (uint32_t)s->n_nodes) < 0)
        return AR_NOMEM;
    *number = (uint32_t)s->n_nodes;
    s->nodes[s->n_nodes++] = node;
    return AR_OK;
}

static enum ar_status comm_number(struct ar_stream_writer *w, uint32_t comm, uint32_t rank,
                                  uint32_t *number)
{
    struct ar_stream *s = &w->stream;

    *number = ar_idmap_get(&w->comm_ids, (uint64_t)comm + 1, AR_NO_ID);
    if (*number != AR_NO_ID)
        return AR_OK;
    if (ar_grow((void **)&s->comms, &s->cap_comms, s->n_comms + 1, sizeof *s->comms) < 0 ||
        ar_idmap_put(&w->comm_ids, (uint64_t)comm + 1, (uint32_t)s->n_comms) < 0)
        return AR_NOMEM;
    *number = (uint32_t)s->n_comms;
    s->comms[s->n_comms++] = (struct ar_stream_comm){comm, rank};
    return AR_OK;
}

static enum ar_status find_shape(struct ar_stream_writer *w, const struct ar_profile_sync *sync,
                                 struct ar_stream_shape *shape)
{
    uint32_t posted;

    *shape = (struct ar_stream_shape){.kind = sync->kind, .flags = sync->flags, .peer = sync->peer};
    if (node_number(w, sync->node, &shape->node) < 0 ||
        comm_number(w, sync->comm, sync->rank, &shape->comm) < 0)
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
        if (*id < w->stream.n_shapes && memcmp(&w->stream.shapes[*id], shape, sizeof *shape) == 0)
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

static void put_call(struct ar_stream_writer *w, const struct ar_profile_sync *sync, bool has_parts,
                     const struct ar_stream_shape *shape, uint32_t id)
{
    uint32_t next = expected(w->last, shape, id), other = sync->sequence - next;

    ar_bytes_varint(&w->bytes, (uint64_t)id << SHAPE_SHIFT | (has_parts ? HAS_PARTS : 0) |
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

/* ---- what was done before --------------------------------------------------------------------- */

struct packed_parts {
    uint32_t n;
    uint32_t items[AR_MOST_PARTS];
    uint64_t ns[AR_MOST_PARTS];
    unsigned char shares[AR_MOST_PARTS];
};

/* In the order of items, so that the same ones are the same pattern; one that is there twice is one. */
static void insert_part(struct packed_parts *to, uint32_t item, uint64_t ns)
{
    uint32_t at = to->n;

    while (at > 0 && to->items[at - 1] > item)
        at--;
    if (at > 0 && to->items[at - 1] == item) {
        to->ns[at - 1] += ns;
        return;
    }
    memmove(&to->items[at + 1], &to->items[at], (to->n - at) * sizeof *to->items);
    memmove(&to->ns[at + 1], &to->ns[at], (to->n - at) * sizeof *to->ns);
    to->items[at] = item;
    to->ns[at] = ns;
    to->n++;
}

#define ALL_SHARES 255

/* What is lost by rounding goes to the largest; what has no share is no part. */
static void share_out(struct packed_parts *parts)
{
    double sum_ns = 0;
    uint32_t n = 0, largest = 0, n_shares = 0;

    for (uint32_t i = 0; i < parts->n; i++)
        sum_ns += (double)parts->ns[i];
    for (uint32_t i = 0; i < parts->n; i++) {
        unsigned share =
            sum_ns > 0 ? (unsigned)(ALL_SHARES * (double)parts->ns[i] / sum_ns + 0.5) : 0;

        if (!share)
            continue;
        parts->items[n] = parts->items[i];
        parts->shares[n] = (unsigned char)share;
        largest = share > parts->shares[largest] ? n : largest;
        n_shares += share;
        n++;
    }
    parts->n = n;
    if (n)
        parts->shares[largest] = (unsigned char)(parts->shares[largest] + ALL_SHARES - n_shares);
}

static enum ar_status pack_parts(struct ar_stream_writer *w, const struct ar_profile_part *parts,
                                 uint32_t n_parts, struct packed_parts *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < n_parts && i < AR_MOST_PARTS; i++) {
        uint32_t node, item = AR_ITEM_UNKNOWN;

        if (parts[i].node != AR_NO_ID) {
            if (node_number(w, parts[i].node, &node) < 0)
                return AR_NOMEM;
            item = AR_ITEM(node, parts[i].is_rest != 0);
        }
        insert_part(out, item, parts[i].ns);
    }
    share_out(out);
    return AR_OK;
}

static bool is_pattern(const struct ar_stream *s, uint32_t id, const struct packed_parts *parts)
{
    const struct ar_stream_pattern *pattern = &s->patterns[id];

    return pattern->n == parts->n &&
           memcmp(s->items + pattern->first, parts->items, parts->n * sizeof *parts->items) == 0;
}

static enum ar_status add_pattern(struct ar_stream_writer *w, const struct packed_parts *parts,
                                  uint64_t key, uint32_t *id)
{
    struct ar_stream *s = &w->stream;

    if (ar_grow((void **)&s->patterns, &s->cap_patterns, s->n_patterns + 1, sizeof *s->patterns) <
            0 ||
        ar_grow((void **)&s->items, &s->cap_items, s->n_items + parts->n, sizeof *s->items) < 0 ||
        ar_idmap_put(&w->pattern_ids, key, (uint32_t)s->n_patterns) < 0)
        return AR_NOMEM;
    *id = (uint32_t)s->n_patterns++;
    s->patterns[*id] = (struct ar_stream_pattern){(uint32_t)s->n_items, parts->n};
    memcpy(s->items + s->n_items, parts->items, parts->n * sizeof *parts->items);
    s->n_items += parts->n;
    return AR_OK;
}

static enum ar_status pattern_number(struct ar_stream_writer *w, const struct packed_parts *parts,
                                     uint32_t *id)
{
    uint64_t key = ar_hash_long(parts->items, parts->n * sizeof *parts->items);

    for (;; key++) {
        *id = ar_idmap_get(&w->pattern_ids, key ? key : 1, AR_NO_ID);
        if (*id == AR_NO_ID)
            return add_pattern(w, parts, key ? key : 1, id);
        if (is_pattern(&w->stream, *id, parts))
            return AR_OK;
    }
}

enum ar_status ar_stream_put(struct ar_stream_writer *w, const struct ar_profile_sync *sync,
                             const struct ar_profile_part *parts)
{
    struct ar_stream_shape shape;
    struct packed_parts packed;
    uint32_t id, pattern = 0;

    if (find_shape(w, sync, &shape) < 0 || shape_number(w, &shape, &id) < 0 || make_places(w) < 0 ||
        pack_parts(w, parts, sync->n_parts, &packed) < 0)
        return AR_NOMEM;
    if (packed.n && pattern_number(w, &packed, &pattern) < 0)
        return AR_NOMEM;
    put_call(w, sync, packed.n > 0, &shape, id);
    if (packed.n) {
        ar_bytes_varint(&w->bytes, pattern);
        ar_bytes_put(&w->bytes, packed.shares, packed.n);
    }
    w->stream.n_syncs++;
    w->stream.n_parts += packed.n;
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
    ar_idmap_free(&w->pattern_ids);
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
    out->gaps_ns = 0;
    out->old_parts = NULL;
    out->last = calloc(n, sizeof *out->last);
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
    uint64_t id = ar_cursor_varint(in);

    if (id >= c->stream->n_patterns) {
        in->bad = true;
        return;
    }
    c->pattern = (uint32_t)id;
    c->sync.n_parts = c->stream->patterns[id].n;
    c->shares = ar_cursor_take(in, c->sync.n_parts);
    c->parts_ns = c->gaps_ns;
    c->gaps_ns = 0;
}

static void get_old_parts(struct ar_stream_cursor *c, struct ar_cursor *in)
{
    const struct ar_stream *stream = c->stream;
    uint64_t n = ar_cursor_varint(in);

    if (n > AR_MOST_PARTS)
        in->bad = true;
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        uint64_t node = ar_cursor_varint(in), ns = ar_cursor_varint(in);

        if (node < stream->n_nodes)
            c->old_parts[i] = (struct ar_profile_part){.node = stream->nodes[node], .ns = ns};
        else
            in->bad = true;
    }
    c->sync.n_parts = (uint32_t)n;
    c->parts_ns = c->gaps_ns;
    c->gaps_ns = 0;
}

/* The largest first. */
void ar_stream_parts(const struct ar_stream_cursor *c, struct ar_profile_part *out)
{
    const struct ar_stream *s = c->stream;
    double ns_per_share = (double)c->parts_ns / ALL_SHARES;

    for (uint32_t i = 0; i < c->sync.n_parts; i++) {
        uint32_t item = s->items[s->patterns[c->pattern].first + i], at = i;
        struct ar_profile_part part = {.node = item == AR_ITEM_UNKNOWN ? AR_NO_ID
                                                                       : s->nodes[(item >> 1) - 1],
                                       .is_rest = item == AR_ITEM_UNKNOWN || item & 1,
                                       .ns = (uint64_t)(ns_per_share * c->shares[i] + 0.5)};

        for (; at > 0 && out[at - 1].ns < part.ns; at--)
            out[at] = out[at - 1];
        out[at] = part;
    }
}

/* Times of one that says it took longer than the whole run are damage. */
static void get_times(struct ar_stream_cursor *c, struct ar_cursor *in)
{
    struct ar_profile_sync *s = &c->sync;
    uint64_t gap = ar_cursor_varint(in), took = ar_cursor_varint(in);
    uint64_t flight = s->posted ? ar_cursor_varint(in) : 0;

    if (gap > UINT64_MAX / 2 - s->exit_ns || took > s->exit_ns + gap || flight > s->exit_ns + gap) {
        in->bad = true;
        return;
    }
    c->gaps_ns += gap > took ? gap - took : 0;
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
    c->sync.comm = stream->comms[shape->comm].comm;
    c->sync.rank = stream->comms[shape->comm].rank;
    c->sync.node = stream->nodes[shape->node];
    c->sync.posted = shape->posted ? stream->nodes[shape->posted - 1] + 1 : 0;
    c->sync.n_parts = 0;
    get_times(c, in);
    if (head & HAS_PARTS && c->old_parts)
        get_old_parts(c, in);
    else if (head & HAS_PARTS)
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

const struct ar_column ar_sync_roles[AR_N_SYNC_TABLES] = {
    {.role = AR_ROLE_NODE},
    {.role = AR_ROLE_COMM, .flags = AR_COLUMN_OPTIONAL},
};

static void put_shapes(const struct ar_stream *stream, struct ar_bytes *out)
{
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
}

static void put_patterns(const struct ar_stream *stream, struct ar_bytes *out)
{
    ar_bytes_varint(out, stream->n_patterns);
    for (size_t i = 0; i < stream->n_patterns; i++) {
        const struct ar_stream_pattern *pattern = &stream->patterns[i];

        ar_bytes_varint(out, pattern->n);
        for (uint32_t k = 0; k < pattern->n; k++)
            ar_bytes_varint(out, stream->items[pattern->first + k]);
    }
}

/* What the bytes begin with: all but the calls. */
static struct ar_bytes head_of(const struct ar_stream *stream)
{
    struct ar_bytes head = {0};

    ar_bytes_varint(&head, stream->n_syncs);
    ar_bytes_varint(&head, stream->n_parts);
    for (size_t i = 0; i < stream->n_comms; i++)
        ar_bytes_varint(&head, stream->comms[i].rank + 1); /* 0: not known */
    put_shapes(stream, &head);
    put_patterns(stream, &head);
    return head;
}

void ar_stream_encode(const struct ar_stream *stream, struct ar_bytes *out)
{
    struct ar_bytes head = head_of(stream);

    ar_bytes_varint(out, stream->location);
    ar_bytes_varint(out, stream->n_nodes);
    for (size_t i = 0; i < stream->n_nodes; i++)
        ar_bytes_varint(out, stream->nodes[i]);
    ar_bytes_varint(out, stream->n_comms);
    for (size_t i = 0; i < stream->n_comms; i++)
        ar_bytes_varint(out, stream->comms[i].comm);
    ar_bytes_varint(out, head.n + stream->n_bytes);
    ar_bytes_put(out, head.data, head.n);
    ar_bytes_put(out, stream->bytes, stream->n_bytes);
    out->bad = out->bad || head.bad;
    ar_bytes_free(&head);
}

static uint32_t *get_numbers(struct ar_cursor *in, size_t *n, size_t limit)
{
    uint32_t count = ar_cursor_count(in, 1);
    uint32_t *items = calloc((size_t)count + 1, sizeof *items);

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
    out->shapes = calloc(out->n_shapes + 1, sizeof *out->shapes);
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

static void get_comms(struct ar_stream *out, struct ar_cursor *in, size_t n_comms, bool has_ranks)
{
    out->n_comms = ar_cursor_count(in, 1);
    out->comms = calloc(out->n_comms + 1, sizeof *out->comms);
    if (!out->comms)
        in->bad = true;
    for (size_t i = 0; i < out->n_comms && !in->bad; i++) {
        out->comms[i].comm = ar_cursor_varint32(in);
        out->comms[i].rank = has_ranks ? ar_cursor_varint32(in) - 1 : AR_NO_ID;
        in->bad = in->bad || out->comms[i].comm > n_comms;
    }
}

/* Items are two for each node at most, and one that is not known. */
static void get_pattern(struct ar_stream *out, struct ar_cursor *in,
                        struct ar_stream_pattern *pattern)
{
    uint32_t n = ar_cursor_count(in, 1);

    if (n > AR_MOST_PARTS ||
        ar_grow((void **)&out->items, &out->cap_items, out->n_items + n, sizeof *out->items) < 0) {
        in->bad = true;
        return;
    }
    *pattern = (struct ar_stream_pattern){(uint32_t)out->n_items, n};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t item = ar_cursor_varint32(in);

        if (item == 1 || item >> 1 > out->n_nodes)
            in->bad = true;
        out->items[out->n_items++] = item;
    }
}

static void get_patterns(struct ar_stream *out, struct ar_cursor *in)
{
    out->n_patterns = ar_cursor_count(in, 1);
    out->patterns = malloc((out->n_patterns + 1) * sizeof *out->patterns);
    if (!out->patterns)
        in->bad = true;
    for (size_t i = 0; i < out->n_patterns && !in->bad; i++)
        get_pattern(out, in, &out->patterns[i]);
    out->cap_patterns = out->n_patterns;
}

/* All of it has been read. A call is three bytes at least, a part `part_bytes`. */
static void finish(struct ar_stream *out, struct ar_cursor *in, size_t part_bytes)
{
    out->cap_nodes = out->n_nodes;
    out->cap_comms = out->n_comms;
    out->cap_shapes = out->n_shapes;
    if (in->bad || out->n_syncs > out->n_bytes / 3 || out->n_parts > out->n_bytes / part_bytes) {
        in->bad = true;
        ar_stream_free(out);
    }
}

/* After its tables; the calls are what is left. */
static void get_body(struct ar_stream *out, struct ar_cursor *in)
{
    size_t n_bytes = ar_cursor_count(in, 1);
    struct ar_cursor body = ar_cursor_over(ar_cursor_take(in, n_bytes), in->bad ? 0 : n_bytes);

    out->n_syncs = ar_cursor_varint(&body);
    out->n_parts = ar_cursor_varint(&body);
    for (size_t i = 0; i < out->n_comms && !body.bad; i++)
        out->comms[i].rank = ar_cursor_varint32(&body) - 1;
    get_shapes(out, &body);
    get_patterns(out, &body);
    out->n_bytes = ar_cursor_left(&body);
    out->bytes = ar_cursor_take(&body, out->n_bytes);
    in->bad = in->bad || body.bad;
}

void ar_stream_decode(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes, size_t n_comms)
{
    *out = (struct ar_stream){.location = ar_cursor_varint32(in)};
    out->nodes = get_numbers(in, &out->n_nodes, n_nodes);
    get_comms(out, in, n_comms, false);
    get_body(out, in);
    finish(out, in, 1);
}

/* ---- up to version 9 -------------------------------------------------------------------------- */

static void decode_9(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes, size_t n_comms,
                     bool is_old)
{
    *out = (struct ar_stream){.location = ar_cursor_varint32(in)};
    out->n_syncs = ar_cursor_varint(in);
    out->n_parts = ar_cursor_varint(in);
    out->nodes = get_numbers(in, &out->n_nodes, n_nodes);
    get_comms(out, in, n_comms, !is_old);
    get_shapes(out, in);
    if (!is_old)
        get_patterns(out, in);
    out->n_bytes = ar_cursor_count(in, 1);
    out->bytes = ar_cursor_take(in, out->n_bytes);
    finish(out, in, is_old ? 2 : 1);
}

void ar_stream_decode_9(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes, size_t n_comms)
{
    decode_9(out, in, n_nodes, n_comms, false);
}

/* The four largest nodes were kept: what the rest of the time was spent on is not known. */
static void add_unknown(struct ar_stream_cursor *c)
{
    uint64_t sum_ns = 0;

    for (uint32_t i = 0; i < c->sync.n_parts; i++)
        sum_ns += c->old_parts[i].ns;
    if (c->sync.n_parts && c->sync.n_parts < AR_MOST_PARTS && sum_ns < c->parts_ns)
        c->old_parts[c->sync.n_parts++] =
            (struct ar_profile_part){.node = AR_NO_ID, .is_rest = 1, .ns = c->parts_ns - sum_ns};
}

static enum ar_status pack_anew(const struct ar_stream *old, struct ar_stream *out)
{
    struct ar_profile_part parts[AR_MOST_PARTS];
    struct ar_stream_cursor c;
    struct ar_stream_writer w;
    enum ar_status status = ar_stream_open(&c, old);

    c.old_parts = parts;
    ar_stream_begin(&w, old->location);
    while (status == AR_OK && ar_stream_next(&c)) {
        add_unknown(&c);
        status = ar_stream_put(&w, &c.sync, parts);
    }
    ar_stream_close(&c);

    enum ar_status ended = ar_stream_end(&w, out);

    if (status < 0 && ended == AR_OK)
        ar_stream_free(out);
    return status < 0 ? status : ended;
}

void ar_stream_decode_old(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes,
                          size_t n_comms)
{
    struct ar_stream old;

    decode_9(&old, in, n_nodes, n_comms, true);
    if (in->bad)
        return;
    if (pack_anew(&old, out) < 0)
        in->bad = true;
    ar_stream_free(&old);
}
