// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_call: one MPI call as a node of the tree, below the Python line that made it.
 *
 * The wrappers of every ABI call these around the real function. The clock starts after our work
 * and stops before it. What MPI calls inside one of its own functions is not the user's call and is
 * not recorded.
 *
 * Threads: any, with or without the GIL; a thread that is not known yet is attached.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ar_mpi_abi; /* mpi_abi.h */
struct ar_node;
struct ar_thread;

enum ar_mpi_id {
#define X(id, name, class) AR_MPI_##id,
#include "mpi_functions.inc"
#undef X
    AR_N_MPI
};

extern const char *const ar_mpi_names[AR_N_MPI];

struct ar_mpi_call {
    struct ar_thread *thread;
    struct ar_node *node;
    uint64_t start;
};

/* false: this call is not to be recorded, and none of the following is to be called. */
bool ar_mpi_enter(struct ar_mpi_call *call, enum ar_mpi_id id);
void ar_mpi_leave(struct ar_mpi_call *call);
void ar_mpi_bytes(struct ar_mpi_call *call, uint64_t n_out, uint64_t n_in);

/* Around MPI_Init and MPI_Finalize. */
void ar_mpi_initialized(struct ar_mpi_abi *abi);
void ar_mpi_finalizing(struct ar_mpi_abi *abi);
