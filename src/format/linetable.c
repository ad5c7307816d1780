// SPDX-License-Identifier: BSD-3-Clause
/*
 * The three formats that interpreters have used. All are lists of deltas that start at offset 0 and
 * at the function's first line; they differ in what an entry says.
 *
 * LNOTAB (3.9): pairs of bytes, unsigned offset delta and signed line delta. A pair says where the
 * *next* line starts: go on by the offset first, then by the line. What does not fit into a byte is
 * spread over several pairs, (255, 0) for offsets and (0, 127) or (0, -128) for lines, so a line
 * holds only once all pairs of its offset are added. The table does not say where the code ends:
 * its last line has no end.
 *
 * PEP626 (3.10): pairs of bytes, unsigned length in bytes and signed line delta. A pair describes a
 * range: go on by the line first, then the range has that line. Large deltas are spread over pairs
 * of length 0, which are the range of no line. Delta -128 means that the range has no line; the line to
 * count on from stays what it was.
 *
 * PEP657 (3.11 and later): entries of one byte or more that describe a range and its columns.
 *
 *      first byte      1 f f f f n n n     ffff: form, nnn: length in units of two bytes, minus one
 *      other bytes     0 . . . . . . .
 *
 *      form  0 to 9    same line, one byte of columns
 *           10 to 12   0 to 2 lines on, two bytes of columns
 *              13      line delta as a signed varint, no columns
 *              14      line delta as a signed varint, three varints of end line and columns
 *              15      no location; the line to count on from stays what it was
 *
 * Only the first byte of an entry has its top bit set. So columns, which we do not want, need not
 * be decoded: the next entry starts at the next top bit.
 *
 * Lines are counted modulo 2^32, in which subtracting is adding and nothing overflows, however
 * wrong the bytes are. Interpreters count them in an int, so that what ends up above INT32_MAX was
 * a negative line. Offsets are counted in 64 bits: no table that fits into memory wraps them
 * around.
 */
#include "format/linetable.h"

#define PEP626_NO_LINE 0x80 /* the byte for -128 */

#define PEP657_ENTRY_START 0x80
#define PEP657_UNIT_BYTES 2
enum pep657_form { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

static uint32_t sign_extended(uint8_t byte)
{
    return byte < 0x80 ? byte : byte - 0x100u;
}

/* A pair says how far it is to the next line's code, and to that line. */
static bool next_in_lnotab(struct ar_linetable *t)
{
    if (t->ended)
        return false;
    t->line += t->pending_delta;
    while (ar_cursor_left(&t->in) >= 2) {
        uint8_t n_bytes = ar_cursor_u8(&t->in);
        uint32_t delta = sign_extended(ar_cursor_u8(&t->in));

        if (n_bytes) {
            t->end += n_bytes;
            t->pending_delta = delta;
            return true;
        }
        t->line += delta;
    }
    t->ended = true;
    t->end = UINT64_MAX; /* the table does not say where the code ends */
    return true;
}

static bool next_in_pep626(struct ar_linetable *t)
{
    if (ar_cursor_left(&t->in) < 2)
        return false;
    t->end += ar_cursor_u8(&t->in);

    uint8_t delta = ar_cursor_u8(&t->in);

    t->has_line = delta != PEP626_NO_LINE;
    if (t->has_line)
        t->line += sign_extended(delta);
    return true;
}

/* Six bits a byte, lowest first, bit 6 set when more follow; not the varint of base/bytes.h. */
static uint32_t take_varint(struct ar_cursor *in)
{
    uint32_t value = 0;

    for (unsigned shift = 0; shift < 32; shift += 6) {
        uint8_t byte = ar_cursor_u8(in);

        if (byte & PEP657_ENTRY_START)
            break;
        value |= (uint32_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40))
            return value;
    }
    in->bad = true;
    return 0;
}

/* The sign is the lowest bit, so that small numbers of either sign are short. */
static uint32_t take_signed_varint(struct ar_cursor *in)
{
    uint32_t value = take_varint(in);
    uint32_t magnitude = value >> 1;

    return value & 1 ? 0u - magnitude : magnitude;
}

static uint32_t take_line_delta(struct ar_cursor *in, unsigned form)
{
    if (form >= ONE_LINE_0 && form <= ONE_LINE_2)
        return form - ONE_LINE_0;
    if (form == NO_COLUMNS || form == LONG)
        return take_signed_varint(in);
    return 0;
}

static void skip_to_entry(struct ar_cursor *in)
{
    while (in->at < in->end && !(*in->at & PEP657_ENTRY_START))
        in->at++;
}

static bool next_in_pep657(struct ar_linetable *t)
{
    if (ar_cursor_left(&t->in) == 0)
        return false;

    uint8_t head = ar_cursor_u8(&t->in);
    unsigned form = head >> 3 & 0xf;
    uint64_t n_units = (head & 7u) + 1;

    t->end += n_units * PEP657_UNIT_BYTES;
    t->line += take_line_delta(&t->in, form);
    t->has_line = form != NO_LOCATION;
    if (t->in.bad || !(head & PEP657_ENTRY_START)) {
        t->in.at = t->in.end; /* damaged: nothing that follows can be trusted */
        return false;
    }
    skip_to_entry(&t->in);
    return true;
}

struct ar_linetable ar_linetable_over(enum ar_linetable_kind kind, const void *table,
                                      size_t n_bytes, uint32_t first_line)
{
    return (struct ar_linetable){
        .kind = kind,
        .in = ar_cursor_over(n_bytes ? table : "", n_bytes),
        .line = first_line,
        .has_line = true,
    };
}

static bool next_entry(struct ar_linetable *t)
{
    switch (t->kind) {
    case AR_LINETABLE_LNOTAB:
        return next_in_lnotab(t);
    case AR_LINETABLE_PEP626:
        return next_in_pep626(t);
    case AR_LINETABLE_PEP657:
        return next_in_pep657(t);
    case AR_LINETABLE_NONE:
        break;
    }
    return false;
}

bool ar_linetable_next(struct ar_linetable *t, struct ar_line_range *range)
{
    if (!next_entry(t))
        return false;
    range->end_offset = t->end < UINT32_MAX ? (uint32_t)t->end : UINT32_MAX;
    range->line = t->has_line && t->line <= INT32_MAX ? t->line : 0;
    return true;
}

uint32_t ar_linetable_line(enum ar_linetable_kind kind, const void *table, size_t n_bytes,
                           uint32_t first_line, uint32_t code_offset)
{
    struct ar_linetable t = ar_linetable_over(kind, table, n_bytes, first_line);
    struct ar_line_range range;

    while (ar_linetable_next(&t, &range))
        if (code_offset < t.end)
            return range.line;
    return 0;
}
