// SPDX-License-Identifier: BSD-3-Clause
#include "format/table.h"

#include "base/arena.h"
#include "base/idmap.h"
#include "format/table_rows.h"

#include <stdlib.h>
#include <string.h>

void ar_table_be(struct ar_table *table, const struct ar_table_kind *kind)
{
    table->kind = kind;
    table->row_bytes = ar_table_row_bytes(kind);
}

void ar_table_free(struct ar_table *table)
{
    free(table->rows);
    if (table->kind)
        ar_table_kind_free(table->kind);
    *table = (struct ar_table){0};
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void put_row(struct ar_table *table, const void *row, size_t n_bytes)
{
    char *at = ar_table_row(table, table->n++);

    memcpy(at, row, n_bytes);
    memset(at + n_bytes, 0, table->row_bytes - n_bytes);
}

enum ar_status ar_table_add(struct ar_table *table, const void *row, size_t n_bytes)
{
    if (ar_grow(&table->rows, &table->cap, table->n + 1, table->row_bytes) < 0)
        return AR_NOMEM;
    put_row(table, row, n_bytes);
    return AR_OK;
}

static void move_row(struct ar_table *table, size_t to, size_t from)
{
    if (to != from)
        memcpy(ar_table_row(table, to), ar_table_row(table, from), table->row_bytes);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

/* Those that have no number in a column. */
static void drop_rows(struct ar_table *table, size_t first, size_t column)
{
    size_t n = first;

    for (size_t i = first; i < table->n; i++)
        if (ar_table_keys(table, i)[column] != AR_NO_ID)
            move_row(table, n++, i);
    table->n = n;
}

static void renumber_from(struct ar_table *table, size_t first, const struct ar_role_maps *maps)
{
    for (size_t c = 0; c < table->kind->n_keys; c++)
        if (ar_column_map(&table->kind->columns[c], ar_table_place(table, first, c), maps))
            drop_rows(table, first, c);
}

void ar_table_renumber(struct ar_table *table, const struct ar_role_maps *maps)
{
    if (table->n)
        renumber_from(table, 0, maps);
}

enum ar_status ar_table_append(struct ar_table *table, const struct ar_table *other,
                               const struct ar_role_maps *maps)
{
    size_t n_bytes = table->row_bytes, first = table->n;

    if (!other->n)
        return AR_OK;
    if (ar_grow(&table->rows, &table->cap, first + other->n, n_bytes) < 0)
        return AR_NOMEM;
    if (other->row_bytes == n_bytes) {
        memcpy(ar_table_row(table, first), other->rows, other->n * n_bytes);
        table->n += other->n;
    } else {
        for (size_t i = 0; i < other->n; i++)
            put_row(table, ar_table_row(other, i), other->row_bytes);
    }
    renumber_from(table, first, maps);
    return AR_OK;
}

/* ---- order ------------------------------------------------------------------------------------ */

static int compare_keys(const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

#ifdef __wasm__
/* wasi-libc has no qsort_r. There are no threads either, so that a variable will do. */
static size_t n_keys_to_sort;

static int by_key(const void *a, const void *b)
{
    return compare_keys(a, b, n_keys_to_sort);
}

static void sort_rows(struct ar_table *table)
{
    n_keys_to_sort = table->kind->n_keys;
    qsort(table->rows, table->n, table->row_bytes, by_key);
}
#else
static int by_key(const void *a, const void *b, void *kind)
{
    return compare_keys(a, b, ((const struct ar_table_kind *)kind)->n_keys);
}

static void sort_rows(struct ar_table *table)
{
    qsort_r(table->rows, table->n, table->row_bytes, by_key, (void *)table->kind);
}
#endif

/* -1: before it, 0: the same. */
static int compare_rows(const struct ar_table *table, size_t a, size_t b)
{
    return compare_keys(ar_table_keys(table, a), ar_table_keys(table, b), table->kind->n_keys);
}

static void combine_rows(const struct ar_table *table, size_t to, size_t from)
{
    const struct ar_column *columns = table->kind->columns + table->kind->n_keys;
    size_t n = table->kind->n_columns - table->kind->n_keys;
    uint64_t *a = ar_table_values(table, to);
    const uint64_t *b = ar_table_values(table, from);

    for (size_t c = 0; c < n; c++)
        a[c] = ar_combine((enum ar_combine)columns[c].combine, a[c], b[c]);
}

/* As two call sites on one line, which are one node, and two handles that are one communicator. */
static void combine_equal(struct ar_table *table)
{
    size_t n = 0;

    for (size_t i = 0; i < table->n; i++)
        if (n && compare_rows(table, n - 1, i) == 0)
            combine_rows(table, n - 1, i);
        else
            move_row(table, n++, i);
    table->n = n;
}

static bool is_in_order(const struct ar_table *table, int most)
{
    for (size_t i = 1; i < table->n; i++)
        if (compare_rows(table, i - 1, i) > most)
            return false;
    return true;
}

bool ar_table_is_sorted(const struct ar_table *table)
{
    return is_in_order(table, -1);
}

/* What was in order before, as in a file that was read, is not sorted again. */
void ar_table_sort(struct ar_table *table)
{
    if (ar_table_is_sorted(table))
        return;
    if (!is_in_order(table, 0))
        sort_rows(table);
    combine_equal(table);
}

/* ---- kinds ------------------------------------------------------------------------------------ */

static bool same_column(const struct ar_column *a, const struct ar_column *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0 && a->role == b->role &&
           a->combine == b->combine && a->flags == b->flags && a->shift == b->shift;
}

bool ar_table_kind_extends(const struct ar_table_kind *a, const struct ar_table_kind *b)
{
    bool does =
        strcmp(a->name, b->name) == 0 && a->n_columns >= b->n_columns && a->n_keys == b->n_keys;

    for (size_t c = 0; does && c < b->n_columns; c++)
        does = same_column(&a->columns[c], &b->columns[c]);
    return does;
}

enum ar_status ar_table_widen(struct ar_table *table, const struct ar_table_kind *kind)
{
    struct ar_table wide = {0};
    const struct ar_table_kind *copy = ar_table_kind_copy(kind);

    if (!copy)
        return AR_NOMEM;
    ar_table_be(&wide, copy);
    if (ar_grow(&wide.rows, &wide.cap, table->n + 1, wide.row_bytes) < 0) {
        ar_table_free(&wide);
        return AR_NOMEM;
    }
    for (size_t i = 0; i < table->n; i++)
        put_row(&wide, ar_table_row(table, i), table->row_bytes);
    ar_table_free(table);
    *table = wide;
    return AR_OK;
}

void ar_table_kind_free(const struct ar_table_kind *kind)
{
    if (!kind->is_owned)
        return;
    for (size_t i = 0; kind->columns && i < kind->n_columns; i++) {
        free((char *)kind->columns[i].name);
        free((char *)kind->columns[i].unit);
    }
    free((struct ar_column *)kind->columns);
    free((char *)kind->name);
    free((struct ar_table_kind *)kind);
}

struct ar_table_kind *ar_table_kind_copy(const struct ar_table_kind *kind)
{
    struct ar_table_kind *copy = malloc(sizeof *copy);
    struct ar_column *columns = calloc(kind->n_columns, sizeof *columns);
    bool is_whole = copy && columns;

    if (!is_whole) {
        free(copy);
        free(columns);
        return NULL;
    }
    *copy = *kind;
    copy->is_owned = true;
    copy->complete = NULL; /* it is of all columns that ours has */
    copy->columns = columns;
    copy->name = strdup(kind->name);
    for (size_t i = 0; i < kind->n_columns; i++) {
        columns[i] = kind->columns[i];
        columns[i].name = strdup(kind->columns[i].name);
        columns[i].unit = strdup(kind->columns[i].unit);
        is_whole = is_whole && columns[i].name && columns[i].unit;
    }
    if (is_whole && copy->name)
        return copy;
    ar_table_kind_free(copy);
    return NULL;
}
