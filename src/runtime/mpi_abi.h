// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_abi: an MPI library as we use it, whatever its handles look like.
 *
 * MPI fixes its functions but not its types: a communicator is a pointer in Open MPI and an int in
 * MPICH. Each family is a file of its own (mpi_openmpi.c, mpi_mpich.c, mpi_standard.c) that gives
 * the types and includes the wrappers and the few calls we make ourselves (mpi_link.inc). Nothing of
 * any MPI is needed to build them, and none is linked.
 */
#pragma once

#include "base/status.h"
#include "runtime/mpi_call.h"

#include <stddef.h>

#define AR_MPI_PORT_BYTES 2048 /* no library has more than 1024 */
#define AR_MPI_VALUE_BYTES 240 /* that every library takes: MPICH has 256 */

/* A message on its way. Holds an MPI_Request of any library. */
struct ar_mpi_pending {
    void *request;
};

/*
 * How we talk to other ranks: on a communicator of our own, with calls that return at once. The policy,
 * how long and for whom to wait, is in mpi_message.h.
 */
struct ar_mpi_link {
    /* Of MPI_COMM_WORLD. */
    enum ar_status (*rank_and_size)(int *rank, int *size);
    /* Makes our communicator; every rank of the world has to call it. */
    enum ar_status (*open)(void);
    void (*close)(void);
    enum ar_status (*send)(struct ar_mpi_pending *out, int to, int tag, const void *bytes,
                           int n_bytes);
    enum ar_status (*receive)(struct ar_mpi_pending *out, int from, int tag, void *bytes,
                              int n_bytes);
    /* `n_bytes` is how much came, of a receive that is done. */
    enum ar_status (*test)(struct ar_mpi_pending *pending, bool *is_done, size_t *n_bytes);
    /* Of a receive. false: something is coming in, and the memory is not ours yet. */
    bool (*cancel)(struct ar_mpi_pending *pending);
    /* Nobody will ask for its end; its memory must stay. */
    void (*abandon)(struct ar_mpi_pending *pending);
    /*
     * The launcher's table of names, which MPI_Publish_name writes: no communicator, no other rank and no
     * file has part in it. Errors are to be held back meanwhile.
     */
    void (*hold_errors)(bool hold);
    bool (*publish)(const char *name, const char *value);
    void (*unpublish)(const char *name, const char *value);
    /* false: there is none, or there is no such table. `value` has room for AR_MPI_PORT_BYTES. */
    bool (*look_up)(const char *name, char *value);
};

/* What MPI says of a communicator, window or file. */
struct ar_comm_facts {
    uint32_t size, remote_size, rank; /* remote_size is 0 unless it joins two groups */
    uint32_t first_world_rank;        /* of rank 0; AR_RANK_NONE: it is of another run */
    char name[128];
};

/*
 * Questions about handles; each is answered by calls of MPI that are local. Of windows and files they
 * know nothing.
 */
struct ar_mpi_questions {
    bool (*describe)(uint64_t comm, struct ar_comm_facts *out);
    /* The rank in MPI_COMM_WORLD of a peer; AR_RANK_NONE: it is of another run. */
    uint32_t (*world_rank)(uint64_t comm, int peer);
    uint64_t (*world)(void), (*self)(void);
};

struct ar_mpi_abi {
    const char *name;
    void *const *wrappers; /* by enum ar_mpi_id; NULL: this function is left alone */
    void *real[AR_N_MPI];  /* what a wrapper calls; NULL: no slot with it was found */
    struct ar_mpi_link link;
    struct ar_mpi_questions ask;
    int proc_null;
    void *library; /* handle for dlsym; NULL: no such library in this process */
};

extern struct ar_mpi_abi ar_mpi_openmpi, ar_mpi_mpich, ar_mpi_standard;

/* Address of a function of the library, past any wrapper. */
void *ar_mpi_symbol(const struct ar_mpi_abi *abi, const char *name);
