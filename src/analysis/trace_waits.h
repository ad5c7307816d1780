// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_waits: who waited for whom, from a trace: when exactly, and what the late one did meanwhile. And the critical path.
 *
 * A wait is the time from when a call began until the one that it needed came, if that was before it ended. In a call
 * that completes several requests it is one wait, for the last of them.
 *
 *     late_sender      a receive, a probe, the completion of a receive: until the send, or its post, began
 *     late_receiver    a send, or the completion of one: until the receive, or its post, began, if the send had not ended before.
 *                      Then it is taken to have needed the receiver; one that had ended was buffered
 *     barrier, all     until the last has come; so MPI_Init and MPI_Finalize
 *     late_broadcast   until the root has; early_reduce: the root, until the last has; early_scan: until those of lower ranks have
 *
 * What was posted has come when it was posted.
 *
 * Who is to blame: while a rank waits, each moment counts for what the one that it waits for does at that moment; if that one
 * waits itself, for what the one that it waits for does, and so on. The latter part is indirect.
 *
 * The critical path goes back from the end of the thread that ends last, to the end of its last wait; from there it goes on on the
 * thread that was waited for, at the moment that it came. It has as many ns as the run lasts, and nothing on it is waiting.
 * Where it comes to the beginning of a process that was not there when the run began, it ends.
 *
 * Of threads beside the main one waits are followed, and not counted: their process may do something else meanwhile.
 *
 * Memory: 48 bytes per wait, 24 per part of the critical path, 16 for each part of a wait that is charged.
 * Cost: linear in events, times the logarithm of waits. Threads: read-only once built.
 */
#pragma once

#include "analysis/trace_matches.h"
#include "analysis/waits.h"

struct ar_trace_wait {
    int64_t from_ns, until_ns; /* since the run began */
    int64_t indirect_ns;       /* of it, in which the late one waited itself */
    uint32_t thread, late;     /* indices of traces */
    uint32_t node;             /* the call that waited; AR_NO_ID: not shown */
    uint8_t class;             /* enum ar_wait_class */
};

/* On a line of the program. */
struct ar_trace_wait_site {
    enum ar_wait_class class;
    uint32_t node; /* one of its nodes: the method's of mpi4py, else MPI's; AR_NO_ID: not shown */
    struct ar_place place;
    uint64_t n;
    int64_t waited_ns, indirect_ns, longest_ns;
};

/* Of a process, or a function. */
struct ar_trace_blame {
    uint32_t item;       /* process; function, AR_NO_ID: not known */
    int64_t waited_ns;   /* of a process: its main thread */
    int64_t indirect_ns; /* of that */
    int64_t caused_ns;   /* others waited while it did this */
    int64_t path_ns;     /* on the critical path */
};

struct ar_trace_path_part {
    int64_t from_ns, until_ns;
    uint32_t thread;
    uint32_t wait; /* that it begins with the end of; AR_NO_ID: none */
};

struct ar_trace_waits {
    const struct ar_trace_matches *m;
    struct ar_trace_wait *items; /* by thread, then by time */
    size_t n, cap;
    size_t *first;                    /* by thread, and the end */
    struct ar_trace_wait_site *sites; /* the largest first */
    size_t n_sites, cap_sites;
    struct ar_trace_blame *processes; /* by number */
    struct ar_trace_blame
        *functions; /* those that have something; on the critical path most first */
    size_t n_functions;
    struct ar_trace_path_part *path; /* the earliest first */
    size_t n_path, cap_path;
    int64_t start_ns, end_ns; /* of the critical path */
    int64_t waited_ns, indirect_ns;
    uint64_t n_counted; /* waits of main threads */
    int64_t
        unfollowed_ns; /* waiting of others that was charged to one that waited: too many parts */
};

AR_MUST_CHECK enum ar_status ar_trace_waits_build(struct ar_trace_waits *out,
                                                  const struct ar_trace_matches *m,
                                                  struct ar_error *err);
void ar_trace_waits_free(struct ar_trace_waits *w);
