// SPDX-License-Identifier: BSD-3-Clause
/*
 * run: a run that was opened, and everything that is worked out from it.
 *
 * A command, a table or a binding asks for the parts that it shows. Each part is worked out when it is first asked for,
 * is kept, and is the same for all callers: two of them never build totals twice, and never show different ones.
 *
 *     profile        as it was recorded, less what is not selected; or folded, as the screen shows it
 *     totals, functions, places, hot path      of either form
 *     mpi, waits, efficiencies, findings       of the folded form
 *
 * Life cycle: ar_run_of takes a profile over, ar_run_close frees all. Parts live as long as the run.
 * Memory: a part is NULL where there was none for it; then it can be asked for again.
 * Threads: one owner. Parts that were given out do not change, and any number of threads may read those.
 * There is no operating system in it: open/open.h has the one that opens a path.
 *
 *     struct ar_run *run;
 *     if (ar_run_of(&run, &profile, &(struct ar_run_choice){.path = "heat.allranks"}, &err) < 0) ...
 *     const struct ar_totals *t = ar_run_totals(run, AR_FORM_FOLDED);
 *     if (!t) ...
 *     ar_run_close(run);
 */
#pragma once

#include "analysis/figure_values.h"
#include "analysis/hot_lines.h"
#include "analysis/node_metrics.h"
#include "analysis/select.h"
#include "analysis/stacks.h"
#include "findings/findings.h"
#include "run/places.h"
#include "run/sync_list.h"
#include "run/times.h"

/* AR_FORM_FOLDED: see analysis/fold.h. Caller pairs are the same in both. */
enum ar_tree_form { AR_FORM_RECORDED, AR_FORM_FOLDED, AR_N_TREE_FORMS };

enum ar_compared { AR_COMPARED_BY_OWN, AR_COMPARED_BY_SELF, AR_COMPARED_BY_TOTAL };

/* What of the run is looked at. A zeroed one is all of it; what it points to outlives the run. */
struct ar_run_choice {
    const char *path; /* as errors, and commands in findings, name it */
    const struct ar_selection *selection;
    const struct ar_wanted *wanted; /* functions, and tables of MPI, are of these only */
    const char *waiting;            /* waits are of these ranks only: "0-3,8" */
    const struct ar_words *metrics; /* NAME or NAME=FORMULA, see analysis/figures.h */
    enum ar_tree_form form;         /* that tables with nodes show */
    const char *callers, *callees;  /* functions that the table of relatives is about */
    size_t bottom_up_levels;        /* of the table bottom_up; 0: all */
    double bottom_up_share;         /* it leaves out rows with a smaller share of the time */
    bool main_only;                 /* stacks are of main threads only */
    enum ar_compared compared;      /* by what ranks are compared: run/comparison.h */
};

struct ar_run;

/*
 * Takes the profile over, whether it works or not. AR_BAD: nothing of it is selected, or there are no such ranks.
 */
AR_MUST_CHECK enum ar_status ar_run_of(struct ar_run **out, struct ar_profile *taken,
                                       const struct ar_run_choice *choice, struct ar_error *err);
void ar_run_close(struct ar_run *run);

const struct ar_run_choice *ar_run_choice(const struct ar_run *run);

struct ar_profile *ar_run_profile(struct ar_run *run, enum ar_tree_form form);
const struct ar_totals *ar_run_totals(struct ar_run *run, enum ar_tree_form form);
/* Puts the children of each node in another order, see ar_totals_order; before others look at them. */
AR_MUST_CHECK enum ar_status ar_run_order(struct ar_run *run, enum ar_tree_form form,
                                          const double *keys);
const struct ar_by_function *ar_run_functions(struct ar_run *run, enum ar_tree_form form);
const struct ar_places *ar_run_places(struct ar_run *run, enum ar_tree_form form);
/* Functions of which some calls were not timed, to keep to the budget. */
AR_MUST_CHECK enum ar_status ar_run_count_partial(struct ar_run *run, enum ar_tree_form form,
                                                  size_t *n);
/* By node: it is on the hot path, see analysis/callers.h. */
const bool *ar_run_hot_path(struct ar_run *run, enum ar_tree_form form);
/* Values of metrics that only the file describes. */
const struct ar_node_metrics *ar_run_node_metrics(struct ar_run *run, enum ar_tree_form form);
/* What is shown of them, and what is computed from them: of functions, and of nodes. */
const struct ar_figures *ar_run_figures(struct ar_run *run, enum ar_tree_form form);
const struct ar_figure_items *ar_run_function_figures(struct ar_run *run, enum ar_tree_form form);
const struct ar_figure_items *ar_run_node_figures(struct ar_run *run, enum ar_tree_form form);
/* Of one function on all ranks; good until another one is asked for. NULL: no memory. */
const struct ar_figure_reader *ar_run_figures_of(struct ar_run *run, enum ar_tree_form form,
                                                 uint32_t function);
const struct ar_call_times *ar_run_call_times(struct ar_run *run, enum ar_tree_form form);
const struct ar_thread_times *ar_run_thread_times(struct ar_run *run, enum ar_tree_form form);
const struct ar_sync_list *ar_run_syncs(struct ar_run *run, enum ar_tree_form form);

/* Of the folded form: their nodes are those of its profile. */
const struct ar_mpi *ar_run_mpi(struct ar_run *run);
/* Its rows, the longest time first; NULL: no memory. */
const struct ar_mpi_row *ar_run_mpi_rows(struct ar_run *run, enum ar_mpi_by by, size_t *n);
const struct ar_waits *ar_run_waits(struct ar_run *run);
const struct ar_waits *ar_run_waits_by_node(struct ar_run *run); /* with `node_ns` */
/* By root: whose waits count, as chosen; NULL: those of all. */
const bool *ar_run_waiting(const struct ar_run *run);
const struct ar_child_waits *ar_run_child_waits(struct ar_run *run);
const struct ar_efficiencies *ar_run_efficiencies(struct ar_run *run);
const struct ar_findings *ar_run_findings(struct ar_run *run);

/* Of functions that are wanted, of the recorded form: folding leaves out lines. */
const struct ar_lines *ar_run_lines(struct ar_run *run);
/* NULL: no memory. */
const struct ar_hot_lines *ar_run_hot_lines(struct ar_run *run);
/* Where threads are, of the recorded form: folding leaves that out. */
const struct ar_stacks *ar_run_stacks(struct ar_run *run);

/* Makes packed metrics of a form plain: for code that looks at `metrics` of its profile. */
AR_MUST_CHECK enum ar_status ar_run_unpack(struct ar_run *run, enum ar_tree_form form);

/* By root: what each has of a function; good until another one is asked for. */
const struct ar_share *ar_run_shares_of(struct ar_run *run, enum ar_tree_form form,
                                        uint32_t function);
/* For reading one function after the other, of the folded form. */
struct ar_own_time *ar_run_own_time(struct ar_run *run);
