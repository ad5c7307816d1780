// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/select.h"

#include "analysis/fold.h"
#include "analysis/totals.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

/*
 * Three ranks; rank r has r + 1 times what rank 0 has. Rank 1 has a worker thread, too.
 *
 *     main                    1000
 *         setup               100     at line 3
 *             read (C)        60
 *         [assemble(n=2)]     400     at line 5
 *             helper          300     in lib/util.py, called at line 6
 *                 MPI_Send    200     at line 9 of helper
 *                 [assemble(n=2)]  20
 *         solve               450     at line 8
 *             helper          50
 *     worker (thread)         500     of rank 1 only
 *         solve               500
 */
static struct ar_profile whole, chosen;
static uint32_t main_thread[3], worker;

static void put(uint32_t node, uint32_t location, uint64_t n_calls, uint64_t ns)
{
    sample_value(&whole, AR_METRIC_CALLS, node, location, n_calls);
    sample_value(&whole, AR_METRIC_TIME, node, location, ns);
}

static uint32_t call(uint32_t parent, uint32_t function, uint32_t line, uint64_t ns)
{
    uint32_t node = sample_node(&whole, parent, function, line);

    for (uint32_t rank = 0; rank < 3; rank++)
        put(node, main_thread[rank], 1, (rank + 1) * ns);
    return node;
}

static uint32_t python(const char *name)
{
    return sample_function(&whole, AR_FUNCTION_PYTHON, name, 1);
}

static void start_threads(void)
{
    for (uint32_t rank = 0; rank < 3; rank++) {
        uint32_t process = sample_rank(&whole, rank);

        whole.processes[process].wall_ns = 1000 * (rank + 1);
        whole.processes[process].overhead_ns = 1;
        main_thread[rank] = sample_thread(&whole, process, 0);
        sample_value(&whole, AR_METRIC_TIME, 0, main_thread[rank], 1000 * (rank + 1));
        if (rank == 1) {
            worker = sample_thread(&whole, process, 1);
            whole.locations[worker].name = sample_text(&whole, "pool-1");
            sample_value(&whole, AR_METRIC_TIME, 0, worker, 500);
        }
    }
}

static void start(void)
{
    sample_start(&whole);
    start_threads();

    uint32_t helper = sample_function_in(&whole, AR_FUNCTION_PYTHON, "helper", "/x/lib/util.py", 7);
    uint32_t region = sample_function(&whole, AR_FUNCTION_REGION, "assemble(n=2)", 0);
    uint32_t main_node = call(0, python("main"), 0, 1000);
    uint32_t setup = call(main_node, python("setup"), 3, 100);

    call(setup, sample_function(&whole, AR_FUNCTION_BUILTIN, "built-in method builtins.read", 0), 4,
         60);

    uint32_t assemble = call(main_node, region, 5, 400);
    uint32_t below = call(assemble, helper, 6, 300);

    call(below, sample_function(&whole, AR_FUNCTION_MPI, "MPI_Send", 0), 9, 200);
    call(below, region, 10, 20);
    call(call(main_node, python("solve"), 8, 450), helper, 2, 50);

    uint32_t thread =
        sample_node(&whole, 0, sample_function(&whole, AR_FUNCTION_THREAD, "pool-1", 0), 0);

    put(thread, worker, 1, 500);
    put(sample_node(&whole, thread, python("solve"), 0), worker, 1, 500);
    sample_must(ar_profile_sort(&whole));
}

/* The sum over the threads that are left; -1: there is no such node. */
static int64_t sum_at(const char *path, enum ar_metric_id metric)
{
    uint32_t node = sample_node_at(&chosen, path);
    struct ar_rows rows;
    int64_t sum = 0;

    if (node == AR_NO_ID)
        return -1;
    sample_must(ar_rows_open(&rows, &chosen, metric));

    struct ar_row row = ar_rows_get(&rows, node);

    for (size_t i = 0; i < row.n; i++)
        sum +=
            row.values[i].location < chosen.n_locations ? (int64_t)row.values[i].value : -1000000;
    ar_rows_close(&rows);
    return sum;
}

static void check(const char *path, int64_t ns)
{
    int64_t found = sum_at(path, AR_METRIC_TIME);

    if (!tap_ok(found == ns, "%s has %d", *path ? path : "the root", (int)ns))
        tap_note("it has %d", (int)found);
}

static void choose(struct ar_selection s)
{
    struct ar_error err = {0};

    if (!tap_ok(ar_select(&chosen, &whole, &s, &err) == AR_OK && sample_is_sound(&chosen),
                "a selection"))
        tap_note("%s", err.text);
}

static void test_ranks(void)
{
    choose((struct ar_selection){.ranks = "0,2-9"});
    tap_ok(chosen.n_roots == 2 && chosen.n_locations == 2 && chosen.processes[1].world_rank == 2,
           "two of three ranks");
    check("", 1000 + 3000);
    check("/main:0/solve:8", 450 * 4);
    check("/pool-1:0/solve:0", 0);

    struct ar_totals t;
    uint32_t node = sample_node_at(&chosen, "/main:0/setup:3");

    sample_must(ar_totals_build(&t, &chosen));
    tap_ok(t.mean_wall_ns == 2000 && t.overhead_ns == 2, "means are over those");
    tap_ok(t.time[node].mean == 200 && t.time[node].sd == 100 && t.time[node].max_process == 1 &&
               t.self[node].sum == 160,
           "and so are spreads");
    ar_totals_free(&t);
    ar_profile_free(&chosen);
}

static void test_threads(void)
{
    choose((struct ar_selection){.thread = "0"});
    check("", 6000);
    check("/pool-1:0", 0);
    ar_profile_free(&chosen);
    choose((struct ar_selection){.thread = "pool*"});
    check("", 500);
    check("/main:0", 0);
    check("/pool-1:0/solve:0", 500);
    tap_ok(chosen.n_roots == 3, "ranks without it are ranks all the same");
    ar_profile_free(&chosen);
}

static void test_regions(void)
{
    choose((struct ar_selection){.regions = {{"assemble"}, 1}, .ranks = "0-1"});
    check("", 400 * 3);
    check("/assemble(n=2):0", 400 * 3);
    check("/assemble(n=2):0/main:0", 400 * 3);
    check("/assemble(n=2):0/main:0/helper:6/assemble(n=2):10", 20 * 3);
    tap_ok(chosen.processes[0].wall_ns == 400 && chosen.processes[1].wall_ns == 800 &&
               chosen.processes[1].overhead_ns == 0,
           "the time of a rank is that in the region");
    tap_ok(chosen.n_nodes == 6, "nothing else is left");
    ar_profile_free(&chosen);
}

static void test_exclude(void)
{
    choose((struct ar_selection){.exclude = {{"util.py"}, 1}});
    check("/main:0/assemble(n=2):5/MPI_Send:6", 200 * 6);
    check("/main:0/assemble(n=2):5", 400 * 6);
    tap_ok(sum_at("/main:0/solve:8", AR_METRIC_CALLS) == 3,
           "its calls are not those of its caller");
    ar_profile_free(&chosen);
    choose((struct ar_selection){.exclude = {{"assemble*", "setup"}, 2}});
    check("/main:0/helper:6/MPI_Send:9", 200 * 6);
    check("/main:0/read:4", -1);
    check("/main:0/built-in method builtins.read:3", 60 * 6);
    ar_profile_free(&chosen);
}

static void test_include(void)
{
    choose((struct ar_selection){.include = {{"*/lib/*"}, 1}});
    check("/assemble(n=2):0/helper:0/MPI_Send:9", 200 * 6);
    check("/helper:0", 50 * 6);
    check("/main:0", -1);
    check("/built-in method builtins.read:0", -1);
    ar_profile_free(&chosen);
    choose((struct ar_selection){.include = {{"setup"}, 1}, .exclude = {{"MPI_Send"}, 1}});
    check("/setup:0/built-in method builtins.read:4", 60 * 6);
    check("/assemble(n=2):0", 400 * 6);
    check("/assemble(n=2):0/MPI_Send:6", -1);
    ar_profile_free(&chosen);
}

/* Folding afterwards, which adds up lines, finds the same. */
static void test_folded(void)
{
    struct ar_selection s = {.ranks = "1", .thread = "0", .exclude = {{"solve", "setup"}, 2}};
    struct ar_profile selected;
    struct ar_error err;

    sample_must(ar_select(&selected, &whole, &s, &err));
    sample_must(ar_fold(&chosen, &selected));
    check("", 2000);
    check("/main:0/helper:0", 100);
    check("/main:0/assemble(n=2):0/helper:0", 600);
    sample_must(ar_profile_unpack(&chosen));
    tap_ok(sample_find(&chosen, AR_METRIC_TIME, sample_node_at(&chosen, "/main:0"), 0) == 2000,
           "also as plain values");
    ar_profile_free(&chosen);
    ar_profile_free(&selected);
}

static void refuse(struct ar_selection s, const char *what)
{
    struct ar_error err = {0};

    tap_ok(ar_select(&chosen, &whole, &s, &err) == AR_BAD && strstr(err.text, what), "%s",
           err.text);
}

static void test_nothing(void)
{
    static const char *const wrong[] = {"", "x", "1-", "-1", "1,", ",1", "1-x", "0x1", "7", "1 2"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse((struct ar_selection){.ranks = wrong[i]}, "--ranks");
    refuse((struct ar_selection){.thread = "7"}, "--thread 7");
    refuse((struct ar_selection){.regions = {{"main"}, 1}}, "--region main");
    refuse((struct ar_selection){.include = {{"nobody"}, 1}}, "--include nobody");
}

static void test_no_memory(void)
{
    struct ar_selection s = {
        .ranks = "0-1", .regions = {{"assemble"}, 1}, .exclude = {{"helper"}, 1}};
    enum ar_status status = AR_NOMEM;
    struct ar_error err;
    size_t n = 0;

    for (; status == AR_NOMEM && n < 1000; n++) {
        alloc_fail_after(n);
        status = ar_select(&chosen, &whole, &s, &err);
        alloc_restore();
    }
    tap_ok(status == AR_OK && n > 20, "memory may run out anywhere");
    ar_profile_free(&chosen);
}

int main(void)
{
    start();
    test_ranks();
    test_threads();
    test_regions();
    test_exclude();
    test_include();
    test_folded();
    test_nothing();
    test_no_memory();
    ar_profile_free(&whole);
    return tap_done();
}
