// SPDX-License-Identifier: BSD-3-Clause
/* parts: what a run has of its parts so far. For this folder only: tables read what they have prepared. */
#pragma once

#include "base/arena.h"
#include "run/comparison.h"
#include "run/tables.h"

/* Of one form of the tree. Those that `has_…` does not say are not there yet. */
struct ar_form {
    struct ar_profile *p; /* NULL: not yet */
    bool has_totals, has_functions, has_places, has_call_times, has_thread_times, has_syncs;
    bool has_metrics, has_figures, has_function_figures, has_node_figures;
    struct ar_totals totals;
    struct ar_by_function functions;
    struct ar_places places;
    struct ar_call_times call_times;
    struct ar_node_metrics metrics;
    struct ar_figures figures;
    struct ar_figure_items function_figures, node_figures;
    struct ar_figure_reader figure_reader; /* of the function `figures_of`; `rows` NULL: not open */
    uint32_t figures_of;
    uint32_t *derived_rows; /* of node_figures; NULL: not yet */
    size_t n_derived_rows;
    struct ar_thread_times thread_times;
    struct ar_sync_list syncs;
    bool *is_hot; /* by node */
    struct ar_shares shares;
    struct ar_share *rank_shares; /* by root, of the function `shares_of`; NULL: not yet */
    uint32_t shares_of;
    struct ar_value *selves;          /* one for each value of AR_METRIC_TIME; NULL: not yet */
    struct ar_mpi_class *mpi_classes; /* by function; `name` is NULL where it is none of MPI */
    /* Rows of tables, in order: */
    uint32_t *function_rows, *mpi_rows;
    size_t n_function_rows, n_mpi_rows;
    struct ar_task_row *tasks;          /* NULL: not yet */
    struct ar_bottom_up_row *bottom_up; /* NULL: not yet */
    size_t n_tasks, n_bottom_up;
    struct ar_other_table *others; /* NULL: not yet */
    struct ar_arena other_names;   /* and columns of these */
};

/* The calls between two functions. */
enum ar_relation { AR_IS_CALLER, AR_IS_CALLEE, AR_IS_ITSELF };

struct ar_relative {
    enum ar_relation relation;
    uint32_t function, other; /* AR_NO_ID: none, or itself */
    double share;
    struct ar_function_sums sums;
};

/* A row of wait_ranks. */
enum ar_wait_role { AR_WAIT_WAITING, AR_WAIT_LATE, AR_WAIT_CAUSE, AR_N_WAIT_ROLES };

struct ar_wait_row {
    uint32_t wait;
    enum ar_wait_role role;
    uint32_t item;
};

/* A thread or frame of a stack. */
struct ar_stack_row {
    uint32_t stack, item;
};

struct ar_run {
    struct ar_run_choice choice;
    struct ar_subject subject; /* of its tables: itself */
    struct ar_profile whole, chosen, folded;
    struct ar_form forms[AR_N_TREE_FORMS];
    bool *waiting; /* by root */
    bool has_mpi, has_waits, has_waits_by_node, has_child_waits, has_efficiencies, has_findings;
    bool has_own_time;
    struct ar_mpi mpi;
    struct ar_waits waits, waits_by_node;
    struct ar_child_waits child_waits;
    struct ar_efficiencies efficiencies;
    struct ar_findings findings;
    struct ar_own_time own_time;
    struct ar_form *shown;       /* by tables that have nodes: that of the choice */
    struct ar_form *folded_form; /* NULL: not yet */
    struct ar_relative *relatives;
    size_t n_relatives, cap_relatives;
    bool has_relatives;
    struct ar_comparison *comparisons; /* of functions that are wanted */
    size_t n_comparisons;
    bool has_comparisons;
    uint32_t *efficiency_rows, *class_rows;
    size_t n_efficiency_rows, n_class_rows;
    struct ar_mpi_row *mpi_tables[AR_N_MPI_BY];
    size_t n_mpi_tables[AR_N_MPI_BY];
    bool has_mpi_table[AR_N_MPI_BY];
    struct ar_mpi_request_row *mpi_requests;
    struct ar_mpi_pair *mpi_pairs;
    size_t n_mpi_requests, n_mpi_pairs;
    const struct ar_waits *shown_waits;
    size_t n_waits; /* the first so many sites, at which a rank has waited */
    struct ar_wait_row *wait_rows;
    size_t n_wait_rows;
    struct ar_efficiency efficiency;
    bool has_mpi_requests, has_mpi_pairs, has_efficiency, has_lines, has_hot_lines;
    size_t n_partial;        /* functions */
    uint32_t *finding_ranks; /* of one cell */
    struct ar_lines lines;
    struct ar_hot_lines hot_lines;
    struct ar_stacks stacks;
    bool has_stacks;
    struct ar_stack_row *stack_threads, *stack_frames;
    size_t n_stack_threads, n_stack_frames;
    struct ar_other_row *other_rows; /* NULL: not yet */
    size_t n_other_rows;
};

/* By root: what each has of a function, where ar_run_shares_of has been asked before. */
const struct ar_share *ar_form_shares(struct ar_form *f, uint32_t function);
/* NULL: there was no memory for it. */
struct ar_form *ar_run_form(struct ar_run *run, enum ar_tree_form form);
