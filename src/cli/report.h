// SPDX-License-Identifier: BSD-3-Clause
/*
 * report: what the views of `allranks report` have in common. Each view is a file of its own:
 *
 *     report_head.c         the first lines: what ran, on how many ranks, what could not be recorded
 *     report_screen.c       one screen: imbalance, the tree, tasks, metrics, MPI
 *     report_metrics.c      what was counted in functions and regions
 *     report_tree.c         call paths from the top down
 *     report_bottom_up.c    functions by self time, and below each who called it
 *     report_functions.c    functions in a list; all there is of pstats files
 *     report_callers.c      one function: who calls it, what it calls
 *     report_csv.c          rows of the table as CSV
 *     report_json.c         version 1 of the JSON
 *     report_texts.c        a text file a rank, as pstats prints it
 */
#pragma once

#include "cli/doubt_text.h"
#include "cli/selecting.h"
#include "cli/shown.h"
#include "run/task_rows.h"

enum ar_report_sort {
    AR_SORT_TOTAL,
    AR_SORT_SELF,
    AR_SORT_CALLS,
    AR_SORT_MAX,
    AR_SORT_IMBALANCE,
    AR_SORT_NAME
};

enum ar_report_tree { AR_TREE_TOP_DOWN, AR_TREE_BOTTOM_UP };

struct ar_report {
    struct ar_run *run;
    enum ar_tree_form form; /* of all that follows */
    struct ar_profile *p;
    const struct ar_totals *t;
    const bool *is_hot;                   /* by node: on the hot path */
    const struct ar_hot_lines *hot_lines; /* NULL: they are not shown */

    /* what was asked for */
    const char *path;
    struct ar_selection selection;
    struct ar_words metrics;
    const char *callers, *callees;
    int sort;        /* enum ar_report_sort; -1: as the view has it */
    int tree;        /* enum ar_report_tree */
    size_t n_rows;   /* of the tree or list; 0: all */
    size_t n_levels; /* of the tree; 0: all, SIZE_MAX: no number is given */
    bool fits;       /* no number of rows is given: all of it is one screen */
    bool functions, csv;
    int json;         /* enum ar_json_version */
    const char *text; /* names of text files, one a rank */
    double min_share;

    /* how it looks */
    size_t n_columns;
    double unit_ns; /* of all times in the tables */
    const char *unit;
};

/* ---- look ------------------------------------------------------------------------------------- */

void ar_report_choose_unit(struct ar_report *r);
/* Columns of names and places; numbers and ranges take the rest. Lists have one number more than trees. */
struct ar_label_columns {
    size_t name, place;
};
struct ar_label_columns ar_tree_columns(const struct ar_report *r);
struct ar_label_columns ar_list_columns(const struct ar_report *r);
/* A title: what, in which unit, and the heads of numbers and of ranges. */
void ar_print_title(struct ar_label_columns c, const char *title, const char *unit,
                    const char *heads);
/* `mark` stands before the name, which is bold if that is no space. */
void ar_print_label(const struct ar_report *r, struct ar_label_columns c, uint32_t node,
                    size_t indent, char mark);
/* Is the line shown that takes most of the function's own time? Then the place is "heat.py:22 >25". */
bool ar_has_hot_line(const struct ar_report *r, uint32_t node);
/* The same with a place of which the node is only one of several. */
#define AR_SEVERAL_PLACES "several places"
void ar_print_label_at(const struct ar_report *r, struct ar_label_columns c, uint32_t node,
                       size_t indent, char mark, const char *place);
/* A function by one of its nodes, with its place if that is the same for all. */
void ar_print_function_label(const struct ar_report *r, struct ar_label_columns c,
                             const struct ar_by_function *f, uint32_t function);
/* Of two nodes of one function. What is known by its place is called in many. */
bool ar_have_one_place(const struct ar_profile *p, uint32_t a, uint32_t b);
/* With its mark, in nine columns. */
void ar_print_mean(const struct ar_report *r, const struct ar_spread *s);
const char *ar_range_head(const struct ar_report *r); /* "" where there is one rank */
const char *ar_show_percent(double share);            /* "38 %", "<1 %" */
bool ar_is_kind(const struct ar_profile *p, uint32_t node, enum ar_function_kind kind);
/* "26 more call paths: --rows 0 --min 0 shows all" */
void ar_print_more(size_t n, const char *one, const char *many, const char *before);

/* ---- order ------------------------------------------------------------------------------------ */

/* What is large comes first; by name it is the reverse of their order. `range` is what min-max shows. */
double ar_sort_key(enum ar_report_sort sort, double total, double self, uint64_t n_calls,
                   const struct ar_spread *range);
/* By function: its place among all names, from the end. NULL: no memory. */
double *ar_name_keys(const struct ar_profile *p);

/* ---- views ------------------------------------------------------------------------------------ */

/* Returns how many lines it took. */
size_t ar_report_head(const struct ar_report *r);
/*
 * `mpi` are the calls by path. `n_lines` are printed already, the head and whatever stands between it and
 * the tree: with more of them there are fewer rows. Returns an exit status.
 */
int ar_report_screen(struct ar_report *r, const struct ar_mpi_row *mpi, size_t n_mpi,
                     size_t n_lines);

struct ar_tree_rows {
    size_t n_shown, n_cut;
    struct ar_marks_shown marks;
    bool has_hot, has_hot_line;
};
/* `n_rows` at most, 0: all; to be counted, or printed. */
struct ar_tree_rows ar_report_walk(const struct ar_report *r, size_t n_rows,
                                   void (*row)(const struct ar_report *r, uint32_t node,
                                               size_t depth, void *context),
                                   void *context);
/* Lines below the tree: what is not there, and what the marks mean. */
size_t ar_report_count_notes(const struct ar_report *r);
void ar_report_tree(const struct ar_report *r, size_t n_rows, size_t n_notes);

/* Rows, those with most to win first; up to so many. The first one is a title. */
size_t ar_report_count_imbalance(const struct ar_report *r, size_t most);
void ar_report_imbalance(const struct ar_report *r, size_t n_rows);

void ar_report_tasks(const struct ar_report *r, const struct ar_task_row *rows, size_t n_rows);

/* Rows, the longest time first; a line below them says what there was no room for. */
AR_MUST_CHECK enum ar_status ar_report_count_metrics(const struct ar_report *r, size_t *n);
AR_MUST_CHECK enum ar_status ar_report_metrics(const struct ar_report *r, size_t n_rows);
/* In as many tables as all metrics need; 0: all rows. */
AR_MUST_CHECK enum ar_status ar_report_all_metrics(const struct ar_report *r, size_t n_rows);

/* The others also fit one screen, with `n_lines` of it taken; they return an exit status. */
int ar_report_bottom_up(struct ar_report *r, size_t n_lines);
int ar_report_bottom_up_csv(struct ar_report *r);
int ar_report_functions(struct ar_report *r, size_t n_lines);
int ar_report_callers(struct ar_report *r); /* with the head, unless there is no such function */
int ar_report_csv(struct ar_report *r);
/* A file a rank, as pstats prints it. */
int ar_report_texts(struct ar_report *r);
int ar_report_json(struct ar_report *r); /* version 1 */
AR_MUST_CHECK enum ar_status ar_report_json_callers(struct ar_report *r, struct ar_json *j,
                                                    const struct ar_by_function *f);

/* Functions that were called, in the order that was asked for; to be freed. */
AR_MUST_CHECK enum ar_status ar_report_list(const struct ar_report *r,
                                            const struct ar_by_function *f,
                                            enum ar_report_sort by_default, uint32_t **functions,
                                            size_t *n);
