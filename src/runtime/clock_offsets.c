// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/clock_offsets.h"

#include "base/clock.h"
#include "runtime/mpi_message.h"
#include "runtime/rollcall.h"

#define N_ROUNDS 10
#define PATIENCE_NS ((uint64_t)10 * 1000000000u)

static uint64_t deadline_ns;
static int tag;

static bool keep_waiting(int rank)
{
    return ar_rollcall_alive((uint32_t)rank) && ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns;
}

static bool send(const struct ar_mpi_link *link, int to, const void *bytes, size_t n_bytes)
{
    return ar_message_put(link, to, tag, bytes, n_bytes, keep_waiting);
}

static bool receive(const struct ar_mpi_link *link, int from, void *bytes, size_t n_bytes)
{
    return ar_message_get(link, from, tag, bytes, n_bytes, keep_waiting);
}

/* The quickest of some rounds. */
static bool ask_time(const struct ar_mpi_link *link, int of, struct ar_clock_link *out)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < N_ROUNDS; i++) {
        uint64_t theirs, before = ar_clock_ns(CLOCK_MONOTONIC);

        if (!send(link, of, &before, sizeof before) || !receive(link, of, &theirs, sizeof theirs))
            return false;

        uint64_t after = ar_clock_ns(CLOCK_MONOTONIC);

        if (after - before < best) {
            best = after - before;
            out->offset_ns = (int64_t)(theirs - (before + best / 2));
            out->error_ns = best / 2;
        }
    }
    return true;
}

static bool tell_time(const struct ar_mpi_link *link, int to)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        uint64_t theirs, now;

        if (!receive(link, to, &theirs, sizeof theirs))
            return false;
        now = ar_clock_ns(CLOCK_MONOTONIC);
        if (!send(link, to, &now, sizeof now))
            return false;
    }
    return true;
}

/* From a rank that knows its own offset. */
static bool ask(const struct ar_mpi_link *link, int parent, bool same_clock,
                struct ar_clock_link *out)
{
    struct ar_clock_link theirs;

    if ((!same_clock && !ask_time(link, parent, out)) ||
        !receive(link, parent, &theirs, sizeof theirs))
        return false;
    out->offset_ns += theirs.offset_ns;
    out->error_ns += theirs.error_ns;
    return theirs.at_ns != 0;
}

static void tell(const struct ar_mpi_link *link, int child, bool same_clock,
                 const struct ar_clock_link *own)
{
    if (same_clock || tell_time(link, child))
        send(link, child, own, sizeof *own);
}

static bool all_on_this_host(int size, bool (*on_this_host)(uint32_t rank))
{
    for (int rank = 0; rank < size; rank++)
        if (!on_this_host((uint32_t)rank))
            return false;
    return true;
}

/* The rank that is told by `rank`, and tells it, is without the lowest bit. */
static void compare(const struct ar_mpi_link *link, int rank, int size,
                    bool (*on_this_host)(uint32_t rank), struct ar_clock_link *own)
{
    int lowest = rank ? rank & -rank : size, bit = 1;
    bool known = true;

    if (rank)
        known = ask(link, rank - lowest, on_this_host((uint32_t)(rank - lowest)), own);
    own->at_ns = known ? ar_clock_ns(CLOCK_MONOTONIC) : 0;
    while (bit < lowest && rank + bit < size)
        bit <<= 1;
    for (bit >>= 1; bit; bit >>= 1)
        if (rank + bit < size)
            tell(link, rank + bit, on_this_host((uint32_t)(rank + bit)), own);
}

void ar_clocks_compare(const struct ar_mpi_link *link, enum ar_clock_instant when,
                       bool (*on_this_host)(uint32_t rank), struct ar_clock_link *out)
{
    struct ar_clock_link own = {0};
    int rank, size;

    if (link->rank_and_size(&rank, &size) < 0)
        return;
    deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    /* What an earlier comparison may have left under way is not taken for this one's. */
    tag = 1 + (int)when;
    if (all_on_this_host(size, on_this_host))
        own.at_ns = ar_clock_ns(CLOCK_MONOTONIC);
    else
        compare(link, rank, size, on_this_host, &own);
    if (own.at_ns)
        *out = own;
}
