// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a later version measures is kept by this one: a metric of each scope, a table, and a column more of one of ours go through
 * writing, reading, merging with a run of other numbers, folding and selecting.
 */
#include "analysis/fold.h"
#include "analysis/select.h"
#include "format/rows.h"
#include "format/runfile.h"

#include "sample_profile.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct ar_error error;

static const struct ar_metric_kind inclusive = {.name = "later.cycles",
                                                .unit = "1",
                                                .combine = AR_COMBINE_SUM,
                                                .scope = AR_SCOPE_INCLUSIVE,
                                                .divide_by = "calls"};
static const struct ar_metric_kind exclusive = {
    .name = "later.samples", .unit = "1", .combine = AR_COMBINE_SUM, .scope = AR_SCOPE_EXCLUSIVE};
static const struct ar_metric_kind of_call = {
    .name = "later.deepest", .unit = "1", .combine = AR_COMBINE_MAX, .scope = AR_SCOPE_CALL};

static const struct ar_column line_columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY},
    {.name = "thread", .unit = "", .role = AR_ROLE_LOCATION, .flags = AR_COLUMN_KEY},
    {.name = "text", .unit = "", .role = AR_ROLE_STRING, .flags = AR_COLUMN_KEY},
    {.name = "hits", .unit = "1", .combine = AR_COMBINE_SUM},
};
static const struct ar_table_kind lines = {
    .name = "later.lines", .columns = line_columns, .n_columns = 4, .n_keys = 3};

struct line_row {
    uint32_t node, thread, text, spare;
    uint64_t hits;
};

/* Requests as a later version may have them. */
static struct ar_column request_columns[8];
static struct ar_table_kind requests;

struct later_request {
    struct ar_completed ours;
    uint64_t retries;
};

static void describe_requests(void)
{
    const struct ar_table_kind *ours = &ar_table_kinds[AR_TABLE_REQUESTS];

    memcpy(request_columns, ours->columns, ours->n_columns * sizeof *request_columns);
    request_columns[7] =
        (struct ar_column){.name = "retries", .unit = "1", .combine = AR_COMBINE_MAX};
    requests = *ours;
    requests.columns = request_columns;
    requests.n_columns = 8;
}

/* Its bytes say what they mean by numbers of its own tables: of a node, and of a text. */
static void add_stream(struct ar_profile *p, uint32_t node)
{
    uint32_t nodes[] = {node}, texts[] = {0, sample_text(p, "event") + 1};
    const struct ar_other_stream stream = {
        .name = "later.trace",
        .roles = {{.role = AR_ROLE_NODE}, {.role = AR_ROLE_STRING, .flags = AR_COLUMN_OPTIONAL}},
        .tables = {{nodes, 1}, {texts, 2}},
        .n_tables = 2,
        .bytes = (const unsigned char *)"opaque",
        .n_bytes = 6,
    };
    const struct ar_role_maps same = {.to = {NULL}};

    sample_must(ar_other_streams_add(&p->other_streams, &stream, &same, true));
}

static void add_row(struct ar_profile *p, const struct ar_table_kind *kind, const void *row,
                    size_t n_bytes)
{
    struct ar_table *table;

    sample_must(ar_profile_find_table(p, kind, &table));
    sample_must(ar_table_add(table, row, n_bytes));
}

static void add_value(struct ar_profile *p, const struct ar_metric_kind *kind, uint32_t node,
                      uint64_t value)
{
    unsigned metric;

    sample_must(ar_profile_find_metric(p, kind, &metric));
    sample_must(ar_profile_value(p, metric, (struct ar_value){node, 0, value}));
}

/*
 *     (root) 100
 *       main 90            20 samples
 *         (import) 50      3, all below it included: 43
 *           in it 45       40
 *         work 30          7
 */
static struct ar_profile measured(uint32_t rank, bool is_later)
{
    struct ar_profile p;

    sample_start(&p);
    for (uint32_t i = 0; i <= rank; i++) /* so that numbers are others on each rank */
        sample_text(&p, i ? "another" : "one");
    for (uint32_t i = 0; i < rank; i++)
        sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "other", 1), 1);

    sample_thread(&p, sample_rank(&p, rank), 0);

    struct ar_function find = {.kind = AR_FUNCTION_PYTHON,
                               .name = sample_text(&p, "find_spec"),
                               .file = sample_text(&p, "<frozen importlib._bootstrap>")};
    uint32_t find_id;

    sample_must(ar_profile_function(&p, find, &find_id));

    uint32_t main_id = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 1);
    uint32_t import = sample_node(&p, main_id, find_id, 2);
    uint32_t below = sample_node(&p, import, find_id, 3);
    uint32_t work = sample_node(&p, main_id, sample_function(&p, AR_FUNCTION_PYTHON, "work", 9), 4);

    uint32_t nodes[] = {0, main_id, import, below, work};
    static const uint64_t times[] = {100, 90, 50, 45, 30}, samples[] = {0, 20, 3, 40, 7};

    for (int i = 0; i < 5; i++) {
        sample_value(&p, AR_METRIC_TIME, nodes[i], 0, times[i]);
        sample_value(&p, AR_METRIC_CALLS, nodes[i], 0, 1);
        if (!is_later)
            continue;
        add_value(&p, &inclusive, nodes[i], 10 * times[i]);
        add_value(&p, &of_call, nodes[i], times[i]);
        if (samples[i])
            add_value(&p, &exclusive, nodes[i], samples[i]);
    }

    struct later_request request = {
        .ours = {.node = work, .posted = main_id, .n = 2, .flight_ns = 5}, .retries = 9};

    add_row(&p, is_later ? &requests : &ar_table_kinds[AR_TABLE_REQUESTS], &request,
            is_later ? sizeof request : sizeof request.ours);
    if (is_later)
        add_stream(&p, work);
    if (is_later)
        add_row(&p, &lines,
                &(struct line_row){.node = work, .text = sample_text(&p, "x = 1"), .hits = 6},
                sizeof(struct line_row));
    return p;
}

static struct ar_profile again(struct ar_profile *p)
{
    struct ar_bytes bytes = {0};
    struct ar_profile q;

    sample_must(ar_run_encode(p, &bytes));
    sample_must(ar_run_decode(&q, bytes.data, bytes.n, "x.allranks", &error));
    ar_bytes_free(&bytes);
    ar_profile_free(p);
    return q;
}

/* Of a metric, by the name of a function, over all ranks and nodes. */
static uint64_t value_of(const struct ar_profile *p, const char *metric, const char *function)
{
    uint64_t sum = 0;

    for (unsigned m = 0; m < ar_profile_n_metrics(p); m++) {
        struct ar_rows rows;

        if (strcmp(ar_profile_metric(p, m)->name, metric) != 0)
            continue;
        sample_must(ar_rows_open(&rows, p, m));
        for (uint32_t node = 0; node < p->n_nodes; node++) {
            uint32_t name = p->functions[p->nodes[node].function].name;
            struct ar_row row = ar_rows_get(&rows, node);

            for (size_t i = 0; i < row.n; i++)
                if (strcmp(ar_strtab_text(&p->strings, name), function) == 0)
                    sum += row.values[i].value;
        }
        ar_rows_close(&rows);
    }
    return sum;
}

static const struct ar_table *table_of(const struct ar_profile *p, const char *name)
{
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        if (p->tables[i].kind && strcmp(p->tables[i].kind->name, name) == 0)
            return &p->tables[i];
    return NULL;
}

static const char *function_at(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

static void check_lines(const struct ar_profile *p, size_t n, const char *what)
{
    const struct ar_table *table = table_of(p, "later.lines");
    bool good = table && table->n == n;

    for (size_t i = 0; good && i < n; i++) {
        const struct line_row *row = ar_table_row(table, i);

        good = row->hits == 6 && strcmp(function_at(p, row->node), "work") == 0 &&
               strcmp(ar_strtab_text(&p->strings, row->text), "x = 1") == 0 &&
               row->thread < p->n_locations;
    }
    tap_ok(good, "%s: %zu rows of the table that is not known", what, n);
}

static void check_streams(const struct ar_profile *p, size_t n, const char *what)
{
    bool good = p->other_streams.n == n;

    for (size_t i = 0; good && i < n; i++) {
        const struct ar_other_stream *s = &p->other_streams.items[i];

        good = strcmp(s->name, "later.trace") == 0 && s->location < p->n_locations &&
               s->n_bytes == 6 && memcmp(s->bytes, "opaque", 6) == 0 && s->n_tables == 2 &&
               strcmp(function_at(p, s->tables[0].numbers[0]), "work") == 0 &&
               s->tables[1].numbers[0] == 0 &&
               strcmp(ar_strtab_text(&p->strings, s->tables[1].numbers[1] - 1), "event") == 0;
    }
    tap_ok(good, "%s: %zu streams that are not known", what, n);
}

static void check_requests(const struct ar_profile *p, size_t n, uint64_t retries, const char *what)
{
    bool good = p->n_completed == n && p->completed_bytes == sizeof(struct later_request);
    uint64_t sum = 0;

    for (size_t i = 0; good && i < n; i++) {
        const struct later_request *row = (const void *)ar_completed_at(p, i);

        good = row->ours.n == 2 && row->ours.flight_ns == 5 &&
               strcmp(function_at(p, row->ours.node), "work") == 0 &&
               strcmp(function_at(p, row->ours.posted), "main") == 0;
        sum += row->retries;
    }
    tap_ok(good && sum == retries, "%s: a column more than ours has", what);
}

static void check_kept(const struct ar_profile *p, uint64_t n_later, const char *what)
{
    tap_ok(value_of(p, "later.cycles", "main") == 900 * n_later &&
               value_of(p, "later.deepest", "main") == 90 * n_later &&
               value_of(p, "later.samples", "main") == 20 * n_later &&
               value_of(p, "later.samples", "find_spec") == 43 * n_later,
           "%s: metrics that are not known", what);
    check_lines(p, n_later, what);
    check_streams(p, n_later, what);
}

static void test_file(void)
{
    struct ar_profile p = measured(0, true);
    unsigned metric;

    check_kept(&p, 1, "as measured");
    p = again(&p);
    check_kept(&p, 1, "from a file");
    check_requests(&p, 1, 9, "from a file");
    sample_must(ar_profile_find_metric(&p, &inclusive, &metric));

    const struct ar_metric_kind *kind = ar_profile_metric(&p, metric);

    tap_ok(metric >= AR_N_METRICS && strcmp(kind->unit, "1") == 0 &&
               kind->scope == AR_SCOPE_INCLUSIVE && kind->divide_by &&
               strcmp(kind->divide_by, "calls") == 0,
           "what it is");
    ar_profile_free(&p);
}

/* In both orders, with one that does not have any of it, and another that has. */
static void test_merge(bool later_first)
{
    struct ar_profile a = measured(0, later_first), b = measured(1, !later_first),
                      c = measured(2, true);
    const char *what = later_first ? "merged" : "merged into what has none";

    sample_must(ar_profile_merge(&a, &b));
    sample_must(ar_profile_merge(&a, &c));
    a = again(&a);
    check_kept(&a, 2, what);
    check_requests(&a, 3, 18, what);
    ar_profile_free(&a);
    ar_profile_free(&b);
    ar_profile_free(&c);
}

static void check_folded(const struct ar_profile *p, struct ar_profile *folded, const char *what)
{
    sample_must(ar_fold(folded, p));
    tap_ok(value_of(folded, "time", "(import)") == 50 &&
               value_of(folded, "later.cycles", "(import)") == 500 &&
               value_of(folded, "later.deepest", "(import)") == 50,
           "%s: of those within, time is in that above already", what);
    tap_ok(value_of(folded, "later.samples", "(import)") == 43 &&
               value_of(folded, "later.samples", "main") == 20,
           "%s: what is not is added to it", what);
    check_lines(folded, 1, what);
    check_streams(folded, 1, what);
    ar_profile_free(folded);
}

/* Plain values, and rows of another profile. */
static void test_fold(void)
{
    struct ar_profile p = measured(0, true), folded, packed;
    struct ar_bytes bytes = {0};

    sample_must(ar_profile_sort(&p));
    check_folded(&p, &folded, "folded");
    sample_must(ar_run_encode(&p, &bytes));
    sample_must(ar_run_decode_packed(&packed, bytes.data, bytes.n, "x.allranks", &error));
    packed.file = bytes.data; /* as ar_run_read_packed does */
    check_folded(&packed, &folded, "folded, of a file");
    ar_profile_free(&packed);
    ar_profile_free(&p);
}

static void test_select(void)
{
    struct ar_profile p = measured(0, true), q = measured(1, true), chosen, folded;
    struct ar_selection no_main = {.exclude = {.items = {"main"}, .n = 1}};
    struct ar_selection rank_1 = {.ranks = "1"};

    sample_must(ar_profile_merge(&p, &q));
    sample_must(ar_select(&chosen, &p, &no_main, &error));
    tap_ok(value_of(&chosen, "later.samples", "") == 40 &&
               value_of(&chosen, "later.samples", "find_spec") == 86 &&
               value_of(&chosen, "later.cycles", "main") == 0,
           "what is hidden leaves to its caller what only it has: %u",
           (unsigned)value_of(&chosen, "later.samples", ""));
    sample_must(ar_fold(&folded, &chosen));
    tap_ok(value_of(&folded, "later.samples", "") == 40 &&
               value_of(&folded, "later.samples", "(import)") == 86 &&
               value_of(&folded, "later.cycles", "(import)") == 1000,
           "also when that is folded");
    ar_profile_free(&folded);
    ar_profile_free(&chosen);
    sample_must(ar_select(&chosen, &p, &rank_1, &error));
    check_kept(&chosen, 1, "of one rank");
    check_requests(&chosen, 1, 9, "of one rank");
    ar_profile_free(&chosen);
    ar_profile_free(&p);
    ar_profile_free(&q);
}

/* Beyond what there is room for: counted, and the rest is kept. */
static void test_too_many(void)
{
    struct ar_profile p = measured(0, true), q = measured(1, false);

    for (int i = 0; i < 100; i++) {
        char name[32];
        struct ar_metric_kind kind = {.name = name, .unit = "1"};
        unsigned metric;

        snprintf(name, sizeof name, "metric %d", i);
        if (ar_profile_find_metric(i % 2 ? &p : &q, &kind, &metric) == AR_OK)
            sample_must(ar_profile_value(i % 2 ? &p : &q, metric, (struct ar_value){0, 0, 1}));
    }
    sample_must(ar_profile_merge(&p, &q));
    p = again(&p);
    tap_ok(ar_profile_n_metrics(&p) == AR_MAX_METRICS &&
               ar_profile_lost(&p, 0, AR_LOST_METRICS) == AR_N_METRICS + 3 + 100 - AR_MAX_METRICS,
           "metrics without room are counted: %u",
           (unsigned)ar_profile_lost(&p, 0, AR_LOST_METRICS));
    check_kept(&p, 1, "beside them");
    ar_profile_free(&p);
    ar_profile_free(&q);
}

int main(void)
{
    describe_requests();
    test_file();
    test_merge(true);
    test_merge(false);
    test_fold();
    test_select();
    test_too_many();
    return tap_done();
}
