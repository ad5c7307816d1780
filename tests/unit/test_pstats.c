// SPDX-License-Identifier: BSD-3-Clause
/*
 * Small trees whose figures are arithmetic. What was encoded is read back by a reader of just those marshal types that
 * may occur, so that a type which old Pythons do not know fails here. Times are in nanoseconds.
 */
#include "export/pstats.h"

#include "tap.h"

#include <inttypes.h>
#include <string.h>

#define MAX_ROWS 16
#define MAX_KEY 96

/* --- building a profile; `encode` checks that it worked --- */

static struct ar_profile profile;
static bool built;

static void must(enum ar_status status)
{
    built = built && status == AR_OK;
}

static void start(void)
{
    built = true;
    must(ar_profile_init(&profile));
}

static uint32_t text_id(const char *text)
{
    uint32_t id = 0;

    must(ar_profile_string(&profile, (struct ar_str){text, strlen(text)}, &id));
    return id;
}

static uint32_t function(enum ar_function_kind kind, const char *name, uint32_t first_line)
{
    struct ar_function f = {.kind = kind,
                            .name = text_id(name),
                            .file = text_id(kind == AR_FUNCTION_PYTHON ? "a.py" : ""),
                            .first_line = first_line};
    uint32_t id = 0;

    must(ar_profile_function(&profile, f, &id));
    return id;
}

/* A rank with one thread; returns the thread's location. */
static uint32_t rank(uint32_t world_rank)
{
    struct ar_process process = {.world_rank = world_rank};
    struct ar_location location = {0};
    uint32_t id = 0;

    must(ar_profile_process(&profile, &process, &location.process));
    must(ar_profile_location(&profile, &location, &id));
    return id;
}

static uint32_t node(uint32_t parent, uint32_t function_id, uint32_t line)
{
    uint32_t id = 0;

    must(ar_profile_node(
        &profile, (struct ar_profile_node){.parent = parent, .function = function_id, .line = line},
        &id));
    return id;
}

static void spend(uint32_t node_id, uint32_t location, uint64_t n_calls, uint64_t ns)
{
    must(
        ar_profile_value(&profile, AR_METRIC_CALLS, (struct ar_value){node_id, location, n_calls}));
    must(ar_profile_value(&profile, AR_METRIC_TIME, (struct ar_value){node_id, location, ns}));
}

/* One call on location 0. */
static uint32_t call(uint32_t parent, uint32_t function_id, uint64_t ns)
{
    uint32_t id = node(parent, function_id, 1);

    spend(id, 0, 1, ns);
    return id;
}

/* --- reading it back --- */

struct figures {
    char key[MAX_KEY]; /* as pstats prints it: file:line(name) */
    uint64_t nc, cc;
    double tt, ct;
};

struct row {
    struct figures own;
    struct figures callers[MAX_ROWS];
    size_t n_callers;
};

static struct row rows[MAX_ROWS];
static size_t n_rows;
static struct ar_error error;

static void expect_type(struct ar_cursor *in, char type)
{
    if (ar_cursor_u8(in) != (uint8_t)type)
        in->bad = true;
}

static void expect_tuple(struct ar_cursor *in, uint32_t n_items)
{
    expect_type(in, '(');
    if (ar_cursor_u32(in) != n_items)
        in->bad = true;
}

static uint64_t read_int(struct ar_cursor *in)
{
    uint8_t type = ar_cursor_u8(in);
    uint64_t value = 0;

    if (type == 'i') {
        value = ar_cursor_u32(in);
        in->bad = in->bad || value > INT32_MAX;
    } else if (type == 'l') {
        uint32_t n_digits = ar_cursor_u32(in);

        for (uint32_t i = 0; i < n_digits && !in->bad; i++) {
            uint16_t digit = ar_cursor_u16(in);

            value |= (uint64_t)digit << (15 * i);
            in->bad = in->bad || digit > 0x7fff || (digit == 0 && i + 1 == n_digits);
        }
    } else {
        in->bad = true;
    }
    return value;
}

static double read_seconds(struct ar_cursor *in)
{
    double seconds;

    expect_type(in, 'g');

    uint64_t bits = ar_cursor_u64(in);

    memcpy(&seconds, &bits, sizeof seconds);
    return seconds;
}

static struct ar_str read_text(struct ar_cursor *in)
{
    expect_type(in, 'u');

    size_t n_bytes = ar_cursor_u32(in);
    const char *text = ar_cursor_take(in, n_bytes);

    return text ? (struct ar_str){text, n_bytes} : (struct ar_str){"", 0};
}

static void read_key(struct ar_cursor *in, char *key)
{
    expect_tuple(in, 3);

    struct ar_str file = read_text(in);
    uint64_t line = read_int(in);
    struct ar_str name = read_text(in);

    snprintf(key, MAX_KEY, "%.*s:%" PRIu64 "(%.*s)", (int)file.n_bytes, file.text, line,
             (int)name.n_bytes, name.text);
}

static bool at_dict_end(struct ar_cursor *in)
{
    if (in->bad || ar_cursor_left(in) == 0) {
        in->bad = true;
        return true;
    }
    if (*in->at != '0')
        return false;
    in->at++;
    return true;
}

static void read_callers(struct ar_cursor *in, struct row *row)
{
    expect_type(in, '{');
    while (!at_dict_end(in) && row->n_callers < MAX_ROWS) {
        struct figures *f = &row->callers[row->n_callers++];

        read_key(in, f->key);
        expect_tuple(in, 4);
        f->nc = read_int(in);
        f->cc = read_int(in);
        f->tt = read_seconds(in);
        f->ct = read_seconds(in);
    }
}

static void read_row(struct ar_cursor *in, struct row *row)
{
    read_key(in, row->own.key);
    expect_tuple(in, 5);
    row->own.cc = read_int(in);
    row->own.nc = read_int(in);
    row->own.tt = read_seconds(in);
    row->own.ct = read_seconds(in);
    read_callers(in, row);
}

static bool read_all(const struct ar_bytes *bytes)
{
    struct ar_cursor in = ar_cursor_over(bytes->data, bytes->n);

    memset(rows, 0, sizeof rows);
    n_rows = 0;
    expect_type(&in, '{');
    while (!at_dict_end(&in) && n_rows < MAX_ROWS)
        read_row(&in, &rows[n_rows++]);
    return !in.bad && ar_cursor_left(&in) == 0;
}

static enum ar_status encode(struct ar_export_choice which)
{
    struct ar_bytes bytes = {0};
    enum ar_status status = ar_pstats_encode(&profile, &which, &bytes, NULL, &error);

    tap_ok(built, "the profile was built");
    if (status == AR_OK)
        tap_ok(read_all(&bytes), "the bytes are a dict as pstats wants it");
    ar_bytes_free(&bytes);
    return status;
}

static void encode_all_ranks(void)
{
    tap_ok(encode((struct ar_export_choice){0}) == AR_OK, "all ranks are encoded");
}

/* --- checking --- */

static const struct figures *find(const struct figures *first, size_t n, size_t stride,
                                  const char *key)
{
    for (size_t i = 0; i < n; i++) {
        const struct figures *f = (const void *)((const char *)first + i * stride);

        if (strcmp(f->key, key) == 0)
            return f;
    }
    return NULL;
}

static const struct row *row_of(const char *key)
{
    return (const void *)find(&rows[0].own, n_rows, sizeof rows[0], key);
}

static bool same(const struct figures *f, uint64_t nc, uint64_t cc, uint64_t tt_ns, uint64_t ct_ns)
{
    if (f && f->nc == nc && f->cc == cc && f->tt == (double)tt_ns / 1e9 &&
        f->ct == (double)ct_ns / 1e9)
        return true;
    if (f)
        tap_note("nc %" PRIu64 " cc %" PRIu64 " tt %.0f ns ct %.0f ns", f->nc, f->cc, f->tt * 1e9,
                 f->ct * 1e9);
    return false;
}

static void check(const char *key, uint64_t nc, uint64_t cc, uint64_t tt_ns, uint64_t ct_ns,
                  size_t n_callers)
{
    const struct row *row = row_of(key);

    tap_ok(row && same(&row->own, nc, cc, tt_ns, ct_ns), "figures of %s", key);
    tap_ok(row && row->n_callers == n_callers, "%s has %zu callers", key, n_callers);
}

static void check_caller(const char *key, const char *caller, uint64_t nc, uint64_t cc,
                         uint64_t tt_ns, uint64_t ct_ns)
{
    const struct row *row = row_of(key);
    const struct figures *f =
        row ? find(row->callers, row->n_callers, sizeof row->callers[0], caller) : NULL;

    tap_ok(same(f, nc, cc, tt_ns, ct_ns), "figures of %s called from %s", key, caller);
}

/* --- the cases --- */

static void test_direct_recursion(void)
{
    start();

    uint32_t main_id = function(AR_FUNCTION_PYTHON, "main", 1);
    uint32_t fact = function(AR_FUNCTION_PYTHON, "fact", 5);

    rank(0);
    call(call(call(call(0, main_id, 100), fact, 90), fact, 60), fact, 20);
    encode_all_ranks();
    tap_ok(n_rows == 2, "two functions, and neither root nor thread");
    check("a.py:1(main)", 1, 1, 10, 100, 0);
    check("a.py:5(fact)", 3, 1, 90, 90, 2);
    check_caller("a.py:5(fact)", "a.py:1(main)", 1, 1, 30, 90);
    check_caller("a.py:5(fact)", "a.py:5(fact)", 2, 1, 60, 60);
    ar_profile_free(&profile);
}

/* main calls f, which forks: the child continues in the parent's calls, works in f itself and calls g. */
static void test_forked_child(void)
{
    start();

    uint32_t child = function(AR_FUNCTION_PROCESS, "a.py", 0);
    uint32_t main_id = function(AR_FUNCTION_PYTHON, "main", 1);
    uint32_t f = function(AR_FUNCTION_PYTHON, "f", 2), g = function(AR_FUNCTION_PYTHON, "g", 3);

    rank(0);
    call(call(call(0, main_id, 100), f, 40), g, 30);

    uint32_t inherited[3] = {node(0, child, 0)};

    inherited[1] = node(inherited[0], main_id, 1);
    inherited[2] = node(inherited[1], f, 1);
    for (size_t i = 0; i < 3; i++)
        must(ar_profile_value(&profile, AR_METRIC_TIME, (struct ar_value){inherited[i], 0, 500}));
    call(call(inherited[2], g, 480), f, 200);
    encode_all_ranks();
    check("a.py:1(main)", 1, 1, 60, 100, 0);
    check("a.py:2(f)", 2, 2, 10 + 20 + 200, 40 + 20 + 200, 2);
    check("a.py:3(g)", 2, 2, 30 + 280, 30 + 480, 1);
    check_caller("a.py:2(f)", "a.py:1(main)", 1, 1, 10, 40);
    check_caller("a.py:3(g)", "a.py:2(f)", 1, 1, 30, 30);
    ar_profile_free(&profile);
}

/*
 * main calls sleep for 30 ns of 100, and 50 more are either sleep's or its own, which is then its own. The times of
 * len are estimated on rank 1 alone.
 */
static void test_functions_in_c(void)
{
    const struct ar_export_choice all = {0}, first = {.one_rank = true, .world_rank = 0};
    size_t n_estimated = 99;
    struct ar_bytes bytes = {0};

    start();

    uint32_t main_id = function(AR_FUNCTION_PYTHON, "main", 1);
    uint32_t sleep = function(AR_FUNCTION_BUILTIN, "built-in method time.sleep", 0);
    uint32_t unassigned = function(AR_FUNCTION_UNASSIGNED, "time.sleep", 0);
    uint32_t key = function(AR_FUNCTION_PYTHON, "key", 9);

    rank(0);

    uint32_t m = call(0, main_id, 100), s = call(m, sleep, 30);

    call(s, key, 20);
    call(m, unassigned, 50);
    rank(1);
    must(ar_profile_value(&profile, AR_METRIC_MARKS, (struct ar_value){s, 1, AR_MARK_ESTIMATED}));
    encode_all_ranks();
    tap_ok(n_rows == 3, "what is not assigned is no function");
    check("a.py:1(main)", 1, 1, 70, 100, 0);
    check("~:0(<built-in method time.sleep>)", 1, 1, 10, 30, 1);
    check_caller("a.py:9(key)", "~:0(<built-in method time.sleep>)", 1, 1, 20, 20);
    tap_ok(ar_pstats_encode(&profile, &all, &bytes, &n_estimated, &error) == AR_OK &&
               n_estimated == 1,
           "one function has an estimated time");
    tap_ok(ar_pstats_encode(&profile, &first, &bytes, &n_estimated, &error) == AR_OK &&
               n_estimated == 0,
           "but not on rank 0");
    ar_bytes_free(&bytes);
    ar_profile_free(&profile);
}

static void test_mutual_recursion(void)
{
    start();

    uint32_t main_id = function(AR_FUNCTION_PYTHON, "main", 1);
    uint32_t even = function(AR_FUNCTION_PYTHON, "even", 2);
    uint32_t odd = function(AR_FUNCTION_PYTHON, "odd", 3);

    rank(0);

    uint32_t m = call(0, main_id, 200);

    call(call(call(call(m, even, 80), odd, 70), even, 50), odd, 10);
    call(m, odd, 5); /* after the recursion: a primitive call again */
    encode_all_ranks();
    check("a.py:2(even)", 2, 1, 50, 80, 2);
    check("a.py:3(odd)", 3, 2, 35, 75, 2);
    check_caller("a.py:3(odd)", "a.py:2(even)", 2, 1, 30, 70);
    check_caller("a.py:3(odd)", "a.py:1(main)", 1, 1, 5, 5);
    check_caller("a.py:2(even)", "a.py:1(main)", 1, 1, 10, 80);
    check_caller("a.py:2(even)", "a.py:3(odd)", 1, 1, 40, 50);
    ar_profile_free(&profile);
}

/* step takes 100 on rank 0 and 60 on rank 4, of which 30 and 65 in MPI: on rank 4 an open call was closed late. */
static void build_two_ranks(void)
{
    start();

    uint32_t step = node(0, function(AR_FUNCTION_PYTHON, "step", 1), 1);
    uint32_t allreduce = function(AR_FUNCTION_MPI, "MPI_Allreduce", 0);
    uint32_t here = node(step, allreduce, 2), there = node(step, allreduce, 3);
    uint32_t first = rank(0), second = rank(4);

    spend(step, first, 1, 100);
    spend(here, first, 2, 20);
    spend(there, first, 3, 10);
    spend(step, second, 1, 40);
    spend(step, second, 1, 20); /* the same place twice is a sum */
    spend(here, second, 7, 65);
}

static void test_two_ranks(void)
{
    build_two_ranks();
    encode_all_ranks();
    check("a.py:1(step)", 3, 3, 70, 160, 0);
    check("~:0(<MPI_Allreduce>)", 12, 12, 95, 95, 1);
    check_caller("~:0(<MPI_Allreduce>)", "a.py:1(step)", 12, 12, 95, 95);

    tap_ok(encode((struct ar_export_choice){true, 0}) == AR_OK, "rank 0 alone");
    check("a.py:1(step)", 1, 1, 70, 100, 0);
    check("~:0(<MPI_Allreduce>)", 5, 5, 30, 30, 1);

    tap_ok(encode((struct ar_export_choice){true, 4}) == AR_OK, "rank 4 alone");
    check("a.py:1(step)", 2, 2, 0, 60, 0);
    check("~:0(<MPI_Allreduce>)", 7, 7, 65, 65, 1);
    ar_profile_free(&profile);
}

static void test_rank_not_there(void)
{
    build_two_ranks();
    rank(3);
    spend(1, rank(AR_RANK_NONE), 1, 9);
    tap_ok(encode((struct ar_export_choice){true, 1}) == AR_BAD, "rank 1 is not in the run");
    tap_ok(strstr(error.text, "rank 1 ") && strstr(error.text, "ranks 0, 3-4)"),
           "the text names the ranks: %s", error.text);
    tap_ok(encode((struct ar_export_choice){true, 3}) == AR_BAD, "rank 3 has nothing");
    tap_ok(strstr(error.text, "rank 3"), "the text says so: %s", error.text);
    tap_ok(encode((struct ar_export_choice){true, AR_RANK_NONE}) == AR_BAD, "no rank is no rank");
    ar_profile_free(&profile);
}

static void test_nothing_recorded(void)
{
    start();
    rank(AR_RANK_NONE);
    spend(0, 0, 0, 1000);
    tap_ok(encode((struct ar_export_choice){0}) == AR_BAD, "an empty dict is not made");
    tap_ok(strstr(error.text, "no function calls"), "the text says why: %s", error.text);
    ar_profile_free(&profile);
}

/* A thread hangs below the root; what it calls first has no caller, as in the main thread. */
static void test_threads(void)
{
    start();

    uint32_t work = function(AR_FUNCTION_PYTHON, "work", 1);

    rank(0);
    call(0, work, 10);
    call(call(0, function(AR_FUNCTION_THREAD, "Thread-1", 0), 50), work, 30);
    encode_all_ranks();
    tap_ok(n_rows == 1, "a thread is not a function");
    check("a.py:1(work)", 2, 2, 40, 40, 0);
    ar_profile_free(&profile);
}

static void test_names(void)
{
    static const struct {
        enum ar_function_kind kind;
        const char *name, *key;
    } cases[] = {
        {AR_FUNCTION_PYTHON, "Solver.step.<locals>.inner", "a.py:1(inner)"},
        {AR_FUNCTION_PYTHON, "f.<locals>.<lambda>", "a.py:1(<lambda>)"},
        {AR_FUNCTION_PYTHON, "<generic parameters of A.b>", "a.py:1(<generic parameters of A.b>)"},
        {AR_FUNCTION_PYTHON, "gr\u00f6\u00dfe", "a.py:1(gr\u00f6\u00dfe)"},
        {AR_FUNCTION_PYTHON, "x\xff\xed\xa0\x80",
         "a.py:1(x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd)"},
        {AR_FUNCTION_MPI, "MPI_Wait", "~:0(<MPI_Wait>)"},
        {AR_FUNCTION_BUILTIN, "built-in method builtins.len",
         "~:0(<built-in method builtins.len>)"},
        {AR_FUNCTION_BUILTIN, "method 'append' of 'list' objects",
         "~:0(<method 'append' of 'list' objects>)"},
        {AR_FUNCTION_BUILTIN, "type list", "~:0(<type list>)"},
        {AR_FUNCTION_REGION, "time loop 1.5", "~:0(<region time loop 1.5>)"},
        {AR_FUNCTION_TASK, "load.all", "~:0(<task load.all>)"},
    };
    size_t n_cases = sizeof cases / sizeof cases[0];

    start();
    rank(0);
    for (size_t i = 0; i < n_cases; i++)
        call(0, function(cases[i].kind, cases[i].name, 1), 1);
    encode_all_ranks();
    for (size_t i = 0; i < n_cases; i++)
        tap_ok(row_of(cases[i].key), "%s", cases[i].key);
    ar_profile_free(&profile);
}

/* Two methods of one name on one line. The second runs within the first, so its time must not count twice. */
static void test_one_key(void)
{
    start();

    uint32_t a = function(AR_FUNCTION_PYTHON, "A.f", 1);
    uint32_t b = function(AR_FUNCTION_PYTHON, "B.f", 1);

    rank(0);
    call(call(0, a, 50), b, 20);
    call(0, b, 7);
    encode_all_ranks();
    tap_ok(n_rows == 1, "one key, one row");
    check("a.py:1(f)", 3, 2, 57, 57, 1);
    ar_profile_free(&profile);
}

/* f and sorted call each other in turns: of each the first call alone is primitive. */
static void test_recursion_through_c(void)
{
    start();

    uint32_t f = function(AR_FUNCTION_PYTHON, "f", 1);
    uint32_t g = function(AR_FUNCTION_PYTHON, "g", 9);
    uint32_t sorted = function(AR_FUNCTION_BUILTIN, "built-in method builtins.sorted", 0);

    rank(0);
    call(call(call(call(call(0, f, 100), sorted, 80), f, 60), sorted, 30), g, 10);
    encode_all_ranks();
    check("a.py:1(f)", 2, 1, 50, 100, 1);
    check("~:0(<built-in method builtins.sorted>)", 2, 1, 40, 80, 1);
    check("a.py:9(g)", 1, 1, 10, 10, 1);
    check_caller("a.py:1(f)", "~:0(<built-in method builtins.sorted>)", 1, 1, 30, 60);
    check_caller("~:0(<built-in method builtins.sorted>)", "a.py:1(f)", 2, 1, 40, 80);
    check_caller("a.py:9(g)", "~:0(<built-in method builtins.sorted>)", 1, 1, 10, 10);
    ar_profile_free(&profile);
}

/* An estimate that is longer than its caller leaves that one nothing, and no other anything less. */
static void test_estimate_larger_than_its_caller(void)
{
    start();

    uint32_t f = function(AR_FUNCTION_PYTHON, "f", 1);
    uint32_t sleep = function(AR_FUNCTION_BUILTIN, "built-in method time.sleep", 0);

    rank(0);
    call(call(0, f, 100), sleep, 140);
    encode_all_ranks();
    check("a.py:1(f)", 1, 1, 0, 100, 0);
    check("~:0(<built-in method time.sleep>)", 1, 1, 140, 140, 1);
    ar_profile_free(&profile);
}

static void test_large_numbers(void)
{
    start();

    uint32_t hot = node(0, function(AR_FUNCTION_PYTHON, "hot", UINT32_MAX), 1);
    uint32_t warm = node(0, function(AR_FUNCTION_PYTHON, "warm", INT32_MAX), 1);

    rank(0);
    spend(hot, 0, UINT64_MAX, 1);
    spend(warm, 0, (uint64_t)INT32_MAX + 1, (uint64_t)1 << 62);
    encode_all_ranks();
    check("a.py:4294967295(hot)", UINT64_MAX, UINT64_MAX, 1, 1, 0);
    check("a.py:2147483647(warm)", 2147483648u, 2147483648u, (uint64_t)1 << 62, (uint64_t)1 << 62,
          0);
    ar_profile_free(&profile);
}

/* So deep that a walk on the C stack, or one that looks at ancestors, would not come back. */
static void test_deep_recursion(void)
{
    const uint32_t n_levels = 400000;

    start();

    uint32_t down = function(AR_FUNCTION_PYTHON, "down", 1), at = 0;

    rank(0);
    for (uint32_t i = 0; i < n_levels; i++)
        at = call(at, down, n_levels - i);
    encode_all_ranks();
    check("a.py:1(down)", n_levels, 1, n_levels, n_levels, 1);
    check_caller("a.py:1(down)", "a.py:1(down)", n_levels - 1, 1, n_levels - 1, n_levels - 1);
    ar_profile_free(&profile);
}

int main(void)
{
    test_direct_recursion();
    test_forked_child();
    test_functions_in_c();
    test_mutual_recursion();
    test_two_ranks();
    test_rank_not_there();
    test_nothing_recorded();
    test_threads();
    test_names();
    test_one_key();
    test_recursion_through_c();
    test_estimate_larger_than_its_caller();
    test_large_numbers();
    test_deep_recursion();
    return tap_done();
}
