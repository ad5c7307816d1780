// SPDX-License-Identifier: BSD-3-Clause
/*
 * livefile: the layout of the file that a running process records into, and its reader.
 *
 *     0            4096                                            n_bytes_used
 *     +------------+-----------+----------+-----------+-----------+ . . . . . . .
 *     | header     | extent    | extent   | extent    | extent    |  allocated, empty
 *     +------------+-----------+----------+-----------+-----------+ . . . . . . .
 *                    THREADS     RECORDS    NODES of    NODES of
 *                                           thread 0    thread 1
 *
 * The file is mapped shared, at one address for the whole life of the process, and written with
 * plain stores. It has no pointers, only offsets; `ref` is an offset in units of 64 bytes, so that
 * 32 bits reach 256 GiB. An extent is a run of whole pages of one kind. What is in it counts as
 * written once `n_bytes_used` covers it.
 *
 * Who writes what, and when a reader may look:
 *   - header        the process, under its lock; `n_bytes_used` last (release)
 *   - RECORDS       the process, under its lock; append-only; `n_bytes_used` of the extent last
 *   - THREADS       slots are handed out under the lock, then written by their thread alone
 *   - NODES         its thread alone; append-only but for the counters in a node
 *   - counters      one aligned 8-byte store each: a reader sees the old or the new value
 *
 * Invariants that hold between any two stores, and so after a SIGKILL:
 *   1. A node that can be seen has a parent that can be seen, at a smaller offset; a root has
 *      parent 0.
 *   2. A node's function has been recorded before the node is.
 *   3. `ticks` of a node is the sum of its finished calls; while one is open it is that sum minus
 *      the stamp of the entry, which is negative because a stamp is larger than any sum of spans
 *      before it. One store opens a node, one store closes it, and neither instant can lose or
 *      double a span.
 *   4. The open nodes of a thread are `current_ref` and its ancestors, with one child that is being
 *      entered, or without the innermost ones, which are being left.
 *
 * Readers trust none of this: ar_live_open checks every offset before it is followed.
 */
#pragma once

#include "base/clock.h"
#include "base/status.h"
#include "format/bulk.h"
#include "format/kinds.h"
#include "format/trace_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_LIVE_MAGIC "ALLRLIVE"
#define AR_LIVE_VERSION 8
#define AR_LIVE_OLDEST_VERSION 7 /* that is read: it has no measures */
#define AR_LIVE_HEADER_BYTES 4096
#define AR_LIVE_PAGE_BYTES 4096
#define AR_LIVE_REF_BYTES 64
#define AR_FIRST_MEASURE 64 /* kinds of blocks and extents from here on are described by records */
enum ar_live_state {
    AR_LIVE_RUNNING = 1,
    AR_LIVE_FINISHED = 2, /* the process ended its recording in good order */
    AR_LIVE_REPLACED = 3, /* it is about to become another program, by exec */
};

/* Has this rank seen all others? Written once; see runtime/rollcall.h. */
enum ar_live_vote {
    AR_VOTE_NONE = 0,
    AR_VOTE_YES = 1,
    AR_VOTE_NO = 2,
    AR_VOTE_HERE = 3, /* only those that share the directory */
    AR_VOTE_ALL = 4,  /* after AR_VOTE_HERE: all others were heard of */
};

struct ar_live_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t state; /* enum ar_live_state */
    uint32_t clock_kind;
    uint64_t n_bytes_used; /* header and extents that a reader may look at */
    uint64_t n_bytes_max;  /* the file never grows beyond this */

    /* Who this is: host, pid, and when it was started, since pids come again. */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t pid_start;      /* field 22 of /proc/PID/stat */
    uint32_t world_rank;     /* AR_RANK_NONE: not known */
    uint32_t world_size;     /* 0: not known */
    uint32_t vote;           /* enum ar_live_vote */
    uint32_t rank_confirmed; /* 1: MPI itself said so */
    char host[64];
    char job[64];

    struct ar_stamp start;
    struct ar_stamp latest; /* now and then, and at the end: gives the length of a tick */
    uint64_t n_lost[AR_N_LIVE_LOSSES];

    /* What recording costs, measured when it began: see runtime/budget.h. */
    double call_cost_ns;
    double c_call_cost_ns; /* of a C function, if the call is timed */

    /* Whose child this is, and whose descendant: the root of a family is its own root. */
    uint64_t parent_start; /* 0: the parent is not recorded */
    uint64_t root_start;
    uint32_t root_pid;
    uint32_t is_child; /* 0: this is the root; 1 also for what it became by exec */

    struct ar_clock_link clock_links[AR_N_CLOCK_INSTANTS];

    double c_count_cost_ns; /* of a C function, if the call is only counted */
    /* Measured as it was spent: PATHS, START of a forked child. The others are calls times prices. */
    uint64_t spent_ticks[AR_N_OVERHEADS];
    uint64_t n_sought;                 /* calls whose node was not the expected one */
    uint64_t spent_ns[AR_N_OVERHEADS]; /* besides, by the processor's clock: START, IMPORTS */

    /*
     * Written by `allranks trace`: another number each time, odd: a trace is wanted from now on, even: none is; 0: nothing was wanted yet.
     * Only the lowest byte of it changes.
     */
    uint32_t trace_wish;
    uint32_t trace_state; /* enum ar_live_tracing */
    uint32_t trace_heard; /* the last `trace_wish` that was followed */
};

enum ar_live_tracing {
    AR_TRACE_NEVER_ON = 0, /* there is no trace */
    AR_TRACE_IS_ON = 1,
    AR_TRACE_IS_OFF = 2,  /* it was switched off */
    AR_TRACE_IS_FULL = 3, /* it was on, and there is no room for more */
};

enum ar_extent_kind {
    AR_EXTENT_THREADS = 1,
    AR_EXTENT_RECORDS = 2,
    AR_EXTENT_NODES = 3,
    AR_EXTENT_VALUES = 4, /* further values of nodes */
    AR_EXTENT_STREAM = 5, /* struct ar_sync; readers skip kinds they do not know */
    AR_EXTENT_GONE = 6,  /* the parent's, which a forked child has no use for; a hole in the file */
    AR_EXTENT_TRACE = 7, /* a chunk of a trace, see trace_bytes.h; its header has further words */
    /* From AR_FIRST_MEASURE on: streams, as records describe them. */
};

struct ar_extent {
    uint32_t kind;
    uint32_t owner;        /* thread number for NODES, VALUES and STREAM; 0 otherwise */
    uint64_t n_bytes;      /* this header included; a multiple of the page size */
    uint64_t n_bytes_used; /* this header included */
    uint64_t spare[5];
};

/* A function or a fact: what is known once about something. Padded to a multiple of 8 bytes. */
enum ar_record_kind {
    AR_RECORD_FUNCTION = 1,
    AR_RECORD_FACT = 2,    /* name = key, file = value */
    AR_RECORD_PARTIAL = 3, /* function `other` was timed no more from here on */
    AR_RECORD_COMM = 4, /* a communicator, window or file: struct ar_live_comm follows the name */
    AR_RECORD_COMM_NAME = 5, /* number `other` has this name from here on */
    AR_RECORD_MEASURE = 6,   /* what blocks or a stream mean: live_measure.h, as the linetable */
    AR_RECORD_MODULE = 7,    /* function `other` was defined in this module */
};

/* How offsets in a function's code become lines; the interpreter's own table is stored as it is. */
enum ar_linetable_kind {
    AR_LINETABLE_NONE = 0,
    AR_LINETABLE_LNOTAB = 1, /* 3.9 */
    AR_LINETABLE_PEP626 = 2, /* 3.10 */
    AR_LINETABLE_PEP657 = 3, /* 3.11 and later */
};

struct ar_record {
    uint32_t n_bytes; /* of the whole record */
    uint8_t kind;
    uint8_t function_kind;
    uint8_t linetable_kind;
    uint8_t spare;
    uint32_t first_line;
    uint32_t n_name, n_file, n_linetable; /* bytes that follow, in this order */
    uint32_t other; /* FUNCTION: the region that it is, or 0; PARTIAL: the function */
    uint32_t spare_word;
};

/* Functions are numbered from 1 in the order of their records, and so are communicators. */

/*
 * `identity` is the same on all members, and another for every communicator of the run, without a
 * word between them: it is made of the parent's, of how many were made of that before, and of the
 * new one's first rank. 0: other processes' cannot be told to be the same.
 */
struct ar_live_comm {
    uint64_t identity;
    uint32_t parent; /* number; 0: none */
    uint32_t origin; /* enum ar_comm_origin */
    uint32_t size, remote_size;
    uint32_t rank;
    uint32_t made_ref;  /* the node of the call that made it; 0: not known */
    uint32_t is_hidden; /* 1: mpi4py made it for itself; it is shown as its parent */
    uint32_t side;      /* of two groups: which one this process is in, 0 or 1; see AR_OWN_RANK */
};

/*
 * For what an MPI call waits, known when it is entered: fields as in struct ar_sync. It is of the call at `node_ref`, and
 * valid while the thread is there; each entry of such a call writes it again, and leaving writes nothing.
 */
struct ar_live_call {
    uint32_t node_ref;   /* written last; 0: there was no such call yet */
    uint8_t kind;        /* enum ar_sync_kind */
    uint8_t flags;       /* AR_CALL_… */
    uint16_t n_requests; /* that it waits for; 0: it is no call that completes requests */
    uint32_t comm;       /* number; 0: not known */
    uint32_t sequence;   /* which of the collective calls on it, from 0; the tag of a message */
    uint32_t peer;       /* root, source or destination in the communicator; AR_PEER_… */
};

struct ar_live_thread {
    /* Written at every event: a cache line of its own. */
    uint32_t current_ref; /* the node the thread is in */
    uint32_t root_ref;    /* 0: slot not in use yet */
    uint64_t latest_ticks;
    struct ar_live_call call; /* at every MPI call that may wait */
    uint32_t hot_spare[7];
    /* Written at start and end. */
    uint32_t number;
    uint32_t os_tid;
    uint64_t start_ticks;
    uint64_t end_ticks; /* 0: still running */
    char name[40];
};

/*
 * A node: one cache line, all that an event touches.
 *
 * `key` is the function (low half) and where it was called from: the byte offset of the instruction
 * in the caller's code plus one (high half). 0 there: not known, or calls from all places together,
 * as in recursion.
 */
#define AR_NODE_ANY_PLACE 1u  /* below here calls are not told apart by where they come from */
#define AR_NODE_ALL_PLACES 2u /* all calls of its function by its parent are here */
/* A function in C. */
#define AR_NODE_IN_C 4u
/* An operation, or a function in C that one calls: each call is timed, and what it calls is below it. */
#define AR_NODE_OPERATION 0x100u
/* The writer's own, by function; see enum ar_tree_mark in runtime/tree.h. */
#define AR_NODE_MARKS 0x41fcu
/* The writer's own: of a function in C, not every call is timed any more; it has called nothing yet. */
#define AR_NODE_SAMPLED 0x200u
/* The writer's own: `children` is valid. */
#define AR_NODE_FILTERS 0x400u
/* The writer's own: a function in C that has returned; it is open because what it called goes on. */
#define AR_NODE_RETURNED 0x800u
/* An MPI call that leaves records in streams: its time is theirs. */
#define AR_NODE_SYNCS 0x1000u
/* The writer's own: counters are read when it is entered and left, and `epoch` is stored as its complement. */
#define AR_NODE_COUNTED 0x2000u
/* The writer's own: a region that ends with the call that it was begun in, at the latest. */
#define AR_NODE_IN_CALL 0x4000u
/* The rest of the flags: the number of the node in its thread's traces, from 1; 0: it has none, and is named by its ref. */
#define AR_NODE_NUMBER_SHIFT (32 - AR_TRACE_NUMBER_BITS)

struct ar_node {
    uint64_t key;
    int64_t ticks;    /* see invariant 3 */
    uint64_t n_calls; /* open one included */
    uint32_t parent_ref;
    uint32_t guess_ref;  /* the child likely to be entered next; only the writer uses it */
    uint32_t values_ref; /* chain of struct ar_values, 0: none */
    uint32_t epoch;      /* interval between two waits in which it ran last; only for the writer */
    uint64_t interval_ticks; /* its `ticks` when that began; only for the writer */
    uint32_t flags;          /* AR_NODE_… */
    union {                  /* only for the writer */
        uint32_t cell_ref;   /* of an MPI call: where its last message was counted */
        uint32_t squares;    /* of a function in C: of its calls' ticks, the bits of a float */
        uint32_t
            children; /* of others: a bit by hash for each child, so that a new one is known as such */
    };
    uint32_t left_ref;      /* the child that was left last; only for the writer */
    uint32_t successor_ref; /* the sibling that followed last time; only for the writer */
};

/*
 * Values beyond calls and time: blocks of 64 bytes, chained, one of a kind per node where nothing else is said. Those that records
 * describe come after the first one: the writer looks at that in every MPI call, and for every C function that is not always timed.
 */
enum ar_values_kind {
    AR_VALUES_MPI = 1,
    AR_VALUES_ESTIMATE = 4, /* of a function in C of which not every call was timed */
    AR_VALUES_TASK = 5,
    AR_VALUES_TRAFFIC = 6,   /* any number of them: one a communicator, peer and size */
    AR_VALUES_COMPLETED = 7, /* any number of them: one a node whose requests were completed here */
    /* From AR_FIRST_MEASURE on: as records describe them. */
};

struct ar_values {
    uint32_t kind;
    uint32_t next_ref;
    uint64_t words[7]; /* by kind: the following */
};

enum ar_mpi_word { AR_MPI_BYTES_OUT, AR_MPI_BYTES_IN, AR_MPI_MIN_TICKS, AR_MPI_MAX_TICKS };
/*
 * WHERE is the node (high half), the communicator (24 bits) and the size (8 bits): 0 for no bytes, k
 * for 2^(k-1) <= bytes < 2^k. PEER is the rank in the communicator (low half) and in the world (high
 * half); AR_PEER_… where there is none. TICKS are of the calls whose messages these are, each
 * counted once.
 */
enum ar_traffic_word {
    AR_TRAFFIC_WHERE,
    AR_TRAFFIC_PEER,
    AR_TRAFFIC_N_OUT,
    AR_TRAFFIC_BYTES_OUT,
    AR_TRAFFIC_N_IN,
    AR_TRAFFIC_BYTES_IN,
    AR_TRAFFIC_TICKS
};
/* Requests that were posted at the node POSTED, and completed here. WHERE is the node (high half). */
enum ar_completed_word {
    AR_COMPLETED_WHERE,
    AR_COMPLETED_POSTED, /* ref */
    AR_COMPLETED_N,
    AR_COMPLETED_FLIGHT_TICKS, /* from post to end */
    AR_COMPLETED_WAITED_TICKS, /* those that a call completes together share its time */
    AR_COMPLETED_EXPOSED_TICKS /* of its flight, in the completing call: each has all of it */
};
/*
 * How many of its calls were timed, whose time `ticks` is, and how many of these were long (0.5 ms), and
 * how long. All long calls were timed, or are in a node of kind UNASSIGNED. Of the others those that were
 * timed stand for all: SQUARES is the sum of the squares of their ticks, as the bits of a double.
 */
enum ar_estimate_word {
    AR_ESTIMATE_TIMED,
    AR_ESTIMATE_SQUARES,
    AR_ESTIMATE_LONG_CALLS,
    AR_ESTIMATE_LONG_TICKS
};
enum ar_task_word { AR_TASK_AWAITED_TICKS };

/*
 * What a thread waited for: one record a synchronising call, in extents of kind STREAM, in the order
 * in which the calls ended; and one where something was posted that others may wait for. `n_parts` of struct
 * ar_sync_part follow: on what the thread spent its time between such calls, since the last record that had any.
 * A record without is part of the interval of the next one that has some.
 */
struct ar_sync {
    uint8_t kind; /* enum ar_sync_kind */
    uint8_t n_parts;
    uint8_t flags; /* AR_SYNC_… */
    uint8_t spare;
    uint32_t comm;       /* number */
    uint32_t sequence;   /* which of the collective calls on it, from 0; the tag of a message */
    uint32_t peer;       /* root, source or destination in the communicator; AR_PEER_ALL: none */
    uint32_t node_ref;   /* the call that waited */
    uint32_t posted_ref; /* where it was posted; 0: it blocked */
    uint64_t enter_ticks, exit_ticks;
    uint64_t post_ticks;
};

/* What a function took itself on a call path, lines and functions in C aside: those with a good part of the interval. */
struct ar_sync_part {
    uint32_t node_ref; /* one of its nodes */
    float ticks;       /* negative: a rest, of smaller pieces in that function or below it */
};

_Static_assert(sizeof(struct ar_sync) == 48, "no holes");
_Static_assert(sizeof(struct ar_live_header) <= AR_LIVE_HEADER_BYTES, "header is one page");
_Static_assert(sizeof(struct ar_extent) == 64, "extents keep cache lines aligned");
_Static_assert(sizeof(struct ar_live_thread) == 128, "two cache lines");
_Static_assert(offsetof(struct ar_live_thread, number) == 64, "cold half on its own line");
_Static_assert(sizeof(struct ar_node) == 64, "one cache line");
_Static_assert(sizeof(struct ar_values) == 64, "one cache line");

/*
 * Reader: a checked copy of a live file. It is a copy because the process may go on writing, so
 * that what was checked would no longer be what is read. The length to copy is read first, so
 * everything it covers is complete.
 *
 *     struct ar_live live;
 *     if (ar_live_open(&live, path, &err) < 0) ...
 *     const struct ar_extent *e = NULL;
 *     while ((e = ar_live_next(&live, e, AR_EXTENT_NODES))) ...
 *     ar_live_close(&live);
 */
struct ar_live {
    unsigned char *bytes;
    size_t n_bytes;
    const struct ar_live_header *header;
    bool in_place; /* the bytes are the file's own */
    bool salvages; /* what cannot be read is left out and not a reason to refuse the rest */
    uint64_t n_bytes_left_out;
    bool is_at_rest;  /* its process has ended, and no other writes to it */
    bool was_running; /* its process ran, here, when we began to read */
    bool with_trace;  /* set by readers that want traces, which have to be looked through */
    struct ar_bulk_source
        trace_source; /* where the chunks of traces are read: they are not in `bytes` */
};

AR_MUST_CHECK enum ar_status ar_live_open(struct ar_live *out, const char *path,
                                          struct ar_error *err);
/*
 * The same of a file that may be damaged or cut off: up to where it is sound, and whatever else it
 * says is checked by those who read nodes. Fails only where there is no header of ours.
 */
AR_MUST_CHECK enum ar_status ar_live_salvage(struct ar_live *out, const char *path,
                                             struct ar_error *err);
/* The same from memory; the bytes are copied. `name` is for messages. */
AR_MUST_CHECK enum ar_status ar_live_from_bytes(struct ar_live *out, const void *bytes,
                                                size_t n_bytes, const char *name,
                                                struct ar_error *err);
/*
 * This process's own file where it is mapped, without a copy: memory is what the end of a run has
 * least of. Its writer is trusted in what it published, but threads may go on writing: what has been
 * read once may be more the next time. `bytes` is a shared mapping of the file, since pages that have
 * been read are given back to it.
 */
AR_MUST_CHECK enum ar_status ar_live_in_place(struct ar_live *out, void *bytes, size_t n_bytes,
                                              const char *name, struct ar_error *err);
/* The file that it was read from, whose traces are to be read, too. AR_NOMEM: there is no memory for the name. */
AR_MUST_CHECK enum ar_status ar_live_find_traces(struct ar_live *live, const char *path);
/* A quick look: false if it is no live file. Its version is not looked at. */
bool ar_live_read_header(const char *path, struct ar_live_header *out);
/* A quick look as well, at the threads, too: the newest stamp of the file. */
bool ar_live_read_newest(const char *path, struct ar_live_header *out, uint64_t *newest_ticks);
/* Does the process that writes it run, on this machine? */
bool ar_live_is_running(const struct ar_live_header *header);
void ar_live_close(struct ar_live *live);

static inline bool ar_live_version_is_read(const struct ar_live_header *header)
{
    return header->version >= AR_LIVE_OLDEST_VERSION && header->version <= AR_LIVE_VERSION;
}
/* Does it begin as a live file does? */
bool ar_live_has_magic(const char *path);
/*
 * Has its writer written the header? If not it is just starting, or was killed that early; or the file
 * has gone again meanwhile. Then there is nothing in it, and nothing wrong with it.
 */
bool ar_live_has_begun(const char *path);

/* The extent of that kind after `previous` (NULL: the first); NULL when there is none. */
const struct ar_extent *ar_live_next(const struct ar_live *live, const struct ar_extent *previous,
                                     enum ar_extent_kind kind);
/* Number of items of `item_bytes` in an extent, and the i-th of them. */
size_t ar_extent_count(const struct ar_extent *extent, size_t item_bytes);
static inline const void *ar_extent_item(const struct ar_extent *extent, size_t i,
                                         size_t item_bytes)
{
    return (const unsigned char *)(extent + 1) + i * item_bytes;
}
/* Is this a whole record, in the bytes that are left of its extent? */
static inline bool ar_record_is_sound(const struct ar_record *record, size_t n_left)
{
    return n_left >= sizeof *record && record->n_bytes >= sizeof *record &&
           record->n_bytes <= n_left && record->n_bytes % 8 == 0 &&
           (uint64_t)record->n_name + record->n_file + record->n_linetable <=
               record->n_bytes - sizeof *record;
}
/* What `ref` names if it lies within the file, else NULL. */
const void *ar_live_at(const struct ar_live *live, uint32_t ref);
