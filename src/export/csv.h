// SPDX-License-Identifier: BSD-3-Clause
/*
 * csv: a table as comma-separated values, as RFC 4180 has them but for line ends, which are plain.
 *
 * Spreadsheets and terminals show it. So of a text only characters that may be shown are in it
 * (base/text.h), and no text is taken for a formula; numbers are written as they are.
 *
 *     struct ar_csv csv = {0};
 *     ar_csv_head(&csv, "function,calls");
 *     ar_csv_text(&csv, "MPI_Send");
 *     ar_csv_integer(&csv, 3);
 *     ar_csv_end_row(&csv);
 */
#pragma once

#include "analysis/totals.h"

struct ar_csv {
    struct ar_bytes out;
    bool needs_comma;
};

void ar_csv_head(struct ar_csv *csv, const char *names);
void ar_csv_text(struct ar_csv *csv, const char *text);
void ar_csv_integer(struct ar_csv *csv, int64_t value);
void ar_csv_number(struct ar_csv *csv, double value);
void ar_csv_ratio(struct ar_csv *csv, double value, int n_digits);
void ar_csv_nothing(struct ar_csv *csv); /* a cell that is empty */
/* What a function is, and a value over ranks in nanoseconds: for rows that are no table of run/tables.h. */
#define AR_CSV_FUNCTION "name,kind,file,line"
#define AR_CSV_SPREAD(of)                                                                          \
    of "_ns," of "_mean_ns," of "_sd_ns," of "_min_ns," of "_min_rank," of "_max_ns," of           \
       "_max_rank," of "_estimated," of "_error_ns"
void ar_csv_function(struct ar_csv *csv, const struct ar_profile *p, uint32_t function);
void ar_csv_spread(struct ar_csv *csv, const struct ar_profile *p, const struct ar_spread *s);
/* Whether it is estimated, and the standard error of the sum divided by the ranks: nothing where that is not known. */
void ar_csv_doubt(struct ar_csv *csv, struct ar_doubt doubt, size_t n_ranks);
void ar_csv_end_row(struct ar_csv *csv);
