// SPDX-License-Identifier: BSD-3-Clause
/*
 * MPICH and its relatives (Intel MPI, MVAPICH, Cray MPICH): handles are ints, but for files. Facts
 * from its mpi.h, versions 3 to 5; the ABI they share.
 */
#include "runtime/mpi_abi.h"

#include <stdint.h>

typedef int MPI_Comm;
typedef int MPI_Win;
typedef void *MPI_File;
typedef int MPI_Group;
typedef int MPI_Session;
typedef int MPI_Info;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Request;
typedef int MPI_Message;
typedef int MPI_Errhandler;
typedef long long MPI_Count;
typedef long long MPI_Offset;
typedef intptr_t MPI_Aint;

typedef struct {
    int count_low, count_high_and_cancelled;
    int source, tag, error;
} MPI_Status;

#define MPI_STATUS_IGNORE ((MPI_Status *)1)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_PROC_NULL (-1)
#define MPI_ANY_SOURCE (-2)
#define MPI_ROOT (-3)
#define MPI_GRAPH 1
#define MPI_CART 2
#define MPI_DIST_GRAPH 3
#define MPI_ERR_TRUNCATE 14
#define MPI_ERR_IN_STATUS 17
#define MPI_ERR_PENDING 18
#define AR_ABI ar_mpi_mpich

#define word(handle) ((uint64_t)(uint32_t)(handle))

static MPI_Comm comm_of(uint64_t handle)
{
    return (MPI_Comm)(uint32_t)handle;
}

static uint64_t received(const MPI_Status *status)
{
    return ((uint64_t)(uint32_t)status->count_high_and_cancelled >> 1) << 32 |
           (uint32_t)status->count_low;
}

static bool was_cancelled(const MPI_Status *status)
{
    return status->count_high_and_cancelled & 1;
}

static MPI_Comm comm_world(void)
{
    return 0x44000000;
}

static MPI_Comm comm_self(void)
{
    return 0x44000001;
}

static MPI_Comm comm_null(void)
{
    return 0x04000000;
}

static MPI_Request request_null(void)
{
    return 0x2c000000;
}

/* Those that are done when they are posted have handles of built-in objects. */
static bool may_share(MPI_Request request, enum ar_request_kind kind)
{
    (void)kind;
    return (uint32_t)request >> 30 == 1;
}

static MPI_Op no_op(void)
{
    return 0x5800000e;
}

static MPI_Datatype type_byte(void)
{
    return 0x4c00010d;
}

static MPI_Info info_null(void)
{
    return 0x1c000000;
}

static MPI_Errhandler errors_return(void)
{
    return 0x54000001;
}

#include "mpi_link.inc"

struct ar_mpi_abi AR_ABI = {.name = "MPICH",
                            .wrappers = wrappers,
                            .link = AR_LINK,
                            .ask = AR_QUESTIONS,
                            .proc_null = MPI_PROC_NULL};
