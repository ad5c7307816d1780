// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_reading: a live file on its way into a profile; for live_profile.c and its parts.
 *
 *     live_profile.c   records, process, threads; the order in which all of this is read
 *     live_nodes.c     nodes with their calls and times
 *     live_blocks.c    what else was measured: blocks and streams that the file describes, messages, requests
 *     live_trace.c     events of traces: where they lie
 *     live_syncs.c     communicators, and what threads waited for
 *
 * Threads: one owner.
 */
#pragma once

#include "format/live_estimates.h"
#include "format/live_known.h"
#include "format/live_measure.h"
#include "format/profile.h"

struct ar_source_function {
    const struct ar_record *record;
    struct ar_known_function *known; /* what is known of it; NULL: no node has it yet */
    const struct ar_record *module;  /* that it was defined in; NULL: not known */
    uint32_t region;                 /* number of the one that the program made of it; 0: none */
    bool is_partial;                 /* not all of its calls were recorded */
};

/* Nodes that are about ourselves. */
#define AR_NODE_OURS (AR_NO_ID - 1)

/* What a node of the live file became. */
struct ar_mapped {
    /* Its id in the profile and 1. 0 is so AR_NO_ID, left out: memory for the holes of a file is never written. */
    uint32_t node_plus_1;
    uint32_t python; /* index of the nearest Python function at or above; 0: none */
};

/* AR_NO_ID: left out; AR_NODE_OURS: on purpose. */
static inline uint32_t ar_mapped_id(const struct ar_mapped *mapped)
{
    return mapped->node_plus_1 - 1;
}

/* A communicator of the process; with the name that it was given last. */
struct ar_source_comm {
    struct ar_live_comm facts;
    struct ar_str name;
    uint32_t id;      /* in the profile */
    uint32_t n_calls; /* collective calls on it that were recorded */
};

struct ar_reading {
    struct ar_profile *p;
    struct ar_known *known; /* of files before; NULL: there was none */
    const struct ar_live *live;
    struct ar_source_function *functions; /* from 1 */
    size_t n_functions, cap_functions;
    struct ar_known_function *own; /* of the functions, where nothing is kept for later files */
    struct ar_mapped *nodes;       /* by ref */
    uint32_t *locations;           /* by thread number */
    size_t n_threads;
    double ns_per_tick;
    uint64_t now_ticks;
    uint64_t n_lost[AR_N_LOSSES]; /* besides what the file says */
    struct ar_estimates estimates;
    double overheads_ns[AR_N_OVERHEADS];
    bool is_child;                  /* what it says about the run has been said */
    struct ar_str program, command; /* what it was started as, in short and in full */
    struct ar_source_comm *comms;   /* from 1 */
    size_t n_comms, cap_comms;
    struct ar_measures measures;
    struct ar_target *targets; /* where rows go: see live_blocks.c */
};

/* A damaged file may hold any number of ticks: what no clock can have counted is cut off. */
static inline uint64_t ar_whole(double value)
{
    return value < 0x1p62 ? (uint64_t)value : (uint64_t)1 << 62;
}

static inline uint64_t ar_reading_ns(const struct ar_reading *r, uint64_t ticks)
{
    return ar_whole((double)ticks * r->ns_per_tick + 0.5);
}

static inline uint64_t ar_reading_since_start(const struct ar_reading *r, uint64_t ticks)
{
    uint64_t start = r->live->header->start.ticks;

    return ticks > start ? ar_reading_ns(r, ticks - start) : 0;
}

static inline bool ar_reading_is_ours(const struct ar_reading *r, uint32_t ref)
{
    return ref < r->live->n_bytes / AR_LIVE_REF_BYTES &&
           ar_mapped_id(&r->nodes[ref]) == AR_NODE_OURS;
}

/* What a ref became; AR_NO_ID: no node, or one that is not shown. */
static inline uint32_t ar_reading_node(const struct ar_reading *r, uint64_t ref)
{
    if (ref >= r->live->n_bytes / AR_LIVE_REF_BYTES || ar_mapped_id(&r->nodes[ref]) == AR_NODE_OURS)
        return AR_NO_ID;
    return ar_mapped_id(&r->nodes[ref]);
}

/* The location of an extent's thread; AR_NO_ID: it started while the file was copied. */
static inline uint32_t ar_reading_location(const struct ar_reading *r, const struct ar_extent *e)
{
    return e->owner < r->n_threads ? r->locations[e->owner] : AR_NO_ID;
}

/* Of live_profile.c: a function's number in the profile, by that in the file. */
AR_MUST_CHECK enum ar_status ar_reading_function(struct ar_reading *r, uint32_t number,
                                                 uint32_t *id);

AR_MUST_CHECK enum ar_status ar_read_nodes(struct ar_reading *r);
/* Of live_nodes.c: the line of a place in the Python function that the node with that ref is in; 0: not known. */
AR_MUST_CHECK enum ar_status ar_reading_line(const struct ar_reading *r, uint32_t ref,
                                             uint32_t site, uint32_t *line);

/* Once all records have been read. */
AR_MUST_CHECK enum ar_status ar_prepare_blocks(struct ar_reading *r);
/* The blocks that belong to a node alone, and do not say so themselves. */
AR_MUST_CHECK enum ar_status ar_read_chained(struct ar_reading *r, const struct ar_node *node,
                                             uint32_t id, uint32_t location);
AR_MUST_CHECK enum ar_status ar_read_blocks(struct ar_reading *r);
AR_MUST_CHECK enum ar_status ar_read_described_streams(struct ar_reading *r);

/* Of live_trace.c, after the communicators. */
AR_MUST_CHECK enum ar_status ar_read_traces(struct ar_reading *r);

AR_MUST_CHECK enum ar_status ar_read_comms(struct ar_reading *r);
AR_MUST_CHECK enum ar_status ar_read_syncs(struct ar_reading *r);
AR_MUST_CHECK enum ar_status ar_read_members(struct ar_reading *r, uint32_t process);
