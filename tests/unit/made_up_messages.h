// SPDX-License-Identifier: BSD-3-Clause
/*
 * made_up_messages: events of MPI calls of a few ranks as a trace has them, without a trace.
 *
 * One at a time. Rank r is process r, location r and thread r; communicator 1 is the world.
 *
 *     made_up_start(4);
 *     made_up_add(0, (struct ar_trace_message){.kind = AR_TRACE_SEND, .peer = 1, .sequence = 1}, 100, 200);
 *     made_up_match(&m);                     // all that was added, in any order of ranks
 *     made_up_free();
 */
#pragma once

#include "analysis/trace_matches.h"
#include "sample_profile.h"

#define MADE_UP_RANKS 16
#define MADE_UP_EVENTS 40000

static struct {
    struct ar_profile p;
    struct ar_traces traces;
    struct ar_trace items[MADE_UP_RANKS];
    struct ar_trace_event events[MADE_UP_EVENTS];
    uint32_t rank[MADE_UP_EVENTS];
    size_t n_events;
    uint32_t op[MADE_UP_EVENTS]; /* of events, after matching */
    uint32_t node;
} made_up;

/* The node of a function of MPI. */
static inline uint32_t made_up_function(const char *name)
{
    return sample_node(&made_up.p, made_up.node,
                       sample_function(&made_up.p, AR_FUNCTION_MPI, name, 0), 7);
}

static inline void made_up_start(uint32_t n_ranks)
{
    sample_start(&made_up.p);
    made_up.node =
        sample_node(&made_up.p, 0, sample_function(&made_up.p, AR_FUNCTION_PYTHON, "main", 1), 1);
    sample_comm(&made_up.p, 1, "WORLD", AR_COMM_WORLD, n_ranks, 0);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        uint32_t process = sample_rank(&made_up.p, rank);

        made_up.p.processes[process].world_size = n_ranks;
        made_up.items[rank] = (struct ar_trace){.profile = &made_up.p,
                                                .location = sample_thread(&made_up.p, process, 0)};
    }
    made_up.traces =
        (struct ar_traces){.profile = &made_up.p, .items = made_up.items, .n = n_ranks};
    made_up.n_events = 0;
}

/* Returns the number of the event. */
static inline size_t made_up_add_on(uint32_t rank, uint32_t node, struct ar_trace_message message,
                                    uint64_t start_ns, uint64_t end_ns)
{
    size_t at = made_up.n_events++;

    message.comm = message.comm ? message.comm : 1;
    message.rank = message.rank ? message.rank : AR_OWN_RANK(rank, 0);
    made_up.rank[at] = rank;
    made_up.events[at] = (struct ar_trace_event){.kind = AR_EVENT_MESSAGE,
                                                 .node = node,
                                                 .message = message,
                                                 .call_start_ns = start_ns,
                                                 .call_end_ns = end_ns};
    return at;
}

static inline size_t made_up_add(uint32_t rank, struct ar_trace_message message, uint64_t start_ns,
                                 uint64_t end_ns)
{
    return made_up_add_on(rank, made_up.node, message, start_ns, end_ns);
}

static inline void made_up_match(struct ar_trace_matches *m)
{
    sample_must(ar_trace_matches_begin(m, &made_up.traces));
    for (uint32_t rank = 0; rank < made_up.traces.n; rank++) {
        ar_trace_matches_thread(m, rank);
        for (size_t i = 0; i < made_up.n_events; i++)
            if (made_up.rank[i] == rank) {
                made_up.op[i] = (uint32_t)m->n_ops;
                sample_must(ar_trace_matches_add(m, &made_up.events[i], false));
            }
    }
    sample_must(ar_trace_matches_end(m));
}

static inline void made_up_free(void)
{
    ar_profile_free(&made_up.p);
}
