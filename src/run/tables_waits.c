// SPDX-License-Identifier: BSD-3-Clause
/* Tables of waits: who waited for whom, for how long, and because of what. */
#include "analysis/mpi_class.h"
#include "findings/words.h"
#include "run/cells.h"

#include <stdlib.h>

/* Sites at which no chosen rank has waited come last. */
static size_t count_waits(const struct ar_waits *w)
{
    size_t n = 0;

    while (n < w->n_sites && w->sites[n].n)
        n++;
    return n;
}

static enum ar_status prepare_waits(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_waits *w = ar_run_waits(run);

    run->shown_waits = w;
    run->n_waits = w ? count_waits(w) : 0;
    return w ? AR_OK : AR_NOMEM;
}

/* ---- waits ------------------------------------------------------------------------------------ */

/* The line at which ranks waited. */
#define SITE_COLUMNS(X, index)                                                                     \
    INTEGER(X, wait, "", "its number, 1 is the largest: allranks waits RUN 1", (index) + 1)        \
    TEXT(X, wait_class,                                                                            \
         "barrier, all, late_broadcast, early_reduce, early_scan, late_sender, "                   \
         "late_receiver; late_member and late_progress are guesses from times",                    \
         plain_text(ar_wait_class_name(site->class)))                                              \
    TEXT(X, operation, "method of mpi4py, or MPI function without MPI_",                           \
         plain_text(ar_show_operation(p, site->node)))                                             \
    OPTIONAL_TEXT(X, file, "where the program called it",                                          \
                  plain_text(has_place ? ar_place_file(p, site->place) : ""))                      \
    INTEGER(X, line, "", "where the program called it; 0: not known",                              \
            has_place ? site->place.line : 0)

#define WAIT_COLUMNS(X)                                                                            \
    SITE_COLUMNS(X, row)                                                                           \
    OPTIONAL_TEXT(X, caller, "the Python function that called it",                                 \
                  text_of(p, has_place ? p->functions[site->place.function].name : 0))             \
    TEXT(X, function, "MPI function that waited",                                                  \
         plain_text(                                                                               \
             ar_mpi_class_of(ar_strtab_text(&p->strings, p->functions[site->mpi].name)).function)) \
    BOOLEAN(X, nonblocking, "it was posted, and waited for later", site->nonblocking)              \
    INTEGER(X, calls, "", "that waited", site->n)                                                  \
    REAL(X, waited, "ns", "of all ranks", site->waited_ns)

static const struct ar_shown_column wait_columns[] = {WAIT_COLUMNS(DESCRIBE)};

static union ar_cell wait_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { WAIT_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_wait_site *site = &run->shown_waits->sites[row];
    bool has_place = site->place.function != AR_NO_ID;
    union ar_cell cell = {0};

    switch (column) {
        WAIT_COLUMNS(READ)
    }
    return cell;
}

static size_t n_waits(const struct ar_subject *of)
{
    return of->run->n_waits;
}

const struct ar_shown_table ar_shown_table_waits = {
    .name = "waits",
    .key = "wait",
    .help = "lines of the program at which ranks waited for others; the largest first",
    .columns = wait_columns,
    .n_columns = N_COLUMNS(wait_columns),
    .prepare = prepare_waits,
    .n_rows = n_waits,
    .cell = wait_cell,
};

/* ---- ranks of each ---------------------------------------------------------------------------- */

static size_t n_items(const struct ar_wait_site *site, enum ar_wait_role role)
{
    return role == AR_WAIT_WAITING ? site->n_waiting
           : role == AR_WAIT_LATE  ? site->n_late
                                   : site->n_causes;
}

static void index_site(struct ar_run *run, uint32_t wait)
{
    const struct ar_wait_site *site = &run->shown_waits->sites[wait];

    for (int role = 0; role < AR_N_WAIT_ROLES; role++)
        for (uint32_t i = 0; i < n_items(site, (enum ar_wait_role)role); i++)
            run->wait_rows[run->n_wait_rows++] =
                (struct ar_wait_row){wait, (enum ar_wait_role)role, i};
}

static enum ar_status prepare_ranks(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    size_t n = 0;

    if (prepare_waits(of) < 0)
        return AR_NOMEM;
    if (run->wait_rows)
        return AR_OK;
    for (size_t i = 0; i < run->n_waits; i++)
        for (int role = 0; role < AR_N_WAIT_ROLES; role++)
            n += n_items(&run->shown_waits->sites[i], (enum ar_wait_role)role);
    run->wait_rows = malloc((n + 1) * sizeof *run->wait_rows);
    for (uint32_t i = 0; run->wait_rows && i < run->n_waits; i++)
        index_site(run, i);
    return run->wait_rows ? AR_OK : AR_NOMEM;
}

/* A row of any role as a cause: what the others have not stays empty. */
static struct ar_wait_cause cause_at(const struct ar_wait_site *site, struct ar_wait_row at,
                                     int64_t *n_calls)
{
    const struct ar_wait_share *share;

    *n_calls = -1;
    if (at.role == AR_WAIT_CAUSE)
        return site->causes[at.item];
    share = at.role == AR_WAIT_WAITING ? &site->waiting[at.item] : &site->late[at.item];
    *n_calls = (int64_t)share->n;
    return (struct ar_wait_cause){.process = share->process, .node = AR_NO_ID, .ns = share->ns};
}

/* String 0 is empty. */
static const struct ar_function *culprit(const struct ar_profile *p,
                                         const struct ar_wait_cause *cause)
{
    static const struct ar_function none = {0};

    return cause->node == AR_NO_ID ? &none : function_at(p, cause->node);
}

static const char *const role_names[] = {
    [AR_WAIT_WAITING] = "waiting", [AR_WAIT_LATE] = "late", [AR_WAIT_CAUSE] = "cause"};

#define WAIT_RANK_COLUMNS(X)                                                                       \
    SITE_COLUMNS(X, at.wait)                                                                       \
    TEXT(X, role,                                                                                  \
         "waiting; late: it was waited for; cause: what a rank did that made others wait. The "    \
         "times of each role sum up to that of the wait",                                          \
         plain_text(role_names[at.role]))                                                          \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, cause.process))                          \
    OPTIONAL(X, calls, "", "that waited; of causes none", n_calls)                                 \
    REAL(X, waited, "ns", "by this rank, for it, or because of it", cause.ns)                      \
    REAL(X, indirect, "ns", "of a cause: what reached those who waited through others",            \
         at.role == AR_WAIT_CAUSE ? cause.indirect_ns : NAN)                                       \
    OPTIONAL_TEXT(X, function, "of a cause: that the rank was in; none: not known",                \
                  text_of(p, culprit(p, &cause)->name))                                            \
    OPTIONAL_TEXT(X, function_file, "where the function is defined",                               \
                  text_of(p, culprit(p, &cause)->file))                                            \
    INTEGER(X, function_line, "", "where the function is defined; 0: not known",                   \
            culprit(p, &cause)->first_line)                                                        \
    OPTIONAL_TEXT(                                                                                 \
        X, kind, "of the function, as in functions",                                               \
        plain_text(cause.node == AR_NO_ID ? "" : ar_function_kind_name(culprit(p, &cause)->kind))) \
    BOOLEAN(X, with_callees,                                                                       \
            "of a cause: the function and what it calls, none of which has much "                  \
            "by itself",                                                                           \
            cause.with_callees)

static const struct ar_shown_column rank_columns[] = {WAIT_RANK_COLUMNS(DESCRIBE)};

static union ar_cell rank_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { WAIT_RANK_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    struct ar_wait_row at = run->wait_rows[row];
    const struct ar_wait_site *site = &run->shown_waits->sites[at.wait];
    bool has_place = site->place.function != AR_NO_ID;
    int64_t n_calls;
    struct ar_wait_cause cause = cause_at(site, at, &n_calls);
    union ar_cell cell = {0};

    switch (column) {
        WAIT_RANK_COLUMNS(READ)
    }
    return cell;
}

static size_t n_ranks(const struct ar_subject *of)
{
    return of->run->n_wait_rows;
}

const struct ar_shown_table ar_shown_table_wait_ranks = {
    .name = "wait_ranks",
    .key = "wait, role, rank, function, with_callees",
    .help = "ranks that waited at a line, ranks that were late, and what these did meanwhile; the "
            "largest first",
    .columns = rank_columns,
    .n_columns = N_COLUMNS(rank_columns),
    .prepare = prepare_ranks,
    .n_rows = n_ranks,
    .cell = rank_cell,
};

/* ---- the time of each rank -------------------------------------------------------------------- */

#define WAIT_TIME_COLUMNS(X)                                                                       \
    INTEGER(X, rank_id, "", "row of ranks", row)                                                   \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, (uint32_t)row))                          \
    INTEGER(X, wall, "ns", "how long it was recorded: the sum of the next three",                  \
            p->processes[row].wall_ns)                                                             \
    REAL(X, computing, "ns", "of its main thread", times->computing_ns)                            \
    REAL(X, waiting, "ns", "of its main thread, for other ranks", times->waiting_ns)               \
    REAL(X, communicating, "ns", "of its main thread, the rest of its time within MPI",            \
         times->communicating_ns)                                                                  \
    REAL(X, setting_up, "ns", "of that, in MPI_Init and MPI_Finalize", times->setting_up_ns)       \
    REAL(X, caused, "ns", "that all ranks waited because of it", times->caused_ns)

static const struct ar_shown_column time_columns[] = {WAIT_TIME_COLUMNS(DESCRIBE)};

static union ar_cell time_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { WAIT_TIME_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_wait_times *times = &run->shown_waits->times[row];
    union ar_cell cell = {0};

    switch (column) {
        WAIT_TIME_COLUMNS(READ)
    }
    return cell;
}

static size_t n_times(const struct ar_subject *of)
{
    return of->run->folded_form->p->n_roots;
}

const struct ar_shown_table ar_shown_table_wait_times = {
    .name = "wait_times",
    .key = "rank_id",
    .help = "computing, waiting and communicating of each rank",
    .columns = time_columns,
    .n_columns = N_COLUMNS(time_columns),
    .prepare = prepare_waits,
    .n_rows = n_times,
    .cell = time_cell,
};

/* ---- in all ----------------------------------------------------------------------------------- */

#define WAITING_COLUMNS(X)                                                                         \
    REAL(X, waited, "ns", "of all ranks and threads", w->waited_ns)                                \
    INTEGER(X, synchronisations, "", "calls that may have waited", w->n_calls)                     \
    INTEGER(X, resolved, "", "of these, it is known for whom", w->n_resolved)                      \
    INTEGER(X, unresolved, "", "of these, it is not known for whom", w->n_unresolved)              \
    INTEGER(X, lost, "", "that could not be recorded", w->n_lost)

static const struct ar_shown_column waiting_columns[] = {WAITING_COLUMNS(DESCRIBE)};

static union ar_cell in_all_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { WAITING_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_waits *w = run->shown_waits;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        WAITING_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_waiting = {
    .name = "waiting",
    .key = "",
    .help = "all waits together, and how far they are known",
    .columns = waiting_columns,
    .n_columns = N_COLUMNS(waiting_columns),
    .is_single = true,
    .prepare = prepare_waits,
    .n_rows = ar_one_row,
    .cell = in_all_cell,
};
