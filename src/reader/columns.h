// SPDX-License-Identifier: BSD-3-Clause
/*
 * columns: a run as tables, whatever language they go to.
 *
 * A table is read row by row into cells, one for each of its columns. A new column is a line in
 * the list of its table in columns.c, and a line in docs/load.md.
 *
 *     const struct ar_shown_table *table = ar_shown_table_find("functions");
 *     union ar_cell cells[AR_MAX_SHOWN_COLUMNS];
 *     for (size_t row = 0; row < table->n_rows(&view); row++)
 *         table->read(&view, row, cells);
 *
 * Measured values by node and thread are too many for that: ar_measured_values and its fellows
 * write whole columns.
 */
#pragma once

#include "reader/view.h"

#define AR_MAX_SHOWN_COLUMNS 32

/* The letters are those of Python's array, struct and NumPy; a text is a list's. */
enum ar_cell_type {
    AR_CELL_INTEGER = 'q',
    AR_CELL_REAL = 'd',
    AR_CELL_BOOL = '?',
    AR_CELL_TEXT = 'U',
};

union ar_cell {
    int64_t integer;
    double real;
    bool boolean;
    struct ar_str text;
};

struct ar_shown_column {
    const char *name;
    enum ar_cell_type type;
};

struct ar_shown_table {
    const char *name;
    const struct ar_shown_column *columns;
    size_t n_columns;
    size_t (*n_rows)(const struct ar_view *v);
    void (*read)(const struct ar_view *v, uint32_t row, union ar_cell *cells);
};

/* NULL: there is none of that name. */
const struct ar_shown_table *ar_shown_table_find(const char *name);

/*
 * Everything measured for (node, location), by name: the metrics of the profile, where those in
 * nanoseconds become seconds, and self time.
 */
struct ar_measured {
    char name[32];
    enum ar_cell_type type; /* INTEGER or REAL */
    const struct ar_value *values;
    size_t n_values;
};

#define AR_N_MEASURED AR_N_METRICS
struct ar_measured ar_measured_get(const struct ar_view *v, size_t i);
void ar_measured_nodes(const struct ar_measured *m, uint32_t *out);
void ar_measured_locations(const struct ar_measured *m, uint32_t *out);
/* 8 bytes each: int64_t or double. */
void ar_measured_values(const struct ar_measured *m, void *out);
