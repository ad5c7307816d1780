// SPDX-License-Identifier: BSD-3-Clause
/* What ar_print makes of a format and its arguments, beside printf. */
#include "cli/printing.h"

#include "base/text.h"

#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static char printed[4096];
static int real_stdout = -1, file = -1;

/* From here on standard output is a file. */
static void divert(void)
{
    fflush(stdout);
    ftruncate(file, 0);
    lseek(file, 0, SEEK_SET);
    dup2(file, STDOUT_FILENO);
}

static const char *collect(void)
{
    fflush(stdout);
    dup2(real_stdout, STDOUT_FILENO);

    ssize_t n = pread(file, printed, sizeof printed - 1, 0);

    printed[n < 0 ? 0 : n] = '\0';
    return printed;
}

#define check(expected, n_expected, ...)                                                           \
    do {                                                                                           \
        divert();                                                                                  \
        size_t n = ar_print(__VA_ARGS__);                                                          \
        const char *found = collect();                                                             \
        if (!tap_ok(strcmp(found, expected) == 0 && n == (n_expected), "%s", #__VA_ARGS__))        \
            tap_note("printed %s in %zu columns", found, n);                                       \
    } while (0)

/* Where no text is filled in, it is what printf says. */
#define check_as_printf(...)                                                                       \
    do {                                                                                           \
        char wanted[512];                                                                          \
        snprintf(wanted, sizeof wanted, __VA_ARGS__);                                              \
        check(wanted, strlen(wanted), __VA_ARGS__);                                                \
    } while (0)

static void test_numbers(void)
{
    check_as_printf("%d %i %u %x|%5d|%-5d|%05d|%+d", -1, 2, 3u, 255u, 7, 7, 7, 7);
    check_as_printf("%zu %lu %llu %lld", (size_t)-1, 1ul << 40, 1ull << 63, -5ll);
    check_as_printf("%.2f|%8.3f|%-8.1f|%e|%g|%.0f", 1.005, 2.5, 3.25, 1e9, 1e-7, 2.5);
    check_as_printf("%*d|%-*d|%.*f|%*.*f", 5, 1, 5, 1, 2, 1.0, 8, 3, 1.0);
    check_as_printf("100 %%|%c|%3c", 'x', 'y');
    check_as_printf("%s|%5s|%-5s|%.2s|%-5.2s|%*s|%.*s", "ab", "ab", "ab", "abc", "abc", 4, "ab", 1,
                    "ab");
}

static void test_texts(void)
{
    check("a?[2J?b\n", 7, "a%sb\n", "\033[2J\n");
    check("a??c", 4, "a%sc", "\u202e\xff");
    check("?|", 2, "%c|", '\033');
    check("\u51fd\u6570  |", 7, "%-6s|", "\u51fd\u6570");
    check("  caf\u00e9|", 7, "%6s|", "caf\u00e9");
    check("ab|", 3, "%.*s|", 2, "ab\033");
    check("\033[K", 3, "\033[K"); /* the format is ours */
    check("?[1mx", 5, "%sx", "\033[1m");
    check("x", 1, "%sx", ar_bold()); /* standard output is no terminal */
}

int main(void)
{
    FILE *scratch = tmpfile();

    real_stdout = dup(STDOUT_FILENO);
    file = scratch ? fileno(scratch) : -1;
    if (!tap_ok(real_stdout >= 0 && file >= 0, "a file to print to"))
        return tap_done();
    setenv("NO_COLOR", "1", 1);
    test_numbers();
    test_texts();
    return tap_done();
}
