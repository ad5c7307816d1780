// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_comms: the communicators of this process, by their handles; windows and files are kept among
 * them.
 *
 * Each is recorded once, with where it was made, and has a number. MPI gives handles again once they
 * are freed, so a handle means what it meant when it was last made. One whose making was not seen is
 * recorded when it is first used.
 *
 * The identity of a communicator is the same on all its members, and no two have the same. Nothing
 * is sent for it: communicators are made by all members of the parent in the same order, so the
 * parent, how many were made of it before, and the rank that is first in the new one tell them all
 * apart.
 *
 * Threads: any. A thread remembers those it used last; a lock is taken for the others, and MPI is
 *          never called under it.
 * Memory:  a fixed number at a time and in all; what is made beyond it is known as number 0, and counted.
 */
#pragma once

#include "format/livefile.h"
#include "runtime/forking.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_mpi_abi; /* mpi_abi.h */
struct ar_node;

struct ar_mpi_comm {
    uint64_t identity; /* 0: not known to be the same as another process's */
    uint32_t number;   /* in the live file; 0: not recorded */
    uint32_t size, remote_size, rank;
    uint32_t side; /* of two groups: see AR_OWN_RANK */
    uint32_t first_world_rank;
    uint32_t n_made;   /* how many were made of it */
    uint32_t sequence; /* how many synchronising calls were made on it */
    /* For the ranks of its members; those of a window and a file are its communicator's. */
    const struct ar_mpi_abi *abi;
    uint64_t members;
};

/* Those that a thread used last. */
#define AR_COMM_CACHE 8
struct ar_comm_cache {
    struct {
        uint64_t handle;
        struct ar_mpi_comm *comm;
    } slots[AR_COMM_CACHE];
    uint64_t generation;
};

struct ar_mpi_comm *ar_comm_look_up(struct ar_comm_cache *cache, struct ar_mpi_abi *abi,
                                    uint64_t handle);

/* Raised when any handle changes its meaning. */
extern uint64_t ar_comm_generation;

static inline size_t ar_comm_slot(uint64_t handle)
{
    return (handle ^ handle >> 6 ^ handle >> 12) % AR_COMM_CACHE;
}

/* One that the thread used last, or NULL. */
static inline struct ar_mpi_comm *ar_comm_at_hand(const struct ar_comm_cache *cache,
                                                  const struct ar_mpi_abi *abi, uint64_t handle)
{
    size_t i = ar_comm_slot(handle);

    if (__builtin_expect(cache->slots[i].handle == handle, 1) && cache->slots[i].comm &&
        cache->slots[i].comm->abi == abi &&
        cache->generation == __atomic_load_n(&ar_comm_generation, __ATOMIC_ACQUIRE))
        return cache->slots[i].comm;
    return NULL;
}

/* The number of its next synchronising call. */
static inline uint32_t ar_comm_next(struct ar_mpi_comm *comm)
{
    return __atomic_fetch_add(&comm->sequence, 1, __ATOMIC_RELAXED);
}

/* Never NULL. */
static inline struct ar_mpi_comm *ar_comm_of(struct ar_comm_cache *cache, struct ar_mpi_abi *abi,
                                             uint64_t handle)
{
    struct ar_mpi_comm *comm = ar_comm_at_hand(cache, abi, handle);

    return __builtin_expect(comm != NULL, 1) ? comm : ar_comm_look_up(cache, abi, handle);
}

struct ar_mpi_comm *ar_comm_find_other(struct ar_comm_cache *cache, const struct ar_mpi_abi *abi,
                                       uint64_t handle);

/*
 * NULL where it is not recorded yet. MPI is not asked: before a call nothing is known of the handle that the program
 * passes, and a question about an invalid one would be one more error.
 */
static inline struct ar_mpi_comm *ar_comm_find(struct ar_comm_cache *cache,
                                               const struct ar_mpi_abi *abi, uint64_t handle)
{
    struct ar_mpi_comm *comm = ar_comm_at_hand(cache, abi, handle);

    return __builtin_expect(comm != NULL, 1) ? comm : ar_comm_find_other(cache, abi, handle);
}

/* The rank in MPI_COMM_WORLD of a peer; AR_RANK_NONE: not known, or of another run. */
uint32_t ar_comm_world_rank(const struct ar_mpi_comm *comm, int peer);

struct ar_comm_making {
    enum ar_comm_origin origin;
    uint64_t parent, made; /* handles; `made` 0: this process is not a member */
    uint64_t tag;
    const struct ar_node *node;
    bool is_hidden;
};

void ar_comm_made(struct ar_comm_cache *cache, struct ar_mpi_abi *abi,
                  const struct ar_comm_making *making);
/* Returns what it was; all 0: it was not known. */
struct ar_mpi_comm ar_comm_unmade(struct ar_mpi_abi *abi, uint64_t handle);
/* Not freed, as far as was seen: MPI may be asked about it. */
bool ar_comm_is_known(const struct ar_mpi_abi *abi, uint64_t handle);
void ar_comm_named(struct ar_mpi_abi *abi, uint64_t handle, const char *name);
void ar_comms_forking(enum ar_fork_step step);
