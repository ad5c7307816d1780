// SPDX-License-Identifier: BSD-3-Clause
#include "format/trace_bins.h"

#include <string.h>

/* ---- one bin ---------------------------------------------------------------------------------- */

void ar_trace_bin_put(struct ar_bytes *out, const struct ar_trace_bin *bin)
{
    ar_bytes_u8(out, (uint8_t)(bin->n_classes | bin->n_tops << 4));
    for (unsigned i = 0; i < bin->n_classes; i++) {
        ar_bytes_u8(out, bin->classes[i]);
        if (i + 1u < bin->n_classes)
            ar_bytes_varint(out, bin->units[i]);
    }
    for (unsigned i = 0; i < bin->n_tops; i++) {
        ar_bytes_varint(out, bin->items[i]);
        ar_bytes_u8(out, bin->shares[i]);
    }
}

static void get_classes(struct ar_cursor *in, uint64_t n_left, struct ar_trace_bin *out)
{
    uint32_t seen = 0;

    for (unsigned i = 0; i < out->n_classes && !in->bad; i++) {
        uint8_t class = ar_cursor_u8(in);
        uint64_t units = i + 1u < out->n_classes ? ar_cursor_varint(in) : n_left;

        if (class >= AR_N_TRACE_CLASSES || seen >> class & 1 || !units || units > n_left) {
            in->bad = true;
            return;
        }
        seen |= UINT32_C(1) << class;
        out->classes[i] = class;
        out->units[i] = units;
        n_left -= units;
    }
}

static void get_tops(struct ar_cursor *in, uint32_t n_items, struct ar_trace_bin *out)
{
    unsigned share = 0;

    for (unsigned i = 0; i < out->n_tops && !in->bad; i++) {
        out->items[i] = ar_cursor_varint32(in);
        out->shares[i] = ar_cursor_u8(in);
        share += out->shares[i];
        if (out->items[i] >= n_items || share > 255)
            in->bad = true;
    }
}

void ar_trace_bin_get(struct ar_cursor *in, uint64_t n_units, uint32_t n_items,
                      struct ar_trace_bin *out)
{
    uint8_t head = ar_cursor_u8(in);

    out->n_units = n_units;
    out->n_classes = head & 15;
    out->n_tops = head >> 4;
    if (!out->n_classes || out->n_classes > AR_N_TRACE_CLASSES || out->n_tops > AR_TRACE_BIN_TOPS)
        in->bad = true;
    if (in->bad)
        return;
    get_classes(in, n_units, out);
    get_tops(in, n_items, out);
}

/* ---- bins of a level -------------------------------------------------------------------------- */

static bool next_same(struct ar_trace_bins *bins, uint64_t n_units)
{
    if (bins->bin.n_units != n_units) {
        bins->in.bad = true;
        return false;
    }
    bins->n_same--;
    bins->n_units -= n_units;
    return true;
}

bool ar_trace_bins_next(struct ar_trace_bins *bins)
{
    uint64_t n_units = bins->n_units < bins->width ? bins->n_units : bins->width;

    if (!n_units || bins->in.bad)
        return false;
    if (bins->n_same)
        return next_same(bins, n_units);
    if (ar_cursor_left(&bins->in) && !*bins->in.at) {
        bins->in.at++;
        bins->n_same = ar_cursor_varint(&bins->in);
        if (!bins->n_same)
            bins->in.bad = true;
        return !bins->in.bad && next_same(bins, n_units);
    }
    ar_trace_bin_get(&bins->in, n_units, bins->n_items, &bins->bin);
    bins->n_units -= n_units;
    return !bins->in.bad;
}

static bool is_same(const struct ar_trace_bin *a, const struct ar_trace_bin *b)
{
    return a->n_units == b->n_units && a->n_classes == b->n_classes && a->n_tops == b->n_tops &&
           memcmp(a->classes, b->classes, a->n_classes) == 0 &&
           memcmp(a->units, b->units, a->n_classes * sizeof *a->units) == 0 &&
           memcmp(a->items, b->items, a->n_tops * sizeof *a->items) == 0 &&
           memcmp(a->shares, b->shares, a->n_tops) == 0;
}

void ar_trace_bins_end(struct ar_trace_bins_writer *w)
{
    if (!w->n_same)
        return;
    ar_bytes_u8(w->out, 0);
    ar_bytes_varint(w->out, w->n_same);
    w->n_same = 0;
}

void ar_trace_bins_put(struct ar_trace_bins_writer *w, const struct ar_trace_bin *bin)
{
    if (is_same(&w->last, bin)) {
        w->n_same++;
        return;
    }
    ar_trace_bins_end(w);
    ar_trace_bin_put(w->out, bin);
    w->last = *bin;
}

/* ---- marks ------------------------------------------------------------------------------------ */

size_t ar_trace_marks_get(const void *bytes, size_t n_bytes, uint32_t n_items,
                          uint64_t n_chunk_bytes, struct ar_trace_mark *out)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);
    uint64_t at = 0, units = 0;
    size_t n = 0;

    while (ar_cursor_left(&in)) {
        uint64_t n_more = ar_cursor_varint(&in), units_more = ar_cursor_varint(&in);
        uint32_t item = ar_cursor_varint32(&in), crc = ar_cursor_u32(&in);

        if (in.bad || n == AR_MOST_TRACE_MARKS || (n_more == 0) != (n == 0) ||
            n_more > n_chunk_bytes - at || units_more > (UINT64_C(1) << 57) || item > n_items)
            return 0;
        at += n_more;
        units += units_more;
        out[n++] = (struct ar_trace_mark){(uint32_t)at, crc, units, item - 1};
    }
    return n;
}

void ar_trace_marks_put(struct ar_bytes *out, const struct ar_trace_mark *marks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ar_bytes_varint(out, marks[i].at - (i ? marks[i - 1].at : 0));
        ar_bytes_varint(out, marks[i].units - (i ? marks[i - 1].units : 0));
        ar_bytes_varint(out, (uint32_t)(marks[i].item + 1));
        ar_bytes_u32(out, marks[i].crc);
    }
}
