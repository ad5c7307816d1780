// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tables of real interpreters, whose lines those interpreters gave themselves (co_lines, or dis.findlinestarts in
 * 3.9), then bytes that no interpreter would write. Tables under test are copied to the end of a block of memory,
 * so that the address sanitizer sees a read of one byte too many.
 */
#include "format/linetable.h"

#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE 10
#define N_ITEMS(array) (sizeof(array) / sizeof *(array))

/* From the end of the range before it up to `end_offset`, code is on `line`; 0: it has none. */
struct range {
    uint32_t end_offset, line;
};

struct table {
    const char *name;
    enum ar_linetable_kind kind;
    uint32_t first_line;
    const unsigned char *bytes;
    size_t n_bytes;
    const struct range *ranges;
    size_t n_ranges;
};

/*
 * The number after a name is the interpreter's: `calls_39` is `calls` as compiled by 3.9. Each `def` was on line 10.
 *
 *     def calls(f, a):                def cleanup(f):
 *         total = f(a,                    try:
 *                   f(a),                     with f() as g:
 *                   key=[x for x in               g()
 *                        a])              except ValueError as e:
 *         for x in a:                         return e
 *             total += x                  finally:
 *         return total                        f()
 *
 *     def gaps(f, a):                 def gen():
 *         a = f(a,                        yield
 *         # ... 300 blank lines
 *               f(a))                 def wide(a):
 *         # ... 200 blank lines           a = a+a+a+ ... +a  # 140 times
 *         return a                        return a
 *
 * `module` is `a = 1` on line 1 of a file; its RESUME is on line 0, one before the first. `bare` was compiled with
 * -X no_debug_ranges, which leaves the columns out.
 */
/* clang-format off */
static const unsigned char calls_39[] = {
    0x00, 0x01, 0x04, 0x01, 0x06, 0x01, 0x06, 0x01, 0x02, 0xff, 0x04, 0xfe, 0x06, 0x04, 0x08, 0x01,
    0x0a, 0x01,
};
static const struct range calls_39_lines[] = {
    {4, 11}, {10, 12}, {16, 13}, {18, 14}, {22, 13}, {28, 11}, {36, 15}, {46, 16}, {50, 17},
};

static const unsigned char cleanup_39[] = {
    0x00, 0x01, 0x04, 0x01, 0x08, 0x01, 0x28, 0x01, 0x0e, 0x01, 0x10, 0x02, 0x06, 0xfe, 0x0e, 0x02,
};
static const struct range cleanup_39_lines[] = {
    {4, 11}, {12, 12}, {52, 13}, {66, 14}, {82, 15}, {88, 17}, {102, 15}, {122, 17},
};

static const unsigned char gaps_39[] = {
    0x00, 0x01, 0x04, 0x7f, 0x00, 0x7f, 0x00, 0x2f, 0x06, 0x80, 0x00, 0x80, 0x00, 0xd3, 0x04, 0x7f,
    0x00, 0x7f, 0x00, 0x7f, 0x00, 0x79,
};
static const struct range gaps_39_lines[] = {
    {4, 11}, {10, 312}, {14, 11}, {18, 513},
};

static const unsigned char wide_39[] = {
    0x00, 0x01, 0xff, 0x00, 0xff, 0x00, 0x32, 0x01,
};
static const struct range wide_39_lines[] = {
    {560, 11}, {564, 12},
};

static const unsigned char calls_310[] = {
    0x04, 0x01, 0x06, 0x01, 0x06, 0x01, 0x02, 0x01, 0x04, 0xff, 0x06, 0xfe, 0x08, 0x04, 0x0a, 0x01,
    0x04, 0x01,
};
static const struct range calls_310_lines[] = {
    {4, 11}, {10, 12}, {16, 13}, {18, 14}, {22, 13}, {28, 11}, {36, 15}, {46, 16}, {50, 17},
};

static const unsigned char cleanup_310[] = {
    0x04, 0x01, 0x08, 0x01, 0x08, 0x01, 0x1c, 0xff, 0x04, 0x80, 0x0e, 0x02, 0x10, 0x01, 0x08, 0x02,
    0x08, 0x80, 0x02, 0xfd, 0x02, 0x80, 0x12, 0x03,
};
static const struct range cleanup_310_lines[] = {
    {4, 11}, {12, 12}, {20, 13}, {48, 12}, {52, 0}, {66, 14}, {82, 15}, {90, 17}, {98, 0},
    {100, 14}, {102, 0}, {120, 17},
};

static const unsigned char gaps_310[] = {
    0x04, 0x01, 0x00, 0x7f, 0x00, 0x7f, 0x06, 0x2f, 0x00, 0x81, 0x00, 0x81, 0x04, 0xd1, 0x00, 0x7f,
    0x00, 0x7f, 0x00, 0x7f, 0x04, 0x79,
};
static const struct range gaps_310_lines[] = {
    {4, 11}, {10, 312}, {14, 11}, {18, 513},
};

static const unsigned char wide_310[] = {
    0xfe, 0x01, 0xfe, 0x00, 0x34, 0x00, 0x04, 0x01,
};
static const struct range wide_310_lines[] = {
    {560, 11}, {564, 12},
};

static const unsigned char calls_311[] = {
    0x80, 0x00, 0xd8, 0x0c, 0x0d, 0x88, 0x41, 0x88, 0x61, 0xd8, 0x0e, 0x0f, 0x88, 0x61, 0x90, 0x01,
    0x89, 0x64, 0x8c, 0x64, 0xf0, 0x02, 0x01, 0x13, 0x16, 0xf0, 0x00, 0x01, 0x13, 0x16, 0xd8, 0x13,
    0x14, 0xf0, 0x03, 0x01, 0x13, 0x16, 0xf1, 0x00, 0x01, 0x13, 0x16, 0xf4, 0x00, 0x01, 0x13, 0x16,
    0xf0, 0x05, 0x03, 0x0d, 0x17, 0xf1, 0x00, 0x03, 0x0d, 0x17, 0xf4, 0x00, 0x03, 0x0d, 0x17, 0x80,
    0x45, 0xf0, 0x08, 0x00, 0x0e, 0x0f, 0xf0, 0x00, 0x01, 0x05, 0x13, 0xf0, 0x00, 0x01, 0x05, 0x13,
    0x88, 0x01, 0xd8, 0x08, 0x0d, 0x90, 0x11, 0x89, 0x0a, 0x88, 0x05, 0x88, 0x05, 0xd8, 0x0b, 0x10,
    0x80, 0x4c,
};
static const struct range calls_311_lines[] = {
    {2, 10}, {8, 11}, {28, 12}, {32, 13}, {34, 14}, {50, 13}, {68, 11}, {76, 15}, {88, 16},
    {92, 17},
};

static const unsigned char cleanup_311[] = {
    0x80, 0x00, 0xf0, 0x02, 0x06, 0x05, 0x0c, 0xd8, 0x0d, 0x0e, 0x88, 0x51, 0x89, 0x53, 0x8c, 0x53,
    0xf0, 0x00, 0x01, 0x09, 0x10, 0x90, 0x41, 0xd8, 0x0c, 0x0d, 0x88, 0x41, 0x89, 0x43, 0x8c, 0x43,
    0x88, 0x43, 0xf0, 0x03, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09,
    0x10, 0xf1, 0x00, 0x01, 0x09, 0x10, 0xf4, 0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10,
    0xf0, 0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xf0,
    0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xf8, 0xf8, 0xf8, 0xf0, 0x00, 0x01, 0x09,
    0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10,
    0xf8, 0xf8, 0xe5, 0x0b, 0x15, 0xf0, 0x00, 0x01, 0x05, 0x11, 0xf0, 0x00, 0x01, 0x05, 0x11, 0xf0,
    0x00, 0x01, 0x05, 0x11, 0xd8, 0x0f, 0x10, 0x88, 0x08, 0x88, 0x08, 0x88, 0x08, 0x88, 0x08, 0x88,
    0x08, 0xe0, 0x08, 0x09, 0x88, 0x01, 0x89, 0x03, 0x8c, 0x03, 0x88, 0x03, 0x88, 0x03, 0xf8, 0xf8,
    0xf8, 0xf8, 0xf0, 0x07, 0x01, 0x05, 0x11, 0xf8, 0xf8, 0xf8, 0xf0, 0x06, 0x00, 0x09, 0x0a, 0x88,
    0x01, 0x89, 0x03, 0x8c, 0x03, 0x88, 0x03, 0x88, 0x03, 0x88, 0x03, 0xf8, 0x88, 0x01, 0x88, 0x01,
    0x89, 0x03, 0x8c, 0x03, 0x88, 0x03, 0x88, 0x03, 0xf8, 0xf8, 0xf8,
};
static const struct range cleanup_311_lines[] = {
    {2, 10}, {4, 11}, {26, 12}, {46, 13}, {78, 12}, {84, 0}, {92, 12}, {96, 0}, {114, 14},
    {126, 15}, {148, 17}, {156, 0}, {158, 14}, {164, 0}, {188, 17}, {190, 0}, {212, 17}, {218, 0},
};

static const unsigned char gaps_311[] = {
    0x80, 0x00, 0xd8, 0x08, 0x09, 0x88, 0x01, 0x88, 0x21, 0xf0, 0x5a, 0x09, 0x00, 0x0b, 0x0c, 0x88,
    0x21, 0x88, 0x41, 0x89, 0x24, 0x8c, 0x24, 0xf1, 0x5b, 0x09, 0x6d, 0x04, 0x09, 0x10, 0xf4, 0x00,
    0x6d, 0x04, 0x09, 0x10, 0x80, 0x41, 0xf0, 0x6c, 0x0f, 0x00, 0x0c, 0x0d, 0x80, 0x48,
};
static const struct range gaps_311_lines[] = {
    {2, 10}, {8, 11}, {28, 312}, {44, 11}, {48, 513},
};

static const unsigned char module_311[] = {
    0xf0, 0x03, 0x01, 0x01, 0x01, 0xd8, 0x04, 0x05, 0x80, 0x01, 0x80, 0x01, 0x80, 0x01,
};
static const struct range module_311_lines[] = {
    {2, 0}, {10, 1},
};

static const unsigned char calls_312[] = {
    0x80, 0x00, 0xd9, 0x0c, 0x0d, 0x88, 0x61, 0xd9, 0x0e, 0x0f, 0x90, 0x01, 0x8b, 0x64, 0xe0, 0x13,
    0x14, 0xf6, 0x03, 0x01, 0x13, 0x16, 0x98, 0x11, 0x92, 0x31, 0xf2, 0x00, 0x01, 0x13, 0x16, 0xf4,
    0x05, 0x03, 0x0d, 0x17, 0x80, 0x45, 0xf0, 0x08, 0x00, 0x0e, 0x0f, 0xf2, 0x00, 0x01, 0x05, 0x13,
    0x88, 0x01, 0xd8, 0x08, 0x0d, 0x90, 0x11, 0x89, 0x0a, 0x89, 0x05, 0xf0, 0x03, 0x01, 0x05, 0x13,
    0xe0, 0x0b, 0x10, 0x80, 0x4c, 0xf9, 0xf2, 0x09, 0x01, 0x13, 0x16,
};
static const struct range calls_312_lines[] = {
    {2, 10}, {8, 11}, {22, 12}, {24, 14}, {52, 13}, {64, 11}, {74, 15}, {86, 16}, {88, 15},
    {92, 17}, {96, 0}, {102, 13},
};

static const unsigned char cleanup_312[] = {
    0x80, 0x00, 0xf0, 0x02, 0x06, 0x05, 0x0c, 0xd9, 0x0d, 0x0e, 0x8b, 0x53, 0xf0, 0x00, 0x01, 0x09,
    0x10, 0x90, 0x41, 0xd9, 0x0c, 0x0d, 0x8c, 0x43, 0xf7, 0x03, 0x01, 0x09, 0x10, 0xf1, 0x0a, 0x00,
    0x09, 0x0a, 0x8d, 0x03, 0xf7, 0x0b, 0x01, 0x09, 0x10, 0xf0, 0x00, 0x01, 0x09, 0x10, 0xfb, 0xe4,
    0x0b, 0x15, 0xf2, 0x00, 0x01, 0x05, 0x11, 0xd8, 0x0f, 0x10, 0x8c, 0x08, 0xe1, 0x08, 0x09, 0x8d,
    0x03, 0xfb, 0xf0, 0x07, 0x01, 0x05, 0x11, 0xfb, 0xf1, 0x06, 0x00, 0x09, 0x0a, 0x8d, 0x03, 0xfa,
};
static const struct range cleanup_312_lines[] = {
    {2, 10}, {4, 11}, {20, 12}, {34, 13}, {50, 12}, {66, 17}, {84, 12}, {92, 0}, {108, 14},
    {120, 15}, {136, 17}, {144, 0}, {146, 14}, {154, 0}, {170, 17}, {176, 0},
};

static const unsigned char gaps_312[] = {
    0x80, 0x00, 0xd9, 0x08, 0x09, 0x88, 0x21, 0xf1, 0x5a, 0x09, 0x00, 0x0b, 0x0c, 0x88, 0x41, 0x8b,
    0x24, 0xf3, 0x5b, 0x09, 0x6d, 0x04, 0x09, 0x10, 0x80, 0x41, 0xf0, 0x6c, 0x0f, 0x00, 0x0c, 0x0d,
    0x80, 0x48,
};
static const struct range gaps_312_lines[] = {
    {2, 10}, {8, 11}, {22, 312}, {32, 11}, {36, 513},
};

static const unsigned char calls_312_bare[] = {
    0xe8, 0x00, 0xe9, 0x02, 0xe8, 0x00, 0xe9, 0x02, 0xe8, 0x00, 0xeb, 0x00, 0xe8, 0x04, 0xee, 0x03,
    0xe8, 0x00, 0xea, 0x00, 0xea, 0x00, 0xec, 0x05, 0xe8, 0x00, 0xe8, 0x08, 0xea, 0x00, 0xe8, 0x00,
    0xe8, 0x02, 0xe8, 0x00, 0xe9, 0x00, 0xe9, 0x00, 0xe8, 0x03, 0xe8, 0x04, 0xe8, 0x00, 0xf9, 0xea,
    0x09,
};
static const struct range calls_312_bare_lines[] = {
    {2, 10}, {8, 11}, {22, 12}, {24, 14}, {52, 13}, {64, 11}, {74, 15}, {86, 16}, {88, 15},
    {92, 17}, {96, 0}, {102, 13},
};

static const unsigned char calls_313[] = {
    0x80, 0x00, 0xd9, 0x0c, 0x0d, 0x88, 0x61, 0xd9, 0x0e, 0x0f, 0x90, 0x01, 0x8b, 0x64, 0xe1, 0x13,
    0x14, 0xf3, 0x03, 0x01, 0x13, 0x16, 0xd9, 0x13, 0x14, 0xf0, 0x03, 0x00, 0x1a, 0x1b, 0x92, 0x31,
    0xd9, 0x13, 0x14, 0xf1, 0x03, 0x01, 0x13, 0x16, 0xf1, 0x05, 0x03, 0x0d, 0x17, 0x80, 0x45, 0xf3,
    0x08, 0x00, 0x0e, 0x0f, 0x88, 0x01, 0xd8, 0x08, 0x0d, 0x89, 0x0a, 0x8a, 0x05, 0xf1, 0x03, 0x00,
    0x0e, 0x0f, 0xe0, 0x0b, 0x10, 0x80, 0x4c, 0xf9, 0xf2, 0x09, 0x01, 0x13, 0x16,
};
static const struct range calls_313_lines[] = {
    {2, 10}, {8, 11}, {22, 12}, {26, 14}, {34, 13}, {38, 14}, {46, 13}, {50, 14}, {54, 13},
    {60, 11}, {70, 15}, {82, 16}, {86, 15}, {90, 17}, {94, 0}, {100, 13},
};

static const unsigned char cleanup_313[] = {
    0x80, 0x00, 0xf0, 0x02, 0x06, 0x05, 0x0c, 0xd9, 0x0d, 0x0e, 0x8c, 0x53, 0x90, 0x41, 0xd9, 0x0c,
    0x0d, 0x8c, 0x43, 0xf7, 0x03, 0x00, 0x0e, 0x11, 0xf1, 0x0a, 0x00, 0x09, 0x0a, 0x8d, 0x03, 0xf7,
    0x0b, 0x00, 0x0e, 0x11, 0x8d, 0x53, 0xfb, 0xe4, 0x0b, 0x15, 0xf3, 0x00, 0x01, 0x05, 0x11, 0xd8,
    0x0f, 0x10, 0x8c, 0x08, 0xe1, 0x08, 0x09, 0x8d, 0x03, 0xfb, 0xf0, 0x07, 0x01, 0x05, 0x11, 0xfb,
    0xf1, 0x06, 0x00, 0x09, 0x0a, 0x8d, 0x03, 0xfa,
};
static const struct range cleanup_313_lines[] = {
    {2, 10}, {4, 11}, {20, 12}, {34, 13}, {50, 12}, {66, 17}, {94, 12}, {102, 0}, {120, 14},
    {132, 15}, {148, 17}, {156, 0}, {158, 14}, {166, 0}, {182, 17}, {188, 0},
};

static const unsigned char gaps_313[] = {
    0x80, 0x00, 0xd9, 0x08, 0x09, 0x88, 0x21, 0xf1, 0x5a, 0x09, 0x00, 0x0b, 0x0c, 0x88, 0x41, 0x8b,
    0x24, 0xf3, 0x5b, 0x09, 0x6d, 0x04, 0x09, 0x10, 0x80, 0x41, 0xf0, 0x6c, 0x0f, 0x00, 0x0c, 0x0d,
    0x80, 0x48,
};
static const struct range gaps_313_lines[] = {
    {2, 10}, {8, 11}, {22, 312}, {32, 11}, {36, 513},
};

static const unsigned char gen_313[] = {
    0xe9, 0x00, 0x80, 0x00, 0xdc, 0x04, 0x09, 0xf9,
};
static const struct range gen_313_lines[] = {
    {6, 10}, {16, 11}, {20, 0},
};

#define TABLE(kind, first_line, id)                                                                \
    {#id, (kind), (first_line), (id), sizeof(id), id##_lines, N_ITEMS(id##_lines)}
#define LNOTAB(id) TABLE(AR_LINETABLE_LNOTAB, FIRST_LINE, id)
#define PEP626(id) TABLE(AR_LINETABLE_PEP626, FIRST_LINE, id)
#define PEP657(id) TABLE(AR_LINETABLE_PEP657, FIRST_LINE, id)

static const struct table tables[] = {
    LNOTAB(calls_39), LNOTAB(cleanup_39), LNOTAB(gaps_39), LNOTAB(wide_39),
    PEP626(calls_310), PEP626(cleanup_310), PEP626(gaps_310), PEP626(wide_310),
    PEP657(calls_311), PEP657(cleanup_311), PEP657(gaps_311),
    PEP657(calls_312), PEP657(cleanup_312), PEP657(gaps_312), PEP657(calls_312_bare),
    PEP657(calls_313), PEP657(cleanup_313), PEP657(gaps_313), PEP657(gen_313),
    TABLE(AR_LINETABLE_PEP657, 1, module_311),
};
/* clang-format on */

static const enum ar_linetable_kind kinds[] = {AR_LINETABLE_NONE, AR_LINETABLE_LNOTAB,
                                               AR_LINETABLE_PEP626, AR_LINETABLE_PEP657,
                                               (enum ar_linetable_kind)200};

static uint32_t line_of_copy(enum ar_linetable_kind kind, const void *bytes, size_t n_bytes,
                             uint32_t first_line, uint32_t code_offset)
{
    unsigned char *block = malloc(1 + n_bytes); /* never of size 0, which need not be an address */

    if (!block)
        abort();

    unsigned char *copy = block + 1;

    memcpy(copy, bytes, n_bytes);

    uint32_t line = ar_linetable_line(kind, copy, n_bytes, first_line, code_offset);

    free(block);
    return line;
}

static uint32_t code_bytes(const struct table *t)
{
    return t->ranges[t->n_ranges - 1].end_offset;
}

static uint32_t true_line(const struct table *t, uint32_t code_offset)
{
    size_t i = 0;

    while (code_offset >= t->ranges[i].end_offset)
        i++;
    return t->ranges[i].line;
}

/* Odd offsets too: a byte within an instruction is on the instruction's line. */
static void test_real_table(const struct table *t)
{
    uint32_t n_wrong = 0;

    for (uint32_t offset = 0; offset < code_bytes(t); offset++) {
        uint32_t line = line_of_copy(t->kind, t->bytes, t->n_bytes, t->first_line, offset);

        if (line != true_line(t, offset) && n_wrong++ == 0)
            tap_note("%s: offset %u: line %u, not %u", t->name, offset, true_line(t, offset), line);
    }
    tap_ok(n_wrong == 0, "%s: every offset is on its line", t->name);
}

static void test_end_of_code(const struct table *t)
{
    bool has_end = t->kind != AR_LINETABLE_LNOTAB;
    uint32_t last = has_end ? 0 : t->ranges[t->n_ranges - 1].line;
    uint32_t behind = code_bytes(t);

    tap_ok(line_of_copy(t->kind, t->bytes, t->n_bytes, t->first_line, behind) == last &&
               line_of_copy(t->kind, t->bytes, t->n_bytes, t->first_line, UINT32_MAX) == last,
           "%s: behind the code there is %s", t->name, has_end ? "no line" : "the last line");
}

/* With ranges, less table means fewer answers, never a wrong one. */
static bool answer_may_be(const struct table *t, uint32_t line, uint32_t code_offset)
{
    return t->kind == AR_LINETABLE_LNOTAB || line == 0 || line == true_line(t, code_offset);
}

static void test_truncated_table(const struct table *t)
{
    uint32_t n_wrong = 0;

    for (size_t n_bytes = 0; n_bytes < t->n_bytes; n_bytes++)
        for (uint32_t offset = 0; offset < code_bytes(t); offset += 2)
            if (!answer_may_be(t, line_of_copy(t->kind, t->bytes, n_bytes, t->first_line, offset),
                               offset))
                n_wrong++;
    tap_ok(n_wrong == 0, "%s: cut short anywhere, no line is made up", t->name);
}

static void test_empty(void)
{
    tap_ok(ar_linetable_line(AR_LINETABLE_LNOTAB, NULL, 0, 7, 4) == 7,
           "empty lnotab: all code is on the first line");
    tap_ok(ar_linetable_line(AR_LINETABLE_PEP626, NULL, 0, 7, 0) == 0, "empty PEP 626 table");
    tap_ok(ar_linetable_line(AR_LINETABLE_PEP657, NULL, 0, 7, 0) == 0, "empty PEP 657 table");
    tap_ok(ar_linetable_line(AR_LINETABLE_NONE, "\x00\x01", 2, 7, 0) == 0, "no table");
    tap_ok(ar_linetable_line((enum ar_linetable_kind)200, "\x00\x01", 2, 7, 0) == 0,
           "a kind that is not known");
}

static void test_all_ff(void)
{
    unsigned char ff[64];

    memset(ff, 0xff, sizeof ff);
    tap_ok(line_of_copy(AR_LINETABLE_LNOTAB, ff, sizeof ff, 100, 255 * 3) == 97,
           "lnotab of 0xff: a line back every 255 bytes");
    tap_ok(line_of_copy(AR_LINETABLE_LNOTAB, ff, sizeof ff, 1, 255 * 3) == 0,
           "lnotab of 0xff: a line before the first of the file is none");
    tap_ok(line_of_copy(AR_LINETABLE_PEP626, ff, sizeof ff, 100, 255 * 3) == 96,
           "PEP 626 table of 0xff: a line back every 255 bytes");
    tap_ok(line_of_copy(AR_LINETABLE_PEP657, ff, sizeof ff, 100, 5) == 0,
           "PEP 657 table of 0xff: no location anywhere");
}

#define LINE_OF(kind, literal, first_line, code_offset)                                            \
    line_of_copy(kind, literal, sizeof(literal) - 1, first_line, code_offset)

static void test_damaged_pep657(void)
{
    enum ar_linetable_kind kind = AR_LINETABLE_PEP657;

    tap_ok(LINE_OF(kind, "\xe8", 10, 0) == 0, "entry ends before its line delta");
    tap_ok(LINE_OF(kind, "\xe8\x42", 10, 0) == 0, "varint ends in the middle");
    tap_ok(LINE_OF(kind, "\xe8\x42\x80\x00", 10, 0) == 0, "varint runs into the next entry");
    tap_ok(LINE_OF(kind, "\xe8\x40\x40\x40\x40\x40\x40\x00", 10, 0) == 0, "varint too long");
    tap_ok(LINE_OF(kind, "\x00\x00\x80\x00", 10, 0) == 0, "first byte does not start an entry");
    tap_ok(LINE_OF(kind, "\x80\x00\xe8", 10, 0) == 10, "damage after the entry asked for");
    tap_ok(LINE_OF(kind, "\xe8\x7e\x7f\x7f\x7f\x7f\x03", 10, 0) == 0, "line beyond INT32_MAX");
    tap_ok(LINE_OF(kind, "\xe8\x7f\x7f\x7f\x7f\x7f\x03", 10, 0) == 0, "line far below zero");
    tap_ok(LINE_OF(kind, "\xe8\x7e\x7f\x7f\x7f\x7f\x03", 0, 0) == INT32_MAX, "the largest line");
}

/* An odd byte at the end is half a pair: as if it were not there. */
static void test_half_pairs(void)
{
    tap_ok(LINE_OF(AR_LINETABLE_LNOTAB, "\x02\x01\x02", 10, 8) == 11, "lnotab: half a pair");
    tap_ok(LINE_OF(AR_LINETABLE_PEP626, "\x02\x01\x02", 10, 2) == 0, "PEP 626: half a pair");
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* For each kind, at offsets near and far. Returns how many answers are beyond what a line can be. */
static uint32_t count_absurd(const unsigned char *bytes, size_t n_bytes, uint32_t first_line)
{
    static const uint32_t offsets[] = {0, 1, 2, 64, 255, 1000, INT32_MAX, UINT32_MAX};
    uint32_t n = 0;

    for (size_t k = 0; k < N_ITEMS(kinds); k++)
        for (size_t i = 0; i < N_ITEMS(offsets); i++)
            n += line_of_copy(kinds[k], bytes, n_bytes, first_line, offsets[i]) > INT32_MAX;
    return n;
}

static void test_random_bytes(void)
{
    static const uint32_t first_lines[] = {0, 1, 1000, INT32_MAX, UINT32_MAX};
    uint32_t state = 20240229, n_absurd = 0;
    unsigned char bytes[96];

    for (int round = 0; round < 5000; round++) {
        size_t n_bytes = next_random(&state) % (sizeof bytes + 1);
        uint32_t first_line = first_lines[next_random(&state) % N_ITEMS(first_lines)];

        for (size_t i = 0; i < n_bytes; i++)
            bytes[i] = (unsigned char)(next_random(&state) >> 8);
        n_absurd += count_absurd(bytes, n_bytes, first_line);
    }
    tap_ok(n_absurd == 0, "random bytes: every answer is a line or none");
}

int main(void)
{
    for (size_t i = 0; i < N_ITEMS(tables); i++) {
        test_real_table(&tables[i]);
        test_end_of_code(&tables[i]);
        test_truncated_table(&tables[i]);
    }
    test_empty();
    test_all_ff();
    test_damaged_pep657();
    test_half_pairs();
    test_random_bytes();
    return tap_done();
}
