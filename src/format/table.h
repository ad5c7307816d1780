// SPDX-License-Identifier: BSD-3-Clause
/*
 * table: rows of numbers whose columns say what they mean.
 *
 * A kind of table is described once, by its columns. Encoding, decoding, merging, renumbering, sorting, folding and selecting
 * are loops over that description. So a table that this program has never heard of is read with the description that its
 * file has, kept, renumbered when runs are merged, and written again; and so is a column that a later version has added
 * to one of ours.
 *
 * Keys come first, 32 bits each; values follow, 64 bits each. Tables of this program are arrays of a struct with that layout,
 * which code that looks at every row uses as it is. Keys never change; values are only added at the end. What a
 * later version has added lies behind the struct, so rows are `row_bytes` apart.
 *
 * Life cycle: ar_table_be gives a zeroed table its kind; ar_table_free. Threads: one owner.
 */
#pragma once

#include "base/strtab.h"
#include "format/column.h"

#define AR_MAX_TABLE_COLUMNS 32

struct ar_table_kind {
    const char *name;
    const struct ar_column *columns; /* keys first */
    size_t n_columns, n_keys;
    /* Of rows that a file of an earlier version has, with the first `n_columns` only: what the others are. NULL: 0. */
    void (*complete)(void *rows, size_t n, size_t n_columns);
    bool is_owned; /* by its table: it came with a file */
};

struct ar_table {
    const struct ar_table_kind *kind; /* NULL: it has never had a row */
    void *rows;
    size_t n, cap;
    size_t row_bytes; /* more than those of our struct where a file has more columns */
};

void ar_table_be(struct ar_table *table, const struct ar_table_kind *kind);
void ar_table_free(struct ar_table *table);
static inline void *ar_table_row(const struct ar_table *table, size_t row)
{
    return (char *)table->rows + row * table->row_bytes;
}
/* A row of our struct: further columns are 0. */
AR_MUST_CHECK enum ar_status ar_table_add(struct ar_table *table, const void *row, size_t n_bytes);
/* All rows of another one, whose kind is the same or extended by this one's, with their numbers replaced. */
AR_MUST_CHECK enum ar_status ar_table_append(struct ar_table *table, const struct ar_table *other,
                                             const struct ar_role_maps *maps);
void ar_table_renumber(struct ar_table *table, const struct ar_role_maps *maps);
/* In the order of their keys, with equal ones combined. */
void ar_table_sort(struct ar_table *table);
bool ar_table_is_sorted(const struct ar_table *table);

/* ---- kinds ------------------------------------------------------------------------------------ */

/* The same name and keys, and all values of the other, in its order. */
bool ar_table_kind_extends(const struct ar_table_kind *a, const struct ar_table_kind *b);
/* The same rows, with more columns, which are 0. */
AR_MUST_CHECK enum ar_status ar_table_widen(struct ar_table *table,
                                            const struct ar_table_kind *kind);
/* NULL: no memory. */
struct ar_table_kind *ar_table_kind_copy(const struct ar_table_kind *kind);
void ar_table_kind_free(const struct ar_table_kind *kind); /* if it is owned */

/* ---- as bytes: table_bytes.c ------------------------------------------------------------------ */

/* The description, then the columns. */
void ar_table_encode(const struct ar_table *table, struct ar_bytes *out);
/* The description alone. NULL: it cannot be one, and `in` is bad. */
void ar_table_kind_encode(const struct ar_table_kind *kind, struct ar_bytes *out);
struct ar_table_kind *ar_table_kind_decode(struct ar_cursor *in);
/* Its rows, of which the file has the first `n_columns`. The table is new. */
void ar_table_decode(struct ar_table *table, const struct ar_table_kind *kind, size_t n_columns,
                     struct ar_cursor *in, const struct ar_role_limits *limits);
