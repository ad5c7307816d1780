// SPDX-License-Identifier: BSD-3-Clause
#include "export/tables_csv.h"

#include "analysis/imbalance.h"

#include <math.h>
#include <string.h>

#define NAME_BYTES 64
#define RATIO_DIGITS 6

static void put_names(struct ar_csv *csv, const struct ar_shown_table *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        char name[NAME_BYTES];

        ar_shown_name(&table->columns[i], AR_IN_NS, name, sizeof name);
        ar_csv_text(csv, name);
    }
    ar_csv_end_row(csv);
}

/* Whole numbers are exact in a double up to here. */
#define MOST_EXACT 9007199254740992.0

static bool is_whole(double value)
{
    return value == floor(value) && fabs(value) < MOST_EXACT;
}

/* Nanoseconds and bytes are whole numbers. */
static void put_real(struct ar_csv *csv, double value, const char *unit)
{
    if (isnan(value))
        ar_csv_nothing(csv);
    else if (strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0 || is_whole(value))
        ar_csv_number(csv, value);
    else
        ar_csv_ratio(csv, value, RATIO_DIGITS);
}

static void put_ranks(struct ar_csv *csv, struct ar_rank_list list)
{
    struct ar_bytes text = {0};

    ar_rank_ranges_text(&text, list.ranks, list.n, (struct ar_range_style){0});
    ar_bytes_u8(&text, 0);
    csv->out.bad = csv->out.bad || text.bad;
    ar_csv_text(csv, text.bad ? "" : (const char *)text.data);
    ar_bytes_free(&text);
}

static void put_cell(struct ar_csv *csv, const struct ar_shown_column *column, union ar_cell cell)
{
    switch (column->type) {
    case AR_CELL_INTEGER:
        if (column->is_optional && cell.integer == -1)
            ar_csv_nothing(csv);
        else
            ar_csv_integer(csv, cell.integer);
        break;
    case AR_CELL_REAL:
        put_real(csv, cell.real, column->unit);
        break;
    case AR_CELL_BOOL:
        ar_csv_integer(csv, cell.boolean);
        break;
    case AR_CELL_TEXT:
        ar_csv_text(csv, cell.text.text ? cell.text.text : "");
        break;
    case AR_CELL_RANKS:
        put_ranks(csv, cell.ranks);
        break;
    }
}

enum ar_status ar_csv_table(struct ar_csv *csv, const struct ar_subject *of, const char *name,
                            const struct ar_shown_rows *rows)
{
    const struct ar_shown_table *table = ar_shown_find(name);
    struct ar_shown_rows all;

    if (ar_shown_prepare(table, of, &all) < 0)
        return AR_NOMEM;
    if (!rows)
        rows = &all;
    put_names(csv, table);
    for (size_t i = 0; i < rows->n; i++) {
        for (size_t column = 0; column < table->n_columns; column++)
            put_cell(csv, &table->columns[column], table->cell(of, column, ar_shown_row(rows, i)));
        ar_csv_end_row(csv);
    }
    return AR_OK;
}
