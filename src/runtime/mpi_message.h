// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_message: one message of ours to or from another rank, which can be given up at any time.
 *
 * MPI can take back a receive, but not a send, and memory that it may still read or write must stay
 * where it is. So a message has memory of its own, and whoever ends one before it is done need not
 * think of that: a receive is cancelled, a send is left to MPI together with its bytes.
 *
 * A send of a few bytes is done at once, whether anybody is there to take it or not. Larger ones are
 * for ranks that have said that they are there.
 *
 * Threads: one, in MPI_Init or MPI_Finalize. Polling makes MPI go on with all messages.
 *
 *     struct ar_message *m = ar_message_expect(link, 3, TAG, sizeof word);
 *     while (ar_message_poll(m) == AR_MESSAGE_PENDING && ar_message_pause(&n_polls)) ...
 *     if (ar_message_poll(m) == AR_MESSAGE_DONE) memcpy(&word, m->bytes, sizeof word);
 *     ar_message_end(m);
 */
#pragma once

#include "runtime/mpi_abi.h"

enum ar_message_state { AR_MESSAGE_PENDING, AR_MESSAGE_DONE, AR_MESSAGE_FAILED };

struct ar_message {
    const struct ar_mpi_link *link;
    struct ar_mpi_pending pending;
    enum ar_message_state state;
    bool is_receive;
    size_t n_bytes; /* of a receive that is done: that came */
    char bytes[];
};

/* NULL: there is no memory, or MPI refuses. All others accept that, as a message that has failed. */
struct ar_message *ar_message_send(const struct ar_mpi_link *link, int to, int tag,
                                   const void *bytes, size_t n_bytes);
/* One of at most `n_bytes`. */
struct ar_message *ar_message_expect(const struct ar_mpi_link *link, int from, int tag,
                                     size_t n_bytes);
enum ar_message_state ar_message_poll(struct ar_message *m);
void ar_message_end(struct ar_message *m);

/*
 * Between polls: not at all at first, then longer and longer, since other ranks may need this core to
 * get where we wait for them. true: so long that other things may be looked at.
 */
bool ar_message_pause(unsigned *n_polls);

/* The same in one call; false: `keep_waiting` said no, or it failed, or something else came. */
bool ar_message_put(const struct ar_mpi_link *link, int to, int tag, const void *bytes,
                    size_t n_bytes, bool (*keep_waiting)(int rank));
bool ar_message_get(const struct ar_mpi_link *link, int from, int tag, void *bytes, size_t n_bytes,
                    bool (*keep_waiting)(int rank));
