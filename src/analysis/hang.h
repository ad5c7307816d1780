// SPDX-License-Identifier: BSD-3-Clause
/*
 * hang: a collective call that some ranks are in and others are not.
 *
 * Of a job that runs: which collective call most of the waiting ranks have been in for a second or more, since when, and
 * which ranks are elsewhere. Of a job that was killed: the same of the moment when it was, for however long. Calls are matched by their names: which communicator an open call is on
 * is not recorded, so a rank that is elsewhere need not be a member of it.
 *
 * Life cycle: built from a profile with call sites as they were recorded, which must outlive it. Threads: read-only once built.
 *
 *     struct ar_hang hang;
 *     if (ar_hang_find(&hang, &profile) < 0) ...
 *     if (hang.n_in) …
 *     ar_hang_free(&hang);
 */
#pragma once

#include "format/profile.h"

/* A rank whose main thread has not ended; or one that has finished, which is in no function. */
struct ar_hang_rank {
    uint32_t process;
    uint32_t node;     /* where it is; AR_NO_ID: it has finished */
    uint32_t call;     /* the node of the MPI call or mpi4py method that it is in; AR_NO_ID: none */
    uint64_t still_ns; /* since its last event: how long it has been in that call */
};

struct ar_hang {
    struct ar_hang_rank *in;      /* ranks in the call, in order of processes */
    struct ar_hang_rank *missing; /* and the others */
    size_t n_in, n_missing;       /* both 0: nothing hangs */
    uint64_t least_ns, most_ns;   /* how long those have been in it */
};

AR_MUST_CHECK enum ar_status ar_hang_find(struct ar_hang *out, const struct ar_profile *p);
void ar_hang_free(struct ar_hang *hang);
