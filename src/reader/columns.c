// SPDX-License-Identifier: BSD-3-Clause
#include "reader/columns.h"

#include <stdio.h>
#include <string.h>

/* ---- what cells are made of ------------------------------------------------------------------ */

static struct ar_str text_of(const struct ar_view *v, uint32_t id)
{
    return ar_strtab_get(&v->p.strings, id);
}

static struct ar_str kind_name(uint32_t kind)
{
    const char *name = ar_function_kind_name(kind);

    return (struct ar_str){name, strlen(name)};
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

static uint64_t lost_in_all(const struct ar_process *process)
{
    uint64_t n = 0;

    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        n += process->n_lost[loss];
    return n;
}

/* ---- the tables: X(name, member of the cell, its type, value) --------------------------------- */

#define INTEGER(X, name, value) X(name, integer, AR_CELL_INTEGER, (int64_t)(value))
#define REAL(X, name, value) X(name, real, AR_CELL_REAL, value)
#define BOOLEAN(X, name, value) X(name, boolean, AR_CELL_BOOL, value)
#define TEXT(X, name, value) X(name, text, AR_CELL_TEXT, value)

/* How a time differs from rank to rank. */
#define SPREAD(X, stem, s)                                                                         \
    REAL(X, stem "_mean_s", seconds((s).mean))                                                     \
    REAL(X, stem "_min_s", seconds((double)(s).min))                                               \
    INTEGER(X, stem "_min_rank", rank_of(v, (s).min_process))                                      \
    REAL(X, stem "_max_s", seconds((double)(s).max))                                               \
    INTEGER(X, stem "_max_rank", rank_of(v, (s).max_process))

#define FUNCTION_COLUMNS(X)                                                                        \
    TEXT(X, "name", text_of(v, function->name))                                                    \
    TEXT(X, "file", text_of(v, function->file))                                                    \
    INTEGER(X, "line", function->first_line)                                                       \
    INTEGER(X, "calls", sums->n_calls)                                                             \
    REAL(X, "time_s", seconds(sums->time.sum))                                                     \
    REAL(X, "self_s", seconds(sums->self.sum))                                                     \
    TEXT(X, "kind", kind_name(function->kind))                                                     \
    INTEGER(X, "ranks", sums->n_processes)                                                         \
    INTEGER(X, "paths", sums->n_nodes)                                                             \
    SPREAD(X, "time", sums->time)                                                                  \
    SPREAD(X, "self", sums->self)                                                                  \
    INTEGER(X, "bytes_out", sums->bytes_out)                                                       \
    INTEGER(X, "bytes_in", sums->bytes_in)                                                         \
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
    BOOLEAN(X, "estimated", v->t.marks[id] & AR_MARK_ESTIMATED)                                    \
    BOOLEAN(X, "partial", v->t.marks[id] & AR_MARK_PARTIAL)                                        \
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
    INTEGER(X, "function_id", node->function)

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
    INTEGER(X, "lost", lost_in_all(process))                                                       \
    INTEGER(X, "lost_nodes", process->n_lost[AR_LOST_NODES])                                       \
    INTEGER(X, "lost_functions", process->n_lost[AR_LOST_FUNCTIONS])                               \
    INTEGER(X, "lost_threads", process->n_lost[AR_LOST_THREADS])                                   \
    INTEGER(X, "lost_frames", process->n_lost[AR_LOST_FRAMES])                                     \
    INTEGER(X, "lost_regions", process->n_lost[AR_LOST_REGIONS])                                   \
    REAL(X, "overhead_s", seconds((double)process->overhead_ns))

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

static void read_process(const struct ar_view *v, uint32_t id, union ar_cell *cells)
{
    const struct ar_process *process = &v->p.processes[id];

    RANK_COLUMNS(PUT)
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

static const struct ar_column function_columns[] = {FUNCTION_COLUMNS(DESCRIBE)};
static const struct ar_column tree_columns[] = {TREE_COLUMNS(DESCRIBE)};
static const struct ar_column mpi_columns[] = {MPI_COLUMNS(DESCRIBE)};
static const struct ar_column rank_columns[] = {RANK_COLUMNS(DESCRIBE)};
static const struct ar_column thread_columns[] = {THREAD_COLUMNS(DESCRIBE)};

#define COLUMNS(list) list, sizeof list / sizeof *list
#define FITS(list)                                                                                 \
    _Static_assert(sizeof list / sizeof *list <= AR_MAX_COLUMNS, "raise AR_MAX_COLUMNS")

FITS(function_columns);
FITS(tree_columns);
FITS(mpi_columns);
FITS(rank_columns);
FITS(thread_columns);

static const struct ar_table tables[] = {
    {"functions", COLUMNS(function_columns), n_functions, read_function},
    {"tree", COLUMNS(tree_columns), n_nodes, read_node},
    {"mpi", COLUMNS(mpi_columns), n_mpi_nodes, read_mpi},
    {"ranks", COLUMNS(rank_columns), n_processes, read_process},
    {"threads", COLUMNS(thread_columns), n_locations, read_location},
};

const struct ar_table *ar_table_find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    return NULL;
}

/* ---- values by node and location ------------------------------------------------------------- */

struct ar_measured ar_measured_get(const struct ar_view *v, size_t i)
{
    const struct ar_metric *metric = &v->p.metrics[i < AR_N_METRICS ? i : AR_METRIC_TIME];
    struct ar_measured m = {"self_s", AR_CELL_REAL, v->f.selves, metric->n_values};

    if (i < AR_N_METRICS) {
        bool is_time = strcmp(ar_metric_units[i], "ns") == 0;

        m.type = is_time ? AR_CELL_REAL : AR_CELL_INTEGER;
        m.values = metric->values;
        snprintf(m.name, sizeof m.name, "%s%s", ar_metric_names[i], is_time ? "_s" : "");
    }
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
