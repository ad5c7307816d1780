// SPDX-License-Identifier: BSD-3-Clause
/*
 * A tree of six nodes on three ranks and a child process, whose file is read back with a reader of just as much tar as may be in it.
 * What other programs read is in tests/e2e/test_cubex.py.
 */
#include "export/cubex.h"

#include "export/tar.h"
#include "failing_alloc.h"
#include "made_up.h"
#include "sample_profile.h"
#include "tap.h"

#include <float.h>
#include <inttypes.h>

enum { MAIN, WORK, STEP, SEND, LAST, N_FUNCTIONS };

static struct ar_profile p;
static uint32_t functions[N_FUNCTIONS];
static uint32_t a, b, c, d, e;                 /* nodes */
static uint32_t rank_0, rank_1, rank_2, child; /* locations */

static struct ar_bytes file;
static struct ar_error error;
static size_t n_estimated;

/* ---- making one ------------------------------------------------------------------------------- */

static uint32_t process_on(const char *host, uint32_t world_rank, uint32_t pid, uint32_t root_pid)
{
    struct ar_process process = {.host = sample_text(&p, host),
                                 .world_rank = world_rank,
                                 .pid = pid,
                                 .pid_start = pid,
                                 .parent_pid = root_pid,
                                 .root_pid = root_pid,
                                 .root_start = root_pid,
                                 .command = sample_text(&p, root_pid ? "worker.py" : "a.py"),
                                 .start_real_ns = 1700000000500000000};
    uint32_t id;

    sample_must(ar_profile_process(&p, &process, &id));
    return sample_thread(&p, id, 0);
}

/* Ranks go round two hosts, so that the order of columns is none of the profile's. */
static void make_processes(void)
{
    rank_0 = process_on("one", 0, 100, 0);
    rank_1 = process_on("two", 1, 101, 0);
    rank_2 = process_on("one", 2, 102, 0);
    child = process_on("one", AR_RANK_NONE, 900, 100);
}

enum { RANK_0, CHILD, RANK_2, RANK_1, N_COLUMNS };

/*
 *     deep   wide
 *      0      0     root
 *      1      1       a main
 *      2      3         b work
 *      3      5           c step
 *      4      4         d MPI_Send
 *      5      2       e last
 */
static void make_tree(void)
{
    functions[MAIN] = sample_function(&p, AR_FUNCTION_PYTHON, "main", 3);
    functions[WORK] = sample_function(&p, AR_FUNCTION_PYTHON, "Grid.work", 7);
    functions[STEP] = sample_function(&p, AR_FUNCTION_PYTHON, "step", 9);
    functions[SEND] = sample_function(&p, AR_FUNCTION_MPI, "MPI_Send_c", 0);
    functions[LAST] = sample_function(&p, AR_FUNCTION_PYTHON, "last", 20);
    a = sample_node(&p, 0, functions[MAIN], 0);
    b = sample_node(&p, a, functions[WORK], 4);
    e = sample_node(&p, 0, functions[LAST], 0);
    c = sample_node(&p, b, functions[STEP], 8);
    d = sample_node(&p, a, functions[SEND], 5);
}

static void start(void)
{
    sample_start(&p);
    make_processes();
    make_tree();
}

static bool encode(void)
{
    ar_bytes_free(&file);
    return ar_cubex_encode(&p, &(struct ar_export_choice){0}, &file, &n_estimated, &error) == AR_OK;
}

static void finish(void)
{
    ar_profile_free(&p);
    ar_bytes_free(&file);
}

static void value(unsigned metric, uint32_t node, uint32_t location, uint64_t number)
{
    sample_must(ar_profile_value(&p, metric, (struct ar_value){node, location, number}));
}

/* ---- reading it back -------------------------------------------------------------------------- */

static uint64_t octal(const unsigned char *text, size_t n)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n && text[i] >= '0' && text[i] <= '7'; i++)
        number = 8 * number + (uint64_t)(text[i] - '0');
    return number;
}

static bool checksum_fits(const unsigned char *header)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < AR_TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : header[i];
    return sum == octal(header + 148, 8) && memcmp(header + 257,
                                                   "ustar\0"
                                                   "00",
                                                   8) == 0;
}

/* The bytes of a member; of the name NULL how many members there are, in `n`. */
static const unsigned char *member(const char *name, size_t *n)
{
    size_t n_members = 0;

    for (size_t at = 0; at + AR_TAR_BLOCK <= file.n && file.data[at];) {
        uint64_t n_bytes = octal(file.data + at + 124, 12);

        if (!checksum_fits(file.data + at))
            return NULL;
        if (name && strcmp((const char *)file.data + at, name) == 0) {
            *n = (size_t)n_bytes;
            return file.data + at + AR_TAR_BLOCK;
        }
        at += (size_t)ar_tar_member_bytes(n_bytes);
        n_members++;
    }
    *n = name ? 0 : n_members;
    return NULL;
}

/* Of the anchor, with a zero byte behind it; good until the next call. */
static const char *anchor(void)
{
    static char text[1 << 16];
    size_t n;
    const unsigned char *bytes = member("anchor.xml", &n);

    if (!bytes || n >= sizeof text)
        return "";
    memcpy(text, bytes, n);
    text[n] = '\0';
    return text;
}

static bool has(const char *text)
{
    bool found = strstr(anchor(), text);

    if (!found)
        tap_note("no %s in\n%s", text, anchor());
    return found;
}

/* -1: there is none. */
static int metric_named(const char *name)
{
    char element[80];
    const char *text = anchor(), *end;
    int n = -1;

    snprintf(element, sizeof element, "<uniq_name>%s</uniq_name>", name);
    end = strstr(text, element);
    for (const char *at = text; end && (at = strstr(at, "<metric id=")) && at < end; at++)
        n++;
    return n;
}

static const unsigned char *member_of(const char *metric, const char *ending, size_t *n)
{
    char name[40];

    snprintf(name, sizeof name, "%d.%s", metric_named(metric), ending);
    return member(name, n);
}

/* "0 1 3": the places of its rows. */
static bool has_rows(const char *metric, const char *expected)
{
    size_t n;
    const unsigned char *bytes = member_of(metric, "index", &n);
    struct ar_cursor in = ar_cursor_over(bytes, n);
    char found[200] = "";

    if (!bytes || memcmp(ar_cursor_take(&in, 11), "CUBEX.INDEX", 11) != 0 ||
        ar_cursor_u32(&in) != 1 || ar_cursor_u16(&in) != 0 || ar_cursor_u8(&in) != 1)
        return false;
    for (uint32_t left = ar_cursor_u32(&in); left && !in.bad; left--) {
        size_t end = strlen(found);

        snprintf(found + end, sizeof found - end, "%s%" PRIu32, end ? " " : "", ar_cursor_u32(&in));
    }
    if (strcmp(found, expected) != 0)
        tap_note("rows %s", found);
    return !in.bad && !ar_cursor_left(&in) && strcmp(found, expected) == 0;
}

static uint64_t bits_at(const char *metric, size_t row, size_t column)
{
    size_t n;
    const unsigned char *bytes = member_of(metric, "data", &n);
    struct ar_cursor in = ar_cursor_over(bytes, n);

    if (!bytes || memcmp(ar_cursor_take(&in, 10), "CUBEX.DATA", 10) != 0)
        return 0xbad;
    ar_cursor_take(&in, 8 * (row * N_COLUMNS + column));
    return ar_cursor_u64(&in);
}

static double number_at(const char *metric, size_t row, size_t column)
{
    uint64_t bits = bits_at(metric, row, column);
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void test_calls_and_times(void)
{
    start();
    value(AR_METRIC_CALLS, a, rank_0, 1);
    value(AR_METRIC_CALLS, b, rank_0, 20);
    value(AR_METRIC_CALLS, b, rank_1, 21);
    value(AR_METRIC_CALLS, e, child, UINT64_C(1) << 60);
    value(AR_METRIC_TIME, 0, rank_0, 1000000001);
    value(AR_METRIC_TIME, a, rank_0, 999999999);
    value(AR_METRIC_TIME, b, rank_0, 123456789);
    value(AR_METRIC_TIME, b, rank_1, 3);
    value(AR_METRIC_TIME, c, rank_0, 1000);
    value(AR_METRIC_TIME, d, rank_0, 2000);
    value(AR_METRIC_TIME, e, rank_2, 4);
    value(AR_METRIC_MARKS, b, rank_1, AR_MARK_ESTIMATED);
    value(AR_METRIC_MARKS, e, rank_1, AR_MARK_PARTIAL);
    tap_ok(encode(), "it can be written");
    tap_ok(n_estimated == 1, "a function has an estimated time");

    size_t n_members, n;

    member(NULL, &n_members);
    tap_ok(n_members == 5, "an anchor, and two files for each of two metrics");
    tap_ok(file.n % AR_TAR_BLOCK == 0 && !file.data[file.n - 2 * AR_TAR_BLOCK],
           "the archive has an end");
    tap_ok(octal(file.data + 136, 12) == 1700000000, "it is as old as the run");
    tap_ok(metric_named("visits") == 0 && metric_named("time") == 1, "visits and time come first");
    tap_ok(has_rows("visits", "0 1 2 5"),
           "a row of calls for each node that has some, and the root's");
    tap_ok(bits_at("visits", 1, RANK_0) == 1 && bits_at("visits", 2, RANK_0) == 20 &&
               bits_at("visits", 2, RANK_1) == 21 &&
               bits_at("visits", 3, CHILD) == UINT64_C(1) << 60 &&
               bits_at("visits", 2, RANK_2) == 0 && bits_at("visits", 0, RANK_0) == 0,
           "calls are in the columns of their ranks");
    tap_ok(has_rows("time", "0 1 2 3 4 5") && number_at("time", 2, RANK_2) == 4 / 1e9 &&
               number_at("time", 4, RANK_0) == 2000 / 1e9 &&
               number_at("time", 5, RANK_0) == 1000 / 1e9,
           "rows of times are in the other order");
    tap_ok(number_at("time", 0, RANK_0) == 1000000001 / 1e9 &&
               number_at("time", 1, RANK_0) == 999999999 / 1e9 &&
               number_at("time", 3, RANK_0) == 123456789 / 1e9,
           "times are seconds");
    tap_ok(number_at("time", 1, RANK_1) == 3 / 1e9 && number_at("time", 0, RANK_1) == 3 / 1e9 &&
               number_at("time", 0, RANK_2) == 4 / 1e9 && number_at("time", 0, CHILD) == 0,
           "where a node has no time, it has its children's");
    member_of("time", "data", &n);
    tap_ok(n == 10 + 8 * 6 * N_COLUMNS, "rows have a number for each thread");
    finish();
}

static void test_other_metrics(void)
{
    static const struct ar_metric_kind own_visits = {
        .name = "visits", .unit = "B", .combine = AR_COMBINE_SUM, .scope = AR_SCOPE_CALL};
    static const struct ar_metric_kind bits = {
        .name = "made_up.bits", .unit = "bits", .combine = AR_COMBINE_OR, .scope = AR_SCOPE_CALL};
    unsigned cycles, samples, deepest, visits, mask;

    start();
    sample_must(ar_profile_find_metric(&p, &made_up_cycles, &cycles));
    sample_must(ar_profile_find_metric(&p, &made_up_samples, &samples));
    sample_must(ar_profile_find_metric(&p, &made_up_deepest, &deepest));
    sample_must(ar_profile_find_metric(&p, &own_visits, &visits));
    sample_must(ar_profile_find_metric(&p, &bits, &mask));
    value(AR_METRIC_BYTES_OUT, d, rank_0, 8000);
    value(AR_METRIC_BYTES_IN, d, rank_2, 16);
    value(AR_METRIC_MIN_TIME, d, rank_0, 5);
    value(AR_METRIC_MAX_TIME, d, rank_0, 7000000000);
    value(AR_METRIC_AWAITED, e, rank_0, 2500000000);
    value(cycles, b, rank_0, 100);
    value(cycles, c, rank_0, 130); /* more than the whole: scaled counters may */
    value(cycles, c, rank_1, 40);
    value(cycles, d, rank_1, 2);
    value(samples, b, rank_1, 3);
    value(samples, c, rank_1, 4);
    value(deepest, c, rank_2, 99);
    value(visits, e, rank_2, 17);
    value(mask, e, rank_2, 1);
    tap_ok(encode(), "metrics of all scopes can be written");
    tap_ok(has_rows("bytes_sent", "0 4") && bits_at("bytes_sent", 1, RANK_0) == 8000 &&
               has_rows("bytes_received", "0 4") && bits_at("bytes_received", 1, RANK_2) == 16,
           "bytes have Score-P's names");
    tap_ok(number_at("min_time", 1, RANK_0) == 5 / 1e9 && number_at("max_time", 1, RANK_0) == 7.0,
           "shortest and longest calls are seconds");
    tap_ok(number_at("min_time", 1, RANK_1) == DBL_MAX &&
               number_at("max_time", 1, RANK_1) == -DBL_MAX,
           "where there is none, there is none for Cube either");
    tap_ok(number_at("awaited", 1, RANK_0) == 2.5, "so are waits of tasks");
    tap_ok(has_rows("made_up.cycles", "0 1 3 4 5"), "an inclusive metric has rows up to the root");
    tap_ok(bits_at("made_up.cycles", 2, RANK_0) == 100 &&
               bits_at("made_up.cycles", 4, RANK_0) == 130,
           "where it was measured, it is what was measured");
    tap_ok(bits_at("made_up.cycles", 0, RANK_0) == 100 &&
               bits_at("made_up.cycles", 1, RANK_0) == 100 &&
               bits_at("made_up.cycles", 2, RANK_1) == 40 &&
               bits_at("made_up.cycles", 1, RANK_1) == 42 &&
               bits_at("made_up.cycles", 0, RANK_1) == 42,
           "and elsewhere what is below");
    tap_ok(has("<metric id=\"7\" type=\"INCLUSIVE\">\n<disp_name>made_up.cycles</disp_name>\n"
               "<uniq_name>made_up.cycles</uniq_name>\n<dtype>INT64</dtype>\n<uom>#</uom>"),
           "differences of it may be less than nothing");
    tap_ok(has("<metric id=\"8\" type=\"EXCLUSIVE\">\n<disp_name>made_up.samples") &&
               has_rows("made_up.samples", "0 2 3") && bits_at("made_up.samples", 1, RANK_1) == 3 &&
               bits_at("made_up.samples", 2, RANK_1) == 4,
           "an exclusive one is as it was recorded");
    tap_ok(has("<uniq_name>made_up.deepest</uniq_name>\n<dtype>MAXDOUBLE</dtype>") &&
               number_at("made_up.deepest", 1, RANK_2) == 99,
           "a largest value is one");
    tap_ok(has("<disp_name>visits</disp_name>\n<uniq_name>recorded_visits</uniq_name>\n"
               "<dtype>UINT64</dtype>\n<uom>bytes</uom>") &&
               bits_at("recorded_visits", 1, RANK_2) == 17 && metric_named("visits") == 0,
           "no name is there twice");
    tap_ok(metric_named("made_up.bits") < 0 && metric_named("marks") < 0 &&
               metric_named("variance") < 0,
           "what CUBE could only add up is not there");
    finish();
}

static void test_program(void)
{
    start();
    sample_must(ar_profile_fact(&p, sample_str("program"), sample_str("/h/heat.py")));
    sample_must(ar_profile_fact(&p, sample_str("command"), sample_str("heat.py --steps 3")));
    sample_must(ar_profile_fact(&p, sample_str("allranks"), sample_str("1.2")));
    value(AR_METRIC_CALLS, c, rank_0, 1);
    value(AR_METRIC_CALLS, d, rank_0, 1);
    tap_ok(encode(), "a tree can be written");
    tap_ok(has("<attr key=\"Creator\" value=\"allranks 1.2\"/>\n") &&
               has("<attr key=\"allranks::program\" value=\"/h/heat.py\"/>\n"),
           "facts are attributes");
    tap_ok(has("<region id=\"0\" mod=\"\" begin=\"-1\" end=\"-1\">\n<name>heat.py</name>\n"
               "<mangled_name>heat.py --steps 3</mangled_name>\n<paradigm>measurement</paradigm>\n"
               "<role>artificial</role>\n"),
           "the root is the program");
    tap_ok(has("<region id=\"2\" mod=\"a.py\" begin=\"7\" end=\"-1\">\n<name>a.Grid:work</name>\n"
               "<mangled_name>a.Grid:work</mangled_name>\n<paradigm>user</paradigm>\n"
               "<role>function</role>\n<url></url>\n<descr>Grid.work</descr>\n</region>\n"),
           "a function has its place, and its names");
    tap_ok(has("<region id=\"4\" mod=\"MPI\" begin=\"-1\" end=\"-1\">\n<name>MPI_Send</name>\n"
               "<mangled_name>MPI_Send</mangled_name>\n<paradigm>mpi</paradigm>\n"
               "<role>point2point</role>\n"),
           "a function of MPI says so");
    tap_ok(has("<cnode id=\"0\" calleeId=\"0\">\n"
               "<cnode id=\"1\" calleeId=\"1\">\n"
               "<cnode id=\"2\" line=\"4\" mod=\"a.py\" calleeId=\"2\">\n"
               "<cnode id=\"3\" line=\"8\" mod=\"a.py\" calleeId=\"3\">\n"
               "</cnode>\n</cnode>\n"
               "<cnode id=\"4\" line=\"5\" mod=\"a.py\" calleeId=\"4\">\n"
               "</cnode>\n</cnode>\n</cnode>\n</program>\n"),
           "call paths hang together, with lines; those without values are not there");
    tap_ok(!strstr(anchor(), "last"), "nor are their functions");
    finish();
}

static void test_system(void)
{
    start();
    value(AR_METRIC_CALLS, a, rank_0, 1);
    tap_ok(encode(), "processes can be written");
    tap_ok(has("<class>machine</class>\n<systemtreenode Id=\"1\">\n<name>node "
               "one</name>\n<class>node</class>\n"
               "<locationgroup Id=\"0\">\n<name>MPI Rank "
               "0</name>\n<rank>0</rank>\n<type>process</type>\n"
               "<location Id=\"0\">\n<name>thread 0</name>\n<rank>0</rank>\n<type>thread</type>\n"
               "</location>\n</locationgroup>\n"),
           "a host has its ranks");
    tap_ok(has("<locationgroup Id=\"1\">\n<name>MPI Rank 0: worker.py (pid "
               "900)</name>\n<rank>3</rank>\n"),
           "a child is a process with a number of its own");
    tap_ok(has("<locationgroup Id=\"2\">\n<name>MPI Rank 2</name>\n<rank>2</rank>\n") &&
               has("</systemtreenode>\n<systemtreenode Id=\"2\">\n<name>node "
                   "two</name>\n<class>node</class>\n"
                   "<locationgroup Id=\"3\">\n<name>MPI Rank 1</name>\n<rank>1</rank>\n"),
           "ranks keep theirs");
    tap_ok(has("<dim name=\"Process\" size=\"4\" periodic=\"false\"/>\n"
               "<dim name=\"Thread\" size=\"1\" periodic=\"false\"/>\n<coord locId=\"0\">0 "
               "0</coord>\n"),
           "and a grid");
    finish();
}

static void test_odd_processes(void)
{
    struct ar_process bare = {.world_rank = 5, .pid = 7};
    uint32_t id;

    sample_start(&p);
    make_tree();
    rank_0 = process_on("", 5, 300, 0);
    sample_must(ar_profile_process(&p, &bare, &id));
    process_on("", AR_RANK_NONE, 0, 0);
    value(AR_METRIC_TIME, a, rank_0, 1);
    tap_ok(encode(), "odd processes can be written");
    tap_ok(has("<name>node unknown</name>\n") && has("<name>MPI Rank 5</name>\n<rank>5</rank>\n"),
           "a host may have no name");
    tap_ok(
        has("<name>MPI Rank 5</name>\n<rank>6</rank>\n<type>process</type>\n<location Id=\"1\">\n"
            "<name>(no thread)</name>\n"),
        "of two with one rank the second has another number, and without threads it is seen all "
        "the same");
    tap_ok(has("<name>Process</name>\n<rank>7</rank>\n"), "what has no rank has a number, too");
    finish();
}

static void test_refused(void)
{
    sample_start(&p);
    tap_ok(!encode() && strstr(error.text, "no process"), "a run without processes is refused: %s",
           error.text);
    finish();
    sample_start(&p);
    sample_must(ar_profile_declare_pairs(&p));
    rank_0 = process_on("", 0, 1, 0);
    tap_ok(!encode() && strstr(error.text, "no call paths"), "so are caller pairs: %s", error.text);
    finish();
}

/* 33,000 call paths on as many threads: it is refused before any of it is made. */
static void test_too_large(void)
{
    enum { N = 33000 };

    sample_start(&p);
    rank_0 = process_on("", 0, 1, 0);
    for (uint32_t i = 1; i < N; i++)
        sample_thread(&p, 0, i);
    for (uint32_t i = 1; i < N; i++) {
        uint32_t node = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", i), i);

        value(AR_METRIC_CALLS, node, rank_0, 1);
    }
    tap_ok(!encode() && strstr(error.text, "too many") && file.cap < 100u << 20,
           "what would take more than 8 GiB is refused: %s", error.text);
    finish();
}

static void test_empty(void)
{
    sample_start(&p);
    rank_0 = process_on("", AR_RANK_NONE, 1, 0);
    tap_ok(encode() && has_rows("visits", "0") && has_rows("time", "0"),
           "a run without calls has a root");
    tap_ok(has("<name>program</name>\n"), "which has a name");
    finish();
}

/* Cube's reader and others do not agree about what follows a member that fills its last block. */
static void test_no_whole_blocks(void)
{
    bool is_sound = true, had_any = false;

    for (size_t n_more = 0; n_more < AR_TAR_BLOCK; n_more++) {
        char padding[AR_TAR_BLOCK + 1];
        size_t n;

        start();
        memset(padding, 'x', n_more);
        padding[n_more] = '\0';
        sample_must(ar_profile_fact(&p, sample_str("padding"), sample_str(padding)));
        is_sound = is_sound && encode() && member("anchor.xml", &n) && n % AR_TAR_BLOCK != 0;
        had_any = had_any || n % AR_TAR_BLOCK == 1;
        for (int metric = 0; metric < 2 && is_sound; metric++) {
            is_sound =
                is_sound && member(metric ? "1.index" : "0.index", &n) && n % AR_TAR_BLOCK != 0;
            is_sound =
                is_sound && member(metric ? "1.data" : "0.data", &n) && n % AR_TAR_BLOCK != 0;
        }
        finish();
    }
    tap_ok(is_sound && had_any, "no member fills its last block");
}

static void test_names(void)
{
    start();
    functions[MAIN] = sample_function_in(
        &p, AR_FUNCTION_REGION, "a<b>&\"c'\x01\n\xff\xef\xbf\xbf\xe2\x80\xae d\xc3\xa4]]>", "", 0);
    a = sample_node(&p, 0, functions[MAIN], 0);
    value(AR_METRIC_CALLS, a, rank_0, 1);
    tap_ok(encode() && has("<name>user:a&lt;b&gt;&amp;&quot;c&apos;????? d\xc3\xa4]]&gt;</name>"),
           "whatever is in a name, it is text in XML");
    finish();
}

static void test_no_memory(void)
{
    bool worked = false;
    size_t n = 0;

    start();
    value(AR_METRIC_TIME, a, rank_0, 1);
    value(AR_METRIC_TIME, d, rank_1, 1);
    value(AR_METRIC_BYTES_OUT, d, rank_1, 1);
    sample_must(ar_profile_sort(&p));
    for (; !worked && n < 10000; n++) {
        ar_bytes_free(&file);
        error.text[0] = '\0';
        alloc_fail_after(n);
        worked = encode();
        alloc_restore();
        if (!worked && strcmp(error.text, "out of memory") != 0)
            break;
    }
    tap_ok(worked && n > 20, "without memory it fails and says so, at each of %zu places", n);
    finish();
}

int main(void)
{
    test_calls_and_times();
    test_other_metrics();
    test_program();
    test_system();
    test_odd_processes();
    test_refused();
    test_too_large();
    test_empty();
    test_no_whole_blocks();
    test_names();
    test_no_memory();
    return tap_done();
}
