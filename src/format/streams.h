// SPDX-License-Identifier: BSD-3-Clause
/*
 * streams: the synchronising calls of threads, one stream each, packed as a run file has them.
 *
 * A rank may synchronise a million times, and does so in a few ways: the same call, on the same line, on the
 * same communicator, after the same work. So what does not change is in tables of the stream's own (shapes, and
 * patterns of what was done before), and a call is the number of its shape, when it ended and how long it took, and
 * how its pattern's time was shared out: about ten bytes in place of a hundred. The tables say which nodes and
 * communicators of the profile are meant: merging changes these, and leaves the bytes alone.
 *
 *     call      varint: shape × 4, + 2 if parts follow, + 1 if its sequence number is not the expected one
 *               [varint: by how much it is not, zigzag]
 *               varints: ns since the end of the call before, ns it took, [ns since it was posted]
 *               [varint: pattern; of each of its items a byte: its share, of 255 in all]
 *
 * Expected is the next number of that communicator, of messages the tag that the shape had last.
 *
 * Life cycle: written by ar_stream_begin, _put … _end; read by a cursor, any number of times. Nothing in the
 * bytes is trusted: what cannot be is the end of the stream.
 * Threads: a writer or a cursor has one owner; any number may read a stream.
 *
 *     struct ar_stream_cursor c;
 *     if (ar_stream_open(&c, &p->streams[i]) < 0) ...
 *     while (ar_stream_next(&c)) c.sync.exit_ns, c.sync.n_parts …
 *     ar_stream_close(&c);
 */
#pragma once

#include "base/bytes.h"
#include "base/idmap.h"
#include "format/column.h"

#include <stdbool.h>

/* See struct ar_sync in livefile.h. Times are since the process began. */
struct ar_profile_sync {
    uint32_t location;
    uint32_t kind, flags;
    uint32_t comm; /* its number plus 1; 0: not known */
    uint32_t rank; /* its process's own on that, AR_OWN_RANK; AR_NO_ID: not known */
    uint32_t sequence, peer;
    uint32_t node;
    uint32_t posted; /* node plus 1; 0: it blocked */
    uint64_t enter_ns, exit_ns;
    uint64_t post_ns; /* 0: it blocked */
    uint32_t n_parts;
};

/* Communicators between two groups have ranks in each: `side` is 0 for the group that has the lower first rank of the world. */
#define AR_OWN_RANK(rank, side) ((uint32_t)(rank) << 1 | (side))

/* On what the time between calls was spent, since the last one that had parts. */
struct ar_profile_part {
    uint32_t node;    /* AR_NO_ID: not known */
    uint32_t is_rest; /* 1: in it or below it, in pieces that were too small to be parts */
    uint64_t ns;
};

#define AR_MOST_PARTS 40 /* some more than are recorded */

struct ar_stream_shape {
    uint32_t kind, flags;
    uint32_t comm; /* its number in the stream */
    uint32_t peer;
    uint32_t node;   /* its number in the stream */
    uint32_t posted; /* number of the node that posted it, plus 1; 0: it blocked */
};

struct ar_stream_comm {
    uint32_t comm; /* number plus 1 of the profile's; 0: not known */
    uint32_t rank; /* as in struct ar_profile_sync */
};

/* What the time before calls was spent on: some of the stream's items. */
struct ar_stream_pattern {
    uint32_t first, n;
};

/* An item: the number of a node in the stream plus 1, times 2, + 1 for a rest. 0: not known. */
#define AR_ITEM_UNKNOWN 0u
#define AR_ITEM(node, is_rest) (((uint32_t)(node) + 1) << 1 | (is_rest))

struct ar_stream {
    uint32_t location;
    uint64_t n_syncs, n_parts;
    uint32_t *nodes; /* of the profile */
    size_t n_nodes, cap_nodes;
    struct ar_stream_comm *comms;
    size_t n_comms, cap_comms;
    struct ar_stream_shape *shapes;
    size_t n_shapes, cap_shapes;
    struct ar_stream_pattern *patterns;
    size_t n_patterns, cap_patterns;
    uint32_t *items;
    size_t n_items, cap_items;
    const unsigned char *bytes;
    size_t n_bytes;
    unsigned char
        *own; /* the same bytes where they are this stream's; NULL: another owner keeps them */
};

void ar_stream_free(struct ar_stream *stream);
/* With the bytes, or with another's that live longer. On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_stream_copy(struct ar_stream *to, const struct ar_stream *from,
                                            bool with_bytes);
/* Bytes of its own, if they were another's. */
AR_MUST_CHECK enum ar_status ar_stream_keep(struct ar_stream *stream);

/* ---- writing ---------------------------------------------------------------------------------- */

struct ar_stream_writer {
    struct ar_stream stream; /* but for its bytes */
    struct ar_bytes bytes;
    struct ar_idmap node_ids, comm_ids;
    struct ar_idmap shape_ids, pattern_ids; /* by hash, probing on by one */
    uint32_t *last; /* sequence numbers: of shapes, and of communicators, two a number */
    size_t cap_last;
    uint64_t exit_ns;
};

void ar_stream_begin(struct ar_stream_writer *w, uint32_t location);
/* A call that ended after the one before; of its parts only how they compare is kept. */
AR_MUST_CHECK enum ar_status ar_stream_put(struct ar_stream_writer *w,
                                           const struct ar_profile_sync *sync,
                                           const struct ar_profile_part *parts);
/* What has been written up to now, with the writer's own bytes: good until it writes again. */
struct ar_stream ar_stream_so_far(const struct ar_stream_writer *w);
/* The writer is empty afterwards, whatever happens. */
AR_MUST_CHECK enum ar_status ar_stream_end(struct ar_stream_writer *w, struct ar_stream *out);

/* ---- reading ---------------------------------------------------------------------------------- */

struct ar_stream_cursor {
    const struct ar_stream *stream;
    struct ar_cursor in;
    uint32_t *last;
    uint64_t gaps_ns; /* between calls, since the last one that had parts */
    struct ar_profile_sync sync;
    /* Where it has parts: */
    uint32_t pattern;
    const unsigned char *shares;
    uint64_t parts_ns; /* of all of them together */
    /* NULL; or of a stream before version 9, where they go: AR_MOST_PARTS of them. */
    struct ar_profile_part *old_parts;
};

AR_MUST_CHECK enum ar_status ar_stream_open(struct ar_stream_cursor *out,
                                            const struct ar_stream *stream);
/* false: there is no more. */
bool ar_stream_next(struct ar_stream_cursor *c);
/* Its `sync.n_parts`, at most AR_MOST_PARTS. */
void ar_stream_parts(const struct ar_stream_cursor *c, struct ar_profile_part *out);
void ar_stream_close(struct ar_stream_cursor *c);

/* As a section of a run file. What is read points into the bytes of `in`; `in->bad`: something is wrong. */
void ar_stream_encode(const struct ar_stream *stream, struct ar_bytes *out);
void ar_stream_decode(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes, size_t n_comms);
/* What they are called in files, and what the two tables of each refer to: nodes, and communicators. */
#define AR_SYNC_STREAM "synchronisations"
#define AR_N_SYNC_TABLES 2
extern const struct ar_column ar_sync_roles[AR_N_SYNC_TABLES];
/* The same of version 9; and of those before, whose calls are packed anew, so that it has bytes of its own. */
void ar_stream_decode_9(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes,
                        size_t n_comms);
void ar_stream_decode_old(struct ar_stream *out, struct ar_cursor *in, size_t n_nodes,
                          size_t n_comms);
