// SPDX-License-Identifier: BSD-3-Clause
#include "export/csv.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void begin_cell(struct ar_csv *csv)
{
    if (csv->needs_comma)
        ar_bytes_u8(&csv->out, ',');
    csv->needs_comma = true;
}

static void put_own(struct ar_csv *csv, const char *text)
{
    begin_cell(csv);
    ar_bytes_put(&csv->out, text, strlen(text));
}

/*
 * A spreadsheet takes a cell that begins so for a formula, and runs it: an apostrophe in front makes it
 * a text. The forms of double width are those of East Asian keyboards.
 */
static bool begins_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"};

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (ar_starts_with(text, signs[i]))
            return true;
    return false;
}

/* Semicolons separate cells where the comma is that of decimals. */
void ar_csv_text(struct ar_csv *csv, const char *text)
{
    bool is_quoted = strpbrk(text, ",;\"");

    begin_cell(csv);
    if (is_quoted)
        ar_bytes_u8(&csv->out, '"');
    if (begins_formula(text))
        ar_bytes_u8(&csv->out, '\'');
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"");
        ar_text_put(&csv->out, text, n);
        if (text[n] == '"') {
            ar_bytes_put(&csv->out, "\"\"", 2);
            n++;
        }
    }
    if (is_quoted)
        ar_bytes_u8(&csv->out, '"');
}

void ar_csv_integer(struct ar_csv *csv, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    put_own(csv, text);
}

void ar_csv_number(struct ar_csv *csv, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.0f", value);
    put_own(csv, text);
}

void ar_csv_ratio(struct ar_csv *csv, double value, int n_digits)
{
    char text[32];

    snprintf(text, sizeof text, "%.*g", n_digits, value);
    put_own(csv, text);
}

void ar_csv_nothing(struct ar_csv *csv)
{
    begin_cell(csv);
}

void ar_csv_end_row(struct ar_csv *csv)
{
    ar_bytes_u8(&csv->out, '\n');
    csv->needs_comma = false;
}
