// SPDX-License-Identifier: BSD-3-Clause
/*
 * linetable: the source line of an instruction, from the table that the interpreter keeps with the
 * code.
 *
 * The runtime stores the table as it finds it, which costs a copy; lines are worked out here, after
 * the run, for the offsets that turn up in the profile. One call walks the table from its start,
 * since entries are deltas.
 *
 * Offsets are in bytes from the start of the code, as `dis` prints them, for every kind.
 *
 * Threads, signals: no state, no allocation, callable anywhere.
 *
 * Invariants, for any bytes:
 *   1. Nothing outside of the `n_bytes` is read; NULL will do for a table of none.
 *   2. The time is linear in `n_bytes`.
 *   3. The answer is 0 (no line known) or a line the interpreter could have meant, at most
 *      INT32_MAX. It is 0 for code that has no line of its own, such as the clean-up of a `with`;
 *      beyond the last entry of a table that gives ranges (all but LNOTAB); for AR_LINETABLE_NONE
 *      and unknown kinds; and from where a table is damaged.
 *
 *     line = ar_linetable_line(AR_LINETABLE_PEP657, table, n_bytes, first_line, code_offset);
 *     if (!line)
 *         line = first_line;
 */
#pragma once

#include "base/bytes.h"
#include "format/livefile.h"

#include <stddef.h>
#include <stdint.h>

uint32_t ar_linetable_line(enum ar_linetable_kind kind, const void *table, size_t n_bytes,
                           uint32_t first_line, uint32_t code_offset);

/*
 * The same for many offsets: all ranges in the order of the code, each from the end of the one
 * before it. There are at most as many as bytes, and one more.
 */
struct ar_line_range {
    uint32_t end_offset;
    uint32_t line; /* 0: none */
};

struct ar_linetable {
    enum ar_linetable_kind kind;
    struct ar_cursor in;
    uint64_t end;
    uint32_t line, pending_delta;
    bool has_line, ended;
};

struct ar_linetable ar_linetable_over(enum ar_linetable_kind kind, const void *table,
                                      size_t n_bytes, uint32_t first_line);
bool ar_linetable_next(struct ar_linetable *t, struct ar_line_range *range); /* false: no more */
