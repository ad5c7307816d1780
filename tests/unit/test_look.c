// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two looks at live files made by hand, of processes that do not run: 2 ns a tick. In each, `main` is
 * open since tick 1100 and has called `solve`, which has called `len`, a function in C that hardly
 * matters.
 */
#include "analysis/look.h"

#include "failing_alloc.h"
#include "live_image.h"
#include "scratch.h"
#include "tap.h"

#include <inttypes.h>

enum { MAIN = 1, SOLVE, LEN, SEND }; /* numbers of functions in a file */

static struct ar_watch watch;
static struct ar_error error;
static uint32_t solve_ref, send_ref;

static void make_image(uint32_t pid, uint32_t rank)
{
    image_start();
    image_header()->pid = pid;
    image_header()->world_rank = rank;

    size_t threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    size_t records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    size_t nodes = image_extent(AR_EXTENT_NODES, 0, 1);

    image_record(records, (struct ar_record){.kind = AR_RECORD_FACT}, "builtins", "counted", NULL);
    image_function(records, AR_FUNCTION_PYTHON, "main");
    image_function(records, AR_FUNCTION_PYTHON, "solve");
    image_function(records, AR_FUNCTION_BUILTIN, "len");
    image_function(records, AR_FUNCTION_MPI, "MPI_Send");

    uint32_t root = image_node(nodes, 0, 0, -1000, 1);
    uint32_t main_ref = image_node(nodes, MAIN, root, -1100, 1);

    solve_ref = image_node(nodes, SOLVE, main_ref, 500, 10);
    image_node(nodes, LEN, solve_ref, 1, 10);
    send_ref = image_node(nodes, SEND, main_ref, 100, 2);

    struct ar_live_thread *thread = image_thread(threads, 0, root, "MainThread");

    thread->current_ref = send_ref;
    thread->latest_ticks = 2900;
}

static void write_image(const char *name)
{
    FILE *file = fopen(scratch_path(name), "wb");

    if (!file || fwrite(image.bytes, 1, image.n_bytes, file) != image.n_bytes || fclose(file) != 0)
        exit(2);
}

static bool look(void)
{
    bool good = ar_watch_look(&watch, scratch_dir, &error) == AR_OK;

    if (!good)
        tap_note("%s", error.text);
    return good;
}

static uint32_t function_named(const char *name)
{
    for (uint32_t i = 0; i < watch.names.n_functions; i++)
        if (strcmp(ar_strtab_text(&watch.names.strings, watch.names.functions[i].name), name) == 0)
            return i;
    return AR_NO_ID;
}

static void check(const char *name, uint32_t process, bool ever, struct ar_share expected)
{
    struct ar_share found = ar_watch_share(&watch, process, function_named(name), ever);

    if (!tap_ok(found.n_calls == expected.n_calls && found.time_ns == expected.time_ns &&
                    found.self_ns == expected.self_ns,
                "%s, %s", name, ever ? "since the start" : "lately"))
        tap_note("%" PRIu64 " calls, %" PRIu64 " ns, self %" PRIu64 " ns", found.n_calls,
                 found.time_ns, found.self_ns);
}

static void start(void)
{
    scratch_make();
    if (ar_watch_init(&watch) < 0)
        exit(2);
}

static void finish(void)
{
    ar_watch_free(&watch);
    scratch_remove();
}

static void test_differences(void)
{
    start();
    make_image(7, 1);
    write_image("r1-p7-1.live");
    tap_ok(look() && watch.n_processes == 1 && watch.processes[0].is_new, "the first look");
    check("solve", AR_NO_ID, true,
          (struct ar_share){.n_calls = 10, .time_ns = 1000, .self_ns = 998});
    check("len", AR_NO_ID, true, (struct ar_share){.n_calls = 10, .time_ns = 2, .self_ns = 2});
    tap_ok(ar_watch_span_ns(&watch, 0, true) == 4000 && ar_watch_mpi_ns(&watch, 0, true) == 200,
           "its span, and of that in MPI");

    image_node_at(solve_ref)->ticks += 50;
    image_node_at(solve_ref)->n_calls += 3;
    image_header()->latest = (struct ar_stamp){4000, 56000, 1700000000000006000u};
    write_image("r1-p7-1.live");
    tap_ok(look() && watch.n_processes == 1 && !watch.processes[0].is_new, "the second look");
    check("solve", AR_NO_ID, false,
          (struct ar_share){.n_calls = 3, .time_ns = 100, .self_ns = 100});
    check("solve", AR_NO_ID, true,
          (struct ar_share){.n_calls = 13, .time_ns = 1100, .self_ns = 1098});
    check("main", AR_NO_ID, false,
          (struct ar_share){.n_calls = 0, .time_ns = 2000, .self_ns = 1900});
    check("len", AR_NO_ID, false, (struct ar_share){.n_calls = 0, .time_ns = 0, .self_ns = 0});
    tap_ok(ar_watch_span_ns(&watch, 0, false) == 2000 && ar_watch_mpi_ns(&watch, 0, false) == 0,
           "its span since then, and of that in MPI");

    image_node_at(solve_ref)->n_calls = 1; /* as an estimate may do */
    write_image("r1-p7-1.live");
    tap_ok(look(), "the third look");
    check("solve", AR_NO_ID, false, (struct ar_share){.n_calls = 0, .time_ns = 0, .self_ns = 0});
    finish();
}

/* Files come in any order; functions have the same number, whichever process has them first. */
static void test_several(void)
{
    start();
    make_image(9, 2);
    write_image("r2-p9-1.live");
    tap_ok(look(), "one of them");
    make_image(8, 0);
    image_node_at(solve_ref)->ticks = 100;
    write_image("r0-p8-1.live");
    tap_ok(look() && watch.n_processes == 2 && watch.processes[0].process.world_rank == 0,
           "in order of rank");
    check("solve", 0, true, (struct ar_share){.n_calls = 10, .time_ns = 200, .self_ns = 198});
    check("solve", 1, true, (struct ar_share){.n_calls = 10, .time_ns = 1000, .self_ns = 998});
    check("solve", AR_NO_ID, true,
          (struct ar_share){.n_calls = 20, .time_ns = 1200, .self_ns = 1196});
    check("solve", AR_NO_ID, false,
          (struct ar_share){.n_calls = 10, .time_ns = 200, .self_ns = 198});
    tap_ok(ar_watch_span_ns(&watch, AR_NO_ID, true) == 8000, "the span of both");
    finish();
}

static void test_where_it_is(void)
{
    start();
    make_image(7, 1);
    write_image("r1-p7-1.live");
    tap_ok(look(), "a look");

    const struct ar_watched *at = &watch.processes[0];

    tap_ok(at->function == function_named("main") && at->leaf == function_named("MPI_Send"),
           "in MPI, called by main");
    tap_ok(at->still_ns == 200 && at->n_threads == 1, "since when");
    tap_ok(at->process.state == AR_PROCESS_SILENT && !ar_watch_any_running(&watch), "it is dead");
    finish();
}

/* Whoever has finished has removed its file. */
static void test_gone(void)
{
    start();
    make_image(7, 1);
    write_image("r1-p7-1.live");
    tap_ok(look(), "a look");
    watch.processes[0].process.state = AR_PROCESS_RUNNING; /* as if it had been */
    remove(scratch_path("r1-p7-1.live"));
    tap_ok(look() && watch.n_processes == 1, "its file has gone");
    tap_ok(watch.processes[0].process.state == AR_PROCESS_FINISHED, "it has finished");
    check("solve", AR_NO_ID, true,
          (struct ar_share){.n_calls = 10, .time_ns = 1000, .self_ns = 998});
    check("solve", AR_NO_ID, false, (struct ar_share){0});
    rmdir(scratch_dir);
    tap_ok(look() && watch.n_processes == 1, "so has the directory");
    finish();
}

static void test_unreadable(void)
{
    start();
    tap_ok(ar_watch_look(&watch, scratch_dir, &error) == AR_BAD &&
               strstr(error.text, "no live files"),
           "nothing to look at");
    make_image(7, 1);
    image.n_bytes = 100;
    write_image("short.live");
    tap_ok(ar_watch_look(&watch, scratch_dir, &error) == AR_BAD &&
               strstr(error.text, "short.live: not a live file"),
           "nothing but damage");
    make_image(7, 1);
    write_image("r1-p7-1.live");
    tap_ok(look() && watch.n_processes == 1 && watch.n_unreadable == 1, "it hides no other");
    finish();
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    scratch_make();
    make_image(7, 1);
    write_image("r1-p7-1.live");
    for (; !worked; n++) {
        if (ar_watch_init(&watch) < 0)
            exit(2);
        alloc_fail_after(n);
        enum ar_status status = ar_watch_look(&watch, scratch_dir, &error);
        alloc_restore();
        worked = status == AR_OK && watch.n_processes == 1 && watch.n_unreadable == 0;
        refused = refused && (worked || status < 0);
        ar_watch_free(&watch);
    }
    tap_ok(refused && n > 20, "every one of %zu allocations may fail", n - 1);
    scratch_remove();
}

int main(void)
{
    test_differences();
    test_several();
    test_where_it_is();
    test_gone();
    test_unreadable();
    test_no_memory();
    return tap_done();
}
