// SPDX-License-Identifier: BSD-3-Clause
/* Conditions that can be read, those that cannot, and what holds of a comparison made by hand. */
#include "cli/fail_if.h"

#include "sample_runs.h"
#include "tap.h"

#include <math.h>

static struct ar_summary runs[2];
static struct ar_diff diff;

static bool reads(const char *text, enum ar_fail_what what, const char *name, double amount)
{
    struct ar_fail_if f;
    struct ar_error err;

    return ar_fail_if_parse(&f, text, &err) == AR_OK && f.what == what &&
           strcmp(f.name, name) == 0 && fabs(f.amount - amount) < 1e-9 * (1 + amount);
}

static bool refuses(const char *text)
{
    struct ar_fail_if f;
    struct ar_error err;

    return ar_fail_if_parse(&f, text, &err) == AR_BAD && *err.text;
}

static void test_reading(void)
{
    struct ar_fail_if f;
    struct ar_error err;

    tap_ok(reads("total > 5%", AR_FAIL_TOTAL, "total", 0.05) &&
               reads("  mpi>10 % ", AR_FAIL_MPI, "mpi", 0.1),
           "total and mpi");
    tap_ok(reads("solve > 0.2s", AR_FAIL_FUNCTION, "solve", 2e8) &&
               reads("a.py:10 > 3ms", AR_FAIL_FUNCTION, "a.py:10", 3e6) &&
               reads("<module> > 7 us", AR_FAIL_FUNCTION, "<module>", 7e3),
           "functions, and units");
    tap_ok(ar_fail_if_parse(&f, "self of region total > 1%", &err) == AR_OK && f.self && f.region &&
               f.what == AR_FAIL_FUNCTION && strcmp(f.name, "total") == 0,
           "self of a region");
    tap_ok(refuses("total") && refuses("total > ") && refuses("total > 5") && refuses("> 5%") &&
               refuses("total > 5 parrots") && refuses("total > -5%") && refuses("total > 5% 6%") &&
               refuses("total > nan%") && refuses(""),
           "what is no condition is refused");
}

static bool holds(const char *text)
{
    struct ar_fail_if f;
    struct ar_error err;

    return ar_fail_if_parse(&f, text, &err) == AR_OK && ar_fail_if_check(&f, &diff).holds;
}

/* solve 1000 to 1300, MPI 1000 to 1010, write is new: total 2100 to 2510. */
static void test_holding(void)
{
    struct ar_fail_verdict v;
    struct ar_fail_if f;
    struct ar_error err;
    struct ar_profile p;

    sample_run_start(&p, 10);
    sample_run_rank(&p, 1000, 0, 1000);
    sample_must(ar_summary_take(&runs[0], &p, false));
    sample_run_start(&p, 12);
    sample_run_rank(&p, 1300, 100, 1010);
    sample_must(ar_summary_take(&runs[1], &p, false));
    sample_must(ar_diff_build(&diff, runs, 1, 2, false));
    tap_ok(holds("total > 19%") && !holds("total > 20%") && holds("total > 0.4 us") &&
               !holds("total > 0.42us"),
           "the run");
    tap_ok(holds("solve > 29%") && !holds("solve > 30%") && holds("self of solve > 0.29us") &&
               holds("a.py:12 > 29%") && holds("a.py:10 > 29%") && !holds("a.py:11 > 29%") &&
               holds("so* > 29%"),
           "a function, by name, place or pattern");
    tap_ok(holds("write > 1000%") && !holds("write > 0.2us"), "what is new grew endlessly");
    tap_ok(holds("main > 19%") && !holds("self of main > 0%"), "with what it calls, and without");
    tap_ok(!holds("mpi > 0.5%") && !holds("Allreduce > 0.5%"), "noise makes nothing hold");
    sample_must(ar_fail_if_parse(&f, "MPI_Allreduce > 0.5%", &err));
    v = ar_fail_if_check(&f, &diff);
    tap_ok(v.is_noise && v.n_fit == 1 && v.row && v.change.now == 1010, "but it is said");
    sample_must(ar_fail_if_parse(&f, "* > 5%", &err));
    v = ar_fail_if_check(&f, &diff);
    tap_ok(v.holds && !v.is_noise && v.n_fit > 2, "one of several is enough");
    sample_must(ar_fail_if_parse(&f, "region solve > 5%", &err));
    tap_ok(ar_fail_if_check(&f, &diff).n_fit == 0, "a function is no region");
    ar_diff_free(&diff);
    ar_summary_free(&runs[0]);
    ar_summary_free(&runs[1]);
}

int main(void)
{
    test_reading();
    test_holding();
    return tap_done();
}
