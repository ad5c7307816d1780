// SPDX-License-Identifier: BSD-3-Clause
/* parts: what a run has of its parts so far. For this folder only: tables read what they have prepared. */
#pragma once

#include "run/run.h"

/* Of one form of the tree. Those that `has_…` does not say are not there yet. */
struct ar_form {
    struct ar_profile *p; /* NULL: not yet */
    bool has_totals, has_functions, has_places, has_call_times, has_thread_times, has_syncs;
    struct ar_totals totals;
    struct ar_by_function functions;
    struct ar_places places;
    struct ar_call_times call_times;
    struct ar_thread_times thread_times;
    struct ar_sync_list syncs;
    bool *is_hot; /* by node */
};

struct ar_run {
    struct ar_run_choice choice;
    struct ar_profile whole, chosen, folded;
    struct ar_form forms[AR_N_TREE_FORMS];
    bool *waiting; /* by root */
    bool has_mpi, has_waits, has_waits_by_node, has_child_waits, has_efficiencies, has_findings;
    bool has_shares, has_own_time;
    struct ar_mpi mpi;
    struct ar_waits waits, waits_by_node;
    struct ar_child_waits child_waits;
    struct ar_efficiencies efficiencies;
    struct ar_findings findings;
    struct ar_shares shares;
    struct ar_own_time own_time;
};

/* NULL: there was no memory for it. */
struct ar_form *ar_run_form(struct ar_run *run, enum ar_tree_form form);
