// SPDX-License-Identifier: BSD-3-Clause
/*
 * Stacks made by hand. Functions are Python's unless said otherwise; "a:7 b:0" is a stack whose frame a
 * made a call at its line 7, and whose innermost frame is b.
 */
#include "analysis/stacks.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_profile profile;
static struct ar_stacks stacks;

static uint32_t python(uint32_t parent, const char *name, uint32_t line)
{
    return sample_node(&profile, parent, sample_function(&profile, AR_FUNCTION_PYTHON, name, 1),
                       line);
}

static uint32_t other(uint32_t parent, enum ar_function_kind kind, const char *name, uint32_t line)
{
    return sample_node(&profile, parent, sample_function(&profile, kind, name, 0), line);
}

/* A thread that is in a node, and has not moved for so long when its process is 1000 ns old. */
static uint32_t thread_in(uint32_t process, uint32_t number, uint32_t node, uint64_t still_ns)
{
    uint32_t id = sample_thread(&profile, process, number);

    profile.processes[process].start_real_ns = 5000;
    profile.processes[process].wall_ns = 1000;
    profile.locations[id].current = node + 1;
    profile.locations[id].latest_real_ns = 6000 - still_ns;
    return id;
}

static uint32_t rank_in(uint32_t rank, uint32_t node, uint64_t still_ns)
{
    uint32_t process = sample_rank(&profile, rank);

    profile.processes[process].state = AR_PROCESS_RUNNING;
    thread_in(process, 0, node, still_ns);
    return process;
}

static void build(bool main_only)
{
    tap_ok(ar_stacks_build(&stacks, &profile, main_only) == AR_OK, "built");
}

static void finish(void)
{
    ar_stacks_free(&stacks);
    ar_profile_free(&profile);
}

static void check_stack(size_t group, const char *expected)
{
    uint32_t node = group < stacks.n_groups ? stacks.groups[group].node : 0;
    struct ar_frame frames[16];
    size_t n = ar_stacks_frames(&stacks, node, frames);
    char found[256] = "";

    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(found);

        snprintf(found + at, sizeof found - at, "%s%s:%u", i ? " " : "",
                 ar_strtab_text(&profile.strings, profile.functions[frames[i].function].name),
                 frames[i].line);
    }
    if (!tap_ok(strcmp(found, expected) == 0, "stack %s", expected))
        tap_note("it is %s", found);
}

/* "0 2": ranks of a group's threads. */
static void check_ranks(size_t group, const char *expected)
{
    const struct ar_stack_group *g = &stacks.groups[group];
    char found[256] = "";

    for (uint32_t i = 0; i < g->n_threads; i++) {
        const struct ar_location *location = &profile.locations[stacks.threads[g->first + i]];
        size_t at = strlen(found);

        snprintf(found + at, sizeof found - at, "%s%d", i ? " " : "",
                 (int)profile.processes[location->process].world_rank);
    }
    if (!tap_ok(strcmp(found, expected) == 0, "ranks %s", expected))
        tap_note("they are %s", found);
}

/* Within a method of mpi4py there are no lines; of a program's function that it calls there are. */
static void test_operations(void)
{
    sample_start(&profile);
    uint32_t step = python(0, "step", 0);
    uint32_t method = other(step, AR_FUNCTION_OPERATION, "Comm.reduce", 25);
    uint32_t receive = other(method, AR_FUNCTION_MPI, "MPI_Recv", 0);

    rank_in(0, receive, 100);
    rank_in(1, python(receive, "add", 0), 100);
    build(false);
    check_stack(0, "step:25 Comm.reduce:0 MPI_Recv:0");
    check_stack(1, "step:25 Comm.reduce:0 MPI_Recv:0 add:0");
    finish();
}

/* What a function in C calls may have no line of its own. */
static void test_functions_in_c(void)
{
    sample_start(&profile);
    uint32_t step = python(0, "step", 0);
    uint32_t solve = other(step, AR_FUNCTION_BUILTIN, "KSP.solve", 25);

    rank_in(0, other(solve, AR_FUNCTION_MPI, "MPI_Allreduce", 0), 100);
    rank_in(1, python(solve, "monitor", 25), 100);
    build(false);
    check_stack(0, "step:25 KSP.solve:0 MPI_Allreduce:0");
    check_stack(1, "step:25 KSP.solve:0 monitor:0");
    finish();
}

/* Two ranks wait for the one that waits for them. */
static void test_groups(void)
{
    sample_start(&profile);
    uint32_t step = python(python(0, "main", 0), "step", 80);
    uint32_t barrier = other(python(step, "solve", 40), AR_FUNCTION_MPI, "MPI_Barrier", 88);
    uint32_t receive = other(python(step, "exchange", 41), AR_FUNCTION_MPI, "MPI_Recv", 33);

    rank_in(2, barrier, 300);
    rank_in(1, receive, 400);
    rank_in(0, barrier, 200);
    build(false);
    tap_ok(stacks.n_groups == 2 && stacks.n_threads == 3, "two groups");
    check_stack(0, "main:80 step:40 solve:88 MPI_Barrier:0");
    check_ranks(0, "0 2");
    check_stack(1, "main:80 step:41 exchange:33 MPI_Recv:0");
    check_ranks(1, "1");
    tap_ok(stacks.groups[0].still_ns == 200 && stacks.groups[1].still_ns == 400,
           "a group stands still since the last of it moved");
    finish();
}

/* The tree splits where the lines differ, the larger part comes first. */
static void test_tree(void)
{
    sample_start(&profile);
    uint32_t main_id = python(0, "main", 0);

    rank_in(0, python(main_id, "f", 7), 0);
    rank_in(1, python(main_id, "f", 8), 0);
    rank_in(2, python(main_id, "f", 8), 0);
    build(false);

    const struct ar_stack_node *root = &stacks.nodes[0];
    const struct ar_stack_node *first = &stacks.nodes[root->first_child];
    const struct ar_stack_node *second = &stacks.nodes[first->next_sibling];

    tap_ok(root->n_threads == 3 && stacks.n_nodes == 5, "three stacks, four frames");
    tap_ok(first->frame.line == 8 && first->n_threads == 2, "line 8 has two");
    tap_ok(second->frame.line == 7 && second->n_threads == 1, "line 7 has one");
    tap_ok(second->next_sibling == AR_NO_ID, "and that is all");
    finish();
}

/* Regions, tasks and C have no lines: what is called in them is called by the Python function above. */
static void test_lines_through_other_kinds(void)
{
    sample_start(&profile);
    uint32_t main_id = python(0, "main", 0);
    uint32_t region = other(main_id, AR_FUNCTION_REGION, "assemble", 10);
    uint32_t task = other(region, AR_FUNCTION_TASK, "fetch", 0);

    rank_in(0, region, 0);
    rank_in(1, python(region, "solve", 12), 0);
    rank_in(2, python(task, "read", 0), 0);
    rank_in(3, other(region, AR_FUNCTION_BUILTIN, "built-in method time.sleep", 13), 0);
    build(false);
    check_stack(0, "main:10 assemble:0");
    check_stack(1, "main:12 assemble:0 solve:0");
    check_stack(2, "main:0 assemble:0 fetch:0 read:0");
    check_stack(3, "main:13 assemble:0 built-in method time.sleep:0");
    finish();
}

/* Other threads are groups of their own, after the main ones; a thread's node is no frame. */
static void test_threads(void)
{
    sample_start(&profile);
    uint32_t main_id = python(0, "main", 0);
    uint32_t root = other(0, AR_FUNCTION_THREAD, "worker", 0);
    uint32_t work = python(root, "work", 0);
    uint32_t process = rank_in(0, main_id, 0);

    thread_in(process, 1, work, 500);
    thread_in(process, 2, work, 100);
    profile.locations[thread_in(process, 3, work, 0)].current = 0; /* it has ended */
    thread_in(process, 4, root, 0);
    build(false);
    tap_ok(stacks.n_groups == 3 && stacks.n_threads == 4, "three groups");
    check_stack(0, "main:0");
    tap_ok(stacks.groups[0].is_main && !stacks.groups[1].is_main, "the main thread is first");
    check_stack(1, "work:0");
    tap_ok(stacks.groups[1].n_threads == 2 && stacks.groups[1].still_ns == 100, "two at work");
    check_stack(2, "");
    ar_stacks_free(&stacks);
    build(true);
    tap_ok(stacks.n_groups == 1 && stacks.nodes[0].n_threads == 1, "main threads only");
    finish();
}

/* One that was killed is not one that runs, wherever they are. */
static void test_states(void)
{
    sample_start(&profile);
    uint32_t main_id = python(0, "main", 0);

    rank_in(0, main_id, 0);
    profile.processes[rank_in(1, main_id, 0)].state = AR_PROCESS_SILENT;
    rank_in(AR_RANK_NONE, main_id, 0);
    build(false);
    tap_ok(stacks.n_groups == 2 && stacks.groups[0].state == AR_PROCESS_RUNNING, "two groups");
    check_ranks(0, "0 -1");
    check_ranks(1, "1");
    finish();
}

static void test_nobody(void)
{
    sample_start(&profile);
    sample_thread(&profile, sample_rank(&profile, 0), 0);
    build(false);
    tap_ok(stacks.n_groups == 0 && stacks.n_threads == 0 && stacks.n_nodes == 1, "nobody is left");
    finish();
}

static void test_still(void)
{
    sample_start(&profile);
    uint32_t id = thread_in(sample_rank(&profile, 0), 0, 0, 250);

    tap_ok(ar_stacks_still_ns(&profile, id) == 250, "since it moved");
    profile.locations[id].latest_real_ns = 7000;
    tap_ok(ar_stacks_still_ns(&profile, id) == 0, "a stamp after the end is no harm");
    ar_profile_free(&profile);
}

static void test_deep(void)
{
    sample_start(&profile);
    uint32_t node = 0;

    for (uint32_t i = 0; i < 100000; i++)
        node = python(node, "f", i);
    rank_in(0, node, 0);
    rank_in(1, node, 0);
    build(false);
    tap_ok(ar_stacks_frames(&stacks, stacks.groups[0].node, NULL) == 100000 && stacks.n_groups == 1,
           "a hundred thousand frames");
    finish();
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    sample_start(&profile);
    rank_in(0, python(python(0, "main", 0), "f", 7), 0);
    rank_in(1, python(python(0, "main", 0), "g", 8), 0);
    for (; !worked; n++) {
        alloc_fail_after(n);
        enum ar_status status = ar_stacks_build(&stacks, &profile, false);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
    }
    tap_ok(refused && n > 5, "every one of %zu allocations may fail", n - 1);
    finish();
}

int main(void)
{
    test_groups();
    test_operations();
    test_functions_in_c();
    test_tree();
    test_lines_through_other_kinds();
    test_threads();
    test_states();
    test_nobody();
    test_still();
    test_deep();
    test_no_memory();
    return tap_done();
}
