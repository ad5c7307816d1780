// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tables of MPI as it was recorded: mpi (call paths that are MPI calls), communicators, messages, requests, synchronisations and
 * what was done before them. Those that are summed up in several ways are in tables_mpi_sums.c.
 */
#include "analysis/mpi_class.h"
#include "run/cells.h"

#include <stdlib.h>

/* ---- what cells are made of ------------------------------------------------------------------- */

static struct ar_str class_at(const struct ar_form *f, uint32_t node)
{
    const char *class = f->mpi_classes[f->p->nodes[node].function].name;

    return plain_text(class ? class : "");
}

/* The method of mpi4py that it is a part of. */
static struct ar_str operation_at(const struct ar_profile *p, uint32_t node)
{
    do {
        node = p->nodes[node].parent;
    } while (node != AR_NO_ID && (function_at(p, node)->kind == AR_FUNCTION_BUILTIN ||
                                  function_at(p, node)->kind == AR_FUNCTION_MPI));
    if (node == AR_NO_ID || function_at(p, node)->kind != AR_FUNCTION_OPERATION)
        return text_of(p, 0);
    return text_of(p, function_at(p, node)->name);
}

/* -1: there is none, or it is not known. */
static int64_t peer_or_none(uint32_t peer)
{
    return peer < AR_PEER_UNKNOWN ? (int64_t)peer : -1;
}

static int64_t rank_at(const struct ar_profile *p, uint32_t location)
{
    return rank_of(p, ar_profile_root(p, location));
}

static enum ar_status find_classes(struct ar_form *f)
{
    const struct ar_profile *p = f->p;

    if (f->mpi_classes)
        return AR_OK;
    f->mpi_classes = calloc(p->n_functions + 1, sizeof *f->mpi_classes);
    for (size_t i = 0; f->mpi_classes && i < p->n_functions; i++)
        if (p->functions[i].kind == AR_FUNCTION_MPI)
            f->mpi_classes[i] = ar_mpi_class_of(ar_strtab_text(&p->strings, p->functions[i].name));
    return f->mpi_classes ? AR_OK : AR_NOMEM;
}

/* Classes, places and, as totals put it in order, the profile. */
static enum ar_status prepare_calls(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    enum ar_tree_form form = run->choice.form;

    if (!ar_run_totals(run, form) || !ar_run_places(run, form))
        return AR_NOMEM;
    return find_classes(run->shown);
}

/* ---- call paths ------------------------------------------------------------------------------- */

#define MPI_COLUMNS(X)                                                                             \
    TEXT(X, function, "such as MPI_Allreduce", text_of(p, function_at(p, id)->name))               \
    OPTIONAL_TEXT(X, file, "where the program called it", file_of(f, id))                          \
    INTEGER(X, line, "", "where the program called it; 0: not known", line_of(f, id))              \
    INTEGER(X, calls, "", "of all ranks", t->n_calls[row])                                         \
    SPREAD(X, time, "with what it calls", t->time[row])                                            \
    INTEGER(X, bytes_out, "bytes", "sent", t->bytes_out[row])                                      \
    INTEGER(X, bytes_in, "bytes", "received", t->bytes_in[row])                                    \
    OPTIONAL_TEXT(X, caller, "the Python function that called it", caller_of(f, id))               \
    INTEGER(X, shortest, "ns", "of a single call on any rank; 0: none has ended",                  \
            f->call_times.shortest_ns[row])                                                        \
    INTEGER(X, longest, "ns", "of a single call on any rank; 0: none has ended",                   \
            f->call_times.longest_ns[row])                                                         \
    INTEGER(X, node, "", "row of tree", row)                                                       \
    INTEGER(X, function_id, "", "number of the function", p->nodes[row].function)                  \
    TEXT(X, mpi_class, "p2p, collective, wait, probe, …; other", class_at(f, id))                  \
    OPTIONAL_TEXT(X, operation, "the method of mpi4py that it is a part of", operation_at(p, id))

static const struct ar_shown_column mpi_columns[] = {MPI_COLUMNS(DESCRIBE)};

static union ar_cell mpi_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { MPI_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_totals *t = &f->totals;
    uint32_t id = (uint32_t)row;
    union ar_cell cell = {0};

    switch (column) {
        MPI_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status order_calls(struct ar_form *f)
{
    size_t n = f->p->n_nodes;
    double *keys = malloc((n + 1) * sizeof *keys);
    bool *is_shown = malloc(n + 1);

    for (uint32_t i = 0; keys && is_shown && i < n; i++) {
        keys[i] = f->totals.time[i].sum;
        is_shown[i] = ar_totals_is_mpi(&f->totals, f->p, i);
    }
    if (keys && is_shown)
        f->mpi_rows = ar_rows_by(keys, is_shown, n, &f->n_mpi_rows);
    free(keys);
    free(is_shown);
    return f->mpi_rows ? AR_OK : AR_NOMEM;
}

static enum ar_status prepare_mpi(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    if (prepare_calls(of) < 0 || !ar_run_call_times(run, run->choice.form))
        return AR_NOMEM;
    return run->shown->mpi_rows ? AR_OK : order_calls(run->shown);
}

static size_t n_nodes(const struct ar_subject *of)
{
    return of->run->shown->p->n_nodes;
}

static const uint32_t *order_mpi(const struct ar_subject *of, size_t *n)
{
    const struct ar_run *run = of->run;

    *n = run->shown->n_mpi_rows;
    return run->shown->mpi_rows;
}

const struct ar_shown_table ar_shown_table_mpi = {
    .name = "mpi",
    .key = "node",
    .help = "call paths that end in an MPI call; the longest time first",
    .columns = mpi_columns,
    .n_columns = N_COLUMNS(mpi_columns),
    .prepare = prepare_mpi,
    .n_rows = n_nodes,
    .cell = mpi_cell,
    .order = order_mpi,
};

/* ---- communicators ---------------------------------------------------------------------------- */

#define COMMUNICATOR_COLUMNS(X)                                                                    \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    OPTIONAL_TEXT(X, name, "its name", text_of(p, comm->name))                                     \
    TEXT(X, origin,                                                                                \
         "world, self, dup, split, create, group, topology, intercomm, merge, spawn, "             \
         "connect, parent, window, file, unknown",                                                 \
         plain_text(ar_comm_origin_name(comm->origin)))                                            \
    INTEGER(X, size, "", "ranks in it", comm->size)                                                \
    INTEGER(X, remote_size, "", "ranks in the other group; 0: there is none", comm->remote_size)   \
    OPTIONAL(X, parent, "", "row of the one it was made of", (int64_t)comm->parent - 1)            \
    BOOLEAN(X, hidden, "mpi4py made it for itself", comm->is_hidden != 0)                          \
    INTEGER(X, shown, "", "row of the one that is shown in its place",                             \
            (int64_t)ar_comm_shown(p, (uint32_t)row + 1) - 1)                                      \
    OPTIONAL(X, node, "", "row of tree: where it was made", (int64_t)comm->made_at - 1)            \
    OPTIONAL_TEXT(X, file, "where it was made",                                                    \
                  comm->made_at ? file_of(f, comm->made_at - 1) : text_of(p, 0))                   \
    INTEGER(X, line, "", "where it was made; 0: not known",                                        \
            comm->made_at ? line_of(f, comm->made_at - 1) : 0)                                     \
    OPTIONAL_TEXT(X, caller, "the Python function that made it",                                   \
                  comm->made_at ? caller_of(f, comm->made_at - 1) : text_of(p, 0))

static const struct ar_shown_column communicator_columns[] = {COMMUNICATOR_COLUMNS(DESCRIBE)};

static union ar_cell communicator_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { COMMUNICATOR_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_comm *comm = &p->comms[row];
    union ar_cell cell = {0};

    switch (column) {
        COMMUNICATOR_COLUMNS(READ)
    }
    return cell;
}

static size_t n_communicators(const struct ar_subject *of)
{
    return of->run->shown->p->n_comms;
}

const struct ar_shown_table ar_shown_table_communicators = {
    .name = "communicators",
    .key = "id",
    .help = "communicators, windows and files; the same on all their members",
    .columns = communicator_columns,
    .n_columns = N_COLUMNS(communicator_columns),
    .prepare = prepare_calls,
    .n_rows = n_communicators,
    .cell = communicator_cell,
};

/* ---- messages --------------------------------------------------------------------------------- */

#define MESSAGE_COLUMNS(X)                                                                         \
    INTEGER(X, node, "", "row of tree", m->node)                                                   \
    INTEGER(X, thread, "", "row of threads", m->location)                                          \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_at(p, m->location))                            \
    TEXT(X, function, "such as MPI_Send", text_of(p, function_at(p, m->node)->name))               \
    TEXT(X, mpi_class, "as in mpi", class_at(f, m->node))                                          \
    OPTIONAL_TEXT(X, file, "where the program called it", file_of(f, m->node))                     \
    INTEGER(X, line, "", "where the program called it; 0: not known", line_of(f, m->node))         \
    OPTIONAL(X, communicator, "", "row of communicators", (int64_t)m->comm - 1)                    \
    TEXT(X, peer_kind,                                                                             \
         "rank; all: of collective calls without a root; several: there was no room "              \
         "to tell them apart; unknown",                                                            \
         plain_text(ar_peer_kind_name(m->peer, m->world_peer)))                                    \
    OPTIONAL(X, peer, "", "rank in the communicator", peer_or_none(m->peer))                       \
    OPTIONAL(X, world_peer, "", "rank in MPI_COMM_WORLD", peer_or_none(m->world_peer))             \
    INTEGER(X, size_class, "", "0: no bytes, k: 2^(k-1) to 2^k - 1 bytes", m->size_class)          \
    INTEGER(X, messages_out, "", "sent", m->n_out)                                                 \
    INTEGER(X, bytes_out, "bytes", "sent", m->bytes_out)                                           \
    INTEGER(X, messages_in, "", "received", m->n_in)                                               \
    INTEGER(X, bytes_in, "bytes", "received", m->bytes_in)                                         \
    INTEGER(X, time, "ns", "of the calls whose messages these are", m->ns)

static const struct ar_shown_column message_columns[] = {MESSAGE_COLUMNS(DESCRIBE)};

static union ar_cell message_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { MESSAGE_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_traffic *m = ar_traffic_at(p, row);
    union ar_cell cell = {0};

    switch (column) {
        MESSAGE_COLUMNS(READ)
    }
    return cell;
}

static size_t n_messages(const struct ar_subject *of)
{
    return of->run->shown->p->n_traffic;
}

const struct ar_shown_table ar_shown_table_messages = {
    .name = "messages",
    .key = "node, thread, communicator, peer, world_peer, size_class",
    .help = "messages by call path, thread, communicator, peer and class of sizes",
    .columns = message_columns,
    .n_columns = N_COLUMNS(message_columns),
    .prepare = prepare_calls,
    .n_rows = n_messages,
    .cell = message_cell,
};

/* ---- requests --------------------------------------------------------------------------------- */

#define REQUEST_COLUMNS(X)                                                                         \
    INTEGER(X, node, "", "row of tree: the call that completed them", c->node)                     \
    INTEGER(X, thread, "", "row of threads", c->location)                                          \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_at(p, c->location))                            \
    TEXT(X, function, "that completed them", text_of(p, function_at(p, c->node)->name))            \
    OPTIONAL_TEXT(X, file, "where the program called it", file_of(f, c->node))                     \
    INTEGER(X, line, "", "where the program called it; 0: not known", line_of(f, c->node))         \
    INTEGER(X, posted_node, "", "row of tree: the call that posted them", c->posted)               \
    TEXT(X, posted_function, "that posted them", text_of(p, function_at(p, c->posted)->name))      \
    OPTIONAL_TEXT(X, posted_file, "where the program called that", file_of(f, c->posted))          \
    INTEGER(X, posted_line, "", "where the program called that; 0: not known",                     \
            line_of(f, c->posted))                                                                 \
    INTEGER(X, requests, "", "how many", c->n)                                                     \
    INTEGER(X, in_flight, "ns", "from post to end, of all of them", c->flight_ns)                  \
    INTEGER(X, waited, "ns", "of the calls that completed them; requests of one call share it",    \
            c->waited_ns)                                                                          \
    INTEGER(X, exposed, "ns", "of each one's flight, within the call that completed it",           \
            c->exposed_ns)                                                                         \
    INTEGER(X, hidden, "ns", "of each one's flight, before that call",                             \
            c->exposed_ns < c->flight_ns ? c->flight_ns - c->exposed_ns : 0)

static const struct ar_shown_column request_columns[] = {REQUEST_COLUMNS(DESCRIBE)};

static union ar_cell request_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { REQUEST_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_completed *c = ar_completed_at(p, row);
    union ar_cell cell = {0};

    switch (column) {
        REQUEST_COLUMNS(READ)
    }
    return cell;
}

static size_t n_requests(const struct ar_subject *of)
{
    return of->run->shown->p->n_completed;
}

const struct ar_shown_table ar_shown_table_requests = {
    .name = "requests",
    .key = "node, thread, posted_node",
    .help = "requests by the call path that completed them, thread, and call path that posted them",
    .columns = request_columns,
    .n_columns = N_COLUMNS(request_columns),
    .prepare = prepare_calls,
    .n_rows = n_requests,
    .cell = request_cell,
};

/* ---- synchronisations ------------------------------------------------------------------------- */

static bool is_message(const struct ar_profile_sync *s)
{
    return s->kind == AR_SYNC_SEND || s->kind == AR_SYNC_RECEIVE || s->kind == AR_SYNC_PROBE ||
           s->kind == AR_SYNC_TAKEN;
}

/* On the clock of rank 0, where that was compared. */
static int64_t clock_ns(const struct ar_profile *p, uint32_t location, uint64_t ns)
{
    return ar_process_clock_ns(&p->processes[p->locations[location].process], ns);
}

#define SYNC_COLUMNS(X)                                                                            \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_at(p, s->location))                            \
    INTEGER(X, thread, "", "row of threads", s->location)                                          \
    TEXT(X, kind,                                                                                  \
         "barrier, all (each rank waits for all others), from_root, to_root, scan, send, "         \
         "receive, probe, taken (a nonblocking send was waited for), start (MPI_Init), "           \
         "end (MPI_Finalize), post (waits for no rank), unknown",                                  \
         plain_text(ar_sync_kind_name(s->kind)))                                                   \
    BOOLEAN(X, nonblocking, "it was posted, and waited for later; a send: it did not wait",        \
            (s->flags & AR_SYNC_NONBLOCKING) != 0)                                                 \
    OPTIONAL(X, communicator, "", "row of communicators", (int64_t)s->comm - 1)                    \
    OPTIONAL(X, sequence, "", "of the collective calls on it, from 0: the same on all ranks",      \
             s->kind < AR_SYNC_SEND ? (int64_t)s->sequence : -1)                                   \
    OPTIONAL(X, tag, "", "of messages", is_message(s) ? (int64_t)(int32_t)s->sequence : -1)        \
    OPTIONAL(X, peer, "", "of messages, or the root: rank in the communicator",                    \
             peer_or_none(s->peer))                                                                \
    INTEGER(X, node, "", "row of tree: the call that waited", s->node)                             \
    TEXT(X, function, "that waited", text_of(p, function_at(p, s->node)->name))                    \
    OPTIONAL_TEXT(X, file, "where the program called it", file_of(f, s->node))                     \
    INTEGER(X, line, "", "where the program called it; 0: not known", line_of(f, s->node))         \
    OPTIONAL(X, posted_node, "", "row of tree: where it was posted; none: it blocked",             \
             (int64_t)s->posted - 1)                                                               \
    REAL(X, posted, "ns", "when it was posted, on the clock of rank 0; none: it blocked",          \
         s->posted ? (double)clock_ns(p, s->location, s->post_ns) : NAN)                           \
    INTEGER(X, enter, "ns", "when the call that waited began, on the clock of rank 0",             \
            clock_ns(p, s->location, s->enter_ns))                                                 \
    INTEGER(X, exit, "ns", "when it ended", clock_ns(p, s->location, s->exit_ns))                  \
    INTEGER(X, first_cause, "", "row of sync_causes", f->syncs.first_part[row])                    \
    INTEGER(X, causes, "", "rows of sync_causes from there on", s->n_parts)

static const struct ar_shown_column sync_columns[] = {SYNC_COLUMNS(DESCRIBE)};

static union ar_cell sync_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { SYNC_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_form *f = run->shown;
    const struct ar_profile *p = f->p;
    const struct ar_profile_sync *s = &f->syncs.syncs[row];
    union ar_cell cell = {0};

    switch (column) {
        SYNC_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_syncs(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return prepare_calls(of) == AR_OK && ar_run_syncs(run, run->choice.form) ? AR_OK : AR_NOMEM;
}

static size_t n_syncs(const struct ar_subject *of)
{
    return of->run->shown->syncs.n_syncs;
}

const struct ar_shown_table ar_shown_table_synchronisations = {
    .name = "synchronisations",
    .key = "id",
    .help = "calls that may have waited for other ranks, thread by thread, as they ended",
    .columns = sync_columns,
    .n_columns = N_COLUMNS(sync_columns),
    .prepare = prepare_syncs,
    .n_rows = n_syncs,
    .cell = sync_cell,
};

static struct ar_str cause_text(const struct ar_profile *p, const struct ar_profile_part *part,
                                bool file)
{
    if (part->node == AR_NO_ID)
        return plain_text("");
    return text_of(p, file ? function_at(p, part->node)->file : function_at(p, part->node)->name);
}

#define SYNC_CAUSE_COLUMNS(X)                                                                      \
    INTEGER(X, id, "", "row of this table", row)                                                   \
    OPTIONAL(X, node, "", "row of tree; none: not known", id_or_none(part->node))                  \
    OPTIONAL_TEXT(X, function, "that the thread was in", cause_text(p, part, false))               \
    OPTIONAL_TEXT(X, file, "where the function is defined", cause_text(p, part, true))             \
    BOOLEAN(X, rest, "what is smaller, in that function or below it", part->is_rest != 0)          \
    INTEGER(X, self, "ns", "of the function itself, to 1/255 of the interval", part->ns)

static const struct ar_shown_column cause_columns[] = {SYNC_CAUSE_COLUMNS(DESCRIBE)};

static union ar_cell cause_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { SYNC_CAUSE_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->shown->p;
    const struct ar_profile_part *part = &run->shown->syncs.parts[row];
    union ar_cell cell = {0};

    switch (column) {
        SYNC_CAUSE_COLUMNS(READ)
    }
    return cell;
}

static size_t n_causes(const struct ar_subject *of)
{
    return of->run->shown->syncs.n_parts;
}

const struct ar_shown_table ar_shown_table_sync_causes = {
    .name = "sync_causes",
    .key = "id",
    .help = "on what a thread spent its time before a synchronisation, the largest first",
    .columns = cause_columns,
    .n_columns = N_COLUMNS(cause_columns),
    .prepare = prepare_syncs,
    .n_rows = n_causes,
    .cell = cause_cell,
};
