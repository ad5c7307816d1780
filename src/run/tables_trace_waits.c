// SPDX-License-Identifier: BSD-3-Clause
/* Tables of exact waits, and of the critical path: trace_waiting, trace_waits …, critical_path …. */
#include "findings/words.h"
#include "run/cells.h"
#include "run/subjects.h"

static const struct ar_trace_waits *waits_of(const struct ar_subject *of)
{
    return of->trace->w;
}

static const struct ar_profile *profile_of(const struct ar_trace_waits *w)
{
    return w->m->traces->profile;
}

static const struct ar_location *location_of(const struct ar_trace_waits *w, uint32_t thread)
{
    return &profile_of(w)->locations[w->m->traces->items[thread].location];
}

static int64_t rank_of_thread(const struct ar_trace_waits *w, uint32_t thread)
{
    return rank_of(profile_of(w), location_of(w, thread)->process);
}

/* ---- all together ----------------------------------------------------------------------------- */

#define WAITING_COLUMNS(X)                                                                         \
    INTEGER(X, waits, "", "calls in which a main thread waited", w->n_counted)                     \
    INTEGER(X, waited, "ns", "of all ranks", w->waited_ns)                                         \
    INTEGER(X, indirect, "ns", "of it, while the one that was waited for waited itself",           \
            w->indirect_ns)                                                                        \
    INTEGER(X, unfollowed, "ns", "waiting in chains that were too long to be followed",            \
            w->unfollowed_ns)                                                                      \
    INTEGER(X, messages, "", "of which both ends are known", w->m->n_messages)                     \
    INTEGER(X, ends_alone, "", "ends of messages whose other end is not in the trace",             \
            w->m->n_unmatched[AR_UNMATCHED_ALONE])                                                 \
    INTEGER(X, ends_in_doubt, "", "ends of messages that could be matched wrongly",                \
            w->m->n_unmatched[AR_UNMATCHED_NUMBER] + w->m->n_unmatched[AR_UNMATCHED_AMBIGUOUS] +   \
                w->m->n_unmatched[AR_UNMATCHED_SIZE] + w->m->n_unmatched[AR_UNMATCHED_COMM])       \
    INTEGER(X, collectives, "", "collective calls of which all members are known", w->m->n_groups) \
    INTEGER(X, ends_incomplete, "", "of other collective calls", w->m->n_incomplete)               \
    BOOLEAN(X, clocks_corrected,                                                                   \
            "clocks of several hosts, all known: nothing is received before it was sent",          \
            c->is_done && !hosts->n_unknown)                                                       \
    TEXT(X, clocks,                                                                                \
         "where clocks come from: one (of one host), compared (when MPI began and ended), "        \
         "estimated (some, from messages), not_known (some)",                                      \
         plain_text(ar_clock_hosts_name(hosts)))                                                   \
    INTEGER(X, clocks_error, "ns", "by which a clock that is known may be off",                    \
            hosts->estimated_error_ns > hosts->compared_error_ns ? hosts->estimated_error_ns       \
                                                                 : hosts->compared_error_ns)       \
    INTEGER(X, hosts_estimated, "", "whose clocks were never compared, but estimated",             \
            hosts->n_estimated)                                                                    \
    INTEGER(X, hosts_not_known, "",                                                                \
            "whose clocks are not known: their waits for others are not, "                         \
            "either",                                                                              \
            hosts->n_unknown)                                                                      \
    INTEGER(X, moved_messages, "", "that would have been received before they were sent",          \
            c->n_messages)                                                                         \
    INTEGER(X, moved_collectives, "", "ends of collective calls that came too early",              \
            c->n_collectives)                                                                      \
    INTEGER(X, largest_shift, "ns", "by which a time was moved forward for that", c->largest_ns)

static const struct ar_shown_column waiting_columns[] = {WAITING_COLUMNS(DESCRIBE)};

static union ar_cell waiting_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { WAITING_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    const struct ar_clock_correction *c = &w->m->traces->correction;
    const struct ar_clock_hosts *hosts = &w->m->traces->hosts;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        WAITING_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_trace_waiting = {
    .name = "trace_waiting",
    .key = "",
    .help = "waiting that a trace shows, and how far the trace is known",
    .about = AR_ABOUT_TRACE,
    .columns = waiting_columns,
    .n_columns = N_COLUMNS(waiting_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = waiting_cell,
};

/* ---- by line ---------------------------------------------------------------------------------- */

#define SITE_COLUMNS(X)                                                                            \
    INTEGER(X, wait, "", "its number, 1 is the largest", row + 1)                                  \
    TEXT(X, wait_class,                                                                            \
         "barrier, all, late_broadcast, early_reduce, early_scan, late_sender, late_receiver",     \
         plain_text(ar_wait_class_name(site->class)))                                              \
    OPTIONAL_TEXT(X, operation, "method of mpi4py, or MPI function without MPI_",                  \
                  plain_text(site->node == AR_NO_ID ? "" : ar_show_operation(p, site->node)))      \
    OPTIONAL_TEXT(X, file, "where the program called it",                                          \
                  plain_text(has_place ? ar_place_file(p, site->place) : ""))                      \
    INTEGER(X, line, "", "where the program called it; 0: not known",                              \
            has_place ? site->place.line : 0)                                                      \
    INTEGER(X, calls, "", "that waited", site->n)                                                  \
    INTEGER(X, waited, "ns", "of all ranks", site->waited_ns)                                      \
    INTEGER(X, indirect, "ns", "of it, while the one that was waited for waited itself",           \
            site->indirect_ns)                                                                     \
    INTEGER(X, longest, "ns", "of one call", site->longest_ns)

static const struct ar_shown_column site_columns[] = {SITE_COLUMNS(DESCRIBE)};

static union ar_cell site_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { SITE_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    const struct ar_profile *p = profile_of(w);
    const struct ar_trace_wait_site *site = &w->sites[row];
    bool has_place = site->place.function != AR_NO_ID;
    union ar_cell cell = {0};

    switch (column) {
        SITE_COLUMNS(READ)
    }
    return cell;
}

static size_t n_sites(const struct ar_subject *of)
{
    return waits_of(of)->n_sites;
}

const struct ar_shown_table ar_shown_table_trace_waits = {
    .name = "trace_waits",
    .key = "wait",
    .help = "lines of the program at which main threads waited, by a trace; the largest first",
    .about = AR_ABOUT_TRACE,
    .columns = site_columns,
    .n_columns = N_COLUMNS(site_columns),
    .n_rows = n_sites,
    .cell = site_cell,
};

/* ---- by rank ---------------------------------------------------------------------------------- */

#define RANK_COLUMNS(X)                                                                            \
    INTEGER(X, process, "", "row of processes", row)                                               \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, (uint32_t)row))                          \
    INTEGER(X, waited, "ns", "by its main thread", blame->waited_ns)                               \
    INTEGER(X, indirect, "ns", "of it, while the one that was waited for waited itself",           \
            blame->indirect_ns)                                                                    \
    INTEGER(X, caused, "ns", "that others waited while this one did something else",               \
            blame->caused_ns)                                                                      \
    INTEGER(X, on_path, "ns", "of the critical path", blame->path_ns)

static const struct ar_shown_column rank_columns[] = {RANK_COLUMNS(DESCRIBE)};

static union ar_cell rank_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { RANK_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    const struct ar_profile *p = profile_of(w);
    const struct ar_trace_blame *blame = &w->processes[row];
    union ar_cell cell = {0};

    switch (column) {
        RANK_COLUMNS(READ)
    }
    return cell;
}

static size_t n_processes(const struct ar_subject *of)
{
    return profile_of(waits_of(of))->n_processes;
}

const struct ar_shown_table ar_shown_table_trace_wait_ranks = {
    .name = "trace_wait_ranks",
    .key = "process",
    .help = "how long each process waited, made others wait, and was on the critical path",
    .about = AR_ABOUT_TRACE,
    .columns = rank_columns,
    .n_columns = N_COLUMNS(rank_columns),
    .n_rows = n_processes,
    .cell = rank_cell,
};

/* ---- one by one ------------------------------------------------------------------------------- */

#define LIST_COLUMNS(X)                                                                            \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    INTEGER(X, from, "ns", "when it began, since the run began", wait->from_ns)                    \
    INTEGER(X, until, "ns", "when the one that was waited for came", wait->until_ns)               \
    OPTIONAL(X, rank, "", "that waited", rank_of_thread(w, wait->thread))                          \
    INTEGER(X, thread, "", "of that; 0: the main one", location_of(w, wait->thread)->thread)       \
    TEXT(X, wait_class, "as in trace_waits", plain_text(ar_wait_class_name(wait->class)))          \
    OPTIONAL_TEXT(X, function, "of MPI that waited",                                               \
                  wait->node == AR_NO_ID ? text_of(p, 0)                                           \
                                         : text_of(p, function_at(p, wait->node)->name))           \
    OPTIONAL(X, late_rank, "", "that was waited for", rank_of_thread(w, wait->late))               \
    INTEGER(X, late_thread, "", "of that; 0: the main one", location_of(w, wait->late)->thread)    \
    INTEGER(X, indirect, "ns", "of it, while the one that was waited for waited itself",           \
            wait->indirect_ns)

static const struct ar_shown_column list_columns[] = {LIST_COLUMNS(DESCRIBE)};

static union ar_cell list_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { LIST_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    const struct ar_profile *p = profile_of(w);
    const struct ar_trace_wait *wait = &w->items[row];
    union ar_cell cell = {0};

    switch (column) {
        LIST_COLUMNS(READ)
    }
    return cell;
}

static size_t n_list(const struct ar_subject *of)
{
    return waits_of(of)->n;
}

const struct ar_shown_table ar_shown_table_trace_wait_list = {
    .name = "trace_wait_list",
    .key = "id",
    .help = "each call that waited, by a trace, thread by thread",
    .about = AR_ABOUT_TRACE,
    .columns = list_columns,
    .n_columns = N_COLUMNS(list_columns),
    .n_rows = n_list,
    .cell = list_cell,
};

/* ---- the critical path ------------------------------------------------------------------------ */

#define PATH_COLUMNS(X)                                                                            \
    INTEGER(X, start, "ns", "since the run began", w->start_ns)                                    \
    INTEGER(X, end, "ns", "when the last rank ended", w->end_ns)                                   \
    INTEGER(X, length, "ns", "of the critical path", w->end_ns - w->start_ns)                      \
    INTEGER(X, parts, "", "between which it goes on in another thread", w->n_path)

static const struct ar_shown_column path_columns[] = {PATH_COLUMNS(DESCRIBE)};

static union ar_cell path_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { PATH_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        PATH_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_critical_path = {
    .name = "critical_path",
    .key = "",
    .help = "the chain of work, without waiting, that lasts as long as the run",
    .about = AR_ABOUT_TRACE,
    .columns = path_columns,
    .n_columns = N_COLUMNS(path_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = path_cell,
};

/* ---- its functions ---------------------------------------------------------------------------- */

#define FUNCTION_COLUMNS(X)                                                                        \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    OPTIONAL_TEXT(X, kind, "python, c, mpi, region …",                                             \
                  plain_text(f ? ar_function_kind_name(f->kind) : ""))                             \
    OPTIONAL_TEXT(X, function, "that the thread was in itself; none: not known",                   \
                  text_of(p, f ? f->name : 0))                                                     \
    OPTIONAL_TEXT(X, file, "of the function", text_of(p, f ? f->file : 0))                         \
    INTEGER(X, line, "", "its first; 0: not known", f ? f->first_line : 0)                         \
    INTEGER(X, on_path, "ns", "of the critical path", blame->path_ns)                              \
    REAL(X, path_share, "share", "of the critical path",                                           \
         length > 0 ? (double)blame->path_ns / length : 0)                                         \
    INTEGER(X, caused, "ns", "that others waited while a thread was in it", blame->caused_ns)

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};

static union ar_cell function_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FUNCTION_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    const struct ar_profile *p = profile_of(w);
    const struct ar_trace_blame *blame = &w->functions[row];
    const struct ar_function *f = blame->item == AR_NO_ID ? NULL : &p->functions[blame->item];
    double length = (double)(w->end_ns - w->start_ns);
    union ar_cell cell = {0};

    switch (column) {
        FUNCTION_COLUMNS(READ)
    }
    return cell;
}

static size_t n_functions(const struct ar_subject *of)
{
    return waits_of(of)->n_functions;
}

const struct ar_shown_table ar_shown_table_critical_path_functions = {
    .name = "critical_path_functions",
    .key = "id",
    .help = "functions on the critical path, or while which others waited; most on the path first",
    .about = AR_ABOUT_TRACE,
    .columns = function_columns,
    .n_columns = N_COLUMNS(function_columns),
    .n_rows = n_functions,
    .cell = function_cell,
};

/* ---- its parts -------------------------------------------------------------------------------- */

#define PART_COLUMNS(X)                                                                            \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    INTEGER(X, from, "ns", "since the run began", part->from_ns)                                   \
    INTEGER(X, until, "ns", "when it goes on in another thread", part->until_ns)                   \
    OPTIONAL(X, rank, "", "on which it is", rank_of_thread(w, part->thread))                       \
    INTEGER(X, thread, "", "of that; 0: the main one", location_of(w, part->thread)->thread)       \
    OPTIONAL_TEXT(X, wait_class, "the wait that ended when it began",                              \
                  plain_text(wait ? ar_wait_class_name(wait->class) : ""))

static const struct ar_shown_column part_columns[] = {PART_COLUMNS(DESCRIBE)};

static union ar_cell part_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { PART_COLUMNS(NUMBER) };
    const struct ar_trace_waits *w = waits_of(of);
    const struct ar_trace_path_part *part = &w->path[row];
    const struct ar_trace_wait *wait = part->wait == AR_NO_ID ? NULL : &w->items[part->wait];
    union ar_cell cell = {0};

    switch (column) {
        PART_COLUMNS(READ)
    }
    return cell;
}

static size_t n_parts(const struct ar_subject *of)
{
    return waits_of(of)->n_path;
}

const struct ar_shown_table ar_shown_table_critical_path_parts = {
    .name = "critical_path_parts",
    .key = "id",
    .help = "where the critical path is, the earliest first",
    .about = AR_ABOUT_TRACE,
    .columns = part_columns,
    .n_columns = N_COLUMNS(part_columns),
    .n_rows = n_parts,
    .cell = part_cell,
};
