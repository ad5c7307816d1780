// SPDX-License-Identifier: BSD-3-Clause
/*
 * hang: what ranks wait for, and which rank is missing.
 *
 * Of a job that runs: the calls that ranks have been in for a second or more. Of a job that was killed: the calls that ranks
 * were in at that moment, for however long. There are two kinds of waits:
 *
 *     turn      a collective call. Members of a communicator make these in the same order, so the communicator and the number
 *               of the call on it say which calls belong together. Members that have not come that far are missing; members
 *               that are in another call at the same number are a mismatch. Methods of mpi4py that are made of messages
 *               have no number, and calls of which the communicator is not known are matched by name alone.
 *     message   a receive, a probe or a send, from or to one rank. Ranks that wait for each other are a circle.
 *
 * Life cycle: built from a profile with call sites as they were recorded, which must outlive it. Threads: read-only once built.
 *
 *     struct ar_hang hang;
 *     if (ar_hang_find(&hang, &profile) < 0) ...
 *     for (size_t i = 0; i < hang.n_turns; i++) hang.turns[i].n_missing …
 *     ar_hang_free(&hang);
 */
#pragma once

#include "format/profile.h"

/* The main thread of a rank, or another thread that is in an MPI call; or a rank that has finished, which is in no function. */
struct ar_hang_thread {
    uint32_t process;
    uint32_t location; /* AR_NO_ID: it has finished */
    uint32_t node;     /* where it is; AR_NO_ID: it has finished */
    uint32_t call;     /* the node of the MPI call or mpi4py method that it is in; AR_NO_ID: none */
    uint64_t still_ns; /* since its last event: how long it has been in that call */
    bool waits;        /* in that call, for long enough */
    bool is_dead;      /* it ended without closing its file, and other ranks of its host run */
    bool is_blocked;   /* on a lock, a queue, a socket or a timer, and in no MPI call */
    bool is_under_way; /* it waits for a message, and the other side is there */
    bool can_go_on;    /* of a rank: it computes, or waits for ranks that can */
    uint32_t peer;     /* index of the rank whose message it waits for; AR_NO_ID: not known */
    uint32_t turn;   /* index of the turn that it is in, if that is one of `turns`; else AR_NO_ID */
    uint32_t circle; /* of ranks that wait for each other, from 1; 0: in none */
    uint32_t
        beside; /* of a main thread that is blocked: a thread of its rank that waits, or AR_NO_ID */
    struct ar_open_call open;
};

struct ar_hang_turn {
    uint32_t comm; /* its number plus 1; 0: not known */
    bool has_number;
    uint32_t number;        /* of the call on the communicator, from 1 */
    uint32_t function;      /* of one without a number: the method or MPI function */
    bool is_mismatch;       /* not all of those in it are in the same call, or name the same root */
    uint32_t *in, *missing; /* indices of threads, in order of ranks */
    size_t n_in, n_missing;
    uint64_t most_ns; /* how long the first has been in it */
};

struct ar_hang {
    struct ar_hang_thread *threads;
    size_t n_ranks, n_threads;  /* the first n_ranks are one per rank, in order of processes */
    struct ar_hang_turn *turns; /* mismatches first, then those with most ranks */
    size_t n_turns;
    uint32_t *messages; /* indices of threads that wait for messages, or for requests */
    size_t n_messages;
    size_t n_circles;
    bool is_running; /* a rank runs; false: the job was killed */
    bool
        is_certain; /* a rank waits that cannot go on: it does not only wait for ranks that compute */
    struct ar_member *members; /* by communicator */
    size_t n_members;
};

AR_MUST_CHECK enum ar_status ar_hang_find(struct ar_hang *out, const struct ar_profile *p);
void ar_hang_free(struct ar_hang *hang);

/* Finished, dead or in MPI_Finalize: it takes part in nothing any more. */
bool ar_hang_has_left(const struct ar_profile *p, const struct ar_hang_thread *t);
/* The thread that says what a rank waits for: the main one, or where that is blocked, one that is in an MPI call. */
const struct ar_hang_thread *ar_hang_waiting(const struct ar_hang *hang, uint32_t rank);
/* The processes of a communicator (number plus 1) in order of their ranks in it. `out` may be NULL. */
size_t ar_hang_members(const struct ar_hang *hang, uint32_t comm, uint32_t *out);
/* A receive and a send that belong together have the same tag and communicator. */
bool ar_hang_tags_differ(const struct ar_hang_thread *receiver,
                         const struct ar_hang_thread *sender);
bool ar_hang_is_send(const struct ar_hang_thread *t);
