// SPDX-License-Identifier: BSD-3-Clause
/*
 * Stats dicts, written by hand with the exporter's marshal or byte by byte, as profiles; and those that are none.
 * Files of real Pythons are read in tests/e2e/test_pstats_files.py.
 */
#include "import/pstats_read.h"

#include "analysis/by_function.h"
#include "export/marshal.h"
#include "export/pstats.h"

#include "dice.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_profile profile;
static struct ar_error err;

static enum ar_status decode(const struct ar_bytes *bytes)
{
    unsigned char *copy = malloc(bytes->n ? bytes->n : 1);
    enum ar_status status;

    if (bytes->n)
        memcpy(copy, bytes->data, bytes->n);
    err.text[0] = '\0';
    status = ar_pstats_decode(&profile, copy, bytes->n, "x.prof", &err);
    free(copy);
    return status;
}

/* ---- dicts ----------------------------------------------------------------------------------- */

static void put_key(struct ar_bytes *out, const char *file, uint32_t line, const char *name)
{
    ar_marshal_tuple(out, 3);
    ar_marshal_name(out, "", sample_str(file), "");
    ar_marshal_int(out, line);
    ar_marshal_name(out, "", sample_str(name), "");
}

/* Of a function (primitive calls first) or of a caller (all calls first). */
static void put_figures(struct ar_bytes *out, uint32_t n_items, uint64_t a, uint64_t b,
                        uint64_t self_ns, uint64_t total_ns)
{
    ar_marshal_tuple(out, n_items);
    ar_marshal_int(out, a);
    ar_marshal_int(out, b);
    ar_marshal_seconds(out, self_ns);
    ar_marshal_seconds(out, total_ns);
}

/* main calls fib, which calls itself and len. */
static struct ar_bytes sample_dict(void)
{
    struct ar_bytes out = {0};

    ar_marshal_dict(&out);
    put_key(&out, "a.py", 9, "main");
    put_figures(&out, 5, 1, 1, 10, 1000);
    ar_marshal_dict(&out);
    ar_marshal_dict_end(&out);
    put_key(&out, "a.py", 2, "fib");
    put_figures(&out, 5, 2, 15, 890, 990);
    ar_marshal_dict(&out);
    put_key(&out, "a.py", 9, "main");
    put_figures(&out, 4, 2, 2, 200, 990);
    put_key(&out, "a.py", 2, "fib");
    put_figures(&out, 4, 13, 5, 690, 700);
    ar_marshal_dict_end(&out);
    put_key(&out, "~", 0, "<built-in method builtins.len>");
    put_figures(&out, 5, 15, 15, 100, 100);
    ar_marshal_dict(&out);
    put_key(&out, "a.py", 2, "fib");
    put_figures(&out, 4, 15, 15, 100, 100);
    ar_marshal_dict_end(&out);
    ar_marshal_dict_end(&out);
    return out;
}

static void check_node(const char *path, uint64_t n_primitive, uint64_t n_calls, uint64_t self_ns,
                       uint64_t total_ns)
{
    uint32_t node = sample_node_at(&profile, path);

    tap_ok(node != AR_NO_ID && sample_find(&profile, AR_METRIC_PRIMITIVE, node, 0) == n_primitive &&
               sample_find(&profile, AR_METRIC_CALLS, node, 0) == n_calls &&
               sample_find(&profile, AR_METRIC_SELF, node, 0) == self_ns &&
               sample_find(&profile, AR_METRIC_TIME, node, 0) == total_ns,
           "figures of %s", path);
}

static void test_functions_and_pairs(void)
{
    struct ar_bytes bytes = sample_dict();

    sample_must(decode(&bytes));
    tap_ok(ar_profile_of_pairs(&profile) && sample_is_sound(&profile), "a profile of caller pairs");
    tap_ok(profile.n_nodes == 7, "the root, three functions and three pairs");
    check_node("/main:0", 1, 1, 10, 1000);
    check_node("/fib:0", 2, 15, 890, 990);
    check_node("/built-in method builtins.len:0", 15, 15, 100, 100);
    check_node("/main:0/fib:0", 2, 2, 200, 990);
    check_node("/fib:0/fib:0", 5, 13, 690, 700);
    check_node("/fib:0/built-in method builtins.len:0", 15, 15, 100, 100);
    tap_ok(profile.processes[0].wall_ns == 1000 && profile.n_processes == 1, "its whole time");
    tap_ok(sample_find(&profile, AR_METRIC_TIME, 0, 0) == 1000, "which the root has, too");
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

/* What analyses make of it: nothing is counted twice, and pairs are no part of anything. */
static void test_sums(void)
{
    struct ar_bytes bytes = sample_dict();
    struct ar_totals t;
    struct ar_by_function f;
    uint32_t fib;

    sample_must(decode(&bytes));
    sample_must(ar_totals_build(&t, &profile));
    sample_must(ar_by_function_build(&f, &profile, &t));
    fib = profile.nodes[sample_node_at(&profile, "/fib:0")].function;
    tap_ok(f.sums[fib].n_calls == 15 && f.sums[fib].time.max == 990 && f.sums[fib].self.max == 890,
           "a function has its own figures, not its pairs'");
    tap_ok(t.self[0].sum == 0 && t.time[0].sum == 1000, "the root has no time of its own");
    ar_by_function_free(&f);
    ar_totals_free(&t);
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

static void test_back_again(void)
{
    struct ar_bytes bytes = sample_dict(), out = {0};
    struct ar_export_choice all = {0};

    sample_must(decode(&bytes));
    sample_must(ar_pstats_encode(&profile, &all, &out, NULL, &err));
    tap_ok(out.n == bytes.n && memcmp(out.data, bytes.data, out.n) == 0,
           "exported, it is the same");
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
    ar_bytes_free(&out);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void check_name(const char *file, uint32_t line, const char *name, uint32_t kind,
                       const char *shown)
{
    struct ar_bytes bytes = {0}, out = {0};
    struct ar_export_choice all = {0};
    const struct ar_function *f;

    ar_marshal_dict(&bytes);
    put_key(&bytes, file, line, name);
    put_figures(&bytes, 5, 0, 0, 0, 0);
    ar_marshal_dict(&bytes);
    ar_marshal_dict_end(&bytes);
    ar_marshal_dict_end(&bytes);
    sample_must(decode(&bytes));
    f = &profile.functions[1];
    tap_ok(f->kind == kind && strcmp(ar_strtab_text(&profile.strings, f->name), shown) == 0,
           "%s is of kind %s", name, ar_function_kind_name(kind));
    sample_must(ar_pstats_encode(&profile, &all, &out, NULL, &err));
    tap_ok(out.n == bytes.n && memcmp(out.data, bytes.data, out.n) == 0, "and comes out the same");
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
    ar_bytes_free(&out);
}

static void test_names(void)
{
    check_name("a.py", 1, "f", AR_FUNCTION_PYTHON, "f");
    check_name("a.py", 1, "C.f.<locals>.g", AR_FUNCTION_PYTHON, "C.f.<locals>.g");
    check_name("", 0, "", AR_FUNCTION_PYTHON, "");
    check_name("~", 0, "<method 'x' of 'y' objects>", AR_FUNCTION_BUILTIN,
               "method 'x' of 'y' objects");
    check_name("~", 0, "<MPI_Send>", AR_FUNCTION_MPI, "MPI_Send");
    check_name("~", 0, "<region a(b=1)>", AR_FUNCTION_REGION, "a(b=1)");
    check_name("~", 0, "<task t>", AR_FUNCTION_TASK, "t");
    check_name("~", 0, "<region>", AR_FUNCTION_BUILTIN, "region");
    check_name("~", 0, "<>", AR_FUNCTION_BUILTIN, "");
    check_name("~", 0, "<", AR_FUNCTION_PYTHON, "<");
    check_name("~", 0, "f", AR_FUNCTION_PYTHON, "f");
    check_name("~", 5, "<f>", AR_FUNCTION_PYTHON, "<f>");
    check_name("a.py", UINT32_MAX, "last", AR_FUNCTION_PYTHON, "last");
    check_name("a\xff.py", 1, "byte", AR_FUNCTION_PYTHON, "byte");
    check_name("a.py", 1, "\xed\xa0\x80", AR_FUNCTION_PYTHON, "\xed\xa0\x80");
}

/* ---- what it cannot be ----------------------------------------------------------------------- */

#define BYTES(text) (text), sizeof(text) - 1

static void check_refused(const char *text, size_t n_bytes, const char *why)
{
    struct ar_bytes bytes = {0};
    enum ar_status status;

    ar_bytes_put(&bytes, text, n_bytes);
    status = decode(&bytes);
    if (!tap_ok(status == AR_BAD && strncmp(err.text, "x.prof: ", 8) == 0 &&
                    strstr(err.text, why) && strchr(err.text, '('),
                "refused: %s", why))
        tap_note("%s", err.text);
    if (status == AR_OK)
        ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

#define INT(n) "i" n "\0\0\0"
#define KEY ")\3z\1a" INT("\1") "z\1f"
#define ZERO "g\0\0\0\0\0\0\0\0"

static void test_refused(void)
{
    check_refused(BYTES(""), "ends in the middle");
    check_refused(BYTES("{"), "ends in the middle");
    check_refused(BYTES("N"), "None where a dict of functions");
    check_refused(BYTES("[\1\0\0\0N"), "a list where a dict of functions");
    check_refused(BYTES("{i\1\0\0\0"), "an integer where a function");
    check_refused(BYTES("{)\2"), "a tuple of 2");
    check_refused(BYTES("{)\1z\x0b__sampled__T0"), "samples");
    check_refused(BYTES("{)\3i\1\0\0\0"), "an integer where a name");
    check_refused(BYTES("{)\3z\1az\1b"), "a string where a line");
    check_refused(BYTES("{)\3z\1ai\xff\xff\xff\xff"), "line -1");
    check_refused(BYTES("{" KEY "T"), "True where a function's five");
    check_refused(BYTES("{" KEY ")\4"), "a tuple where a function's five");
    check_refused(BYTES("{" KEY ")\5" ZERO), "a float where a number of calls");
    check_refused(BYTES("{" KEY ")\5i\xff\xff\xff\xff"), "number of calls");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") "N"), "None where a time");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") "g\0\0\0\0\0\0\xf0\x7f"),
                  "a time of inf");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") "g\0\0\0\0\0\0\xf8\x7f"),
                  "a time of nan");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") "g\0\0\0\0\0\0\xf0\xbf"), "a time of -1");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "N"), "None where a dict");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "{" KEY ")\3"),
                  "a caller's four");
    /* Dicts and tuples that contain themselves. */
    check_refused(BYTES("\xfbr\0\0\0\0"), "a dict where a function");
    check_refused(BYTES("\xfb" KEY "r\0\0\0\0"), "a dict where a function's five");
    check_refused(BYTES("\xfb" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "r\0\0\0\0"), "four");
    check_refused(BYTES("{\xa9\3r\0\0\0\0"), "a tuple where a name");
    check_refused(BYTES("{" KEY "\xa9\5" INT("\1") INT("\1") ZERO ZERO "\xfb" KEY "r\0\0\0\0"),
                  "four");
    check_refused(BYTES("{" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "\xfb" KEY "r\0\0\0\0"),
                  "four");
}

/* Deeper than any stack, if anything here recursed. */
static void test_deep(void)
{
    struct ar_bytes bytes = {0};

    for (int i = 0; i < 1000000; i++)
        ar_bytes_put(&bytes, "{)\3)\1", 5);
    tap_ok(decode(&bytes) == AR_BAD, "a million deep is refused");
    bytes.n = 0;
    for (int i = 0; i < 1000000; i++)
        ar_bytes_put(&bytes, "\xfb", 1);
    tap_ok(decode(&bytes) == AR_BAD, "so are a million dicts");
    ar_bytes_free(&bytes);
}

/* 1,000 functions whose callers are all the same dict, of 1,000 long names. */
static void test_again_and_again(void)
{
    struct ar_bytes bytes = {0};

    ar_bytes_put(&bytes, BYTES("{" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "\xfb"));
    for (uint32_t i = 0; i < 1000; i++) {
        ar_bytes_put(&bytes,
                     BYTES(")\3z\x40"
                           "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
        ar_marshal_int(&bytes, i);
        ar_bytes_put(&bytes, BYTES("z\0" INT("\1")));
    }
    ar_bytes_put(&bytes, "0", 1);
    for (uint32_t i = 2; i < 1000; i++) {
        ar_bytes_put(&bytes, BYTES(")\3z\1a"));
        ar_marshal_int(&bytes, i);
        ar_bytes_put(&bytes, BYTES("z\1f)\5" INT("\1") INT("\1") ZERO ZERO "r\0\0\0\0"));
    }
    ar_bytes_put(&bytes, "0", 1);
    tap_ok(decode(&bytes) == AR_BAD && strstr(err.text, "again and again"),
           "what multiplies is refused");
    ar_bytes_free(&bytes);
}

/* A few functions that share an empty dict, or a small one, are as good as any. */
static void test_shared_callers(void)
{
    struct ar_bytes bytes = {0};

    ar_bytes_put(&bytes,
                 BYTES("{" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "\xfb" KEY INT("\7") "0"));
    ar_bytes_put(&bytes,
                 BYTES(")\3z\1a" INT("\2") "z\1g)\5" INT("\1") INT("\1") ZERO ZERO "r\0\0\0\0"
                                                                                   "0"));
    tap_ok(decode(&bytes) == AR_OK, "callers of two functions in one dict");
    tap_ok(sample_find(&profile, AR_METRIC_CALLS, sample_node_at(&profile, "/f:0/g:0"), 0) == 7 &&
               sample_find(&profile, AR_METRIC_CALLS, sample_node_at(&profile, "/f:0/f:0"), 0) == 7,
           "are callers of both");
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

/* What is written once, and read once, counts wherever it is referred to. */
static void test_shared_figures(void)
{
    struct ar_bytes bytes = {0};

    ar_bytes_put(&bytes, BYTES("{" KEY ")\5" INT("\1") INT("\1") ZERO ZERO "{" KEY "\xa9\4"));
    ar_bytes_put(&bytes, BYTES(INT("\3") INT("\2") ZERO ZERO "0"));
    ar_bytes_put(&bytes, BYTES(")\3z\1a" INT("\2") "z\1g)\5" INT("\1") INT("\1") ZERO ZERO));
    ar_bytes_put(&bytes, BYTES("{" KEY "r\0\0\0\0"
                               "0"
                               "0"));
    tap_ok(decode(&bytes) == AR_OK, "callers of two functions have one tuple of figures");
    for (int i = 0; i < 2; i++) {
        uint32_t node = sample_node_at(&profile, i ? "/f:0/g:0" : "/f:0/f:0");

        tap_ok(sample_find(&profile, AR_METRIC_CALLS, node, 0) == 3 &&
                   sample_find(&profile, AR_METRIC_PRIMITIVE, node, 0) == 2,
               "which counts for %s", i ? "the other" : "one");
    }
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

/* As two functions that are defined at two places, or in two files. */
static void test_one_name(void)
{
    struct ar_bytes bytes = {0};
    static const struct {
        const char *file;
        uint32_t line;
    } places[] = {{"a.py", 1}, {"a.py", 2}, {"b.py", 2}, {"a.py", 1}};

    ar_marshal_dict(&bytes);
    for (size_t i = 0; i < 3; i++) {
        put_key(&bytes, places[i].file, places[i].line, "f");
        put_figures(&bytes, 5, i + 1, i + 1, 0, 0);
        ar_marshal_dict(&bytes);
        put_key(&bytes, places[i + 1].file, places[i + 1].line, "f");
        put_figures(&bytes, 4, 10 + i, 10 + i, 0, 0);
        ar_marshal_dict_end(&bytes);
    }
    ar_marshal_dict_end(&bytes);
    tap_ok(decode(&bytes) == AR_OK && profile.n_functions == 4, "three functions of one name");
    tap_ok(profile.n_nodes == 7, "and three pairs of them");
    for (uint32_t node = 1; node < profile.n_nodes; node++) {
        const struct ar_function *f = &profile.functions[profile.nodes[node].function];
        bool is_pair = profile.nodes[node].parent != 0;
        uint64_t which =
            strcmp(ar_strtab_text(&profile.strings, f->file), "b.py") == 0 ? 3 : f->first_line;

        tap_ok(sample_find(&profile, AR_METRIC_CALLS, node, 0) == (is_pair ? which + 9 : which),
               "node %u has its own figures", node);
    }
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

/* As the module `profile` has callers: how often, and no more. */
static void test_counts_only(void)
{
    static const char text[] = "{" KEY ")\5" INT("\3") INT("\3") ZERO ZERO "{" KEY INT("\3") "00";
    struct ar_bytes bytes = {0}, out = {0};
    struct ar_export_choice all = {0};

    ar_bytes_put(&bytes, BYTES(text));
    sample_must(decode(&bytes));
    tap_ok(sample_find(&profile, AR_METRIC_CALLS, sample_node_at(&profile, "/f:0/f:0"), 0) == 3,
           "a caller that is a number");
    sample_must(ar_pstats_encode(&profile, &all, &out, NULL, &err));
    tap_ok(out.n > 7 && memcmp(out.data + out.n - 7, BYTES(INT("\3") "00")) == 0, "stays one");
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
    ar_bytes_free(&out);
}

static void test_empty(void)
{
    struct ar_bytes bytes = {0};

    ar_bytes_put(&bytes, BYTES("{0"));
    tap_ok(decode(&bytes) == AR_OK && profile.n_processes == 1 && profile.n_nodes == 1,
           "a process that has called nothing");
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
    tap_ok(ar_pstats_is("{0", 2) && ar_pstats_is("\xfb)", 2) && ar_pstats_is("{(", 2), "is one");
    tap_ok(!ar_pstats_is("{\"", 2) && !ar_pstats_is("{", 1) && !ar_pstats_is("ALLRANKS", 8) &&
               !ar_pstats_is("", 0),
           "is none");
}

/* A good file with bytes changed or cut: read or refused, and sound where it is read. */
static void test_damaged(void)
{
    struct ar_bytes good = sample_dict();
    struct dice d = {11};
    int n_read = 0, n_refused = 0, n_unsound = 0;

    for (int i = 0; i < 20000; i++) {
        struct ar_bytes bad = {0};

        ar_bytes_put(&bad, good.data,
                     dice_below(&d, 8) ? good.n : dice_below(&d, (uint32_t)good.n));
        for (uint32_t k = dice_below(&d, 4); k > 0 && bad.n; k--)
            bad.data[dice_below(&d, (uint32_t)bad.n)] ^= (unsigned char)(1u << dice_below(&d, 8));
        if (decode(&bad) == AR_OK) {
            n_read++;
            n_unsound += !sample_is_sound(&profile);
            ar_profile_free(&profile);
        } else {
            n_refused++;
        }
        ar_bytes_free(&bad);
    }
    tap_ok(n_read > 100 && n_refused > 100 && n_unsound == 0, "%d damaged files read, %d refused",
           n_read, n_refused);
    ar_bytes_free(&good);
}

static void test_no_memory(void)
{
    struct ar_bytes bytes = sample_dict();
    enum ar_status status = AR_NOMEM;
    size_t n = 0;
    bool said = true;

    for (; status < 0 && n < 1000; n++) {
        alloc_fail_after(n + 1); /* one is decode's own */
        status = decode(&bytes);
        alloc_restore();
        said = said && (status == AR_OK || (status == AR_NOMEM && strstr(err.text, "memory")));
    }
    tap_ok(status == AR_OK && said && n > 5, "memory that runs out at each of %zu allocations", n);
    ar_profile_free(&profile);
    ar_bytes_free(&bytes);
}

int main(void)
{
    test_functions_and_pairs();
    test_sums();
    test_back_again();
    test_names();
    test_refused();
    test_deep();
    test_again_and_again();
    test_shared_callers();
    test_shared_figures();
    test_one_name();
    test_counts_only();
    test_empty();
    test_damaged();
    test_no_memory();
    return tap_done();
}
