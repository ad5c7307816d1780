// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pyversion.h"

#include "tap.h"

#include <string.h>

static void test_fits(void)
{
    tap_ok(ar_python_fits(0x030F00F0, 0x030F00F0), "a version fits itself");
    tap_ok(ar_python_fits(0x030F00F0, 0x030F04F0), "final releases fit each other");
    tap_ok(ar_python_fits(0x030F04F0, 0x030F00F0), "an older one too");
    tap_ok(!ar_python_fits(0x030E00F0, 0x030F00F0), "3.14 is not 3.15");
    tap_ok(!ar_python_fits(0x030F00F0, 0x040F00F0), "3.15 is not 4.15");
    tap_ok(ar_python_fits(0x030F00A2, 0x030F00A2), "a pre-release fits itself");
    tap_ok(!ar_python_fits(0x030F00A2, 0x030F00A3), "a pre-release does not fit the next one");
    tap_ok(!ar_python_fits(0x030F00A2, 0x030F00B1), "an alpha release does not fit a beta");
    tap_ok(!ar_python_fits(0x030F00A2, 0x030F00F0), "a pre-release does not fit the final one");
    tap_ok(!ar_python_fits(0x030F00F0, 0x030F00C1), "nor the other way round");
    tap_ok(!ar_python_fits(0x030F00F0, 0), "no version at all fits nothing");
}

static void test_range(void)
{
    uint32_t first = 0x03000000 | AR_PYTHON_MINOR_FIRST << 16;
    uint32_t last = 0x03000000 | AR_PYTHON_MINOR_LAST << 16;

    tap_ok(AR_PYTHON_IS_KNOWN(first), "the first of the range is known");
    tap_ok(AR_PYTHON_IS_KNOWN(last | 0xFFF0), "any release of the last is known");
    tap_ok(!AR_PYTHON_IS_KNOWN(first - 1), "what comes before is not");
    tap_ok(!AR_PYTHON_IS_KNOWN(last + 0x10000), "what comes after is not");
    tap_ok(!AR_PYTHON_IS_KNOWN(last + 0x01000000), "nor the same of another generation");
}

static bool text_is(uint32_t version, const char *expected)
{
    char text[AR_PYTHON_TEXT_BYTES];

    ar_python_text(version, text);
    if (strcmp(text, expected) != 0)
        tap_note("it is '%s'", text);
    return strcmp(text, expected) == 0;
}

static void test_text(void)
{
    tap_ok(text_is(0x030F00F0, "3.15.0"), "a final release");
    tap_ok(text_is(0x03090CF0, "3.9.12"), "a later one");
    tap_ok(text_is(0x030F00A2, "3.15.0a2"), "an alpha");
    tap_ok(text_is(0x030F00B1, "3.15.0b1"), "a beta");
    tap_ok(text_is(0x030F00C1, "3.15.0rc1"), "a release candidate");
    tap_ok(text_is(0xFFFFFFCF, "255.255.255rc15"), "the longest has room");
}

int main(void)
{
    test_fits();
    test_range();
    test_text();
    return tap_done();
}
