// SPDX-License-Identifier: BSD-3-Clause
/* Where a sentence is broken into lines. */
#include "cli/screen.h"

#include "tap.h"

static bool wraps(const char *text, size_t n_columns, size_t n_lines, size_t n_last)
{
    size_t at = 0, n = ar_count_wrapped(text, n_columns, 0, &at);

    if (n != n_lines || at != n_last)
        tap_note("%zu lines, the last of %zu columns: %s", n, at, text);
    return n == n_lines && at == n_last;
}

int main(void)
{
    tap_ok(wraps("ranks 1-3 waited for rank 0", 40, 1, 27), "what fits is one line");
    tap_ok(wraps("ranks 1-3 waited for rank 0", 21, 2, 6), "else it is broken at the last space");
    tap_ok(wraps("ranks 1-3 have waited 1.25 s", 27, 2, 6), "a figure and its unit stay together");
    tap_ok(wraps("ranks 1-3 waited (38.2 %) at", 22, 2, 11), "in brackets as well");
    tap_ok(wraps("ranks 0 and 1 and 2 seen it", 21, 2, 7), "a number before a word is none");
    tap_ok(wraps("a.very.long.name.without.any.space.in.it", 30, 2, 10),
           "without a space anywhere");
    return tap_done();
}
