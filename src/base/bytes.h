// SPDX-License-Identifier: BSD-3-Clause
/*
 * bytes: writing and reading byte sequences.
 *
 * The writer (ar_bytes) is a growing buffer; after a failed allocation it is `bad` and ignores what
 * follows, so that one check at the end is enough. The reader (ar_cursor) never leaves its bounds;
 * after a short or malformed read it is `bad`, returns zeros, and stays bad. Integers are
 * little-endian; "varint" is LEB128, seven bits a byte.
 *
 * Threads: one owner each. A zeroed ar_bytes is an empty buffer.
 *
 *     struct ar_bytes b = {0};
 *     ar_bytes_varint(&b, 300);
 *     struct ar_cursor c = ar_cursor_over(b.data, b.n);
 *     uint64_t v = ar_cursor_varint(&c);
 *     if (c.bad) ...
 *     ar_bytes_free(&b);
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ar_bytes {
    unsigned char *data;
    size_t n, cap;
    bool bad;
};

/* Room for so many bytes behind the others. The caller fills it and adds them to `n`; NULL: there is no memory. */
unsigned char *ar_bytes_reserve(struct ar_bytes *out, size_t n_bytes);
void ar_bytes_put(struct ar_bytes *out, const void *bytes, size_t n_bytes);
void ar_bytes_u8(struct ar_bytes *out, uint8_t value);
void ar_bytes_u16(struct ar_bytes *out, uint16_t value);
void ar_bytes_u32(struct ar_bytes *out, uint32_t value);
void ar_bytes_u64(struct ar_bytes *out, uint64_t value);
void ar_bytes_long_varint(struct ar_bytes *out, uint64_t value); /* any */
/* Varint length, then the bytes. */
void ar_bytes_string(struct ar_bytes *out, const char *text, size_t n_bytes);
void ar_bytes_text(struct ar_bytes *out, const char *text); /* the same of one that ends with 0 */
void ar_bytes_free(struct ar_bytes *out);

/* Most take one byte. */
static inline void ar_bytes_varint(struct ar_bytes *out, uint64_t value)
{
    if (value < 0x80 && !out->bad && out->n < out->cap)
        out->data[out->n++] = (unsigned char)value;
    else
        ar_bytes_long_varint(out, value);
}

struct ar_cursor {
    const unsigned char *at, *end;
    bool bad;
};

struct ar_cursor ar_cursor_over(const void *bytes, size_t n_bytes);
size_t ar_cursor_left(const struct ar_cursor *in);
const void *ar_cursor_take(struct ar_cursor *in, size_t n_bytes); /* NULL when short */
uint8_t ar_cursor_u8(struct ar_cursor *in);
uint16_t ar_cursor_u16(struct ar_cursor *in);
uint32_t ar_cursor_u32(struct ar_cursor *in);
uint64_t ar_cursor_u64(struct ar_cursor *in);
uint64_t ar_cursor_long_varint(struct ar_cursor *in); /* any, byte by byte */
uint32_t ar_cursor_varint32(struct ar_cursor *in);    /* bad when it does not fit */
/*
 * A count of items that take at least `item_bytes` each: bad when they could not fit into what is
 * left.
 */
uint32_t ar_cursor_count(struct ar_cursor *in, size_t item_bytes);
/* A number of bytes that follow, which was read in any way: bad, and 0, when fewer are left. */
size_t ar_cursor_length(struct ar_cursor *in, uint64_t n_bytes);
const char *ar_cursor_string(struct ar_cursor *in, size_t *n_bytes);

/*
 * Length of the UTF-8 character at `text`, 0 if it is none: no overlong forms, surrogates, or
 * beyond U+10FFFF.
 */
size_t ar_utf8_length(const void *text, size_t n_left);

uint32_t ar_crc32(const void *bytes, size_t n_bytes);

/* Files are made of these by the hundred million, and most are short. */
static inline uint64_t ar_cursor_varint(struct ar_cursor *in)
{
    const unsigned char *at = in->at;
    uint64_t value;

    if (in->bad || in->end - at < 4)
        return ar_cursor_long_varint(in);
    value = at[0];
    if (at[0] < 0x80) {
        in->at = at + 1;
        return value;
    }
    value += ((uint64_t)at[1] << 7) - 0x80;
    if (at[1] < 0x80) {
        in->at = at + 2;
        return value;
    }
    value += ((uint64_t)at[2] << 14) - ((uint64_t)0x80 << 7);
    if (at[2] < 0x80) {
        in->at = at + 3;
        return value;
    }
    return ar_cursor_long_varint(in);
}
