// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_functions: what is known of each function of MPI; made of mpi.def.
 */
#pragma once

#include "format/livefile.h"

struct ar_mpi_function {
    const char *name;       /* MPI_Send_c */
    const char *class;      /* p2p */
    const char *about;      /* what functions of this class do, for people */
    enum ar_sync_kind sync; /* of a call of all ranks of a communicator; nonblocking forms, too */
};

/* NULL: there is no such function. */
const struct ar_mpi_function *ar_mpi_function_named(const char *name);
