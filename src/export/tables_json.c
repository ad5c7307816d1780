// SPDX-License-Identifier: BSD-3-Clause
#include "export/tables_json.h"

#include "run/other_tables.h"

#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 64

/* ---- a table ---------------------------------------------------------------------------------- */

/* Keys of all columns, made once a table. */
struct keys {
    char (*groups)[KEY_BYTES], (*names)[KEY_BYTES];
};

static enum ar_status make_keys(struct keys *keys, const struct ar_shown_table *table)
{
    keys->groups = malloc((table->n_columns + 1) * sizeof *keys->groups);
    keys->names = malloc((table->n_columns + 1) * sizeof *keys->names);
    if (!keys->groups || !keys->names)
        return AR_NOMEM;
    for (size_t i = 0; i < table->n_columns; i++)
        ar_shown_keys(table, i, keys->groups[i], keys->names[i], KEY_BYTES);
    return AR_OK;
}

static void put_ranks(struct ar_json *j, const char *key, struct ar_rank_list list)
{
    ar_json_open(j, key, '[');
    for (size_t i = 0; i < list.n; i++)
        ar_json_integer(j, NULL, list.ranks[i]);
    ar_json_close(j, ']');
}

static void put_cell(struct ar_json *j, const char *key, const struct ar_shown_column *column,
                     union ar_cell cell)
{
    switch (column->type) {
    case AR_CELL_INTEGER:
        if (column->is_optional && cell.integer == -1)
            ar_json_null(j, key);
        else
            ar_json_signed(j, key, cell.integer);
        break;
    case AR_CELL_REAL:
        ar_json_number(j, key, cell.real);
        break;
    case AR_CELL_BOOL:
        ar_json_bool(j, key, cell.boolean);
        break;
    case AR_CELL_TEXT:
        if (column->is_optional && !cell.text.n_bytes)
            ar_json_null(j, key);
        else
            ar_json_text(j, key, cell.text.text);
        break;
    case AR_CELL_RANKS:
        put_ranks(j, key, cell.ranks);
        break;
    }
}

/* Columns of a group stand together. */
static void put_row(struct ar_json *j, const struct ar_subject *of,
                    const struct ar_shown_table *table, const struct keys *keys, size_t row)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        bool is_first =
            *keys->groups[i] && (i == 0 || strcmp(keys->groups[i], keys->groups[i - 1]) != 0);
        bool is_last = *keys->groups[i] && (i + 1 == table->n_columns ||
                                            strcmp(keys->groups[i], keys->groups[i + 1]) != 0);

        if (is_first)
            ar_json_open(j, keys->groups[i], '{');
        put_cell(j, keys->names[i], &table->columns[i], table->cell(of, i, row));
        if (is_last)
            ar_json_close(j, '}');
    }
}

static void put_rows(struct ar_json *j, const struct ar_subject *of,
                     const struct ar_shown_table *table, const struct keys *keys,
                     const struct ar_shown_rows *rows)
{
    j->needs_line = true;
    if (table->is_single && rows->n == 0) {
        ar_json_null(j, table->name);
        return;
    }
    if (!table->is_single)
        ar_json_open(j, table->name, '[');
    for (size_t i = 0; i < rows->n; i++) {
        j->needs_line = true;
        ar_json_open(j, table->is_single ? table->name : NULL, '{');
        put_row(j, of, table, keys, ar_shown_row(rows, i));
        ar_json_close(j, '}');
    }
    if (!table->is_single)
        ar_json_close(j, ']');
}

static enum ar_status put_table(struct ar_json *j, const struct ar_subject *of,
                                const struct ar_shown_table *table,
                                const struct ar_shown_rows *rows)
{
    struct ar_shown_rows all;
    struct keys keys = {0};
    enum ar_status status = ar_shown_prepare(table, of, &all);

    if (status == AR_OK)
        status = make_keys(&keys, table);
    if (status == AR_OK) {
        j->is_flat = true;
        put_rows(j, of, table, &keys, rows ? rows : &all);
        j->is_flat = false;
    }
    free(keys.groups);
    free(keys.names);
    return status;
}

enum ar_status ar_json_table(struct ar_json *j, const struct ar_subject *of, const char *name,
                             const struct ar_shown_rows *rows)
{
    return put_table(j, of, ar_shown_find(name), rows);
}

enum ar_status ar_json_tables(struct ar_json *j, const struct ar_subject *of,
                              const char *const *names)
{
    enum ar_status status = AR_OK;

    for (; *names && status == AR_OK; names++)
        status = ar_json_table(j, of, *names, NULL);
    return status;
}

enum ar_status ar_json_other_tables(struct ar_json *j, struct ar_run *run)
{
    size_t n;
    const struct ar_other_table *others = ar_run_other_tables(run, &n);
    enum ar_status status = others ? AR_OK : AR_NOMEM;

    ar_json_open(j, "other_tables", '{');
    for (size_t i = 0; i < n && status == AR_OK; i++)
        status = put_table(j, &others[i].subject, &others[i].shown, NULL);
    ar_json_close(j, '}');
    return status;
}

/* ---- around tables ---------------------------------------------------------------------------- */

void ar_json_begin(struct ar_json *j, const char *command)
{
    ar_json_open(j, NULL, '{');
    ar_json_integer(j, "schema", 2);
    ar_json_text(j, "command", command);
}

void ar_json_end(struct ar_json *j)
{
    ar_json_close(j, '}');
    ar_bytes_u8(j->out, '\n');
}

/* Ranks may differ in a fact, but an object has a key once: the first rank's. */
void ar_json_facts(struct ar_json *j, const char *key, const struct ar_profile *p)
{
    bool *is_there = calloc(p->strings.n_strings + 1, sizeof *is_there); /* by key */

    ar_json_open(j, key, '{');
    if (!is_there)
        j->out->bad = true;
    for (size_t i = 0; is_there && i < p->n_facts; i++) {
        const struct ar_fact *fact = &p->facts[i];

        if (!is_there[fact->key])
            ar_json_text(j, ar_strtab_text(&p->strings, fact->key),
                         ar_strtab_text(&p->strings, fact->value));
        is_there[fact->key] = true;
    }
    ar_json_close(j, '}');
    free(is_there);
}

static void put_list(struct ar_json *j, const char *key, const struct ar_words *words)
{
    ar_json_open(j, key, '[');
    for (size_t i = 0; i < words->n; i++)
        ar_json_text(j, NULL, words->items[i]);
    ar_json_close(j, ']');
}

static void put_text(struct ar_json *j, const char *key, const char *text)
{
    if (text)
        ar_json_text(j, key, text);
    else
        ar_json_null(j, key);
}

void ar_json_selection(struct ar_json *j, const struct ar_selection *s)
{
    if (ar_selection_is_all(s)) {
        ar_json_null(j, "selection");
        return;
    }
    ar_json_open(j, "selection", '{');
    put_text(j, "ranks", s->ranks);
    put_text(j, "thread", s->thread);
    put_list(j, "regions", &s->regions);
    put_list(j, "include", &s->include);
    put_list(j, "exclude", &s->exclude);
    ar_json_close(j, '}');
}

void ar_json_about(struct ar_json *j, struct ar_run *run)
{
    static const struct ar_selection all = {0};
    const struct ar_selection *selection = ar_run_choice(run)->selection;

    ar_json_facts(j, "facts", ar_run_profile(run, AR_FORM_RECORDED));
    ar_json_selection(j, selection ? selection : &all);
}
