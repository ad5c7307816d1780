// SPDX-License-Identifier: BSD-3-Clause
/* Which characters may be shown. */
#include "base/text.h"

#include "tap.h"

static bool is_shown_as(const char *text, const char *expected)
{
    char copy[256];
    struct ar_bytes out = {0};

    snprintf(copy, sizeof copy, "%s", text);
    ar_text_put(&out, text, strlen(text));

    size_t n = ar_text_make_displayable(copy, strlen(copy));
    bool is_so = n == strlen(expected) && memcmp(copy, expected, n) == 0 && out.n == n &&
                 memcmp(out.data, expected, n) == 0;

    if (!is_so)
        tap_note("%.*s instead of %s", (int)n, copy, expected);
    ar_bytes_free(&out);
    return is_so;
}

static size_t encode(uint32_t code, char *to)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Of all of Unicode, as its tables have it: control characters, those of direction, ends of lines. */
static bool turns_or_controls(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

static void test_all_of_unicode(void)
{
    size_t n_wrong = 0, n_hidden = 0;

    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char text[5] = "";

        if (code >= 0xd800 && code <= 0xdfff)
            continue;

        size_t n = encode(code, text);
        bool is_shown = ar_text_is_displayable(text, n);

        n_wrong += ar_text_step(text, n) != n || ar_text_code(text, n) != code ||
                   (is_shown && turns_or_controls(code));
        n_hidden += !is_shown;
    }
    tap_ok(n_wrong == 0, "%zu characters are taken for others", n_wrong);
    tap_ok(n_hidden < 300, "no more than needed are hidden, %zu", n_hidden);
}

static bool is_quoted_as(const char *word, const char *expected)
{
    char out[128];
    bool is_so = ar_text_quote(word, out, sizeof out) && strcmp(out, expected) == 0;

    if (!is_so)
        tap_note("%s instead of %s", out, expected);
    for (size_t n = 0; n <= strlen(expected); n++)
        is_so = is_so && !ar_text_quote(word, out, n);
    return is_so && ar_text_quote(word, out, strlen(expected) + 1);
}

static void test_words_of_a_shell(void)
{
    tap_ok(is_quoted_as("/tmp/a-b_c.d", "/tmp/a-b_c.d"), "a path");
    tap_ok(is_quoted_as("caf\u00e9", "caf\u00e9"), "letters");
    tap_ok(is_quoted_as("", "''"), "nothing is a word, too");
    tap_ok(is_quoted_as("my runs/$x*", "'my runs/$x*'"), "what a shell would take for itself");
    tap_ok(is_quoted_as("it's", "'it'\\''s'"), "a quote");
    tap_ok(is_quoted_as("a\033[\n'\\ b", "$'a\\x1b[\\x0a\\'\\\\ b'"), "controls");
    tap_ok(is_quoted_as("\u202e", "$'\\xe2\\x80\\xae'"), "a mark of direction");
}

int main(void)
{
    test_words_of_a_shell();
    tap_ok(is_shown_as("gr\u00f6\u00dfe \u20ac \u51fd \U0001f600",
                       "gr\u00f6\u00dfe \u20ac \u51fd \U0001f600"),
           "text stays");
    tap_ok(is_shown_as("\033[2J\n\t\x7f", "?[2J???"), "controls of ASCII");
    tap_ok(is_shown_as("a\xc2\x9b\xc2\x85"
                       "b",
                       "a??b"),
           "controls of Unicode");
    tap_ok(is_shown_as("a\u202e\u2066\u200f\u061c\u2028\ufeff"
                       "b",
                       "a??????b"),
           "direction, lines");
    tap_ok(is_shown_as("a\xff\xc3z\xed\xa0\x80", "a??z???"), "bytes that are no characters");
    tap_ok(is_shown_as("a\xe2\x80", "a??"), "the beginning of a character");
    tap_ok(is_shown_as("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"), "joiners stay");
    test_all_of_unicode();
    return tap_done();
}
