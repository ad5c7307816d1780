// SPDX-License-Identifier: BSD-3-Clause
/* Tables about the run as a whole: run, efficiency, findings. */
#include "run/cells.h"

#include <stdlib.h>

/* ---- the run ---------------------------------------------------------------------------------- */

#define LOST(X, id, loss)                                                                          \
    MEMBER_INTEGER(X, lost, id, "", "that could not be recorded, in all and by kind",              \
                   t->n_lost[loss])
#define OVERHEAD(X, id, reason)                                                                    \
    MEMBER_INTEGER(X, overheads, id, "ns", "of recording, for this reason; all processes",         \
                   t->overheads_ns[reason])

#define RUN_COLUMNS(X)                                                                             \
    BOOLEAN(X, call_paths,                                                                         \
            "false: the files are of cProfile, and know functions and callers only", !t->of_pairs) \
    INTEGER(X, ranks, "", "that means are over; or processes that are no children", p->n_roots)    \
    INTEGER(X, processes, "", "child processes included", p->n_processes)                          \
    INTEGER(X, threads, "", "of all processes", p->n_locations)                                    \
    INTEGER(X, functions, "", "that were recorded", recorded->n_functions - 1)                     \
    INTEGER(X, nodes, "", "call paths that were recorded", recorded->n_nodes - 1)                  \
    INTEGER(X, communicators, "", "with windows and files", p->n_comms)                            \
    INTEGER(X, partial_functions, "", "that were not timed to the end, because of --budget",       \
            run->n_partial)                                                                        \
    REAL(X, wall, "ns", "how long ranks were recorded, on average", t->mean_wall_ns)               \
    REAL(X, mpi, "ns", "in MPI calls, mean over ranks", t->mpi_ns)                                 \
    REAL(X, overhead, "ns", "that recording added, of all processes; none: no price was measured", \
         t->overhead_ns ? (double)t->overhead_ns : NAN)                                            \
    REAL(X, overhead_share, "share", "the same of the time of all processes",                      \
         t->overhead_ns ? t->overhead : NAN)                                                       \
    EACH_OVERHEAD(X)                                                                               \
    MEMBER_INTEGER(X, lost, sum, "", "that could not be recorded, in all and by kind",             \
                   ar_profile_lost_in_all(p, AR_NO_ID))                                            \
    EACH_LOSS(X)

static const struct ar_shown_column run_columns[] = {RUN_COLUMNS(DESCRIBE)};

static union ar_cell run_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RUN_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->shown->p, *recorded = run->forms[AR_FORM_RECORDED].p;
    const struct ar_totals *t = &run->shown->totals;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        RUN_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_run(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return ar_run_count_partial(run, run->choice.form, &run->n_partial);
}

const struct ar_shown_table ar_shown_table_run = {
    .name = "run",
    .key = "",
    .help = "the run as a whole, or the part of it that is selected",
    .columns = run_columns,
    .n_columns = N_COLUMNS(run_columns),
    .is_single = true,
    .prepare = prepare_run,
    .n_rows = ar_one_row,
    .cell = run_cell,
};

/* ---- efficiency ------------------------------------------------------------------------------- */

static const struct ar_shown_column efficiency_columns[] = {EFFICIENCY_COLUMNS(DESCRIBE)};

static union ar_cell efficiency_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { EFFICIENCY_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_efficiency *e = &run->efficiency;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        EFFICIENCY_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_efficiency(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_waits *w = ar_run_waits(run);

    if (w && !run->has_efficiency)
        run->has_efficiency =
            ar_efficiency_of_run(&run->efficiency, run->folded_form->p, w) == AR_OK;
    return w && run->has_efficiency ? AR_OK : AR_NOMEM;
}

/* None where there are no ranks, or no MPI, to speak of. */
static size_t n_efficiency(const struct ar_subject *of)
{
    return of->run->efficiency.wall_ns > 0;
}

const struct ar_shown_table ar_shown_table_efficiency = {
    .name = "efficiency",
    .key = "",
    .help = "of the run, as the POP centre of excellence defines it; none without ranks or MPI",
    .columns = efficiency_columns,
    .n_columns = N_COLUMNS(efficiency_columns),
    .is_single = true,
    .prepare = prepare_efficiency,
    .n_rows = n_efficiency,
    .cell = efficiency_cell,
};

/* ---- findings --------------------------------------------------------------------------------- */

#define FINDING_COLUMNS(X)                                                                         \
    INTEGER(X, finding, "", "1: the one with most to be won", row + 1)                             \
    TEXT(X, rule,                                                                                  \
         "imbalance, serial_phase, late_sender, late_receiver, wait, pickling, "                   \
         "small_messages, no_overlap, io_on_one_rank, imports, idle_ranks, slow_node, "            \
         "polling, oversubscription, overhead",                                                    \
         plain_text(finding->rule))                                                                \
    TEXT(X, text, "the sentence on the screen", plain_text(finding->text))                         \
    REAL(X, won, "ns", "that could be won at most, over all ranks", finding->won_ns)               \
    TEXT(X, command, "that shows more", plain_text(finding->command))                              \
    OPTIONAL_TEXT(X, file, "of the call or function to blame; none: it is about no place",         \
                  plain_text(has_place ? ar_place_file(p, finding->place) : ""))                   \
    OPTIONAL(X, line, "", "in that file", has_place ? (int64_t)finding->place.line : -1)           \
    RANKS(X, ranks, "that it is about; empty: all", ranks_of(run, p, finding))

static const struct ar_shown_column finding_columns[] = {FINDING_COLUMNS(DESCRIBE)};

static struct ar_rank_list ranks_of(const struct ar_run *run, const struct ar_profile *p,
                                    const struct ar_finding *finding)
{
    size_t n = 0;

    for (size_t i = 0; i < finding->n_processes; i++) {
        uint32_t rank = p->processes[finding->processes[i]].world_rank;

        if (rank != AR_RANK_NONE)
            run->finding_ranks[n++] = rank;
    }
    return (struct ar_rank_list){run->finding_ranks, n};
}

static union ar_cell finding_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FINDING_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_finding *finding = &run->findings.items[row];
    bool has_place = finding->place.function != AR_NO_ID;
    union ar_cell cell = {0};

    switch (column) {
        FINDING_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_findings(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    if (!ar_run_findings(run))
        return AR_NOMEM;
    if (!run->finding_ranks)
        run->finding_ranks =
            malloc((run->folded_form->p->n_processes + 1) * sizeof *run->finding_ranks);
    return run->finding_ranks ? AR_OK : AR_NOMEM;
}

static size_t n_findings(const struct ar_subject *of)
{
    return of->run->findings.n;
}

const struct ar_shown_table ar_shown_table_findings = {
    .name = "findings",
    .key = "finding",
    .help = "what holds the program back, in sentences; those with most to be won first",
    .columns = finding_columns,
    .n_columns = N_COLUMNS(finding_columns),
    .prepare = prepare_findings,
    .n_rows = n_findings,
    .cell = finding_cell,
};
