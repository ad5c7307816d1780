// SPDX-License-Identifier: BSD-3-Clause
/*
 * sheet: a table as comma-separated values, as RFC 4180 has them but for line ends, which are plain.
 *
 * Spreadsheets and terminals show it. So of a text only characters that may be shown are in it
 * (base/text.h), and no text is taken for a formula; numbers are written as they are.
 *
 *     struct ar_sheet sheet = {0};
 *     ar_sheet_head(&sheet, "function,calls");
 *     ar_sheet_text(&sheet, "MPI_Send");
 *     ar_sheet_integer(&sheet, 3);
 *     ar_sheet_end_row(&sheet);
 *     return ar_sheet_print(&sheet);
 */
#pragma once

#include "analysis/totals.h"

struct ar_sheet {
    struct ar_bytes out;
    bool needs_comma;
};

void ar_sheet_head(struct ar_sheet *sheet, const char *names);
void ar_sheet_text(struct ar_sheet *sheet, const char *text);
void ar_sheet_integer(struct ar_sheet *sheet, uint64_t value);
void ar_sheet_number(struct ar_sheet *sheet, double value);
void ar_sheet_ratio(struct ar_sheet *sheet, double value, int n_digits);
void ar_sheet_nothing(struct ar_sheet *sheet); /* a cell that is empty */
/* What a function is, a rank or nothing where there is none, and a value over ranks; in nanoseconds. */
#define AR_SHEET_FUNCTION "name,kind,file,line"
#define AR_SHEET_SPREAD(of)                                                                        \
    of "_mean_ns," of "_sd_ns," of "_min_ns," of "_min_rank," of "_max_ns," of "_max_rank," of     \
       "_estimated," of "_error_ns"
void ar_sheet_function(struct ar_sheet *sheet, const struct ar_profile *p, uint32_t function);
void ar_sheet_rank(struct ar_sheet *sheet, const struct ar_profile *p, uint32_t process);
void ar_sheet_spread(struct ar_sheet *sheet, const struct ar_profile *p, const struct ar_spread *s);
/* Whether it is estimated, and the standard error of its mean: nothing where that is not known. */
void ar_sheet_doubt(struct ar_sheet *sheet, struct ar_doubt doubt, size_t n_ranks);
void ar_sheet_end_row(struct ar_sheet *sheet);
/* To standard output; frees it, and returns an exit status. */
int ar_sheet_print(struct ar_sheet *sheet);
