// SPDX-License-Identifier: BSD-3-Clause
#include "reader/columns.h"

#include <stdio.h>
#include <string.h>

/* ---- what cells are made of ------------------------------------------------------------------ */

static struct ar_str text_of(const struct ar_view *v, uint32_t id)
{
    return ar_strtab_get(&v->p.strings, id);
}

static struct ar_str plain_text(const char *text)
{
    return (struct ar_str){text, strlen(text)};
}

static struct ar_str kind_name(uint32_t kind)
{
    return plain_text(ar_function_kind_name(kind));
}

/* -1: not known. */
static int64_t rank_of(const struct ar_view *v, uint32_t process)
{
    if (process >= v->p.n_processes || v->p.processes[process].world_rank == AR_RANK_NONE)
        return -1;
    return v->p.processes[process].world_rank;
}

static double seconds(double ns)
{
    return ns / 1e9;
}

static const struct ar_function *function_of(const struct ar_view *v, uint32_t node)
{
    return &v->p.functions[v->p.nodes[node].function];
}

static struct ar_str caller_name(const struct ar_view *v, uint32_t node)
{
    uint32_t caller = v->caller[node];

    return text_of(v, caller == AR_NO_ID ? 0 : function_of(v, caller)->name);
}

/* The file that the line of a call is in. */
static struct ar_str caller_file(const struct ar_view *v, uint32_t node)
{
    uint32_t caller = v->caller[node];

    return text_of(v, caller == AR_NO_ID ? 0 : function_of(v, caller)->file);
}

static uint32_t line_of(const struct ar_view *v, uint32_t node)
{
    return v->p.nodes[v->site[node]].line;
}

static struct ar_str class_of(const struct ar_view *v, uint32_t node)
{
    const char *class = v->classes[v->p.nodes[node].function].name;

    return plain_text(class ? class : "");
}

/* The method of mpi4py that it is a part of. */
static struct ar_str operation_of(const struct ar_view *v, uint32_t node)
{
    do {
        node = v->p.nodes[node].parent;
    } while (node != AR_NO_ID && (function_of(v, node)->kind == AR_FUNCTION_BUILTIN ||
                                  function_of(v, node)->kind == AR_FUNCTION_MPI));
    if (node == AR_NO_ID || function_of(v, node)->kind != AR_FUNCTION_OPERATION)
        return text_of(v, 0);
    return text_of(v, function_of(v, node)->name);
}

/* -1: there is none, or it is not known. */
static int64_t peer_or_none(uint32_t peer)
{
    return peer < AR_PEER_UNKNOWN ? (int64_t)peer : -1;
}

static struct ar_str peer_kind(const struct ar_traffic *t)
{
    if (t->peer < AR_PEER_UNKNOWN || t->world_peer < AR_PEER_UNKNOWN)
        return plain_text("rank");
    return plain_text(t->peer == AR_PEER_ALL      ? "all"
                      : t->peer == AR_PEER_OTHERS ? "several"
                                                  : "unknown");
}

static struct ar_str state_of(const struct ar_process *process)
{
    const char *name = ar_process_state_name(process->state);

    return (struct ar_str){name, strlen(name)};
}

/* ---- the tables: X(name, member of the cell, its type, value) --------------------------------- */

#define INTEGER(X, name, value) X(name, integer, AR_CELL_INTEGER, (int64_t)(value))
#define REAL(X, name, value) X(name, real, AR_CELL_REAL, value)
#define BOOLEAN(X, name, value) X(name, boolean, AR_CELL_BOOL, value)
#define TEXT(X, name, value) X(name, text, AR_CELL_TEXT, value)

static bool is_message(const struct ar_profile_sync *s)
{
    return s->kind == AR_SYNC_SEND || s->kind == AR_SYNC_RECEIVE || s->kind == AR_SYNC_PROBE ||
           s->kind == AR_SYNC_TAKEN;
}

static double clock_s(const struct ar_view *v, uint32_t location, uint64_t ns)
{
    return (double)ar_process_clock_ns(&v->p.processes[v->p.locations[location].process], ns) / 1e9;
}

/* How a time differs from rank to rank. */
#define SPREAD(X, stem, s)                                                                         \
    REAL(X, stem "_mean_s", seconds((s).mean))                                                     \
    REAL(X, stem "_min_s", seconds((double)(s).min))                                               \
    INTEGER(X, stem "_min_rank", rank_of(v, (s).min_process))                                      \
    REAL(X, stem "_max_s", seconds((double)(s).max))                                               \
    INTEGER(X, stem "_max_rank", rank_of(v, (s).max_process))

/* Whether times are estimated, and the standard error of their sums over ranks. */
#define DOUBTS(X, time, self)                                                                      \
    BOOLEAN(X, "estimated", (time).doubt.marks &AR_MARK_ESTIMATED)                                 \
    REAL(X, "time_error_s", seconds(ar_doubt_error((time).doubt, 1)))                              \
    BOOLEAN(X, "self_estimated", (self).doubt.marks &AR_MARK_ESTIMATED)                            \
    REAL(X, "self_error_s", seconds(ar_doubt_error((self).doubt, 1)))

#define FUNCTION_COLUMNS(X)                                                                        \
    TEXT(X, "name", text_of(v, function->name))                                                    \
    TEXT(X, "file", text_of(v, function->file))                                                    \
    INTEGER(X, "line", function->first_line)                                                       \
    INTEGER(X, "calls", sums->n_calls)                                                             \
    REAL(X, "time_s", seconds(sums->time.sum))                                                     \
    REAL(X, "self_s", seconds(sums->self.sum))                                                     \
    TEXT(X, "kind", kind_name(function->kind))                                                     \
    INTEGER(X, "ranks", sums->n_processes)                                                         \
    INTEGER(X, "paths", v->t.of_pairs ? 0 : sums->n_nodes)                                         \
    SPREAD(X, "time", sums->time)                                                                  \
    SPREAD(X, "self", sums->self)                                                                  \
    INTEGER(X, "bytes_out", sums->bytes_out)                                                       \
    INTEGER(X, "bytes_in", sums->bytes_in)                                                         \
    DOUBTS(X, sums->time, sums->self)                                                              \
    INTEGER(X, "id", id)

#define TREE_COLUMNS(X)                                                                            \
    INTEGER(X, "id", id)                                                                           \
    INTEGER(X, "parent", node->parent == AR_NO_ID ? -1 : (int64_t)node->parent)                    \
    INTEGER(X, "depth", v->depth[id])                                                              \
    TEXT(X, "function", text_of(v, function_of(v, id)->name))                                      \
    INTEGER(X, "calls", v->t.n_calls[id])                                                          \
    REAL(X, "time_s", seconds(v->t.time[id].sum))                                                  \
    REAL(X, "self_s", seconds(v->t.self[id].sum))                                                  \
    TEXT(X, "file", caller_file(v, id))                                                            \
    INTEGER(X, "line", v->p.nodes[v->site[id]].line)                                               \
    TEXT(X, "caller", caller_name(v, id))                                                          \
    TEXT(X, "kind", kind_name(function_of(v, id)->kind))                                           \
    INTEGER(X, "function_id", node->function)                                                      \
    SPREAD(X, "time", v->t.time[id])                                                               \
    SPREAD(X, "self", v->t.self[id])                                                               \
    INTEGER(X, "bytes_out", v->t.bytes_out[id])                                                    \
    INTEGER(X, "bytes_in", v->t.bytes_in[id])                                                      \
    BOOLEAN(X, "partial", v->t.time[id].doubt.marks &AR_MARK_PARTIAL)                              \
    DOUBTS(X, v->t.time[id], v->t.self[id])                                                        \
    REAL(X, "awaited_s", seconds((double)v->t.awaited_ns[id]))

#define MPI_COLUMNS(X)                                                                             \
    TEXT(X, "function", text_of(v, function_of(v, id)->name))                                      \
    TEXT(X, "file", caller_file(v, id))                                                            \
    INTEGER(X, "line", v->p.nodes[v->site[id]].line)                                               \
    INTEGER(X, "calls", v->t.n_calls[id])                                                          \
    REAL(X, "time_s", seconds(v->t.time[id].sum))                                                  \
    INTEGER(X, "bytes_out", v->t.bytes_out[id])                                                    \
    INTEGER(X, "bytes_in", v->t.bytes_in[id])                                                      \
    TEXT(X, "caller", caller_name(v, id))                                                          \
    REAL(X, "shortest_s", seconds((double)v->shortest_ns[id]))                                     \
    REAL(X, "longest_s", seconds((double)v->longest_ns[id]))                                       \
    SPREAD(X, "time", v->t.time[id])                                                               \
    INTEGER(X, "node", id)                                                                         \
    INTEGER(X, "function_id", node->function)                                                      \
    TEXT(X, "mpi_class", class_of(v, id))                                                          \
    TEXT(X, "operation", operation_of(v, id))

#define COMMUNICATOR_COLUMNS(X)                                                                    \
    INTEGER(X, "id", id)                                                                           \
    TEXT(X, "name", text_of(v, comm->name))                                                        \
    TEXT(X, "origin", plain_text(ar_comm_origin_name(comm->origin)))                               \
    INTEGER(X, "size", comm->size)                                                                 \
    INTEGER(X, "remote_size", comm->remote_size)                                                   \
    INTEGER(X, "parent", (int64_t)comm->parent - 1)                                                \
    BOOLEAN(X, "hidden", comm->is_hidden)                                                          \
    INTEGER(X, "shown", (int64_t)ar_comm_shown(&v->p, id + 1) - 1)                                 \
    INTEGER(X, "node", (int64_t)comm->made_at - 1)                                                 \
    TEXT(X, "file", comm->made_at ? caller_file(v, comm->made_at - 1) : text_of(v, 0))             \
    INTEGER(X, "line", comm->made_at ? line_of(v, comm->made_at - 1) : 0)

#define TRAFFIC_COLUMNS(X)                                                                         \
    INTEGER(X, "node", t->node)                                                                    \
    INTEGER(X, "thread", t->location)                                                              \
    INTEGER(X, "rank", rank_of(v, ar_profile_root(&v->p, t->location)))                            \
    TEXT(X, "function", text_of(v, function_of(v, t->node)->name))                                 \
    TEXT(X, "mpi_class", class_of(v, t->node))                                                     \
    TEXT(X, "file", caller_file(v, t->node))                                                       \
    INTEGER(X, "line", line_of(v, t->node))                                                        \
    INTEGER(X, "communicator", (int64_t)t->comm - 1)                                               \
    TEXT(X, "peer_kind", peer_kind(t))                                                             \
    INTEGER(X, "peer", peer_or_none(t->peer))                                                      \
    INTEGER(X, "world_peer", peer_or_none(t->world_peer))                                          \
    INTEGER(X, "size_class", t->size_class)                                                        \
    INTEGER(X, "messages_out", t->n_out)                                                           \
    INTEGER(X, "bytes_out", t->bytes_out)                                                          \
    INTEGER(X, "messages_in", t->n_in)                                                             \
    INTEGER(X, "bytes_in", t->bytes_in)                                                            \
    REAL(X, "time_s", seconds((double)t->ns))

#define REQUEST_COLUMNS(X)                                                                         \
    INTEGER(X, "node", c->node)                                                                    \
    INTEGER(X, "thread", c->location)                                                              \
    INTEGER(X, "rank", rank_of(v, ar_profile_root(&v->p, c->location)))                            \
    TEXT(X, "function", text_of(v, function_of(v, c->node)->name))                                 \
    TEXT(X, "file", caller_file(v, c->node))                                                       \
    INTEGER(X, "line", line_of(v, c->node))                                                        \
    INTEGER(X, "posted_node", c->posted)                                                           \
    TEXT(X, "posted_function", text_of(v, function_of(v, c->posted)->name))                        \
    TEXT(X, "posted_file", caller_file(v, c->posted))                                              \
    INTEGER(X, "posted_line", line_of(v, c->posted))                                               \
    INTEGER(X, "requests", c->n)                                                                   \
    REAL(X, "in_flight_s", seconds((double)c->flight_ns))                                          \
    REAL(X, "waited_s", seconds((double)c->waited_ns))                                             \
    REAL(X, "exposed_s", seconds((double)c->exposed_ns))

/* Times are on the clock of rank 0, where that was compared: see clock_ns. */
#define SYNC_COLUMNS(X)                                                                            \
    INTEGER(X, "id", id)                                                                           \
    INTEGER(X, "rank", rank_of(v, ar_profile_root(&v->p, s->location)))                            \
    INTEGER(X, "thread", s->location)                                                              \
    TEXT(X, "kind", plain_text(ar_sync_kind_name(s->kind)))                                        \
    BOOLEAN(X, "nonblocking", s->flags &AR_SYNC_NONBLOCKING)                                       \
    INTEGER(X, "communicator", (int64_t)s->comm - 1)                                               \
    INTEGER(X, "sequence", s->kind < AR_SYNC_SEND ? (int64_t)s->sequence : -1)                     \
    INTEGER(X, "tag", is_message(s) ? (int64_t)(int32_t)s->sequence : -1)                          \
    INTEGER(X, "peer", peer_or_none(s->peer))                                                      \
    INTEGER(X, "node", s->node)                                                                    \
    TEXT(X, "function", text_of(v, function_of(v, s->node)->name))                                 \
    TEXT(X, "file", caller_file(v, s->node))                                                       \
    INTEGER(X, "line", line_of(v, s->node))                                                        \
    INTEGER(X, "posted_node", (int64_t)s->posted - 1)                                              \
    REAL(X, "posted_s", s->posted ? clock_s(v, s->location, s->post_ns) : -1)                      \
    REAL(X, "enter_s", clock_s(v, s->location, s->enter_ns))                                       \
    REAL(X, "exit_s", clock_s(v, s->location, s->exit_ns))                                         \
    INTEGER(X, "first_part", v->first_part[id])                                                    \
    INTEGER(X, "parts", s->n_parts)

#define SYNC_PART_COLUMNS(X)                                                                       \
    INTEGER(X, "id", row)                                                                          \
    INTEGER(X, "node", part->node == AR_NO_ID ? -1 : (int64_t)part->node)                          \
    TEXT(X, "function", part_text(v, part, false))                                                 \
    TEXT(X, "file", part_text(v, part, true))                                                      \
    BOOLEAN(X, "rest", part->is_rest != 0)                                                         \
    REAL(X, "self_s", seconds((double)part->ns))

#define RANK_COLUMNS(X)                                                                            \
    INTEGER(X, "id", id)                                                                           \
    INTEGER(X, "rank", rank_of(v, id))                                                             \
    INTEGER(X, "world_size", process->world_size)                                                  \
    TEXT(X, "host", text_of(v, process->host))                                                     \
    INTEGER(X, "pid", process->pid)                                                                \
    REAL(X, "start_real_s", seconds((double)process->start_real_ns))                               \
    REAL(X, "wall_s", seconds((double)process->wall_ns))                                           \
    REAL(X, "mpi_s", seconds((double)v->process_mpi_ns[id]))                                       \
    BOOLEAN(X, "finished", process->state == AR_PROCESS_FINISHED)                                  \
    INTEGER(X, "lost", ar_profile_lost_in_all(&v->p, id))                                          \
    INTEGER(X, "lost_nodes", ar_profile_lost(&v->p, id, AR_LOST_NODES))                            \
    INTEGER(X, "lost_functions", ar_profile_lost(&v->p, id, AR_LOST_FUNCTIONS))                    \
    INTEGER(X, "lost_threads", ar_profile_lost(&v->p, id, AR_LOST_THREADS))                        \
    INTEGER(X, "lost_frames", ar_profile_lost(&v->p, id, AR_LOST_FRAMES))                          \
    INTEGER(X, "lost_regions", ar_profile_lost(&v->p, id, AR_LOST_REGIONS))                        \
    INTEGER(X, "lost_processes", ar_profile_lost(&v->p, id, AR_LOST_PROCESSES))                    \
    INTEGER(X, "lost_traffic", ar_profile_lost(&v->p, id, AR_LOST_TRAFFIC))                        \
    INTEGER(X, "lost_requests", ar_profile_lost(&v->p, id, AR_LOST_REQUESTS))                      \
    INTEGER(X, "lost_syncs", ar_profile_lost(&v->p, id, AR_LOST_SYNCS))                            \
    INTEGER(X, "lost_communicators", ar_profile_lost(&v->p, id, AR_LOST_COMMS))                    \
    REAL(X, "overhead_s", seconds((double)process->overhead_ns))

#define PROCESS_COLUMNS(X)                                                                         \
    INTEGER(X, "id", id)                                                                           \
    INTEGER(X, "rank_id", process->root)                                                           \
    INTEGER(X, "rank", rank_of(v, id))                                                             \
    TEXT(X, "host", text_of(v, process->host))                                                     \
    INTEGER(X, "pid", process->pid)                                                                \
    INTEGER(X, "parent_pid", process->parent_pid)                                                  \
    TEXT(X, "command", text_of(v, process->command))                                               \
    TEXT(X, "state", state_of(process))                                                            \
    REAL(X, "start_real_s", seconds((double)process->start_real_ns))                               \
    REAL(X, "wall_s", seconds((double)process->wall_ns))                                           \
    INTEGER(X, "lost", ar_profile_lost_in_all(&v->p, id))                                          \
    REAL(X, "overhead_s", seconds((double)process->overhead_ns))                                   \
    BOOLEAN(X, "clock_compared", process->clock_links[AR_CLOCK_AT_INIT].at_ns)                     \
    REAL(X, "clock_offset_s", seconds((double)process->clock_links[AR_CLOCK_AT_INIT].offset_ns))   \
    REAL(X, "clock_error_s", seconds((double)process->clock_links[AR_CLOCK_AT_INIT].error_ns))     \
    BOOLEAN(X, "clock_compared_again", process->clock_links[AR_CLOCK_AT_FINALIZE].at_ns)           \
    REAL(X, "clock_offset_end_s",                                                                  \
         seconds((double)process->clock_links[AR_CLOCK_AT_FINALIZE].offset_ns))                    \
    REAL(X, "clock_error_end_s",                                                                   \
         seconds((double)process->clock_links[AR_CLOCK_AT_FINALIZE].error_ns))

#define THREAD_COLUMNS(X)                                                                          \
    INTEGER(X, "id", id)                                                                           \
    INTEGER(X, "process", location->process)                                                       \
    INTEGER(X, "rank", rank_of(v, location->process))                                              \
    INTEGER(X, "thread", location->thread)                                                         \
    TEXT(X, "name", text_of(v, location->name))                                                    \
    REAL(X, "time_s", seconds((double)v->recorded_ns[id]))                                         \
    REAL(X, "mpi_s", seconds((double)v->mpi_ns[id]))

/* ---- reading a row --------------------------------------------------------------------------- */

#define PUT(name, member, type, value) (cells++)->member = (value);

static void read_function(const struct ar_view *v, uint32_t row, union ar_cell *cells)
{
    uint32_t id = v->functions[row];
    const struct ar_function *function = &v->p.functions[id];
    const struct ar_function_sums *sums = &v->f.sums[id];

    FUNCTION_COLUMNS(PUT)
}

static void read_node(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_profile_node *node = &v->p.nodes[id];

    TREE_COLUMNS(PUT)
}

static void read_mpi(const struct ar_view *v, uint32_t row, union ar_cell *cells)
{
    uint32_t id = v->mpi_nodes[row];
    const struct ar_profile_node *node = &v->p.nodes[id];

    MPI_COLUMNS(PUT)
}

static void read_communicator(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_comm *comm = &v->p.comms[id];

    COMMUNICATOR_COLUMNS(PUT)
}

static void read_traffic(const struct ar_view *v, uint32_t row, union ar_cell *cells)
{
    const struct ar_traffic *t = ar_traffic_at(&v->p, row);

    TRAFFIC_COLUMNS(PUT)
}

static void read_request(const struct ar_view *v, uint32_t row, union ar_cell *cells)
{
    const struct ar_completed *c = ar_completed_at(&v->p, row);

    REQUEST_COLUMNS(PUT)
}

static void read_sync(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_profile_sync *s = &v->syncs[id];

    SYNC_COLUMNS(PUT)
}

static struct ar_str part_text(const struct ar_view *v, const struct ar_profile_part *part,
                               bool file)
{
    if (part->node == AR_NO_ID)
        return plain_text("");

    const struct ar_function *f = function_of(v, part->node);

    return text_of(v, file ? f->file : f->name);
}

static void read_sync_part(const struct ar_view *v, uint32_t row, union ar_cell *cells)
{
    const struct ar_profile_part *part = &v->parts[row];

    SYNC_PART_COLUMNS(PUT)
}

static void read_rank(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_process *process = &v->p.processes[id];

    RANK_COLUMNS(PUT)
}

static void read_process(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_process *process = &v->p.processes[id];

    PROCESS_COLUMNS(PUT)
}

static void read_location(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_location *location = &v->p.locations[id];

    THREAD_COLUMNS(PUT)
}

static size_t n_functions(const struct ar_view *v)
{
    return v->n_functions;
}

static size_t n_nodes(const struct ar_view *v)
{
    return v->p.n_nodes;
}

static size_t n_mpi_nodes(const struct ar_view *v)
{
    return v->n_mpi_nodes;
}

static size_t n_communicators(const struct ar_view *v)
{
    return v->p.n_comms;
}

static size_t n_traffic(const struct ar_view *v)
{
    return v->p.n_traffic;
}

static size_t n_requests(const struct ar_view *v)
{
    return v->p.n_completed;
}

static size_t n_syncs(const struct ar_view *v)
{
    return v->n_syncs;
}

static size_t n_sync_parts(const struct ar_view *v)
{
    return v->n_parts;
}

static size_t n_ranks(const struct ar_view *v)
{
    return v->p.n_roots;
}

static size_t n_processes(const struct ar_view *v)
{
    return v->p.n_processes;
}

static size_t n_locations(const struct ar_view *v)
{
    return v->p.n_locations;
}

/* ---- finding a table ------------------------------------------------------------------------- */

#define DESCRIBE(name, member, type, value) {name, type},

static const struct ar_shown_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};
static const struct ar_shown_column tree_columns[] = {TREE_COLUMNS(DESCRIBE)};
static const struct ar_shown_column mpi_columns[] = {MPI_COLUMNS(DESCRIBE)};
static const struct ar_shown_column communicator_columns[] = {COMMUNICATOR_COLUMNS(DESCRIBE)};
static const struct ar_shown_column traffic_columns[] = {TRAFFIC_COLUMNS(DESCRIBE)};
static const struct ar_shown_column request_columns[] = {REQUEST_COLUMNS(DESCRIBE)};
static const struct ar_shown_column sync_columns[] = {SYNC_COLUMNS(DESCRIBE)};
static const struct ar_shown_column sync_part_columns[] = {SYNC_PART_COLUMNS(DESCRIBE)};
static const struct ar_shown_column rank_columns[] = {RANK_COLUMNS(DESCRIBE)};
static const struct ar_shown_column process_columns[] = {PROCESS_COLUMNS(DESCRIBE)};
static const struct ar_shown_column thread_columns[] = {THREAD_COLUMNS(DESCRIBE)};

#define COLUMNS(list) list, sizeof list / sizeof *list
#define FITS(list)                                                                                 \
    _Static_assert(sizeof list / sizeof *list <= AR_MAX_SHOWN_COLUMNS, "raise "                    \
                                                                       "AR_MAX_SHOWN_COLUMNS")

FITS(function_columns);
FITS(tree_columns);
FITS(mpi_columns);
FITS(communicator_columns);
FITS(traffic_columns);
FITS(request_columns);
FITS(sync_columns);
FITS(sync_part_columns);
FITS(rank_columns);
FITS(process_columns);
FITS(thread_columns);

static const struct ar_shown_table tables[] = {
    {"functions", COLUMNS(function_columns), n_functions, read_function},
    {"tree", COLUMNS(tree_columns), n_nodes, read_node},
    {"mpi", COLUMNS(mpi_columns), n_mpi_nodes, read_mpi},
    {"communicators", COLUMNS(communicator_columns), n_communicators, read_communicator},
    {"traffic", COLUMNS(traffic_columns), n_traffic, read_traffic},
    {"requests", COLUMNS(request_columns), n_requests, read_request},
    {"syncs", COLUMNS(sync_columns), n_syncs, read_sync},
    {"sync_parts", COLUMNS(sync_part_columns), n_sync_parts, read_sync_part},
    {"ranks", COLUMNS(rank_columns), n_ranks, read_rank},
    {"processes", COLUMNS(process_columns), n_processes, read_process},
    {"threads", COLUMNS(thread_columns), n_locations, read_location},
};

const struct ar_shown_table *ar_shown_table_find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    return NULL;
}

/* ---- values by node and location ------------------------------------------------------------- */

struct ar_measured ar_measured_get(const struct ar_view *v, size_t i)
{
    bool is_time = strcmp(ar_metric_kinds[i].unit, "ns") == 0, is_self = i == AR_METRIC_SELF;
    const struct ar_metric *metric = &v->p.metrics[is_self ? AR_METRIC_TIME : i];
    struct ar_measured m = {
        .type = is_time ? AR_CELL_REAL : AR_CELL_INTEGER,
        .values = is_self ? v->selves : metric->values,
        .n_values = metric->n_values,
    };

    snprintf(m.name, sizeof m.name, "%s%s", ar_metric_kinds[i].name,
             is_time                   ? "_s"
             : i == AR_METRIC_VARIANCE ? "_us2"
                                       : "");
    return m;
}

void ar_measured_nodes(const struct ar_measured *m, uint32_t *out)
{
    for (size_t i = 0; i < m->n_values; i++)
        out[i] = m->values[i].node;
}

void ar_measured_locations(const struct ar_measured *m, uint32_t *out)
{
    for (size_t i = 0; i < m->n_values; i++)
        out[i] = m->values[i].location;
}

void ar_measured_values(const struct ar_measured *m, void *out)
{
    double *reals = out;
    int64_t *integers = out;

    for (size_t i = 0; i < m->n_values; i++)
        if (m->type == AR_CELL_REAL)
            reals[i] = seconds((double)m->values[i].value);
        else
            integers[i] = (int64_t)m->values[i].value;
}
