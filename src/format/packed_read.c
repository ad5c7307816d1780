// SPDX-License-Identifier: BSD-3-Clause
#include "format/packed.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------------- */

/* Of a row or a set, where only locations matter. */
static size_t locations_of_runs(const struct ar_set *set, struct ar_value *out)
{
    struct ar_cursor in = ar_cursor_over(set->bytes, set->n_bytes);
    uint32_t location = 0;
    size_t n = 0;

    while (ar_cursor_left(&in)) {
        uint64_t head = ar_cursor_varint(&in);
        uint64_t n_run = head & 1 ? 2 + ar_cursor_varint(&in) : 1;

        location += (uint32_t)(head >> 1);
        for (uint64_t k = 0; k < n_run; k++)
            out[n++].location = location++;
    }
    return n;
}

static uint64_t load_word(const unsigned char *from, size_t n_bytes)
{
    uint64_t word = 0;

    memcpy(&word, from, n_bytes < sizeof word ? n_bytes : sizeof word);
    return le64toh(word);
}

static size_t locations_of_bitmap(const struct ar_set *set, struct ar_value *out)
{
    size_t n = 0;

    for (size_t at = 0; at < set->n_bytes; at += 8)
        for (uint64_t word = load_word(set->bytes + at, set->n_bytes - at); word; word &= word - 1)
            out[n++].location = (uint32_t)(8 * at) + (uint32_t)__builtin_ctzll(word);
    return n;
}

/* As many as it says, in order, and each one that there is. */
static bool runs_are_sound(const struct ar_set *set, size_t n_locations)
{
    struct ar_cursor in = ar_cursor_over(set->bytes, set->n_bytes);
    uint64_t location = 0, n = 0;

    while (ar_cursor_left(&in) && !in.bad) {
        uint64_t head = ar_cursor_varint(&in);
        uint64_t n_run = 1;

        if (head & 1) {
            n_run = ar_cursor_varint(&in);
            if (n_run > n_locations)
                return false;
            n_run += 2;
        }
        if (head >> 1 > n_locations)
            return false;
        location += (head >> 1) + n_run;
        n += n_run;
        if (location > n_locations)
            return false;
    }
    return !in.bad && n == set->n_locations;
}

static bool bitmap_is_sound(const struct ar_set *set, size_t n_locations)
{
    size_t n = 0;

    for (size_t at = 0; at < set->n_bytes; at += 8)
        n += (size_t)__builtin_popcountll(load_word(set->bytes + at, set->n_bytes - at));
    if (n == 0 || n != set->n_locations)
        return false;

    unsigned char last = set->bytes[set->n_bytes - 1];

    return last && 8 * (set->n_bytes - 1) + 31 - (size_t)__builtin_clz(last) < n_locations;
}

void ar_sets_open(struct ar_sets *out, struct ar_cursor *in, size_t n_locations)
{
    size_t n = ar_cursor_count(in, 3);

    out->items = calloc(n + 1, sizeof *out->items);
    if (!out->items) {
        in->bad = true;
        return;
    }
    out->n_sets = n;
    for (size_t i = 0; i < n; i++)
        out->items[i].n_locations = ar_cursor_varint32(in);
    for (size_t i = 0; i < n; i++) {
        uint64_t word = ar_cursor_varint(in);

        out->items[i].form = word % AR_N_SET_FORMS;
        out->items[i].n_bytes = ar_cursor_length(in, word / AR_N_SET_FORMS);
    }
    for (size_t i = 0; i < n && !in->bad; i++) {
        struct ar_set *set = &out->items[i];

        set->bytes = ar_cursor_take(in, set->n_bytes);
        if (!set->bytes || set->n_locations == 0 ||
            !(set->form == AR_SET_RUNS ? runs_are_sound(set, n_locations)
                                       : bitmap_is_sound(set, n_locations)))
            in->bad = true;
        if (set->n_locations > out->n_most)
            out->n_most = set->n_locations;
    }
}

void ar_sets_free(struct ar_sets *sets)
{
    free(sets->items);
    *sets = (struct ar_sets){0};
}

/* ---- values ----------------------------------------------------------------------------------- */

static void skip_block(struct ar_cursor *in, size_t n)
{
    unsigned width = ar_cursor_u8(in);

    ar_cursor_varint(in);
    if (width > AR_PACKED_VARINTS)
        in->bad = true;
    else if (width < AR_PACKED_VARINTS)
        ar_cursor_take(in, (n * width + 7) / 8);
    else
        for (size_t i = 0; i < n && !in->bad; i++)
            ar_cursor_varint(in);
}

/* Its bytes are what its blocks take, to the last one. */
static bool row_is_sound(const unsigned char *bytes, size_t n_bytes, size_t n_values)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);

    for (size_t i = 0; i < n_values && !in.bad; i += AR_PACKED_BLOCK)
        skip_block(&in, n_values - i < AR_PACKED_BLOCK ? n_values - i : AR_PACKED_BLOCK);
    return !in.bad && ar_cursor_left(&in) == 0;
}

static void open_nodes(struct ar_packed *out, struct ar_cursor *in, size_t n_nodes)
{
    uint64_t node = 0;

    for (size_t i = 0; i < out->n_rows && !in->bad; i++) {
        uint32_t step = ar_cursor_varint32(in);

        node += step;
        if ((i && step == 0) || node >= n_nodes)
            in->bad = true;
        out->rows[i].node = (uint32_t)node;
    }
}

static void open_rows(struct ar_packed *out, struct ar_cursor *in, const struct ar_sets *sets)
{
    for (size_t i = 0; i < out->n_rows && !in->bad; i++) {
        struct ar_packed_row *row = &out->rows[i];
        size_t n_values = sets->items[row->set].n_locations;

        row->bytes = ar_cursor_take(in, row->n_bytes);
        if (!row->bytes || !row_is_sound(row->bytes, row->n_bytes, n_values))
            in->bad = true;
        out->n_values += n_values;
    }
}

void ar_packed_open(struct ar_packed *out, struct ar_cursor *in, const struct ar_sets *sets,
                    size_t n_nodes)
{
    size_t n = ar_cursor_count(in, 5);

    out->rows = calloc(n + 1, sizeof *out->rows);
    if (out->rows)
        out->n_rows = n;
    else
        in->bad = true;
    open_nodes(out, in, n_nodes);
    for (size_t i = 0; i < out->n_rows && !in->bad; i++) {
        out->rows[i].set = ar_cursor_varint32(in);
        if (out->rows[i].set >= sets->n_sets)
            in->bad = true;
    }
    for (size_t i = 0; i < out->n_rows && !in->bad; i++)
        out->rows[i].n_bytes = ar_cursor_length(in, ar_cursor_varint(in));
    open_rows(out, in, sets);
}

void ar_packed_free(struct ar_packed *packed)
{
    free(packed->rows);
    *packed = (struct ar_packed){0};
}

/* From a copy with room behind it, so that every load may be of a whole word. */
static void get_bits(const unsigned char *from, size_t n, uint64_t least, unsigned width,
                     struct ar_value *out)
{
    unsigned char block[8 * AR_PACKED_BLOCK + 16];
    size_t n_bytes = (n * width + 7) / 8;
    uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;

    memcpy(block, from, n_bytes);
    memset(block + n_bytes, 0, 16);
    for (size_t i = 0, bit = 0; i < n; i++, bit += width) {
        uint64_t word = load_word(block + bit / 8, sizeof word) >> bit % 8;

        if (bit % 8 + width > 64)
            word |= (uint64_t)block[bit / 8 + 8] << (64 - bit % 8);
        out[i].value = least + (word & mask);
    }
}

static void get_block(struct ar_cursor *in, size_t n, struct ar_value *out)
{
    unsigned width = ar_cursor_u8(in);
    uint64_t least = ar_cursor_varint(in);

    if (width < AR_PACKED_VARINTS)
        get_bits(ar_cursor_take(in, (n * width + 7) / 8), n, least, width, out);
    else
        for (size_t i = 0; i < n; i++)
            out[i].value = least + ar_cursor_varint(in);
}

size_t ar_packed_get(const struct ar_packed *packed, const struct ar_sets *sets, size_t row,
                     struct ar_value *out)
{
    const struct ar_packed_row *r = &packed->rows[row];
    const struct ar_set *set = &sets->items[r->set];
    struct ar_cursor in = ar_cursor_over(r->bytes, r->n_bytes);
    size_t n =
        set->form == AR_SET_RUNS ? locations_of_runs(set, out) : locations_of_bitmap(set, out);

    for (size_t i = 0; i < n; i += AR_PACKED_BLOCK)
        get_block(&in, n - i < AR_PACKED_BLOCK ? n - i : AR_PACKED_BLOCK, out + i);
    for (size_t i = 0; i < n; i++)
        out[i].node = r->node;
    return n;
}
