// SPDX-License-Identifier: BSD-3-Clause
#include "export/marshal.h"

#include <string.h>

void ar_marshal_int(struct ar_bytes *out, uint64_t value)
{
    uint32_t n_digits = 0;

    if (value <= INT32_MAX) {
        ar_bytes_u8(out, 'i');
        ar_bytes_u32(out, (uint32_t)value);
        return;
    }
    for (uint64_t rest = value; rest; rest >>= 15)
        n_digits++;
    ar_bytes_u8(out, 'l');
    ar_bytes_u32(out, n_digits);
    for (; value; value >>= 15)
        ar_bytes_u16(out, value & 0x7fff);
}

void ar_marshal_seconds(struct ar_bytes *out, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    uint64_t bits;

    memcpy(&bits, &seconds, sizeof bits);
    ar_bytes_u8(out, 'g');
    ar_bytes_u64(out, bits);
}

void ar_marshal_tuple(struct ar_bytes *out, uint32_t n_items)
{
    ar_bytes_u8(out, '(');
    ar_bytes_u32(out, n_items);
}

void ar_marshal_dict(struct ar_bytes *out)
{
    ar_bytes_u8(out, '{');
}

void ar_marshal_dict_end(struct ar_bytes *out)
{
    ar_bytes_u8(out, '0');
}

/* A surrogate by itself, which marshal has where UTF-8 has none. */
static bool is_surrogate(const unsigned char *at, size_t n_left)
{
    return n_left >= 3 && at[0] == 0xed && at[1] >= 0xa0 && at[1] <= 0xbf && (at[2] & 0xc0) == 0x80;
}

/* As os.fsdecode has a byte that is not UTF-8: U+DC80 to U+DCFF. */
static void put_surrogate(struct ar_bytes *out, unsigned byte)
{
    ar_bytes_u8(out, 0xed);
    ar_bytes_u8(out, (uint8_t)(0xb0 | byte >> 6));
    ar_bytes_u8(out, (uint8_t)(0x80 | (byte & 0x3f)));
}

/*
 * Each byte that is not UTF-8 becomes U+FFFD, or what Python would have: it loads surrogates, but
 * then fails to print them.
 */
static void put_utf8(struct ar_bytes *out, struct ar_str s, bool surrogates)
{
    const unsigned char *at = (const unsigned char *)s.text;

    for (size_t n_left = s.n_bytes; n_left;) {
        size_t n = ar_utf8_length(at, n_left);

        if (!n && surrogates && is_surrogate(at, n_left))
            n = 3;
        if (n)
            ar_bytes_put(out, at, n);
        else if (surrogates)
            put_surrogate(out, *at);
        else
            ar_bytes_put(out, "\xef\xbf\xbd", 3);
        n = n ? n : 1;
        at += n;
        n_left -= n;
    }
}

static void put_text(struct ar_bytes *out, const char *before, struct ar_str s, const char *after,
                     bool surrogates)
{
    ar_bytes_u8(out, 'u');

    size_t length_at = out->n;

    ar_bytes_u32(out, 0);
    ar_bytes_put(out, before, strlen(before));
    put_utf8(out, s, surrogates);
    ar_bytes_put(out, after, strlen(after));
    if (out->bad)
        return;

    size_t n_bytes = out->n - length_at - 4;

    for (size_t i = 0; i < 4; i++)
        out->data[length_at + i] = (unsigned char)(n_bytes >> (8 * i));
}

void ar_marshal_text(struct ar_bytes *out, const char *before, struct ar_str s, const char *after)
{
    put_text(out, before, s, after, false);
}

void ar_marshal_name(struct ar_bytes *out, const char *before, struct ar_str s, const char *after)
{
    put_text(out, before, s, after, true);
}
