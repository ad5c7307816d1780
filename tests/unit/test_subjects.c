// SPDX-License-Identifier: BSD-3-Clause
/* Tables whose subject is no run: runs that are compared, a running job, files that jobs have left. */
#include "run/subjects.h"

#include "failing_alloc.h"
#include "run/tables.h"
#include "sample_runs.h"
#include "tap.h"

static struct ar_summary runs[2];
static struct ar_subject subject;

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

static union ar_cell cell(const char *table_name, size_t row, const char *column)
{
    const struct ar_shown_table *table = ar_shown_find(table_name);
    struct ar_shown_rows rows;

    sample_must(ar_shown_prepare(table, &subject, &rows));
    return table->cell(&subject, column_of(table, column), ar_shown_row(&rows, row));
}

static size_t n_rows(const char *table_name)
{
    struct ar_shown_rows rows;

    sample_must(ar_shown_prepare(ar_shown_find(table_name), &subject, &rows));
    return rows.n;
}

static void check_integer(const char *table, size_t row, const char *column, int64_t expected)
{
    int64_t found = cell(table, row, column).integer;

    if (!tap_ok(found == expected, "%s %zu %s", table, row, column))
        tap_note("%lld, not %lld", (long long)found, (long long)expected);
}

static void check_real(const char *table, size_t row, const char *column, double expected)
{
    double found = cell(table, row, column).real;

    if (!tap_ok(found == expected, "%s %zu %s", table, row, column))
        tap_note("%g, not %g", found, expected);
}

static void check_bool(const char *table, size_t row, const char *column, bool expected)
{
    tap_ok(cell(table, row, column).boolean == expected, "%s %zu %s", table, row, column);
}

static void check_text(const char *table, size_t row, const char *column, const char *expected)
{
    struct ar_str found = cell(table, row, column).text;
    bool same = found.n_bytes == strlen(expected) && strcmp(found.text, expected) == 0;

    if (!tap_ok(same, "%s %zu %s", table, row, column))
        tap_note("%.*s, not %s", (int)found.n_bytes, found.text, expected);
}

/* Ranks that solve for as long as is said. */
static void add_run(struct ar_summary *to, const char *path, const uint64_t *solve_ns,
                    size_t n_ranks, uint32_t line)
{
    struct ar_profile p;

    sample_run_start(&p, line);
    for (size_t i = 0; i < n_ranks; i++)
        sample_run_rank(&p, solve_ns[i], i == 0 ? 1000 : 0, 500);
    sample_must(ar_summary_take(to, &p, true));
    to->path = path;
}

static void free_runs(void)
{
    ar_summary_free(&runs[0]);
    ar_summary_free(&runs[1]);
}

/* ---- diff ------------------------------------------------------------------------------------- */

static struct ar_diff diff;

/* The function "solve" got slower on one rank, and is at another line now. */
static void compare(void)
{
    static const uint64_t before[] = {1000, 2000, 3000, 4000}, after[] = {1000, 2000, 3000, 8000};

    add_run(&runs[0], "base", before, 4, 10);
    add_run(&runs[1], "now", after, 4, 12);
    sample_must(ar_diff_build(&diff, runs, 1, 2, true));
}

static void test_diff_as_a_whole(void)
{
    check_text("diff", 0, "noise_from", "pairs");
    check_real("diff", 0, "wall_change_ns", 1000);
    check_bool("diff", 0, "wall_counts", true);
    check_real("diff", 0, "mpi_base_ns", 500);
    check_real("diff", 0, "mpi_change_ns", 0);
    tap_ok(n_rows("diff_runs") == 2, "two runs");
    check_text("diff_runs", 0, "side", "base");
    check_text("diff_runs", 1, "side", "now");
    check_text("diff_runs", 1, "path", "now");
    check_integer("diff_runs", 1, "ranks", 4);
}

static void test_diff_rows(void)
{
    check_text("diff_functions", 0, "name", "solve");
    check_integer("diff_functions", 0, "base_line", 10);
    check_integer("diff_functions", 0, "now_line", 12);
    check_real("diff_functions", 0, "self_base_ns", 2500);
    check_real("diff_functions", 0, "self_now_ns", 3500);
    check_bool("diff_functions", 0, "self_counts", true);
    check_real("diff_functions", 0, "calls_now", 10);
    tap_ok(n_rows("diff_paths") == 4, "the root is no call path");
    check_text("diff_paths", 0, "path", "main > solve");
    check_text("diff_paths", 0, "function", "solve");
    check_integer("diff_paths", 0, "line", -1);
    check_real("diff_paths", 0, "self_change_ns", 1000);
    for (size_t i = 0; i < 4; i++)
        if (strcmp(cell("diff_paths", i, "path").text.text, "main") == 0) {
            check_integer("diff_paths", i, "parent", -1);
            tap_ok(cell("diff_paths", 0, "parent").integer == cell("diff_paths", i, "id").integer,
                   "call paths refer to each other");
        }
}

static void test_diff_conditions(void)
{
    check_text("diff_conditions", 0, "condition", "total > 5%");
    check_bool("diff_conditions", 0, "holds", true);
    check_text("diff_conditions", 0, "function", "");
    check_real("diff_conditions", 0, "time_change_ns", 1000);
    check_text("diff_conditions", 1, "function", "solve");
}

static void test_diff_without_memory(struct ar_shown_diff *shown)
{
    struct ar_shown_rows rows;
    bool worked = false;
    size_t n = 0;

    ar_shown_diff_free(shown);
    for (; !worked && n < 100; n++) {
        alloc_fail_after(n);
        worked = ar_shown_prepare(ar_shown_find("diff_paths"), &subject, &rows) == AR_OK;
        alloc_restore();
    }
    tap_ok(worked && n > 3 && rows.n == 4, "call paths can be asked for again");
}

static void test_diff(void)
{
    compare();

    const struct ar_shown_condition conditions[] = {
        {.text = "total > 5%", .holds = true, .change = diff.total},
        {.text = "solve > 1s", .row = &diff.functions.rows[0]},
    };
    struct ar_shown_diff shown = {.d = &diff, .conditions = conditions, .n_conditions = 2};

    subject = (struct ar_subject){.diff = &shown};
    test_diff_as_a_whole();
    test_diff_rows();
    test_diff_conditions();
    test_diff_without_memory(&shown);
    ar_shown_diff_free(&shown);
    ar_diff_free(&diff);
    free_runs();
}

/* ---- scaling ---------------------------------------------------------------------------------- */

/* On two ranks "solve" takes as long as on one, and waits are not known. */
static void test_scaling(void)
{
    static const uint64_t alone[] = {10000}, together[] = {10000, 9000};
    struct ar_scaling scaling;

    add_run(&runs[0], "two", together, 2, 10);
    add_run(&runs[1], "one", alone, 1, 10);
    sample_must(ar_scaling_build(&scaling, runs, 2, false));

    const struct ar_shown_scaling shown = {.s = &scaling};

    subject = (struct ar_subject){.scaling = &shown};
    check_text("scaling", 0, "scaling", "strong");
    check_integer("scaling", 0, "runs", 2);
    check_text("scaling_runs", 0, "path", "one");
    check_integer("scaling_runs", 1, "ranks", 2);
    check_real("scaling_runs", 1, "speed_up", 1);
    check_real("scaling_runs", 1, "wall_ns", 11600);
    check_integer("scaling_runs", 1, "max_computing_rank", 0);
    check_text("scaling_functions", 0, "name", "solve");
    check_text("scaling_functions", 0, "verdict", "constant");
    check_integer("scaling_functions", 0, "stops_at", -1);
    check_real("scaling_functions", 0, "lost_ns", 5000);
    tap_ok(n_rows("scaling_function_runs") == 2 * n_rows("scaling_functions"),
           "a row for each function and run");
    check_text("scaling_function_runs", 1, "function", "solve");
    check_integer("scaling_function_runs", 1, "ranks", 2);
    check_integer("scaling_function_runs", 1, "calls", 20);
    check_real("scaling_function_runs", 1, "rank_calls_mean", 10);
    check_real("scaling_function_runs", 1, "self_ns", 19000);
    check_integer("scaling_function_runs", 1, "self_max_ns", 10000);
    ar_scaling_free(&scaling);
    free_runs();
}

/* ---- a running job ---------------------------------------------------------------------------- */

static void test_job(void)
{
    struct ar_watch watch;

    sample_must(ar_watch_init(&watch));

    uint32_t solve = sample_function(&watch.names, AR_FUNCTION_PYTHON, "solve", 7);
    uint32_t send = sample_function(&watch.names, AR_FUNCTION_MPI, "MPI_Send", 0);
    struct ar_watched at[] = {
        {.process = {.world_rank = 3, .pid = 30, .state = AR_PROCESS_RUNNING},
         .now = {.wall_ns = 100, .mpi_ns = 40},
         .function = solve,
         .leaf = send},
        {.process = {.world_rank = AR_RANK_NONE}, .function = AR_NO_ID, .leaf = AR_NO_ID},
    };
    const struct ar_top_row rows[] = {
        {.function = solve,
         .ever = {.n_calls = 9, .self_ns = 60, .time_ns = 100},
         .lately = {.n_calls = 2, .self_ns = 6, .time_ns = 10}},
    };
    struct ar_shown_job job = {.watch = &watch, .rows = rows, .n_rows = 1, .has_interval = true};

    watch.processes = at;
    watch.n_processes = 2;
    subject = (struct ar_subject){.job = &job};
    check_integer("top", 0, "span_ns", 100);
    check_integer("top_processes", 0, "rank", 3);
    check_text("top_processes", 0, "state", "running");
    check_integer("top_processes", 0, "mpi_ns", 40);
    check_text("top_processes", 0, "function", "MPI_Send");
    check_text("top_processes", 0, "kind", "mpi");
    check_integer("top_processes", 1, "rank", -1);
    check_text("top_processes", 1, "function", "");
    check_text("top_processes", 1, "kind", "");
    check_text("top_functions", 0, "name", "solve");
    check_integer("top_functions", 0, "time_ns", 100);
    check_integer("top_functions", 0, "lately_self_ns", 6);
    job.has_interval = false;
    check_integer("top", 0, "lately_span_ns", -1);
    check_integer("top_functions", 0, "lately_calls", -1);
    check_integer("top_functions", 0, "lately_self_ns", -1);
    watch.processes = NULL;
    watch.n_processes = 0;
    ar_watch_free(&watch);
}

/* ---- leftovers -------------------------------------------------------------------------------- */

static void test_leftovers(void)
{
    char path[] = "/tmp/job", run[] = "a.allranks", none[] = "";
    const struct ar_left_job jobs[] = {
        {.path = path, .n_processes = 4, .n_bytes = 77, .start_real_ns = 5},
        {.path = path},
    };
    const struct ar_left_row rows[] = {
        {.job = &jobs[0], .host = "here", .state = "dead", .run = run, .is_removed = true},
        {.job = &jobs[1], .host = "-", .state = "unknown", .run = none},
    };
    const struct ar_shown_leftovers left = {
        .rows = rows, .n_rows = 2, .n_removed = 3, .removed_bytes = 77};

    subject = (struct ar_subject){.leftovers = &left};
    check_integer("clean", 0, "jobs", 2);
    check_integer("clean", 0, "bytes_removed", 77);
    check_text("clean_jobs", 0, "host", "here");
    check_integer("clean_jobs", 0, "start_real_ns", 5);
    check_text("clean_jobs", 0, "run_file", "a.allranks");
    check_bool("clean_jobs", 0, "removed", true);
    check_text("clean_jobs", 1, "host", "");
    check_integer("clean_jobs", 1, "start_real_ns", -1);
    check_text("clean_jobs", 1, "run_file", "");
}

int main(void)
{
    test_diff();
    test_scaling();
    test_job();
    test_leftovers();
    return tap_done();
}
