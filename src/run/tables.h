// SPDX-License-Identifier: BSD-3-Clause
/*
 * tables: everything that is shown, as tables.
 *
 * A table has one name, one key, and one set of columns with units and help; JSON, CSV and `allranks.load` are writers
 * over them, so that a figure has one name everywhere. docs/tables.md is made from them (tools/gen_tables.py).
 * A new column is a line in the list of its table in tables_*.c.
 *
 * The subject of a table is the data that its cells are read from: most often a run; of some commands several runs that are
 * compared, a running job, or files that jobs have left (run/subjects.h). A caller passes the subject that the table names.
 *
 *     time            a group of columns over ranks: sum, mean, sd, min, min_rank, max, max_rank, estimated, error
 *     JSON            "time_ns": {"sum": 5, "mean": 2.5, …, "max_rank": 3}
 *     CSV             time_ns, time_mean_ns, …, time_max_rank: the sum has the name of the group
 *     load            time_s, time_mean_s, …, time_max_rank
 *
 * A value that is not there is -1 in optional integers, "" in optional texts, and no number in reals: null in JSON, and an
 * empty cell in CSV. Rows have numbers, by which cells are read; which of them are shown, and in which order, is the table's
 * (ar_shown_rows) or the caller's choice.
 *
 * Threads: as those of the run. Preparing fails without memory only; reading never does.
 *
 *     const struct ar_shown_table *table = ar_shown_find("functions");
 *     struct ar_shown_rows rows;
 *     if (ar_shown_prepare(table, ar_run_subject(run), &rows) < 0) ...
 *     for (size_t i = 0; i < rows.n; i++)
 *         table->cell(ar_run_subject(run), column, ar_shown_row(&rows, i)) …
 */
#pragma once

#include "run/run.h"

/* The letters are those of Python's array, struct and NumPy. */
enum ar_cell_type {
    AR_CELL_INTEGER = 'q',
    AR_CELL_REAL = 'd',
    AR_CELL_BOOL = '?',
    AR_CELL_TEXT = 'U',
    AR_CELL_RANKS = 'R', /* numbers of ranks in order; a text "0-3,7" where a cell is one value */
};

struct ar_rank_list {
    const uint32_t *ranks;
    size_t n;
};

union ar_cell {
    int64_t integer;
    double real;
    bool boolean;
    struct ar_str text;        /* ends in NUL, and stays where it is */
    struct ar_rank_list ranks; /* good until the next cell of the subject is read */
};

struct ar_shown_column {
    const char *name;  /* within its group: "mean" */
    const char *group; /* "time"; NULL: it is in none */
    const char *unit;  /* one of ar_shown_units */
    const char *help;
    enum ar_cell_type type;
    bool is_optional;
};

/* A table reads the member of its own kind; the other members may be NULL. */
struct ar_subject {
    struct ar_run *run;
    const struct ar_other_table *other; /* with `run`: a table that came with its file */
    struct ar_shown_diff *diff;
    const struct ar_shown_scaling *scaling;
    const struct ar_shown_job *job;
    const struct ar_shown_leftovers *leftovers;
    const struct ar_shown_counters *counters;
    const struct ar_shown_timeline *timeline;
    const struct ar_shown_trace *trace;
};

enum ar_subject_kind {
    AR_ABOUT_RUN,
    AR_ABOUT_DIFF,
    AR_ABOUT_SCALING,
    AR_ABOUT_JOB,
    AR_ABOUT_LEFTOVERS,
    AR_ABOUT_COUNTERS,
    AR_ABOUT_TIMELINE,
    AR_ABOUT_TRACE,
    AR_N_SUBJECT_KINDS
};
/* The command that shows tables of this kind: "diff", "scale", "top", "clean"; a run: "". */
extern const char *const ar_subject_commands[AR_N_SUBJECT_KINDS];

struct ar_shown_table {
    const char *name, *key, *help;
    enum ar_subject_kind about;
    const struct ar_shown_column *columns;
    size_t n_columns;
    bool is_single; /* there is one row at most: an object in JSON */
    /* Works out everything that the cells need. NULL: the subject has it already. */
    AR_MUST_CHECK enum ar_status (*prepare)(const struct ar_subject *of);
    size_t (*n_rows)(const struct ar_subject *of);
    union ar_cell (*cell)(const struct ar_subject *of, size_t column, size_t row);
    /* The rows that are shown, in order; NULL: all of them. */
    const uint32_t *(*order)(const struct ar_subject *of, size_t *n);
};

/* Lives as long as the run. */
const struct ar_subject *ar_run_subject(struct ar_run *run);

extern const struct ar_shown_table *const ar_shown_tables[]; /* NULL ends them */
/* "": a number; "ns"; "bytes"; "us2"; "share": 0.013 is 1.3 %. */
extern const char *const ar_shown_units[]; /* NULL ends them */

/* NULL: there is none of that name. */
const struct ar_shown_table *ar_shown_find(const char *name);

/* Rows by their numbers, in order; `numbers` NULL: from `first` on. */
struct ar_shown_rows {
    const uint32_t *numbers;
    size_t first, n;
};

/* Everything that its cells need, and the rows that it shows. */
AR_MUST_CHECK enum ar_status ar_shown_prepare(const struct ar_shown_table *table,
                                              const struct ar_subject *of,
                                              struct ar_shown_rows *rows);
static inline size_t ar_shown_row(const struct ar_shown_rows *rows, size_t i)
{
    return rows->numbers ? rows->numbers[i] : rows->first + i;
}

/* Bytes of a cell in a column: 8, 1 of a truth value, else those of its struct. */
size_t ar_cell_bytes(enum ar_cell_type type);
/* A column, or a piece of it, one cell after the other. */
void ar_shown_read(const struct ar_shown_table *table, const struct ar_subject *of,
                   const struct ar_shown_rows *rows, size_t column, size_t first, size_t n,
                   void *out);

/* What times are written in. */
enum ar_time_unit { AR_IN_NS, AR_IN_SECONDS };
/* "time_mean_ns": a column by itself. */
void ar_shown_name(const struct ar_shown_column *column, enum ar_time_unit unit, char *out,
                   size_t n_out);
/*
 * In JSON: "time_ns", the key of its group, or "" if it is in none; and its key in there. A unit that all of a group have
 * is in the group's key.
 */
void ar_shown_keys(const struct ar_shown_table *table, size_t column, char *group, char *name,
                   size_t n_out);
