// SPDX-License-Identifier: BSD-3-Clause
/*
 * MPICH and its relatives (Intel MPI, MVAPICH, Cray MPICH): handles are ints. Facts from its mpi.h;
 * the ABI they share.
 */
#include "runtime/mpi_abi.h"

#include <stdint.h>

typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Request;
typedef int MPI_Message;
typedef int MPI_Errhandler;
typedef long long MPI_Count;
typedef intptr_t MPI_Aint;

typedef struct {
    int count_low, count_high_and_cancelled;
    int source, tag, error;
} MPI_Status;

#define MPI_STATUS_IGNORE ((MPI_Status *)1)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_PROC_NULL (-1)
#define MPI_ROOT (-3)
#define AR_ABI ar_mpi_mpich

static uint64_t received(const MPI_Status *status)
{
    return ((uint64_t)(uint32_t)status->count_high_and_cancelled >> 1) << 32 |
           (uint32_t)status->count_low;
}

static MPI_Comm comm_world(void)
{
    return 0x44000000;
}

static MPI_Datatype type_byte(void)
{
    return 0x4c00010d;
}

static MPI_Errhandler errors_return(void)
{
    return 0x54000001;
}

#include "mpi_link.inc"

struct ar_mpi_abi AR_ABI = {.name = "MPICH", .wrappers = wrappers, .link = AR_LINK};
