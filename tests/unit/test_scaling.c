// SPDX-License-Identifier: BSD-3-Clause
/* A program on 1 to 16 ranks whose parts behave in all the ways there are words for. */
#include "analysis/scaling.h"

#include "sample_runs.h"
#include "tap.h"

#include <math.h>

#define MOST_RUNS 6

static struct ar_summary runs[MOST_RUNS];
static size_t n_runs;
static struct ar_scaling scaling;

/* What rank `rank` of `n` does. */
typedef uint64_t part(size_t rank, size_t n);

static uint64_t divided(size_t rank, size_t n)
{
    (void)rank;
    return 1600000 / n;
}

static uint64_t constant(size_t rank, size_t n)
{
    (void)rank;
    (void)n;
    return 100000;
}

static uint64_t on_rank_0(size_t rank, size_t n)
{
    (void)n;
    return rank ? 0 : 100000;
}

static uint64_t growing(size_t rank, size_t n)
{
    (void)rank;
    return 1000 * n;
}

static uint64_t until_4(size_t rank, size_t n)
{
    (void)rank;
    return 1600000 / (n < 4 ? n : 4);
}

/* All of them have a third of what they should, and rank 0 the rest. */
static uint64_t unbalanced(size_t rank, size_t n)
{
    uint64_t small = 300000 / n;

    return n == 1 ? 900000 : rank ? small : 900000 - small * (n - 1);
}

static void add_run(size_t n, part *solve, part *write, part *mpi)
{
    struct ar_profile p;

    sample_run_start(&p, 10);
    for (size_t i = 0; i < n; i++)
        sample_run_rank(&p, solve(i, n), write(i, n), mpi(i, n));
    sample_must(ar_summary_take(&runs[n_runs], &p, false));
    ar_summary_forget_values(&runs[n_runs++]);
}

static void make(part *solve, part *write, part *mpi, bool is_weak)
{
    for (size_t n = 16; n; n /= 2)
        add_run(n, solve, write, mpi);
    sample_must(ar_scaling_build(&scaling, runs, n_runs, is_weak));
}

static void end(void)
{
    ar_scaling_free(&scaling);
    while (n_runs)
        ar_summary_free(&runs[--n_runs]);
}

static const struct ar_scaling_function *function_of(uint32_t id)
{
    for (size_t i = 0; i < scaling.n_functions; i++)
        if (scaling.functions[i].id == id)
            return &scaling.functions[i];
    return NULL;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9 * (1 + fabs(a));
}

static void test_points(void)
{
    const struct ar_scaling_point *last;

    make(divided, constant, growing, false);
    last = &scaling.points[4];
    tap_ok(scaling.n_points == 5 && scaling.points[0].n_ranks == 1 && last->n_ranks == 16 &&
               scaling.points[0].speed_up == 1 && scaling.points[0].computation == 1,
           "runs are in order of ranks, whatever order they came in");
    /* 100 + 1,600,000 + 100,000 + 1,000 on one rank; 100 + 100,000 + 100,000 + 16,000 on 16 */
    tap_ok(is_near(last->wall_ns, 216100) && is_near(last->speed_up, 1701100.0 / 216100),
           "speed-up");
    tap_ok(is_near(last->computation, 1700100.0 / (16 * 200100)) &&
               is_near(last->global, last->computation * 200100 / 216100),
           "computation of all ranks grew, and global efficiency fell with it");
    end();
}

static void test_verdicts(void)
{
    make(divided, constant, growing, false);
    tap_ok(function_of(SAMPLE_SOLVE)->verdict == AR_SCALES &&
               is_near(function_of(SAMPLE_SOLVE)->power, 1) &&
               is_near(function_of(SAMPLE_SOLVE)->lost_ns, 0),
           "scales");
    tap_ok(function_of(SAMPLE_WRITE)->verdict == AR_CONSTANT &&
               is_near(function_of(SAMPLE_WRITE)->lost_ns, 93750),
           "constant");
    tap_ok(function_of(SAMPLE_REDUCE)->verdict == AR_GROWS, "grows");
    tap_ok(scaling.functions[0].id == SAMPLE_WRITE && scaling.n_functions == 3,
           "the worst first, and what is too little not at all");
    end();
    make(until_4, on_rank_0, growing, false);
    tap_ok(function_of(SAMPLE_SOLVE)->verdict == AR_STOPS_SCALING &&
               function_of(SAMPLE_SOLVE)->stops_at == 4,
           "stops scaling at 4 ranks");
    tap_ok(function_of(SAMPLE_WRITE)->verdict == AR_ONE_RANK, "one rank only");
    end();
    make(divided, unbalanced, growing, false);
    tap_ok(function_of(SAMPLE_WRITE)->verdict == AR_IMBALANCE_GROWS, "imbalance grows");
    end();
}

static void test_weak(void)
{
    make(constant, until_4, growing, true);
    tap_ok(function_of(SAMPLE_SOLVE)->verdict == AR_SCALES &&
               is_near(function_of(SAMPLE_SOLVE)->lost_ns, 0),
           "weak: constant time scales");
    tap_ok(function_of(SAMPLE_REDUCE)->verdict == AR_GROWS &&
               is_near(function_of(SAMPLE_REDUCE)->lost_ns, 15000),
           "weak: what takes n times as long grows");
    tap_ok(is_near(scaling.points[4].speed_up,
                   16 * (100 + 100000 + 1600000 + 1000.0) / (100 + 100000 + 400000 + 16000)),
           "weak: n times the work in as much time is n times as fast");
    end();
}

static void test_which_runs(void)
{
    add_run(2, divided, constant, growing);
    add_run(2, divided, divided, growing);
    tap_ok(ar_scaling_build(&scaling, runs, 2, false) == AR_BAD, "all on as many ranks");
    add_run(4, divided, constant, growing);
    sample_must(ar_scaling_build(&scaling, runs, 3, false));
    tap_ok(scaling.n_points == 2 && scaling.n_left_out == 1 && scaling.points[0].run == &runs[0],
           "the fastest of as many ranks counts");
    end();
}

int main(void)
{
    test_points();
    test_verdicts();
    test_weak();
    test_which_runs();
    return tap_done();
}
