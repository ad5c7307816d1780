// SPDX-License-Identifier: BSD-3-Clause
/*
 * csv: a table as comma-separated values, as RFC 4180 has them but for line ends, which are plain.
 *
 * Spreadsheets and terminals show it. So of a text only characters that may be shown are in it
 * (base/text.h), and no text is taken for a formula; numbers are written as they are.
 *
 *     struct ar_csv csv = {0};
 *     ar_csv_text(&csv, "MPI_Send");
 *     ar_csv_integer(&csv, 3);
 *     ar_csv_end_row(&csv);
 */
#pragma once

#include "base/bytes.h"

struct ar_csv {
    struct ar_bytes out;
    bool needs_comma;
};

void ar_csv_text(struct ar_csv *csv, const char *text);
void ar_csv_integer(struct ar_csv *csv, int64_t value);
void ar_csv_number(struct ar_csv *csv, double value);
void ar_csv_ratio(struct ar_csv *csv, double value, int n_digits);
void ar_csv_nothing(struct ar_csv *csv); /* a cell that is empty */
void ar_csv_end_row(struct ar_csv *csv);
