// SPDX-License-Identifier: BSD-3-Clause
/*
 * The traces of a live file: each thread's chunks are read once, to say where the events lie, and what the thread did mostly in each
 * part of them. The events stay where they are.
 *
 * A process that runs may use a chunk again while it is copied: its number is compared before and after. What makes no sense ends
 * the chunk, and the thread is where the next chunk says.
 */
#include "format/live_reading.h"
#include "format/trace.h"
#include "format/trace_bins.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bins are for about 64 events, of three bytes each: a window is drawn from bins, and what lasts less than a few bins from events. Bins take
 * about a tenth of what events take, and are in memory until the run file is written; so a thread has at most so many.
 */
#define BYTES_PER_BIN 192
#define MOST_BINS 65536
#define MOST_BIN_SHIFT 50
/* On the highest level of a chunk, at most. */
#define LEAST_BINS 4
#define BYTES_PER_MARK 8192

/* A chunk of the live file. */
struct source_chunk {
    uint64_t at, n_bytes; /* of its events, in the file */
    uint64_t sequence, first_ticks;
    uint32_t first_ref;
    unsigned shift;
    uint32_t thread;
};

/* Bins of one duration. */
struct level {
    uint64_t *spent; /* units of the bin at hand, by item */
    size_t n_spent;
    uint32_t *touched; /* items that have some */
    size_t n_touched, cap_touched;
    uint64_t classes[AR_N_TRACE_CLASSES];
    uint64_t n_units;
    struct ar_trace_bins_writer writer;
    struct ar_bytes bytes; /* of all chunks of the thread */
    size_t chunk_at;       /* where those of the chunk at hand begin */
};

struct tracing {
    struct ar_reading *r;
    struct source_chunk *chunks;
    size_t n_chunks, cap_chunks;
    /* Of the thread at hand: */
    uint32_t thread;
    uint32_t *ref_of;                 /* by number; 0: none */
    uint32_t *item_of_number;         /* AR_NO_ID: not met yet */
    const struct ar_extent **extents; /* of nodes, by thread */
    size_t n_extents, cap_extents;
    uint64_t *ends;        /* of threads, in ticks; 0: they run */
    struct ar_idmap items; /* by ref */
    uint32_t *refs, *parents;
    uint8_t *classes; /* enum ar_trace_class */
    size_t n_items, cap_refs, cap_parents, cap_classes;
    uint32_t *above; /* refs of nodes that are not items yet, the lowest first */
    size_t cap_above;
    struct ar_idmap aliased; /* items with a number that events name by their ref */
    uint32_t *aliases;
    size_t n_aliases, cap_aliases;
    struct ar_bytes index; /* of chunks */
    uint64_t n_index, n_events, n_bytes;
    uint64_t id;
    unsigned char *room;
    size_t n_room;
    uint64_t bytes_per_bin; /* of events */
    bool is_off;            /* when the chunk before ended */
    bool is_cut;            /* that one is damaged, and what follows there is lost */
    struct level levels[AR_MOST_TRACE_LEVELS + 1];
    struct ar_bytes marks; /* of all chunks */
    /* Of the chunk at hand: */
    unsigned bin_shift, n_levels;
    uint64_t bin_units;
    struct ar_trace_mark at_marks[AR_MOST_TRACE_MARKS];
    size_t n_marks;
};

/* ---- items ------------------------------------------------------------------------------------ */

static const struct ar_node *node_at(const struct tracing *g, uint32_t ref)
{
    return ref ? ar_live_at(g->r->live, ref) : NULL;
}

static uint32_t parent_ref(const struct tracing *g, uint32_t ref)
{
    const struct ar_node *node = node_at(g, ref);

    return node && node->parent_ref < ref ? node->parent_ref : 0;
}

/* A node that is not shown counts for the one above it. */
static uint8_t class_of(const struct tracing *g, uint32_t ref, uint32_t parent)
{
    uint32_t node = ar_reading_node(g->r, ref);
    uint8_t above = parent == AR_NO_ID ? AR_CLASS_NONE : g->classes[parent];

    if (node == AR_NO_ID)
        return above == AR_CLASS_NONE ? AR_CLASS_OTHER : above;
    return (uint8_t)ar_trace_class_of(g->r->p, node, above);
}

static enum ar_status add_item(struct tracing *g, uint32_t ref, uint32_t parent)
{
    if (ar_grow((void **)&g->refs, &g->cap_refs, g->n_items + 1, sizeof *g->refs) < 0 ||
        ar_grow((void **)&g->parents, &g->cap_parents, g->n_items + 1, sizeof *g->parents) < 0 ||
        ar_grow((void **)&g->classes, &g->cap_classes, g->n_items + 1, sizeof *g->classes) < 0 ||
        ar_idmap_put(&g->items, (uint64_t)ref + 1, (uint32_t)g->n_items) < 0)
        return AR_NOMEM;
    g->refs[g->n_items] = ref;
    g->parents[g->n_items] = parent;
    g->classes[g->n_items] = class_of(g, ref, parent);
    g->n_items++;
    return AR_OK;
}

static uint32_t known_item(const struct tracing *g, uint32_t ref)
{
    return ar_idmap_get(&g->items, (uint64_t)ref + 1, AR_NO_ID);
}

/* The item of a node, made if need be, after those of all above it. A loop: recursion of the program may be deeper than our stack. */
static enum ar_status item_of(struct tracing *g, uint32_t ref, uint32_t *item)
{
    size_t n = 0;

    for (; ref && (*item = known_item(g, ref)) == AR_NO_ID; ref = parent_ref(g, ref)) {
        if (ar_grow((void **)&g->above, &g->cap_above, n + 1, sizeof *g->above) < 0)
            return AR_NOMEM;
        g->above[n++] = ref;
    }
    while (n) {
        uint32_t parent = *item;

        *item = (uint32_t)g->n_items;
        if (add_item(g, g->above[--n], parent) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static uint32_t number_of(const struct ar_node *node)
{
    return node->flags >> AR_NODE_NUMBER_SHIFT;
}

/* Extents of nodes by thread; a program may have had many threads. */
static int by_owner(const void *a, const void *b)
{
    const struct ar_extent *x = *(const struct ar_extent *const *)a,
                           *y = *(const struct ar_extent *const *)b;

    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x < y ? -1 : x > y;
}

static enum ar_status list_nodes(struct tracing *g)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(g->r->live, e, AR_EXTENT_NODES));) {
        if (ar_grow((void **)&g->extents, &g->cap_extents, g->n_extents + 1, sizeof(void *)) < 0)
            return AR_NOMEM;
        g->extents[g->n_extents++] = e;
    }
    if (g->n_extents)
        qsort(g->extents, g->n_extents, sizeof(void *), by_owner);
    return AR_OK;
}

/* The first extent of the thread at hand, or where it would be. */
static size_t first_extent(const struct tracing *g)
{
    size_t low = 0, high = g->n_extents;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (g->extents[middle]->owner < g->thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t ref_of_node(const struct tracing *g, const struct ar_node *node)
{
    return (uint32_t)((size_t)((const unsigned char *)node - g->r->live->bytes) /
                      AR_LIVE_REF_BYTES);
}

/* The numbers of a thread's nodes; or, when it has been read, none: that takes as long as it has nodes. */
static void set_numbers(struct tracing *g, bool are_there)
{
    for (size_t k = first_extent(g); k < g->n_extents && g->extents[k]->owner == g->thread; k++)
        for (size_t i = 0; i < ar_extent_count(g->extents[k], sizeof(struct ar_node)); i++) {
            const struct ar_node *node = ar_extent_item(g->extents[k], i, sizeof *node);
            uint32_t number = number_of(node);

            g->ref_of[number] = number && are_there ? ref_of_node(g, node) : 0;
            g->item_of_number[number] = AR_NO_ID;
        }
}

static enum ar_status make_numbers(struct tracing *g)
{
    g->ref_of = calloc(AR_TRACE_NUMBERS, sizeof *g->ref_of);
    g->item_of_number = malloc(AR_TRACE_NUMBERS * sizeof *g->item_of_number);
    if (!g->ref_of || !g->item_of_number)
        return AR_NOMEM;
    memset(g->item_of_number, 0xff, AR_TRACE_NUMBERS * sizeof *g->item_of_number);
    return AR_OK;
}

/* ---- bins ------------------------------------------------------------------------------------- */

static enum ar_status grow_spent(struct level *level, uint32_t item)
{
    size_t n = 2 * (size_t)item + 64;
    uint64_t *more = realloc(level->spent, n * sizeof *more);

    if (!more)
        return AR_NOMEM;
    memset(more + level->n_spent, 0, (n - level->n_spent) * sizeof *more);
    level->spent = more;
    level->n_spent = n;
    return AR_OK;
}

/* In an item; AR_NO_ID: it is not known in which. */
static enum ar_status spend(struct level *level, uint32_t item, uint64_t units)
{
    if (item == AR_NO_ID)
        return AR_OK;
    if (item >= level->n_spent && grow_spent(level, item) < 0)
        return AR_NOMEM;
    if (!level->spent[item]) {
        if (ar_grow((void **)&level->touched, &level->cap_touched, level->n_touched + 1,
                    sizeof *level->touched) < 0)
            return AR_NOMEM;
        level->touched[level->n_touched++] = item;
    }
    level->spent[item] += units;
    return AR_OK;
}

/* The item with most of the time that is not among those of the bin yet; AR_NO_ID: there is none. */
static uint32_t find_largest(const struct level *level, const struct ar_trace_bin *bin)
{
    uint32_t best = AR_NO_ID;

    for (size_t i = 0; i < level->n_touched; i++) {
        uint32_t item = level->touched[i];
        bool is_taken = false;

        for (unsigned k = 0; k < bin->n_tops; k++)
            is_taken = is_taken || bin->items[k] == item;
        if (!is_taken && (best == AR_NO_ID || level->spent[item] > level->spent[best]))
            best = item;
    }
    return best;
}

/* Rounded down: an item has at least its share. */
static uint8_t share_of(uint64_t units, uint64_t n_units)
{
    return (uint8_t)(units >= n_units ? 255 : (double)units / (double)n_units * 255);
}

static void fill_bin(const struct level *level, struct ar_trace_bin *bin)
{
    unsigned most = 0;

    *bin = (struct ar_trace_bin){.n_units = level->n_units};
    for (unsigned kind = 0; kind < AR_N_TRACE_CLASSES; kind++)
        if (level->classes[kind]) {
            bin->classes[bin->n_classes] = (uint8_t)kind;
            bin->units[bin->n_classes] = level->classes[kind];
            if (bin->units[bin->n_classes] > bin->units[most])
                most = bin->n_classes;
            bin->n_classes++;
        }

    /* The number that is not written is the largest one. */
    unsigned last = bin->n_classes - 1u;
    uint8_t kind = bin->classes[most];
    uint64_t units = bin->units[most];

    bin->classes[most] = bin->classes[last];
    bin->units[most] = bin->units[last];
    bin->classes[last] = kind;
    bin->units[last] = units;
    while (bin->n_tops < AR_TRACE_BIN_TOPS) {
        uint32_t item = find_largest(level, bin);
        uint8_t share = item == AR_NO_ID ? 0 : share_of(level->spent[item], level->n_units);

        if (!share)
            break;
        bin->items[bin->n_tops] = item;
        bin->shares[bin->n_tops++] = share;
    }
}

static void clear_level(struct level *level)
{
    for (size_t i = 0; i < level->n_touched; i++)
        level->spent[level->touched[i]] = 0;
    level->n_touched = 0;
    level->n_units = 0;
    memset(level->classes, 0, sizeof level->classes);
}

static enum ar_status add_level(const struct level *level, struct level *above)
{
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < level->n_touched && status == AR_OK; i++)
        status = spend(above, level->touched[i], level->spent[level->touched[i]]);
    for (unsigned kind = 0; kind < AR_N_TRACE_CLASSES; kind++)
        above->classes[kind] += level->classes[kind];
    above->n_units += level->n_units;
    return status;
}

/* The bin of a level is full, or the chunk ends: it is part of one above. The highest level is the whole chunk. */
static enum ar_status end_bin(struct tracing *g, unsigned at)
{
    struct level *level = &g->levels[at];
    struct ar_trace_bin bin;
    enum ar_status status;

    fill_bin(level, &bin);
    ar_trace_bins_put(&level->writer, &bin);
    status = add_level(level, &g->levels[at + 1]);
    clear_level(level);
    if (status == AR_OK && at + 1 < g->n_levels &&
        g->levels[at + 1].n_units == g->bin_units << AR_TRACE_LEVEL_SHIFT * (at + 1))
        status = end_bin(g, at + 1);
    return status;
}

/* The thread was in an item from one time to another, since the chunk began; AR_NO_ID: nothing was recorded then. */
static enum ar_status pass(struct tracing *g, uint32_t item, uint64_t from, uint64_t to)
{
    struct level *level = g->levels;
    unsigned kind = item == AR_NO_ID ? AR_CLASS_NONE : g->classes[item];
    enum ar_status status = AR_OK;

    if (kind == AR_CLASS_NONE)
        item = AR_NO_ID;
    while (from < to && status == AR_OK) {
        uint64_t n = g->bin_units - level->n_units;

        n = to - from < n ? to - from : n;
        level->classes[kind] += n;
        level->n_units += n;
        status = spend(level, item, n);
        from += n;
        if (level->n_units == g->bin_units && status == AR_OK)
            status = end_bin(g, 0);
    }
    return status;
}

static enum ar_status end_bins(struct tracing *g)
{
    enum ar_status status = AR_OK;

    for (unsigned i = 0; i < g->n_levels && status == AR_OK; i++) {
        if (g->levels[i].n_units)
            status = end_bin(g, i);
        ar_trace_bins_end(&g->levels[i].writer);
    }
    return status;
}

/* About as many events in a bin everywhere; fewer bins, where there would be too many to keep. */
static void choose_bins(struct tracing *g, uint64_t n_bytes, uint64_t units)
{
    uint64_t n = 1 + n_bytes / g->bytes_per_bin;

    for (g->bin_shift = 0; units >> g->bin_shift > n && g->bin_shift < MOST_BIN_SHIFT;)
        g->bin_shift++;
    g->bin_units = UINT64_C(1) << g->bin_shift;
    n = 1 + (units >> g->bin_shift);
    for (g->n_levels = 1; n > LEAST_BINS && g->n_levels < AR_MOST_TRACE_LEVELS; g->n_levels++)
        n >>= AR_TRACE_LEVEL_SHIFT;
    for (unsigned i = 0; i <= g->n_levels; i++) {
        struct level *level = &g->levels[i];

        clear_level(level);
        level->writer = (struct ar_trace_bins_writer){.out = &level->bytes};
        level->chunk_at = level->bytes.n;
    }
}

/* ---- a chunk ---------------------------------------------------------------------------------- */

static bool leads_anywhere(const struct ar_trace_item *item)
{
    return item->code == AR_TRACE_GO || item->code == AR_TRACE_ON || item->code == AR_TRACE_REWOUND;
}

/* The index knows nodes with a number by that; an event that may lead anywhere names them by their refs. */
static enum ar_status note_alias(struct tracing *g, uint32_t item)
{
    uint64_t key = (uint64_t)item + 1;

    if (!number_of(node_at(g, g->refs[item])) ||
        ar_idmap_get(&g->aliased, key, AR_NO_ID) != AR_NO_ID)
        return AR_OK;
    if (ar_grow((void **)&g->aliases, &g->cap_aliases, g->n_aliases + 1, sizeof *g->aliases) < 0 ||
        ar_idmap_put(&g->aliased, key, 1) < 0)
        return AR_NOMEM;
    g->aliases[g->n_aliases++] = item;
    return AR_OK;
}

/* Of a node that is met for the first time; one that makes no sense changes nothing. */
static enum ar_status find_item(struct tracing *g, const struct ar_trace_item *event,
                                uint32_t *item)
{
    bool has_number = event->tag == AR_TRACE_DOWN;
    uint32_t ref = has_number ? g->ref_of[event->number] : event->number;
    enum ar_status status;

    if (!node_at(g, ref))
        return AR_OK;
    status = item_of(g, ref, item);
    if (status < 0)
        return status;
    if (!has_number)
        return note_alias(g, *item);
    g->item_of_number[event->number] = *item;
    return AR_OK;
}

/* Where an event leads. */
static inline enum ar_status follow(struct tracing *g, const struct ar_trace_item *event,
                                    uint32_t *item)
{
    if (event->tag == AR_TRACE_UP) {
        if (g->parents[*item] != AR_NO_ID)
            *item = g->parents[*item];
        return AR_OK;
    }
    if (event->tag == AR_TRACE_DOWN && g->item_of_number[event->number] != AR_NO_ID) {
        *item = g->item_of_number[event->number];
        return AR_OK;
    }
    return event->tag == AR_TRACE_DOWN || leads_anywhere(event) ? find_item(g, event, item) : AR_OK;
}

static uint64_t length_of(const struct tracing *g, const struct source_chunk *chunk)
{
    struct ar_trace_chunk_reader reader = {.at = g->room, .end = g->room + chunk->n_bytes};
    struct ar_trace_item item = {0};

    while (ar_trace_chunk_next(&reader, &item))
        continue;
    return reader.units;
}

static bool is_off_after(bool is_off, const struct ar_trace_item *event)
{
    if (event->tag != AR_TRACE_MORE)
        return is_off;
    return event->code == AR_TRACE_OFF || event->code == AR_TRACE_FULL ||
           (is_off && event->code != AR_TRACE_ON);
}

static void note_mark(struct tracing *g, uint32_t at, uint64_t units, uint32_t item)
{
    if (g->n_marks < AR_MOST_TRACE_MARKS)
        g->at_marks[g->n_marks++] = (struct ar_trace_mark){.at = at, .units = units, .item = item};
}

/* The time before an event: nothing is known of what was taken back. */
static uint32_t item_before(bool is_off, const struct ar_trace_item *event, uint32_t item)
{
    bool is_rewound = event->tag == AR_TRACE_MORE && event->code == AR_TRACE_REWOUND;

    return is_off || is_rewound ? AR_NO_ID : item;
}

/*
 * Bins until the chunk ends, which is where a damage begins at the latest: an event that is later than the next chunk is one, and of the
 * chunk there is nothing from it on.
 */
static enum ar_status look_through(struct tracing *g, struct source_chunk *chunk, uint64_t limit,
                                   struct ar_trace_chunk *out)
{
    struct ar_trace_chunk_reader reader = {.at = g->room, .end = g->room + chunk->n_bytes};
    const unsigned char *after = reader.at, *next_mark = after + BYTES_PER_MARK;
    struct ar_trace_item event = {0};
    uint32_t item = 0;
    bool is_off = g->is_off;
    enum ar_status status =
        node_at(g, chunk->first_ref) ? item_of(g, chunk->first_ref, &item) : AR_BAD;

    out->item = item;
    g->n_marks = 0;
    note_mark(g, 0, 0, is_off ? AR_NO_ID : item);
    while (status == AR_OK && ar_trace_chunk_next(&reader, &event) && event.units <= limit) {
        status = pass(g, item_before(is_off, &event, item), out->units, event.units);
        out->units = event.units;
        is_off = is_off_after(is_off, &event);
        if (status == AR_OK)
            status = follow(g, &event, &item);
        out->n_events++;
        after = reader.at;
        if (after >= next_mark) {
            note_mark(g, (uint32_t)(after - g->room), event.units, is_off ? AR_NO_ID : item);
            next_mark = after + BYTES_PER_MARK;
        }
    }
    out->end_item = is_off ? AR_NO_ID : item;
    g->is_cut = reader.bad || event.units > limit;
    if (g->is_cut)
        out->end_item = AR_NO_ID;
    g->is_off = is_off;
    chunk->n_bytes = (uint64_t)(after - g->room);
    return status == AR_OK ? end_bins(g) : status;
}

static void put_level(struct tracing *g, const struct ar_bytes *bytes, size_t from)
{
    size_t n_bytes = bytes->n - from;

    ar_bytes_varint(&g->index, n_bytes);
    ar_bytes_u32(&g->index, n_bytes ? ar_crc32(bytes->data + from, n_bytes) : 0);
    g->index.bad = g->index.bad || bytes->bad;
}

/* With the checksum of what follows each; a chunk that is as short as that needs none. */
static void put_marks(struct tracing *g, uint64_t n_bytes)
{
    size_t from = g->marks.n;

    for (size_t i = 0; i < g->n_marks; i++) {
        struct ar_trace_mark *mark = &g->at_marks[i];
        uint64_t end = i + 1 < g->n_marks ? g->at_marks[i + 1].at : n_bytes;

        mark->crc = ar_crc32(g->room + mark->at, (size_t)(end - mark->at));
    }
    if (g->n_marks > 1)
        ar_trace_marks_put(&g->marks, g->at_marks, g->n_marks);
    put_level(g, &g->marks, from);
}

static void put_levels(struct tracing *g)
{
    ar_bytes_varint(&g->index, g->bin_shift);
    ar_bytes_u8(&g->index, (uint8_t)g->n_levels);
    for (unsigned i = 0; i < g->n_levels; i++)
        put_level(g, &g->levels[i].bytes, g->levels[i].chunk_at);
}

/* All of the chunk in one bin, where it lasts any time at all. */
static void put_whole(struct tracing *g)
{
    const struct level *level = &g->levels[g->n_levels];
    struct ar_trace_bin bin;

    if (!level->n_units)
        return;
    fill_bin(level, &bin);
    ar_trace_bin_put(&g->index, &bin);
}

static void put_chunk(struct tracing *g, const struct source_chunk *from,
                      const struct ar_trace_chunk *chunk)
{
    ar_bytes_varint(&g->index, from->n_bytes);
    ar_bytes_varint(&g->index, chunk->start_ns);
    ar_bytes_varint(&g->index, chunk->units);
    ar_bytes_varint(&g->index, chunk->n_events);
    ar_bytes_u32(&g->index, chunk->crc);
    ar_bytes_varint(&g->index, chunk->item);
    ar_bytes_varint(&g->index, chunk->end_item == AR_NO_ID ? 0 : (uint64_t)chunk->end_item + 1);
    ar_bytes_u8(&g->index, chunk->is_after_gap);
    put_levels(g);
    put_marks(g, from->n_bytes);
    put_whole(g);
    g->n_index++;
}

/* Where it lies, by its header as it is now; false: it is used for something else meanwhile. */
static bool is_still_there(const struct tracing *g, const struct source_chunk *chunk)
{
    const struct ar_bulk_source *source = &g->r->live->trace_source;
    struct ar_extent head;
    struct ar_error err;

    return source->read(source, 0, &head, sizeof head, chunk->at - sizeof head, &err) == AR_OK &&
           head.spare[AR_TRACE_SEQUENCE] == chunk->sequence &&
           head.n_bytes_used >= sizeof head + chunk->n_bytes;
}

static bool fetch(struct tracing *g, const struct source_chunk *chunk)
{
    const struct ar_bulk_source *source = &g->r->live->trace_source;
    struct ar_error err;

    if (chunk->n_bytes > g->n_room) {
        free(g->room);
        g->n_room = (size_t)chunk->n_bytes;
        g->room = malloc(g->n_room);
        if (!g->room)
            g->n_room = 0;
    }
    return g->room &&
           source->read(source, 0, g->room, (size_t)chunk->n_bytes, chunk->at, &err) == AR_OK &&
           (!g->r->live->was_running || is_still_there(g, chunk));
}

static enum ar_status keep_chunk(struct tracing *g, const struct source_chunk *from)
{
    const struct ar_bulk_source *source = &g->r->live->trace_source;
    struct ar_bulk_piece piece = {.at = from->at, .n_bytes = from->n_bytes};
    enum ar_status status = ar_bulks_source(&g->r->p->bulks, source, &piece.source);

    return status == AR_OK ? ar_bulks_add(&g->r->p->bulks, g->id, &piece) : status;
}

/* As long as until the next one, where that is the next one: only of others the events are added up. */
static uint64_t span_of(const struct tracing *g, const struct source_chunk *from,
                        const struct source_chunk *next)
{
    bool is_next = next && next->sequence == from->sequence + 1;

    return is_next && next->first_ticks >= from->first_ticks
               ? (next->first_ticks - from->first_ticks) >> from->shift
               : length_of(g, from);
}

static enum ar_status read_chunk(struct tracing *g, struct source_chunk *from,
                                 const struct source_chunk *next, bool is_after_gap)
{
    struct ar_trace_chunk chunk = {.start_ns = ar_reading_since_start(g->r, from->first_ticks),
                                   .is_after_gap = is_after_gap};
    enum ar_status status;

    uint64_t span;

    g->is_off = g->is_off && !is_after_gap;
    if (!fetch(g, from)) {
        g->r->n_lost[AR_LOST_TRACE]++;
        return AR_OK;
    }
    span = span_of(g, from, next);
    choose_bins(g, from->n_bytes, span);
    status = look_through(g, from, span, &chunk);
    if (status == AR_BAD) {
        g->r->n_lost[AR_LOST_TRACE]++;
        return AR_OK;
    }
    if (status < 0)
        return status;
    chunk.crc = ar_crc32(g->room, (size_t)from->n_bytes);
    put_chunk(g, from, &chunk);
    g->n_events += chunk.n_events;
    return keep_chunk(g, from);
}

/* ---- a thread --------------------------------------------------------------------------------- */

/* Marks and bins of all chunks, the shortest first, behind the events of the thread. */
static void join_levels(const struct tracing *g, unsigned char *to)
{
    for (unsigned i = 0; i <= AR_MOST_TRACE_LEVELS; i++) {
        const struct ar_bytes *bytes = i ? &g->levels[i - 1].bytes : &g->marks;

        if (bytes->n)
            memcpy(to, bytes->data, bytes->n);
        to += bytes->n;
    }
}

static enum ar_status keep_bins(struct tracing *g)
{
    struct ar_bulk_source source = {.n_bytes = g->marks.n};
    struct ar_bulk_piece piece = {.at = 0};
    enum ar_status status;

    for (unsigned i = 0; i < AR_MOST_TRACE_LEVELS; i++)
        source.n_bytes += g->levels[i].bytes.n;
    if (!source.n_bytes)
        return AR_OK;
    source.shared = ar_bulk_memory_new((size_t)source.n_bytes);
    if (!source.shared)
        return AR_NOMEM;
    join_levels(g, source.shared->bytes);
    source.memory = source.shared->bytes;
    piece.n_bytes = source.n_bytes;
    status = ar_bulks_source(&g->r->p->bulks, &source, &piece.source);
    ar_bulk_memory_release(source.shared);
    return status == AR_OK ? ar_bulks_add(&g->r->p->bulks, g->id, &piece) : status;
}

/* A process may go on after its run was written, within the same chunks: what it has then is another bulk. */
static uint64_t identity_of(const struct tracing *g, const struct source_chunk *chunks, size_t n)
{
    const struct ar_live_header *h = g->r->live->header;
    uint64_t words[] = {h->pid,
                        h->pid_start,
                        g->thread,
                        h->start.mono_ns,
                        ar_hash_bytes(h->host, strlen(h->host)),
                        h->n_bytes_used,
                        chunks[0].sequence,
                        chunks[n - 1].sequence,
                        chunks[n - 1].n_bytes};

    return ar_hash_words(words, sizeof words / sizeof *words);
}

static void put_item(const struct tracing *g, struct ar_bytes *out, size_t i, uint32_t number,
                     size_t at)
{
    ar_bytes_varint(out, number ? (uint64_t)number << 1 : (uint64_t)g->refs[i] << 1 | 1);
    ar_bytes_varint(out, g->parents[i] == AR_NO_ID ? 0 : at - g->parents[i]);
    ar_bytes_u8(out, g->classes[i]);
}

/* Those with a number that are named by their ref as well are there twice. */
static void put_items(const struct tracing *g, struct ar_bytes *out)
{
    ar_bytes_varint(out, g->n_items + g->n_aliases);
    for (size_t i = 0; i < g->n_items; i++)
        put_item(g, out, i, number_of(node_at(g, g->refs[i])), i);
    for (size_t i = 0; i < g->n_aliases; i++)
        put_item(g, out, g->aliases[i], 0, g->n_items + i);
}

static void put_double(struct ar_bytes *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    ar_bytes_u64(out, bits);
}

static enum ar_status make_tables(const struct tracing *g, struct ar_other_stream *stream)
{
    stream->n_tables = AR_N_TRACE_TABLES;
    stream->roles[0] = (struct ar_column){.role = AR_ROLE_NODE, .flags = AR_COLUMN_OPTIONAL};
    stream->roles[1] = (struct ar_column){.role = AR_ROLE_COMM, .flags = AR_COLUMN_OPTIONAL};
    stream->tables[0].numbers = malloc((g->n_items + g->n_aliases + 1) * sizeof(uint32_t));
    stream->tables[1].numbers = malloc((g->r->n_comms + 1) * sizeof(uint32_t));
    if (!stream->tables[0].numbers || !stream->tables[1].numbers)
        return AR_NOMEM;
    stream->tables[0].n = g->n_items + g->n_aliases;
    for (size_t i = 0; i < g->n_items; i++)
        stream->tables[0].numbers[i] = ar_reading_node(g->r, g->refs[i]) + 1;
    for (size_t i = 0; i < g->n_aliases; i++)
        stream->tables[0].numbers[g->n_items + i] = stream->tables[0].numbers[g->aliases[i]];
    stream->tables[1].n = g->r->n_comms;
    for (size_t i = 0; i < g->r->n_comms; i++)
        stream->tables[1].numbers[i] = g->r->comms[i + 1].id + 1;
    return AR_OK;
}

/* When threads ended, by number; 0: they run. */
static enum ar_status find_ends(struct tracing *g)
{
    const struct ar_live *live = g->r->live;

    g->ends = calloc(g->r->n_threads + 1, sizeof *g->ends);
    if (!g->ends)
        return AR_NOMEM;
    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_THREADS));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_live_thread)); i++) {
            const struct ar_live_thread *slot = ar_extent_item(e, i, sizeof *slot);

            if (slot->root_ref && slot->number < g->r->n_threads)
                g->ends[slot->number] = slot->end_ticks;
        }
    return AR_OK;
}

/* When the thread ended, or was seen last. */
static uint64_t end_of_thread(const struct tracing *g)
{
    return g->ends[g->thread] ? g->ends[g->thread] : g->r->now_ticks;
}

static enum ar_status add_stream(struct tracing *g, double ns_per_unit)
{
    static const struct ar_role_maps same;
    struct ar_other_stream stream = {.name = AR_TRACE_STREAM,
                                     .location = g->r->locations[g->thread]};
    struct ar_bytes bytes = {0};
    enum ar_status status = make_tables(g, &stream);

    ar_bytes_u8(&bytes, AR_TRACE_BYTES_VERSION);
    ar_bytes_u64(&bytes, g->id);
    put_double(&bytes, ns_per_unit);
    ar_bytes_varint(&bytes, ar_reading_since_start(g->r, end_of_thread(g)));
    put_items(g, &bytes);
    ar_bytes_varint(&bytes, g->n_index);
    ar_bytes_put(&bytes, g->index.data, g->index.n);
    if (bytes.bad || g->index.bad)
        status = AR_NOMEM;
    stream.bytes = bytes.data;
    stream.n_bytes = bytes.n;
    if (status == AR_OK)
        status = ar_other_streams_add(&g->r->p->other_streams, &stream, &same, true);
    for (size_t i = 0; i < stream.n_tables; i++)
        free(stream.tables[i].numbers);
    ar_bytes_free(&bytes);
    return status;
}

static void free_thread(struct tracing *g)
{
    set_numbers(g, false);
    free(g->refs);
    free(g->parents);
    free(g->aliases);
    free(g->classes);
    ar_idmap_free(&g->items);
    ar_idmap_free(&g->aliased);
    g->aliases = NULL;
    g->n_aliases = g->cap_aliases = 0;
    g->refs = g->parents = NULL;
    g->classes = NULL;
    g->n_items = g->cap_refs = g->cap_parents = g->cap_classes = 0;
    for (unsigned i = 0; i <= AR_MOST_TRACE_LEVELS; i++)
        g->levels[i].bytes.n = 0;
    g->index.n = g->marks.n = 0;
    g->n_index = g->n_events = 0;
    g->is_off = false;
}

/* Chunks of one thread, in order. */
static enum ar_status read_thread(struct tracing *g, struct source_chunk *chunks, size_t n)
{
    uint64_t sequence = 0, n_bytes = 0;
    enum ar_status status = AR_OK;

    g->thread = chunks->thread;
    g->id = identity_of(g, chunks, n);
    for (size_t i = 0; i < n; i++)
        n_bytes += chunks[i].n_bytes;
    g->bytes_per_bin = n_bytes / MOST_BINS > BYTES_PER_BIN ? n_bytes / MOST_BINS : BYTES_PER_BIN;
    set_numbers(g, true);
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        uint64_t n_before = g->n_index;

        status = read_chunk(g, &chunks[i], i + 1 < n ? &chunks[i + 1] : NULL,
                            chunks[i].sequence != sequence + 1);
        sequence = g->n_index > n_before && !g->is_cut ? chunks[i].sequence : UINT64_MAX;
    }
    if (status == AR_OK && g->n_index)
        status = keep_bins(g);
    if (status == AR_OK && g->n_index)
        status = add_stream(g, g->r->ns_per_tick * (double)(UINT64_C(1) << chunks->shift));
    free_thread(g);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static int by_thread(const void *a, const void *b)
{
    const struct source_chunk *x = a, *y = b;
    int order = (x->thread > y->thread) - (x->thread < y->thread);

    return order ? order : (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static enum ar_status list_chunks(struct tracing *g)
{
    const struct ar_live *live = g->r->live;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_TRACE));) {
        uint64_t at = (uint64_t)((const unsigned char *)(e + 1) - live->bytes);
        uint64_t n_bytes = __atomic_load_n(&e->n_bytes_used, __ATOMIC_ACQUIRE) - sizeof *e;

        if (ar_reading_location(g->r, e) == AR_NO_ID || !n_bytes)
            continue;
        if (ar_grow((void **)&g->chunks, &g->cap_chunks, g->n_chunks + 1, sizeof *g->chunks) < 0)
            return AR_NOMEM;
        g->chunks[g->n_chunks++] = (struct source_chunk){
            .at = at,
            .n_bytes = n_bytes,
            .sequence = e->spare[AR_TRACE_SEQUENCE],
            .first_ticks = e->spare[AR_TRACE_FIRST_TICKS],
            .first_ref = (uint32_t)e->spare[AR_TRACE_FIRST_REF],
            .shift = (unsigned)(e->spare[AR_TRACE_FIRST_REF] >> 32) & 63,
            .thread = e->owner,
        };
    }
    if (g->n_chunks)
        qsort(g->chunks, g->n_chunks, sizeof *g->chunks, by_thread);
    return AR_OK;
}

/* What is looked for once, for all threads. */
static enum ar_status prepare(struct tracing *g)
{
    enum ar_status status = list_nodes(g);

    if (status == AR_OK)
        status = find_ends(g);
    return status == AR_OK ? make_numbers(g) : status;
}

enum ar_status ar_read_traces(struct ar_reading *r)
{
    struct tracing g = {.r = r};
    enum ar_status status = r->live->with_trace ? list_chunks(&g) : AR_OK;

    if (status == AR_OK && g.n_chunks)
        status = prepare(&g);
    for (size_t i = 0, n; i < g.n_chunks && status == AR_OK; i += n) {
        for (n = 1; i + n < g.n_chunks && g.chunks[i + n].thread == g.chunks[i].thread; n++)
            continue;
        status = read_thread(&g, &g.chunks[i], n);
    }
    ar_bytes_free(&g.index);
    ar_bytes_free(&g.marks);
    free(g.chunks);
    free(g.room);
    free(g.above);
    free(g.extents);
    free(g.ends);
    free(g.ref_of);
    free(g.item_of_number);
    for (unsigned i = 0; i <= AR_MOST_TRACE_LEVELS; i++) {
        ar_bytes_free(&g.levels[i].bytes);
        free(g.levels[i].spent);
        free(g.levels[i].touched);
    }
    return status;
}
