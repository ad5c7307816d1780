// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_matches: which events of a trace belong together: sends and receives, members of collective calls, requests from post to
 * end, probes and the receives after them.
 *
 * Every message event of a thread is an op, in the order in which ar_trace_next tells them: event k of thread i is
 * ops[first[i] + k]. A message is sent by an op AR_TRACE_SEND or AR_TRACE_SEND_POSTED, and received by AR_TRACE_RECEIVE or
 * AR_TRACE_RECEIVE_DONE; these are partners of each other. It is certain only that the call that received did not end before
 * the call that sent, or posted, began.
 *
 * Messages are matched by the numbers that the runtime gave them (runtime/mpi_channels.h), receives in the order in
 * which they were posted. What could be matched wrongly is not matched, and says why: enum ar_trace_unmatched.
 *
 * Memory: 40 bytes per message event, 4 more per collective one; 48 more while it is built.
 * Threads: read-only once built.
 *
 *     struct ar_trace_matches m;
 *     if (ar_trace_matches_build(&m, &traces, &err) < 0) ...
 *     m.ops[m.first[thread] + k].partner …
 *     ar_trace_matches_free(&m);
 *
 * Events that do not come from a trace: ar_trace_matches_begin, then per thread, in the order of threads, ar_trace_matches_thread
 * and ar_trace_matches_add, at last ar_trace_matches_end.
 */
#pragma once

#include "analysis/traces.h"

/* Why an op has no partner. */
enum ar_trace_unmatched {
    AR_MATCHED = 0, /* it has one, or needs none */
    AR_UNMATCHED_ALONE, /* the other end is not in the trace: it was off, was cut, or a rank is missing */
    AR_UNMATCHED_NUMBER, /* the runtime could not number it: messages before it were not seen */
    AR_UNMATCHED_AMBIGUOUS, /* several threads of a process send or receive on the same channel, or order is unknown in gaps */
    AR_UNMATCHED_SIZE, /* sizes on its channel differ: numbers are not to be believed */
    AR_UNMATCHED_COMM, /* its communicator is not known to be the same on both sides */
    AR_N_TRACE_UNMATCHED
};

/* "other end not traced" …, in words. */
const char *ar_trace_unmatched_name(enum ar_trace_unmatched why);

enum ar_trace_op_flag {
    AR_OP_ROOT = 1, /* of a collective call: this is the root */
    AR_OP_MAY_PASS =
        2, /* MPI lets ranks leave it before all have come; so also where nothing is moved */
    AR_OP_BUFFERED = 4, /* a send that no receiver is waited for */
    AR_OP_CUT = 8,      /* its call began before the trace */
};

struct ar_trace_op {
    uint64_t start_ns, end_ns; /* of the MPI call, since the process began */
    uint32_t node;             /* that call; AR_NO_ID: not shown */
    uint32_t partner;          /* op; of collective calls a group; AR_NO_ID: none */
    uint32_t
        other; /* op of the same process: the post of what ends, the end of what is posted, the receive of a probe; AR_NO_ID: none */
    uint32_t rank; /* the process's own in the communicator: AR_OWN_RANK */
    uint32_t comm; /* number plus 1; 0: not known */
    uint8_t kind;  /* enum ar_trace_message_kind */
    uint8_t sync;  /* enum ar_sync_kind */
    uint8_t flags; /* enum ar_trace_op_flag */
    uint8_t why;   /* enum ar_trace_unmatched */
};

/* A collective call of which all members are known. */
struct ar_trace_group {
    uint32_t first, n; /* of `members`: those that came, in the order of ranks */
    uint8_t sync;      /* enum ar_sync_kind */
    bool has_two;      /* sides: see AR_OWN_RANK */
    bool may_pass;     /* for one of its members */
};

/* MPI_Init or MPI_Finalize, of a rank. */
struct ar_trace_setup {
    uint64_t start_ns, end_ns;
    size_t thread;
    uint32_t node;
    bool is_end;
};

struct ar_trace_matches {
    const struct ar_traces *traces;
    struct ar_trace_op *ops;
    size_t n_ops, cap_ops;
    size_t *first; /* by thread, and the end */
    struct ar_trace_group *groups;
    size_t n_groups, cap_groups;
    uint32_t *members;
    size_t n_members, cap_members;
    uint64_t n_messages;                        /* that have both ends */
    uint64_t n_unmatched[AR_N_TRACE_UNMATCHED]; /* ops: ends of messages */
    uint64_t n_incomplete; /* ops of collective calls of which not all members are known */
    struct ar_trace_setup *setups;
    size_t n_setups, cap_setups;
    struct ar_trace_matching *work; /* while it is built */
};

AR_MUST_CHECK enum ar_status ar_trace_matches_build(struct ar_trace_matches *out,
                                                    const struct ar_traces *traces,
                                                    struct ar_error *err);
void ar_trace_matches_free(struct ar_trace_matches *m);

/* The thread of an op. */
size_t ar_trace_matches_thread_of(const struct ar_trace_matches *m, uint32_t op);

static inline bool ar_trace_op_sends(const struct ar_trace_op *op)
{
    return op->kind == AR_TRACE_SEND || op->kind == AR_TRACE_SEND_POSTED;
}

static inline bool ar_trace_op_receives(const struct ar_trace_op *op)
{
    return op->kind == AR_TRACE_RECEIVE || op->kind == AR_TRACE_RECEIVE_DONE;
}

/* It is one of the members of its group. */
static inline bool ar_trace_op_comes(const struct ar_trace_op *op)
{
    return op->kind == AR_TRACE_COLLECTIVE || op->kind == AR_TRACE_COLLECTIVE_POSTED;
}

AR_MUST_CHECK enum ar_status ar_trace_matches_begin(struct ar_trace_matches *out,
                                                    const struct ar_traces *traces);
void ar_trace_matches_thread(struct ar_trace_matches *m, size_t thread);
/* Of an event AR_EVENT_MESSAGE; `is_cut`: its call began before the trace. */
AR_MUST_CHECK enum ar_status ar_trace_matches_add(struct ar_trace_matches *m,
                                                  const struct ar_trace_event *event, bool is_cut);
AR_MUST_CHECK enum ar_status ar_trace_matches_end(struct ar_trace_matches *m);
