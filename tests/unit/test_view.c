// SPDX-License-Identifier: BSD-3-Clause
/* What Python sees of a run, worked out by hand; and that memory may run out anywhere. */
#include "reader/columns.h"

#include "failing_alloc.h"
#include "format/runfile.h"
#include "sample_profile.h"
#include "scratch.h"
#include "tap.h"

static struct ar_view view;
static char path[512];

static void add_values(struct ar_profile *p, uint32_t node, uint32_t location, uint64_t n_calls,
                       uint64_t ns)
{
    sample_value(p, AR_METRIC_CALLS, node, location, n_calls);
    sample_value(p, AR_METRIC_TIME, node, location, ns);
}

/*
 *     node              rank 0    rank 1   its thread 1
 *     0 root              1000      2000
 *     1 main               900      1500                 main.py:1
 *     2   MPI_Send         300       100                 called at line 7
 *     3   main              50                           recursion, at line 8
 *     4 Thread-1                              400
 *     5   MPI_Recv                            150        called by nobody
 *     6   _find_and_load                                 below main, at line 3
 *     7     exec                                         also of the import system
 *     8       MPI_Init                                   at line 241 of it
 */
static void fill(struct ar_profile *p)
{
    uint32_t function = sample_function_in(p, AR_FUNCTION_PYTHON, "main", "main.py", 1);
    uint32_t send = sample_function(p, AR_FUNCTION_MPI, "MPI_Send", 0);
    uint32_t receive = sample_function(p, AR_FUNCTION_MPI, "MPI_Recv", 0);
    const char *importlib = "<frozen importlib._bootstrap>";
    uint32_t find = sample_function_in(p, AR_FUNCTION_PYTHON, "_find_and_load", importlib, 1);
    uint32_t exec = sample_function_in(p, AR_FUNCTION_PYTHON, "exec", importlib, 9);
    uint32_t init = sample_function(p, AR_FUNCTION_MPI, "MPI_Init", 0);
    uint32_t thread = sample_function(p, AR_FUNCTION_THREAD, "Thread-1", 0);

    sample_thread(p, sample_rank(p, 0), 0);
    sample_thread(p, sample_rank(p, 1), 0);
    sample_thread(p, 1, 1);
    sample_node(p, 0, function, 0);
    sample_node(p, 1, send, 7);
    sample_node(p, 1, function, 8);
    sample_node(p, 0, thread, 0);
    sample_node(p, 4, receive, 0);
    sample_node(p, 1, find, 3);
    sample_node(p, 6, exec, 30);
    sample_node(p, 7, init, 241);
    sample_value(p, AR_METRIC_TIME, 0, 0, 1000);
    sample_value(p, AR_METRIC_TIME, 0, 1, 2000);
    add_values(p, 1, 0, 1, 900), add_values(p, 1, 1, 1, 1500);
    add_values(p, 2, 0, 3, 300), add_values(p, 2, 1, 2, 100);
    add_values(p, 3, 0, 1, 50);
    sample_value(p, AR_METRIC_TIME, 4, 2, 400);
    add_values(p, 5, 2, 1, 150);
    sample_value(p, AR_METRIC_MIN_TIME, 2, 0, 90), sample_value(p, AR_METRIC_MIN_TIME, 2, 1, 40);
    sample_value(p, AR_METRIC_MAX_TIME, 2, 0, 120), sample_value(p, AR_METRIC_MAX_TIME, 2, 1, 60);
}

static void write_run(void)
{
    struct ar_profile p;
    struct ar_bytes bytes = {0};

    sample_start(&p);
    fill(&p);
    sample_must(ar_run_encode(&p, &bytes));
    sample_must(ar_run_write(&bytes, scratch_path("x.allranks"), path, sizeof path, NULL));
    ar_bytes_free(&bytes);
    ar_profile_free(&p);
}

static const union ar_cell *cell(const char *table_name, uint32_t row, const char *column)
{
    static union ar_cell cells[AR_MAX_SHOWN_COLUMNS];
    const struct ar_shown_table *table = ar_shown_table_find(table_name);
    size_t i = 0;

    table->read(&view, row, cells);
    while (i < table->n_columns && strcmp(table->columns[i].name, column) != 0)
        i++;
    if (i == table->n_columns) {
        printf("Bail out! no column %s\n", column);
        exit(2);
    }
    return &cells[i];
}

static void check_integer(const char *table, uint32_t row, const char *column, int64_t expected)
{
    int64_t found = cell(table, row, column)->integer;

    if (!tap_ok(found == expected, "%s %u %s", table, row, column))
        tap_note("%lld, not %lld", (long long)found, (long long)expected);
}

static void check_ns(const char *table, uint32_t row, const char *column, double expected)
{
    double found = cell(table, row, column)->real * 1e9;

    if (!tap_ok(found > expected - 1e-3 && found < expected + 1e-3, "%s %u %s", table, row, column))
        tap_note("%g, not %g", found, expected);
}

static void check_text(const char *table, uint32_t row, const char *column, const char *expected)
{
    struct ar_str found = cell(table, row, column)->text;
    bool same =
        found.n_bytes == strlen(expected) && memcmp(found.text, expected, found.n_bytes) == 0;

    if (!tap_ok(same, "%s %u %s", table, row, column))
        tap_note("%.*s, not %s", (int)found.n_bytes, found.text, expected);
}

/* By self time: main (600 + 1400 - 50 + 50), then MPI_Send (400), Thread-1 (250), MPI_Recv (150). */
static void test_functions(void)
{
    tap_ok(ar_shown_table_find("functions")->n_rows(&view) == 7, "the root's function has no row");
    check_text("functions", 0, "name", "main");
    check_text("functions", 0, "file", "main.py");
    check_text("functions", 0, "kind", "python");
    check_integer("functions", 0, "calls", 3);
    check_integer("functions", 0, "paths", 2);
    check_ns("functions", 0, "time_s", 2400);
    check_ns("functions", 0, "self_s", 2000);
    check_text("functions", 1, "name", "MPI_Send");
    check_text("functions", 2, "name", "Thread-1");
    check_text("functions", 3, "name", "MPI_Recv");
    check_integer("functions", 3, "time_min_rank", 0);
    check_integer("functions", 3, "time_max_rank", 1);
}

static void test_tree_and_mpi(void)
{
    check_integer("tree", 0, "parent", -1);
    check_integer("tree", 5, "depth", 2);
    check_text("tree", 3, "caller", "main");
    check_text("tree", 3, "file", "main.py");
    check_integer("tree", 3, "line", 8);
    check_text("tree", 5, "caller", "");
    tap_ok(ar_shown_table_find("mpi")->n_rows(&view) == 3, "three MPI calls");
    check_text("mpi", 0, "function", "MPI_Send");
    check_integer("mpi", 0, "line", 7);
    check_ns("mpi", 0, "shortest_s", 40);
    check_ns("mpi", 0, "longest_s", 120);
    check_ns("mpi", 1, "longest_s", 0);
}

static void test_ranks_and_threads(void)
{
    check_ns("ranks", 0, "mpi_s", 300);
    check_ns("ranks", 1, "mpi_s", 250);
    check_integer("ranks", 1, "rank", 1);
    check_ns("threads", 1, "time_s", 2000);
    check_ns("threads", 2, "time_s", 400);
    check_ns("threads", 2, "mpi_s", 150);
    check_integer("threads", 2, "process", 1);
}

static void test_measured(void)
{
    bool known[2] = {false, false};

    for (size_t i = 0; i < AR_N_MEASURED; i++) {
        struct ar_measured m = ar_measured_get(&view, i);
        uint32_t nodes[16], locations[16];
        double reals[16];
        int64_t integers[16];

        ar_measured_nodes(&m, nodes);
        ar_measured_locations(&m, locations);
        ar_measured_values(&m, m.type == AR_CELL_REAL ? (void *)reals : (void *)integers);
        if (strcmp(m.name, "self_s") == 0)
            known[0] = m.n_values == 9 && nodes[2] == 1 && locations[2] == 0 && reals[2] == 550e-9;
        if (strcmp(m.name, "calls") == 0)
            known[1] = m.n_values == 6 && nodes[2] == 2 && locations[2] == 0 && integers[2] == 3;
    }
    tap_ok(known[0], "self times by node and thread, in seconds");
    tap_ok(known[1], "calls by node and thread");
    tap_ok(!ar_shown_table_find("nonsense"), "there is no such table");
}

static void test_places_below_imports(void)
{
    struct ar_error err;

    check_text("mpi", 2, "caller", "exec");
    check_integer("mpi", 2, "line", 241);
    ar_view_close(&view);
    tap_ok(ar_view_open(&view, path, true, &err) == AR_OK, "the same folded");
    check_text("mpi", 2, "function", "MPI_Init");
    check_text("mpi", 2, "caller", "main");
    check_text("mpi", 2, "file", "main.py");
    check_integer("mpi", 2, "line", 3);
    tap_ok(ar_shown_table_find("functions")->n_rows(&view) == 6,
           "the import system is one function");
    check_text("mpi", 0, "caller", "main");
    check_integer("mpi", 0, "line", 7);
    check_text("mpi", 1, "caller", "");
}

static void test_no_memory(bool folded)
{
    enum ar_status status = AR_NOMEM;
    struct ar_error err;
    size_t n = 0;

    for (; status < 0 && n < 1000; n++) {
        alloc_fail_after(n);
        status = ar_view_open(&view, path, folded, &err);
        alloc_restore();
    }
    if (!tap_ok(status == AR_OK && n > 30, "without memory there is nothing to close"))
        tap_note("after %zu: %d, %s", n, status, err.text);
    ar_view_close(&view);
}

int main(void)
{
    struct ar_error err;

    scratch_make();
    write_run();
    tap_ok(ar_view_open(&view, path, false, &err) == AR_OK, "a run is opened");
    test_functions();
    test_tree_and_mpi();
    test_ranks_and_threads();
    test_measured();
    test_places_below_imports();
    ar_view_close(&view);
    test_no_memory(false);
    test_no_memory(true);
    tap_ok(ar_view_open(&view, scratch_dir, false, &err) == AR_BAD, "a directory without files");
    scratch_remove();
    return tap_done();
}
