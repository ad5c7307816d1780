// SPDX-License-Identifier: BSD-3-Clause
#include "format/livefile.h"

#include "base/arena.h"
#include "base/pages.h"
#include "format/live_source.h"

#include <stdlib.h>
#include <string.h>

/*
 * The copy is taken in an order in which nothing is seen before what it refers to: first the threads
 * and streams (the nodes they are about exist already), then the nodes, extents from the last to the first (a node's
 * before those of its older parents), then values and records (those of every node that was copied).
 * Before each of these steps the file may have grown, and with it what can be referred to: its length
 * is read again. Within an extent the header comes first, since it says how much is complete. Words
 * are copied whole: a memcpy might tear a counter. tests/model proves that this order will do.
 */
static void copy_words(unsigned char *to, const unsigned char *from, size_t n_bytes)
{
    for (size_t i = 0; i + 8 <= n_bytes; i += 8) {
        uint64_t word = __atomic_load_n((const uint64_t *)(from + i), __ATOMIC_ACQUIRE);

        memcpy(to + i, &word, 8);
    }
}

static enum ar_status check_length(const struct ar_live_source *from, size_t at, size_t n_bytes,
                                   struct ar_error *err)
{
    if (at <= from->n_bytes && n_bytes <= from->n_bytes - at)
        return AR_OK;
    return ar_fail(err, AR_BAD, "%s: damaged live file, it ends at byte %zu " AR_LIVE_AWAY,
                   from->name, from->n_bytes);
}

/* Into memory that is zero. Later loads are not made before these. */
static enum ar_status fetch(const struct ar_live_source *from, void *zeros, size_t at,
                            size_t n_bytes, struct ar_error *err)
{
    enum ar_status status = check_length(from, at, n_bytes, err);

    if (status == AR_OK && from->read)
        status = from->read(from, zeros, at, n_bytes, err);
    else if (status == AR_OK)
        copy_words(zeros, from->bytes + at, n_bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return status;
}

static bool extent_is_sound(const struct ar_extent *extent, size_t n_left)
{
    return n_left >= sizeof *extent && extent->n_bytes >= AR_LIVE_PAGE_BYTES &&
           extent->n_bytes % AR_LIVE_PAGE_BYTES == 0 && extent->n_bytes <= n_left &&
           extent->n_bytes_used >= sizeof *extent && extent->n_bytes_used <= extent->n_bytes;
}

/* Extents as they were when they were checked: the file may change under us. */
struct extent_list {
    struct listed {
        size_t offset;
        uint32_t kind;
        size_t n_bytes;
    } * items;
    size_t n, cap;
    bool salvages; /* those before the first that is damaged */
    bool is_cut;   /* the file is shorter than it should be: its last extent may be, too */
};

/* One that goes on beyond the end of the file is the last, and shorter. */
static void cut_extent(struct ar_extent *extent, size_t n_left)
{
    if (extent->n_bytes <= n_left)
        return;
    extent->n_bytes = n_left & ~(uint64_t)(AR_LIVE_PAGE_BYTES - 1);
    if (extent->n_bytes_used > extent->n_bytes)
        extent->n_bytes_used = extent->n_bytes;
}

/* Adds the extents from byte `at` on. */
static enum ar_status list_extents(const struct ar_live_source *from, size_t at, size_t n_bytes,
                                   struct extent_list *list, struct ar_error *err)
{
    while (at < n_bytes) {
        struct ar_extent extent = {0};
        enum ar_status status = AR_OK;

        if (n_bytes - at >= sizeof extent)
            status = fetch(from, &extent, at, sizeof extent, err);
        if (status < 0)
            return status;
        if (list->is_cut)
            cut_extent(&extent, n_bytes - at);
        if (!extent_is_sound(&extent, n_bytes - at) && list->salvages)
            break;
        if (!extent_is_sound(&extent, n_bytes - at))
            return ar_fail(err, AR_BAD, "%s: damaged live file, extent at byte %zu " AR_LIVE_AWAY,
                           from->name, at);
        if (ar_grow((void **)&list->items, &list->cap, list->n + 1, sizeof *list->items) < 0)
            return ar_fail(err, AR_NOMEM, "%s: out of memory", from->name);
        list->items[list->n++] = (struct listed){at, extent.kind, (size_t)extent.n_bytes};
        at += extent.n_bytes;
    }
    return AR_OK;
}

/* More may have been written since the list was made, but not more than there is room for. */
static enum ar_status copy_extent(struct ar_live *out, const struct ar_live_source *from,
                                  const struct listed *item, struct ar_error *err)
{
    struct ar_extent *extent = (struct ar_extent *)(out->bytes + item->offset);
    size_t n_head = sizeof *extent;
    enum ar_status status = fetch(from, extent, item->offset, n_head, err);

    if (status < 0)
        return status;
    extent->kind = item->kind;
    extent->n_bytes = item->n_bytes;
    if (out->salvages && extent->n_bytes_used > item->n_bytes)
        extent->n_bytes_used = item->n_bytes; /* the file ends here */
    if (extent->n_bytes_used < n_head || extent->n_bytes_used > item->n_bytes)
        extent->n_bytes_used = n_head;
    if (extent->kind == AR_EXTENT_TRACE)
        return AR_OK; /* its events are read where they lie */
    return fetch(from, extent + 1, item->offset + n_head, (size_t)extent->n_bytes_used - n_head,
                 err);
}

/* What came after its kind was copied: there, but empty. */
static void copy_head(struct ar_live *out, const struct listed *item)
{
    struct ar_extent *extent = (struct ar_extent *)(out->bytes + item->offset);

    *extent = (struct ar_extent){
        .kind = item->kind, .n_bytes = item->n_bytes, .n_bytes_used = sizeof *extent};
}

enum step { STEP_THREADS, STEP_NODES, STEP_REST, N_STEPS };

static enum step step_of(uint32_t kind)
{
    if (kind == AR_EXTENT_THREADS || kind == AR_EXTENT_STREAM || kind >= AR_FIRST_MEASURE)
        return STEP_THREADS;
    return kind == AR_EXTENT_NODES ? STEP_NODES : STEP_REST;
}

/* `n_before` extents were there when the step before this one was taken. */
static enum ar_status copy_step(struct ar_live *out, const struct ar_live_source *from,
                                const struct extent_list *list, enum step step, size_t n_before,
                                struct ar_error *err)
{
    enum ar_status status = AR_OK;

    for (size_t i = list->n; i-- > 0 && status == AR_OK;)
        if (step_of(list->items[i].kind) == step)
            status = copy_extent(out, from, &list->items[i], err);
        else if (step_of(list->items[i].kind) < step && i >= n_before)
            copy_head(out, &list->items[i]);
    return status;
}

enum ar_status ar_live_no_memory(size_t n_bytes, const char *name, struct ar_error *err)
{
    return ar_fail(err, AR_NOMEM,
                   "%s: no memory for a live file of %zu bytes (free some, or read it elsewhere)",
                   name, n_bytes);
}

/*
 * The buffer grows to what the file has become; new bytes are zeros. Those of the first one need not be
 * written for that: a file may claim to be larger than all memory.
 */
static enum ar_status resize(struct ar_live *out, size_t n_bytes, const char *name,
                             struct ar_error *err)
{
    unsigned char *bytes = out->bytes ? realloc(out->bytes, n_bytes) : calloc(n_bytes, 1);

    if (!bytes)
        return ar_live_no_memory(n_bytes, name, err);
    if (out->bytes)
        memset(bytes + out->n_bytes, 0, n_bytes - out->n_bytes);
    out->bytes = bytes;
    out->n_bytes = n_bytes;
    return AR_OK;
}

/* How much of it is in use now; 0: it says more than there is. */
static size_t bytes_used(const struct ar_live_source *from)
{
    struct ar_error err;
    uint64_t n_used = 0;

    if (fetch(from, &n_used, offsetof(struct ar_live_header, n_bytes_used), sizeof n_used, &err) <
        0)
        return 0;
    return n_used <= from->n_bytes ? (size_t)n_used : 0;
}

/* Where the extents that were found end. */
static size_t end_of(const struct extent_list *list)
{
    const struct listed *last = list->n ? &list->items[list->n - 1] : NULL;

    return last ? last->offset + last->n_bytes : AR_LIVE_HEADER_BYTES;
}

/* Takes in the extents that have come up to `n_used`; fewer, where what is damaged is left out. */
static enum ar_status extend(struct ar_live *out, const struct ar_live_source *from, size_t *n_used,
                             struct extent_list *list, struct ar_error *err)
{
    size_t n_known = out->bytes ? out->n_bytes : AR_LIVE_HEADER_BYTES;
    enum ar_status status = AR_OK;

    if (*n_used > n_known) {
        status = list_extents(from, n_known, *n_used, list, err);
        if (status == AR_OK && end_of(list) < *n_used) {
            out->n_bytes_left_out += *n_used - end_of(list);
            *n_used = end_of(list);
        }
    }
    if (status == AR_OK && *n_used > out->n_bytes)
        status = resize(out, *n_used, from->name, err);
    return status;
}

static enum ar_status copy_file(struct ar_live *out, const struct ar_live_source *from,
                                size_t n_used, struct ar_error *err)
{
    struct extent_list list = {.salvages = out->salvages, .is_cut = out->n_bytes_left_out > 0};
    enum ar_status status = AR_OK;

    for (enum step step = STEP_THREADS; step < N_STEPS && status == AR_OK; step++) {
        size_t n_before = list.n;

        status = extend(out, from, &n_used, &list, err);
        if (status == AR_OK)
            status = copy_step(out, from, &list, step, n_before, err);
        /* Nothing is read beyond the damage. */
        n_used = out->n_bytes_left_out ? 0 : bytes_used(from);
    }
    free(list.items);
    return status;
}

static enum ar_status check_magic(const struct ar_live_header *header, const char *name,
                                  struct ar_error *err)
{
    if (memcmp(header->magic, AR_LIVE_MAGIC, sizeof header->magic) != 0)
        return ar_fail(err, AR_BAD, "%s: not a live file of allranks " AR_LIVE_AWAY, name);
    if (!ar_live_version_is_read(header))
        return ar_fail(
            err, AR_UNSUPPORTED,
            "%s: live file of version %u, this allranks reads versions %d to %d (use the "
            "allranks that recorded it)",
            name, header->version, AR_LIVE_OLDEST_VERSION, AR_LIVE_VERSION);
    return AR_OK;
}

bool ar_live_length_is_sound(const struct ar_live_header *header, uint64_t n_bytes)
{
    return header->header_bytes == AR_LIVE_HEADER_BYTES &&
           header->n_bytes_used >= AR_LIVE_HEADER_BYTES && header->n_bytes_used <= n_bytes;
}

static enum ar_status check_header(const struct ar_live_header *header, size_t n_bytes,
                                   const char *name, struct ar_error *err)
{
    enum ar_status status = check_magic(header, name, err);

    if (status == AR_OK && !ar_live_length_is_sound(header, n_bytes))
        status = ar_fail(err, AR_BAD,
                         "%s: damaged live file (header; what can be read of it is had by: "
                         "allranks recover)",
                         name);
    return status;
}

void ar_live_terminate_texts(struct ar_live_header *header)
{
    header->host[sizeof header->host - 1] = '\0';
    header->job[sizeof header->job - 1] = '\0';
}

/* How much of a damaged file to look at: all that is there, if it says nothing sensible. */
static size_t bytes_to_salvage(struct ar_live *out, const struct ar_live_header *header,
                               size_t n_bytes)
{
    size_t n_whole = n_bytes & ~(size_t)(AR_LIVE_PAGE_BYTES - 1);

    if (ar_live_length_is_sound(header, n_bytes))
        return (size_t)header->n_bytes_used;
    if (header->n_bytes_used > n_whole && header->n_bytes_used <= header->n_bytes_max)
        out->n_bytes_left_out += header->n_bytes_used - n_whole;
    return n_whole;
}

static size_t bytes_of_sound_records(const struct ar_extent *extent)
{
    const unsigned char *at = (const unsigned char *)(extent + 1);
    size_t n_used = (size_t)extent->n_bytes_used, n_left = n_used - sizeof *extent;

    while (n_left && ar_record_is_sound((const struct ar_record *)at, n_left)) {
        n_left -= ((const struct ar_record *)at)->n_bytes;
        at += ((const struct ar_record *)at)->n_bytes;
    }
    return n_used - n_left;
}

/* Functions have numbers by their order: after a record that is damaged no other can be used. */
static void cut_records(struct ar_live *live)
{
    bool is_sound = true;

    for (size_t at = AR_LIVE_HEADER_BYTES; at < live->n_bytes;) {
        struct ar_extent *e = (struct ar_extent *)(live->bytes + at);

        at += e->n_bytes;
        if (e->kind != AR_EXTENT_RECORDS)
            continue;
        size_t n_sound = is_sound ? bytes_of_sound_records(e) : sizeof *e;

        live->n_bytes_left_out += e->n_bytes_used - n_sound;
        is_sound = is_sound && n_sound == e->n_bytes_used;
        e->n_bytes_used = n_sound;
    }
}

/* Every thread has a slot: a larger number than there is room for is damage. */
static void cut_threads(struct ar_live *live)
{
    size_t n_most = live->n_bytes / sizeof(struct ar_live_thread);

    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_THREADS));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_live_thread)); i++) {
            struct ar_live_thread *slot = (struct ar_live_thread *)(uintptr_t)ar_extent_item(
                e, i, sizeof(struct ar_live_thread));

            if (slot->number >= n_most) {
                *slot = (struct ar_live_thread){0};
                live->n_bytes_left_out += sizeof *slot;
            }
        }
}

/* The magic by itself first: it is written last, and the words of one copy are read in any order. */
static enum ar_status fetch_header(const struct ar_live_source *from, struct ar_live_header *zeros,
                                   struct ar_error *err)
{
    char magic[sizeof zeros->magic] = "";
    enum ar_status status = fetch(from, magic, 0, sizeof magic, err);

    if (status == AR_OK)
        status = fetch(from, zeros, 0, sizeof *zeros, err);
    memcpy(zeros->magic, magic, sizeof magic);
    return status;
}

enum ar_status ar_live_read_source(struct ar_live *out, const struct ar_live_source *from,
                                   struct ar_error *err)
{
    struct ar_live_header header = {0};
    enum ar_status status;

    if (from->n_bytes < AR_LIVE_HEADER_BYTES)
        return ar_fail(err, AR_BAD, "%s: not a live file of allranks, too short " AR_LIVE_AWAY,
                       from->name);
    status = fetch_header(from, &header, err);
    if (status < 0)
        return status;
    out->is_at_rest = header.state == AR_LIVE_FINISHED;
    status = out->salvages ? check_magic(&header, from->name, err)
                           : check_header(&header, from->n_bytes, from->name, err);
    if (status == AR_OK)
        status = copy_file(out, from,
                           out->salvages ? bytes_to_salvage(out, &header, from->n_bytes)
                                         : (size_t)header.n_bytes_used,
                           err);
    if (status < 0) {
        ar_live_close(out);
        return status;
    }
    ar_live_terminate_texts(&header);
    memcpy(out->bytes, &header, sizeof header);
    out->header = (const struct ar_live_header *)out->bytes;
    if (out->salvages) {
        cut_records(out);
        cut_threads(out);
    }
    return AR_OK;
}

enum ar_status ar_live_from_bytes(struct ar_live *out, const void *bytes, size_t n_bytes,
                                  const char *name, struct ar_error *err)
{
    struct ar_live_source from = {.bytes = bytes, .n_bytes = n_bytes, .name = name};

    *out = (struct ar_live){0};
    return ar_live_read_source(out, &from, err);
}

enum ar_status ar_live_check_extents(const void *bytes, size_t n_bytes, const char *name,
                                     struct ar_error *err)
{
    struct ar_live_source from = {.bytes = bytes, .n_bytes = n_bytes, .name = name};
    struct extent_list list = {0};
    enum ar_status status = list_extents(&from, AR_LIVE_HEADER_BYTES, n_bytes, &list, err);

    free(list.items);
    return status;
}

enum ar_status ar_live_in_place(struct ar_live *out, void *bytes, size_t n_bytes, const char *name,
                                struct ar_error *err)
{
    struct ar_live_source from = {.bytes = bytes, .n_bytes = n_bytes, .name = name};
    enum ar_status status = AR_BAD;

    *out = (struct ar_live){0};
    if (n_bytes >= AR_LIVE_HEADER_BYTES)
        status = check_header(bytes, n_bytes, name, err);
    if (status < 0)
        return status;

    size_t n_used = bytes_used(&from);

    status = ar_live_check_extents(bytes, n_used, name, err);
    if (status == AR_OK)
        *out =
            (struct ar_live){.bytes = bytes, .n_bytes = n_used, .header = bytes, .in_place = true};
    return status;
}

static uint64_t newest_of_slots(const struct ar_live_source *from, size_t at, size_t n_bytes)
{
    struct ar_live_thread slot;
    struct ar_error err;
    uint64_t newest = 0;

    for (size_t end = at + n_bytes; end - at >= sizeof slot; at += sizeof slot) {
        memset(&slot, 0, sizeof slot);
        if (fetch(from, &slot, at, sizeof slot, &err) < 0 || !slot.root_ref)
            break; /* slots are used one after the other */
        newest = slot.latest_ticks > newest ? slot.latest_ticks : newest;
        newest = slot.end_ticks > newest ? slot.end_ticks : newest;
    }
    return newest;
}

/* Extents are listed, but only those of threads are read. */
uint64_t ar_live_newest_ticks(const struct ar_live_source *from, uint64_t n_used)
{
    struct extent_list list = {.salvages = true};
    struct ar_error err;
    uint64_t newest = 0;

    if (n_used <= from->n_bytes &&
        list_extents(from, AR_LIVE_HEADER_BYTES, (size_t)n_used, &list, &err) == AR_OK)
        for (size_t i = 0; i < list.n; i++) {
            const struct listed *item = &list.items[i];
            uint64_t ticks = item->kind != AR_EXTENT_THREADS
                                 ? 0
                                 : newest_of_slots(from, item->offset + sizeof(struct ar_extent),
                                                   item->n_bytes - sizeof(struct ar_extent));

            newest = ticks > newest ? ticks : newest;
        }
    free(list.items);
    return newest;
}

void ar_live_close(struct ar_live *live)
{
    if (!live->in_place)
        free(live->bytes);
    free(live->trace_source.path);
    *live = (struct ar_live){0};
}

static void give_back(const struct ar_live *live, const void *from, size_t n_bytes)
{
    if (live->in_place)
        ar_pages_give_back(from, n_bytes);
}

const struct ar_extent *ar_live_next(const struct ar_live *live, const struct ar_extent *previous,
                                     enum ar_extent_kind kind)
{
    const unsigned char *end = live->bytes + live->n_bytes;
    const unsigned char *at = previous ? (const unsigned char *)previous + previous->n_bytes
                                       : live->bytes + AR_LIVE_HEADER_BYTES;

    if (previous)
        give_back(live, previous, (size_t)previous->n_bytes);
    for (; at < end; at += ((const struct ar_extent *)at)->n_bytes)
        if (((const struct ar_extent *)at)->kind == (uint32_t)kind)
            return (const struct ar_extent *)at;
    give_back(live, live->bytes, live->n_bytes); /* of the others each had its first page touched */
    return NULL;
}

size_t ar_extent_count(const struct ar_extent *extent, size_t item_bytes)
{
    size_t n_used = (size_t)__atomic_load_n(&extent->n_bytes_used, __ATOMIC_ACQUIRE);

    return (n_used - sizeof *extent) / item_bytes;
}

const void *ar_live_at(const struct ar_live *live, uint32_t ref)
{
    uint64_t at = (uint64_t)ref * AR_LIVE_REF_BYTES;

    if (at < AR_LIVE_HEADER_BYTES || at + AR_LIVE_REF_BYTES > live->n_bytes)
        return NULL;
    return live->bytes + at;
}
