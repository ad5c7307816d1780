// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/validate_trace.h"

#include "format/trace.h"

#include <stdlib.h>

/* ---- live files ------------------------------------------------------------------------------- */

struct checking {
    const struct ar_live *live;
    uint32_t *ref_of; /* by number, of the thread at hand */
    uint32_t thread;
    struct ar_error *err;
};

static const struct ar_node *node_at(const struct checking *c, uint32_t ref)
{
    return ref ? ar_live_at(c->live, ref) : NULL;
}

static void find_numbers(struct checking *c, uint32_t thread)
{
    c->thread = thread;
    memset(c->ref_of, 0, AR_TRACE_NUMBERS * sizeof *c->ref_of);
    for (const struct ar_extent *e = NULL; (e = ar_live_next(c->live, e, AR_EXTENT_NODES));)
        for (size_t i = 0; e->owner == thread && i < ar_extent_count(e, sizeof(struct ar_node));
             i++) {
            const struct ar_node *node = ar_extent_item(e, i, sizeof *node);
            size_t at = (size_t)((const unsigned char *)node - c->live->bytes);

            c->ref_of[node->flags >> AR_NODE_NUMBER_SHIFT] = (uint32_t)(at / AR_LIVE_REF_BYTES);
        }
}

static enum ar_status wrong(const struct checking *c, const char *what)
{
    return ar_fail(c->err, AR_BAD, "trace of thread %u: %s", c->thread, what);
}

/* A node that was made after the nodes were copied is not there yet. */
static enum ar_status check_step(const struct checking *c, const struct ar_trace_item *item,
                                 uint32_t *ref, bool *is_known)
{
    const struct ar_node *before = node_at(c, *ref), *after;

    if (item->tag == AR_TRACE_UP) {
        if (*is_known && !before->parent_ref)
            return wrong(c, "it leaves its root");
        *ref = *is_known ? before->parent_ref : 0;
        return AR_OK;
    }
    if (item->tag == AR_TRACE_DOWN)
        *ref = c->ref_of[item->number];
    else if (item->code == AR_TRACE_GO || item->code == AR_TRACE_ON ||
             item->code == AR_TRACE_REWOUND)
        *ref = item->number;
    after = node_at(c, *ref);
    if (item->tag == AR_TRACE_DOWN && *is_known && after && node_at(c, after->parent_ref) != before)
        return wrong(c, "it enters a node that is not below the current one");
    *is_known = after != NULL;
    return AR_OK;
}

static enum ar_status check_chunk(const struct checking *c, const struct ar_extent *e,
                                  const unsigned char *bytes, size_t n_bytes)
{
    struct ar_trace_chunk_reader reader = {.at = bytes, .end = bytes + n_bytes};
    struct ar_trace_item item = {0};
    uint32_t ref = (uint32_t)e->spare[AR_TRACE_FIRST_REF];
    bool is_known = node_at(c, ref) != NULL;
    enum ar_status status = AR_OK;

    while (status == AR_OK && ar_trace_chunk_next(&reader, &item))
        status = check_step(c, &item, &ref, &is_known);
    if (status == AR_OK && (reader.bad || reader.at != reader.end))
        status = wrong(c, "an event that makes no sense");
    return status;
}

/* One that is used again while it is read says nothing. */
static enum ar_status check_extent(struct checking *c, const struct ar_extent *e)
{
    const struct ar_bulk_source *source = &c->live->trace_source;
    uint64_t at = (uint64_t)((const unsigned char *)e - c->live->bytes);
    size_t n_bytes = (size_t)(e->n_bytes_used - sizeof *e);
    unsigned char *bytes = malloc(n_bytes + 1);
    struct ar_extent now = {0};
    enum ar_status status = bytes ? AR_OK : AR_NOMEM;

    if (status == AR_OK && source->read)
        status = source->read(source, 0, bytes, n_bytes, at + sizeof *e, c->err);
    if (status == AR_OK && source->read)
        status = source->read(source, 0, &now, sizeof now, at, c->err);
    if (e->owner != c->thread)
        find_numbers(c, e->owner);
    if (status == AR_OK && now.spare[AR_TRACE_SEQUENCE] == e->spare[AR_TRACE_SEQUENCE] &&
        now.n_bytes_used >= e->n_bytes_used)
        status = check_chunk(c, e, bytes, n_bytes);
    free(bytes);
    return status;
}

enum ar_status ar_validate_live_traces(const struct ar_live *live, struct ar_error *err)
{
    struct checking c = {.live = live,
                         .ref_of = malloc(AR_TRACE_NUMBERS * sizeof *c.ref_of),
                         .thread = AR_NO_ID,
                         .err = err};
    enum ar_status status = c.ref_of ? AR_OK : AR_NOMEM;

    for (const struct ar_extent *e = NULL;
         status == AR_OK && (e = ar_live_next(live, e, AR_EXTENT_TRACE));)
        status = check_extent(&c, e);
    free(c.ref_of);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------- */

/* Times of classes in a chunk. */
struct class_times {
    uint64_t units[AR_N_TRACE_CLASSES];
};

static enum ar_status bad_bins(struct ar_error *err, const char *what)
{
    return ar_fail(err, AR_BAD, "bins of a trace: %s", what);
}

static enum ar_status read_level(const struct ar_trace *trace, const struct ar_trace_level *level,
                                 struct ar_bytes *room, struct ar_error *err)
{
    enum ar_status status;

    room->n = 0;
    if (!ar_bytes_reserve(room, level->n_bytes + 1))
        return ar_fail(err, AR_NOMEM, "out of memory");
    status = ar_bulk_get(&trace->profile->bulks, trace->bulk, level->at, room->data, level->n_bytes,
                         err);
    if (status == AR_OK && ar_crc32(room->data, level->n_bytes) != level->crc)
        status = bad_bins(err, "wrong checksum");
    return status;
}

static void add_bin(struct class_times *times, const struct ar_trace_bin *bin)
{
    for (unsigned i = 0; i < bin->n_classes; i++)
        times->units[bin->classes[i]] += bin->units[i];
}

/* What the events say; off: nothing was recorded when the chunk began. */
static bool add_events(const struct ar_trace *trace, const struct ar_trace_chunk *chunk,
                       bool is_off, const unsigned char *bytes, struct class_times *times)
{
    struct ar_trace_chunk_reader reader = {.at = bytes, .end = bytes + chunk->n_bytes};
    struct ar_trace_item event = {0};
    uint32_t item = chunk->item;
    uint64_t before = 0;

    while (ar_trace_chunk_next(&reader, &event)) {
        bool is_more = event.tag == AR_TRACE_MORE;
        bool is_known = !is_off && !(is_more && event.code == AR_TRACE_REWOUND);

        times->units[is_known ? trace->classes[item] : AR_CLASS_NONE] += event.units - before;
        before = event.units;
        if (is_more && (event.code == AR_TRACE_OFF || event.code == AR_TRACE_FULL))
            is_off = true;
        else if (is_more && event.code == AR_TRACE_ON)
            is_off = false;
        item = ar_trace_follow(trace, item, &event);
    }
    return !reader.bad && before == chunk->units;
}

static enum ar_status check_level(const struct ar_trace *trace, const struct ar_trace_chunk *chunk,
                                  unsigned level, const struct class_times *right,
                                  struct ar_bytes *room, struct ar_error *err)
{
    struct class_times times = {{0}};
    enum ar_status status = read_level(trace, &chunk->levels[level], room, err);

    if (status < 0)
        return status;

    struct ar_trace_bins bins = {
        .in = ar_cursor_over(room->data, chunk->levels[level].n_bytes),
        .width = UINT64_C(1) << (chunk->bin_shift + AR_TRACE_LEVEL_SHIFT * level),
        .n_units = chunk->units,
        .n_items = trace->n_items,
    };

    while (ar_trace_bins_next(&bins))
        add_bin(&times, &bins.bin);
    if (bins.in.bad || bins.n_units || bins.n_same || ar_cursor_left(&bins.in))
        return bad_bins(err, "they make no sense");
    return memcmp(&times, right, sizeof times) == 0
               ? AR_OK
               : bad_bins(err, "times of classes are not those of the events");
}

static enum ar_status check_marks(const struct ar_trace *trace, const struct ar_trace_chunk *chunk,
                                  struct ar_bytes *room, struct ar_error *err)
{
    struct ar_trace_mark marks[AR_MOST_TRACE_MARKS];
    enum ar_status status = AR_OK;

    if (chunk->marks.n_bytes)
        status = read_level(trace, &chunk->marks, room, err);
    if (status == AR_OK && chunk->marks.n_bytes &&
        !ar_trace_marks_get(room->data, chunk->marks.n_bytes, trace->n_items, chunk->n_bytes,
                            marks))
        status = bad_bins(err, "marks make no sense");
    return status;
}

/* Bins of a chunk have the times that its events have. */
static enum ar_status check_bins(const struct ar_trace *trace, size_t at, struct ar_bytes *room,
                                 struct ar_error *err)
{
    const struct ar_trace_chunk *chunk = &trace->chunks[at];
    struct ar_trace_level events = {chunk->at, (uint32_t)chunk->n_bytes, chunk->crc};
    struct class_times right = {{0}}, whole = {{0}};
    bool is_off = at && !chunk->is_after_gap && trace->chunks[at - 1].end_item == AR_NO_ID;
    enum ar_status status = read_level(trace, &events, room, err);

    if (status == AR_OK && !add_events(trace, chunk, is_off, room->data, &right))
        status = bad_bins(err, "the chunk has another length");
    add_bin(&whole, &chunk->whole);
    if (status == AR_OK && memcmp(&whole, &right, sizeof whole) != 0)
        status = bad_bins(err, "times of a chunk are not those of its events");
    for (unsigned i = 0; i < chunk->n_levels && status == AR_OK; i++)
        status = check_level(trace, chunk, i, &right, room, err);
    return status == AR_OK ? check_marks(trace, chunk, room, err) : status;
}

static enum ar_status check_all_bins(const struct ar_trace *trace, struct ar_error *err)
{
    struct ar_bytes room = {0};
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < trace->n_chunks && status == AR_OK; i++)
        status = check_bins(trace, i, &room, err);
    ar_bytes_free(&room);
    return status;
}

static enum ar_status check_trace(const struct ar_profile *p, const struct ar_other_stream *stream,
                                  struct ar_error *err)
{
    struct ar_trace trace;
    struct ar_trace_cursor cursor;
    struct ar_trace_event event;
    enum ar_status status = ar_trace_open(&trace, p, stream, err);

    if (status < 0)
        return status;
    ar_trace_seek(&cursor, &trace, 0, UINT64_MAX);
    while (ar_trace_next(&cursor, &event))
        continue;
    status = cursor.status;
    if (status < 0)
        *err = cursor.err;
    ar_trace_end(&cursor);
    if (status == AR_OK)
        status = check_all_bins(&trace, err);
    ar_trace_close(&trace);
    return status;
}

enum ar_status ar_validate_run_traces(const struct ar_profile *p, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < p->other_streams.n && status == AR_OK; i++)
        if (ar_is_trace(&p->other_streams.items[i]))
            status = check_trace(p, &p->other_streams.items[i], err);
    return status;
}
