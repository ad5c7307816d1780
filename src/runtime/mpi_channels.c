// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_channels.h"

#include "base/idmap.h"

/* Pages that no channel needs are never touched. */
#define N_SLOTS ((size_t)1 << 15)
#define MOST_TRIES 64

/* A key of 64 bits stands for the channel: among 32,768 two are the same once in 10^10 programs. */
struct slot {
    uint64_t key; /* 0: free */
    uint32_t n;
    uint32_t spare;
};

static struct slot slots[N_SLOTS];
static bool is_broken;

static bool is_taken_by(struct slot *slot, uint64_t key)
{
    uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);

    if (!found && __atomic_compare_exchange_n(&slot->key, &found, key, false, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED))
        return true;
    return found == key;
}

uint32_t ar_channel_next(bool is_out, uint32_t comm, uint32_t peer, int tag)
{
    uint64_t key = ar_pair_key((uint64_t)comm << 1 | is_out, (uint64_t)peer << 32 | (uint32_t)tag);

    if (!comm || __atomic_load_n(&is_broken, __ATOMIC_RELAXED))
        return 0;
    for (size_t i = 0; i < MOST_TRIES; i++) {
        struct slot *slot = &slots[(key + i) % N_SLOTS];

        if (is_taken_by(slot, key))
            return __atomic_add_fetch(&slot->n, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

void ar_channels_break(void)
{
    __atomic_store_n(&is_broken, true, __ATOMIC_RELAXED);
}
