// SPDX-License-Identifier: BSD-3-Clause
#include "import/file_ranks.h"

#include "tap.h"

#include <string.h>

static void check(const char *what, char *const *paths, const char *expected)
{
    uint32_t ranks[8];
    char found[128] = "";
    size_t n = 0;

    while (paths[n])
        n++;
    ar_file_ranks(paths, n, ranks);
    for (size_t i = 0; i < n; i++) {
        char number[16];

        snprintf(number, sizeof number, "%s%u", i ? " " : "", ranks[i]);
        strcat(found, number);
    }
    if (!tap_ok(strcmp(found, expected) == 0, "%s", what))
        tap_note("%s, expected %s", found, expected);
}

#define CHECK(what, expected, ...) check(what, (char *const[]){__VA_ARGS__, NULL}, expected)

int main(void)
{
    CHECK("the number in the name", "0 11 2", "cpu_0.prof", "cpu_11.prof", "cpu_2.prof");
    CHECK("with zeros in front", "7 10", "r007.prof", "r010.prof");
    CHECK("in the middle", "3 1", "base.3.part", "base.1.part");
    CHECK("in a directory", "1 0", "rank1/out.prof", "rank0/out.prof");
    CHECK("among numbers that are the same", "5 6", "2024/v2_5_x3.prof", "2024/v2_6_x3.prof");
    CHECK("two numbers differ: the order", "0 1 2", "h1.0.prof", "h1.1.prof", "h2.2.prof");
    CHECK("another one in each pair: the order", "0 1 2", "a0b0", "a1b0", "a0b1");
    CHECK("names differ: the order", "0 1", "a_5.prof", "b_5.prof");
    CHECK("names and numbers differ: the order", "0 1", "a_5.prof", "b_6.prof");
    CHECK("one has no number: the order", "0 1", "cpu.prof", "cpu1.prof");
    CHECK("one name begins another: the order", "0 1", "cpu_1", "cpu_1x");
    CHECK("the same number twice: the order", "0 1 2", "cpu_1", "cpu_01", "cpu_2");
    CHECK("the same file twice: the order", "0 1", "cpu_4", "cpu_4");
    CHECK("a number that is no rank: the order", "0 1", "12345678901", "12345678902");
    CHECK("a number as large as one can be", "999999999 5", "x999999999", "x5");
    CHECK("one file is rank 0", "0", "cpu_5.prof");
    CHECK("an empty name", "0 1", "", "5");
    return tap_done();
}
