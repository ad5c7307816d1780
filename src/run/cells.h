// SPDX-License-Identifier: BSD-3-Clause
/*
 * cells: how tables_*.c list their columns. For these files only.
 *
 * A list is written once, X(id, member of the cell, type, is optional, group, name, unit, help, value), and is both what describes
 * the columns and what reads them. In `value` stand the variables of the function that reads.
 *
 *     #define THREAD_COLUMNS(X)                                                          \
 *         INTEGER(X, id, "", "row of this table", row)                                   \
 *         TEXT(X, name, "name of the thread", text_of(p, location->name))
 *
 *     static const struct ar_shown_column thread_columns[] = {THREAD_COLUMNS(DESCRIBE)};
 *
 *     static union ar_cell thread_cell(const struct ar_subject *of, size_t column, size_t row)
 *     {
 *         enum { THREAD_COLUMNS(NUMBER) };
 *         union ar_cell cell = {0};
 *         …
 *         switch (column) { THREAD_COLUMNS(READ) }
 *         return cell;
 *     }
 */
#pragma once

#include "run/parts.h"
#include "run/tables.h"

#include <math.h>
#include <string.h>

#define INTEGER(X, id, unit, help, value)                                                          \
    X(id, integer, AR_CELL_INTEGER, false, NULL, #id, unit, help, (int64_t)(value))
#define OPTIONAL(X, id, unit, help, value)                                                         \
    X(id, integer, AR_CELL_INTEGER, true, NULL, #id, unit, help, (int64_t)(value))
#define REAL(X, id, unit, help, value)                                                             \
    X(id, real, AR_CELL_REAL, false, NULL, #id, unit, help, value)
#define BOOLEAN(X, id, help, value) X(id, boolean, AR_CELL_BOOL, false, NULL, #id, "", help, value)
#define TEXT(X, id, help, value) X(id, text, AR_CELL_TEXT, false, NULL, #id, "", help, value)
#define OPTIONAL_TEXT(X, id, help, value)                                                          \
    X(id, text, AR_CELL_TEXT, true, NULL, #id, "", help, value)
#define RANKS(X, id, help, value) X(id, ranks, AR_CELL_RANKS, false, NULL, #id, "", help, value)
/* In a group: */
#define MEMBER_INTEGER(X, group, id, unit, help, value)                                            \
    X(group##_##id, integer, AR_CELL_INTEGER, false, #group, #id, unit, help, (int64_t)(value))
#define MEMBER_REAL(X, group, id, unit, help, value)                                               \
    X(group##_##id, real, AR_CELL_REAL, false, #group, #id, unit, help, value)

/* How a value differs between ranks. */
#define RANGE(X, group, unit, help, s)                                                             \
    MEMBER_REAL(X, group, mean, unit, help ", mean over ranks", (s).mean)                          \
    MEMBER_REAL(X, group, sd, unit, "standard deviation of these ranks", (s).sd)                   \
    MEMBER_INTEGER(X, group, min, unit, "of the rank that has least", (s).min)                     \
    X(group##_min_rank, integer, AR_CELL_INTEGER, true, #group, "min_rank", "",                    \
      "that rank; of equal ones the first", rank_of(p, (s).min_process))                           \
    MEMBER_INTEGER(X, group, max, unit, "of the rank that has most", (s).max)                      \
    X(group##_max_rank, integer, AR_CELL_INTEGER, true, #group, "max_rank", "",                    \
      "that rank; of equal ones the first", rank_of(p, (s).max_process))

#define DOUBTED(X, group, unit, doubt)                                                             \
    X(group##_estimated, boolean, AR_CELL_BOOL, false, #group, "estimated", "",                    \
      "whether it is estimated from some of the calls", ((doubt).marks & AR_MARK_ESTIMATED) != 0)  \
    MEMBER_REAL(X, group, error, unit, "standard error of the sum", ar_doubt_error(doubt, 1))

/* A time over ranks. */
#define SPREAD(X, group, help, s)                                                                  \
    MEMBER_REAL(X, group, sum, "ns", help, (s).sum)                                                \
    RANGE(X, group, "ns", help, s)                                                                 \
    DOUBTED(X, group, "ns", (s).doubt)

/* As the POP centre of excellence defines them; none where they are not known. */
#define EFFICIENCY_COLUMNS(X)                                                                      \
    REAL(X, wall, "ns", "of the rank that took longest", e->wall_ns)                               \
    REAL(X, counted, "ns", "of the rank that took longest, without setting up MPI", e->counted_ns) \
    REAL(X, mean_computing, "ns", "time less that within MPI, mean over ranks",                    \
         e->mean_computing_ns)                                                                     \
    REAL(X, max_computing, "ns", "of the rank that has most of it", e->max_computing_ns)           \
    OPTIONAL(X, max_computing_rank, "", "that rank", rank_of(p, e->max_process))                   \
    REAL(X, parallel_efficiency, "share", "load balance times communication efficiency",           \
         e->parallel)                                                                              \
    REAL(X, load_balance, "share", "mean by most computing", e->load_balance)                      \
    REAL(X, communication_efficiency, "share", "most computing by counted time", e->communication) \
    REAL(X, serialisation_efficiency, "share", "the part that waiting for others has",             \
         e->is_split ? e->serialisation : NAN)                                                     \
    REAL(X, transfer_efficiency, "share", "the part that moving data has",                         \
         e->is_split ? e->transfer : NAN)

#define NUMBER(id, member, type, is_optional, group, name, unit, help, value) column_##id,
#define DESCRIBE(id, member, type, is_optional, group, name, unit, help, value)                    \
    {name, group, unit, help, type, is_optional},
#define READ(id, member, type, is_optional, group, name, unit, help, value)                        \
    case column_##id:                                                                              \
        cell.member = (value);                                                                     \
        break;

#define N_COLUMNS(list) (sizeof list / sizeof *list)

static inline struct ar_str text_of(const struct ar_profile *p, uint32_t id)
{
    return ar_strtab_get(&p->strings, id);
}

static inline struct ar_str plain_text(const char *text)
{
    return (struct ar_str){text, strlen(text)};
}

/* -1: not known. */
static inline int64_t rank_of(const struct ar_profile *p, uint32_t process)
{
    if (process >= p->n_processes || p->processes[process].world_rank == AR_RANK_NONE)
        return -1;
    return p->processes[process].world_rank;
}

static inline int64_t id_or_none(uint32_t id)
{
    return id == AR_NO_ID ? -1 : (int64_t)id;
}

static inline const struct ar_function *function_at(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

/* Where a call stands, by what was found of its form: its caller, the file of that, and the line there. */
static inline struct ar_str caller_of(const struct ar_form *f, uint32_t node)
{
    uint32_t caller = f->places.caller[node];

    return text_of(f->p, caller == AR_NO_ID ? 0 : function_at(f->p, caller)->name);
}

static inline struct ar_str file_of(const struct ar_form *f, uint32_t node)
{
    uint32_t caller = f->places.caller[node];

    return text_of(f->p, caller == AR_NO_ID ? 0 : function_at(f->p, caller)->file);
}

static inline uint32_t line_of(const struct ar_form *f, uint32_t node)
{
    return f->p->nodes[f->places.site[node]].line;
}

/* Sorted by a number, the largest first: rows of tables. */
uint32_t *ar_rows_by(const double *keys, const bool *is_shown, size_t n, size_t *n_shown);

/* For tables of a single row. */
size_t ar_one_row(const struct ar_subject *of);

/* Fills `function_rows` of a form. */
AR_MUST_CHECK enum ar_status ar_order_functions(struct ar_run *run, enum ar_tree_form form);

extern const struct ar_shown_table ar_shown_table_run, ar_shown_table_efficiency,
    ar_shown_table_findings, ar_shown_table_other_data;
extern const struct ar_shown_table ar_shown_table_functions, ar_shown_table_tree,
    ar_shown_table_relatives, ar_shown_table_tasks, ar_shown_table_bottom_up, ar_shown_table_lines;
extern const struct ar_shown_table ar_shown_table_metrics, ar_shown_table_tree_metrics,
    ar_shown_table_counters;
extern const struct ar_shown_table ar_shown_table_derived_metrics, ar_shown_table_tree_derived,
    ar_shown_table_function_metrics, ar_shown_table_function_rank_metrics;
extern const struct ar_shown_table ar_shown_table_ranks, ar_shown_table_processes,
    ar_shown_table_threads;
extern const struct ar_shown_table ar_shown_table_function_ranks,
    ar_shown_table_function_efficiency, ar_shown_table_imbalance, ar_shown_table_rank_classes;
extern const struct ar_shown_table ar_shown_table_mpi, ar_shown_table_communicators,
    ar_shown_table_messages, ar_shown_table_requests;
extern const struct ar_shown_table ar_shown_table_mpi_paths, ar_shown_table_mpi_functions,
    ar_shown_table_mpi_classes, ar_shown_table_mpi_communicators, ar_shown_table_mpi_peers,
    ar_shown_table_mpi_sizes, ar_shown_table_mpi_requests, ar_shown_table_mpi_matrix,
    ar_shown_table_mpi_methods;
extern const struct ar_shown_table ar_shown_table_stacks, ar_shown_table_stack_threads,
    ar_shown_table_stack_frames;
extern const struct ar_shown_table ar_shown_table_synchronisations, ar_shown_table_sync_causes;
extern const struct ar_shown_table ar_shown_table_waits, ar_shown_table_wait_ranks,
    ar_shown_table_wait_times, ar_shown_table_waiting;
extern const struct ar_shown_table ar_shown_table_trace_waiting, ar_shown_table_trace_waits,
    ar_shown_table_trace_wait_ranks, ar_shown_table_trace_wait_list, ar_shown_table_critical_path,
    ar_shown_table_critical_path_functions, ar_shown_table_critical_path_parts;
extern const struct ar_shown_table ar_shown_table_diff, ar_shown_table_diff_runs,
    ar_shown_table_diff_functions, ar_shown_table_diff_paths, ar_shown_table_diff_conditions;
extern const struct ar_shown_table ar_shown_table_scaling, ar_shown_table_scaling_runs,
    ar_shown_table_scaling_functions, ar_shown_table_scaling_function_runs;
extern const struct ar_shown_table ar_shown_table_top, ar_shown_table_top_processes,
    ar_shown_table_top_functions;
extern const struct ar_shown_table ar_shown_table_clean, ar_shown_table_clean_jobs;
extern const struct ar_shown_table ar_shown_table_timeline, ar_shown_table_timeline_rows,
    ar_shown_table_timeline_cells;

/* Tables that tell losses and overheads by kind say by LOST(X, name, loss) and OVERHEAD(X, name, reason) whose they are. */
#define EACH_LOSS(X)                                                                               \
    LOST(X, nodes, AR_LOST_NODES)                                                                  \
    LOST(X, functions, AR_LOST_FUNCTIONS)                                                          \
    LOST(X, threads, AR_LOST_THREADS)                                                              \
    LOST(X, frames, AR_LOST_FRAMES)                                                                \
    LOST(X, regions, AR_LOST_REGIONS)                                                              \
    LOST(X, processes, AR_LOST_PROCESSES)                                                          \
    LOST(X, messages, AR_LOST_TRAFFIC)                                                             \
    LOST(X, requests, AR_LOST_REQUESTS)                                                            \
    LOST(X, synchronisations, AR_LOST_SYNCS)                                                       \
    LOST(X, communicators, AR_LOST_COMMS)                                                          \
    LOST(X, rows, AR_LOST_ROWS)                                                                    \
    LOST(X, trace, AR_LOST_TRACE)                                                                  \
    LOST(X, metrics, AR_LOST_METRICS)                                                              \
    LOST(X, tables, AR_LOST_TABLES)                                                                \
    LOST(X, sections, AR_LOST_SECTIONS)
#define EACH_OVERHEAD(X)                                                                           \
    OVERHEAD(X, start, AR_OVERHEAD_START)                                                          \
    OVERHEAD(X, imports, AR_OVERHEAD_IMPORTS)                                                      \
    OVERHEAD(X, paths, AR_OVERHEAD_PATHS)                                                          \
    OVERHEAD(X, python_calls, AR_OVERHEAD_PYTHON)                                                  \
    OVERHEAD(X, c_calls, AR_OVERHEAD_C)                                                            \
    OVERHEAD(X, mpi_calls, AR_OVERHEAD_MPI)                                                        \
    OVERHEAD(X, end, AR_OVERHEAD_END)
