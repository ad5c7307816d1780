// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/line_counts.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* Of a function with more lines those beyond are left out. */
#define MOST_LINES 65536u

/* ---- code objects ------------------------------------------------------------------------------ */

enum ar_status ar_line_counts_add(struct ar_line_counts *counts, const void *key,
                                  uint32_t first_line)
{
    struct ar_counted_code *code;

    if (ar_idmap_get(&counts->by_key, (uintptr_t)key, 0))
        return AR_OK;
    if (ar_grow((void **)&counts->codes, &counts->cap_codes, counts->n_codes + 1, sizeof(void *)) <
        0)
        return AR_NOMEM;
    code = calloc(1, sizeof *code);
    if (!code || ar_idmap_put(&counts->by_key, (uintptr_t)key, (uint32_t)counts->n_codes + 1) < 0) {
        free(code);
        return AR_NOMEM;
    }
    *code = (struct ar_counted_code){
        .key = key, .index = (uint32_t)counts->n_codes, .first_line = first_line};
    counts->codes[counts->n_codes++] = code;
    return AR_OK;
}

void ar_line_counts_free(struct ar_line_counts *counts)
{
    for (size_t i = 0; i < counts->n_codes; i++) {
        free(counts->codes[i]->rows);
        free(counts->codes[i]);
    }
    free(counts->codes);
    ar_idmap_free(&counts->by_key);
    *counts = (struct ar_line_counts){0};
}

static struct ar_counted_code *find_code(const struct ar_line_counts *counts, const void *key)
{
    uint32_t number = ar_idmap_get(&counts->by_key, (uintptr_t)key, 0);

    return number ? counts->codes[number - 1] : NULL;
}

/* AR_NO_LINE_ROW: the line is not counted. */
static uint32_t find_row(struct ar_counted_code *code, uint32_t line)
{
    uint32_t i = line - code->first_line;

    if (i < code->n_rows)
        return i;
    if (i >= MOST_LINES) /* also lines in front of the first one, of code that was made by hand */
        return AR_NO_LINE_ROW;

    uint32_t n = i + 16;
    struct ar_line_row *rows = realloc(code->rows, n * sizeof *rows);

    if (!rows)
        return AR_NO_LINE_ROW;
    memset(rows + code->n_rows, 0, (n - code->n_rows) * sizeof *rows);
    code->rows = rows;
    code->n_rows = n;
    return i;
}

/* ---- calls ------------------------------------------------------------------------------------- */

static void pass_time(struct ar_line_call *call, uint64_t now)
{
    if (call->row != AR_NO_LINE_ROW && now > call->since_ticks)
        call->code->rows[call->row].ticks += now - call->since_ticks;
    call->since_ticks = now;
}

/* There is one. */
static struct ar_line_call *innermost_call(struct ar_line_stack *stack)
{
    return &stack->calls[stack->n_calls - 1];
}

/* The call of this code that is innermost, plus 1. */
static uint32_t open_call(const struct ar_line_stack *stack, const struct ar_counted_code *code)
{
    return code->index < stack->n_innermost ? stack->innermost[code->index] : 0;
}

static bool make_room(struct ar_line_stack *stack, const struct ar_counted_code *code)
{
    size_t n_before = stack->n_innermost, n = stack->counts->n_codes;

    if (ar_grow((void **)&stack->calls, &stack->cap_calls, stack->n_calls + 1,
                sizeof *stack->calls) < 0)
        return false;
    if (code->index < n_before)
        return true;

    uint32_t *innermost = realloc(stack->innermost, n * sizeof *innermost);

    if (!innermost)
        return false;
    memset(innermost + n_before, 0, (n - n_before) * sizeof *innermost);
    stack->innermost = innermost;
    stack->n_innermost = n;
    return true;
}

static bool enter(struct ar_line_stack *stack, struct ar_counted_code *code, uint64_t now)
{
    uint32_t outer = open_call(stack, code);

    if (!make_room(stack, code))
        return false;
    if (outer)
        pass_time(&stack->calls[outer - 1], now);
    stack->calls[stack->n_calls++] = (struct ar_line_call){
        .code = code, .row = AR_NO_LINE_ROW, .outer = outer, .since_ticks = now};
    stack->innermost[code->index] = (uint32_t)stack->n_calls;
    return true;
}

static void end_innermost(struct ar_line_stack *stack, uint64_t now)
{
    struct ar_line_call *call = &stack->calls[--stack->n_calls];

    pass_time(call, now);
    stack->innermost[call->code->index] = call->outer;
    if (call->outer)
        stack->calls[call->outer - 1].since_ticks = now;
}

void ar_line_stack_enter(struct ar_line_stack *stack, const void *key, uint64_t now)
{
    struct ar_counted_code *code = find_code(stack->counts, key);

    if (code)
        enter(stack, code, now);
}

/* Calls inside whose end was missed end now, too. */
void ar_line_stack_leave(struct ar_line_stack *stack, const void *key, uint64_t now)
{
    struct ar_counted_code *code = find_code(stack->counts, key);
    uint32_t n = code ? open_call(stack, code) : 0;

    while (n && stack->n_calls >= n)
        end_innermost(stack, now);
}

static void come_to(struct ar_line_call *call, uint32_t line, uint64_t now)
{
    pass_time(call, now);
    call->row = find_row(call->code, line);
    if (call->row != AR_NO_LINE_ROW)
        call->code->rows[call->row].hits++;
}

/* The innermost call is one of other code, or there is none. */
static struct ar_line_call *find_call(struct ar_line_stack *stack, const void *key, uint64_t now)
{
    struct ar_counted_code *code = find_code(stack->counts, key);
    uint32_t n = code ? open_call(stack, code) : 0;

    if (!code)
        return NULL;
    while (n && stack->n_calls > n)
        end_innermost(stack, now);
    return n || enter(stack, code, now) ? innermost_call(stack) : NULL;
}

void ar_line_stack_come_to(struct ar_line_stack *stack, const void *key, uint32_t line,
                           uint64_t now)
{
    bool is_innermost = stack->n_calls && innermost_call(stack)->code->key == key;
    struct ar_line_call *call = is_innermost ? innermost_call(stack) : find_call(stack, key, now);

    if (call)
        come_to(call, line, now);
}

void ar_line_stack_close(struct ar_line_stack *stack, uint64_t now)
{
    while (stack->n_calls)
        end_innermost(stack, now);
}

void ar_line_stack_free(struct ar_line_stack *stack)
{
    free(stack->calls);
    free(stack->innermost);
    *stack = (struct ar_line_stack){0};
}
