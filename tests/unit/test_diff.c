// SPDX-License-Identifier: BSD-3-Clause
/* Changes that are there and such that are noise, of ranks and of runs. */
#include "analysis/diff.h"

#include "failing_alloc.h"
#include "sample_runs.h"
#include "tap.h"

#include <math.h>

#define MOST_RUNS 6

static struct ar_summary runs[MOST_RUNS];
static size_t n_runs;
static struct ar_diff diff;

static struct ar_profile *start_run(void)
{
    static struct ar_profile p;

    sample_run_start(&p, 10 + (uint32_t)n_runs);
    return &p;
}

static void end_run(struct ar_profile *p)
{
    sample_must(ar_summary_take(&runs[n_runs++], p, false));
}

/* Of ranks that solve for as long as is said. */
static void add_run(const uint64_t *solve_ns, size_t n_ranks)
{
    struct ar_profile *p = start_run();

    for (size_t i = 0; i < n_ranks; i++)
        sample_run_rank(p, solve_ns[i], i == 0 ? 1000 : 0, 500);
    end_run(p);
}

static void end(void)
{
    ar_diff_free(&diff);
    while (n_runs)
        ar_summary_free(&runs[--n_runs]);
}

static const struct ar_diff_row *row_of(const struct ar_diff_table *table, uint32_t id)
{
    for (size_t i = 0; i < table->n_rows; i++)
        if (table->rows[i].id == id)
            return &table->rows[i];
    return NULL;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-6 * (1 + fabs(a));
}

static void test_one_rank_slower(void)
{
    const uint64_t before[] = {1000, 2000, 3000, 4000}, after[] = {1000, 2000, 3000, 8000};
    const struct ar_diff_row *solve;

    add_run(before, 4);
    add_run(after, 4);
    sample_must(ar_diff_build(&diff, runs, 1, 2, true));
    solve = row_of(&diff.functions, SAMPLE_SOLVE);
    tap_ok(diff.noise == AR_NOISE_OF_PAIRS && solve == &diff.functions.rows[0] &&
               solve->self.base == 2500 && solve->self.now == 3500 && solve->self.counts,
           "one rank that got slower is no noise, however unlike ranks are");
    tap_ok(solve->base_calls == 10 && solve->now_calls == 10 && solve->has_base && solve->has_now,
           "calls are means over ranks");
    tap_ok(diff.total.counts && is_near(ar_change_ns(&diff.total), 1000) && !diff.mpi.counts &&
               diff.mpi.now == 500,
           "the run took longer, and not in MPI");
    tap_ok(!row_of(&diff.functions, SAMPLE_WRITE)->self.counts,
           "what did not change does not count");
    tap_ok(row_of(&diff.paths, SAMPLE_SOLVE)->self.counts && diff.paths.n_rows == 5,
           "the same by call path");
    ar_diff_sort(&diff.functions, true);
    tap_ok(diff.functions.rows[0].time.counts && ar_change_ns(&diff.functions.rows[0].time) == 1000,
           "with what is called the caller changed, too");
    end();
}

/*
 * Both sides have estimates of which the mean has an error of 3 and 4 µs: a change has to be larger than twice 5. The
 * second run's is 20 µs larger, the third's 8.
 */
static void test_noise_of_estimates(void)
{
    const uint64_t ns[] = {100000, 120000, 108000}, us2[] = {9, 16, 16};

    for (size_t first = 1; first < 3; first++) {
        for (size_t i = 0; i < 2; i++) {
            struct ar_profile *p = start_run();
            size_t k = i ? first : 0;

            sample_run_rank(p, ns[k], 0, 0);
            sample_value(p, AR_METRIC_MARKS, SAMPLE_SOLVE, 0, AR_MARK_ESTIMATED);
            sample_value(p, AR_METRIC_VARIANCE, SAMPLE_SOLVE, 0, us2[k]);
            end_run(p);
        }
        sample_must(ar_diff_build(&diff, runs, 1, 2, true));

        const struct ar_change *self = &row_of(&diff.functions, SAMPLE_SOLVE)->self;

        tap_ok(is_near(self->noise, 10000) && self->counts == (first == 1),
               "%s than the error of the estimates", first == 1 ? "more" : "less");
        tap_ok(self->base_doubt.variance == 9 && self->now_doubt.variance == 16 &&
                   self->now_doubt.marks == AR_MARK_ESTIMATED,
               "which is known of either side");
        tap_ok(is_near(row_of(&diff.paths, SAMPLE_SOLVE)->time.noise, 10000), "by path, too");
        end();
    }
}

static void test_noise_of_ranks(void)
{
    const uint64_t before[] = {1000, 1000, 1000, 1000}, noisy[] = {1300, 900, 1250, 820};
    const uint64_t slower[] = {1300, 1310, 1290, 1305};
    const uint64_t larger[] = {1310, 900, 1250, 800, 1200, 850};

    add_run(before, 4);
    add_run(noisy, 4);
    sample_must(ar_diff_build(&diff, runs, 1, 2, false));
    tap_ok(!row_of(&diff.functions, SAMPLE_SOLVE)->self.counts, "ranks that go up and down: noise");
    end();
    add_run(before, 4);
    add_run(slower, 4);
    sample_must(ar_diff_build(&diff, runs, 1, 2, false));
    tap_ok(row_of(&diff.functions, SAMPLE_SOLVE)->self.counts, "all ranks a third slower: none");
    end();
    add_run(before, 4);
    add_run(larger, 6);
    sample_must(ar_diff_build(&diff, runs, 1, 2, false));
    tap_ok(diff.noise == AR_NOISE_OF_RANKS && !row_of(&diff.functions, SAMPLE_SOLVE)->self.counts &&
               is_near(row_of(&diff.functions, SAMPLE_SOLVE)->self.now, 6310.0 / 6),
           "on other numbers of ranks: means of ranks, and their spread");
    end();
}

static void test_one_process(void)
{
    const uint64_t before = 10000, nearly = 10190, after = 10300;

    add_run(&before, 1);
    add_run(&nearly, 1);
    sample_must(ar_diff_build(&diff, runs, 1, 2, false));
    tap_ok(diff.noise == AR_NOISE_UNKNOWN && !row_of(&diff.functions, SAMPLE_SOLVE)->self.counts &&
               is_near(row_of(&diff.functions, SAMPLE_SOLVE)->self.noise, 203.8),
           "one process: less than 2 %% of itself does not count");
    end();
    add_run(&before, 1);
    add_run(&after, 1);
    sample_must(ar_diff_build(&diff, runs, 1, 2, false));
    tap_ok(row_of(&diff.functions, SAMPLE_SOLVE)->self.counts, "and 3 %% does");
    end();
}

/*
 * 1000, 1010, 1020 and 1040, 1050, 1060: means 1010 and 1050, variances 100 each, so that the error
 * of the difference is sqrt(200 / 3), with 4 degrees of freedom t = 2.78: noise 22.7.
 */
static void test_several_runs(void)
{
    const uint64_t times[] = {1000, 1010, 1020, 1040, 1050, 1060}, far[] = {900, 1010, 1120};
    const struct ar_change *change;

    for (size_t i = 0; i < 6; i++)
        add_run(&times[i], 1);
    for (size_t i = 0; i < 6; i++)
        ar_summary_forget_values(&runs[i]);
    sample_must(ar_diff_build(&diff, runs, 3, 6, true));
    change = &row_of(&diff.functions, SAMPLE_SOLVE)->self;
    tap_ok(diff.noise == AR_NOISE_OF_RUNS && is_near(change->base, 1010) &&
               is_near(change->now, 1050) && is_near(change->noise, 2.78 * sqrt(200.0 / 3)) &&
               change->counts,
           "several runs: Student's t");
    end();
    for (size_t i = 0; i < 3; i++)
        add_run(&far[i], 1);
    add_run(&times[5], 1);
    sample_must(ar_diff_build(&diff, runs, 3, 4, false));
    change = &row_of(&diff.functions, SAMPLE_SOLVE)->self;
    /* The variance is 12,100, of a mean of three and of one alone; 2 degrees: t = 4.30. */
    tap_ok(is_near(change->noise, 4.30 * sqrt(12100.0 / 3 + 12100)) && !change->counts,
           "a run alone is taken to vary as the others do");
    end();
}

/* Means 97 and 632, with 2 degrees t = 4.30: the noise is more than 1000. */
static void test_few_runs(void)
{
    const uint64_t times[] = {40, 154, 400, 864}, near[] = {40, 154, 100, 190};
    const struct ar_change *change;

    for (size_t i = 0; i < 4; i++)
        add_run(&times[i], 1);
    sample_must(ar_diff_build(&diff, runs, 2, 4, false));
    change = &row_of(&diff.functions, SAMPLE_SOLVE)->self;
    tap_ok(diff.has_few && change->noise > 1000 && !change->counts && change->is_undecided,
           "two runs a side cannot call a large change noise");
    tap_ok(diff.functions.rows[0].self.is_undecided, "which comes before what is noise");
    end();
    for (size_t i = 0; i < 4; i++)
        add_run(&near[i], 1);
    sample_must(ar_diff_build(&diff, runs, 2, 4, false));
    tap_ok(!row_of(&diff.functions, SAMPLE_SOLVE)->self.is_undecided, "but one of a third");
    end();
}

static void test_new_and_gone(void)
{
    struct ar_profile *p = start_run();
    const struct ar_diff_row *now;
    uint32_t more;

    sample_run_rank(p, 1000, 0, 0);
    end_run(p);
    p = start_run();
    more = sample_node(p, SAMPLE_MAIN, sample_function(p, AR_FUNCTION_PYTHON, "extra", 77), 0);
    sample_run_rank(p, 1000, 0, 0);
    sample_value(p, AR_METRIC_TIME, more, 0, 90);
    sample_value(p, AR_METRIC_CALLS, more, 0, 3);
    end_run(p);
    sample_must(ar_diff_build(&diff, runs, 1, 2, true));
    now = row_of(&diff.functions, SAMPLE_REDUCE + 1);
    tap_ok(now && !now->has_base && now->has_now && now->self.counts && now->self.now == 90 &&
               now->now_calls == 3,
           "what is new has no base");
    tap_ok(ar_change_ns(&row_of(&diff.functions, SAMPLE_MAIN)->self) == -90, "its caller has less");
    end();
}

static void test_no_memory(void)
{
    const uint64_t before[] = {1000, 2000, 3000, 4000}, after[] = {1000, 2000, 3000, 8000};
    enum ar_status status = AR_NOMEM;
    size_t n = 0;

    add_run(before, 4);
    add_run(after, 4);
    for (; status == AR_NOMEM && n < 200; n++) {
        alloc_fail_after(n);
        status = ar_diff_build(&diff, runs, 1, 2, true);
        alloc_restore();
    }
    tap_ok(status == AR_OK && n > 30, "without memory there is nothing to free");
    end();
}

int main(void)
{
    test_one_rank_slower();
    test_noise_of_estimates();
    test_noise_of_ranks();
    test_one_process();
    test_several_runs();
    test_few_runs();
    test_new_and_gone();
    test_no_memory();
    return tap_done();
}
