// SPDX-License-Identifier: BSD-3-Clause
/* Values whose classes anybody would name, and such that have none; and ranks in words. */
#include "analysis/imbalance.h"

#include "dice.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define N 32

static bool has_classes(const uint64_t *values, size_t n, size_t n_classes, const char *expected)
{
    struct ar_imbalance im;
    bool good = ar_imbalance_build(&im, values, n) == AR_OK && im.n_classes == n_classes;

    for (size_t i = 0; good && i < n; i++)
        good = im.class_of[i] == (uint8_t)(expected[i] - 'a');
    if (!good)
        tap_note("%zu classes", im.n_classes);
    ar_imbalance_free(&im);
    return good;
}

static void test_classes(void)
{
    uint64_t idle[N], eighth[N], ramp[N], three[N];
    char of_idle[N], of_eighth[N], of_three[N];
    struct dice d = {7};

    for (size_t i = 0; i < N; i++) {
        uint64_t noisy = 950 + dice_below(&d, 100);

        idle[i] = i < 20 ? noisy : 0;
        of_idle[i] = i < 20 ? 'a' : 'b';
        eighth[i] = i % 8 == 0 ? 3 * noisy : noisy;
        of_eighth[i] = i % 8 == 0 ? 'a' : 'b';
        ramp[i] = 1000 + 100 * i;
        three[i] = i == 5 ? 9000 : i < 8 ? 2 * noisy : i < 30 ? noisy : 0;
        of_three[i] = i == 5 ? 'a' : i < 8 ? 'b' : i < 30 ? 'c' : 'd';
    }
    tap_ok(has_classes(idle, N, 2, of_idle), "ranks 20-31 did nothing");
    tap_ok(has_classes(eighth, N, 2, of_eighth), "every 8th has three times the others");
    tap_ok(has_classes(three, N, 4, of_three), "one rank, some, most, and some that are idle");
    tap_ok(has_classes(ramp, N, 1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "a ramp has no classes");
}

static void test_few(void)
{
    const uint64_t alike[] = {100, 104, 99, 110}, one[] = {1284, 1300, 1350, 4077};
    const uint64_t ramp[] = {1, 2, 3, 4}, pair[] = {100, 200}, near[] = {100, 110},
                   zeros[] = {0, 0};

    tap_ok(has_classes(alike, 4, 1, "aaaa"), "noise makes no classes");
    tap_ok(has_classes(one, 4, 2, "bbba"), "one slow rank of four");
    tap_ok(has_classes(ramp, 4, 1, "aaaa"), "four ranks, all different, are one class");
    tap_ok(has_classes(pair, 2, 2, "ba") && has_classes(near, 2, 1, "aa"), "two ranks");
    tap_ok(has_classes(zeros, 2, 1, "aa") && has_classes(pair, 1, 1, "a") &&
               has_classes(NULL, 0, 0, ""),
           "nothing, one rank, nobody");
}

static void test_figures(void)
{
    const uint64_t values[] = {10, 30, 10, 10};
    struct ar_imbalance im;
    bool built = ar_imbalance_build(&im, values, 4) == AR_OK;

    tap_ok(built && im.mean == 15 && im.max_over_mean == 2 && im.n_ranks == 4, "max by mean");
    tap_ok(im.classes[0].n_ranks == 1 && im.classes[0].mean == 30 && im.classes[1].n_ranks == 3 &&
               im.classes[1].least == 10 && im.classes[1].most == 10,
           "those that have most come first");
    tap_ok(ar_imbalance_largest(&im) == 1, "the others are the larger class");
    ar_imbalance_free(&im);
}

/* Rank 1 has two threads of 15 each, rank 2 has nothing. */
static void test_row(void)
{
    struct ar_profile p;
    struct ar_rows rows;
    struct ar_imbalance im;
    uint32_t node;

    sample_start(&p);
    node = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", 1), 0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint32_t process = sample_rank(&p, rank);
        uint32_t here = sample_thread(&p, process, 0), there = sample_thread(&p, process, 1);

        if (rank != 2)
            sample_value(&p, AR_METRIC_TIME, node, here, rank == 1 ? 15 : 10);
        if (rank == 1)
            sample_value(&p, AR_METRIC_TIME, node, there, 15);
    }
    sample_must(ar_profile_sort(&p));
    sample_must(ar_rows_open(&rows, &p, AR_METRIC_TIME));
    sample_must(ar_imbalance_of_row(&im, &p, ar_rows_get(&rows, node)));
    tap_ok(im.n_ranks == 4 && im.n_classes == 3 && im.classes[0].most == 30 &&
               im.class_of[1] == 0 && im.class_of[0] == 1 && im.class_of[2] == 2,
           "a node's row: threads count for their rank, and who is not there has 0");
    ar_imbalance_free(&im);
    ar_rows_close(&rows);
    ar_profile_free(&p);
}

static bool reads(const char *expected, const uint32_t *ranks, size_t n, uint32_t n_all,
                  size_t n_most)
{
    struct ar_bytes out = {0};
    bool good;

    ar_rank_set_text(&out, ranks, n, n_all, n_most);
    good = out.n == strlen(expected) && memcmp(out.data, expected, out.n) == 0;
    if (!good)
        tap_note("%.*s", (int)out.n, (const char *)out.data);
    ar_bytes_free(&out);
    return good;
}

static void test_words(void)
{
    const uint32_t some[] = {0, 1, 2, 3, 8}, eighth[] = {0, 8, 16, 24}, odd[] = {1, 3, 5};
    const uint32_t wide[] = {2, 24, 46}, many[] = {0, 2, 3, 5, 8, 13, 21, 34, 55, 89};

    tap_ok(reads("0-3,8", some, 5, 32, 40), "ranges and single ones");
    tap_ok(reads("every 8th from 0", eighth, 4, 32, 40), "every 8th, to the end");
    tap_ok(reads("every 2nd from 1 to 5", odd, 3, 32, 40), "every 2nd, to somewhere");
    tap_ok(reads("every 22nd from 2", wide, 3, 60, 40), "every 22nd");
    tap_ok(reads("8,16", eighth + 1, 2, 32, 40), "two are no rule");
    tap_ok(reads("0,2-3,5,8..", many, 10, 99, 12), "what does not fit is cut");
}

static void test_no_memory(void)
{
    const uint64_t values[] = {10, 30, 10, 10};
    enum ar_status status = AR_NOMEM;
    struct ar_imbalance im;
    size_t n = 0;

    for (; status == AR_NOMEM && n < 10; n++) {
        alloc_fail_after(n);
        status = ar_imbalance_build(&im, values, 4);
        alloc_restore();
    }
    tap_ok(status == AR_OK && n > 1, "without memory there is nothing to free");
    ar_imbalance_free(&im);
}

static void check_ranges(struct ar_range_style style, const char *expected)
{
    static const uint32_t ranks[] = {0, 1, 4, 6, 7, 8, 9, 12, 20, 21};
    struct ar_bytes out = {0};

    ar_rank_ranges_text(&out, ranks, 10, style);
    ar_bytes_u8(&out, '\0');
    if (!tap_ok(strcmp((const char *)out.data, expected) == 0, "\"%s\"", expected))
        tap_note("it is \"%s\"", (const char *)out.data);
    ar_bytes_free(&out);
}

static void test_ranges(void)
{
    check_ranges((struct ar_range_style){0}, "0-1,4,6-9,12,20-21");
    check_ranges((struct ar_range_style){.splits_pairs = true}, "0,1,4,6-9,12,20,21");
    check_ranges((struct ar_range_style){.n_chars = 10}, "0-1,4..");
    check_ranges((struct ar_range_style){.splits_pairs = true, .n_ranges = 3},
                 "0,1,4,6-9 and 3 more");
}

int main(void)
{
    test_ranges();
    test_classes();
    test_few();
    test_figures();
    test_row();
    test_words();
    test_no_memory();
    return tap_done();
}
