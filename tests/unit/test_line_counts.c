// SPDX-License-Identifier: BSD-3-Clause
/* Calls and lines by hand, with times that are arithmetic. */
#include "runtime/line_counts.h"

#include "failing_alloc.h"
#include "tap.h"

#include <inttypes.h>

static int work, other; /* their addresses stand for code objects */
static struct ar_line_counts counts;
static struct ar_line_stack stack;

static void start(void)
{
    ar_line_stack_free(&stack);
    ar_line_counts_free(&counts);
    if (ar_line_counts_add(&counts, &work, 10) < 0 || ar_line_counts_add(&counts, &other, 100) < 0)
        tap_ok(false, "there is memory for two code objects");
    stack = (struct ar_line_stack){.counts = &counts};
}

static bool has(size_t code, uint32_t line, uint64_t hits, uint64_t ticks)
{
    const struct ar_counted_code *c = counts.codes[code];
    uint32_t i = line - c->first_line;
    struct ar_line_row row = i < c->n_rows ? c->rows[i] : (struct ar_line_row){0};

    if (row.hits != hits || row.ticks != ticks)
        tap_note("line %u: %" PRIu64 " hits, %" PRIu64 " ticks", line, row.hits, row.ticks);
    return row.hits == hits && row.ticks == ticks;
}

static void test_lines(void)
{
    start();
    ar_line_stack_enter(&stack, &work, 0);
    ar_line_stack_come_to(&stack, &work, 11, 1);
    ar_line_stack_come_to(&stack, &work, 12, 5);
    ar_line_stack_come_to(&stack, &work, 11, 7);
    ar_line_stack_leave(&stack, &work, 10);
    tap_ok(has(0, 11, 2, 7) && has(0, 12, 1, 2),
           "a line lasts until the next, or the end of the call");
    ar_line_stack_leave(&stack, &work, 99);
    tap_ok(has(0, 11, 2, 7), "a return of a call that was not seen changes nothing");
    ar_line_stack_come_to(&stack, &stack, 3, 99);
    ar_line_stack_enter(&stack, &stack, 99);
    ar_line_stack_leave(&stack, &stack, 99);
    tap_ok(!stack.n_calls, "other code is ignored");
}

static void test_calls(void)
{
    start();
    ar_line_stack_come_to(&stack, &work, 11, 0);
    ar_line_stack_enter(&stack, &other, 2);
    ar_line_stack_come_to(&stack, &other, 101, 3);
    ar_line_stack_leave(&stack, &other, 8);
    ar_line_stack_come_to(&stack, &work, 12, 9);
    ar_line_stack_close(&stack, 10);
    tap_ok(has(0, 11, 1, 9) && has(1, 101, 1, 5) && has(0, 12, 1, 1) && !stack.n_calls,
           "a line includes what it calls; a call that was open before counts from its first line");
    start();
    ar_line_stack_come_to(&stack, &work, 11, 0);
    ar_line_stack_come_to(&stack, &other, 101, 2);
    ar_line_stack_come_to(&stack, &work, 12, 5);
    tap_ok(has(1, 101, 1, 3) && has(0, 11, 1, 5),
           "a call whose end was missed ends with the next line around it");
}

static void test_recursion(void)
{
    start();
    for (uint64_t depth = 0; depth < 3; depth++) {
        ar_line_stack_enter(&stack, &work, 10 * depth);
        ar_line_stack_come_to(&stack, &work, 11, 10 * depth);
    }
    for (uint64_t depth = 3; depth-- > 0;)
        ar_line_stack_leave(&stack, &work, 50 - 10 * depth);
    tap_ok(has(0, 11, 3, 50), "in recursion the lines add up to the time of the function");
}

static void test_generators(void)
{
    start();
    ar_line_stack_enter(&stack, &work, 0);
    ar_line_stack_come_to(&stack, &work, 11, 0);
    ar_line_stack_leave(&stack, &work, 3);
    ar_line_stack_enter(&stack, &work, 50);
    ar_line_stack_come_to(&stack, &work, 12, 52);
    ar_line_stack_leave(&stack, &work, 53);
    tap_ok(has(0, 11, 1, 3) && has(0, 12, 1, 1),
           "from the resumption of a generator to its next line the time is no line's");
}

static void test_odd_lines(void)
{
    start();
    ar_line_stack_come_to(&stack, &work, 9, 0);
    ar_line_stack_come_to(&stack, &work, UINT32_MAX, 1);
    ar_line_stack_come_to(&stack, &work, 10 + 60000, 2);
    ar_line_stack_leave(&stack, &work, 5);
    tap_ok(has(0, 10 + 60000, 1, 3) && counts.codes[0]->n_rows < 65536 + 16,
           "lines in front of a function, and far behind it, are left out");
}

static void test_memory(void)
{
    for (size_t n = 0; n < 8; n++) {
        start();
        alloc_fail_after(n);
        ar_line_stack_enter(&stack, &work, 0);
        ar_line_stack_come_to(&stack, &work, 11, 0);
        ar_line_stack_leave(&stack, &work, 1);
        alloc_restore();
        ar_line_stack_come_to(&stack, &other, 101, 0);
        ar_line_stack_close(&stack, 4);
        tap_ok(has(1, 101, 1, 4), "with memory for %zu allocations counting goes on", n);
    }
}

int main(void)
{
    test_lines();
    test_calls();
    test_recursion();
    test_generators();
    test_odd_lines();
    test_memory();
    ar_line_stack_free(&stack);
    ar_line_counts_free(&counts);
    return tap_done();
}
