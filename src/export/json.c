// SPDX-License-Identifier: BSD-3-Clause
#include "export/json.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static void put_text(struct ar_json *j, const char *text)
{
    ar_bytes_put(j->out, text, strlen(text));
}

static void put_escape(struct ar_json *j, uint32_t code)
{
    char text[16];

    if (code < 0x10000)
        snprintf(text, sizeof text, "\\u%04x", code);
    else
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                 0xdc00 + ((code - 0x10000) & 0x3ff));
    put_text(j, text);
}

/* JSON may be looked at on a terminal. A reader gets the same text either way. */
static void put_character(struct ar_json *j, const char *at, size_t n)
{
    if (n == 0) {
        put_escape(j, 0xfffd);
    } else if (*at == '"' || *at == '\\') {
        ar_bytes_u8(j->out, '\\');
        ar_bytes_put(j->out, at, 1);
    } else if (!ar_text_is_displayable(at, n)) {
        put_escape(j, ar_text_code(at, n));
    } else {
        ar_bytes_put(j->out, at, n);
    }
}

static void put_quoted(struct ar_json *j, const char *text)
{
    ar_bytes_u8(j->out, '"');
    for (size_t n_left = strlen(text); n_left;) {
        size_t n = ar_utf8_length(text, n_left);

        put_character(j, text, n);
        text += n ? n : 1;
        n_left -= n ? n : 1;
    }
    ar_bytes_u8(j->out, '"');
}

static void begin(struct ar_json *j, const char *key)
{
    if (j->needs_comma)
        put_text(j, ",");
    if (j->needs_line || (key && !j->is_flat))
        put_text(j, "\n");
    j->needs_line = false;
    if (key) {
        put_quoted(j, key);
        put_text(j, ": ");
    }
    j->needs_comma = true;
}

void ar_json_open(struct ar_json *j, const char *key, char bracket)
{
    begin(j, key);
    ar_bytes_u8(j->out, (uint8_t)bracket);
    j->needs_comma = false;
}

void ar_json_close(struct ar_json *j, char bracket)
{
    ar_bytes_u8(j->out, (uint8_t)bracket);
    j->needs_comma = true;
}

void ar_json_text(struct ar_json *j, const char *key, const char *text)
{
    begin(j, key);
    put_quoted(j, text);
}

void ar_json_integer(struct ar_json *j, const char *key, uint64_t value)
{
    char text[32];

    begin(j, key);
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_text(j, text);
}

void ar_json_signed(struct ar_json *j, const char *key, int64_t value)
{
    char text[32];

    begin(j, key);
    snprintf(text, sizeof text, "%lld", (long long)value);
    put_text(j, text);
}

void ar_json_number(struct ar_json *j, const char *key, double value)
{
    char text[40];

    if (value != value || value > 1e300 || value < -1e300) { /* JSON has no such numbers */
        ar_json_null(j, key);
        return;
    }
    begin(j, key);
    snprintf(text, sizeof text, "%.15g", value);
    put_text(j, text);
}

void ar_json_null(struct ar_json *j, const char *key)
{
    begin(j, key);
    put_text(j, "null");
}

void ar_json_bool(struct ar_json *j, const char *key, bool value)
{
    begin(j, key);
    put_text(j, value ? "true" : "false");
}
