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
 * of length 0, which are nobody's range. Delta -128 means that the range has no line; the line to
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

#include "base/bytes.h"

#include <stdbool.h>

#define PEP626_NO_LINE 0x80 /* the byte for -128 */

#define PEP657_ENTRY_START 0x80
#define PEP657_UNIT_BYTES 2
enum pep657_form { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

static uint32_t sign_extended(uint8_t byte)
{
    return byte < 0x80 ? byte : byte - 0x100u;
}

static uint32_t line_in_lnotab(struct ar_cursor in, uint32_t line, uint32_t code_offset)
{
    uint64_t start = 0;

    while (ar_cursor_left(&in) >= 2) {
        start += ar_cursor_u8(&in);
        if (start > code_offset)
            break;
        line += sign_extended(ar_cursor_u8(&in));
    }
    return line;
}

static uint32_t line_in_pep626(struct ar_cursor in, uint32_t line, uint32_t code_offset)
{
    uint64_t end = 0;

    while (ar_cursor_left(&in) >= 2) {
        end += ar_cursor_u8(&in);

        uint8_t delta = ar_cursor_u8(&in);
        bool has_line = delta != PEP626_NO_LINE;

        if (has_line)
            line += sign_extended(delta);
        if (code_offset < end)
            return has_line ? line : 0;
    }
    return 0;
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

static uint32_t line_in_pep657(struct ar_cursor in, uint32_t line, uint32_t code_offset)
{
    uint64_t end = 0;

    while (ar_cursor_left(&in) > 0) {
        uint8_t head = ar_cursor_u8(&in);
        unsigned form = head >> 3 & 0xf;
        uint64_t n_units = (head & 7u) + 1;

        end += n_units * PEP657_UNIT_BYTES;
        line += take_line_delta(&in, form);
        if (in.bad || !(head & PEP657_ENTRY_START))
            return 0;
        if (code_offset < end)
            return form == NO_LOCATION ? 0 : line;
        skip_to_entry(&in);
    }
    return 0;
}

static uint32_t line_in_table(enum ar_linetable_kind kind, struct ar_cursor in, uint32_t first_line,
                              uint32_t code_offset)
{
    switch (kind) {
    case AR_LINETABLE_LNOTAB:
        return line_in_lnotab(in, first_line, code_offset);
    case AR_LINETABLE_PEP626:
        return line_in_pep626(in, first_line, code_offset);
    case AR_LINETABLE_PEP657:
        return line_in_pep657(in, first_line, code_offset);
    case AR_LINETABLE_NONE:
        break;
    }
    return 0;
}

uint32_t ar_linetable_line(enum ar_linetable_kind kind, const void *table, size_t n_bytes,
                           uint32_t first_line, uint32_t code_offset)
{
    struct ar_cursor in = ar_cursor_over(n_bytes ? table : "", n_bytes);
    uint32_t line = line_in_table(kind, in, first_line, code_offset);

    return line <= INT32_MAX ? line : 0;
}
