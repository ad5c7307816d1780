// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_class: what kind of time a function of MPI takes, from format/mpi.def.
 *
 * A function is known without the ending of its large-count form: MPI_Send_c is MPI_Send to those who
 * reads a table, since mpi4py decides which of them is called.
 */
#pragma once

#include "format/profile.h"

struct ar_mpi_class {
    const char *function; /* "MPI_Send"; the caller's own text where it is not in the table */
    const char *name;     /* "p2p", "collective", "wait" …; "other" where it is not */
};

struct ar_mpi_class ar_mpi_class_of(const char *function);
/* Time that is spent until another rank has done something, and nothing is moved. */
bool ar_mpi_class_waits(const char *name);
/* MPI_Init, MPI_Finalize: what they take is no matter of how a program communicates. */
bool ar_mpi_is_setup(const struct ar_profile *p, uint32_t node);
