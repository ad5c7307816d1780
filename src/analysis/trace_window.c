// SPDX-License-Identifier: BSD-3-Clause
/*
 * One row after the other, each from left to right. Times of a row are units of its trace since its first chunk: events and bins
 * are in units, and only the edges of columns have to be converted, once each.
 */
#include "analysis/trace_window.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column is made of so many bins at least. */
#define BINS_PER_COLUMN 4
/* Levels of several chunks lie side by side, and are read in one go. */
#define READ_AHEAD_BYTES ((uint64_t)256 << 10)

/* What was read of the bulk last. */
struct piece {
    unsigned char *bytes;
    size_t cap;
    uint64_t at, n;
};

struct painting {
    const struct ar_traces *traces;
    const struct ar_window_choice *choice;
    struct ar_trace_window *w;
    struct ar_error *err;
    struct piece piece, marks;
    /* Of the row at hand: */
    const struct ar_trace *trace;
    size_t row;
    uint64_t *edges;        /* n_columns + 1, in units */
    double column_units;    /* that a column has, on average */
    const uint8_t *classes; /* by item */
    uint8_t *own_classes;   /* the same, where nodes are not wanted */
    uint32_t *nodes;        /* by item: the nearest one of the profile; `n_nodes` of it: none */
    size_t cap_classes, cap_nodes;
    /* Of the column at hand: */
    size_t column;
    uint64_t at, end; /* up to where it is painted; where it ends */
    double class_units[AR_N_WINDOW_CLASSES];
    double *node_units; /* by node */
    uint32_t *touched;  /* nodes that have some */
    size_t n_touched;
};

/* ---- times ------------------------------------------------------------------------------------ */

static uint64_t zero_ns(const struct painting *g)
{
    return g->trace->n_chunks ? g->trace->chunks[0].start_ns : 0;
}

/* Since the first chunk; 0 for what is earlier. */
static uint64_t units_at(const struct painting *g, uint64_t ns)
{
    uint64_t zero = zero_ns(g);

    double units = ns > zero ? (double)(ns - zero) / g->trace->ns_per_unit : 0;

    return units < 0x1p62 ? (uint64_t)units : UINT64_C(1) << 62;
}

static void place_edges(struct painting *g)
{
    const struct ar_window_choice *c = g->choice;
    double length_ns = (double)(c->to_ns - c->from_ns);
    size_t thread = c->threads ? c->threads[g->row] : g->row;

    for (size_t i = 0; i <= c->n_columns; i++) {
        int64_t ns = c->from_ns + (int64_t)(length_ns * ((double)i / (double)c->n_columns));
        uint64_t at = units_at(g, ar_traces_at(g->traces, thread, ns));

        g->edges[i] = i && at < g->edges[i - 1] ? g->edges[i - 1] : at;
    }
    g->column_units = length_ns / (double)c->n_columns / g->trace->ns_per_unit;
}

/* ---- cells ------------------------------------------------------------------------------------ */

static void find_node(struct painting *g, struct ar_window_cell *cell, double whole)
{
    uint32_t n_nodes = (uint32_t)g->traces->profile->n_nodes, best = n_nodes;

    for (size_t i = 0; i < g->n_touched; i++)
        if (g->touched[i] != n_nodes &&
            (best == n_nodes || g->node_units[g->touched[i]] > g->node_units[best]))
            best = g->touched[i];
    cell->node = best == n_nodes ? AR_NO_ID : best;
    if (best != n_nodes)
        cell->node_share = (float)(g->node_units[best] / whole);
}

/* Edges are whole units. A column that is much shorter than the others reaches beyond the thread's process. */
static double length_of_column(const struct painting *g)
{
    double units = (double)(g->edges[g->column + 1] - g->edges[g->column]);

    return units > 0 && units >= g->column_units - 2 ? units : g->column_units;
}

/* Time that belongs to no class was not recorded. */
static void end_column(struct painting *g)
{
    struct ar_window_cell *cell = &g->w->cells[g->row * g->w->n_columns + g->column];
    double known = 0, whole = length_of_column(g);

    g->class_units[AR_CLASS_NONE] = 0;
    for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++)
        known += g->class_units[kind];
    whole = known > whole ? known : whole;
    g->class_units[AR_CLASS_NONE] = whole - known;
    for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++) {
        cell->shares[kind] = (float)(g->class_units[kind] / whole);
        g->w->class_ns[g->row][kind] += g->class_units[kind] * g->trace->ns_per_unit;
    }
    find_node(g, cell, whole);
    for (size_t i = 0; i < g->n_touched; i++)
        g->node_units[g->touched[i]] = 0;
    g->n_touched = 0;
    memset(g->class_units, 0, sizeof g->class_units);
    g->column++;
    if (g->column < g->w->n_columns)
        g->end = g->edges[g->column + 1];
}

static bool is_painted(const struct painting *g)
{
    return g->column >= g->w->n_columns;
}

static inline void add_item(struct painting *g, uint32_t item, double units)
{
    uint32_t node = g->nodes[item];

    if (g->node_units[node] == 0)
        g->touched[g->n_touched++] = node;
    g->node_units[node] += units;
}

static inline void add(struct painting *g, uint32_t item, double units)
{
    unsigned kind = g->classes[item];

    g->class_units[kind] += units;
    if (kind != AR_WINDOW_UNWANTED)
        add_item(g, item, units);
}

/* Nothing was recorded up to then. */
static void skip(struct painting *g, uint64_t to)
{
    while (!is_painted(g) && g->end <= to) {
        g->at = g->end;
        end_column(g);
    }
    if (to > g->at)
        g->at = to;
}

/* The thread was in that item up to then. */
static void pass_edges(struct painting *g, uint32_t item, uint64_t to)
{
    while (!is_painted(g) && g->end <= to) {
        if (g->end > g->at) {
            add(g, item, (double)(g->end - g->at));
            g->at = g->end;
        }
        end_column(g);
    }
    if (!is_painted(g) && to > g->at) {
        add(g, item, (double)(to - g->at));
        g->at = to;
    }
}

static inline void pass(struct painting *g, uint32_t item, uint64_t to)
{
    if (__builtin_expect(to >= g->end, 0)) {
        pass_edges(g, item, to);
    } else if (to > g->at) {
        add(g, item, (double)(to - g->at));
        g->at = to;
    }
}

static void pass_known(struct painting *g, uint32_t item, uint64_t to)
{
    if (item == AR_NO_ID || g->trace->classes[item] == AR_CLASS_NONE)
        skip(g, to);
    else
        pass(g, item, to);
}

/* ---- bins ------------------------------------------------------------------------------------- */

static void add_bin(struct painting *g, const struct ar_trace_bin *bin, double part)
{
    for (unsigned i = 0; i < bin->n_classes; i++)
        g->class_units[bin->classes[i]] += part * (double)bin->units[i];
    for (unsigned i = 0; i < bin->n_tops; i++)
        if (bin->shares[i])
            add_item(g, bin->items[i], part * (double)bin->n_units * bin->shares[i] / 255);
}

/* A bin across edges is as full of everything on both sides. */
static void divide_bin(struct painting *g, const struct ar_trace_bin *bin, uint64_t to)
{
    double units = (double)bin->n_units, error = units / 2 / g->column_units;

    while (!is_painted(g) && g->end <= to) {
        if (g->end > g->at) {
            add_bin(g, bin, (double)(g->end - g->at) / units);
            g->at = g->end;
        }
        end_column(g);
    }
    if (!is_painted(g) && to > g->at) {
        add_bin(g, bin, (double)(to - g->at) / units);
        g->at = to;
    }
    if (bin->n_classes + bin->n_tops > 2 && error > g->w->error)
        g->w->error = error;
}

static void pass_bin(struct painting *g, const struct ar_trace_bin *bin, uint64_t from)
{
    uint64_t to = from + bin->n_units;

    if (to <= g->at || is_painted(g))
        return;
    g->w->n_bins++;
    if (from >= g->at && to < g->end) {
        add_bin(g, bin, 1);
        g->at = to;
    } else {
        divide_bin(g, bin, to);
    }
}

/* ---- reading ---------------------------------------------------------------------------------- */

static enum ar_status bad(const struct painting *g)
{
    return ar_fail(g->err, AR_BAD, "the trace is damaged (copy the file again)");
}

/* Bytes of the bulk. Up to `end` they may be read in the same go. */
static enum ar_status fetch(struct painting *g, struct piece *p, uint64_t at, uint64_t n,
                            uint64_t end, const unsigned char **bytes)
{
    enum ar_status status;

    if (!g->trace->bulk)
        return ar_fail(g->err, AR_BAD, "the events of the trace are not in the file");
    if (at < p->at || at + n > p->at + p->n) {
        uint64_t n_read = end > at + n ? end - at : n;

        if (n_read > READ_AHEAD_BYTES)
            n_read = n > READ_AHEAD_BYTES ? n : READ_AHEAD_BYTES;
        p->n = 0;
        if (ar_grow((void **)&p->bytes, &p->cap, (size_t)n_read + 1, 1) < 0)
            return ar_fail(g->err, AR_NOMEM, "out of memory");
        status = ar_bulk_get(&g->traces->profile->bulks, g->trace->bulk, at, p->bytes,
                             (size_t)n_read, g->err);
        if (status < 0)
            return status;
        p->at = at;
        p->n = n_read;
    }
    *bytes = p->bytes + (at - p->at);
    return AR_OK;
}

static enum ar_status check(const struct painting *g, const unsigned char *bytes, uint64_t n,
                            uint32_t crc)
{
    return ar_crc32(bytes, (size_t)n) == crc ? AR_OK : bad(g);
}

/* Marks, or bins of a level. */
static enum ar_status fetch_level(struct painting *g, struct piece *p,
                                  const struct ar_trace_level *level,
                                  const struct ar_trace_level *last, const unsigned char **bytes)
{
    enum ar_status status = fetch(g, p, level->at, level->n_bytes, last->at + last->n_bytes, bytes);

    return status == AR_OK ? check(g, *bytes, level->n_bytes, level->crc) : status;
}

/* The last chunk that begins in the window. */
static size_t last_chunk(const struct painting *g)
{
    const struct ar_trace *t = g->trace;
    uint64_t end = g->edges[g->choice->n_columns];
    size_t first = 0, n = t->n_chunks;

    while (n - first > 1) {
        size_t middle = first + (n - first) / 2;

        if (units_at(g, t->chunks[middle].start_ns) < end)
            first = middle;
        else
            n = middle;
    }
    return first;
}

static enum ar_status paint_bins(struct painting *g, size_t at, uint64_t start, unsigned level,
                                 size_t last)
{
    const struct ar_trace_chunk *chunk = &g->trace->chunks[at], *until = &g->trace->chunks[last];
    const struct ar_trace_level *l = &chunk->levels[level];
    const unsigned char *bytes = NULL;
    enum ar_status status = fetch_level(g, &g->piece, l, &until->levels[level], &bytes);

    if (status < 0)
        return status;

    struct ar_trace_bins bins = {
        .in = ar_cursor_over(bytes, l->n_bytes),
        .width = UINT64_C(1) << (chunk->bin_shift + AR_TRACE_LEVEL_SHIFT * level),
        .n_units = chunk->units,
        .n_items = g->trace->n_items,
    };

    while (!is_painted(g) && ar_trace_bins_next(&bins)) {
        pass_bin(g, &bins.bin, start);
        start += bins.bin.n_units;
    }
    return bins.in.bad ? bad(g) : AR_OK;
}

static bool is_off_before(const struct ar_trace *trace, size_t chunk)
{
    return chunk && !trace->chunks[chunk].is_after_gap &&
           trace->chunks[chunk - 1].end_item == AR_NO_ID;
}

static bool is_off_after(bool is_off, const struct ar_trace_item *event)
{
    if (event->tag != AR_TRACE_MORE)
        return is_off;
    return event->code == AR_TRACE_OFF || event->code == AR_TRACE_FULL ||
           (is_off && event->code != AR_TRACE_ON);
}

/* Between two marks: bytes, and where the thread is in front of them. */
struct span {
    uint64_t at, n_bytes, units; /* `at`: in the chunk */
    uint32_t item;
};

/* Is most of the chunk outside the window? */
static bool is_short(const struct painting *g, const struct ar_trace_chunk *chunk, uint64_t start)
{
    uint64_t from = g->at > start ? g->at : start, to = g->edges[g->choice->n_columns];
    uint64_t end = start + chunk->units;

    to = to < end ? to : end;
    return chunk->marks.n_bytes && to > from && to - from < chunk->units / 2;
}

static void find_span(const struct painting *g, uint64_t start, const struct ar_trace_mark *marks,
                      size_t n, size_t *first, size_t *last)
{
    uint64_t to = g->edges[g->choice->n_columns];

    for (*first = 0; *first + 1 < n && start + marks[*first + 1].units <= g->at;)
        ++*first;
    for (*last = *first; *last + 1 < n && start + marks[*last + 1].units < to;)
        ++*last;
}

/* The part of a chunk that lies in the window. */
static enum ar_status fetch_span(struct painting *g, size_t at, uint64_t start, size_t last_chunk,
                                 struct span *span, const unsigned char **bytes)
{
    const struct ar_trace_chunk *chunk = &g->trace->chunks[at];
    struct ar_trace_mark marks[AR_MOST_TRACE_MARKS + 1];
    size_t n, first, last;
    enum ar_status status =
        fetch_level(g, &g->marks, &chunk->marks, &g->trace->chunks[last_chunk].marks, bytes);

    if (status < 0)
        return status;
    n = ar_trace_marks_get(*bytes, chunk->marks.n_bytes, g->trace->n_items, chunk->n_bytes, marks);
    if (!n)
        return bad(g);
    marks[n].at = (uint32_t)chunk->n_bytes;
    find_span(g, start, marks, n, &first, &last);
    *span = (struct span){.at = marks[first].at,
                          .n_bytes = marks[last + 1].at - marks[first].at,
                          .units = marks[first].units,
                          .item = marks[first].item};
    status = fetch(g, &g->piece, chunk->at + span->at, span->n_bytes, 0, bytes);
    for (size_t i = first; i <= last && status == AR_OK; i++)
        status = check(g, *bytes + (marks[i].at - span->at), marks[i + 1].at - marks[i].at,
                       marks[i].crc);
    return status;
}

static enum ar_status fetch_chunk(struct painting *g, size_t at, size_t last, struct span *span,
                                  const unsigned char **bytes)
{
    const struct ar_trace *t = g->trace;
    const struct ar_trace_chunk *chunk = &t->chunks[at];
    uint64_t end = t->chunks[last].at + t->chunks[last].n_bytes;
    enum ar_status status = fetch(g, &g->piece, chunk->at, chunk->n_bytes, end, bytes);

    *span = (struct span){.n_bytes = chunk->n_bytes,
                          .item = is_off_before(t, at) ? AR_NO_ID : chunk->item};
    return status == AR_OK ? check(g, *bytes, chunk->n_bytes, chunk->crc) : status;
}

static enum ar_status paint_events(struct painting *g, size_t at, uint64_t start, size_t last)
{
    const struct ar_trace *t = g->trace;
    const unsigned char *bytes = NULL;
    struct ar_trace_item event = {0};
    struct span span = {0};
    enum ar_status status = is_short(g, &t->chunks[at], start)
                                ? fetch_span(g, at, start, last, &span, &bytes)
                                : fetch_chunk(g, at, last, &span, &bytes);

    if (status < 0)
        return status;

    struct ar_trace_chunk_reader reader = {
        .at = bytes, .end = bytes + span.n_bytes, .units = span.units};
    bool is_off = span.item == AR_NO_ID;
    uint32_t item = is_off ? t->chunks[at].item : span.item;

    while (!is_painted(g) && ar_trace_chunk_next(&reader, &event)) {
        bool is_rewound = event.tag == AR_TRACE_MORE && event.code == AR_TRACE_REWOUND;

        pass_known(g, is_off || is_rewound ? AR_NO_ID : item, start + event.units);
        is_off = is_off_after(is_off, &event);
        item = ar_trace_follow(t, item, &event);
        g->w->n_events++;
    }
    return reader.bad ? bad(g) : AR_OK;
}

/* ---- a chunk ---------------------------------------------------------------------------------- */

/* The highest level whose bins are short enough; -1: there is none. */
static int level_for(const struct painting *g, const struct ar_trace_chunk *chunk)
{
    double most = g->column_units / BINS_PER_COLUMN;
    int level = -1;

    for (int i = 0; i < chunk->n_levels; i++)
        if (ldexp(1, chunk->bin_shift + AR_TRACE_LEVEL_SHIFT * i) <= most)
            level = i;
    return level;
}

static enum ar_status paint_chunk(struct painting *g, size_t at, size_t last)
{
    const struct ar_trace_chunk *chunk = &g->trace->chunks[at];
    uint64_t start = units_at(g, chunk->start_ns);
    int level = level_for(g, chunk);

    if (start + chunk->units <= g->at)
        return AR_OK;
    if (g->choice->is_wanted)
        return paint_events(g, at, start, last);
    if ((double)chunk->units <= g->column_units / BINS_PER_COLUMN) {
        pass_bin(g, &chunk->whole, start);
        return AR_OK;
    }
    return level < 0 ? paint_events(g, at, start, last)
                     : paint_bins(g, at, start, (unsigned)level, last);
}

/* Up to the next chunk, or the end of the thread, it stays where it was. */
static void pass_rest(struct painting *g, size_t at)
{
    const struct ar_trace *t = g->trace;
    bool is_last = at + 1 == t->n_chunks;
    bool is_unknown = !is_last && t->chunks[at + 1].is_after_gap;

    pass_known(g, is_unknown ? AR_NO_ID : t->chunks[at].end_item,
               units_at(g, is_last ? t->end_ns : t->chunks[at + 1].start_ns));
}

/* ---- a row ------------------------------------------------------------------------------------ */

/* The last chunk that begins before the window does. */
static size_t first_chunk(const struct painting *g)
{
    size_t first = 0, n = g->trace->n_chunks;

    while (n - first > 1) {
        size_t middle = first + (n - first) / 2;

        if (units_at(g, g->trace->chunks[middle].start_ns) <= g->edges[0])
            first = middle;
        else
            n = middle;
    }
    return first;
}

/* What is not in the profile counts for the nearest item above that is. */
static void find_nodes(struct painting *g)
{
    const struct ar_trace *t = g->trace;
    uint32_t none = (uint32_t)g->traces->profile->n_nodes;

    for (uint32_t i = 0; i < t->n_items; i++)
        g->nodes[i] = t->nodes[i] != AR_NO_ID     ? t->nodes[i]
                      : t->parents[i] != AR_NO_ID ? g->nodes[t->parents[i]]
                                                  : none;
}

static enum ar_status take_row(struct painting *g, size_t row)
{
    g->row = row;
    g->trace = &g->traces->items[g->choice->threads ? g->choice->threads[row] : row];
    g->classes = g->trace->classes;
    g->piece.n = g->marks.n = 0;
    if (ar_grow((void **)&g->nodes, &g->cap_nodes, (size_t)g->trace->n_items + 1,
                sizeof *g->nodes) < 0)
        return ar_fail(g->err, AR_NOMEM, "out of memory");
    find_nodes(g);
    return AR_OK;
}

static enum ar_status leave_unwanted(struct painting *g)
{
    const struct ar_trace *t = g->trace;

    if (!g->choice->is_wanted)
        return AR_OK;
    if (ar_grow((void **)&g->own_classes, &g->cap_classes, (size_t)t->n_items + 1, 1) < 0)
        return ar_fail(g->err, AR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < t->n_items; i++) {
        uint32_t node = g->nodes[i];
        bool is_wanted = node < g->traces->profile->n_nodes && g->choice->is_wanted[node];

        g->own_classes[i] = is_wanted ? t->classes[i] : AR_WINDOW_UNWANTED;
    }
    g->classes = g->own_classes;
    return AR_OK;
}

static enum ar_status paint_row(struct painting *g, size_t row)
{
    enum ar_status status = take_row(g, row);

    if (status == AR_OK)
        status = leave_unwanted(g);
    if (status < 0)
        return status;
    place_edges(g);
    g->column = 0;
    g->at = g->edges[0];
    g->end = g->edges[1];
    if (g->trace->n_chunks) {
        size_t last = last_chunk(g);

        for (size_t i = first_chunk(g); i <= last && !is_painted(g) && status == AR_OK; i++) {
            status = paint_chunk(g, i, last);
            if (status == AR_OK)
                pass_rest(g, i);
        }
    }
    while (status == AR_OK && !is_painted(g))
        end_column(g);
    return status;
}

/* ---- the window ------------------------------------------------------------------------------- */

void ar_trace_window_free(struct ar_trace_window *w)
{
    free(w->cells);
    free(w->class_ns);
    *w = (struct ar_trace_window){0};
}

static bool is_sensible(const struct ar_window_choice *c, const struct ar_traces *traces)
{
    bool is_known = true;

    for (size_t i = 0; c->threads && i < c->n_threads; i++)
        is_known = is_known && c->threads[i] < traces->n;
    return is_known && c->from_ns >= 0 && c->to_ns > c->from_ns && c->to_ns < INT64_MAX / 4 &&
           c->n_columns && c->n_columns <= AR_MOST_WINDOW_COLUMNS;
}

static enum ar_status make_room(struct painting *g)
{
    struct ar_trace_window *w = g->w;
    size_t n_nodes = g->traces->profile->n_nodes + 1;

    g->node_units = calloc(n_nodes, sizeof *g->node_units);
    g->touched = malloc(n_nodes * sizeof *g->touched);
    w->cells = calloc(w->n_rows * w->n_columns + 1, sizeof *w->cells);
    w->class_ns = calloc(w->n_rows + 1, sizeof *w->class_ns);
    g->edges = calloc(w->n_columns + 1, sizeof *g->edges);
    return w->cells && w->class_ns && g->edges && g->node_units && g->touched
               ? AR_OK
               : ar_fail(g->err, AR_NOMEM, "out of memory");
}

enum ar_status ar_trace_window_read(struct ar_trace_window *out, const struct ar_traces *traces,
                                    const struct ar_window_choice *choice, struct ar_error *err)
{
    struct painting g = {.traces = traces, .choice = choice, .w = out, .err = err};
    enum ar_status status;

    *out = (struct ar_trace_window){.from_ns = choice->from_ns,
                                    .to_ns = choice->to_ns,
                                    .n_rows = choice->threads ? choice->n_threads : traces->n,
                                    .n_columns = choice->n_columns};
    if (!is_sensible(choice, traces))
        return ar_fail(err, AR_BAD, "there is no such window of time");
    status = make_room(&g);
    for (size_t row = 0; row < out->n_rows && status == AR_OK; row++)
        status = paint_row(&g, row);
    free(g.edges);
    free(g.own_classes);
    free(g.nodes);
    free(g.node_units);
    free(g.touched);
    free(g.piece.bytes);
    free(g.marks.bytes);
    if (status < 0)
        ar_trace_window_free(out);
    return status;
}

unsigned ar_window_class(const struct ar_window_cell *cell)
{
    unsigned best = AR_CLASS_NONE;
    float most = 0;

    for (unsigned kind = AR_CLASS_NONE + 1; kind < AR_N_WINDOW_CLASSES; kind++)
        if (cell->shares[kind] > most) {
            most = cell->shares[kind];
            best = kind;
        }
    return best;
}
