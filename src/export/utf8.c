// SPDX-License-Identifier: BSD-3-Clause
#include "export/utf8.h"

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

void ar_utf8_put(struct ar_bytes *out, struct ar_str s, bool surrogates)
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

size_t ar_utf8_length_begin(struct ar_bytes *out)
{
    size_t length_at = out->n;

    ar_bytes_u32(out, 0);
    return length_at;
}

void ar_utf8_length_end(struct ar_bytes *out, size_t length_at)
{
    if (out->bad)
        return;

    size_t n_bytes = out->n - length_at - 4;

    for (size_t i = 0; i < 4; i++)
        out->data[length_at + i] = (unsigned char)(n_bytes >> (8 * i));
}
