// SPDX-License-Identifier: BSD-3-Clause
#include "run/other_tables.h"

#include "base/arena.h"
#include "base/text.h"
#include "format/table_rows.h"
#include "run/cells.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 48   /* longer names are cut; writers have room for this one with a unit */
#define MOST_PER_ROLE 4 /* columns that one stored column becomes */

/* ---- how a stored column is shown ------------------------------------------------------------- */

enum what {
    SHOWN_NUMBER, /* as it is, or the number of what it refers to */
    SHOWN_STRING,
    SHOWN_FUNCTION_NAME,
    SHOWN_NODE_FUNCTION,
    SHOWN_NODE_FILE,
    SHOWN_NODE_LINE,
    SHOWN_THREAD_RANK,
    SHOWN_PROCESS_RANK,
    SHOWN_PROCESS_PID,
};

struct ar_other_cells {
    uint32_t stored; /* number of the stored column */
    enum what what;
};

/* Of a role: the column itself, then those that are beside it. */
struct part {
    const char *name; /* NULL: that of the stored column */
    enum what what;
    enum ar_cell_type type;
    bool is_optional; /* even where the stored column is not */
};

struct role {
    const char
        *plain_name; /* a stored column of this name has parts without it before their names */
    const char *other_name; /* another such name; NULL: there is none */
    struct part parts[MOST_PER_ROLE];
    size_t n_parts;
};

#define ITSELF                                                                                     \
    {                                                                                              \
        NULL, SHOWN_NUMBER, AR_CELL_INTEGER, false                                                 \
    }

static const struct role roles[AR_N_ROLES] = {
    [AR_ROLE_NUMBER] = {"", NULL, {ITSELF}, 1},
    [AR_ROLE_STRING] = {"", NULL, {{NULL, SHOWN_STRING, AR_CELL_TEXT, true}}, 1},
    [AR_ROLE_COMM] = {"communicator", "comm", {ITSELF}, 1},
    [AR_ROLE_FUNCTION] = {"",
                          NULL,
                          {{NULL, SHOWN_FUNCTION_NAME, AR_CELL_TEXT, true},
                           {"id", SHOWN_NUMBER, AR_CELL_INTEGER, false}},
                          2},
    [AR_ROLE_NODE] = {"node",
                      NULL,
                      {ITSELF,
                       {"function", SHOWN_NODE_FUNCTION, AR_CELL_TEXT, true},
                       {"file", SHOWN_NODE_FILE, AR_CELL_TEXT, true},
                       {"line", SHOWN_NODE_LINE, AR_CELL_INTEGER, false}},
                      4},
    [AR_ROLE_LOCATION] = {"thread",
                          "location",
                          {ITSELF, {"rank", SHOWN_THREAD_RANK, AR_CELL_INTEGER, true}},
                          2},
    [AR_ROLE_PROCESS] = {"process",
                         NULL,
                         {ITSELF,
                          {"rank", SHOWN_PROCESS_RANK, AR_CELL_INTEGER, true},
                          {"pid", SHOWN_PROCESS_PID, AR_CELL_INTEGER, true}},
                         3},
};

/* ---- cells ------------------------------------------------------------------------------------ */

static uint64_t number_in(const struct ar_table *table, size_t column, size_t row)
{
    struct ar_column_place place = ar_table_place(table, row, column);
    uint32_t key;
    uint64_t value;

    if (!place.at) /* it has no rows */
        return 0;
    if (place.n_bytes == sizeof key) {
        memcpy(&key, place.at, sizeof key);
        return key;
    }
    memcpy(&value, place.at, sizeof value);
    return value;
}

/* None: 0 of an optional column, and the largest numbers of one that is stored with a shift. */
static bool is_none(const struct ar_column *column, uint64_t number)
{
    return ((column->flags & AR_COLUMN_OPTIONAL) && number == 0) ||
           (column->shift && (uint32_t)(number + column->shift) < column->shift);
}

static bool may_be_none(const struct ar_column *column)
{
    return (column->flags & AR_COLUMN_OPTIONAL) || column->shift;
}

static union ar_cell look_up(const struct ar_form *f, enum what what, uint32_t id)
{
    const struct ar_profile *p = f->p;
    union ar_cell cell = {0};

    switch (what) {
    case SHOWN_NUMBER:
        cell.integer = id;
        break;
    case SHOWN_STRING:
        cell.text = text_of(p, id);
        break;
    case SHOWN_FUNCTION_NAME:
        cell.text = text_of(p, p->functions[id].name);
        break;
    case SHOWN_NODE_FUNCTION:
        cell.text = text_of(p, function_at(p, id)->name);
        break;
    case SHOWN_NODE_FILE:
        cell.text = file_of(f, id);
        break;
    case SHOWN_NODE_LINE:
        cell.integer = line_of(f, id);
        break;
    case SHOWN_THREAD_RANK:
        cell.integer = rank_of(p, ar_profile_root(p, id));
        break;
    case SHOWN_PROCESS_RANK:
        cell.integer = rank_of(p, id);
        break;
    case SHOWN_PROCESS_PID:
        cell.integer = p->processes[id].pid;
        break;
    }
    return cell;
}

static union ar_cell other_cell(const struct ar_subject *of, size_t column, size_t row)
{
    const struct ar_other_table *table = of->other;
    const struct ar_other_cells *cells = &table->cells[column];
    const struct ar_column *stored = &table->stored->kind->columns[cells->stored];
    uint64_t number = number_in(table->stored, cells->stored, row);
    bool is_shifted = stored->flags & AR_COLUMN_OPTIONAL;
    union ar_cell cell = {0};

    if (is_none(stored, number) && table->shown.columns[column].type == AR_CELL_TEXT)
        cell.text = plain_text("");
    else if (is_none(stored, number))
        cell.integer = -1;
    else if (stored->role == AR_ROLE_NUMBER)
        cell.integer = (int64_t)(number - is_shifted);
    else
        cell = look_up(of->run->shown, cells->what, (uint32_t)(number - is_shifted));
    return cell;
}

/* Totals put the rows of tables in order. */
static enum ar_status prepare_other(const struct ar_subject *of)
{
    enum ar_tree_form form = of->run->choice.form;

    return ar_run_totals(of->run, form) && ar_run_places(of->run, form) ? AR_OK : AR_NOMEM;
}

static size_t n_other(const struct ar_subject *of)
{
    return of->other->stored->n;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* Names come from a file: characters that may not be shown become '?'. NULL: no memory. */
static char *keep_name(struct ar_arena *arena, const char *prefix, const char *name, int number)
{
    char text[NAME_BYTES], end[16] = "";
    size_t n_end, n;

    if (number > 1)
        snprintf(end, sizeof end, "_%d", number);
    n_end = strlen(end);
    snprintf(text, sizeof text - n_end, "%s%s%s", prefix, *prefix && *name ? "_" : "", name);
    n = ar_text_make_displayable(text, strlen(text));
    memcpy(text + n, end, n_end + 1);
    return ar_arena_copy(arena, text, n + n_end);
}

/* With units, as writers name them. */
static bool are_same(const struct ar_shown_column *a, const struct ar_shown_column *b)
{
    char names[2][NAME_BYTES + 8];

    for (enum ar_time_unit unit = AR_IN_NS; unit <= AR_IN_SECONDS; unit++) {
        ar_shown_name(a, unit, names[0], sizeof names[0]);
        ar_shown_name(b, unit, names[1], sizeof names[1]);
        if (strcmp(names[0], names[1]) == 0)
            return true;
    }
    return false;
}

/* A unit that this program does not have is named in the help only. */
static const char *unit_of(const char *stored)
{
    for (size_t i = 0; ar_shown_units[i]; i++)
        if (strcmp(ar_shown_units[i], stored) == 0)
            return ar_shown_units[i];
    return strcmp(stored, "B") == 0 ? "bytes" : "";
}

/* ---- making them ------------------------------------------------------------------------------ */

/* A table that is being made. */
struct making {
    struct ar_arena *arena;
    const struct ar_table_kind *kind;
    struct ar_shown_column *columns;
    struct ar_other_cells *cells;
    size_t n;
};

static bool has_column(const struct making *m, const struct ar_shown_column *column)
{
    for (size_t i = 0; i < m->n; i++)
        if (are_same(&m->columns[i], column))
            return true;
    return false;
}

/* A part needs its stored column before its name: stored columns keep theirs, also those that come later. */
static bool is_taken(const struct making *m, const char *name)
{
    for (size_t i = 0; i < m->kind->n_columns; i++)
        if (strcmp(m->kind->columns[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->columns[i].name, name) == 0)
            return true;
    return false;
}

/* Gives it a name that no other column has. */
static enum ar_status name_column(const struct making *m, const struct ar_column *stored,
                                  const struct part *part, struct ar_shown_column *column)
{
    const struct role *role = &roles[stored->role];
    bool is_plain = strcmp(stored->name, role->plain_name) == 0 ||
                    (role->other_name && strcmp(stored->name, role->other_name) == 0);
    const char *prefix = stored->name, *name = part->name;

    if (!name) {
        prefix = "";
        name = is_plain ? role->plain_name : stored->name;
    } else if (is_plain && !is_taken(m, name)) {
        prefix = "";
    }
    for (int number = 1; !column->name || has_column(m, column); number++) {
        column->name = keep_name(m->arena, prefix, name, number);
        if (!column->name)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_column(struct making *m, uint32_t number, const struct part *part)
{
    const struct ar_column *stored = &m->kind->columns[number];
    struct ar_shown_column column = {.unit = stored->role == AR_ROLE_NUMBER ? unit_of(stored->unit)
                                                                            : "",
                                     .help = stored->unit,
                                     .type = part->type,
                                     .is_optional = part->is_optional || may_be_none(stored)};

    if (name_column(m, stored, part, &column) < 0)
        return AR_NOMEM;
    m->columns[m->n] = column;
    m->cells[m->n++] = (struct ar_other_cells){number, part->what};
    return AR_OK;
}

static enum ar_status make_columns(struct making *m, const struct ar_table_kind *kind)
{
    enum ar_status status = AR_OK;
    size_t n_most = MOST_PER_ROLE * kind->n_columns + 1;

    m->kind = kind;
    m->columns = ar_arena_alloc(m->arena, n_most * sizeof *m->columns);
    m->cells = ar_arena_alloc(m->arena, n_most * sizeof *m->cells);
    if (!m->columns || !m->cells)
        return AR_NOMEM;
    for (uint32_t i = 0; i < kind->n_columns; i++)
        for (size_t k = 0; k < roles[kind->columns[i].role].n_parts && status == AR_OK; k++)
            status = add_column(m, i, &roles[kind->columns[i].role].parts[k]);
    return status;
}

static bool has_table(const struct ar_form *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(f->others[i].shown.name, name) == 0)
            return true;
    return ar_shown_find(name) != NULL;
}

/* A stored table may have the name of one of ours, with other keys. */
static char *name_table(struct ar_form *f, size_t n, const char *stored)
{
    char *made = NULL;

    for (int number = 1; !made || has_table(f, n, made); number++) {
        made = keep_name(&f->other_names, "", stored, number);
        if (!made)
            return NULL;
    }
    return made;
}

static enum ar_status make_other(struct ar_run *run, struct ar_form *f, size_t i)
{
    const struct ar_table *stored = &f->p->tables[AR_N_TABLES + i];
    struct ar_other_table *table = &f->others[i];
    struct making m = {.arena = &f->other_names};
    char *name = name_table(f, i, stored->kind->name);

    if (!name || make_columns(&m, stored->kind) < 0)
        return AR_NOMEM;
    *table = (struct ar_other_table){
        .shown = {.name = name,
                  .key = "",
                  .help = "of a later version",
                  .columns = m.columns,
                  .n_columns = m.n,
                  .prepare = prepare_other,
                  .n_rows = n_other,
                  .cell = other_cell},
        .subject = {.run = run, .other = table},
        .stored = stored,
        .cells = m.cells,
    };
    return AR_OK;
}

static enum ar_status make_others(struct ar_run *run, struct ar_form *f)
{
    size_t n = f->p->n_other_tables;
    enum ar_status status = AR_OK;

    f->others = calloc(n + 1, sizeof *f->others);
    if (!f->others)
        return AR_NOMEM;
    for (size_t i = 0; i < n && status == AR_OK; i++)
        status = make_other(run, f, i);
    if (status < 0) {
        ar_arena_free(&f->other_names);
        free(f->others);
        f->others = NULL;
    }
    return status;
}

const struct ar_other_table *ar_run_other_tables(struct ar_run *run, size_t *n)
{
    struct ar_form *f = ar_run_form(run, run->choice.form);

    *n = 0;
    if (!f || (!f->others && make_others(run, f) < 0))
        return NULL;
    *n = f->p->n_other_tables;
    return f->others;
}

const struct ar_other_table *ar_run_other_table(struct ar_run *run, const char *name)
{
    size_t n;
    const struct ar_other_table *others = ar_run_other_tables(run, &n);

    for (size_t i = 0; others && i < n; i++)
        if (strcmp(others[i].shown.name, name) == 0)
            return &others[i];
    return NULL;
}
