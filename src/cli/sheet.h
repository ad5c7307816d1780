// SPDX-License-Identifier: BSD-3-Clause
/*
 * sheet: a table as comma-separated values, as RFC 4180 has them but for line ends, which are plain.
 *
 *     struct ar_sheet sheet = {0};
 *     ar_sheet_head(&sheet, "function,calls");
 *     ar_sheet_text(&sheet, "MPI_Send");
 *     ar_sheet_integer(&sheet, 3);
 *     ar_sheet_end_row(&sheet);
 *     return ar_sheet_print(&sheet);
 */
#pragma once

#include "base/bytes.h"

struct ar_sheet {
    struct ar_bytes out;
    bool needs_comma;
};

void ar_sheet_head(struct ar_sheet *sheet, const char *names);
void ar_sheet_text(struct ar_sheet *sheet, const char *text);
void ar_sheet_integer(struct ar_sheet *sheet, uint64_t value);
void ar_sheet_number(struct ar_sheet *sheet, double value);
void ar_sheet_nothing(struct ar_sheet *sheet); /* a cell that is empty */
void ar_sheet_end_row(struct ar_sheet *sheet);
/* To standard output; frees it, and returns an exit status. */
int ar_sheet_print(struct ar_sheet *sheet);
