// SPDX-License-Identifier: BSD-3-Clause
/*
 * profile: all that is known about a run, in memory. What is merged, written to a run file and
 * analysed.
 *
 *     strings     each text once
 *     facts       (key, value) about the run: command line, versions
 *     functions   kind, name, file, first line
 *     nodes       one tree for all: parent, function, line of the call; root and parents first
 *     processes   one a process: rank, host, pid, when, what was lost
 *     locations   one a thread: process and name; the columns of everything measured
 *     comms       communicators, windows and files; the same on all their members
 *
 * What was measured refers to these by number. There are three ways of storing it, and no fourth:
 *
 *     metrics     calls, time, bytes …: each a sparse matrix of (node, location) -> value; see format/metric.h
 *     tables      messages, requests, losses …: rows with keys of any roles; see format/table.h and profile_tables.c
 *     streams     calls that may have waited for other ranks, by location, in the order of their ends; see format/streams.h
 *                 and other_streams.h
 *
 * A metric, table or stream that a file has and this program does not know is kept beside ours, renumbered and passed on.
 *
 * Time is inclusive, in nanoseconds. The root's time at a location is how long that thread was
 * recorded; a thread other than the main one hangs below the root as a node of kind THREAD.
 *
 * A profile of caller pairs, which the fact "source" = "pstats" tells, has no call paths. A node
 * below the root is a function with the figures of all its calls, from every caller; a node below
 * that is a pair: what this function called, with the figures of those calls. Neither is a part of
 * the other, so self time and primitive calls (those made while the function, or the pair, was not
 * active already), which cannot be worked out, are metrics of their own, and time is that of
 * primitive calls. A function or a pair without a value of calls is not there; a pair with calls
 * and no primitive calls is known by their number only.
 *
 * Life cycle: ar_profile_init, then any number of ar_profile_add_live / ar_profile_merge, then
 * ar_profile_free. Threads: one owner. On AR_NOMEM a profile is only fit to be freed.
 */
#pragma once

#include "base/bytes.h"
#include "base/strtab.h"
#include "format/bulk.h"
#include "format/kinds.h"
#include "format/metric.h"
#include "format/other_streams.h"
#include "format/packed.h"
#include "format/streams.h"
#include "format/table.h"

/*
 * How far the time of a node is to be believed. An estimate has a variance of 1 µs² or more: estimates
 * are independent, so variances add up, and the standard error of a sum is the root of theirs. In files
 * before version 8 they have none, and calls are estimated as well.
 */
enum ar_value_mark {
    AR_MARK_ESTIMATED = 1, /* from a part of the calls */
    AR_MARK_PARTIAL = 2,   /* of a part of the calls */
    AR_MARK_NO_ERROR = 4,  /* never in a file: an estimate whose error is not known */
};

struct ar_fact {
    uint32_t key, value; /* strings */
};

struct ar_function {
    uint32_t kind; /* enum ar_function_kind */
    uint32_t name, file;
    uint32_t first_line;
    uint32_t
        module; /* string: as the program calls it, "" where that is not known; does not tell two functions apart */
};

struct ar_profile_node {
    uint32_t parent; /* AR_NO_ID for the root */
    uint32_t function;
    uint32_t line; /* in the nearest Python function above; 0: not known */
};

enum ar_process_state {
    AR_PROCESS_SILENT = 0, /* it ended without a word: killed, most likely */
    AR_PROCESS_FINISHED = 1,
    AR_PROCESS_RUNNING = 2,  /* when it was read */
    AR_PROCESS_REPLACED = 3, /* by another program, which it started with exec */
    AR_N_PROCESS_STATES
};

struct ar_process {
    uint32_t host; /* string */
    uint32_t pid;
    uint32_t world_rank, world_size; /* AR_RANK_NONE and 0 where not known */
    uint32_t state;                  /* enum ar_process_state */
    uint32_t command;                /* string: what it was started as */
    uint64_t pid_start;              /* a pid comes again, the two together do not */
    /* A child, and whose: see ar_profile_families. All 0 for what was started by the user. */
    uint32_t parent_pid, root_pid;
    uint64_t root_start;
    uint64_t start_real_ns;
    uint64_t start_mono_ns;
    struct ar_clock_link clock_links[AR_N_CLOCK_INSTANTS];
    uint64_t wall_ns;
    uint64_t overhead_ns;                  /* what recording added */
    uint64_t overheads_ns[AR_N_OVERHEADS]; /* the same by reason; all 0 where that is not known */
    uint32_t root; /* index of the process it counts for; by ar_profile_sort */
};

struct ar_location {
    uint32_t process;
    uint32_t thread; /* number within the process; 0 is the main thread */
    uint32_t name;
    uint32_t current; /* the node that it was in last, plus 1; 0: it has ended, or not known */
    uint64_t latest_real_ns; /* its newest sign of life, since 1970; 0: not known */
};

/*
 * A communicator, window or file. Processes that know it by the same identity mean the same one, and
 * so they do with MPI_COMM_SELF; where there is no identity, those that are alike in all else are one.
 */
struct ar_comm {
    uint64_t identity; /* 0: not known */
    uint32_t name;     /* string */
    uint32_t origin;   /* enum ar_comm_origin */
    uint32_t size, remote_size;
    uint32_t parent;    /* its number plus 1, which is smaller than its own; 0: none */
    uint32_t made_at;   /* node plus 1; 0: not known */
    uint32_t is_hidden; /* 1: mpi4py's own; shown as its parent */
};

/* ---- rows of tables: keys, then values of 64 bits -------------------------------------------- */

/* Messages are of one class of sizes: 0 is no bytes, k is 2^(k-1) to 2^k - 1 bytes. */
#define AR_N_SIZE_CLASSES 65

struct ar_traffic {
    uint32_t node, location;
    uint32_t comm;             /* its number plus 1; 0: not known */
    uint32_t peer, world_peer; /* rank there, and in MPI_COMM_WORLD; AR_PEER_… */
    uint32_t size_class;
    uint64_t n_out, bytes_out, n_in, bytes_in;
    uint64_t ns; /* of the calls whose messages these are */
};

struct ar_completed {
    uint32_t node, location, posted; /* `posted` is a node, too */
    uint32_t spare;
    uint64_t n, flight_ns;
    uint64_t waited_ns;  /* requests that a call completes together share its time */
    uint64_t exposed_ns; /* of their flight, in completing calls: each has all of that */
};

/*
 * For what a thread waits in the MPI call that it is in: see struct ar_live_call. Where there is none it is in none, or that is not
 * known. AR_SYNC_UNKNOWN: for requests that are not known.
 */
struct ar_open_call {
    uint32_t location;
    uint32_t kind, flags;
    uint32_t n_requests; /* 0: it is no call that completes requests; else this is of the first */
    uint32_t comm;       /* its number plus 1; 0: not known */
    uint32_t sequence, peer;
    uint32_t spare;
};

/*
 * Which processes belong to a communicator, with their ranks: only from live files of ranks that have not finished, and of the
 * communicators that open calls are on.
 */
struct ar_member {
    uint32_t comm, process;
    uint32_t rank; /* AR_OWN_RANK */
    uint32_t spare;
    uint64_t n_calls; /* collective calls on it that the process has completed, as far as known */
};

/* What was not recorded. */
struct ar_loss {
    uint32_t process;
    uint32_t what; /* string: see ar_loss_name */
    uint64_t n;
};

/* Time of a node between two of its events; see runtime/stretches.h. Lines of 0: where it is entered or left. */
struct ar_line_stretch {
    uint32_t node, location, from_line, to_line;
    uint64_t ns, variance;
};

/* A line of a function that was chosen; see runtime/chosen_lines.h. */
struct ar_counted_line {
    uint32_t node, location, line;
    uint32_t spare;
    uint64_t hits, ns;
};

/* Those that this program knows. Others follow them. */
enum ar_table_id {
    AR_TABLE_MESSAGES,
    AR_TABLE_REQUESTS,
    AR_TABLE_OPEN_CALLS,
    AR_TABLE_MEMBERS,
    AR_TABLE_LOSSES,
    AR_TABLE_STRETCHES,
    AR_TABLE_LINES,
    AR_N_TABLES
};
#define AR_MAX_TABLES 32

/* The fields of a struct ar_table, under another name, with rows of their own type. */
#define AR_ROWS(type, name)                                                                        \
    const struct ar_table_kind *name##_kind;                                                       \
    type *name;                                                                                    \
    size_t n_##name, cap_##name, name##_bytes

/*
 * Which rows of another profile make up each node of one that shows them. Where nodes are left out, those above them have
 * their time already, and not what was measured without what they called: see enum ar_scope.
 */
enum ar_row_list_id { AR_ROWS_SHOWN, AR_ROWS_EXCLUSIVE, AR_N_ROW_LISTS };
struct ar_row_list {
    uint32_t *first, *nodes; /* where each node's begin, with one more; and theirs */
};

struct ar_profile {
    struct ar_strtab strings;
    struct ar_fact *facts;
    size_t n_facts, cap_facts;
    struct ar_function *functions;
    size_t n_functions, cap_functions;
    struct ar_profile_node *nodes;
    size_t n_nodes, cap_nodes;
    struct ar_process *processes;
    size_t n_processes, cap_processes;
    size_t n_roots; /* the first ones, which are no children; by ar_profile_sort */
    struct ar_location *locations;
    size_t n_locations, cap_locations;
    struct ar_metric metrics[AR_MAX_METRICS]; /* ours, by enum ar_metric_id, and others */
    size_t n_other_metrics;
    /*
     * A run that was opened to look at some of its rows has metrics as its file has them, and none in
     * `metrics`: see format/rows.h.
     */
    unsigned char *file; /* NULL: none are packed */
    struct ar_sets sets;
    struct ar_packed packed[AR_MAX_METRICS];
    /* Nor has one that shows rows of another, several as one: see analysis/fold.h and select.h. */
    const struct ar_profile *rows_of; /* it lives longer */
    struct ar_row_list rows[AR_N_ROW_LISTS];
    uint32_t *location_of; /* what its locations are here, in the same order; AR_NO_ID: left out.
                              NULL: they are the same */
    struct ar_comm *comms;
    size_t n_comms, cap_comms;
    union {
        struct ar_table tables[AR_MAX_TABLES]; /* ours, by enum ar_table_id, and others */
        struct {                               /* where a row is: ar_traffic_at, … */
            AR_ROWS(struct ar_traffic, traffic);
            AR_ROWS(struct ar_completed, completed);
            AR_ROWS(struct ar_open_call, open_calls);
            AR_ROWS(struct ar_member, members);
            AR_ROWS(struct ar_loss, losses);
            AR_ROWS(struct ar_line_stretch, stretches);
            AR_ROWS(struct ar_counted_line, counted_lines);
        };
    };
    size_t n_other_tables;
    struct ar_stream
        *streams; /* calls that may have waited, one a location: see format/streams.h */
    size_t n_streams, cap_streams;
    struct ar_other_streams other_streams;
    struct ar_bulks bulks;           /* that streams refer to: see trace.h */
    struct ar_stream_writer *writer; /* of one that is being written; NULL: none is */
    /* Hash to id, probing on by one as in strtab. */
    struct ar_idmap fact_ids, function_ids, comm_ids, process_ids;
    size_t n_indexed;          /* processes, the first so many of which `process_ids` has */
    size_t n_unknown_sections; /* of its file, which nothing can be done with */
    size_t n_to_come;          /* files, this one included, as far as that is known */
    /* What code that adds files remembers from one to the next; freed with the profile. */
    void *memory;
    void (*free_memory)(void *memory);
    uint32_t next_node;   /* the one after that which was found last */
    uint32_t *node_slots; /* ids of nodes plus one, see node_slot, at most half full */
    size_t n_node_slots;  /* 0 or a power of two */
};

/* As JSON and data frames have them: "python", "mpi" …; "finished", "running" … */
const char *ar_process_state_name(uint32_t state);
const char *ar_function_kind_name(uint32_t kind);
/* Its time is that of pauses, and its calls are how often there was one. */
bool ar_function_is_pause(const struct ar_profile *p, uint32_t function);
const char *ar_comm_origin_name(uint32_t origin); /* "world", "split" … */

AR_MUST_CHECK enum ar_status ar_profile_init(struct ar_profile *p);
void ar_profile_free(struct ar_profile *p);

/* Adding returns the number of what is equal already, where there is such. */
AR_MUST_CHECK enum ar_status ar_profile_string(struct ar_profile *p, struct ar_str s, uint32_t *id);
AR_MUST_CHECK enum ar_status ar_profile_fact(struct ar_profile *p, struct ar_str key,
                                             struct ar_str value);
AR_MUST_CHECK enum ar_status ar_profile_function(struct ar_profile *p, struct ar_function function,
                                                 uint32_t *id);
AR_MUST_CHECK enum ar_status ar_profile_node(struct ar_profile *p, struct ar_profile_node node,
                                             uint32_t *id);
AR_MUST_CHECK enum ar_status ar_profile_process(struct ar_profile *p,
                                                const struct ar_process *process, uint32_t *id);
/*
 * A process may be met twice: running, and later; in its live file, and in a run made of it. The one
 * that was recorded for longer counts: an older one is taken out of `p`. false: `process`, whose host
 * is a string of `p`, is the older one.
 */
bool ar_profile_admit(struct ar_profile *p, const struct ar_process *process);
/* Code that puts processes in another order says so. */
void ar_profile_forget_processes(struct ar_profile *p);
AR_MUST_CHECK enum ar_status ar_profile_location(struct ar_profile *p,
                                                 const struct ar_location *location, uint32_t *id);
AR_MUST_CHECK enum ar_status ar_profile_value(struct ar_profile *p, unsigned metric,
                                              struct ar_value value);
/* What is known of a function, or of a caller and a function, in a profile of caller pairs. */
struct ar_pair_values {
    uint64_t n_calls, n_primitive;
    uint64_t self_ns, total_ns;
};

/* All four as ar_profile_value adds them, in one call: a pstats file has them by the ten thousand. */
AR_MUST_CHECK enum ar_status ar_profile_pair(struct ar_profile *p, uint32_t node, uint32_t location,
                                             const struct ar_pair_values *values);
/* Room for that many nodes more, which may not be used. */
AR_MUST_CHECK enum ar_status ar_profile_node_room(struct ar_profile *p, size_t n_more);
/* Room for that many values more, which may not be used. */
AR_MUST_CHECK enum ar_status ar_profile_room(struct ar_profile *p, unsigned metric, size_t n_more);

/* Its name and place are those of the first that has one. */
AR_MUST_CHECK enum ar_status ar_profile_comm(struct ar_profile *p, struct ar_comm comm,
                                             uint32_t *id);
const char *ar_sync_kind_name(uint32_t kind); /* "barrier", "receive" … */
/*
 * A time since the process began, on the clock of rank 0, as far as that is known: drift between the
 * two comparisons is taken to be even.
 */
int64_t ar_process_clock_ns(const struct ar_process *process, uint64_t since_start_ns);
/* Of damaged clocks anything may come: 2^60 at most, so that differences fit. */
static inline int64_t ar_whole_ns(double ns)
{
    const double most = 0x1p60;

    return (int64_t)(ns < -most ? -most : ns < most ? ns : most);
}
/* Best in the order of locations, and of the ends of calls. */
AR_MUST_CHECK enum ar_status ar_profile_sync(struct ar_profile *p, struct ar_profile_sync sync,
                                             const struct ar_profile_part *parts);
/* What the numbers of another profile are in this one. */
struct ar_stream_maps {
    const uint32_t *nodes, *comms;
};
/* All that a thread of another profile did; without bytes of its own that one has to live longer. */
AR_MUST_CHECK enum ar_status ar_profile_stream(struct ar_profile *p, const struct ar_stream *other,
                                               uint32_t location, const struct ar_stream_maps *maps,
                                               bool with_bytes);
uint64_t ar_profile_n_syncs(const struct ar_profile *p);
/* The number plus 1 of the one that the user knows: of a hidden one the nearest parent that is not. */
uint32_t ar_comm_shown(const struct ar_profile *p, uint32_t comm);

/*
 * Children count for the process that the user started, as its threads do: a rank is a family.
 * Brings those to the front, and the threads of a family together. A child whose root is not here
 * counts for itself.
 */
AR_MUST_CHECK enum ar_status ar_profile_families(struct ar_profile *p);
/*
 * A forked child begins inside calls of its parent: these nodes have time in the child, and no call. Sets
 * `is_inherited` of each node, by its calls over all processes.
 */
AR_MUST_CHECK enum ar_status ar_profile_find_inherited(const struct ar_profile *p,
                                                       const uint64_t *n_calls, bool *is_inherited);
/*
 * Puts families together, and every metric in order of node and location, one value each, in linear
 * time; tables in the order of their keys. Encoding and analysis call it.
 */
AR_MUST_CHECK enum ar_status ar_profile_sort(struct ar_profile *p);

/* Adds all of another profile, but for processes that `p` has; the others come after those of `p`. */
AR_MUST_CHECK enum ar_status ar_profile_merge(struct ar_profile *p, const struct ar_profile *other);

/*
 * Makes plain metrics of packed ones, and of those of another: code that looks at `metrics` itself has
 * to do that first.
 */
AR_MUST_CHECK enum ar_status ar_profile_unpack(struct ar_profile *p);

/* The index of the root that a location's values count for. */
static inline uint32_t ar_profile_root(const struct ar_profile *p, uint32_t location)
{
    return p->processes[p->locations[location].process].root;
}
/* Whether it is one of caller pairs; and to make an empty one so. */
bool ar_profile_of_pairs(const struct ar_profile *p);
AR_MUST_CHECK enum ar_status ar_profile_declare_pairs(struct ar_profile *p);
/* In such a profile: whether a node is a pair, and not a function or the root. */
bool ar_node_is_pair(const struct ar_profile *p, uint32_t node);

/* The value of the first fact with that key, or "". */
const char *ar_profile_fact_text(const struct ar_profile *p, const char *key);

/* ---- metrics and tables by number, ours first: profile_tables.c ------------------------------- */

static inline unsigned ar_profile_n_metrics(const struct ar_profile *p)
{
    return AR_N_METRICS + (unsigned)p->n_other_metrics;
}
const struct ar_metric_kind *ar_profile_metric(const struct ar_profile *p, unsigned metric);
/* The number of the metric of that name; AR_MAX_METRICS: there is none. `name` may be NULL. */
unsigned ar_profile_metric_named(const struct ar_profile *p, const char *name);
/* The number of the metric of that name, which is added where it is not there. AR_BAD: there is no room for more. */
AR_MUST_CHECK enum ar_status
ar_profile_find_metric(struct ar_profile *p, const struct ar_metric_kind *kind, unsigned *metric);

static inline size_t ar_profile_n_tables(const struct ar_profile *p)
{
    return AR_N_TABLES + p->n_other_tables;
}
extern const struct ar_table_kind ar_table_kinds[AR_N_TABLES];
/* The table that takes rows of that kind; it may be another one's with that name. AR_BAD: there is no room for more. */
AR_MUST_CHECK enum ar_status ar_profile_find_table(struct ar_profile *p,
                                                   const struct ar_table_kind *kind,
                                                   struct ar_table **table);
/* A row of one of ours. */
AR_MUST_CHECK enum ar_status ar_profile_add_row(struct ar_profile *p, enum ar_table_id table,
                                                const void *row);
#define AR_ROW_AT(type, name)                                                                      \
    static inline type *ar_##name##_at(const struct ar_profile *p, size_t i)                       \
    {                                                                                              \
        return (type *)((char *)p->name + i * p->name##_bytes);                                    \
    }
AR_ROW_AT(struct ar_traffic, traffic)
AR_ROW_AT(struct ar_completed, completed)
AR_ROW_AT(struct ar_open_call, open_calls)
AR_ROW_AT(struct ar_member, members)
AR_ROW_AT(struct ar_loss, losses)
AR_ROW_AT(struct ar_line_stretch, stretches)
AR_ROW_AT(struct ar_counted_line, counted_lines)
#undef AR_ROW_AT

/* All tables of another profile, with numbers replaced. */
AR_MUST_CHECK enum ar_status ar_profile_add_tables(struct ar_profile *p,
                                                   const struct ar_profile *other,
                                                   const struct ar_role_maps *maps);
/* The same of streams that are not ours. Of nodes, communicators … every one has a number. */
AR_MUST_CHECK enum ar_status ar_profile_add_other_streams(struct ar_profile *p,
                                                          const struct ar_profile *other,
                                                          const struct ar_role_maps *maps,
                                                          bool with_bytes);
/* What is in tables refers to other numbers from here on; rows whose number is AR_NO_ID are removed. */
void ar_profile_renumber_tables(struct ar_profile *p, const struct ar_role_maps *maps);
struct ar_role_limits ar_profile_limits(const struct ar_profile *p);
/* Whether some metric that has values is so: see enum ar_row_list_id. */
bool ar_profile_has_exclusive(const struct ar_profile *p);
/* What the texts of another profile are here; they are added where they are not there. */
AR_MUST_CHECK enum ar_status
ar_profile_find_strings(struct ar_profile *p, const struct ar_profile *other, uint32_t *numbers);
/* A copy for ar_profile_merge, as far as it has neither nodes nor what was measured; nothing in it is to be freed. */
struct ar_profile ar_profile_without_values(const struct ar_profile *p);

/* What a thread waits in; NULL: in no call that is known. Of a profile that is in order. */
const struct ar_open_call *ar_profile_open_call(const struct ar_profile *p, uint32_t location);
/* Of communicators on which no thread waits, members are of no use. */
AR_MUST_CHECK enum ar_status ar_profile_trim_members(struct ar_profile *p);

/* "nodes", "functions" …; NULL: there is no such loss. */
const char *ar_loss_name(enum ar_live_loss what);
AR_MUST_CHECK enum ar_status ar_profile_lose(struct ar_profile *p, uint32_t process,
                                             enum ar_live_loss what, uint64_t n);
/* Of a process, in a profile that is in order, or of the one that was added last; AR_NO_ID: of all. */
uint64_t ar_profile_lost(const struct ar_profile *p, uint32_t process, enum ar_live_loss what);
/* With those that are not known here. */
uint64_t ar_profile_lost_in_all(const struct ar_profile *p, uint32_t process);

/* Numbers of locations become `numbers[location]`; where that is AR_NO_ID, what it had goes with it. */
AR_MUST_CHECK enum ar_status ar_profile_renumber_syncs(struct ar_profile *p,
                                                       const uint32_t *numbers);
AR_MUST_CHECK enum ar_status ar_profile_sort_syncs(struct ar_profile *p);
AR_MUST_CHECK enum ar_status ar_profile_keep_streams(struct ar_profile *p);
void ar_profile_free_streams(struct ar_profile *p);
