// SPDX-License-Identifier: BSD-3-Clause
/*
 * Three ranks; every figure is worked out by hand. Times in nanoseconds, rank 1 has two threads,
 * rank 2 never came to the solver:
 *
 *     node            rank 0   rank 1          rank 2
 *     root              1000     800             600
 *     +- main            900     700             500
 *     |  +- solve        600     400 + 100         -
 *     |  |  +- wait      250      50               -
 *     |  +- step         100     100             200
 *     +- (thread)                  300
 */
#include "analysis/totals.h"

#include "dice.h"
#include "sample_profile.h"
#include "tap.h"

#include <math.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct ar_profile profile;
static struct ar_totals totals;
static uint32_t main_node, solve, wait_node, step, thread;

static void time_of(uint32_t node, uint32_t location, uint64_t ns)
{
    sample_value(&profile, AR_METRIC_TIME, node, location, ns);
}

static void add_ranks(void)
{
    static const uint64_t walls[] = {1000, 800, 600};

    for (uint32_t i = 0; i < 3; i++) {
        struct ar_process process = {.world_rank = i, .wall_ns = walls[i], .overhead_ns = 10 * i};
        uint32_t id;

        sample_must(ar_profile_process(&profile, &process, &id));
        sample_lose(&profile, id, AR_LOST_NODES, i);
        sample_lose(&profile, id, AR_LOST_THREADS, 10);
        sample_thread(&profile, id, 0);
        if (i == 1)
            sample_thread(&profile, id, 1);
    }
}

static void add_nodes(void)
{
    uint32_t mpi = sample_function(&profile, AR_FUNCTION_MPI, "MPI_Wait", 0);

    main_node =
        sample_node(&profile, 0, sample_function(&profile, AR_FUNCTION_PYTHON, "main", 1), 1);
    solve = sample_node(&profile, main_node,
                        sample_function(&profile, AR_FUNCTION_PYTHON, "solve", 1), 2);
    wait_node = sample_node(&profile, solve, mpi, 3);
    step = sample_node(&profile, main_node,
                       sample_function(&profile, AR_FUNCTION_PYTHON, "step", 1), 4);
    thread =
        sample_node(&profile, 0, sample_function(&profile, AR_FUNCTION_THREAD, "Thread-1", 0), 0);
}

/* Locations: 0 rank 0, 1 and 2 rank 1, 3 rank 2. */
static void add_values(void)
{
    time_of(0, 0, 1000), time_of(0, 1, 800), time_of(0, 3, 600);
    time_of(main_node, 0, 900), time_of(main_node, 1, 700), time_of(main_node, 3, 500);
    time_of(solve, 0, 600), time_of(solve, 1, 400), time_of(solve, 2, 100);
    time_of(wait_node, 0, 250), time_of(wait_node, 1, 50);
    time_of(step, 0, 100), time_of(step, 1, 100), time_of(step, 3, 200);
    time_of(thread, 2, 300);
    sample_value(&profile, AR_METRIC_CALLS, solve, 0, 3);
    sample_value(&profile, AR_METRIC_CALLS, solve, 1, 4);
    sample_value(&profile, AR_METRIC_CALLS, solve, 2, 5);
    sample_value(&profile, AR_METRIC_BYTES_OUT, wait_node, 0, 1 << 20);
    sample_value(&profile, AR_METRIC_BYTES_OUT, wait_node, 1, 24);
    sample_value(&profile, AR_METRIC_BYTES_IN, wait_node, 1, 7);
}

static void build(void)
{
    sample_start(&profile);
    add_ranks();
    add_nodes();
    add_values();
    tap_ok(ar_totals_build(&totals, &profile) == AR_OK, "totals of three ranks");
}

static void check(const char *what, const struct ar_spread *s, uint64_t sum, uint64_t min,
                  uint32_t min_process, uint64_t max, uint32_t max_process)
{
    bool good = s->sum == (double)sum && s->mean == (double)sum / 3 && s->min == min &&
                s->min_process == min_process && s->max == max && s->max_process == max_process;

    if (!tap_ok(good, "%s", what))
        tap_note("sum %g mean %g min %" PRIu64 " of %u max %" PRIu64 " of %u", s->sum, s->mean,
                 s->min, s->min_process, s->max, s->max_process);
}

static void test_times(void)
{
    check("time of the root", &totals.time[0], 2400, 600, 2, 1000, 0);
    check("time of main", &totals.time[main_node], 2100, 500, 2, 900, 0);
    check("a rank's time is that of its threads", &totals.time[solve], 1100, 0, 2, 600, 0);
    check("a rank that was never there has 0", &totals.time[wait_node], 300, 0, 2, 250, 0);
    check("of equal ones the first", &totals.time[step], 400, 100, 0, 200, 2);
    check("only rank 1: the first of the others is the minimum", &totals.time[thread], 300, 0, 0,
          300, 1);
}

static void test_selves(void)
{
    check("self time of the root", &totals.self[0], 300, 100, 0, 100, 0);
    /* Thread 1 of rank 1 was in solve but not in main, so its 100 are taken off nowhere. */
    check("self time of main", &totals.self[main_node], 700, 200, 0, 300, 2);
    check("self time of solve", &totals.self[solve], 800, 0, 2, 450, 1);
    check("a leaf's is its time", &totals.self[wait_node], 300, 0, 2, 250, 0);
}

static void test_sums(void)
{
    tap_ok(totals.n_calls[solve] == 12 && totals.n_calls[step] == 0, "calls over all ranks");
    tap_ok(totals.bytes_out[wait_node] == (1 << 20) + 24 && totals.bytes_in[wait_node] == 7,
           "bytes over all ranks");
    tap_ok(totals.mean_wall_ns == 800, "wall time: %g", totals.mean_wall_ns);
    tap_ok(totals.mpi_ns == 100, "time in MPI is the mean over ranks: %g", totals.mpi_ns);
    tap_ok(totals.n_lost[0] == 3 && totals.n_lost[1] == 0 && totals.n_lost[2] == 30, "losses");
}

static void test_children(void)
{
    tap_ok(totals.first_child[0] == main_node && totals.next_sibling[main_node] == thread &&
               totals.next_sibling[thread] == AR_NO_ID,
           "below the root main comes first, then the thread");
    tap_ok(totals.first_child[main_node] == solve && totals.next_sibling[solve] == step &&
               totals.next_sibling[step] == AR_NO_ID,
           "below main the solver comes first");
    tap_ok(totals.first_child[wait_node] == AR_NO_ID && totals.next_sibling[0] == AR_NO_ID,
           "a leaf has none, the root is alone");
}

/* Rounding can make the parts larger than the whole: self time stops at 0. */
static void test_parts_larger_than_whole(void)
{
    struct ar_profile p;
    struct ar_totals t;

    sample_start(&p);
    sample_thread(&p, sample_rank(&p, 0), 0);

    uint32_t inside = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", 1), 1);

    sample_value(&p, AR_METRIC_TIME, 0, 0, 10);
    sample_value(&p, AR_METRIC_TIME, inside, 0, 11);
    sample_must(ar_totals_build(&t, &p));
    tap_ok(t.self[0].sum == 0 && t.self[inside].sum == 11, "self time is not negative");
    ar_totals_free(&t);
    ar_profile_free(&p);
}

/* Self time 5 on rank 0, 0 on rank 2; rank 1 was not there, which is 0 as well. */
static void test_zero_and_absent(void)
{
    struct ar_profile p;
    struct ar_totals t;

    sample_start(&p);
    for (uint32_t i = 0; i < 3; i++)
        sample_thread(&p, sample_rank(&p, i), 0);

    uint32_t outer = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", 1), 1);
    uint32_t inner = sample_node(&p, outer, sample_function(&p, AR_FUNCTION_PYTHON, "g", 1), 1);

    sample_value(&p, AR_METRIC_TIME, outer, 0, 5);
    sample_value(&p, AR_METRIC_TIME, outer, 2, 7);
    sample_value(&p, AR_METRIC_TIME, inner, 2, 7);
    sample_must(ar_totals_build(&t, &p));
    check("of equal ones the first, there or not", &t.self[outer], 5, 0, 1, 5, 0);
    ar_totals_free(&t);
    ar_profile_free(&p);
}

static void test_processes(void)
{
    tap_ok(totals.overhead_ns == 30 && totals.overhead == 30.0 / 2400, "overhead of all ranks");
}

/* Rank 0 has the mark in one thread of two, rank 1 another one: both are shown. */
static void test_marks(void)
{
    struct ar_profile p;
    struct ar_totals t;

    sample_start(&p);

    uint32_t rank_0 = sample_rank(&p, 0), a = sample_thread(&p, rank_0, 0);
    uint32_t b = sample_thread(&p, rank_0, 1), c = sample_thread(&p, sample_rank(&p, 1), 0);
    uint32_t f = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", 1), 1);
    uint32_t g = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_BUILTIN, "g", 0), 2);
    uint32_t task = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_TASK, "task", 0), 0);

    sample_value(&p, AR_METRIC_MARKS, f, b, AR_MARK_ESTIMATED);
    sample_value(&p, AR_METRIC_MARKS, f, c, AR_MARK_PARTIAL);
    sample_value(&p, AR_METRIC_MARKS, f, a, 0);
    sample_value(&p, AR_METRIC_MARKS, g, c, AR_MARK_ESTIMATED);
    sample_value(&p, AR_METRIC_MARKS, task, c, UINT64_MAX); /* of a later version */
    sample_value(&p, AR_METRIC_AWAITED, task, a, 5);
    sample_value(&p, AR_METRIC_AWAITED, task, b, 70);
    sample_value(&p, AR_METRIC_AWAITED, task, c, 900);
    sample_must(ar_totals_build(&t, &p));
    tap_ok(t.time[0].doubt.marks == 0, "no mark where there is none");
    tap_ok(t.time[f].doubt.marks == (AR_MARK_PARTIAL | AR_MARK_ESTIMATED | AR_MARK_NO_ERROR),
           "a rank of either");
    tap_ok(t.time[g].doubt.marks == (AR_MARK_ESTIMATED | AR_MARK_NO_ERROR),
           "one rank will do; without a variance the error is not known");
    tap_ok(isnan(ar_doubt_error(t.time[g].doubt, 2)), "it is no number");
    tap_ok(t.self[0].doubt.marks == t.time[g].doubt.marks, "what it is taken off is estimated");
    tap_ok(t.time[task].doubt.marks & AR_MARK_PARTIAL &&
               t.time[task].doubt.marks & AR_MARK_ESTIMATED,
           "no less");
    tap_ok(t.awaited_ns[task] == 975 && t.awaited_ns[f] == 0, "awaited by all ranks");
    ar_totals_free(&t);
    ar_profile_free(&p);
}

/*
 * main calls len, whose time is estimated on both ranks: variances of 9 and 16 µs² are 25 in the sum, an error of
 * 5 µs, of 2.5 µs in the mean. What is taken off the time of main is as uncertain as that.
 */
static void test_doubts(void)
{
    struct ar_profile p;
    struct ar_totals t;

    sample_start(&p);

    uint32_t a = sample_thread(&p, sample_rank(&p, 0), 0);
    uint32_t b = sample_thread(&p, sample_rank(&p, 1), 0);
    uint32_t f = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 1);
    uint32_t len = sample_node(&p, f, sample_function(&p, AR_FUNCTION_BUILTIN, "len", 0), 2);
    uint32_t exact = sample_node(&p, f, sample_function(&p, AR_FUNCTION_BUILTIN, "sum", 0), 2);

    for (uint32_t here = a; here <= b; here++) {
        sample_value(&p, AR_METRIC_TIME, f, here, 1000);
        sample_value(&p, AR_METRIC_TIME, len, here, 300);
        sample_value(&p, AR_METRIC_TIME, exact, here, 200);
        sample_value(&p, AR_METRIC_MARKS, len, here, AR_MARK_ESTIMATED);
        sample_value(&p, AR_METRIC_VARIANCE, len, here, here == a ? 9 : 16);
    }
    sample_must(ar_totals_build(&t, &p));
    tap_ok(t.time[len].doubt.marks == AR_MARK_ESTIMATED && t.time[len].doubt.variance == 25,
           "variances add up");
    tap_ok(ar_doubt_error(t.time[len].doubt, 1) == 5000 &&
               ar_doubt_error(t.time[len].doubt, 2) == 2500,
           "of the sum, and of the mean");
    tap_ok(t.time[f].doubt.marks == 0 && ar_doubt_error(t.time[f].doubt, 2) == 0,
           "a caller's time is measured");
    tap_ok(t.self[f].doubt.marks == AR_MARK_ESTIMATED && t.self[f].doubt.variance == 25,
           "its self time is not");
    tap_ok(t.self[len].doubt.variance == 25, "nor is that of what was estimated");
    tap_ok(t.time[exact].doubt.marks == 0 && t.self[exact].doubt.marks == 0, "others are");
    tap_ok(t.self[0].doubt.marks == 0, "and those that are further up");
    ar_totals_free(&t);
    ar_profile_free(&p);
}

/* The import of 100 has MPI_Init of 90 in it, beside one of 50 and a function of 95. */
static void test_imports_rank_without_mpi(void)
{
    struct ar_profile p;
    struct ar_totals t;

    sample_start(&p);

    uint32_t here = sample_thread(&p, sample_rank(&p, 0), 0);
    uint32_t import = sample_function(&p, AR_FUNCTION_IMPORT, "(import)", 0);
    uint32_t by_c =
        sample_function(&p, AR_FUNCTION_BUILTIN, "built-in method builtins.__import__", 0);
    uint32_t nodes[] = {sample_node(&p, 0, by_c, 1), sample_node(&p, 0, import, 2),
                        sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", 1), 3)};
    uint32_t inner = sample_node(&p, nodes[0], import, 1);
    uint32_t init = sample_node(&p, inner, sample_function(&p, AR_FUNCTION_MPI, "MPI_Init", 0), 1);
    const uint64_t times[] = {100, 50, 95};

    for (int i = 0; i < 3; i++)
        sample_value(&p, AR_METRIC_TIME, nodes[i], here, times[i]);
    sample_value(&p, AR_METRIC_TIME, inner, here, 100);
    sample_value(&p, AR_METRIC_TIME, init, here, 90);
    sample_must(ar_totals_build(&t, &p));
    tap_ok(t.time[nodes[0]].sum == 100 && t.mpi_below_ns[nodes[0]] == 90 &&
               ar_totals_rank(&t, &p, nodes[0]) == 10,
           "MPI in an import is in its time, and not in its rank");
    tap_ok(t.first_child[0] == nodes[2] && t.next_sibling[nodes[2]] == nodes[1] &&
               t.next_sibling[nodes[1]] == nodes[0],
           "so that it comes last");
    ar_totals_free(&t);
    ar_profile_free(&p);
}

static void test_empty(void)
{
    struct ar_profile p;
    struct ar_totals t;

    sample_start(&p);
    tap_ok(ar_totals_build(&t, &p) == AR_OK, "no ranks");
    tap_ok(t.time[0].sum == 0 && t.time[0].mean == 0 && t.self[0].max == 0 && t.mean_wall_ns == 0 &&
               t.first_child[0] == AR_NO_ID,
           "all is 0");
    ar_totals_free(&t);
    tap_ok(!t.time && !t.next_sibling, "freed, it is zeroed");
    ar_totals_free(&t);
    sample_rank(&p, 0);
    sample_rank(&p, 1);
    tap_ok(ar_totals_build(&t, &p) == AR_OK && t.time[0].min == 0 && t.time[0].min_process == 0,
           "ranks that recorded nothing");
    ar_totals_free(&t);
    ar_profile_free(&p);
}

/* ---- against a full table, which is slow and obvious ----------------------------------------- */

#define N_NODES 50
#define N_RANKS 9

static uint64_t table[N_NODES][2 * N_RANKS]; /* two threads a rank; 0: no value */

static void make_random(struct ar_profile *p, uint64_t seed)
{
    struct dice d = {seed};

    sample_start(p);
    for (uint32_t i = 0; i < N_RANKS; i++) {
        sample_rank(p, i);
        sample_thread(p, i, 0);
        sample_thread(p, i, 1);
    }
    for (uint32_t i = 1; i < N_NODES; i++)
        sample_node(p, dice_below(&d, i), 0, i);
    memset(table, 0, sizeof table);
    for (uint32_t i = 0; i < N_NODES; i++)
        for (uint32_t k = 0; k < 2 * N_RANKS; k++)
            if (dice_below(&d, 2)) {
                table[i][k] = 1 + dice_below(&d, 1000);
                sample_value(p, AR_METRIC_TIME, i, k, table[i][k]);
            }
}

static uint64_t slow_self(const struct ar_profile *p, uint32_t node, uint32_t k)
{
    uint64_t inside = 0;

    for (uint32_t i = 1; i < N_NODES; i++)
        if (p->nodes[i].parent == node)
            inside += table[i][k];
    return inside < table[node][k] ? table[node][k] - inside : 0;
}

static bool spread_is(const struct ar_spread *s, const uint64_t *by_rank)
{
    uint64_t sum = 0, min = UINT64_MAX, max = 0;
    double squares = 0;

    for (int i = 0; i < N_RANKS; i++) {
        double distance = (double)by_rank[i] - s->mean;

        squares += distance * distance;
        sum += by_rank[i];
        min = by_rank[i] < min ? by_rank[i] : min;
        max = by_rank[i] > max ? by_rank[i] : max;
    }
    squares /= N_RANKS;
    if (s->sd * s->sd < squares - 1e-6 || s->sd * s->sd > squares + 1e-6)
        return false;
    return s->sum == (double)sum && s->min == min && s->max == max &&
           by_rank[s->min_process] == min && by_rank[s->max_process] == max;
}

static bool node_is_true(const struct ar_profile *p, const struct ar_totals *t, uint32_t node)
{
    uint64_t times[N_RANKS], selves[N_RANKS];

    for (uint32_t i = 0; i < N_RANKS; i++) {
        times[i] = table[node][2 * i] + table[node][2 * i + 1];
        selves[i] = slow_self(p, node, 2 * i) + slow_self(p, node, 2 * i + 1);
    }
    return spread_is(&t->time[node], times) && spread_is(&t->self[node], selves);
}

static bool children_are_true(const struct ar_profile *p, const struct ar_totals *t, uint32_t node)
{
    size_t n_listed = 0, n_there = 0;
    double last = -1;
    bool good = true;

    for (uint32_t c = t->first_child[node]; c != AR_NO_ID; c = t->next_sibling[c], n_listed++) {
        good = good && p->nodes[c].parent == node && (last < 0 || t->time[c].sum <= last);
        last = t->time[c].sum;
    }
    for (uint32_t i = 1; i < N_NODES; i++)
        n_there += p->nodes[i].parent == node;
    return good && n_listed == n_there;
}

static void test_against_table(uint64_t seed)
{
    struct ar_profile p;
    struct ar_totals t;
    bool good = true, ordered = true;

    make_random(&p, seed);
    sample_must(ar_totals_build(&t, &p));
    for (uint32_t node = 0; node < N_NODES; node++) {
        good = good && node_is_true(&p, &t, node);
        ordered = ordered && children_are_true(&p, &t, node);
    }
    tap_ok(good, "%" PRIu64 ": time and self time agree with a full table", seed);
    tap_ok(ordered, "%" PRIu64 ": all children, the longest first", seed);
    ar_totals_free(&t);
    ar_profile_free(&p);
}

int main(void)
{
    build();
    test_times();
    test_selves();
    test_sums();
    test_children();
    test_processes();
    ar_totals_free(&totals);
    ar_profile_free(&profile);
    test_parts_larger_than_whole();
    test_zero_and_absent();
    test_marks();
    test_doubts();
    test_empty();
    test_imports_rank_without_mpi();
    for (uint64_t seed = 1; seed <= 20; seed++)
        test_against_table(seed);
    return tap_done();
}
