// SPDX-License-Identifier: BSD-3-Clause
/* Which functions have rows below "Imbalance", and what counts for them. */
#include "cli/report.h"

#include "sample_profile.h"
#include "tap.h"

#define MS 1000000u

static struct ar_profile p;
static struct ar_report r;

static uint32_t below(uint32_t parent, enum ar_function_kind kind, const char *name)
{
    return sample_node(&p, parent, sample_function(&p, kind, name, 10), 0);
}

static void start(void)
{
    sample_start(&p);
    for (uint32_t rank = 0; rank < 2; rank++)
        sample_thread(&p, sample_rank(&p, rank), 0);
    for (uint32_t rank = 0; rank < 2; rank++)
        p.processes[rank].wall_ns = 1000 * MS;
}

static size_t count_rows(void)
{
    struct ar_totals t;
    size_t n;

    sample_must(ar_profile_sort(&p));
    r = (struct ar_report){.p = &p, .t = &t, .min_share = 0.01};
    sample_must(ar_totals_build(&t, &p));
    n = ar_report_count_imbalance(&r, 3);
    ar_totals_free(&t);
    ar_profile_free(&p);
    return n;
}

/* What one rank does in C the other does itself: together it is the same. */
static void test_in_c_on_one_rank(void)
{
    start();

    uint32_t encode = below(0, AR_FUNCTION_PYTHON, "encode");
    uint32_t join = below(encode, AR_FUNCTION_BUILTIN, "join");

    sample_value(&p, AR_METRIC_TIME, encode, 0, 800 * MS);
    sample_value(&p, AR_METRIC_TIME, encode, 1, 800 * MS);
    sample_value(&p, AR_METRIC_TIME, join, 0, 300 * MS);
    tap_ok(count_rows() == 0, "nothing to win where both take as long");
}

static void test_more_in_c(void)
{
    start();

    uint32_t encode = below(0, AR_FUNCTION_PYTHON, "encode");
    uint32_t join = below(encode, AR_FUNCTION_BUILTIN, "join");

    sample_value(&p, AR_METRIC_TIME, encode, 0, 800 * MS);
    sample_value(&p, AR_METRIC_TIME, encode, 1, 500 * MS);
    sample_value(&p, AR_METRIC_TIME, join, 0, 300 * MS);
    tap_ok(count_rows() == 1, "a function that is longer because of C is one row");
}

/* 300 are join's or encode's on one rank, and join's on the other. */
static void test_unassigned(void)
{
    start();

    uint32_t encode = below(0, AR_FUNCTION_PYTHON, "encode");
    uint32_t join = below(encode, AR_FUNCTION_BUILTIN, "join");
    uint32_t unassigned = below(encode, AR_FUNCTION_UNASSIGNED, "join");

    sample_value(&p, AR_METRIC_TIME, encode, 0, 800 * MS);
    sample_value(&p, AR_METRIC_TIME, encode, 1, 800 * MS);
    sample_value(&p, AR_METRIC_TIME, join, 0, 300 * MS);
    sample_value(&p, AR_METRIC_TIME, unassigned, 1, 300 * MS);
    tap_ok(count_rows() == 0, "what is not known is not compared");
}

static void test_what_is_left_out(void)
{
    start();

    uint32_t wait = below(0, AR_FUNCTION_MPI, "MPI_Barrier");
    uint32_t import = below(0, AR_FUNCTION_IMPORT, "(import)");
    uint32_t module = below(import, AR_FUNCTION_PYTHON, "module");

    sample_value(&p, AR_METRIC_TIME, wait, 0, 400 * MS);
    sample_value(&p, AR_METRIC_TIME, import, 1, 400 * MS);
    sample_value(&p, AR_METRIC_TIME, module, 1, 300 * MS);
    tap_ok(count_rows() == 0, "neither waiting nor loading");
}

/* Two call paths of one function: which one a rank takes makes no difference. */
static void test_two_call_paths(uint64_t on_second_ms, size_t n_rows)
{
    start();

    uint32_t kernel = sample_function(&p, AR_FUNCTION_PYTHON, "kernel", 10);
    uint32_t first = sample_node(&p, below(0, AR_FUNCTION_PYTHON, "first"), kernel, 0);
    uint32_t second = sample_node(&p, below(0, AR_FUNCTION_PYTHON, "second"), kernel, 0);

    sample_value(&p, AR_METRIC_TIME, p.nodes[first].parent, 0, 400 * MS);
    sample_value(&p, AR_METRIC_TIME, p.nodes[second].parent, 1, on_second_ms * MS);
    sample_value(&p, AR_METRIC_TIME, first, 0, 400 * MS);
    sample_value(&p, AR_METRIC_TIME, second, 1, on_second_ms * MS);
    tap_ok(count_rows() == n_rows, "kernel has %zu rows", n_rows);
}

/* Ranks that do the same differ by up to a tenth of the mean, which is no row. */
static void test_threshold(uint64_t ms, uint64_t more_ms, size_t n_rows)
{
    start();

    uint32_t work = below(0, AR_FUNCTION_PYTHON, "work");

    sample_value(&p, AR_METRIC_TIME, work, 0, (ms + more_ms) * MS);
    sample_value(&p, AR_METRIC_TIME, work, 1, ms * MS);
    tap_ok(count_rows() == n_rows, "%d ms more than %d ms", (int)more_ms, (int)ms);
}

int main(void)
{
    test_in_c_on_one_rank();
    test_more_in_c();
    test_unassigned();
    test_what_is_left_out();
    test_two_call_paths(400, 0);
    test_two_call_paths(800, 1);
    test_threshold(500, 20, 0);
    test_threshold(500, 105, 0);
    test_threshold(500, 120, 1);
    test_threshold(10, 30, 0); /* they start some ten milliseconds apart */
    return tap_done();
}
