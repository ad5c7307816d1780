// SPDX-License-Identifier: BSD-3-Clause
#include "export/pickle.h"

#include "export/utf8.h"

#include <string.h>

/* Named as in Python's pickletools. */
enum opcode {
    PROTO = 0x80,
    STOP = '.',
    MARK = '(',
    BINUNICODE = 'X',
    BININT1 = 'K',
    BININT2 = 'M',
    BININT = 'J',
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    TUPLE3 = 0x87,
    EMPTY_TUPLE = ')',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    GLOBAL = 'c',
    NEWOBJ = 0x81,
    BUILD = 'b',
};

void ar_pickle_begin(struct ar_bytes *out)
{
    ar_bytes_u8(out, PROTO);
    ar_bytes_u8(out, 2);
}

void ar_pickle_end(struct ar_bytes *out)
{
    ar_bytes_u8(out, STOP);
}

/* As few bytes as hold it in two's complement: the highest bit is the sign. */
static void put_long(struct ar_bytes *out, uint64_t value)
{
    unsigned n_bytes = 1;

    while (n_bytes < 9 && value >> (8 * n_bytes - 1))
        n_bytes++;
    ar_bytes_u8(out, LONG1);
    ar_bytes_u8(out, (uint8_t)n_bytes);
    for (unsigned i = 0; i < n_bytes; i++)
        ar_bytes_u8(out, i < 8 ? (uint8_t)(value >> (8 * i)) : 0);
}

void ar_pickle_int(struct ar_bytes *out, uint64_t value)
{
    if (value <= UINT8_MAX) {
        ar_bytes_u8(out, BININT1);
        ar_bytes_u8(out, (uint8_t)value);
    } else if (value <= UINT16_MAX) {
        ar_bytes_u8(out, BININT2);
        ar_bytes_u16(out, (uint16_t)value);
    } else if (value <= INT32_MAX) {
        ar_bytes_u8(out, BININT);
        ar_bytes_u32(out, (uint32_t)value);
    } else {
        put_long(out, value);
    }
}

/* The only value whose highest byte comes first. */
void ar_pickle_float(struct ar_bytes *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    ar_bytes_u8(out, BINFLOAT);
    for (int shift = 56; shift >= 0; shift -= 8)
        ar_bytes_u8(out, (uint8_t)(bits >> shift));
}

void ar_pickle_text(struct ar_bytes *out, struct ar_str text)
{
    ar_bytes_u8(out, BINUNICODE);

    size_t length_at = ar_utf8_length_begin(out);

    ar_utf8_put(out, text, false);
    ar_utf8_length_end(out, length_at);
}

void ar_pickle_triple(struct ar_bytes *out)
{
    ar_bytes_u8(out, TUPLE3);
}

void ar_pickle_list(struct ar_bytes *out)
{
    ar_bytes_u8(out, EMPTY_LIST);
    ar_bytes_u8(out, MARK);
}

void ar_pickle_list_end(struct ar_bytes *out)
{
    ar_bytes_u8(out, APPENDS);
}

void ar_pickle_dict(struct ar_bytes *out)
{
    ar_bytes_u8(out, EMPTY_DICT);
    ar_bytes_u8(out, MARK);
}

void ar_pickle_dict_end(struct ar_bytes *out)
{
    ar_bytes_u8(out, SETITEMS);
}

static void put_line(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
    ar_bytes_u8(out, '\n');
}

void ar_pickle_object(struct ar_bytes *out, const char *module, const char *name)
{
    ar_bytes_u8(out, GLOBAL);
    put_line(out, module);
    put_line(out, name);
    ar_bytes_u8(out, EMPTY_TUPLE);
    ar_bytes_u8(out, NEWOBJ);
}

void ar_pickle_object_end(struct ar_bytes *out)
{
    ar_bytes_u8(out, BUILD);
}
