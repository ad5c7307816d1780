// SPDX-License-Identifier: BSD-3-Clause
/* What tables show of a run, worked out by hand; rules that hold for all of them; and that memory may run out anywhere. */
#include "run/tables.h"

#include "failing_alloc.h"
#include "run/measured.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_run *run;

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
 *     5   MPI_Recv                            150        called by no function
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

static struct ar_run *open_run(const struct ar_run_choice *choice)
{
    struct ar_profile p;
    struct ar_error err;
    struct ar_run *opened;

    sample_start(&p);
    fill(&p);
    sample_must(ar_run_of(&opened, &p, choice, &err));
    return opened;
}

static size_t column_of(const struct ar_shown_table *table, const char *name)
{
    char known[64];

    for (size_t i = 0; i < table->n_columns; i++) {
        ar_shown_name(&table->columns[i], AR_IN_NS, known, sizeof known);
        if (strcmp(known, name) == 0)
            return i;
    }
    printf("Bail out! no column %s\n", name);
    exit(2);
}

static union ar_cell cell(const char *table_name, uint32_t row, const char *column)
{
    const struct ar_shown_table *table = ar_shown_find(table_name);
    struct ar_shown_rows rows;

    sample_must(ar_shown_prepare(table, ar_run_subject(run), &rows));
    return table->cell(ar_run_subject(run), column_of(table, column), ar_shown_row(&rows, row));
}

static size_t n_rows(const char *table_name)
{
    struct ar_shown_rows rows;

    sample_must(ar_shown_prepare(ar_shown_find(table_name), ar_run_subject(run), &rows));
    return rows.n;
}

static void check_integer(const char *table, uint32_t row, const char *column, int64_t expected)
{
    int64_t found = cell(table, row, column).integer;

    if (!tap_ok(found == expected, "%s %u %s", table, row, column))
        tap_note("%lld, not %lld", (long long)found, (long long)expected);
}

static void check_ns(const char *table, uint32_t row, const char *column, double expected)
{
    const struct ar_shown_table *of = ar_shown_find(table);
    union ar_cell c = cell(table, row, column);
    bool is_integer = of->columns[column_of(of, column)].type == AR_CELL_INTEGER;
    double found = is_integer ? (double)c.integer : c.real;

    if (!tap_ok(found == expected, "%s %u %s", table, row, column))
        tap_note("%g, not %g", found, expected);
}

static void check_text(const char *table, uint32_t row, const char *column, const char *expected)
{
    struct ar_str found = cell(table, row, column).text;
    bool same =
        found.n_bytes == strlen(expected) && memcmp(found.text, expected, found.n_bytes) == 0;

    if (!tap_ok(same, "%s %u %s", table, row, column))
        tap_note("%.*s, not %s", (int)found.n_bytes, found.text, expected);
}

/* By self time: main (600 + 1400 - 50 + 50), then MPI_Send (400), Thread-1 (250), MPI_Recv (150). */
static void test_functions(void)
{
    tap_ok(n_rows("functions") == 7, "the root's function has no row");
    check_text("functions", 0, "name", "main");
    check_text("functions", 0, "file", "main.py");
    check_text("functions", 0, "kind", "python");
    check_integer("functions", 0, "calls", 3);
    check_integer("functions", 0, "paths", 2);
    check_ns("functions", 0, "time_ns", 2400);
    check_ns("functions", 0, "self_ns", 2000);
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
    tap_ok(n_rows("mpi") == 3, "three MPI calls");
    check_text("mpi", 0, "function", "MPI_Send");
    check_integer("mpi", 0, "line", 7);
    check_ns("mpi", 0, "shortest_ns", 40);
    check_ns("mpi", 0, "longest_ns", 120);
    check_ns("mpi", 1, "longest_ns", 0);
}

static void test_ranks_and_threads(void)
{
    check_ns("ranks", 0, "mpi_ns", 300);
    check_ns("ranks", 1, "mpi_ns", 250);
    check_integer("ranks", 1, "rank", 1);
    check_ns("threads", 1, "time_ns", 2000);
    check_ns("threads", 2, "time_ns", 400);
    check_ns("threads", 2, "mpi_ns", 150);
    check_integer("threads", 2, "process", 1);
}

static void test_measured(void)
{
    bool known[2] = {false, false};

    for (size_t i = 0; i < ar_measured_n(run); i++) {
        struct ar_measured m;
        uint32_t nodes[16], locations[16];
        double seconds[16];
        int64_t integers[16];
        char name[64];

        sample_must(ar_measured_get(&m, run, i));
        ar_measured_name(run, i, name, sizeof name);
        ar_measured_nodes(&m, nodes);
        ar_measured_locations(&m, locations);
        ar_measured_values(&m, ar_measured_is_time(&m) ? (void *)seconds : (void *)integers);
        if (strcmp(name, "self_s") == 0)
            known[0] =
                m.n_values == 9 && nodes[2] == 1 && locations[2] == 0 && seconds[2] == 550e-9;
        if (strcmp(name, "calls") == 0)
            known[1] = m.n_values == 6 && nodes[2] == 2 && locations[2] == 0 && integers[2] == 3;
    }
    tap_ok(known[0], "self times by node and thread, in seconds");
    tap_ok(known[1], "calls by node and thread");
    tap_ok(!ar_shown_find("nonsense"), "there is no such table");
}

static void test_places_below_imports(void)
{
    check_text("mpi", 2, "caller", "exec");
    check_integer("mpi", 2, "line", 241);
    ar_run_close(run);
    run = open_run(&(struct ar_run_choice){.path = "x", .form = AR_FORM_FOLDED});
    check_text("mpi", 2, "function", "MPI_Init");
    check_text("mpi", 2, "caller", "main");
    check_text("mpi", 2, "file", "main.py");
    check_integer("mpi", 2, "line", 3);
    tap_ok(n_rows("functions") == 6, "the import system is one function");
    check_text("mpi", 0, "caller", "main");
    check_integer("mpi", 0, "line", 7);
    check_text("mpi", 1, "caller", "");
}

/* By functions that are named: who calls main, what it calls, and what it does itself. */
static void test_relatives(void)
{
    ar_run_close(run);
    run = open_run(&(struct ar_run_choice){.path = "x", .callers = "main", .callees = "main"});
    check_text("relatives", 0, "relation", "caller");
    check_text("relatives", 0, "other", "");
    check_integer("relatives", 0, "other_id", -1);
    check_integer("relatives", 0, "calls", 2);
    check_text("relatives", 1, "relation", "caller");
    check_text("relatives", 1, "other", "main");
    check_integer("relatives", 1, "calls", 1);
    check_text("relatives", 2, "relation", "callee");
    check_text("relatives", 2, "other", "MPI_Send");
    check_ns("relatives", 2, "time_ns", 400);

    uint32_t last = (uint32_t)n_rows("relatives") - 1;

    check_text("relatives", last, "relation", "itself");
    check_integer("relatives", last, "other_id", -1);
    check_ns("relatives", last, "time_ns", 2000);
}

/* ---- tasks, and the tree from its other end --------------------------------------------------- */

/*
 *     node              rank 0    rank 1    steps    awaited
 *     0 root              1000      1000
 *     1 main               900       500
 *     2   fetch            300       100    2 + 1    70       a task
 *     3     fetch          200                  4     5       eager: its time is part of that above
 *     4   parse             50                  1             another task
 */
static void fill_tasks(struct ar_profile *p)
{
    uint32_t function = sample_function_in(p, AR_FUNCTION_PYTHON, "main", "main.py", 1);
    uint32_t fetch = sample_function_in(p, AR_FUNCTION_TASK, "fetch", "main.py", 20);
    uint32_t parse = sample_function_in(p, AR_FUNCTION_TASK, "parse", "main.py", 30);

    sample_thread(p, sample_rank(p, 0), 0);
    sample_thread(p, sample_rank(p, 1), 0);
    sample_node(p, 0, function, 0);
    sample_node(p, 1, fetch, 0);
    sample_node(p, 2, fetch, 0);
    sample_node(p, 1, parse, 0);
    sample_value(p, AR_METRIC_TIME, 0, 0, 1000);
    sample_value(p, AR_METRIC_TIME, 0, 1, 1000);
    add_values(p, 1, 0, 1, 900), add_values(p, 1, 1, 1, 500);
    add_values(p, 2, 0, 2, 300), add_values(p, 2, 1, 1, 100);
    add_values(p, 3, 0, 4, 200);
    add_values(p, 4, 0, 1, 50);
    sample_value(p, AR_METRIC_AWAITED, 2, 0, 70);
    sample_value(p, AR_METRIC_AWAITED, 3, 0, 5);
}

static void open_tasks(const struct ar_run_choice *choice)
{
    struct ar_profile p;
    struct ar_error err;

    ar_run_close(run);
    sample_start(&p);
    fill_tasks(&p);
    sample_must(ar_run_of(&run, &p, choice, &err));
}

static void test_tasks(void)
{
    tap_ok(n_rows("tasks") == 0, "a run without tasks");
    open_tasks(&(struct ar_run_choice){.path = "x"});
    tap_ok(n_rows("tasks") == 2, "tasks by name");
    check_text("tasks", 0, "name", "fetch");
    check_integer("tasks", 0, "line", 20);
    check_integer("tasks", 0, "steps", 7);
    check_ns("tasks", 0, "time_ns", 400);
    check_ns("tasks", 0, "time_mean_ns", 200);
    check_ns("tasks", 0, "awaited_ns", 75);
    check_text("tasks", 1, "name", "parse");
}

/* By self time: main (550 + 400), fetch (100 + 100 + 200), parse (50). */
static void test_bottom_up(void)
{
    tap_ok(n_rows("bottom_up") == 7, "functions, and all of their callers");
    check_text("bottom_up", 0, "function", "main");
    check_integer("bottom_up", 0, "parent", -1);
    check_ns("bottom_up", 0, "self_ns", 950);
    check_text("bottom_up", 1, "function", "fetch");
    check_ns("bottom_up", 1, "self_ns", 400);
    check_integer("bottom_up", 1, "depth", 0);
    check_integer("bottom_up", 2, "parent", 1);
    check_integer("bottom_up", 2, "depth", 1);
    check_ns("bottom_up", 2, "self_ns", 200);
    open_tasks(&(struct ar_run_choice){.path = "x", .bottom_up_levels = 1});
    tap_ok(n_rows("bottom_up") == 3, "functions only");
    open_tasks(&(struct ar_run_choice){.path = "x", .bottom_up_share = 0.1});
    tap_ok(n_rows("bottom_up") == 5, "rows with a tenth of the time or more");
}

/* ---- all of them ------------------------------------------------------------------------------ */

static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9' && c > name) || *c == '_'))
            return false;
    return *name != '\0';
}

static bool is_unit(const char *unit)
{
    for (size_t i = 0; ar_shown_units[i]; i++)
        if (strcmp(ar_shown_units[i], unit) == 0)
            return true;
    return false;
}

static bool are_different(const struct ar_shown_table *t, size_t a, size_t b)
{
    char names[2][64], groups[2][64], keys[2][64];

    ar_shown_name(&t->columns[a], AR_IN_NS, names[0], 64);
    ar_shown_name(&t->columns[b], AR_IN_NS, names[1], 64);
    ar_shown_keys(t, a, groups[0], keys[0], 64);
    ar_shown_keys(t, b, groups[1], keys[1], 64);
    return strcmp(names[0], names[1]) != 0 &&
           (strcmp(groups[0], groups[1]) != 0 || strcmp(keys[0], keys[1]) != 0);
}

/* JSON opens a group where its first column is. */
static bool is_group_together(const struct ar_shown_table *t, size_t column)
{
    const char *group = t->columns[column].group;
    bool has_ended = false;

    for (size_t i = column + 1; group && i < t->n_columns; i++) {
        bool is_same = t->columns[i].group && strcmp(t->columns[i].group, group) == 0;

        if (is_same && has_ended)
            return false;
        has_ended = !is_same;
    }
    return true;
}

static bool is_well_described(const struct ar_shown_table *t)
{
    bool is_good = is_name(t->name) && t->key && *t->help;

    for (size_t i = 0; i < t->n_columns; i++) {
        const struct ar_shown_column *c = &t->columns[i];

        is_good = is_good && is_name(c->name) && (!c->group || is_name(c->group)) &&
                  is_unit(c->unit) && *c->help && is_group_together(t, i);
        for (size_t k = 0; k < i; k++)
            is_good = is_good && are_different(t, i, k);
        if (!is_good) {
            tap_note("column %s", c->name);
            break;
        }
    }
    return is_good;
}

/* "function_id, rank_id": columns of the table. */
static bool has_key(const struct ar_shown_table *t)
{
    char key[128], *rest = key, *word;

    snprintf(key, sizeof key, "%s", t->key);
    while ((word = strsep(&rest, ", ")) != NULL) {
        bool is_there = *word == '\0';

        for (size_t i = 0; i < t->n_columns; i++)
            is_there = is_there || (!t->columns[i].group && strcmp(t->columns[i].name, word) == 0);
        if (!is_there)
            return false;
    }
    return *t->key || t->is_single;
}

/* Numbers of ranks are good until the next cell only. */
static bool is_same_in_pieces(const struct ar_shown_table *t, size_t column,
                              const struct ar_shown_rows *rows)
{
    size_t n_bytes = ar_cell_bytes(t->columns[column].type), half = rows->n / 2;
    char *whole = malloc(rows->n * n_bytes + 1), *pieces = malloc(rows->n * n_bytes + 1);
    bool is_same;

    ar_shown_read(t, ar_run_subject(run), rows, column, 0, rows->n, whole);
    ar_shown_read(t, ar_run_subject(run), rows, column, half, rows->n - half,
                  pieces + half * n_bytes);
    ar_shown_read(t, ar_run_subject(run), rows, column, 0, half, pieces);
    is_same = memcmp(whole, pieces, rows->n * n_bytes) == 0;
    free(whole);
    free(pieces);
    return is_same;
}

static void test_every_table(void)
{
    for (size_t i = 0; ar_shown_tables[i]; i++) {
        const struct ar_shown_table *t = ar_shown_tables[i];
        struct ar_shown_rows rows;
        bool is_same = true;

        tap_ok(ar_shown_find(t->name) == t && is_well_described(t) && has_key(t),
               "%s is well described", t->name);
        if (t->about != AR_ABOUT_RUN)
            continue;
        sample_must(ar_shown_prepare(t, ar_run_subject(run), &rows));
        for (size_t column = 0; column < t->n_columns; column++)
            is_same = is_same && is_same_in_pieces(t, column, &rows);
        tap_ok(is_same, "%s is the same in pieces, %zu rows", t->name, rows.n);
    }
}

static bool prepare_all(void)
{
    struct ar_shown_rows rows;

    for (size_t i = 0; ar_shown_tables[i]; i++)
        if (ar_shown_tables[i]->about == AR_ABOUT_RUN &&
            ar_shown_prepare(ar_shown_tables[i], ar_run_subject(run), &rows) < 0)
            return false;
    return true;
}

static void test_no_memory(void)
{
    bool has_all = false;
    size_t n = 0;

    ar_run_close(run);
    run = open_run(&(struct ar_run_choice){.path = "x", .callers = "main", .callees = "main"});
    for (; !has_all && n < 1000; n++) {
        alloc_fail_after(n);
        has_all = prepare_all();
        alloc_restore();
    }
    tap_ok(has_all && n > 10, "tables that there was no memory for can be asked for again");
}

int main(void)
{
    run = open_run(&(struct ar_run_choice){.path = "x"});
    test_functions();
    test_tree_and_mpi();
    test_ranks_and_threads();
    test_measured();
    test_places_below_imports();
    test_relatives();
    test_tasks();
    test_bottom_up();
    test_every_table();
    test_no_memory();
    ar_run_close(run);
    return tap_done();
}
