// SPDX-License-Identifier: BSD-3-Clause
/*
 * A live file made by hand, of which the profile is arithmetic: 2 ns a tick, from tick 1000 to tick
 * 3000.
 *
 *     ref        called from   calls   ticks               ns
 *     root       -             1       open since 1000     4000
 *     +- main    -             1       open since 1100     3800
 *     |  +- solve  line 12     3       1000, closed        2000
 *     |  |  +- wait  line 21   7       400, closed          800
 *     |  |  +- region line 22  1       100, closed          200
 *     |  |     +- wait line 23 2       50, closed           100    its line is in solve
 *     |  +- solve  line 13     1       30 and since 2900    260
 *     thread 1   -             1       500, closed         1000
 *     +- main    -             1       450, closed          900
 */
#include "format/live_profile.h"
#include "format/runfile.h"

#include "dice.h"
#include "failing_alloc.h"
#include "live_image.h"
#include "sample_profile.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAIN = 1, SOLVE, WAIT, REGION }; /* numbers of functions */

static struct {
    size_t threads, records, nodes, values, other_nodes;
    uint32_t root, main_node, solve, wait, region, other_root;
} at;
static struct ar_profile profile;
static struct ar_error error;

/* lnotab: pairs of how far the code goes on and how far the line does. */
static const unsigned char main_lines[] = {0, 1, 4, 1, 4, 1};  /* 0: 11, 4: 12, 8: 13 */
static const unsigned char solve_lines[] = {2, 1, 2, 1, 2, 1}; /* 0: 20, 2: 21, 4: 22, 6: 23 */

static uint64_t key(uint32_t function, uint32_t code_offset)
{
    return (uint64_t)(code_offset + 1) << 32 | function;
}

static void add_records(void)
{
    struct ar_record python = {.kind = AR_RECORD_FUNCTION,
                               .function_kind = AR_FUNCTION_PYTHON,
                               .linetable_kind = AR_LINETABLE_LNOTAB,
                               .first_line = 10,
                               .n_linetable = sizeof main_lines};

    at.records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    image_record(at.records, python, "main", "heat.py", main_lines);
    image_record(at.records, (struct ar_record){.kind = AR_RECORD_FACT}, "command", "heat.py",
                 NULL);
    python.first_line = 20;
    python.n_linetable = sizeof solve_lines;
    image_record(at.records, python, "solve", "heat.py", solve_lines);
    image_record(at.records, (struct ar_record){.kind = 99}, "later", "version", NULL);
    image_function(at.records, AR_FUNCTION_MPI, "MPI_Wait");
    image_function(at.records, AR_FUNCTION_REGION, "loop");
}

static void add_nodes(void)
{
    at.nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    at.root = image_node(at.nodes, 0, 0, -1000, 1);
    at.main_node = image_node(at.nodes, MAIN, at.root, -1100, 1);
    at.solve = image_node(at.nodes, key(SOLVE, 4), at.main_node, 1000, 3);
    at.wait = image_node(at.nodes, key(WAIT, 2), at.solve, 400, 7);
    at.region = image_node(at.nodes, key(REGION, 4), at.solve, 100, 1);
    image_node(at.nodes, key(WAIT, 6), at.region, 50, 2);
    image_node(at.nodes, key(SOLVE, 8), at.main_node, 30 - 2900, 1);
}

static void build(void)
{
    image_start();
    at.threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    add_records();
    add_nodes();
    at.other_nodes = image_extent(AR_EXTENT_NODES, 1, 1);
    at.other_root = image_node(at.other_nodes, 0, 0, 500, 1);
    image_node(at.other_nodes, MAIN, at.other_root, 450, 1);
    at.values = image_extent(AR_EXTENT_VALUES, 0, 1);

    struct ar_values *mpi = image_values(at.values, at.wait, AR_VALUES_MPI);

    mpi->words[AR_MPI_BYTES_OUT] = 4096;
    mpi->words[AR_MPI_BYTES_IN] = 100;
    mpi->words[AR_MPI_MIN_TICKS] = 10;
    mpi->words[AR_MPI_MAX_TICKS] = 200;
    image_thread(at.threads, 0, at.root, "MainThread");
    image_thread(at.threads, 1, at.other_root, "worker");
}

static enum ar_status add_image(struct ar_profile *p, uint64_t now_ticks)
{
    struct ar_live live;
    enum ar_status status = ar_live_from_bytes(&live, image.bytes, image.n_bytes, "x.live", &error);

    if (status == AR_OK)
        status = ar_profile_add_live(p, &live, now_ticks, &error);
    ar_live_close(&live);
    return status;
}

/* As the process itself does it: from the file's own pages, which go and come back meanwhile. */
static enum ar_status add_in_place(struct ar_profile *p, uint64_t now_ticks)
{
    void *map =
        mmap(NULL, sizeof image.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct ar_live live = {0};
    enum ar_status status = AR_IO;

    if (map == MAP_FAILED)
        return status;
    memcpy(map, image.bytes, image.n_bytes);
    status = ar_live_in_place(&live, map, sizeof image.bytes, "x.live", &error);
    if (status == AR_OK)
        status = ar_profile_add_live(p, &live, now_ticks, &error);
    ar_live_close(&live);
    if (memcmp(map, image.bytes, image.n_bytes) != 0)
        status = AR_BAD;
    munmap(map, sizeof image.bytes);
    return status;
}

static void check_in_place(uint64_t now_ticks)
{
    struct ar_profile copied, in_place;
    struct ar_bytes bytes[2] = {0};

    sample_start(&copied);
    sample_start(&in_place);
    tap_ok(add_image(&copied, now_ticks) == AR_OK && add_in_place(&in_place, now_ticks) == AR_OK &&
               ar_run_encode(&copied, &bytes[0]) == AR_OK &&
               ar_run_encode(&in_place, &bytes[1]) == AR_OK && bytes[0].n == bytes[1].n &&
               memcmp(bytes[0].data, bytes[1].data, bytes[0].n) == 0,
           "the same without a copy");
    ar_bytes_free(&bytes[0]);
    ar_bytes_free(&bytes[1]);
    ar_profile_free(&copied);
    ar_profile_free(&in_place);
}

static void read_image(uint64_t now_ticks)
{
    sample_start(&profile);
    tap_ok(add_image(&profile, now_ticks) == AR_OK && sample_is_sound(&profile), "image is read");
    check_in_place(now_ticks);
}

static void check(const char *path, uint32_t location, uint64_t n_calls, uint64_t ns)
{
    uint32_t node = sample_node_at(&profile, path);
    uint64_t calls_found = sample_find(&profile, AR_METRIC_CALLS, node, location);
    uint64_t ns_found = sample_find(&profile, AR_METRIC_TIME, node, location);

    if (!tap_ok(node != AR_NO_ID && calls_found == n_calls && ns_found == ns, "thread %u: '%s'",
                location, path))
        tap_note("node %d: %" PRIu64 " calls, %" PRIu64 " ns", (int)node, calls_found, ns_found);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static void test_times_and_calls(void)
{
    build();
    read_image(0);
    check("", 0, 0, 4000);
    check("/main:0", 0, 1, 3800);
    check("/main:0/solve:12", 0, 3, 2000);
    check("/main:0/solve:12/MPI_Wait:21", 0, 7, 800);
    check("/main:0/solve:12/loop:22", 0, 1, 200);
    check("/main:0/solve:12/loop:22/MPI_Wait:23", 0, 2, 100);
    check("/main:0/solve:13", 0, 1, 260);
    tap_ok(profile.n_nodes == 9, "seven, and two of the other thread");
    tap_ok(ar_profile_lost(&profile, 0, AR_LOST_NODES) == 0, "nothing is lost");
    ar_profile_free(&profile);
}

static void test_threads(void)
{
    build();
    read_image(0);
    tap_ok(profile.n_locations == 2 && profile.locations[0].thread == 0 &&
               profile.locations[1].thread == 1,
           "two threads");
    tap_ok(strcmp(ar_strtab_text(&profile.strings, profile.locations[1].name), "worker") == 0,
           "by their names");
    check("/worker:0", 1, 0, 1000);
    check("/worker:0/main:0", 1, 1, 900);
    tap_ok(sample_find(&profile, AR_METRIC_TIME, 0, 1) == 0 &&
               sample_find(&profile, AR_METRIC_CALLS, sample_node_at(&profile, "/main:0"), 1) == 0,
           "a thread has nothing in the other's tree");
    ar_profile_free(&profile);
}

static void test_mpi_values(void)
{
    build();
    read_image(0);

    uint32_t wait = sample_node_at(&profile, "/main:0/solve:12/MPI_Wait:21");

    tap_ok(sample_find(&profile, AR_METRIC_BYTES_OUT, wait, 0) == 4096, "bytes out");
    tap_ok(sample_find(&profile, AR_METRIC_BYTES_IN, wait, 0) == 100, "bytes in");
    tap_ok(sample_find(&profile, AR_METRIC_MIN_TIME, wait, 0) == 20, "shortest call, in ns");
    tap_ok(sample_find(&profile, AR_METRIC_MAX_TIME, wait, 0) == 400, "longest call, in ns");
    tap_ok(profile.metrics[AR_METRIC_BYTES_OUT].n_values == 1, "no other node has any");
    ar_profile_free(&profile);
}

static void test_process(void)
{
    build();
    image_header()->n_lost[AR_LOST_FRAMES] = 5;
    read_image(0);

    const struct ar_process *p = &profile.processes[0];

    tap_ok(profile.n_processes == 1 && p->pid == 4321 && p->world_rank == 2 && p->world_size == 8,
           "who it is");
    tap_ok(strcmp(ar_strtab_text(&profile.strings, p->host), "node-7") == 0, "where");
    tap_ok(p->start_real_ns == 1700000000000000000u && p->wall_ns == 4000, "when");
    tap_ok(p->state == AR_PROCESS_SILENT, "it is running, or was killed");
    tap_ok(ar_profile_lost(&profile, 0, AR_LOST_FRAMES) == 5, "what it lost");
    tap_ok(strcmp(ar_profile_fact_text(&profile, "command"), "heat.py") == 0, "a fact");
    ar_profile_free(&profile);
    image_header()->state = AR_LIVE_FINISHED;
    read_image(0);
    tap_ok(profile.processes[0].state == AR_PROCESS_FINISHED, "it ended in good order");
    ar_profile_free(&profile);
}

static void test_functions(void)
{
    build();
    read_image(0);

    uint32_t node = sample_node_at(&profile, "/main:0/solve:12");
    const struct ar_function *f = &profile.functions[profile.nodes[node].function];

    tap_ok(f->kind == AR_FUNCTION_PYTHON && f->first_line == 20 &&
               strcmp(ar_strtab_text(&profile.strings, f->file), "heat.py") == 0,
           "a function's file and first line");
    node = sample_node_at(&profile, "/main:0/solve:12/MPI_Wait:21");
    tap_ok(profile.functions[profile.nodes[node].function].kind == AR_FUNCTION_MPI, "its kind");
    ar_profile_free(&profile);
}

/*
 * Open calls are closed at the newest stamp: that of the header, of a thread, or the one we give.
 */
static void test_newest_stamp(void)
{
    build();
    read_image(3500);
    check("", 0, 0, 5000);
    check("/main:0/solve:13", 0, 1, 1260);
    check("/main:0/solve:12", 0, 3, 2000);
    tap_ok(profile.processes[0].wall_ns == 5000, "wall time goes on too");
    ar_profile_free(&profile);

    build();
    image_thread(at.threads, 2, 0, "not in use")->latest_ticks = 9999;
    ((struct ar_live_thread *)(image_at(at.threads) + 1))[1].latest_ticks = 3100;
    read_image(0);
    check("", 0, 0, 4200);
    tap_ok(profile.n_locations == 2, "a slot that is not in use is no thread");
    ar_profile_free(&profile);
}

static void test_length_of_a_tick(void)
{
    build();
    image_header()->latest.mono_ns = 50000 + 500; /* a quarter of a nanosecond */
    read_image(0);
    check("/main:0/solve:12", 0, 3, 250);
    check("/main:0/solve:12/MPI_Wait:21", 0, 7, 100);
    check("/main:0/solve:12/loop:22/MPI_Wait:23", 0, 2, 13); /* 12.5 */
    ar_profile_free(&profile);
    build();
    image_header()->latest = image_header()->start;
    read_image(3000);
    check("/main:0/solve:12", 0, 3, 1000); /* never stamped again: a tick is taken for one */
    ar_profile_free(&profile);
}

/* An entry that is later than every stamp in the file: its span is not below nothing. */
static void test_entered_just_now(void)
{
    build();
    image_node(at.nodes, key(WAIT, 0), at.main_node, -3500, 1);
    read_image(0);
    check("/main:0/MPI_Wait:11", 0, 1, 0);
    ar_profile_free(&profile);
}

/* Two places on one line, and two that are not known, are one node each. */
static void test_places_on_one_line(void)
{
    build();
    image_node(at.nodes, key(WAIT, 4), at.main_node, 10, 1);
    image_node(at.nodes, key(WAIT, 7), at.main_node, 20, 2);
    image_node(at.nodes, key(WAIT, 9), at.region, 5, 1); /* the table has no end: still line 23 */
    read_image(0);
    tap_ok(ar_profile_sort(&profile) == AR_OK, "sorted");
    check("/main:0/MPI_Wait:12", 0, 3, 60);
    check("/main:0/solve:12/loop:22/MPI_Wait:23", 0, 3, 110);
    ar_profile_free(&profile);
}

static void test_two_processes(void)
{
    build();
    read_image(0);
    image_header()->world_rank = 5;
    image_header()->pid++;
    image_node_at(at.solve)->ticks = 7;
    tap_ok(add_image(&profile, 0) == AR_OK && sample_is_sound(&profile), "another process");
    tap_ok(profile.n_processes == 2 && profile.n_locations == 4 && profile.n_nodes == 9,
           "its threads are others, its nodes are the same");
    check("/main:0/solve:12", 0, 3, 2000);
    check("/main:0/solve:12", 2, 3, 14);
    tap_ok(profile.processes[1].world_rank == 5 && profile.locations[3].process == 1 &&
               profile.n_facts == 1,
           "numbered after the first");
    ar_profile_free(&profile);
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static void check_left_out(uint64_t n_lost, const char *what)
{
    read_image(0);
    tap_ok(ar_profile_lost(&profile, 0, AR_LOST_NODES) == n_lost, "%s: %" PRIu64 " lost", what,
           ar_profile_lost(&profile, 0, AR_LOST_NODES));
    check("/main:0/solve:12", 0, 3, 2000);
    ar_profile_free(&profile);
}

static void test_bad_nodes(void)
{
    uint32_t below;

    build();
    below = image_node(at.nodes, key(99, 0), at.main_node, 10, 1);
    image_node(at.nodes, key(WAIT, 0), below, 10, 1);
    image_node(at.nodes, key(WAIT, 0), below + 1, 10, 1);
    check_left_out(3, "an unknown function, and all below");
    build();
    image_node(at.nodes, key(0, 5), at.main_node, 10, 1);
    check_left_out(1, "function 0");
    build();
    below = image_node(at.nodes, key(WAIT, 0), 0, 10, 1);
    image_node_at(below)->parent_ref = below;
    check_left_out(1, "its own parent");
    image_node_at(below)->parent_ref = below + 1;
    check_left_out(1, "a parent that comes later");
    image_node_at(below)->parent_ref = UINT32_MAX;
    check_left_out(1, "a parent beyond the end");
    image_node_at(below)->parent_ref = (uint32_t)(at.records / AR_LIVE_REF_BYTES) + 1;
    check_left_out(1, "a parent that is no node");
    image_node_at(below)->parent_ref = 0;
    check_left_out(1, "a second root");
    image_header()->n_lost[AR_LOST_NODES] = 10;
    check_left_out(11, "added to what the process lost itself");
}

/* The thread's slot was copied before it was filled in. */
static void test_nodes_of_no_thread(void)
{
    build();
    at.other_nodes = image_extent(AR_EXTENT_NODES, 7, 1);
    image_node(at.other_nodes, MAIN, at.root, 450, 1);
    read_image(0);
    tap_ok(profile.n_locations == 2, "nodes of a thread that is not there yet");
    check("/main:0", 0, 1, 3800);
    ar_profile_free(&profile);
}

static void test_chains_of_values(void)
{
    build();

    struct ar_values *other = image_values(at.values, at.wait, AR_FIRST_MEASURE);

    memset(other->words, 0xff, sizeof other->words);
    read_image(0);

    uint32_t wait = sample_node_at(&profile, "/main:0/solve:12/MPI_Wait:21");

    tap_ok(sample_find(&profile, AR_METRIC_BYTES_OUT, wait, 0) == 4096,
           "a kind that is not known is skipped");
    ar_profile_free(&profile);
    other->next_ref = image_node_at(at.wait)->values_ref;
    read_image(0);
    tap_ok(profile.metrics[AR_METRIC_BYTES_OUT].n_values == 0, "a chain in a circle ends");
    ar_profile_free(&profile);
    image_node_at(at.wait)->values_ref = UINT32_MAX;
    read_image(0);
    check("/main:0/solve:12/MPI_Wait:21", 0, 7, 800);
    ar_profile_free(&profile);
}

static void check_damaged(const char *what)
{
    sample_start(&profile);
    tap_ok(add_image(&profile, 0) == AR_BAD && strstr(error.text, "4321") &&
               strstr(error.text, "node-7") && strstr(error.text, "damaged"),
           "%s: %s", what, error.text);
    ar_profile_free(&profile);
}

static struct ar_record *first_record(void)
{
    return (struct ar_record *)(image_at(at.records) + 1);
}

static void test_bad_records(void)
{
    build();
    first_record()->n_bytes = 0;
    check_damaged("a record of no bytes");
    build();
    first_record()->n_bytes = 20;
    check_damaged("shorter than its head");
    build();
    first_record()->n_bytes += 4;
    check_damaged("not a multiple of 8");
    build();
    first_record()->n_bytes = 8192;
    check_damaged("longer than its extent");
    build();
    first_record()->n_name = UINT32_MAX;
    first_record()->n_file = 1;
    check_damaged("texts longer than the record");
    build();
    image_at(at.records)->n_bytes_used += 8;
    check_damaged("half a head");
    build();
    ((struct ar_live_thread *)(image_at(at.threads) + 1))->number = 1000000;
    check_damaged("more threads than pages");
}

/* ---- what is more than functions and MPI -------------------------------------------------------- */

enum { PARTIAL = 2, LEN, SLEEP, ASSEMBLE, DECORATED, OURS, TASK, UNASSIGNED };

static void add_more_records(const char *builtins)
{
    struct ar_record region = {
        .kind = AR_RECORD_FUNCTION, .function_kind = AR_FUNCTION_PYTHON, .other = ASSEMBLE};

    at.records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    image_record(at.records, (struct ar_record){.kind = AR_RECORD_FACT}, "builtins", builtins,
                 NULL);
    image_function(at.records, AR_FUNCTION_PYTHON, "main");
    image_record(at.records, (struct ar_record){.kind = AR_RECORD_PARTIAL, .other = PARTIAL}, "",
                 "", NULL); /* before its function: means nothing */
    image_function(at.records, AR_FUNCTION_PYTHON, "often");
    image_function(at.records, AR_FUNCTION_BUILTIN, "len");
    image_function(at.records, AR_FUNCTION_BUILTIN, "sleep");
    image_function(at.records, AR_FUNCTION_REGION, "assemble");
    image_record(at.records, region, "decorated", "", NULL);
    image_function(at.records, AR_FUNCTION_OURS, "calibrate");
    image_function(at.records, AR_FUNCTION_TASK, "load");
    image_function(at.records, AR_FUNCTION_UNASSIGNED, "sleep");
    image_record(at.records, (struct ar_record){.kind = AR_RECORD_PARTIAL, .other = PARTIAL}, "",
                 "", NULL);
    image_record(at.records, (struct ar_record){.kind = AR_RECORD_PARTIAL, .other = 99}, "", "",
                 NULL);
}

/*
 * 2000 ticks in all. 5 of 50 calls of len were timed and took 1, 1, 2, 3 and 3 ticks: mean 2, s2 = 1, so
 * all took 100 with a variance of 45 * 50 / 5 ticks², 1800 ns². sleep calls a function in Python.
 */
static void build_more(const char *builtins)
{
    const double squares = 1 + 1 + 4 + 9 + 9;
    uint32_t len, sleep, ours, task;

    image_start();
    image_header()->call_cost_ns = 10;
    image_header()->c_call_cost_ns = 20;
    at.threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    add_more_records(builtins);
    at.nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    at.values = image_extent(AR_EXTENT_VALUES, 0, 1);
    at.root = image_node(at.nodes, 0, 0, -1000, 1);
    at.main_node = image_node(at.nodes, MAIN, at.root, 1900, 1);
    image_node(at.nodes, PARTIAL, at.main_node, 100, 256);
    len = image_node(at.nodes, LEN, at.main_node, 10, 50);
    sleep = image_node(at.nodes, SLEEP, at.main_node, 10, 1);
    image_node(at.nodes, DECORATED, sleep, 4, 1);
    image_node(at.nodes, DECORATED, at.main_node, 40, 2);
    ours = image_node(at.nodes, OURS, at.main_node, 50, 400);
    image_node(at.nodes, MAIN, ours, 30, 400);
    task = image_node(at.nodes, TASK, at.main_node, 200, 3);
    image_node(at.nodes, UNASSIGNED, at.main_node, 60, 2);

    uint64_t *words = image_values(at.values, len, AR_VALUES_ESTIMATE)->words;

    words[AR_ESTIMATE_TIMED] = 5;
    memcpy(&words[AR_ESTIMATE_SQUARES], &squares, sizeof squares);
    image_values(at.values, task, AR_VALUES_TASK)->words[AR_TASK_AWAITED_TICKS] = 700;
    image_thread(at.threads, 0, at.root, "MainThread");
}

static void build_counted(void)
{
    build_more("counted");
}

static uint64_t marks_at(const char *path)
{
    return sample_find(&profile, AR_METRIC_MARKS, sample_node_at(&profile, path), 0);
}

static uint64_t variance_at(const char *path)
{
    return sample_find(&profile, AR_METRIC_VARIANCE, sample_node_at(&profile, path), 0);
}

static void test_counted_builtins(void)
{
    build_more("counted");
    read_image(0);
    check("/main:0", 0, 1, 3800);
    check("/main:0/len:0", 0, 50, 200);
    tap_ok(marks_at("/main:0/len:0") == AR_MARK_ESTIMATED, "an estimate is marked");
    tap_ok(variance_at("/main:0/len:0") == 1, "1800 ns², rounded up to µs²");
    tap_ok(marks_at("/main:0") == 0 && variance_at("/main:0") == 0, "what was measured is not");
    check("/main:0/sleep:0", 0, 1, 20); /* however short */
    check("/main:0/sleep:0/assemble:0/decorated:0", 0, 1, 8);
    check("/main:0/assemble:0/decorated:0", 0, 2, 80);
    ar_profile_free(&profile);
}

/* Ticks of 2 ms: 450 ticks² are 1.8e9 µs². */
static void test_variance(void)
{
    build_more("counted");
    image_header()->latest.mono_ns = image_header()->start.mono_ns + 2000 * (uint64_t)2000000;
    read_image(0);
    check("/main:0/len:0", 0, 50, 200000000);
    if (!tap_ok(variance_at("/main:0/len:0") == 1800000001, "rounded up"))
        tap_note("%" PRIu64, variance_at("/main:0/len:0"));
    ar_profile_free(&profile);
}

static void test_unassigned(void)
{
    build_more("counted");
    read_image(0);

    uint32_t node = profile.n_nodes - 1;
    const struct ar_function *f = &profile.functions[profile.nodes[node].function];

    tap_ok(f->kind == AR_FUNCTION_UNASSIGNED &&
               strcmp(ar_strtab_text(&profile.strings, f->name), "sleep") == 0 &&
               strcmp(ar_function_kind_name(f->kind), "unassigned") == 0,
           "beside the function of that name");
    tap_ok(sample_find(&profile, AR_METRIC_TIME, node, 0) == 120 &&
               sample_find(&profile, AR_METRIC_CALLS, node, 0) == 2,
           "its time, and the number of gaps");
    tap_ok(sample_find(&profile, AR_METRIC_MARKS, node, 0) == 0, "which was measured");
    ar_profile_free(&profile);
}

static void test_partial_functions(void)
{
    build_more("counted");
    read_image(0);
    check("/main:0/often:0", 0, 256, 200);
    tap_ok(marks_at("/main:0/often:0") == AR_MARK_PARTIAL, "was timed no more");
    tap_ok(profile.metrics[AR_METRIC_MARKS].n_values == 2, "and no other");
    ar_profile_free(&profile);
}

static void check_overheads(const struct ar_process *process)
{
    static const uint64_t wanted[AR_N_OVERHEADS] = {
        [AR_OVERHEAD_START] = 2 * 100, /* ns per tick */
        [AR_OVERHEAD_IMPORTS] = 30,
        /* times 1.5: what they take in programs */
        [AR_OVERHEAD_PATHS] = (2 * 50) * 3 / 2,
        [AR_OVERHEAD_PYTHON] = (10 * (1 + 256 + 1 + 2 + 3) + 10 * 7) * 3 / 2,
        [AR_OVERHEAD_C] = (20 * (5 + 1) + 2 * 45) * 3 / 2,
    };
    uint64_t sum = 0;

    tap_ok(
        memcmp(process->overheads_ns, wanted, sizeof wanted) == 0,
        "calls times price, without our own and what could not be assigned; and what was measured");
    for (int reason = 0; reason < AR_N_OVERHEADS; reason++)
        sum += process->overheads_ns[reason];
    tap_ok(process->overhead_ns == sum, "they add up");
}

static void test_ours_and_overhead(void)
{
    build_more("counted");
    image_header()->c_count_cost_ns = 2;
    image_header()->spent_ticks[AR_OVERHEAD_START] = 100;
    image_header()->spent_ticks[AR_OVERHEAD_PATHS] = 50;
    image_header()->spent_ns[AR_OVERHEAD_IMPORTS] = 30;
    image_header()->n_sought = 7;
    read_image(0);
    tap_ok(sample_node_at(&profile, "/main:0/calibrate:0") == AR_NO_ID &&
               sample_node_at(&profile, "/main:0/main:0") == AR_NO_ID,
           "what is about ourselves is left out, with all below it");
    tap_ok(ar_profile_lost(&profile, 0, AR_LOST_NODES) == 0, "on purpose");
    check_overheads(&profile.processes[0]);
    ar_profile_free(&profile);

    static const double prices[] = {-1, 1e300, (double)INFINITY, (double)NAN};

    memset(image_header()->spent_ticks, 0, sizeof image_header()->spent_ticks);
    memset(image_header()->spent_ns, 0, sizeof image_header()->spent_ns);
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++) {
        image_header()->call_cost_ns = image_header()->c_call_cost_ns = prices[i];
        image_header()->c_count_cost_ns = prices[i];
        read_image(0);
        tap_ok(profile.processes[0].overhead_ns == 0, "a price of %g is none", prices[i]);
        ar_profile_free(&profile);
    }
}

/* "/main:0/solve:13": where a thread is; "-": nowhere. */
static bool is_at(uint32_t location, const char *path)
{
    uint32_t current = profile.locations[location].current;
    char found[1024] = "-";

    if (current)
        sample_path(&profile, current - 1, found, sizeof found);
    if (strcmp(found, path) != 0)
        tap_note("it is at %s", found);
    return strcmp(found, path) == 0;
}

static struct ar_live_thread *thread_at(size_t i)
{
    return &((struct ar_live_thread *)(image_at(at.threads) + 1))[i];
}

static void test_stacks(void)
{
    build();
    thread_at(0)->current_ref = at.wait;
    thread_at(0)->latest_ticks = 2500;
    thread_at(1)->end_ticks = 1700;
    read_image(0);
    tap_ok(is_at(0, "/main:0/solve:12/MPI_Wait:21"), "the node that a thread is in");
    tap_ok(is_at(1, "-"), "a thread that has ended is nowhere");
    tap_ok(profile.locations[0].latest_real_ns == 1700000000000003000u, "its newest stamp");
    tap_ok(profile.locations[1].latest_real_ns == 1700000000000001400u, "or when it ended");
    ar_profile_free(&profile);
    thread_at(0)->current_ref = at.root;
    thread_at(1)->end_ticks = 0;
    thread_at(1)->current_ref = 0xffffff;
    read_image(0);
    tap_ok(is_at(0, ""), "a thread that is in no function");
    tap_ok(is_at(1, "-"), "one that is where nothing is");
    ar_profile_free(&profile);
    image_header()->state = AR_LIVE_FINISHED;
    read_image(0);
    tap_ok(is_at(0, "-"), "when all is over nobody is anywhere");
    ar_profile_free(&profile);
}

/* A function in C that has hardly had any time, but is where the thread is. */
static void add_comm(uint64_t identity, uint32_t size)
{
    struct ar_live_comm facts = {
        .identity = identity, .origin = AR_COMM_SPLIT, .size = size, .rank = 2};

    image_record(at.records,
                 (struct ar_record){.kind = AR_RECORD_COMM, .n_linetable = sizeof facts}, "", "",
                 &facts);
}

static void add_sync(size_t stream, uint32_t comm, uint32_t sequence)
{
    size_t room = image_room(stream, sizeof(struct ar_sync));

    *(struct ar_sync *)(image.bytes + room) = (struct ar_sync){.kind = AR_SYNC_ALL,
                                                               .comm = comm,
                                                               .sequence = sequence,
                                                               .peer = AR_PEER_ALL,
                                                               .node_ref = at.wait,
                                                               .enter_ticks = 1200,
                                                               .exit_ticks = 1300};
}

/* What a call waits for is of the node where it was entered; with it the ranks that others may wait for. */
static void test_open_calls(void)
{
    build();
    add_comm(11, 1);
    add_comm(12, 3);
    add_sync(image_extent(AR_EXTENT_STREAM, 0, 1), 2, 16);
    thread_at(0)->current_ref = at.wait;
    thread_at(0)->call = (struct ar_live_call){
        .node_ref = at.wait, .kind = AR_SYNC_RECEIVE, .comm = 2, .sequence = 7, .peer = 1};
    read_image(0);

    struct ar_open_call at_first = sample_open_call_of(&profile, 0), *open = &at_first;

    tap_ok(open->kind == AR_SYNC_RECEIVE && open->comm == 2 && open->sequence == 7 &&
               open->peer == 1,
           "a thread waits for a message");
    tap_ok(profile.n_members == 1 && profile.members[0].comm == 1 &&
               profile.members[0].rank == AR_OWN_RANK(2, 0) && profile.members[0].n_calls == 17,
           "a process is a member of the communicator that others share");
    ar_profile_free(&profile);
    thread_at(0)->current_ref = at.solve;
    read_image(0);
    tap_ok(sample_open_call_of(&profile, 0).kind == AR_SYNC_NONE,
           "a call that was left waits no longer");
    ar_profile_free(&profile);
    thread_at(0)->current_ref = at.wait;
    thread_at(0)->call.comm = 3;
    thread_at(0)->call.kind = 200;
    read_image(0);
    tap_ok(sample_open_call_of(&profile, 0).kind == AR_SYNC_UNKNOWN &&
               sample_open_call_of(&profile, 0).comm == 0,
           "what cannot be is not known");
    ar_profile_free(&profile);
}

static void test_stack_in_c(void)
{
    build();
    image_record(at.records, (struct ar_record){.kind = AR_RECORD_FACT}, "builtins", "counted",
                 NULL);
    image_function(at.records, AR_FUNCTION_BUILTIN, "built-in method time.sleep"); /* number 5 */
    uint32_t sleep = image_node(at.nodes, key(5, 2), at.solve, -2999, 1);

    thread_at(0)->current_ref = sleep;
    read_image(0);
    tap_ok(is_at(0, "/main:0/solve:12/built-in method time.sleep:21"), "a short function in C");
    check("/main:0/solve:12/built-in method time.sleep:21", 0, 1, 2);
    ar_profile_free(&profile);
    thread_at(0)->current_ref = image_node(at.nodes, key(SOLVE, 0), sleep, -2999, 1);
    read_image(0);
    tap_ok(is_at(0, "/main:0/solve:12/built-in method time.sleep:21/solve:20"), "what it calls");
    ar_profile_free(&profile);
}

/* What measures us is not where the program is. */
static void test_stack_in_ours(void)
{
    build();
    image_function(at.records, AR_FUNCTION_OURS, "calibration"); /* number 5 */
    uint32_t ours = image_node(at.nodes, key(5, 2), at.main_node, -2999, 1);

    thread_at(0)->current_ref = image_node(at.nodes, key(SOLVE, 2), ours, -2999, 1);
    read_image(0);
    tap_ok(is_at(0, "/main:0"), "below what is about ourselves");
    ar_profile_free(&profile);
}

static void test_tasks(void)
{
    build_more("counted");
    read_image(0);
    check("/main:0/load:0", 0, 3, 400);
    tap_ok(sample_find(&profile, AR_METRIC_AWAITED, sample_node_at(&profile, "/main:0/load:0"),
                       0) == 1400,
           "awaited, in ns");
    tap_ok(profile.metrics[AR_METRIC_AWAITED].n_values == 1, "no other node has any");
    ar_profile_free(&profile);
}

/* ---- any damage ------------------------------------------------------------------------------ */

static bool survives(void)
{
    enum ar_status status;
    bool sound;

    sample_start(&profile);
    status = add_image(&profile, 0);
    sound = status < 0 || sample_is_sound(&profile);
    ar_profile_free(&profile);
    return sound;
}

/* Where there is something: the rest of each page is zeros that nobody reads. */
static bool is_written(size_t offset)
{
    size_t page = offset & ~(size_t)(AR_LIVE_PAGE_BYTES - 1);

    return offset - page <
           (page == 0 ? sizeof(struct ar_live_header) : image_at(page)->n_bytes_used);
}

static void test_flips(void (*make)(void))
{
    static const unsigned char flips[] = {0x01, 0x10, 0x80, 0xff};
    static unsigned char saved[sizeof image.bytes];
    size_t n_flips = 0;
    bool good = true;

    make();
    image_values(at.values, at.main_node, AR_FIRST_MEASURE);
    memcpy(saved, image.bytes, sizeof saved);
    for (size_t i = 0; i < image.n_bytes; i++)
        for (size_t k = 0; k < sizeof flips && is_written(i); k++, n_flips++) {
            image.bytes[i] ^= flips[k];
            good = survives() && good;
            image.bytes[i] = saved[i];
        }
    tap_ok(good && n_flips > 3000, "%zu bytes changed: refused, or a profile", n_flips);
}

static void test_random_damage(void (*make)(void))
{
    static unsigned char saved[sizeof image.bytes];
    struct dice d = {12};
    bool good = true;

    make();
    memcpy(saved, image.bytes, sizeof saved);
    for (int round = 0; round < 20000; round++) {
        for (uint32_t n = 1 + dice_below(&d, 4); n > 0;) {
            size_t word = dice_below(&d, (uint32_t)image.n_bytes) & ~(size_t)3;
            uint32_t value = dice_below(&d, 2) ? UINT32_MAX : (uint32_t)dice_number(&d);

            if (!is_written(word) || word < 16) /* the magic is known to be refused */
                continue;
            memcpy(image.bytes + word, &value, sizeof value);
            n--;
        }
        good = survives() && good;
        memcpy(image.bytes, saved, sizeof saved);
    }
    tap_ok(good, "words changed at random: refused, or a profile");
}

static void test_no_memory(void (*make)(void))
{
    bool refused = true, worked = false;
    struct ar_live live;
    size_t n = 0;

    make();
    sample_must(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "x.live", &error));
    for (; !worked; n++) {
        sample_start(&profile);
        alloc_fail_after(n);
        enum ar_status status = ar_profile_add_live(&profile, &live, 0, &error);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
        ar_profile_free(&profile);
    }
    tap_ok(refused && n > 5, "every one of %zu allocations may fail", n - 1);
    ar_live_close(&live);
}

int main(void)
{
    test_times_and_calls();
    test_threads();
    test_mpi_values();
    test_process();
    test_functions();
    test_newest_stamp();
    test_length_of_a_tick();
    test_entered_just_now();
    test_places_on_one_line();
    test_two_processes();
    test_bad_nodes();
    test_nodes_of_no_thread();
    test_chains_of_values();
    test_bad_records();
    test_flips(build);
    test_flips(build_counted);
    test_random_damage(build);
    test_random_damage(build_counted);
    test_counted_builtins();
    test_variance();
    test_unassigned();
    test_partial_functions();
    test_ours_and_overhead();
    test_tasks();
    test_stacks();
    test_open_calls();
    test_stack_in_c();
    test_stack_in_ours();
    test_no_memory(build);
    test_no_memory(build_counted);
    return tap_done();
}
