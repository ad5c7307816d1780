// SPDX-License-Identifier: BSD-3-Clause
#include "export/csv.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void begin_cell(struct ar_csv *csv)
{
    if (csv->needs_comma)
        ar_bytes_u8(&csv->out, ',');
    csv->needs_comma = true;
}

void ar_csv_head(struct ar_csv *csv, const char *names)
{
    ar_bytes_put(&csv->out, names, strlen(names));
    ar_csv_end_row(csv);
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

void ar_csv_function(struct ar_csv *csv, const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    ar_csv_text(csv, ar_strtab_text(&p->strings, f->name));
    ar_csv_text(csv, ar_function_kind_name(f->kind));
    ar_csv_text(csv, ar_strtab_text(&p->strings, f->file));
    ar_csv_integer(csv, f->first_line);
}

static void put_rank(struct ar_csv *csv, const struct ar_profile *p, uint32_t process)
{
    if (process >= p->n_processes || p->processes[process].world_rank == AR_RANK_NONE)
        ar_csv_nothing(csv);
    else
        ar_csv_integer(csv, p->processes[process].world_rank);
}

void ar_csv_spread(struct ar_csv *csv, const struct ar_profile *p, const struct ar_spread *s)
{
    ar_csv_number(csv, s->sum);
    ar_csv_number(csv, s->mean);
    ar_csv_number(csv, s->sd);
    ar_csv_integer(csv, s->min);
    put_rank(csv, p, s->min_process);
    ar_csv_integer(csv, s->max);
    put_rank(csv, p, s->max_process);
    ar_csv_doubt(csv, s->doubt, 1);
}

void ar_csv_doubt(struct ar_csv *csv, struct ar_doubt doubt, size_t n_ranks)
{
    double error_ns = ar_doubt_error(doubt, n_ranks);

    ar_csv_integer(csv, (doubt.marks & AR_MARK_ESTIMATED) != 0);
    if (isnan(error_ns))
        ar_csv_nothing(csv);
    else
        ar_csv_number(csv, error_ns);
}

void ar_csv_end_row(struct ar_csv *csv)
{
    ar_bytes_u8(&csv->out, '\n');
    csv->needs_comma = false;
}
