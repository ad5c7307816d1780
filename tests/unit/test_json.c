// SPDX-License-Identifier: BSD-3-Clause
/* Texts that are known, and a reader of JSON that knows the grammar and nothing else. */
#include "export/json.h"

#include "dice.h"
#include "tap.h"

#include <string.h>

/* ---- a reader of JSON: does the text follow the grammar of RFC 8259? ------------------------- */

static void skip_space(const char **at)
{
    while (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r')
        ++*at;
}

static bool take(const char **at, const char *text)
{
    size_t n = strlen(text);

    if (strncmp(*at, text, n) != 0)
        return false;
    *at += n;
    return true;
}

static bool read_escape(const char **at)
{
    if (**at == 'u') {
        for (int i = 1; i <= 4; i++)
            if (!strchr("0123456789abcdefABCDEF", (*at)[i]) || !(*at)[i])
                return false;
        *at += 5;
        return true;
    }
    return **at && strchr("\"\\/bfnrt", *(*at)++);
}

static bool read_string(const char **at)
{
    if (!take(at, "\""))
        return false;
    while (**at != '"') {
        size_t n = ar_utf8_length(*at, strlen(*at));

        if (n == 0 || (unsigned char)**at < 0x20)
            return false;
        *at += n;
        if ((*at)[-1] == '\\' && !read_escape(at))
            return false;
    }
    return take(at, "\"");
}

static bool read_digits(const char **at)
{
    size_t n = strspn(*at, "0123456789");

    *at += n;
    return n > 0;
}

static bool read_number(const char **at)
{
    take(at, "-");
    if (**at == '0' ? !take(at, "0") : !read_digits(at))
        return false;
    if (take(at, ".") && !read_digits(at))
        return false;
    if (**at == 'e' || **at == 'E') {
        ++*at;
        if (**at == '+' || **at == '-')
            ++*at;
        return read_digits(at);
    }
    return true;
}

static bool read_value(const char **at);

static bool read_items(const char **at, bool with_keys, const char *end)
{
    skip_space(at);
    if (take(at, end))
        return true;
    do {
        skip_space(at);
        if (with_keys && !read_string(at))
            return false;
        skip_space(at);
        if (with_keys && !take(at, ":"))
            return false;
        if (!read_value(at))
            return false;
        skip_space(at);
    } while (take(at, ","));
    return take(at, end);
}

static bool read_value(const char **at)
{
    skip_space(at);
    if (take(at, "{"))
        return read_items(at, true, "}");
    if (take(at, "["))
        return read_items(at, false, "]");
    if (**at == '"')
        return read_string(at);
    return take(at, "null") || take(at, "true") || take(at, "false") || read_number(at);
}

static bool is_json(const char *text)
{
    bool good = read_value(&text);

    skip_space(&text);
    return good && *text == '\0';
}

/* A checker that says yes to everything checks nothing. */
static void test_reader(void)
{
    static const char *const bad[] = {
        "",    "{",   "{,}", "[1,]",   "[1 2]",    "{1:2}",   "{\"a\"}",     "01",   "1.",
        "nan", "inf", "\"a", "\"\n\"", "\"\xff\"", "\"\\x\"", "\"\\u12g4\"", "[1]]", "-"};
    bool refused = true;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (is_json(bad[i])) {
            tap_note("taken for JSON: %s", bad[i]);
            refused = false;
        }
    tap_ok(refused, "what is not JSON is not taken for it");
    tap_ok(is_json(" { \"a\" : [1, -2.5e-3, \"\\u00e9\\n\", {}, []], \"b\": null } "), "JSON is");
}

/* ---- the writer ------------------------------------------------------------------------------ */

static char written[1 << 16];

/* As a text; what was written is done with. */
static const char *text_of(struct ar_bytes *out)
{
    snprintf(written, sizeof written, "%.*s", (int)out->n, (const char *)out->data);
    ar_bytes_free(out);
    return written;
}

/* Line breaks are the writer's own affair. */
static bool is_text(const char *text, const char *expected)
{
    for (; *text; text++) {
        if (*text == '\n')
            continue;
        if (*text != *expected++)
            return false;
    }
    return *expected == '\0';
}

static void test_structure(void)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "name", "solve");
    ar_json_open(&j, "list", '[');
    ar_json_integer(&j, NULL, 1);
    ar_json_null(&j, NULL);
    ar_json_open(&j, NULL, '[');
    ar_json_close(&j, ']');
    ar_json_open(&j, NULL, '{');
    ar_json_close(&j, '}');
    ar_json_text(&j, NULL, "");
    ar_json_close(&j, ']');
    ar_json_bool(&j, "yes", true);
    ar_json_bool(&j, "no", false);
    ar_json_null(&j, "nothing");
    ar_json_close(&j, '}');

    const char *text = text_of(&out);

    tap_ok(is_json(text), "it is JSON");
    tap_ok(is_text(text, "{\"name\": \"solve\",\"list\": [1,null,[],{},\"\"],\"yes\": true,"
                         "\"no\": false,\"nothing\": null}"),
           "with commas in the right places");
}

static void check_text(const char *text, const char *expected)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};

    ar_json_text(&j, NULL, text);

    const char *found = text_of(&out);

    if (!tap_ok(strcmp(found, expected) == 0 && is_json(found), "%s", expected))
        tap_note("found %s", found);
}

static void test_texts(void)
{
    check_text("plain", "\"plain\"");
    check_text("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    check_text("\n\t\r\b\f\x01\x1f", "\"\\u000a\\u0009\\u000d\\u0008\\u000c\\u0001\\u001f\"");
    check_text("\x7f", "\"\\u007f\"");
    check_text("\xc2\x9b", "\"\\u009b\"");
    check_text("\xc2\xa0", "\"\xc2\xa0\"");
    check_text("gr\u00f6\u00dfe \u20ac \U0001f600", "\"gr\u00f6\u00dfe \u20ac \U0001f600\"");
    check_text("a\u202e\u2066\u200e\u200f\u061c", "\"a\\u202e\\u2066\\u200e\\u200f\\u061c\"");
    check_text("\u2028\u2029\ufeff", "\"\\u2028\\u2029\\ufeff\"");
    check_text("\U000e0041", "\"\\udb40\\udc41\"");
    check_text("\xff", "\"\\ufffd\"");
    check_text("a\xc3", "\"a\\ufffd\"");
    check_text("\xc3(", "\"\\ufffd(\"");
    check_text("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check_text("\xc0\xafx", "\"\\ufffd\\ufffdx\"");
    check_text("\xf0\x9f\x98", "\"\\ufffd\\ufffd\\ufffd\"");
}

static void test_keys(void)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};

    ar_json_open(&j, NULL, '{');
    ar_json_integer(&j, "a\"\n\xff", 1);
    ar_json_close(&j, '}');

    const char *text = text_of(&out);

    tap_ok(is_json(text) && is_text(text, "{\"a\\\"\\u000a\\ufffd\": 1}"), "keys are quoted too");
}

static void check_number(double value, const char *expected)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};

    ar_json_number(&j, NULL, value);

    const char *found = text_of(&out);

    tap_ok(is_json(found) && strcmp(found, expected) == 0, "%s is %s", found, expected);
}

static void check_integer(uint64_t value, const char *expected)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};

    ar_json_integer(&j, NULL, value);

    const char *found = text_of(&out);

    tap_ok(is_json(found) && strcmp(found, expected) == 0, "%s is %s", found, expected);
}

/* JSON has no word for them. */
static void check_no_number(double value)
{
    struct ar_bytes out = {0};
    struct ar_json j = {.out = &out};

    ar_json_number(&j, NULL, value);

    const char *found = text_of(&out);

    tap_ok(is_json(found), "%s is JSON", found);
}

static void test_numbers(void)
{
    check_no_number(__builtin_nan(""));
    check_no_number(__builtin_inf());
    check_no_number(-__builtin_inf());
    check_integer(0, "0");
    check_integer(((uint64_t)1 << 53) + 1, "9007199254740993");
    check_integer(UINT64_MAX, "18446744073709551615");
    check_number(0, "0");
    check_number(-1.5, "-1.5");
    check_number(0.1, "0.1");
    check_number(1e300, "1e+300");
    check_number(5e-324, "4.94065645841247e-324");
}

/* ---- random documents ------------------------------------------------------------------------ */

static const char *random_text(struct dice *d)
{
    static char text[16];
    uint32_t n = dice_below(d, sizeof text);

    for (uint32_t i = 0; i < n; i++)
        text[i] = (char)(1 + dice_below(d, 255));
    text[n] = '\0';
    return text;
}

static void random_value(struct ar_json *j, struct dice *d, bool with_key, int depth)
{
    char name[16] = "";
    const char *key = with_key ? name : NULL;

    if (with_key)
        strcpy(name, random_text(d));
    switch (dice_below(d, depth < 5 ? 7 : 5)) {
    case 0:
        ar_json_text(j, key, random_text(d));
        break;
    case 1:
        ar_json_integer(j, key, dice_number(d));
        break;
    case 2:
        ar_json_number(j, key, (double)dice_number(d) / 1000 - 1e15);
        break;
    case 3:
        ar_json_null(j, key);
        break;
    case 4:
        ar_json_bool(j, key, dice_below(d, 2));
        break;
    default: {
        bool object = dice_below(d, 2);

        ar_json_open(j, key, object ? '{' : '[');
        for (uint32_t n = dice_below(d, 5); n > 0; n--)
            random_value(j, d, object, depth + 1);
        ar_json_close(j, object ? '}' : ']');
    }
    }
}

static void test_random_documents(void)
{
    struct dice d = {8};
    bool good = true;

    for (int i = 0; i < 2000; i++) {
        struct ar_bytes out = {0};
        struct ar_json j = {.out = &out};

        random_value(&j, &d, false, 0);
        good = good && !out.bad && is_json(text_of(&out));
    }
    tap_ok(good, "random documents of random bytes are JSON");
}

int main(void)
{
    test_reader();
    test_structure();
    test_texts();
    test_keys();
    test_numbers();
    test_random_documents();
    return tap_done();
}
