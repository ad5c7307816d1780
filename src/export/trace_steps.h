// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_steps: events of traces as viewers of other tools take them.
 *
 * A viewer shows slices, which begin and end, and instants. So what an MPI call did stands at its end, where the slice is complete; a
 * time in which nothing was recorded is a slice of its own, within those that were open; and the root of a process is none. Each
 * beginning has its end, in the right order, on each thread.
 *
 *     struct ar_steps steps;
 *     struct ar_step step;
 *     status = ar_steps_begin(&steps, &traces, AR_STEPS_OF_ALL, window);      // in order of time; or of one thread: its index
 *     while (status == AR_OK && ar_steps_next(&steps, &step)) ...
 *     status = ar_steps_end(&steps, status, &err);                            // always
 */
#pragma once

#include "analysis/traces.h"

enum ar_step_kind {
    AR_STEP_BEGIN, /* of a call: `node` */
    AR_STEP_END,   /* with what an MPI call did */
    AR_STEP_OFF,   /* nothing is recorded from here on … */
    AR_STEP_ON,    /* … to here */
    AR_STEP_PARAMETER,
    AR_STEP_COUNTER, /* `parameter` */
    AR_STEP_FULL,    /* the limit of the trace was reached */
    AR_STEP_MESSAGE, /* of a call whose end is not in the trace */
};

struct ar_step {
    enum ar_step_kind kind;
    bool is_implied; /* the call began before the trace did, or ended later */
    size_t thread;   /* of the traces */
    int64_t ns;      /* since the run began, within the window */
    uint64_t at_ns;  /* the same since its process began */
    uint32_t node;
    uint64_t n_before; /* messages of the thread that were told with steps before this one */
    const struct ar_trace_message *messages; /* valid until the next step; `comm` as in events */
    size_t n_messages;
    struct ar_trace_parameter parameter; /* the same of its texts */
};

struct ar_steps_thread {
    struct ar_trace_message *messages; /* to be told with the end of their call */
    size_t n_messages, cap_messages;
    uint64_t n_told;
    bool is_off;
};

#define AR_STEPS_OF_ALL SIZE_MAX

struct ar_steps {
    const struct ar_traces *traces;
    size_t thread; /* AR_STEPS_OF_ALL: of all */
    int64_t from_ns, to_ns;
    struct ar_traces_cursor all;
    struct ar_trace_cursor one;
    struct ar_steps_thread *threads;
    struct ar_traces_event held; /* was read, and comes after a step that it led to */
    bool has_held;
    struct ar_trace_message *told; /* messages of the step that was given out last */
    size_t cap_told;
    uint64_t n_events; /* that were read */
    bool is_out_of_memory;
};

/* Whatever it returns, ar_steps_end frees it. */
AR_MUST_CHECK enum ar_status ar_steps_begin(struct ar_steps *s, const struct ar_traces *traces,
                                            size_t thread, int64_t from_ns, int64_t to_ns);
bool ar_steps_next(struct ar_steps *s, struct ar_step *out);
/* The failure that there was, or that of reading the traces. */
AR_MUST_CHECK enum ar_status ar_steps_end(struct ar_steps *s, enum ar_status status,
                                          struct ar_error *err);

/* ---- words ------------------------------------------------------------------------------------ */

/* What a period without a recording is called in all formats, and the instant at which the limit was reached. */
#define AR_STEP_OFF_NAME "not recorded"
#define AR_STEP_FULL_NAME "trace limit reached"
#define AR_STEP_MESSAGE_NAME "message"

/* "python", "c", "mpi", "region", "task", "thread": the class of a call. */
const char *ar_step_category(const struct ar_profile *p, uint32_t function);
/* "send", "collective-posted": as `allranks dump` has it; "": it is none. */
const char *ar_step_message_name(unsigned kind);
/* What a message's peer is: "to", "from", "root". */
const char *ar_step_peer_name(const struct ar_trace_message *message);
static inline bool ar_step_is_collective(const struct ar_trace_message *m)
{
    return m->kind >= AR_TRACE_COLLECTIVE && m->kind <= AR_TRACE_COLLECTIVE_DONE;
}
/* Of a communicator as messages name it; "": not known. */
const char *ar_step_comm_name(const struct ar_profile *p, uint32_t comm);
