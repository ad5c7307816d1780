// SPDX-License-Identifier: BSD-3-Clause
/*
 * tap: the Test Anything Protocol, as much of it as C unit tests need.
 *
 * A test is a program that prints one `ok` or `not ok` line per check, notes after a `#`, and at the end its plan,
 * `1..N`. A program that crashes prints no plan and so fails; each line is flushed, so that the last one seen tells
 * how far it came. All here is `static`: a test program is one file. The only state is the count of checks.
 *
 * Threads: check in one only.
 *
 *     int main(void)
 *     {
 *         tap_ok(1 + 1 == 2, "one and one is %d", 2);      // text without '#', which starts a directive
 *         if (!tap_ok(x == 7, "x is seven"))
 *             tap_note("x is %d", x);                      // what a reader of the failure wants to know
 *         return tap_done();
 *     }
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static struct {
    int n_checks;
    int n_failed;
} tap_state;

/* A macro, so that a failure can say what failed and where. Gives the condition back. */
#define tap_ok(cond, ...) tap_check((cond), #cond, __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 1, 2))) static inline void tap_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    printf("# ");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    fflush(stdout);
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_check(bool passed, const char *cond, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    printf("%sok %d - ", passed ? "" : "not ", ++tap_state.n_checks);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    if (!passed) {
        tap_state.n_failed++;
        tap_note("%s:%d: %s", file, line, cond);
    }
    return passed;
}

/* Prints the plan. Returns the exit status: 0 if every check passed, and there was at least one. */
static inline int tap_done(void)
{
    printf("1..%d\n", tap_state.n_checks);
    fflush(stdout);
    return tap_state.n_failed > 0 || tap_state.n_checks == 0;
}
