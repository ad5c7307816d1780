// SPDX-License-Identifier: BSD-3-Clause
/*
 * Files of jobs that never ran, for figures that no machine here could record: live files as
 * format/livefile.h has them, one a rank, or the run that is made of them.
 *
 *     synthetic live DIR  --ranks 128 --nodes 3000
 *     synthetic run  FILE --ranks 10240 --nodes 5000 --share 0.33 --classes 4 --mpi --seed 7
 *     synthetic run  FILE --ranks 64 --nodes 200 --mpi --waits 1000000
 *     synthetic live DIR  --ranks 256 --nodes 200 --mpi --events 5000000
 *
 * All ranks have the same program: a tree of --nodes nodes of --functions functions. A tenth of it, the
 * trunk, is on every rank; of the rest, which hangs below it, each rank has as much as makes its share
 * of all nodes --share. Ranks of one of --classes classes have the same nodes and calls; with 0 classes
 * each is one of its own. Times are a class's, give or take a tenth on each rank. With --mpi every
 * tenth node is an MPI call with bytes, and a message to either neighbour. With --waits a run has as many
 * operations that synchronise: seven of eight are an Allreduce, the eighth an exchange between neighbours, after
 * some 50 us of work each. With --events live files have a trace, of as many events in all: calls of some 1 us, and now and then a long one. A host has 128 ranks, or --per-host. Everything follows from --seed: the same options make the same bytes.
 */
#include "base/bytes.h"
#include "base/idmap.h"
#include "format/live_profile.h"
#include "format/livefile.h"
#include "format/profile.h"
#include "format/runfile.h"
#include "format/trace_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_TICKS 1000000u
#define START_REAL_NS 1700000000000000000u
#define LINES_PER_FUNCTION 20

struct job {
    uint32_t n_ranks, n_nodes, n_functions, n_classes, n_per_host;
    double share;
    bool mpi;
    uint32_t n_waits;
    uint64_t n_events;
    uint64_t seed;
    uint32_t n_trunk;
    uint32_t *parents; /* by node */
};

/* What one rank has of each node; 0 calls: nothing. */
struct rank {
    uint32_t number, class;
    uint64_t *n_calls, *ticks;
};

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "synthetic: out of memory\n");
        exit(1);
    }
    return memory;
}

static void must_be_ok(enum ar_status status, const struct ar_error *err)
{
    if (status < 0) {
        fprintf(stderr, "synthetic: %s\n", err ? err->text : ar_status_text(status));
        exit(1);
    }
}

/* ---- the job ---------------------------------------------------------------------------------- */

static uint64_t dice(const struct job *job, uint64_t what, uint64_t a, uint64_t b)
{
    return ar_pair_key(ar_pair_key(job->seed * 16 + what, a), b);
}

static double chance(const struct job *job, uint64_t what, uint64_t a, uint64_t b)
{
    return (double)(dice(job, what, a, b) >> 11) * 0x1p-53;
}

enum { IS_THERE, HOW_OFTEN, HOW_LONG, NOISE, PARENT };

static bool is_mpi(const struct job *job, uint32_t node)
{
    return job->mpi && node >= job->n_trunk && node % 10 == 0;
}

/* Node 0 is the thread's root. */
static void plant(struct job *job)
{
    job->n_trunk = job->n_nodes / 10 > 1 ? job->n_nodes / 10 : 1;
    if (job->n_trunk > job->share * job->n_nodes)
        job->n_trunk = 1;
    job->parents = must(calloc(job->n_nodes, sizeof *job->parents));
    for (uint32_t i = 1; i < job->n_nodes; i++) {
        uint32_t n_possible = i < job->n_trunk ? i : job->n_trunk;
        uint32_t back = (uint32_t)(dice(job, PARENT, i, 0) % (n_possible < 30 ? n_possible : 30));

        job->parents[i] =
            i < job->n_trunk ? i - 1 - back : (uint32_t)(dice(job, PARENT, i, 1) % n_possible);
    }
}

static bool has_node(const struct job *job, const struct rank *rank, uint32_t node)
{
    double trunk = (double)job->n_trunk / job->n_nodes;
    double left = trunk < 1 ? (job->share - trunk) / (1 - trunk) : 0;

    return node < job->n_trunk || chance(job, IS_THERE, rank->class, node) < left;
}

/* Few nodes are called often, and few take long. */
static void live_on(const struct job *job, struct rank *rank)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        double often = chance(job, HOW_OFTEN, rank->class, i);
        double longs = chance(job, HOW_LONG, rank->class, i);
        double noise = 0.9 + 0.2 * chance(job, NOISE, rank->number, i);

        rank->n_calls[i] = rank->ticks[i] = 0;
        if (!has_node(job, rank, i))
            continue;
        rank->n_calls[i] = i ? 1 + (uint64_t)(0.05 / (1.00001 - often)) : 1;
        rank->ticks[i] = 1 + (uint64_t)(noise * 2e4 / (1.0001 - longs));
    }
    for (uint32_t i = job->n_nodes - 1; i > 0; i--)
        if (rank->n_calls[i])
            rank->ticks[job->parents[i]] += rank->ticks[i];
}

/* ---- a live file ------------------------------------------------------------------------------ */

static size_t whole_pages(size_t n_bytes)
{
    return (n_bytes + AR_LIVE_PAGE_BYTES - 1) & ~(size_t)(AR_LIVE_PAGE_BYTES - 1);
}

/* Items of one kind, with the head of their extent. */
static void put_extent(struct ar_bytes *out, enum ar_extent_kind kind, const struct ar_bytes *items)
{
    static const char zeros[AR_LIVE_PAGE_BYTES];
    struct ar_extent head = {.kind = kind, .n_bytes_used = sizeof head + items->n};

    head.n_bytes = whole_pages(head.n_bytes_used);
    ar_bytes_put(out, &head, sizeof head);
    ar_bytes_put(out, items->data, items->n);
    ar_bytes_put(out, zeros, head.n_bytes - head.n_bytes_used);
}

static void put_record(struct ar_bytes *out, struct ar_record head, const char *name,
                       const char *file, const void *table)
{
    static const char zeros[8];

    head.n_name = (uint32_t)strlen(name);
    head.n_file = (uint32_t)strlen(file);

    size_t n_plain = sizeof head + head.n_name + head.n_file + head.n_linetable;

    head.n_bytes = (uint32_t)(n_plain + 7) & ~7u;
    ar_bytes_put(out, &head, sizeof head);
    ar_bytes_put(out, name, head.n_name);
    ar_bytes_put(out, file, head.n_file);
    ar_bytes_put(out, table, head.n_linetable);
    ar_bytes_put(out, zeros, head.n_bytes - n_plain);
}

static void put_function(const struct job *job, struct ar_bytes *out, uint32_t node)
{
    static const char *const mpi_names[] = {"MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Waitall"};
    uint32_t number = node % job->n_functions;
    unsigned char lines[2 * LINES_PER_FUNCTION];
    char name[64], file[96];

    if (is_mpi(job, node)) {
        put_record(out,
                   (struct ar_record){.kind = AR_RECORD_FUNCTION, .function_kind = AR_FUNCTION_MPI},
                   mpi_names[node / 10 % 4], "", NULL);
        return;
    }
    for (int i = 0; i < LINES_PER_FUNCTION; i++) {
        lines[2 * i] = 4;
        lines[2 * i + 1] = 1;
    }
    snprintf(name, sizeof name, "Solver%u.step_of_method_%u", number % 37, number);
    snprintf(file, sizeof file, "/home/user/project/package/module_%u.py", number / 25);
    put_record(out,
               (struct ar_record){.kind = AR_RECORD_FUNCTION,
                                  .function_kind = AR_FUNCTION_PYTHON,
                                  .linetable_kind = AR_LINETABLE_PEP626,
                                  .first_line = 10 + number % 25 * 30,
                                  .n_linetable = sizeof lines},
               name, file, lines);
}

static void put_fact(struct ar_bytes *out, const char *key, const char *value)
{
    put_record(out, (struct ar_record){.kind = AR_RECORD_FACT}, key, value, NULL);
}

static void put_world(const struct job *job, struct ar_bytes *out, uint32_t rank)
{
    struct ar_live_comm world = {
        .identity = 1, .origin = AR_COMM_WORLD, .size = job->n_ranks, .rank = rank};

    put_record(out, (struct ar_record){.kind = AR_RECORD_COMM, .n_linetable = sizeof world},
               "MPI_COMM_WORLD", "", &world);
}

/* In the order in which the rank met them; `numbers` says by function what number each has. */
static void put_records(const struct job *job, const struct rank *rank, struct ar_bytes *out,
                        uint32_t *numbers)
{
    uint32_t n = 0;

    memset(numbers, 0, (job->n_nodes + 1) * sizeof *numbers);
    put_fact(out, "program", "/home/user/project/synthetic.py");
    put_fact(out, "command", "python synthetic.py");
    put_fact(out, "python", "3.13.1");
    if (job->mpi)
        put_world(job, out, rank->number);
    for (uint32_t i = 1; i < job->n_nodes; i++) {
        uint32_t *number =
            &numbers[is_mpi(job, i) ? job->n_functions + i / 10 % 4 : i % job->n_functions];

        if (rank->n_calls[i] && !*number) {
            put_function(job, out, i);
            *number = ++n;
        }
    }
}

static void put_message(struct ar_bytes *out, uint32_t ref, uint32_t peer, bool is_out, uint64_t n,
                        uint64_t n_bytes, uint64_t ticks)
{
    struct ar_values block = {.kind = AR_VALUES_TRAFFIC};

    block.words[AR_TRAFFIC_WHERE] =
        (uint64_t)ref << 32 | 1u << 8 | (64u - (unsigned)__builtin_clzll(n_bytes));
    block.words[AR_TRAFFIC_PEER] = (uint64_t)peer << 32 | peer;
    block.words[is_out ? AR_TRAFFIC_N_OUT : AR_TRAFFIC_N_IN] = n;
    block.words[is_out ? AR_TRAFFIC_BYTES_OUT : AR_TRAFFIC_BYTES_IN] = n * n_bytes;
    block.words[AR_TRAFFIC_TICKS] = ticks;
    ar_bytes_put(out, &block, sizeof block);
}

/* `first_ref` is where the extent begins; returns the ref of the node's own block. */
static uint32_t put_values(const struct job *job, const struct rank *rank, uint32_t node,
                           uint32_t node_ref, struct ar_bytes *out, uint32_t first_ref)
{
    uint32_t own_ref = first_ref + (uint32_t)(out->n / AR_LIVE_REF_BYTES);
    uint64_t n = rank->n_calls[node], each = rank->ticks[node] / n;
    uint64_t n_bytes = (uint64_t)8 << (node / 10 % 12);
    struct ar_values own = {.kind = AR_VALUES_MPI, .next_ref = own_ref + 1};

    own.words[AR_MPI_BYTES_OUT] = own.words[AR_MPI_BYTES_IN] = n * n_bytes;
    own.words[AR_MPI_MIN_TICKS] = each / 2;
    own.words[AR_MPI_MAX_TICKS] = 2 * each;
    ar_bytes_put(out, &own, sizeof own);
    put_message(out, node_ref, (rank->number + 1) % job->n_ranks, true, n, n_bytes,
                rank->ticks[node]);
    put_message(out, node_ref, (rank->number + job->n_ranks - 1) % job->n_ranks, false, n, n_bytes,
                0);
    return own_ref;
}

/* Nodes and values, whose extents lie one after the other: each names places in the other. */
static void put_nodes(const struct job *job, const struct rank *rank, const uint32_t *numbers,
                      struct ar_bytes *out, uint32_t *refs)
{
    struct ar_bytes nodes = {0}, values = {0};
    uint32_t n = 0, first = (uint32_t)((out->n + sizeof(struct ar_extent)) / AR_LIVE_REF_BYTES);

    for (uint32_t i = 0; i < job->n_nodes; i++)
        n += rank->n_calls[i] > 0;

    uint32_t first_value =
        first - 1 + (uint32_t)(whole_pages((n + 1) * 64) / AR_LIVE_REF_BYTES) + 1;

    for (uint32_t i = 0; i < job->n_nodes; i++) {
        uint32_t function = is_mpi(job, i) ? job->n_functions + i / 10 % 4 : i % job->n_functions;
        struct ar_node node = {.ticks = (int64_t)rank->ticks[i], .n_calls = rank->n_calls[i]};

        if (!rank->n_calls[i])
            continue;
        refs[i] = first + (uint32_t)(nodes.n / AR_LIVE_REF_BYTES);
        if (i) {
            node.parent_ref = refs[job->parents[i]];
            node.key = numbers[function] | (uint64_t)(1 + 4 * (i % LINES_PER_FUNCTION)) << 32;
        }
        if (i && i < AR_TRACE_NUMBERS)
            node.flags = i << AR_NODE_NUMBER_SHIFT;
        if (is_mpi(job, i))
            node.values_ref = put_values(job, rank, i, refs[i], &values, first_value);
        ar_bytes_put(&nodes, &node, sizeof node);
    }
    put_extent(out, AR_EXTENT_NODES, &nodes);
    if (values.n)
        put_extent(out, AR_EXTENT_VALUES, &values);
    ar_bytes_free(&nodes);
    ar_bytes_free(&values);
}

/* ---- a trace ---------------------------------------------------------------------------------- */

#define TRACE_CHUNK_BYTES ((size_t)64 << 10)
#define TRACE_SHIFT 2 /* 4 ticks are a unit */

enum { LENGTH = NOISE + 8, WAY };

/* The trace of a rank while it is made. */
struct tracing {
    struct ar_bytes *out;
    struct ar_bytes events; /* of the chunk */
    uint64_t units, first_units;
    uint32_t n_chunks, first_ref;
};

static void end_chunk(struct tracing *g)
{
    struct ar_extent head = {.kind = AR_EXTENT_TRACE, .n_bytes_used = sizeof head + g->events.n};
    static const char zeros[TRACE_CHUNK_BYTES];

    if (!g->events.n)
        return;
    head.n_bytes = TRACE_CHUNK_BYTES;
    head.spare[AR_TRACE_FIRST_TICKS] = g->first_units << TRACE_SHIFT;
    head.spare[AR_TRACE_SEQUENCE] = ++g->n_chunks;
    head.spare[AR_TRACE_FIRST_REF] = (uint64_t)TRACE_SHIFT << 32 | g->first_ref;
    ar_bytes_put(g->out, &head, sizeof head);
    ar_bytes_put(g->out, g->events.data, g->events.n);
    ar_bytes_put(g->out, zeros, TRACE_CHUNK_BYTES - sizeof head - g->events.n);
    g->events.n = 0;
}

/* Up, where `number` is 0. */
static void put_step(struct tracing *g, uint32_t ref, uint32_t number, uint64_t units)
{
    uint64_t word = AR_TRACE_LONG | units << 2 | (uint64_t)number << 31;
    size_t n = 6;

    if (!number && units < AR_TRACE_UP_TIME) {
        word = AR_TRACE_UP | units << 2;
        n = 2;
    } else if (number && units < AR_TRACE_DOWN_TIME) {
        word = AR_TRACE_DOWN | units << 2 | (uint64_t)number << 15;
        n = 4;
    }
    if (g->events.n + n + sizeof(struct ar_extent) + 8 > TRACE_CHUNK_BYTES)
        end_chunk(g);
    if (!g->events.n) {
        g->first_units = g->units;
        g->first_ref = ref;
    }
    ar_bytes_put(&g->events, &word, n);
    g->units += units;
}

/* Some 1 us; one of 2,000 some ms. */
static uint64_t length_of_step(const struct job *job, uint32_t rank, uint64_t event)
{
    uint64_t word = dice(job, LENGTH, rank, event);

    return word % 2000 ? (word >> 20) % 500 : (word >> 20) % 1000000;
}

/* From node to node of the tree: down to any child, or up. */
static void put_trace(const struct job *job, struct rank *rank, struct ar_bytes *out,
                      const uint32_t *refs)
{
    struct tracing g = {.out = out, .units = START_TICKS >> TRACE_SHIFT};
    uint32_t *first = must(calloc(job->n_nodes + 1, sizeof *first));
    uint32_t *children = must(calloc(job->n_nodes + 1, sizeof *children));
    uint32_t node = 0;

    for (uint32_t i = 1; i < job->n_nodes; i++)
        first[job->parents[i] + 1] += rank->n_calls[i] > 0;
    for (uint32_t i = 0; i < job->n_nodes; i++)
        first[i + 1] += first[i];
    for (uint32_t i = job->n_nodes - 1; i > 0; i--)
        if (rank->n_calls[i])
            children[--first[job->parents[i] + 1]] = i;
    for (uint64_t i = 0; i < job->n_events / job->n_ranks; i++) {
        uint64_t way = dice(job, WAY, rank->number, i);
        /* Counting left the place of the first child in the entry behind a node. */
        uint32_t begin = first[node + 1], end = node + 2 <= job->n_nodes ? first[node + 2] : begin;
        uint32_t n = node + 1 < job->n_nodes && end > begin ? end - begin : 0;
        bool is_down = n && (!node || way % 5 < 3);
        uint32_t next = is_down ? children[begin + (way >> 8) % n] : job->parents[node];

        put_step(&g, refs[node], is_down ? next : 0, length_of_step(job, rank->number, i));
        node = next;
    }
    end_chunk(&g);
    if (g.units << TRACE_SHIFT > START_TICKS + rank->ticks[0])
        rank->ticks[0] = (g.units << TRACE_SHIFT) - START_TICKS;
    ar_bytes_free(&g.events);
    free(first);
    free(children);
}

/* ---- what holds it together ------------------------------------------------------------------- */

static void put_thread(const struct rank *rank, struct ar_bytes *out, uint32_t root_ref)
{
    struct ar_bytes items = {0};
    struct ar_live_thread thread = {.root_ref = root_ref,
                                    .current_ref = root_ref,
                                    .start_ticks = START_TICKS,
                                    .latest_ticks = START_TICKS + rank->ticks[0],
                                    .end_ticks = START_TICKS + rank->ticks[0],
                                    .name = "MainThread"};

    ar_bytes_put(&items, &thread, sizeof thread);
    put_extent(out, AR_EXTENT_THREADS, &items);
    ar_bytes_free(&items);
}

/* A trace may last longer than the values of nodes say. */
static void set_ends(const struct rank *rank, struct ar_bytes *out)
{
    struct ar_live_thread *thread =
        (struct ar_live_thread *)(out->data + AR_LIVE_HEADER_BYTES + sizeof(struct ar_extent));

    thread->latest_ticks = thread->end_ticks = START_TICKS + rank->ticks[0];
}

static void put_header(const struct job *job, const struct rank *rank, struct ar_bytes *out)
{
    uint64_t wall = rank->ticks[0];
    struct ar_live_header h = {
        .version = AR_LIVE_VERSION,
        .header_bytes = AR_LIVE_HEADER_BYTES,
        .state = AR_LIVE_FINISHED,
        .n_bytes_used = out->n,
        .n_bytes_max = 256u << 20,
        .pid = 1000 + rank->number % job->n_per_host,
        .pid_start = 77,
        .world_rank = rank->number,
        .world_size = job->n_ranks,
        .rank_confirmed = 1,
        .job = "synthetic",
        .start = {START_TICKS, START_TICKS, START_REAL_NS + rank->number},
        .latest = {START_TICKS + wall, START_TICKS + wall, START_REAL_NS + rank->number + wall},
        .call_cost_ns = 20,
    };

    memcpy(h.magic, AR_LIVE_MAGIC, sizeof h.magic);
    h.root_pid = h.pid;
    h.root_start = h.pid_start;
    snprintf(h.host, sizeof h.host, "node-%u", rank->number / job->n_per_host);
    memcpy(out->data, &h, sizeof h);
}

static void make_live(const struct job *job, struct rank *rank, struct ar_bytes *out)
{
    static const char zeros[AR_LIVE_HEADER_BYTES];
    uint32_t *numbers = must(calloc(job->n_nodes + job->n_functions + 8, sizeof *numbers));
    uint32_t *refs = must(calloc(job->n_nodes, sizeof *refs));
    struct ar_bytes records = {0};

    out->n = 0;
    live_on(job, rank);
    put_records(job, rank, &records, numbers);
    ar_bytes_put(out, zeros, sizeof zeros);
    /* The root is the first node: header, one page of threads, records, and the head of its extent. */
    put_thread(
        rank, out,
        (uint32_t)((out->n + AR_LIVE_PAGE_BYTES +
                    whole_pages(sizeof(struct ar_extent) + records.n) + sizeof(struct ar_extent)) /
                   AR_LIVE_REF_BYTES));
    put_extent(out, AR_EXTENT_RECORDS, &records);
    put_nodes(job, rank, numbers, out, refs);
    if (job->n_events) {
        put_trace(job, rank, out, refs);
        set_ends(rank, out);
    }
    must_be_ok(out->bad ? AR_NOMEM : AR_OK, NULL);
    put_header(job, rank, out);
    ar_bytes_free(&records);
    free(numbers);
    free(refs);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static void write_file(const char *path, const struct ar_bytes *bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write(fd, bytes->data, bytes->n) != (ssize_t)bytes->n || close(fd) < 0) {
        fprintf(stderr, "synthetic: %s: %s\n", path, strerror(errno));
        exit(1);
    }
}

static void write_live(const struct job *job, const char *directory, const struct rank *rank,
                       const struct ar_bytes *bytes)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/r%u-p%u-77.live", directory, rank->number,
             1000 + rank->number % job->n_per_host);
    write_file(path, bytes);
}

static void add_to_run(struct ar_profile *p, const struct ar_bytes *bytes)
{
    struct ar_live live;
    struct ar_error err;

    must_be_ok(ar_live_from_bytes(&live, bytes->data, bytes->n, "synthetic", &err), &err);
    must_be_ok(ar_profile_add_live(p, &live, 0, &err), &err);
    ar_live_close(&live);
}

/* ---- waits ------------------------------------------------------------------------------------ */

enum { WORK, LATENESS, LEAVING };

#define WORK_NS 50000u
#define MPI_NS 3000u
#define APART_NS 1000u /* no two ranks leave a call at the same time */

static uint32_t node_of_kind(const struct ar_profile *p, uint32_t kind, uint32_t from)
{
    while (from < p->n_nodes - 1 && p->functions[p->nodes[from].function].kind != kind)
        from++;
    return from;
}

/* The work before an operation; now and then a rank takes half as long again. */
static uint64_t work_ns(const struct job *job, uint32_t rank, uint32_t operation)
{
    uint64_t word = dice(job, WORK, rank, operation);
    bool is_late = dice(job, LATENESS, operation, 0) % job->n_ranks == rank;

    return WORK_NS + word % 2000 + (is_late ? WORK_NS / 2 : 0);
}

struct clockwork {
    uint64_t *now, *enter; /* by rank */
    struct ar_stream_writer *writers;
    uint32_t work, more_work, mpi; /* nodes */
};

static void put_wait(const struct clockwork *c, uint32_t rank, struct ar_profile_sync sync,
                     uint64_t exit_ns, bool with_parts)
{
    uint64_t done = c->enter[rank] - c->now[rank];
    struct ar_profile_part parts[] = {
        {.node = c->work, .ns = done < WORK_NS ? done : WORK_NS},
        {.node = c->more_work, .ns = done > WORK_NS ? done - WORK_NS : 1}};

    sync.location = rank;
    sync.comm = 1;
    sync.rank = AR_OWN_RANK(rank, 0);
    sync.node = c->mpi;
    sync.enter_ns = c->enter[rank];
    sync.exit_ns = exit_ns;
    sync.n_parts = with_parts ? 2 : 0;
    must_be_ok(ar_stream_put(&c->writers[rank], &sync, parts), NULL);
}

static void all_together(const struct job *job, struct clockwork *c, uint32_t sequence)
{
    uint64_t last = 0;

    for (uint32_t r = 0; r < job->n_ranks; r++)
        last = c->enter[r] > last ? c->enter[r] : last;
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        uint64_t exit_ns = last + MPI_NS + dice(job, LEAVING, r, sequence) % APART_NS;

        put_wait(c, r,
                 (struct ar_profile_sync){
                     .kind = AR_SYNC_ALL, .sequence = sequence, .peer = AR_PEER_ALL},
                 exit_ns, true);
        c->now[r] = exit_ns;
    }
}

static void two_by_two(const struct job *job, struct clockwork *c)
{
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        uint32_t other = (r ^ 1) < job->n_ranks ? r ^ 1 : r;
        uint64_t last = c->enter[r] > c->enter[other] ? c->enter[r] : c->enter[other];

        put_wait(c, r, (struct ar_profile_sync){.kind = AR_SYNC_SEND, .sequence = 7, .peer = other},
                 last + MPI_NS, true);
        put_wait(c, r,
                 (struct ar_profile_sync){.kind = AR_SYNC_RECEIVE, .sequence = 7, .peer = other},
                 last + MPI_NS, false);
    }
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        uint32_t other = (r ^ 1) < job->n_ranks ? r ^ 1 : r;
        uint64_t last = c->enter[r] > c->enter[other] ? c->enter[r] : c->enter[other];

        c->now[r] = last + MPI_NS;
    }
}

static void synchronise(const struct job *job, struct ar_profile *p)
{
    struct clockwork c = {.now = must(calloc(job->n_ranks, sizeof *c.now)),
                          .enter = must(calloc(job->n_ranks, sizeof *c.enter)),
                          .writers = must(calloc(job->n_ranks, sizeof *c.writers))};
    uint32_t sequence = 0;

    c.work = node_of_kind(p, AR_FUNCTION_PYTHON, 1);
    c.more_work = node_of_kind(p, AR_FUNCTION_PYTHON, c.work + 1);
    c.mpi = node_of_kind(p, AR_FUNCTION_MPI, 1);
    for (uint32_t r = 0; r < job->n_ranks; r++)
        ar_stream_begin(&c.writers[r], r);
    for (uint32_t i = 0; i < job->n_waits; i++) {
        for (uint32_t r = 0; r < job->n_ranks; r++)
            c.enter[r] = c.now[r] + work_ns(job, r, i);
        if (i % 8 == 7)
            two_by_two(job, &c);
        else
            all_together(job, &c, sequence++);
    }
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        p->processes[r].wall_ns = c.now[r];
        p->streams = must(realloc(p->streams, (r + 1) * sizeof *p->streams));
        must_be_ok(ar_stream_end(&c.writers[r], &p->streams[r]), NULL);
        p->n_streams = p->cap_streams = r + 1;
    }
    free(c.now);
    free(c.enter);
    free(c.writers);
}

static void write_run(struct ar_profile *p, const char *path)
{
    struct ar_bytes bytes = {0};

    must_be_ok(ar_run_encode(p, &bytes), NULL);
    write_file(path, &bytes);
    ar_bytes_free(&bytes);
}

static void make_all(const struct job *job, bool as_run, const char *target)
{
    struct rank rank = {.n_calls = must(calloc(job->n_nodes, sizeof *rank.n_calls)),
                        .ticks = must(calloc(job->n_nodes, sizeof *rank.ticks))};
    struct ar_bytes bytes = {0};
    struct ar_profile p;

    must_be_ok(ar_profile_init(&p), NULL);
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        rank.number = r;
        rank.class = job->n_classes ? r % job->n_classes : r;
        make_live(job, &rank, &bytes);
        if (as_run)
            add_to_run(&p, &bytes);
        else
            write_live(job, target, &rank, &bytes);
    }
    if (as_run && job->n_waits)
        synchronise(job, &p);
    if (as_run)
        write_run(&p, target);
    ar_profile_free(&p);
    ar_bytes_free(&bytes);
    free(rank.n_calls);
    free(rank.ticks);
}

static int refuse(void)
{
    fprintf(stderr, "usage: synthetic live|run TARGET [--ranks N] [--nodes N] [--functions N] "
                    "[--share 0..1] [--classes N] [--mpi] [--waits N] [--events N] [--per-host N] "
                    "[--seed N]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"ranks", required_argument, NULL, 'r'},
                                            {"nodes", required_argument, NULL, 'n'},
                                            {"functions", required_argument, NULL, 'f'},
                                            {"share", required_argument, NULL, 's'},
                                            {"classes", required_argument, NULL, 'c'},
                                            {"mpi", no_argument, NULL, 'm'},
                                            {"seed", required_argument, NULL, 'd'},
                                            {"waits", required_argument, NULL, 'w'},
                                            {"events", required_argument, NULL, 'e'},
                                            {"per-host", required_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct job job = {.n_ranks = 8, .n_nodes = 1000, .n_per_host = 128, .share = 1};

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'r')
            job.n_ranks = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'n')
            job.n_nodes = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'f')
            job.n_functions = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 's')
            job.share = strtod(optarg, NULL);
        else if (c == 'c')
            job.n_classes = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'm')
            job.mpi = true;
        else if (c == 'w')
            job.n_waits = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'h')
            job.n_per_host = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'e')
            job.n_events = strtoull(optarg, NULL, 10);
        else if (c == 'd')
            job.seed = strtoull(optarg, NULL, 10);
        else
            return refuse();
    }
    if (argc - optind != 2 || !job.n_ranks || !job.n_nodes || !job.n_per_host)
        return refuse();
    if (!job.n_functions || job.n_functions > job.n_nodes)
        job.n_functions = job.n_nodes;
    plant(&job);
    if (strcmp(argv[optind], "live") != 0 && strcmp(argv[optind], "run") != 0)
        return refuse();
    make_all(&job, strcmp(argv[optind], "run") == 0, argv[optind + 1]);
    free(job.parents);
    return 0;
}
