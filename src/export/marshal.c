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

/*
 * Each byte that is not UTF-8 becomes U+FFFD. Python would load surrogates, but then fail to print
 * them.
 */
static void put_utf8(struct ar_bytes *out, struct ar_str s)
{
    const unsigned char *at = (const unsigned char *)s.text;

    for (size_t n_left = s.n_bytes; n_left;) {
        size_t n = ar_utf8_length(at, n_left);

        if (n)
            ar_bytes_put(out, at, n);
        else
            ar_bytes_put(out, "\xef\xbf\xbd", 3);
        n = n ? n : 1;
        at += n;
        n_left -= n;
    }
}

void ar_marshal_text(struct ar_bytes *out, const char *before, struct ar_str s, const char *after)
{
    ar_bytes_u8(out, 'u');

    size_t length_at = out->n;

    ar_bytes_u32(out, 0);
    ar_bytes_put(out, before, strlen(before));
    put_utf8(out, s);
    ar_bytes_put(out, after, strlen(after));
    if (out->bad)
        return;

    size_t n_bytes = out->n - length_at - 4;

    for (size_t i = 0; i < 4; i++)
        out->data[length_at + i] = (unsigned char)(n_bytes >> (8 * i));
}
