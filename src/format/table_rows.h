// SPDX-License-Identifier: BSD-3-Clause
/* table_rows: where the columns of a table lie in memory; for table.c and table_bytes.c. */
#pragma once

#include "format/table.h"

/* Keys are filled up to 64 bits, as a compiler does. */
static inline size_t ar_table_key_bytes(const struct ar_table_kind *kind)
{
    return (kind->n_keys * sizeof(uint32_t) + 7) & ~(size_t)7;
}

static inline size_t ar_table_row_bytes(const struct ar_table_kind *kind)
{
    return ar_table_key_bytes(kind) + (kind->n_columns - kind->n_keys) * sizeof(uint64_t);
}

static inline uint32_t *ar_table_keys(const struct ar_table *table, size_t row)
{
    return ar_table_row(table, row);
}

static inline uint64_t *ar_table_values(const struct ar_table *table, size_t row)
{
    return (uint64_t *)((char *)ar_table_row(table, row) + ar_table_key_bytes(table->kind));
}

/* Of a column, from a row on. */
static inline struct ar_column_place ar_table_place(const struct ar_table *table, size_t first,
                                                    size_t column)
{
    const struct ar_table_kind *kind = table->kind;
    bool is_key = column < kind->n_keys;
    size_t offset = is_key ? column * sizeof(uint32_t)
                           : ar_table_key_bytes(kind) + (column - kind->n_keys) * sizeof(uint64_t);

    return (struct ar_column_place){
        .at = table->rows ? (char *)ar_table_row(table, first) + offset : NULL,
        .step = table->row_bytes,
        .n = table->n - first,
        .n_bytes = is_key ? sizeof(uint32_t) : sizeof(uint64_t),
    };
}
