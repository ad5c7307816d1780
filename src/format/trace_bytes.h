// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_bytes: the events of a thread as bytes, as live files and run files have them.
 *
 * A trace says in which node of its tree the thread was at which time. An event is a step of the current node: down to a child, up to
 * the parent, or anywhere. Steps down name the node by its number in the tree of its thread, which is in the flags of the node;
 * steps up need no name. Times are distances from the event before, in units of 2^shift ticks (about 4 ns: a look at the clock
 * takes longer).
 *
 *     16 bits    01 | 14 time                   up
 *     32 bits    10 | 13 time | 17 number       down
 *     48 bits    11 | 29 time | 17 number       the same after a longer time; number 0: up
 *     more       00 | 6 code | 8 n              2n bytes follow: enum ar_trace_code; code 0 ends the chunk
 *
 * Bits are counted from the lowest one; words are little-endian. An event of a short Python function is two bytes, and four bytes,
 * where it calls and returns within 30 us; one that comes later takes six.
 *
 * A chunk is what one extent of a live file has. It starts with the node and the time that its header says, so that it can be read by
 * itself.
 *
 * Threads: a chunk has one writer. A reader that copies a chunk after its length sees whole events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_TRACE_NUMBER_BITS 17
#define AR_TRACE_NUMBERS (UINT32_C(1) << AR_TRACE_NUMBER_BITS) /* 0 is no number */
#define AR_TRACE_UP_TIME (UINT64_C(1) << 14)
#define AR_TRACE_DOWN_TIME (UINT64_C(1) << 13)
#define AR_TRACE_LONG_TIME (UINT64_C(1) << 29)
#define AR_TRACE_MOST_PAYLOAD (size_t)(2 * 255)
#define AR_TRACE_MOST_BYTES (2 + AR_TRACE_MOST_PAYLOAD) /* that an event takes */

enum ar_trace_tag { AR_TRACE_MORE = 0, AR_TRACE_UP = 1, AR_TRACE_DOWN = 2, AR_TRACE_LONG = 3 };

/* What follows the head; numbers are little-endian, varints are LEB128. */
enum ar_trace_code {
    AR_TRACE_END = 0,       /* no more events */
    AR_TRACE_GO = 1,        /* time u64, ref u32: the thread is in that node, wherever it was */
    AR_TRACE_OFF = 2,       /* time u64: nothing is recorded from here on */
    AR_TRACE_ON = 3,        /* time u64, ref u32: events follow again; the thread is in that node */
    AR_TRACE_MESSAGE = 4,   /* of the MPI call that was left last: struct ar_trace_message */
    AR_TRACE_PARAMETER = 5, /* time u64, type u8, value, name; see enum ar_trace_parameter_type */
    AR_TRACE_FULL = 6,      /* time u64: the limit is reached, and nothing more is recorded */
    AR_TRACE_REWOUND =
        7, /* time u64, ref u32: what was recorded since was taken back by the program */
    AR_N_TRACE_CODES
};

/* What an MPI call did: of one call there may be several, one per request for example. */
enum ar_trace_message_kind {
    AR_TRACE_SEND = 1,        /* a message went out, in a call that blocked */
    AR_TRACE_RECEIVE = 2,     /* one came in */
    AR_TRACE_SEND_POSTED = 3, /* a request to send was posted or started */
    AR_TRACE_SEND_DONE = 4,   /* and has ended */
    AR_TRACE_RECEIVE_POSTED = 5,
    AR_TRACE_RECEIVE_DONE = 6, /* the same of receiving */
    AR_TRACE_COLLECTIVE = 7,   /* a collective call that blocked */
    AR_TRACE_COLLECTIVE_POSTED = 8,
    AR_TRACE_COLLECTIVE_DONE = 9,
    AR_TRACE_CANCELLED = 10, /* a request that was cancelled */
    AR_TRACE_PROBED = 11,
    AR_N_TRACE_MESSAGE_KINDS
};

/*
 * Stored as: kind + 128 u8, which fields follow u8, then varints: peer + 4 (mod 2^32), and of these the ones whose bit is set, from the
 * lowest: comm xor 1, tag (zigzag), sequence, bytes out, bytes in, request, kind of waiting × 2 + may_pass,
 * own rank. All others are 0. Before version 3: kind u8, comm, peer + 4, then all the others, as they are.
 *
 * Nothing is left out because it is as in a message before: a reader begins anywhere in a chunk.
 */
struct ar_trace_message {
    uint8_t kind;  /* enum ar_trace_message_kind */
    uint8_t sync;  /* enum ar_sync_kind of the call */
    bool may_pass; /* a collective call that MPI lets ranks leave before all have come */
    uint32_t comm; /* number; 0: not known */
    uint32_t peer; /* rank in the communicator: root, source or destination; AR_PEER_… */
    uint32_t rank; /* the process's own, as AR_OWN_RANK has it */
    int32_t tag;   /* of a message */
    /*
     * Of a collective call: which on its communicator, from 0. Of a message, where it is sent or has been received: which with this
     * communicator, peer and tag, from 1; 0: not known. Both count on where the trace is off.
     */
    uint32_t sequence;
    uint64_t bytes_out, bytes_in;
    uint64_t
        request; /* the same number where it was posted and where it has ended; 0: it blocked */
};

enum ar_trace_parameter_type {
    AR_TRACE_SIGNED = 0,   /* value i64 */
    AR_TRACE_UNSIGNED = 1, /* value u64 */
    AR_TRACE_TEXT = 2,     /* value: u8 length and text */
    AR_TRACE_COUNTER = 3,  /* value u64: what a counter of this thread has counted so far */
    AR_N_TRACE_PARAMETER_TYPES
};

/* The header of an extent that is a chunk of a trace, in the words of struct ar_extent that are spare. */
enum ar_trace_word {
    AR_TRACE_FIRST_TICKS = 0, /* the time of the chunk's beginning; a multiple of the unit */
    AR_TRACE_SEQUENCE =
        1, /* which of its thread's chunks; one that is used again has a new number */
    AR_TRACE_FIRST_REF = 2, /* low half: the node that the thread is in then; high half: shift */
    AR_N_TRACE_WORDS
};

/* An event as it lies in a chunk. */
struct ar_trace_item {
    uint8_t tag;     /* enum ar_trace_tag; AR_TRACE_LONG never: it is one of the others */
    uint8_t code;    /* enum ar_trace_code, of AR_TRACE_MORE */
    uint32_t number; /* of the node, of AR_TRACE_DOWN; a ref, of codes that have one */
    uint64_t units;  /* since the beginning of the chunk */
    const unsigned char *payload; /* of AR_TRACE_MORE, after time and ref */
    size_t n_payload;
};

/*
 * Reads a chunk; any bytes are safe.
 *
 *     struct ar_trace_chunk_reader r = {.at = bytes, .end = bytes + n};
 *     struct ar_trace_item item;
 *     while (ar_trace_chunk_next(&r, &item)) ...
 *     if (r.bad) ...                              // what follows makes no sense
 */
struct ar_trace_chunk_reader {
    const unsigned char *at, *end;
    uint64_t units;
    bool bad;
};

bool ar_trace_chunk_next_rare(struct ar_trace_chunk_reader *r, struct ar_trace_item *out);
/* false: it is none. */
bool ar_trace_message_get(struct ar_trace_message *out, const struct ar_trace_item *item);
/* Returns how many bytes it takes, at most AR_TRACE_MOST_PAYLOAD. */
size_t ar_trace_message_put(const struct ar_trace_message *message, unsigned char *to);

/* A parameter; texts are not terminated. */
struct ar_trace_parameter {
    uint8_t type; /* enum ar_trace_parameter_type */
    uint64_t value;
    const char *name, *text;
    size_t n_name, n_text;
};

/* false: it is none. */
bool ar_trace_parameter_get(struct ar_trace_parameter *out, const struct ar_trace_item *item);
/* Texts that are too long are cut. Returns how many bytes it takes. */
size_t ar_trace_parameter_put(const struct ar_trace_parameter *parameter, unsigned char *to);

static inline uint32_t ar_trace_word16(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static inline bool ar_trace_chunk_next(struct ar_trace_chunk_reader *r, struct ar_trace_item *out)
{
    if (__builtin_expect(r->end - r->at < 4, 0))
        return ar_trace_chunk_next_rare(r, out);

    uint32_t low = ar_trace_word16(r->at);

    if ((low & 3) == AR_TRACE_UP) {
        r->units += low >> 2;
        r->at += 2;
        out->tag = AR_TRACE_UP;
        out->units = r->units;
        return true;
    }
    if ((low & 3) == AR_TRACE_DOWN) {
        uint32_t word = low | ar_trace_word16(r->at + 2) << 16;

        r->units += word >> 2 & (AR_TRACE_DOWN_TIME - 1);
        r->at += 4;
        out->tag = AR_TRACE_DOWN;
        out->number = word >> 15;
        out->units = r->units;
        return true;
    }
    return ar_trace_chunk_next_rare(r, out);
}
