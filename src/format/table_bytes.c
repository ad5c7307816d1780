// SPDX-License-Identifier: BSD-3-Clause
/* Tables as a section of a run file: see table.h, and docs/file-format.md. */
#include "format/table_rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---------------------------------------------------------------------------------- */

void ar_table_kind_encode(const struct ar_table_kind *kind, struct ar_bytes *out)
{
    ar_bytes_text(out, kind->name);
    ar_bytes_varint(out, kind->n_columns);
    for (size_t c = 0; c < kind->n_columns; c++) {
        const struct ar_column *column = &kind->columns[c];

        ar_bytes_text(out, column->name);
        ar_bytes_text(out, column->unit);
        ar_bytes_u8(out, column->role);
        ar_bytes_u8(out, column->combine);
        ar_bytes_u8(out, column->flags);
        ar_bytes_u8(out, column->shift);
    }
}

void ar_table_encode(const struct ar_table *table, struct ar_bytes *out)
{
    ar_table_kind_encode(table->kind, out);
    ar_bytes_varint(out, table->n);
    for (size_t c = 0; c < table->kind->n_columns; c++)
        ar_column_put(&table->kind->columns[c], ar_table_place(table, 0, c), out);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static char *get_text(struct ar_cursor *in)
{
    size_t n_bytes;
    const char *text = ar_cursor_string(in, &n_bytes);
    char *copy = in->bad ? NULL : strndup(text, n_bytes);

    if (!copy)
        in->bad = true;
    return copy;
}

/* Only keys refer to something; and the first of them alone is in order by itself. */
static bool is_sound(const struct ar_column *column, bool is_key, bool is_first)
{
    return column->role < AR_N_ROLES && column->combine < AR_N_COMBINES &&
           !(column->flags & ~AR_COLUMN_FLAGS) && (is_key || column->role == AR_ROLE_NUMBER) &&
           (is_first || !(column->flags & AR_COLUMN_STEPS)) &&
           !(is_key && column->flags & AR_COLUMN_PLAIN) && !(column->shift && !is_key);
}

static void get_columns(struct ar_table_kind *kind, struct ar_column *columns, struct ar_cursor *in)
{
    for (size_t c = 0; c < kind->n_columns && !in->bad; c++) {
        columns[c].name = get_text(in);
        columns[c].unit = get_text(in);
        columns[c].role = ar_cursor_u8(in);
        columns[c].combine = ar_cursor_u8(in);
        columns[c].flags = ar_cursor_u8(in);
        columns[c].shift = ar_cursor_u8(in);

        bool is_key = columns[c].flags & AR_COLUMN_KEY;

        in->bad = in->bad || (is_key && kind->n_keys < c) || !is_sound(&columns[c], is_key, c == 0);
        kind->n_keys += is_key;
    }
    in->bad = in->bad || !kind->n_keys;
}

struct ar_table_kind *ar_table_kind_decode(struct ar_cursor *in)
{
    char *name = get_text(in);
    uint32_t n = ar_cursor_count(in, 6);
    struct ar_table_kind *kind = calloc(1, sizeof *kind);
    struct ar_column *columns = calloc(AR_MAX_TABLE_COLUMNS, sizeof *columns);

    if (!name || !kind || !columns || in->bad || n > AR_MAX_TABLE_COLUMNS) {
        free(name);
        free(kind);
        free(columns);
        in->bad = true;
        return NULL;
    }
    *kind =
        (struct ar_table_kind){.name = name, .columns = columns, .n_columns = n, .is_owned = true};
    get_columns(kind, columns, in);
    if (!in->bad)
        return kind;
    ar_table_kind_free(kind);
    return NULL;
}

static size_t least_row_bytes(const struct ar_table_kind *kind, size_t n_columns)
{
    size_t n = 0;

    for (size_t c = 0; c < n_columns; c++)
        n += ar_column_least(&kind->columns[c]);
    return n;
}

void ar_table_decode(struct ar_table *table, const struct ar_table_kind *kind, size_t n_columns,
                     struct ar_cursor *in, const struct ar_role_limits *limits)
{
    size_t n = ar_cursor_count(in, least_row_bytes(kind, n_columns));

    ar_table_be(table, kind);
    table->rows = in->bad ? NULL : calloc(n ? n : 1, table->row_bytes);
    if (!table->rows) {
        in->bad = true;
        return;
    }
    table->n = table->cap = n;
    for (size_t c = 0; c < n_columns; c++)
        ar_column_get(&kind->columns[c], ar_table_place(table, 0, c), in, limits);
    if (kind->complete && n_columns < kind->n_columns)
        kind->complete(table->rows, n, n_columns);
    in->bad = in->bad || !ar_table_is_sorted(table);
}
