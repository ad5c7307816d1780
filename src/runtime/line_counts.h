// SPDX-License-Identifier: BSD-3-Clause
/*
 * line_counts: hits and times of lines of a few code objects, without a recording.
 *
 * The counts are shared by all threads; each thread has a stack of the calls that it has open. What the time of a line is, is said in
 * lines.h: it lasts until the next line of the same call, and in recursion the outer line stands still.
 *
 *     struct ar_line_counts counts = {0};
 *     struct ar_line_stack stack = {.counts = &counts};
 *     if (ar_line_counts_add(&counts, code, 7, false) < 0) ...
 *     ar_line_stack_enter(&stack, code, now);
 *     ar_line_stack_come_to(&stack, code, 8, now);
 *     ar_line_stack_leave(&stack, code, now);
 *     counts.codes[0]->rows[8 - 7].hits …
 *     ar_line_stack_free(&stack);
 *     ar_line_counts_free(&counts);
 *
 * A line of a code object that has no open call opens one: the function was running when counting began. Other code objects are ignored.
 *
 * Threads: under the GIL. Allocation: failures lose a call or a line, nothing else.
 */
#pragma once

#include "base/idmap.h"

#include <stdbool.h>
#include <stddef.h>

#define AR_NO_LINE_ROW UINT32_MAX

struct ar_line_row {
    uint64_t hits, ticks;
};

struct ar_counted_code {
    const void *key;
    uint32_t index, first_line;
    struct ar_line_row *rows; /* by line, less the first */
    uint32_t n_rows;
};

struct ar_line_counts {
    struct ar_counted_code **codes;
    size_t n_codes, cap_codes;
    struct ar_idmap by_key; /* index plus 1 */
};

struct ar_line_call {
    struct ar_counted_code *code;
    uint32_t row;   /* AR_NO_LINE_ROW: of none yet */
    uint32_t outer; /* the call of the same code around it, plus 1; 0: none */
    uint64_t since_ticks;
};

struct ar_line_stack {
    struct ar_line_counts *counts;
    struct ar_line_call *calls;
    size_t n_calls, cap_calls;
    uint32_t *innermost; /* by index of the code: its innermost call, plus 1; 0: none */
    size_t n_innermost;
};

/* `key` is not NULL. One that is there already stays as it is. */
AR_MUST_CHECK enum ar_status ar_line_counts_add(struct ar_line_counts *counts, const void *key,
                                                uint32_t first_line);
void ar_line_counts_free(struct ar_line_counts *counts);

void ar_line_stack_enter(struct ar_line_stack *stack, const void *key, uint64_t now);
void ar_line_stack_leave(struct ar_line_stack *stack, const void *key, uint64_t now);
void ar_line_stack_come_to(struct ar_line_stack *stack, const void *key, uint32_t line,
                           uint64_t now);
/* Counting ends while calls are open. */
void ar_line_stack_close(struct ar_line_stack *stack, uint64_t now);
void ar_line_stack_free(struct ar_line_stack *stack);
