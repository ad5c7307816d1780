// SPDX-License-Identifier: BSD-3-Clause
/*
 * Small files to begin with, made by the project's own writers: a fuzzer finds what is near to them.
 *
 *     make_seeds live|run|trace|linetable|pstats DIRECTORY
 */
#include "export/pstats.h"
#include "format/runfile.h"
#include "live_image.h"
#include "made_up.h"
#include "sample_profile.h"
#include "scratch.h"

static const char *directory;

static void save(const char *name, const void *bytes, size_t n_bytes)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    scratch_write(path, bytes, n_bytes);
}

/* ---- live files ------------------------------------------------------------------------------ */

static const unsigned char lines_311[] = {0x80, 0x00, 0xd0, 0x04, 0x08, 0xf0, 0x02, 0x03};

static void add_comms(size_t records, uint32_t made_ref)
{
    struct ar_live_comm comms[] = {
        {.identity = 7, .origin = AR_COMM_WORLD, .size = 4},
        {.identity = 8, .parent = 1, .origin = AR_COMM_DUP, .size = 4, .is_hidden = 1},
        {.parent = 2, .origin = AR_COMM_SPLIT, .size = 2, .made_ref = made_ref},
    };
    struct ar_record head = {.kind = AR_RECORD_COMM, .n_linetable = sizeof *comms};

    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++)
        image_record(records, head, "comm", "", &comms[i]);
    image_record(records, (struct ar_record){.kind = AR_RECORD_COMM_NAME, .other = 3}, "row", "",
                 NULL);
}

static void add_messages(size_t values, uint32_t ref, uint32_t posted)
{
    uint64_t *words = image_values(values, ref, AR_VALUES_TRAFFIC)->words;

    words[AR_TRAFFIC_WHERE] = (uint64_t)ref << 32 | 3 << 8 | 10;
    words[AR_TRAFFIC_PEER] = (uint64_t)1 << 32;
    words[AR_TRAFFIC_N_OUT] = 3;
    words[AR_TRAFFIC_BYTES_OUT] = 800;
    words = image_values(values, ref, AR_VALUES_COMPLETED)->words;
    words[AR_COMPLETED_WHERE] = (uint64_t)ref << 32;
    words[AR_COMPLETED_POSTED] = posted;
    words[AR_COMPLETED_N] = 2;
}

/* Blocked once, and waited for what `posted` had begun. */
static void add_waits(size_t stream, uint32_t ref, uint32_t posted)
{
    struct ar_sync_part parts[] = {{posted, 300}, {ref, 20}};

    image_sync(stream,
               (struct ar_sync){.kind = AR_SYNC_RECEIVE,
                                .comm = 1,
                                .peer = 2,
                                .node_ref = ref,
                                .enter_ticks = 1500,
                                .exit_ticks = 1600},
               parts, 1);
    image_sync(stream,
               (struct ar_sync){.kind = AR_SYNC_ALL,
                                .flags = AR_SYNC_NONBLOCKING,
                                .comm = 3,
                                .peer = AR_PEER_ALL,
                                .node_ref = ref,
                                .posted_ref = ref,
                                .enter_ticks = 1900,
                                .exit_ticks = 2000,
                                .post_ticks = 1700},
               parts, 2);
}

static void add_records(size_t records)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                             .function_kind = AR_FUNCTION_PYTHON,
                             .linetable_kind = AR_LINETABLE_PEP657,
                             .first_line = 7,
                             .n_linetable = sizeof lines_311};

    image_record(records, (struct ar_record){.kind = AR_RECORD_FACT}, "command", "x.py", NULL);
    image_record(records, (struct ar_record){.kind = AR_RECORD_FACT}, "builtins", "counted", NULL);
    image_record(records, head, "main", "x.py", lines_311);
    image_function(records, AR_FUNCTION_MPI, "MPI_Send");
    image_function(records, AR_FUNCTION_BUILTIN, "built-in method time.sleep");
    image_function(records, AR_FUNCTION_REGION, "solve(level=2)");
    image_function(records, AR_FUNCTION_TASK, "fetch");
    image_function(records, AR_FUNCTION_OURS, "loop");
    head.other = 4; /* the region */
    image_record(records, head, "solve", "x.py", lines_311);
    image_record(records, (struct ar_record){.kind = AR_RECORD_PARTIAL, .other = 1}, "", "", NULL);
    image_function(records, AR_FUNCTION_OPERATION, "Comm.send");
    image_function(records, AR_FUNCTION_UNASSIGNED, "time.sleep");
}

/* A metric of each scope, a table and a stream that only the file describes. */
static void add_measures(size_t records, size_t values, uint32_t ref)
{
    image_measure(records, &made_up_metrics);
    image_measure(records, &made_up_lines);
    image_measure(records, &made_up_events);

    uint64_t *words = image_values(values, ref, AR_FIRST_MEASURE)->words;

    words[0] = (uint64_t)ref << 32;
    words[1] = 500;
    words[2] = (uint64_t)3 << 32 | 7;
    words = image_values(values, ref, AR_FIRST_MEASURE + 1)->words;
    words[0] = (uint64_t)ref << 32 | 11;
    words[1] = 2;

    size_t events = image_extent((enum ar_extent_kind)(AR_FIRST_MEASURE + 2), 0, 1);

    image_row(events, (uint64_t[]){(uint64_t)1 << 32 | ref, 5, 1500}, 3);
    image_row(events, (uint64_t[]){ref, 6, 1600}, 3);
}

static void save_live(void)
{
    image_start();

    size_t threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    size_t records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    size_t nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    size_t values = image_extent(AR_EXTENT_VALUES, 0, 1);
    uint32_t root = image_node(nodes, 0, 0, -1000, 1);

    image_thread(threads, 0, root, "MainThread")->latest_ticks = 2900;
    add_records(records);
    image_header()->call_cost_ns = 40;

    uint32_t main_ref = image_node(nodes, 1, root, -1100, 1);

    for (uint64_t function = 2; function <= 7; function++) {
        uint32_t ref = image_node(nodes, function | (uint64_t)3 << 32, main_ref, 100, 3);

        image_values(values, ref, AR_VALUES_MPI)->words[AR_MPI_BYTES_OUT] = 800;
        image_values(values, ref, AR_VALUES_ESTIMATE)->words[AR_ESTIMATE_TIMED] = 2;
        image_values(values, ref, AR_VALUES_TASK)->words[AR_TASK_AWAITED_TICKS] = 5;
    }

    uint32_t operation = image_node(nodes, 8, main_ref, 50, 1);
    uint32_t within = image_node(nodes, 2, operation, 40, 1);

    image_node(nodes, 3, operation, 5, 1);
    add_comms(records, within);
    add_messages(values, within, operation);
    add_waits(image_extent(AR_EXTENT_STREAM, 0, 1), within, operation);
    save("one_thread", image.bytes, image.n_bytes);
    add_measures(records, values, within);
    save("measures", image.bytes, image.n_bytes);

    size_t more = image_extent(AR_EXTENT_NODES, 1, 1);

    root = image_node(more, 0, 0, 900, 1);
    image_node(more, 1, root, 100, 3);
    image_thread(threads, 1, root, "thread 1")->end_ticks = 2900;
    save("two_threads", image.bytes, image.n_bytes);
    image_start();
    save("header_alone", image.bytes, image.n_bytes);
}

/* ---- run files ------------------------------------------------------------------------------- */

static void save_profile(const char *name, struct ar_profile *p)
{
    struct ar_bytes bytes = {0};

    sample_must(ar_run_encode(p, &bytes));
    save(name, bytes.data, bytes.n);
    ar_bytes_free(&bytes);
}

/* A metric, a table and a stream that this program does not know. */
static void add_others(struct ar_profile *p, uint32_t node)
{
    static const unsigned char rows[] = {0, 5, 0, 6};
    static const struct ar_role_maps same;
    uint32_t nodes[] = {node};
    const struct ar_other_stream stream = {.name = "made_up.events",
                                           .location = 1,
                                           .roles = {{.role = AR_ROLE_NODE}},
                                           .tables = {{nodes, 1}},
                                           .n_tables = 1,
                                           .bytes = rows,
                                           .n_bytes = sizeof rows};
    struct {
        uint32_t node, thread, line, spare;
        uint64_t hits, ns;
    } line = {.node = node, .thread = 1, .line = 11, .hits = 3, .ns = 40};
    struct ar_table *table;
    unsigned metric;

    sample_must(ar_profile_find_metric(p, &made_up_samples, &metric));
    sample_must(ar_profile_value(p, metric, (struct ar_value){node, 1, 7}));
    sample_must(ar_profile_find_table(p, &made_up_line_kind, &table));
    sample_must(ar_table_add(table, &line, sizeof line));
    sample_must(ar_other_streams_add(&p->other_streams, &stream, &same, true));
}

static void save_run(void)
{
    struct ar_profile p;

    sample_start(&p);
    save_profile("empty", &p);
    sample_must(ar_profile_fact(&p, sample_str("command"), sample_str("x.py")));

    uint32_t main_id = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 0);
    uint32_t send =
        sample_node(&p, main_id, sample_function(&p, AR_FUNCTION_MPI, "MPI_Send", 0), 7);
    uint32_t import = sample_node(
        &p, main_id, sample_function_in(&p, AR_FUNCTION_PYTHON, "f", "<frozen importlib>", 9), 3);

    for (uint32_t rank = 0; rank < 3; rank++) {
        uint32_t process = sample_rank(&p, rank);

        for (uint32_t thread = 0; thread < 2; thread++) {
            uint32_t here = sample_thread(&p, process, thread);

            for (int metric = 0; metric < AR_N_METRICS; metric++)
                sample_value(&p, (enum ar_metric_id)metric, thread ? import : send, here,
                             100 * rank + 1);
            sample_value(&p, AR_METRIC_TIME, 0, here, 5000);
            sample_value(&p, AR_METRIC_TIME, main_id, here, 4000);
            sample_traffic(&p, (struct ar_traffic){.node = send,
                                                   .location = here,
                                                   .comm = 1,
                                                   .peer = rank,
                                                   .world_peer = AR_PEER_ALL,
                                                   .size_class = 9,
                                                   .n_out = 5,
                                                   .bytes_out = 1500});
            sample_completed(
                &p, (struct ar_completed){
                        .node = import, .location = here, .posted = send, .n = 2, .flight_ns = 70});
            sample_must(ar_profile_sync(&p,
                                        (struct ar_profile_sync){.location = here,
                                                                 .kind = AR_SYNC_ALL,
                                                                 .flags = AR_SYNC_NONBLOCKING,
                                                                 .comm = 1,
                                                                 .peer = AR_PEER_ALL,
                                                                 .node = send,
                                                                 .posted = send + 1,
                                                                 .enter_ns = 300,
                                                                 .exit_ns = 400,
                                                                 .post_ns = 200,
                                                                 .n_parts = 1},
                                        &(struct ar_profile_part){.node = main_id, .ns = 150}));
        }
    }
    sample_comm(&p, 3, "world", AR_COMM_WORLD, 3, 0);
    sample_comm(&p, 0, "", AR_COMM_DUP, 3, 1);
    save_profile("three_ranks", &p);
    add_others(&p, send);
    save_profile("others", &p);
    ar_profile_free(&p);
}

/* ---- files of cProfile ----------------------------------------------------------------------- */

static void save_pstats(void)
{
    struct ar_export_choice all = {0};
    struct ar_bytes bytes = {0};
    struct ar_profile p;

    sample_start(&p);

    uint32_t main_id = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 0);
    uint32_t here = sample_thread(&p, sample_rank(&p, 0), 0);

    sample_value(&p, AR_METRIC_CALLS, main_id, here, 3);
    sample_value(&p, AR_METRIC_TIME, main_id, here, 4000);
    sample_must(ar_pstats_encode(&p, &all, &bytes, NULL, NULL));
    save("ours", bytes.data, bytes.n);
    ar_bytes_free(&bytes);
    ar_profile_free(&p);
}

/* ---- events of traces ------------------------------------------------------------------------- */

/* Every kind of event, as fuzz_trace.c takes them: 9 items in 2 chunks. */
static void save_trace(void)
{
    static const unsigned char seed[] = {
        8,    1,    3,    0,    0x03, 0,                           /* 24 bytes, then the rest */
        0x06, 0x00, 0x01, 0x00, 0x09, 0x00,                        /* down to 2, up */
        0x0b, 0x01, 0x00, 0x00, 0x02, 0x00,                        /* down to 4 after longer */
        0x10, 0x05, 3,    1,    5,    4,    0,   9, 0, 0, 0,    0, /* a message */
        0x04, 0x06, 5,    0,    0,    0,    0,   0, 0, 0, 0xea, 0x03, 0, 0, /* go to a ref */
        0x08, 0x04, 5,    0,    0,    0,    0,   0, 0, 0,                   /* off */
        0x0c, 0x06, 5,    0,    0,    0,    0,   0, 0, 0, 0xea, 0x03, 0, 0, /* on */
        0x14, 0x0a, 5,    0,    0,    0,    0,   0, 0, 0, 0,    7,    0, 0,
        0,    0,    0,    0,    0,    1,    'x', 0,                         /* a parameter */
        0x1c, 0x06, 5,    0,    0,    0,    0,   0, 0, 0, 0xed, 0x03, 0, 0, /* taken back */
        0x18, 0x04, 5,    0,    0,    0,    0,   0, 0, 0,                   /* full */
    };

    save("every_kind", seed, sizeof seed);
}

/* ---- line tables ----------------------------------------------------------------------------- */

static void save_linetable(void)
{
    static const unsigned char lnotab[] = "\1\0\0\0\4\0\0\0\1\0\1\2\2\377\0\6\200";
    static const unsigned char pep626[] = "\1\0\0\0\4\0\0\0\2\2\1\4\200\376\0\2\377";
    static const unsigned char pep657[] = "\1\0\0\0\4\0\0\0\3\200\0\320\4\10\360\2\3\370\3";

    save("lnotab", lnotab, sizeof lnotab - 1);
    save("pep626", pep626, sizeof pep626 - 1);
    save("pep657", pep657, sizeof pep657 - 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*save)(void);
    } kinds[] = {{"live", save_live},
                 {"run", save_run},
                 {"trace", save_trace},
                 {"linetable", save_linetable},
                 {"pstats", save_pstats}};

    directory = argc == 3 ? argv[2] : "";
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].save();
            return 0;
        }
    fprintf(stderr, "usage: make_seeds live|run|trace|linetable|pstats DIRECTORY\n");
    return 2;
}
