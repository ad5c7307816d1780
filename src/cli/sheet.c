// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sheet.h"

#include "base/text.h"
#include "cli/screen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void begin_cell(struct ar_sheet *sheet)
{
    if (sheet->needs_comma)
        ar_bytes_u8(&sheet->out, ',');
    sheet->needs_comma = true;
}

void ar_sheet_head(struct ar_sheet *sheet, const char *names)
{
    ar_bytes_put(&sheet->out, names, strlen(names));
    ar_sheet_end_row(sheet);
}

static void put_own(struct ar_sheet *sheet, const char *text)
{
    begin_cell(sheet);
    ar_bytes_put(&sheet->out, text, strlen(text));
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
void ar_sheet_text(struct ar_sheet *sheet, const char *text)
{
    bool is_quoted = strpbrk(text, ",;\"");

    begin_cell(sheet);
    if (is_quoted)
        ar_bytes_u8(&sheet->out, '"');
    if (begins_formula(text))
        ar_bytes_u8(&sheet->out, '\'');
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"");
        ar_text_put(&sheet->out, text, n);
        if (text[n] == '"') {
            ar_bytes_put(&sheet->out, "\"\"", 2);
            n++;
        }
    }
    if (is_quoted)
        ar_bytes_u8(&sheet->out, '"');
}

void ar_sheet_integer(struct ar_sheet *sheet, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    put_own(sheet, text);
}

void ar_sheet_number(struct ar_sheet *sheet, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.0f", value);
    put_own(sheet, text);
}

void ar_sheet_ratio(struct ar_sheet *sheet, double value, int n_digits)
{
    char text[32];

    snprintf(text, sizeof text, "%.*g", n_digits, value);
    put_own(sheet, text);
}

void ar_sheet_nothing(struct ar_sheet *sheet)
{
    begin_cell(sheet);
}

void ar_sheet_function(struct ar_sheet *sheet, const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    ar_sheet_text(sheet, ar_strtab_text(&p->strings, f->name));
    ar_sheet_text(sheet, ar_function_kind_name(f->kind));
    ar_sheet_text(sheet, ar_strtab_text(&p->strings, f->file));
    ar_sheet_integer(sheet, f->first_line);
}

void ar_sheet_rank(struct ar_sheet *sheet, const struct ar_profile *p, uint32_t process)
{
    if (process >= p->n_processes || p->processes[process].world_rank == AR_RANK_NONE)
        ar_sheet_nothing(sheet);
    else
        ar_sheet_integer(sheet, p->processes[process].world_rank);
}

void ar_sheet_spread(struct ar_sheet *sheet, const struct ar_profile *p, const struct ar_spread *s)
{
    ar_sheet_number(sheet, s->mean);
    ar_sheet_number(sheet, s->sd);
    ar_sheet_integer(sheet, s->min);
    ar_sheet_rank(sheet, p, s->min_process);
    ar_sheet_integer(sheet, s->max);
    ar_sheet_rank(sheet, p, s->max_process);
    ar_sheet_doubt(sheet, s->doubt, p->n_roots);
}

void ar_sheet_doubt(struct ar_sheet *sheet, struct ar_doubt doubt, size_t n_ranks)
{
    double error_ns = ar_doubt_error(doubt, n_ranks);

    ar_sheet_integer(sheet, (doubt.marks & AR_MARK_ESTIMATED) != 0);
    if (isnan(error_ns))
        ar_sheet_nothing(sheet);
    else
        ar_sheet_number(sheet, error_ns);
}

void ar_sheet_end_row(struct ar_sheet *sheet)
{
    ar_bytes_u8(&sheet->out, '\n');
    sheet->needs_comma = false;
}

int ar_sheet_print(struct ar_sheet *sheet)
{
    int status = sheet->out.bad ? ar_complain("out of memory") : ar_write_output("-", &sheet->out);

    ar_bytes_free(&sheet->out);
    return status;
}
