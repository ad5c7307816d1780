// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/fold.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <inttypes.h>
#include <string.h>

static struct ar_profile profile, folded;

static uint32_t python(const char *name)
{
    return sample_function(&profile, AR_FUNCTION_PYTHON, name, 1);
}

static uint32_t importlib(const char *name)
{
    return sample_function_in(&profile, AR_FUNCTION_PYTHON, name, "<frozen importlib._bootstrap>",
                              1);
}

static uint32_t call(uint32_t parent, uint32_t function, uint32_t line, uint64_t n_calls,
                     uint64_t ns)
{
    uint32_t id = sample_node(&profile, parent, function, line);

    sample_value(&profile, AR_METRIC_CALLS, id, 0, n_calls);
    sample_value(&profile, AR_METRIC_TIME, id, 0, ns);
    return id;
}

static void start(void)
{
    sample_start(&profile);
    sample_thread(&profile, sample_rank(&profile, 0), 0);
    sample_value(&profile, AR_METRIC_TIME, 0, 0, 10000);
}

static void fold(void)
{
    tap_ok(ar_fold(&folded, &profile) == AR_OK && sample_is_sound(&folded), "folded");
}

static void finish(void)
{
    ar_profile_free(&profile);
    ar_profile_free(&folded);
}

static void check(const char *path, uint64_t n_calls, uint64_t ns)
{
    uint32_t node = sample_node_at(&folded, path);
    uint64_t calls_found = sample_find(&folded, AR_METRIC_CALLS, node, 0);
    uint64_t ns_found = sample_find(&folded, AR_METRIC_TIME, node, 0);

    if (!tap_ok(node != AR_NO_ID && calls_found == n_calls && ns_found == ns, "%s", path))
        tap_note("node %d, %" PRIu64 " calls, %" PRIu64 " ns", (int)node, calls_found, ns_found);
}

/* f is called from lines 10 and 11 of main, and g from each of them. */
static void test_lines(void)
{
    start();

    uint32_t main_node = call(0, python("main"), 3, 1, 9000);
    uint32_t here = call(main_node, python("f"), 10, 2, 100);
    uint32_t there = call(main_node, python("f"), 11, 3, 200);

    call(here, python("g"), 5, 1, 10);
    call(there, python("g"), 5, 4, 20);
    call(there, python("g"), 6, 4, 40);
    fold();
    tap_ok(folded.n_nodes == 4, "root, main, f, g");
    check("/main:0", 1, 9000);
    check("/main:0/f:0", 5, 300);
    check("/main:0/f:0/g:0", 9, 70);
    finish();
}

static void test_mpi_keeps_its_lines(void)
{
    start();

    uint32_t wait = sample_function(&profile, AR_FUNCTION_MPI, "MPI_Wait", 0);
    uint32_t here = call(0, python("f"), 10, 1, 100), there = call(0, python("f"), 11, 1, 200);

    sample_value(&profile, AR_METRIC_MIN_TIME, call(here, wait, 20, 1, 7), 0, 7);
    sample_value(&profile, AR_METRIC_MIN_TIME, call(there, wait, 20, 2, 14), 0, 6);
    sample_value(&profile, AR_METRIC_MAX_TIME, call(there, wait, 21, 1, 9), 0, 9);
    fold();
    check("/f:0/MPI_Wait:20", 3, 21);
    check("/f:0/MPI_Wait:21", 1, 9);
    tap_ok(sample_find(&folded, AR_METRIC_MIN_TIME, sample_node_at(&folded, "/f:0/MPI_Wait:20"),
                       0) == 6,
           "the shorter of two shortest calls");
    tap_ok(folded.metrics[AR_METRIC_MIN_TIME].n_values == 1, "is one value");
    finish();
}

/* import numpy, from line 1: machinery, module code, and in that another import. */
static void test_imports(void)
{
    start();

    uint32_t main_node = call(0, python("main"), 1, 1, 9000);
    uint32_t find = call(main_node, importlib("_find_and_load"), 1, 1, 800);
    uint32_t load = call(find, importlib("_load_unlocked"), 50, 1, 700);
    uint32_t module = call(load, python("<module>"), 60, 1, 600);
    uint32_t inner = call(module, importlib("_find_and_load"), 2, 1, 300);

    call(find, importlib("_find_spec"), 51, 2, 50);
    call(inner, importlib("_load_unlocked"), 50, 1, 290);
    call(module, python("setup"), 3, 1, 20);
    fold();
    check("/main:0/(import):1", 1, 800);
    check("/main:0/(import):1/<module>:0", 1, 600);
    check("/main:0/(import):1/<module>:0/(import):2", 1, 300);
    check("/main:0/(import):1/<module>:0/setup:0", 1, 20);
    tap_ok(folded.n_nodes == 6, "and nothing of its inside");
    finish();
}

static void test_imports_from_several_lines(void)
{
    start();
    call(0, importlib("_find_and_load"), 1, 1, 100);
    call(0, importlib("_find_and_load"), 2, 1, 200);
    call(0, importlib("_handle_fromlist"), 2, 3, 30);
    fold();
    check("/(import):1", 1, 100);
    check("/(import):2", 4, 230);
    finish();
}

/* A module in a zip file, as Python 3.9 loads it: the code that does so is on the stack all the time. */
static void test_imports_from_zip_files(void)
{
    start();

    uint32_t find = call(0, importlib("_find_and_load"), 1, 1, 800);
    uint32_t load = call(
        find,
        sample_function_in(&profile, AR_FUNCTION_PYTHON, "load_module", "<frozen zipimport>", 1),
        50, 1, 700);

    call(load, python("<module>"), 60, 1, 600);
    fold();
    check("/(import):1", 1, 800);
    check("/(import):1/<module>:0", 1, 600);
    tap_ok(folded.n_nodes == 3, "the import of a zip file is one call, too");
    finish();
}

/* Only Python functions of the frozen modules are meant. */
static void test_not_an_import(void)
{
    start();
    call(0, sample_function_in(&profile, AR_FUNCTION_BUILTIN, "exec", "<frozen importlib>", 0), 1,
         1, 10);
    call(0, sample_function_in(&profile, AR_FUNCTION_PYTHON, "f", "<frozen os>", 1), 1, 1, 20);
    fold();
    check("/exec:0", 1, 10);
    check("/f:0", 1, 20);
    finish();
}

static void test_tables(void)
{
    struct ar_process process = {.world_rank = 3, .wall_ns = 5};
    uint32_t id;

    start();
    sample_must(ar_profile_process(&profile, &process, &id));
    sample_lose(&profile, id, AR_LOST_NODES, 1);
    sample_value(&profile, AR_METRIC_TIME, 0, sample_thread(&profile, id, 2), 77);
    sample_must(ar_profile_fact(&profile, sample_str("python"), sample_str("3.12")));
    fold();
    tap_ok(folded.n_processes == 2 && folded.processes[1].world_rank == 3 &&
               ar_profile_lost(&folded, 1, AR_LOST_NODES) == 1,
           "processes are the same");
    tap_ok(folded.n_locations == 2 && folded.locations[1].thread == 2, "so are threads");
    tap_ok(strcmp(ar_profile_fact_text(&folded, "python"), "3.12") == 0, "and facts");
    tap_ok(sample_find(&folded, AR_METRIC_TIME, 0, 0) == 10000 &&
               sample_find(&folded, AR_METRIC_TIME, 0, 1) == 77,
           "and the root's time");
    tap_ok(profile.n_nodes == 1 && profile.n_processes == 2, "what was folded is as it was");
    finish();
}

/* Threads are in the nodes that theirs became. */
static void test_stacks(void)
{
    start();
    uint32_t main_id = call(0, python("main"), 0, 1, 100);
    uint32_t load = call(main_id, importlib("_load"), 7, 1, 50);

    profile.locations[0].current = call(load, importlib("_find"), 8, 1, 20) + 1;
    fold();
    tap_ok(folded.locations[0].current == sample_node_at(&folded, "/main:0/(import):7") + 1,
           "inside the import system is in the import");
    finish();
}

static void test_twice(void)
{
    struct ar_profile again;

    start();
    call(call(0, python("f"), 10, 1, 100), importlib("_find_and_load"), 7, 1, 50);
    call(0, python("f"), 11, 1, 100);
    fold();
    tap_ok(ar_fold(&again, &folded) == AR_OK && again.n_nodes == folded.n_nodes, "folded twice");
    tap_ok(sample_find(&again, AR_METRIC_TIME, sample_node_at(&again, "/f:0"), 0) == 200,
           "nothing more happens");
    ar_profile_free(&again);
    finish();
}

/* A function in C is one node below its caller, wherever that calls it from. */
static void test_marks_and_kinds(void)
{
    start();

    uint32_t len = sample_function(&profile, AR_FUNCTION_BUILTIN, "len", 0);
    uint32_t task = sample_function(&profile, AR_FUNCTION_TASK, "task", 0);
    uint32_t f = call(0, python("f"), 3, 1, 9000);
    uint32_t here = call(f, len, 10, 2, 20), there = call(f, len, 11, 30, 40);

    sample_value(&profile, AR_METRIC_MARKS, here, 0, 0);
    sample_value(&profile, AR_METRIC_MARKS, there, 0, AR_MARK_ESTIMATED);
    sample_value(&profile, AR_METRIC_MARKS, f, 0, AR_MARK_PARTIAL);
    sample_value(&profile, AR_METRIC_AWAITED, call(f, task, 0, 1, 5), 0, 70);
    sample_value(&profile, AR_METRIC_AWAITED, call(f, task, 12, 1, 5), 0, 80);
    fold();
    check("/f:0/len:0", 32, 60);
    check("/f:0/task:0", 2, 10);
    tap_ok(sample_find(&folded, AR_METRIC_MARKS, sample_node_at(&folded, "/f:0/len:0"), 0) ==
               AR_MARK_ESTIMATED,
           "a mark of one of them is one of both");
    tap_ok(sample_find(&folded, AR_METRIC_MARKS, sample_node_at(&folded, "/f:0"), 0) ==
               AR_MARK_PARTIAL,
           "and its own");
    tap_ok(sample_find(&folded, AR_METRIC_AWAITED, sample_node_at(&folded, "/f:0/task:0"), 0) ==
               150,
           "awaited is added up");
    finish();
}

/* MPI that a function in C calls keeps the line where that was called, though the function has none any more. */
static void test_lines_below_c(void)
{
    start();

    uint32_t solve = sample_function(&profile, AR_FUNCTION_BUILTIN, "solve", 0);
    uint32_t reduce = sample_function(&profile, AR_FUNCTION_MPI, "MPI_Allreduce", 0);
    uint32_t f = call(0, python("f"), 3, 1, 9000);

    call(call(f, solve, 10, 1, 100), reduce, 0, 4, 40);
    call(call(f, solve, 11, 1, 200), reduce, 0, 5, 50);
    fold();
    check("/f:0/solve:0", 2, 300);
    check("/f:0/solve:0/MPI_Allreduce:10", 4, 40);
    check("/f:0/solve:0/MPI_Allreduce:11", 5, 50);
    finish();
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    start();
    call(call(0, python("f"), 10, 1, 100), importlib("_find_and_load"), 7, 1, 50);
    for (; !worked; n++) {
        alloc_fail_after(n);
        enum ar_status status = ar_fold(&folded, &profile);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
    }
    tap_ok(refused && n > 8, "every one of %zu allocations may fail", n - 1);
    finish();
}

int main(void)
{
    test_lines();
    test_mpi_keeps_its_lines();
    test_imports();
    test_imports_from_several_lines();
    test_imports_from_zip_files();
    test_not_an_import();
    test_tables();
    test_stacks();
    test_twice();
    test_marks_and_kinds();
    test_lines_below_c();
    test_no_memory();
    return tap_done();
}
