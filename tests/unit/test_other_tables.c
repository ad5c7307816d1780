// SPDX-License-Identifier: BSD-3-Clause
/* Tables, metrics and streams of a file that this program does not know: what is shown of them. */
#include "run/other_tables.h"

#include "export/tables_json.h"
#include "failing_alloc.h"
#include "run/other_data.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_run *run;

/* Every role, and names that meet: `line` of a node and of the table, and three of a kind. */
static const struct ar_column line_columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY},
    {.name = "posted",
     .unit = "",
     .role = AR_ROLE_NODE,
     .flags = AR_COLUMN_KEY | AR_COLUMN_OPTIONAL},
    {.name = "location", .unit = "", .role = AR_ROLE_LOCATION, .flags = AR_COLUMN_KEY},
    {.name = "process", .unit = "", .role = AR_ROLE_PROCESS, .flags = AR_COLUMN_KEY},
    {.name = "what", .unit = "", .role = AR_ROLE_FUNCTION, .flags = AR_COLUMN_KEY},
    {.name = "comm", .unit = "", .role = AR_ROLE_COMM, .flags = AR_COLUMN_KEY | AR_COLUMN_OPTIONAL},
    {.name = "text",
     .unit = "",
     .role = AR_ROLE_STRING,
     .flags = AR_COLUMN_KEY | AR_COLUMN_OPTIONAL},
    {.name = "line", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "peer", .unit = "", .flags = AR_COLUMN_KEY, .shift = AR_PEER_SHIFT},
    {.name = "cost", .unit = "ns", .combine = AR_COMBINE_SUM},
    {.name = "cost", .unit = "ns", .combine = AR_COMBINE_SUM},
    {.name = "size", .unit = "B", .combine = AR_COMBINE_SUM},
    {.name = "odd\033", .unit = "furlong", .combine = AR_COMBINE_SUM},
};
static const struct ar_table_kind lines = {
    .name = "later.lines", .columns = line_columns, .n_columns = 13, .n_keys = 9};

struct line_row {
    uint32_t node, posted, location, process, what, comm, text, line, peer, spare;
    uint64_t cost, other_cost, size, odd;
};

/* A table of ours with other keys. */
static const struct ar_column message_columns[] = {
    {.name = "number", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "n", .unit = "1", .combine = AR_COMBINE_SUM},
};
static const struct ar_table_kind messages = {
    .name = "messages", .columns = message_columns, .n_columns = 2, .n_keys = 1};

struct message_row {
    uint32_t number, spare;
    uint64_t n;
};

static void add_row(struct ar_profile *p, const struct ar_table_kind *kind, const void *row,
                    size_t n_bytes)
{
    struct ar_table *table;

    sample_must(ar_profile_find_table(p, kind, &table));
    sample_must(ar_table_add(table, row, n_bytes));
}

static void add_stream(struct ar_profile *p, const char *name, uint32_t location)
{
    const struct ar_other_stream stream = {
        .name = name, .location = location, .bytes = (const unsigned char *)"opaque", .n_bytes = 6};
    const struct ar_role_maps same = {.to = {NULL}};

    sample_must(ar_other_streams_add(&p->other_streams, &stream, &same, true));
}

/*
 *     main       main.py:1
 *       solve    called at line 7
 */
static void fill(struct ar_profile *p)
{
    static const struct ar_metric_kind samples = {.name = "later.samples", .unit = "1"};
    uint32_t first = sample_function_in(p, AR_FUNCTION_PYTHON, "main", "main.py", 1);
    uint32_t solve = sample_function_in(p, AR_FUNCTION_PYTHON, "solve", "solver.py", 9);
    uint32_t top = sample_node(p, 0, first, 0), below = sample_node(p, top, solve, 7);
    unsigned metric;

    sample_thread(p, sample_rank(p, 0), 0);
    sample_thread(p, sample_rank(p, 1), 0);
    sample_value(p, AR_METRIC_TIME, below, 0, 100);
    sample_must(ar_profile_find_metric(p, &samples, &metric));
    sample_must(ar_profile_value(p, metric, (struct ar_value){below, 0, 3}));
    sample_must(ar_profile_value(p, metric, (struct ar_value){below, 1, 4}));
    add_stream(p, "later.trace", 1);
    add_stream(p, "later.heap", 0);
    add_stream(p, "later.trace", 0);
    add_stream(p, "later.trace", 1);

    const struct line_row rows[] = {
        {.node = below,
         .posted = top + 1,
         .location = 1,
         .process = 1,
         .what = solve,
         .comm = 1 + sample_comm(p, 5, "world", AR_COMM_WORLD, 2, 0),
         .text = 1 + sample_text(p, "x = 1"),
         .line = 77,
         .peer = 3,
         .cost = 5000,
         .other_cost = 6000,
         .size = 8,
         .odd = 9},
        {.node = top, .what = solve, .peer = UINT32_MAX},
    };

    for (size_t i = 0; i < 2; i++)
        add_row(p, &lines, &rows[i], sizeof rows[i]);
    add_row(p, &messages, &(struct message_row){.number = 4, .n = 5}, sizeof(struct message_row));
}

static void open_run(enum ar_tree_form form)
{
    struct ar_profile p;
    struct ar_error err;

    sample_start(&p);
    fill(&p);
    sample_must(ar_run_of(&run, &p, &(struct ar_run_choice){.path = "x", .form = form}, &err));
}

/* "other_tables" as report --json has them, on one line each. */
static void check_json(const char *expected)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    sample_must(ar_json_other_tables(&j, run));
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\0');
    if (!tap_ok(strcmp((const char *)bytes.data, expected) == 0, "as JSON"))
        tap_note("%s", (const char *)bytes.data);
    ar_bytes_free(&bytes);
}

/* Rows are sorted by their keys. */
static void test_json(void)
{
    check_json("{\n\"other_tables\": {\n\"later.lines\": [\n"
               "{\"node\": 1,\"function\": \"main\",\"file\": null,\"node_line\": 0,"
               "\"posted\": null,\"posted_function\": null,\"posted_file\": null,"
               "\"posted_line\": null,\"thread\": 0,\"rank\": 0,\"process\": 0,"
               "\"process_rank\": 0,\"pid\": 1000,\"what\": \"solve\",\"what_id\": 2,"
               "\"communicator\": null,\"text\": null,\"line\": 0,\"peer\": null,\"cost_ns\": 0,"
               "\"cost_2_ns\": 0,\"size\": 0,\"odd?\": 0},\n"
               "{\"node\": 2,\"function\": \"solve\",\"file\": \"main.py\",\"node_line\": 7,"
               "\"posted\": 1,\"posted_function\": \"main\",\"posted_file\": null,"
               "\"posted_line\": 0,\"thread\": 1,\"rank\": 1,\"process\": 1,"
               "\"process_rank\": 1,\"pid\": 1001,\"what\": \"solve\",\"what_id\": 2,"
               "\"communicator\": 0,\"text\": \"x = 1\",\"line\": 77,\"peer\": 3,\"cost_ns\": 5000,"
               "\"cost_2_ns\": 6000,\"size\": 8,\"odd?\": 9}],\n"
               "\"messages_2\": [\n{\"number\": 4,\"n\": 5}]}}");
}

static void test_names(void)
{
    size_t n;
    const struct ar_other_table *others = ar_run_other_tables(run, &n);

    tap_ok(n == 2 && ar_run_other_table(run, "later.lines") == &others[0] &&
               ar_run_other_table(run, "messages_2") == &others[1],
           "tables by their names");
    tap_ok(!ar_run_other_table(run, "messages") && !ar_run_other_table(run, "nonsense"),
           "a name of ours stays ours");
}

static bool is_row(const struct ar_other_row *row, enum ar_other_kind kind, const char *name,
                   size_t n_rows, size_t n_threads, size_t n_bytes)
{
    return row->kind == kind && strcmp(row->name, name) == 0 && row->n_rows == n_rows &&
           row->n_threads == n_threads && row->n_bytes == n_bytes;
}

static void test_other_data(void)
{
    size_t n;
    const struct ar_other_row *rows = ar_run_other_data(run, &n);

    tap_ok(n == 5, "a metric, two tables, streams of two names");
    tap_ok(is_row(&rows[0], AR_OTHER_METRIC, "later.samples", 2, 0, 0), "values of a metric");
    tap_ok(is_row(&rows[1], AR_OTHER_TABLE, "later.lines", 2, 0, 0), "rows of a table");
    tap_ok(is_row(&rows[2], AR_OTHER_TABLE, "messages", 1, 0, 0), "as the file names it");
    tap_ok(is_row(&rows[3], AR_OTHER_STREAM, "later.heap", 0, 1, 6), "a stream");
    tap_ok(is_row(&rows[4], AR_OTHER_STREAM, "later.trace", 0, 2, 18),
           "three streams of two threads");
}

static bool prepare_all(void)
{
    struct ar_shown_rows rows;
    size_t n;
    const struct ar_other_table *others = ar_run_other_tables(run, &n);

    for (size_t i = 0; others && i < n; i++)
        if (ar_shown_prepare(&others[i].shown, &others[i].subject, &rows) < 0)
            return false;
    return others && ar_run_other_data(run, &n);
}

static void test_no_memory(void)
{
    bool has_all = false;
    size_t n = 0;

    ar_run_close(run);
    open_run(AR_FORM_FOLDED);
    for (; !has_all && n < 1000; n++) {
        alloc_fail_after(n);
        has_all = prepare_all();
        alloc_restore();
    }
    tap_ok(has_all && n > 10, "they can be asked for again");
}

int main(void)
{
    open_run(AR_FORM_RECORDED);
    test_json();
    test_names();
    test_other_data();
    test_no_memory();
    test_names();
    ar_run_close(run);
    return tap_done();
}
