// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_functions: what is known of each function of MPI; made of mpi.def.
 */
#pragma once

/* Who waits for whom in a call of all ranks of a communicator; nonblocking forms likewise. */
enum ar_mpi_sync {
    AR_SYNC_NONE,
    AR_SYNC_BARRIER,
    AR_SYNC_ALL,       /* each rank needs something of all others */
    AR_SYNC_FROM_ROOT, /* all need something of the root */
    AR_SYNC_TO_ROOT,   /* the root needs something of all */
    AR_SYNC_SCAN       /* each needs something of those before it */
};

struct ar_mpi_function {
    const char *name;  /* MPI_Send_c */
    const char *class; /* p2p */
    const char *about; /* what functions of this class do, for people */
    enum ar_mpi_sync sync;
};

/* NULL: there is no such function. */
const struct ar_mpi_function *ar_mpi_function_named(const char *name);
