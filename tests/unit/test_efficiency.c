// SPDX-License-Identifier: BSD-3-Clause
/* Times whose ratios are arithmetic; then those of a profile, with threads and recursion. */
#include "analysis/efficiency.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <math.h>

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void test_ratios(void)
{
    /* Computing 60, 30, 60, 90: mean 60, most 90; the run takes 120. */
    const struct ar_rank_time ranks[] = {{100, 40, 0}, {100, 70, 0}, {120, 60, 0}, {110, 20, 0}};
    struct ar_efficiency e = ar_efficiency_of(ranks, NULL, 4);

    tap_ok(is_near(e.load_balance, 60.0 / 90), "load balance is mean by most computing");
    tap_ok(is_near(e.communication, 90.0 / 120), "communication is most computing by wall time");
    tap_ok(is_near(e.parallel, 60.0 / 120) && e.wall_ns == 120, "parallel is their product");
    tap_ok(e.max_process == 3 && e.max_computing_ns == 90 && !e.is_split, "rank 3 computes most");
}

static void test_split(void)
{
    /* Without transfer ranks take 60 + 30, 30 + 70, 60 + 50, 90 + 10: at most 110 of 120. */
    const struct ar_rank_time ranks[] = {{100, 40, 0}, {100, 70, 0}, {120, 60, 0}, {110, 20, 0}};
    const double waiting[] = {30, 1000, 50, 10}; /* 1000: more than there was */
    struct ar_efficiency e = ar_efficiency_of(ranks, waiting, 4);

    tap_ok(e.is_split && is_near(e.transfer, 110.0 / 120), "transfer is what the network took");
    tap_ok(is_near(e.serialisation, 90.0 / 110), "serialisation is what waiting took");
    tap_ok(is_near(e.serialisation * e.transfer, e.communication), "together: communication");
}

/* 30 and 50 of the time in MPI are MPI_Init: what counts is 90 and 70, of which 60 and 40 are computing. */
static void test_setup(void)
{
    const struct ar_rank_time ranks[] = {{120, 60, 30}, {120, 80, 50}};
    const double waiting_ns[] = {10, 25};
    struct ar_efficiency e = ar_efficiency_of(ranks, waiting_ns, 2);

    tap_ok(e.wall_ns == 120 && e.counted_ns == 90 && is_near(e.communication, 60.0 / 90),
           "setting up MPI is left out");
    tap_ok(is_near(e.serialisation, 60.0 / 70) && is_near(e.transfer, 70.0 / 90),
           "and so it is of the two");
    e = ar_efficiency_of((const struct ar_rank_time[]){{50, 50, 50}}, NULL, 1);
    tap_ok(e.wall_ns == 0, "of setting up itself nothing is known");
}

static void test_nothing(void)
{
    const struct ar_rank_time idle[] = {{0, 0, 0}, {0, 0, 0}},
                              waiting[] = {{10, 10, 0}, {10, 12, 0}};
    struct ar_efficiency e = ar_efficiency_of(idle, NULL, 2);

    tap_ok(e.wall_ns == 0 && e.parallel == 0 && ar_efficiency_of(NULL, NULL, 0).wall_ns == 0,
           "of no time nothing is known");
    e = ar_efficiency_of(waiting, NULL, 2);
    tap_ok(e.load_balance == 1 && e.communication == 0 && e.parallel == 0,
           "nobody computes: all alike, and it is all communication");
}

/* ---- of a profile --------------------------------------------------------------------------- */

static struct ar_profile profile;
static struct ar_totals totals;
static struct ar_by_function sums;
static struct ar_efficiencies efficiencies;
static uint32_t solve_id, phase_id, reduce_id;

static uint32_t add_rank(uint32_t rank, uint64_t wall_ns)
{
    uint32_t process = sample_rank(&profile, rank), main_thread, other;

    profile.processes[process].wall_ns = wall_ns;
    main_thread = sample_thread(&profile, process, 0);
    other = sample_thread(&profile, process, 1);
    sample_value(&profile, AR_METRIC_TIME, 0, main_thread, wall_ns);
    sample_value(&profile, AR_METRIC_TIME, 1, other, 77);
    sample_value(&profile, AR_METRIC_TIME, 2, other, 50); /* MPI beside the main thread */
    return main_thread;
}

/*
 * phase (region) > solve > [solve > MPI_Allreduce], MPI_Allreduce; and MPI_Allreduce of nobody.
 *   rank 0: phase 80, solve 70, inner solve 30 with 10 in MPI, 20 in MPI; 5 elsewhere
 *   rank 1: phase 90, solve 90, inner solve 0,                 60 in MPI; 5 elsewhere
 */
static void make(void)
{
    uint32_t thread_id, phase, solve, inner, at_inner, at_solve, lone, here;

    sample_start(&profile);
    thread_id = sample_function(&profile, AR_FUNCTION_THREAD, "worker", 0);
    reduce_id = sample_function(&profile, AR_FUNCTION_MPI, "MPI_Allreduce", 0);
    phase_id = sample_function(&profile, AR_FUNCTION_REGION, "phase", 0);
    solve_id = sample_function(&profile, AR_FUNCTION_PYTHON, "solve", 3);
    sample_node(&profile, sample_node(&profile, 0, thread_id, 0), reduce_id, 0);
    phase = sample_node(&profile, 0, phase_id, 0);
    solve = sample_node(&profile, phase, solve_id, 1);
    inner = sample_node(&profile, solve, solve_id, 4);
    at_inner = sample_node(&profile, inner, reduce_id, 5);
    at_solve = sample_node(&profile, solve, reduce_id, 6);
    lone = sample_node(&profile, 0, reduce_id, 7);
    here = add_rank(0, 100);
    sample_value(&profile, AR_METRIC_TIME, phase, here, 80);
    sample_value(&profile, AR_METRIC_TIME, solve, here, 70);
    sample_value(&profile, AR_METRIC_TIME, inner, here, 30);
    sample_value(&profile, AR_METRIC_TIME, at_inner, here, 10);
    sample_value(&profile, AR_METRIC_TIME, at_solve, here, 20);
    sample_value(&profile, AR_METRIC_TIME, lone, here, 5);
    here = add_rank(1, 100);
    sample_value(&profile, AR_METRIC_TIME, phase, here, 90);
    sample_value(&profile, AR_METRIC_TIME, solve, here, 90);
    sample_value(&profile, AR_METRIC_TIME, at_solve, here, 60);
    sample_value(&profile, AR_METRIC_TIME, lone, here, 5);
    sample_must(ar_totals_build(&totals, &profile));
    sample_must(ar_by_function_build(&sums, &profile, &totals));
}

static void end(void)
{
    ar_efficiencies_free(&efficiencies);
    ar_by_function_free(&sums);
    ar_totals_free(&totals);
    ar_profile_free(&profile);
}

static void test_profile(void)
{
    const struct ar_efficiency *e;

    make();
    sample_must(ar_efficiencies_build(&efficiencies, &sums, NULL));
    e = &efficiencies.run; /* computing 65 and 35 */
    tap_ok(is_near(e->load_balance, 50.0 / 65) && is_near(e->communication, 0.65) &&
               efficiencies.ranks[0].mpi_ns == 35 && efficiencies.ranks[1].mpi_ns == 65,
           "the run: main threads only");
    e = &efficiencies.functions[phase_id]; /* computing 50 and 30 of 90 */
    tap_ok(is_near(e->load_balance, 0.8) && is_near(e->communication, 50.0 / 90), "a region");
    e = &efficiencies.functions[solve_id]; /* computing 40 and 30 of 90 */
    tap_ok(is_near(e->load_balance, 35.0 / 40) && is_near(e->communication, 40.0 / 90),
           "a function that calls itself counts once");
    e = &efficiencies.functions[reduce_id];
    tap_ok(e->wall_ns == 65 && e->communication == 0, "MPI computes nothing");
    end();
}

/* In the region rank 0 waited for 4 of its 30 in MPI, rank 1 for 50 of its 60; alone neither did. */
static void test_profile_with_waits(void)
{
    double inner[] = {4, 0, 0}, outer[] = {0, 50, 0};
    double *by_node[16] = {0};
    struct ar_wait_times times[] = {
        {.waiting_ns = 4, .communicating_ns = 31}, {.waiting_ns = 50, .communicating_ns = 15}, {0}};
    struct ar_waits w = {.node_ns = by_node, .n_nodes = 16, .n_calls = 3, .times = times};
    const struct ar_efficiency *e;
    struct ar_efficiency run;

    make();
    by_node[profile.n_nodes - 3] = inner;
    by_node[profile.n_nodes - 2] = outer;
    sample_must(ar_efficiencies_build(&efficiencies, &sums, &w));
    e = &efficiencies.functions[phase_id]; /* 54 and 80 of 90 without a network */
    tap_ok(e->is_split && is_near(e->serialisation, 50.0 / 80) && is_near(e->transfer, 80.0 / 90) &&
               is_near(e->serialisation * e->transfer, e->communication),
           "a region with waits");
    e = &efficiencies.functions[solve_id]; /* 44 and 80 of 90 */
    tap_ok(is_near(e->serialisation, 40.0 / 80) && is_near(e->transfer, 80.0 / 90),
           "a function with waits");
    e = &efficiencies.run; /* 69 and 85 of 100 */
    tap_ok(is_near(e->serialisation, 65.0 / 85) && is_near(e->transfer, 0.85),
           "the run with waits");
    sample_must(ar_efficiency_of_run(&run, &profile, &w));
    tap_ok(run.serialisation == e->serialisation && run.transfer == e->transfer &&
               run.load_balance == e->load_balance && run.wall_ns == e->wall_ns,
           "from the times of waits alone it is the same");
    e = &efficiencies.functions[0];
    tap_ok(e->wall_ns == 100, "what is at the top has all");
    ar_efficiencies_free(&efficiencies);
    w.n_calls = 0;
    sample_must(ar_efficiencies_build(&efficiencies, &sums, &w));
    tap_ok(!efficiencies.run.is_split && isnan(efficiencies.run.transfer),
           "no records of waits: not known");
    end();
}

static void test_no_memory(void)
{
    enum ar_status status = AR_NOMEM;
    size_t n = 0;

    make();
    for (; status == AR_NOMEM && n < 100; n++) {
        alloc_fail_after(n);
        status = ar_efficiencies_build(&efficiencies, &sums, NULL);
        alloc_restore();
    }
    tap_ok(status == AR_OK && n > 5, "without memory there is nothing to free");
    end();
}

int main(void)
{
    test_ratios();
    test_split();
    test_setup();
    test_nothing();
    test_profile();
    test_profile_with_waits();
    test_no_memory();
    return tap_done();
}
