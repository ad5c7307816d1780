// SPDX-License-Identifier: BSD-3-Clause
#include "export/xml.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ar_xml_put(struct ar_bytes *out, const char *markup)
{
    ar_bytes_put(out, markup, strlen(markup));
}

void ar_xml_integer(struct ar_bytes *out, int64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRId64, value);
    ar_xml_put(out, digits);
}

/* NULL: the character stands for itself. */
static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&apos;";
    default:
        return NULL;
    }
}

/* U+FFFE and U+FFFF are the only ones that can be shown, as far as base/text.h knows, and are not allowed. */
static bool is_allowed(const char *at, size_t n_bytes)
{
    return ar_text_is_displayable(at, n_bytes) && (ar_text_code(at, n_bytes) | 1) != 0xffff;
}

static void put_character(struct ar_bytes *out, const char *at, size_t n_bytes)
{
    const char *escape = escape_of(*at);

    if (escape)
        ar_xml_put(out, escape);
    else if (is_allowed(at, n_bytes))
        ar_bytes_put(out, at, n_bytes);
    else
        ar_bytes_u8(out, '?');
}

/* There may be as many as call paths, and nearly all of it is this. */
static size_t plain_bytes(const char *text)
{
    size_t n = 0;

    while (text[n] >= 0x20 && text[n] < 0x7f && !escape_of(text[n]))
        n++;
    return n;
}

void ar_xml_text(struct ar_bytes *out, const char *text)
{
    size_t n_left = strlen(text);

    for (size_t n; n_left; text += n, n_left -= n) {
        n = plain_bytes(text);
        if (n) {
            ar_bytes_put(out, text, n);
            continue;
        }
        n = ar_text_step(text, n_left);
        put_character(out, text, n);
    }
}

static void open_attribute(struct ar_bytes *out, const char *name)
{
    ar_bytes_u8(out, ' ');
    ar_xml_put(out, name);
    ar_xml_put(out, "=\"");
}

void ar_xml_attribute(struct ar_bytes *out, const char *name, const char *text)
{
    open_attribute(out, name);
    ar_xml_text(out, text);
    ar_bytes_u8(out, '"');
}

void ar_xml_integer_attribute(struct ar_bytes *out, const char *name, int64_t value)
{
    open_attribute(out, name);
    ar_xml_integer(out, value);
    ar_bytes_u8(out, '"');
}

static void put_tag(struct ar_bytes *out, const char *start, const char *name, const char *end)
{
    ar_xml_put(out, start);
    ar_xml_put(out, name);
    ar_xml_put(out, end);
}

void ar_xml_element(struct ar_bytes *out, const char *name, const char *text)
{
    put_tag(out, "<", name, ">");
    ar_xml_text(out, text);
    put_tag(out, "</", name, ">\n");
}

void ar_xml_integer_element(struct ar_bytes *out, const char *name, int64_t value)
{
    put_tag(out, "<", name, ">");
    ar_xml_integer(out, value);
    put_tag(out, "</", name, ">\n");
}
