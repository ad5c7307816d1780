// SPDX-License-Identifier: BSD-3-Clause
/* Values byte by byte as pickle writes them with protocol 2. What Python makes of whole files stands in tests/e2e/test_lprof.py. */
#include "export/pickle.h"

#include "tap.h"

#include <inttypes.h>
#include <string.h>

static struct ar_bytes out;

#define BYTES(text) (text), sizeof(text) - 1

static bool is_written(const char *expected, size_t n_expected)
{
    bool same = !out.bad && out.n == n_expected && memcmp(out.data, expected, n_expected) == 0;

    ar_bytes_free(&out);
    return same;
}

static void test_ints(void)
{
    static const struct {
        uint64_t value;
        const char *bytes;
        size_t n_bytes;
    } cases[] = {
        {0, BYTES("K\0")},
        {255, BYTES("K\xff")},
        {256, BYTES("M\0\1")},
        {65535, BYTES("M\xff\xff")},
        {65536, BYTES("J\0\0\1\0")},
        {INT32_MAX, BYTES("J\xff\xff\xff\x7f")},
        {(uint64_t)INT32_MAX + 1, BYTES("\x8a\5\0\0\0\x80\0")},
        {UINT32_MAX, BYTES("\x8a\5\xff\xff\xff\xff\0")},
        {UINT64_C(0x7fffffffff), BYTES("\x8a\5\xff\xff\xff\xff\x7f")},
        {INT64_MAX, BYTES("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f")},
        {UINT64_MAX, BYTES("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0")},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ar_pickle_int(&out, cases[i].value);
        tap_ok(is_written(cases[i].bytes, cases[i].n_bytes), "%" PRIu64, cases[i].value);
    }
}

static void test_floats(void)
{
    ar_pickle_float(&out, 1e-9);
    tap_ok(is_written(BYTES("G\x3e\x11\x2e\x0b\xe8\x26\xd6\x95")),
           "a float has its highest byte first");
}

static void test_texts(void)
{
    ar_pickle_text(&out, (struct ar_str){BYTES("")});
    tap_ok(is_written(BYTES("X\0\0\0\0")), "an empty text");
    ar_pickle_text(&out, (struct ar_str){BYTES("h\xc3\xa9")});
    tap_ok(is_written(BYTES("X\3\0\0\0h\xc3\xa9")), "the length is in bytes");
    ar_pickle_text(&out, (struct ar_str){BYTES("a\xff")});
    tap_ok(is_written(BYTES("X\4\0\0\0a\xef\xbf\xbd")), "a byte that is not UTF-8 is replaced");
}

static void test_containers(void)
{
    ar_pickle_begin(&out);
    ar_pickle_object(&out, "module", "Class");
    ar_pickle_dict(&out);
    ar_pickle_text(&out, (struct ar_str){BYTES("a")});
    ar_pickle_list(&out);
    for (uint64_t i = 1; i < 4; i++)
        ar_pickle_int(&out, i);
    ar_pickle_triple(&out);
    ar_pickle_list_end(&out);
    ar_pickle_dict_end(&out);
    ar_pickle_object_end(&out);
    ar_pickle_end(&out);
    tap_ok(is_written(BYTES("\x80\2cmodule\nClass\n)\x81}(X\1\0\0\0a](K\1K\2K\3\x87"
                            "eub.")),
           "an object with a list of a triple");
}

int main(void)
{
    test_ints();
    test_floats();
    test_texts();
    test_containers();
    return tap_done();
}
