// SPDX-License-Identifier: BSD-3-Clause
#include "export/marshal.h"

#include "export/utf8.h"

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

static void put_text(struct ar_bytes *out, const char *before, struct ar_str s, const char *after,
                     bool surrogates)
{
    ar_bytes_u8(out, 'u');

    size_t length_at = ar_utf8_length_begin(out);

    ar_bytes_put(out, before, strlen(before));
    ar_utf8_put(out, s, surrogates);
    ar_bytes_put(out, after, strlen(after));
    ar_utf8_length_end(out, length_at);
}

void ar_marshal_text(struct ar_bytes *out, const char *before, struct ar_str s, const char *after)
{
    put_text(out, before, s, after, false);
}

void ar_marshal_name(struct ar_bytes *out, const char *before, struct ar_str s, const char *after)
{
    put_text(out, before, s, after, true);
}
