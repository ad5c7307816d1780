// SPDX-License-Identifier: BSD-3-Clause
/* Which rows of a run become which lines of which function, read back by a reader of just those opcodes that may occur. */
#include "export/lprof.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <inttypes.h>

static struct ar_profile profile;
static struct ar_bytes out;
static struct ar_error error;

static void count(uint32_t node, uint32_t location, uint32_t line, uint64_t hits, uint64_t ns)
{
    struct ar_counted_line counted = {
        .node = node, .location = location, .line = line, .hits = hits, .ns = ns};

    sample_must(ar_profile_add_row(&profile, AR_TABLE_LINES, &counted));
}

/* ---- reading it back --------------------------------------------------------------------------- */

static char
    text[4096]; /* "b.py:3(solve) 4:2:100 5:1:7\n": lines, hits and times of each function */

static void say_text(const void *bytes, size_t n_bytes)
{
    size_t used = strlen(text);

    snprintf(text + used, sizeof text - used, "%.*s", (int)n_bytes, (const char *)bytes);
}

static void say_number(uint64_t value, const char *behind)
{
    char number[32];

    snprintf(number, sizeof number, "%" PRIu64 "%s", value, behind);
    say_text(number, strlen(number));
}

static bool has(struct ar_cursor *in, const char *bytes, size_t n_bytes)
{
    const void *found = ar_cursor_take(in, n_bytes);

    in->bad = in->bad || memcmp(found, bytes, n_bytes) != 0;
    return !in->bad;
}

#define HAS(in, text) has(in, text, sizeof(text) - 1)

static bool is_next(struct ar_cursor *in, char opcode)
{
    if (in->bad || !ar_cursor_left(in) || *in->at != (unsigned char)opcode)
        return false;
    in->at++;
    return true;
}

static uint64_t read_int(struct ar_cursor *in)
{
    uint8_t opcode = ar_cursor_u8(in);
    uint64_t value = 0;

    if (opcode == 'K')
        return ar_cursor_u8(in);
    if (opcode == 'M')
        return ar_cursor_u16(in);
    if (opcode == 'J')
        return ar_cursor_u32(in);
    in->bad = in->bad || opcode != 0x8a;
    for (uint8_t i = 0, n = ar_cursor_u8(in); i < n && !in->bad; i++)
        value |= i < 8 ? (uint64_t)ar_cursor_u8(in) << (8 * i) : ar_cursor_u8(in);
    return value;
}

static void read_text(struct ar_cursor *in)
{
    HAS(in, "X");

    uint32_t n_bytes = ar_cursor_u32(in);
    const void *bytes = ar_cursor_take(in, n_bytes);

    if (!in->bad)
        say_text(bytes, n_bytes);
}

static void read_function(struct ar_cursor *in)
{
    read_text(in);
    say_text(":", 1);
    say_number(read_int(in), "(");
    read_text(in);
    say_text(")", 1);
    HAS(in, "\x87](");
    while (!in->bad && !is_next(in, 'e')) {
        say_text(" ", 1);
        say_number(read_int(in), ":");
        say_number(read_int(in), ":");
        say_number(read_int(in), "");
        HAS(in, "\x87");
    }
    say_text("\n", 1);
}

/* What was encoded, as text; NULL: it is no such file. */
static const char *read_back(void)
{
    struct ar_cursor in = ar_cursor_over(out.data, out.n);

    text[0] = '\0';
    HAS(&in, "\x80\2cline_profiler._line_profiler\nLineStats\n)\x81}(X\7\0\0\0timings}(");
    while (!in.bad && !is_next(&in, 'u'))
        read_function(&in);
    HAS(&in, "X\4\0\0\0unitG\x3e\x11\x2e\x0b\xe8\x26\xd6\x95ub.");
    return in.bad || ar_cursor_left(&in) ? NULL : text;
}

static enum ar_status encode(const struct ar_export_choice *which)
{
    ar_bytes_free(&out);
    return ar_lprof_encode(&profile, which, &out, NULL, &error);
}

static const struct ar_export_choice all = {0};

static bool says(const char *expected, const struct ar_export_choice *which)
{
    const char *found = encode(which) == AR_OK ? read_back() : NULL;
    bool same = found && strcmp(found, expected) == 0;

    if (!same)
        tap_note("found: %s", found ? found : "(no such file)");
    return same;
}

/* ---- the tests --------------------------------------------------------------------------------- */

/* Two ranks; `work` on two call paths, `A.step` in another file, `idle` without lines. */
static void make_profile(void)
{
    sample_start(&profile);

    uint32_t work = sample_function_in(&profile, AR_FUNCTION_PYTHON, "work", "b.py", 3);
    uint32_t step = sample_function_in(&profile, AR_FUNCTION_PYTHON, "A.step", "a.py", 70000);
    uint32_t idle = sample_function_in(&profile, AR_FUNCTION_PYTHON, "idle", "a.py", 1);
    uint32_t one = sample_node(&profile, 0, work, 1), other = sample_node(&profile, one, work, 5);
    uint32_t inside = sample_node(&profile, one, step, 6);
    uint32_t here[2] = {sample_thread(&profile, sample_rank(&profile, 0), 0),
                        sample_thread(&profile, sample_rank(&profile, 1), 0)};
    uint32_t thread = sample_thread(&profile, profile.locations[here[1]].process, 1);

    sample_node(&profile, 0, idle, 1);
    count(one, here[0], 5, 10, 1000);
    count(inside, here[0], 70001, 2, 0);
    count(one, here[0], 4, 1, UINT64_C(5000000000));
    count(other, here[0], 5, 1, 100);
    count(one, here[1], 5, 4, 10);
    count(one, thread, 5, 3, 1);
}

static void test_ranks(void)
{
    const struct ar_export_choice first = {.one_rank = true}, second = {true, 1, 0, 0},
                                  missing = {true, 7, 0, 0};

    tap_ok(says("a.py:70000(A.step) 70001:2:0\nb.py:3(work) 4:1:5000000000 5:18:1111\n", &all),
           "call paths, threads and ranks are summed up, functions and lines sorted");
    tap_ok(says("a.py:70000(A.step) 70001:2:0\nb.py:3(work) 4:1:5000000000 5:11:1100\n", &first),
           "a rank has its own lines");
    tap_ok(says("b.py:3(work) 5:7:11\n", &second), "another rank has others, of all its threads");
    tap_ok(encode(&missing) == AR_BAD && strstr(error.text, "there is no rank 7"),
           "a rank that is not there is an error");
}

static void test_empty(void)
{
    const struct ar_export_choice third = {true, 2, 0, 0};

    sample_thread(&profile, sample_rank(&profile, 2), 0);
    tap_ok(says("", &third), "a rank on which nothing was counted has a file without functions");
    ar_profile_free(&profile);
    sample_start(&profile);
    tap_ok(encode(&all) == AR_BAD && strstr(error.text, "allranks run --lines GLOB"),
           "without counted lines the remedy is named");
    ar_profile_free(&profile);
}

static void test_memory(void)
{
    make_profile();
    for (size_t n = 0; n < 8; n++) {
        ar_bytes_free(&out);
        alloc_fail_after(n);

        enum ar_status status = ar_lprof_encode(&profile, &all, &out, NULL, &error);

        alloc_restore();
        if (status == AR_OK)
            break;
        tap_ok(status == AR_NOMEM, "without memory at allocation %zu there is no file", n);
    }
    tap_ok(read_back() != NULL, "with enough of it there is one");
    ar_profile_free(&profile);
}

int main(void)
{
    make_profile();
    test_ranks();
    test_empty();
    test_memory();
    ar_bytes_free(&out);
    return tap_done();
}
