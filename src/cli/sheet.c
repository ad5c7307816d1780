// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sheet.h"

#include "cli/screen.h"

#include <inttypes.h>
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

void ar_sheet_text(struct ar_sheet *sheet, const char *text)
{
    begin_cell(sheet);
    if (!strpbrk(text, ",\"\r\n")) {
        ar_bytes_put(&sheet->out, text, strlen(text));
        return;
    }
    ar_bytes_u8(&sheet->out, '"');
    for (; *text; text++) {
        if (*text == '"')
            ar_bytes_u8(&sheet->out, '"');
        ar_bytes_u8(&sheet->out, (uint8_t)*text);
    }
    ar_bytes_u8(&sheet->out, '"');
}

void ar_sheet_integer(struct ar_sheet *sheet, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    ar_sheet_text(sheet, text);
}

void ar_sheet_number(struct ar_sheet *sheet, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.0f", value);
    ar_sheet_text(sheet, text);
}

void ar_sheet_nothing(struct ar_sheet *sheet)
{
    begin_cell(sheet);
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
