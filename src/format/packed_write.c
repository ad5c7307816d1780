// SPDX-License-Identifier: BSD-3-Clause
#include "base/arena.h"
#include "format/packed.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------------- */

/* Where the run of neighbours ends that begins at `i`. */
static size_t end_of_run(const struct ar_value *row, size_t n, size_t i)
{
    for (i++; i < n && row[i].location == row[i - 1].location + 1; i++)
        ;
    return i;
}

/* How far on it begins, times two, plus one if it is longer than one; then how much longer than two. */
static void put_runs(struct ar_bytes *out, const struct ar_value *row, size_t n)
{
    uint32_t at = 0;

    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_run(row, n, i);
        ar_bytes_varint(out, (uint64_t)(row[i].location - at) << 1 | (end - i > 1));
        if (end - i > 1)
            ar_bytes_varint(out, end - i - 2);
        at = row[end - 1].location + 1;
    }
}

static size_t bitmap_bytes(const struct ar_value *row, size_t n)
{
    return (size_t)row[n - 1].location / 8 + 1;
}

static void put_bitmap(struct ar_bytes *out, const struct ar_value *row, size_t n)
{
    unsigned char byte = 0;
    uint32_t at = 0;

    for (size_t i = 0; i < n; i++) {
        for (; at < row[i].location / 8; at++, byte = 0)
            ar_bytes_u8(out, byte);
        byte |= (unsigned char)(1u << row[i].location % 8);
    }
    ar_bytes_u8(out, byte);
}

/* The shorter way, at the end of the bytes. */
static uint32_t put_body(struct ar_bytes *out, const struct ar_value *row, size_t n)
{
    size_t start = out->n;

    put_runs(out, row, n);
    if (out->bad || out->n - start <= bitmap_bytes(row, n))
        return AR_SET_RUNS;
    out->n = start;
    put_bitmap(out, row, n);
    return AR_SET_BITMAP;
}

static bool is_same(const struct ar_set_writer *w, const struct ar_set_body *a,
                    const struct ar_set_body *b)
{
    return a->n_locations == b->n_locations && a->form == b->form && a->n_bytes == b->n_bytes &&
           memcmp(w->bytes.data + a->offset, w->bytes.data + b->offset, a->n_bytes) == 0;
}

/* The body is at the end of the bytes, and is taken off again where it is there already. */
static enum ar_status find_or_keep(struct ar_set_writer *w, const struct ar_set_body *set,
                                   uint32_t *id)
{
    uint64_t key = ar_hash_bytes(w->bytes.data + set->offset, set->n_bytes);

    for (;; key++) {
        *id = ar_idmap_get(&w->ids, key ? key : 1, AR_NO_ID);
        if (*id == AR_NO_ID)
            break;
        if (is_same(w, &w->items[*id], set)) {
            w->bytes.n = set->offset;
            return AR_OK;
        }
    }
    if (ar_grow((void **)&w->items, &w->cap, w->n_sets + 1, sizeof *w->items) < 0 ||
        ar_idmap_put(&w->ids, key ? key : 1, (uint32_t)w->n_sets) < 0)
        return AR_NOMEM;
    *id = (uint32_t)w->n_sets;
    w->items[w->n_sets++] = *set;
    return AR_OK;
}

enum ar_status ar_set_add(struct ar_set_writer *w, const struct ar_value *row, size_t n_values,
                          uint32_t *id)
{
    if (n_values == 1 && w->n_sets && w->latest_location == row->location) {
        *id = w->latest_id;
        return AR_OK;
    }

    struct ar_set_body set = {.n_locations = (uint32_t)n_values, .offset = w->bytes.n};

    set.form = put_body(&w->bytes, row, n_values);
    set.n_bytes = w->bytes.n - set.offset;
    if (w->bytes.bad || find_or_keep(w, &set, id) < 0)
        return AR_NOMEM;
    w->latest_location = n_values == 1 ? row->location : AR_NO_ID;
    w->latest_id = *id;
    return AR_OK;
}

void ar_set_writer_put(const struct ar_set_writer *w, struct ar_bytes *out)
{
    ar_bytes_varint(out, w->n_sets);
    for (size_t i = 0; i < w->n_sets; i++)
        ar_bytes_varint(out, w->items[i].n_locations);
    for (size_t i = 0; i < w->n_sets; i++)
        ar_bytes_varint(out, w->items[i].n_bytes * AR_N_SET_FORMS + w->items[i].form);
    ar_bytes_put(out, w->bytes.data, w->bytes.n);
    out->bad = out->bad || w->bytes.bad;
}

void ar_set_writer_free(struct ar_set_writer *w)
{
    free(w->items);
    ar_bytes_free(&w->bytes);
    ar_idmap_free(&w->ids);
    *w = (struct ar_set_writer){0};
}

/* ---- values ----------------------------------------------------------------------------------- */

static unsigned width_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* (width_of(value) + 6) / 7 and 1 for 0, without a division: 9/64 is close enough to 1/7 for widths up to 64. */
static size_t varint_bytes(uint64_t value)
{
    return (9 * (63 - (unsigned)__builtin_clzll(value | 1)) + 73) / 64;
}

static void store_word(unsigned char *at, uint64_t word)
{
    word = htole64(word);
    memcpy(at, &word, sizeof word);
}

/* Lowest bits first. */
static void put_bits(struct ar_bytes *out, const struct ar_value *row, size_t n, uint64_t least,
                     unsigned width)
{
    size_t n_bytes = (n * width + 7) / 8;
    unsigned char *at =
        ar_bytes_reserve(out, n_bytes + sizeof(uint64_t)); /* words are stored whole */
    uint64_t word = 0;
    unsigned n_used = 0;

    if (!at)
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t more = row[i].value - least;

        word |= more << n_used;
        n_used += width;
        if (n_used >= 64) {
            store_word(at, word);
            at += sizeof word;
            n_used -= 64;
            word = n_used ? more >> (width - n_used) : 0;
        }
    }
    store_word(at, word);
    out->n += n_bytes;
}

static void put_block(struct ar_bytes *out, const struct ar_value *row, size_t n)
{
    uint64_t least = UINT64_MAX, most = 0;
    size_t n_varints = 0;

    for (size_t i = 0; i < n; i++) {
        least = row[i].value < least ? row[i].value : least;
        most = row[i].value > most ? row[i].value : most;
    }

    unsigned width = width_of(most - least);

    for (size_t i = 0; i < n; i++)
        n_varints += varint_bytes(row[i].value - least);

    bool packs = (n * width + 7) / 8 <= n_varints;

    ar_bytes_u8(out, packs ? (uint8_t)width : AR_PACKED_VARINTS);
    ar_bytes_varint(out, least);
    if (packs && width)
        put_bits(out, row, n, least, width);
    for (size_t i = 0; i < n && !packs; i++)
        ar_bytes_varint(out, row[i].value - least);
}

void ar_packed_put(struct ar_bytes *out, const struct ar_value *row, size_t n_values)
{
    if (n_values == 1) { /* as put_block would; where there is one thread, so is every row */
        ar_bytes_varint(out, 0);
        ar_bytes_varint(out, row->value);
        return;
    }
    for (size_t i = 0; i < n_values; i += AR_PACKED_BLOCK)
        put_block(out, row + i, n_values - i < AR_PACKED_BLOCK ? n_values - i : AR_PACKED_BLOCK);
}
