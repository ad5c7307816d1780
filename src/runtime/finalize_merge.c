// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/finalize_merge.h"

#include "base/clock.h"
#include "format/runfile.h"
#include "runtime/rollcall.h"

#include <stdlib.h>

/*
 * Ranks may come to MPI_Finalize minutes apart; but one that comes by a way that we do not see
 * waits for us as we wait for it, so there is an end.
 */
#define PATIENCE_NS ((uint64_t)300 * 1000000000u)
static uint64_t deadline_ns;

static bool keep_waiting(int rank)
{
    return ar_rollcall_alive((uint32_t)rank) && ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns;
}

/* Length 0 means: something went wrong below, there is no whole profile. */
static enum ar_status send_profile(const struct ar_mpi_link *link, int to, struct ar_profile *p)
{
    struct ar_bytes bytes = {0};
    enum ar_status status = p ? ar_run_encode(p, &bytes) : AR_NOMEM;
    uint64_t n = status == AR_OK ? bytes.n : 0;

    status = link->send(to, &n, sizeof n, keep_waiting);
    if (status == AR_OK)
        status = link->send(to, bytes.data, n, keep_waiting);
    ar_bytes_free(&bytes);
    return status;
}

/*
 * `p` is NULL when there is no use for it any more: it is received all the same, since the sender
 * waits.
 */
static enum ar_status receive_profile(const struct ar_mpi_link *link, int from,
                                      struct ar_profile *p, struct ar_error *err)
{
    struct ar_profile other;
    uint64_t n = 0;
    enum ar_status status = link->receive(from, &n, sizeof n, keep_waiting);

    if (status < 0 || n == 0)
        return p ? ar_fail(err, AR_IO, "rank %d sent no profile", from) : AR_IO;

    void *bytes = p ? malloc(n) : NULL;

    status = link->receive(from, bytes, n, keep_waiting);
    if (!p)
        return AR_IO; /* why has been said already */
    if (status == AR_OK && !bytes)
        status = ar_fail(err, AR_NOMEM, "no memory for the profile of rank %d", from);
    if (status == AR_OK)
        status = ar_run_decode(&other, bytes, n, "profile of another rank", err);
    if (status == AR_OK) {
        status = ar_profile_merge(p, &other);
        ar_profile_free(&other);
    }
    free(bytes);
    return status;
}

/*
 * Receives from below; returns the bit that leads up. On failure it goes on without: those above
 * must be told.
 */
static int gather(const struct ar_mpi_link *link, int rank, int size, struct ar_profile **p,
                  struct ar_error *err)
{
    int bit = 1;

    for (; bit < size && !(rank & bit); bit <<= 1)
        if (rank + bit < size && receive_profile(link, rank + bit, *p, err) < 0)
            *p = NULL;
    return bit;
}

/* The result goes down the tree by which the profiles came up. */
static enum ar_status spread(const struct ar_mpi_link *link, int rank, int size, int bit,
                             enum ar_status result)
{
    int32_t word = result;

    if (rank && link->receive(rank - bit, &word, sizeof word, keep_waiting) < 0)
        word = AR_IO;
    for (bit >>= 1; bit; bit >>= 1)
        if (rank + bit < size && link->send(rank + bit, &word, sizeof word, keep_waiting) < 0)
            continue; /* it has ended: its file stays, ours need not */
    return (enum ar_status)word;
}

enum ar_status ar_finalize_merge(const struct ar_mpi_link *link, struct ar_profile *own,
                                 enum ar_status (*write)(struct ar_profile *, struct ar_error *),
                                 struct ar_error *err)
{
    enum ar_status result = AR_OK;
    int rank, size;

    if (link->rank_and_size(&rank, &size) < 0)
        return ar_fail(err, AR_IO, "MPI does not say which rank this is");

    deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    int bit = gather(link, rank, size, &own, err);

    if (rank == 0)
        result = own ? write(own, err) : AR_IO;
    else
        result = send_profile(link, rank - bit, own);
    return spread(link, rank, size, bit, result);
}
