// SPDX-License-Identifier: BSD-3-Clause
/*
 * Open MPI: handles are pointers to objects of the library. Facts from its mpi.h, versions 4.0 to
 * 5.0.
 */
#include "runtime/mpi_abi.h"

#include <stdint.h>

typedef void *MPI_Comm;
typedef void *MPI_Datatype;
typedef void *MPI_Op;
typedef void *MPI_Info;
typedef void *MPI_Request;
typedef void *MPI_Message;
typedef void *MPI_Errhandler;
typedef long long MPI_Count;
typedef intptr_t MPI_Aint;

typedef struct {
    int source, tag, error;
    int cancelled;
    size_t n_bytes;
} MPI_Status;

#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define AR_ABI ar_mpi_openmpi

static uint64_t received(const MPI_Status *status)
{
    return status->n_bytes;
}

static MPI_Comm comm_world(void)
{
    return ar_mpi_symbol(&AR_ABI, "ompi_mpi_comm_world");
}

static MPI_Datatype type_byte(void)
{
    return ar_mpi_symbol(&AR_ABI, "ompi_mpi_byte");
}

static MPI_Errhandler errors_return(void)
{
    return ar_mpi_symbol(&AR_ABI, "ompi_mpi_errors_return");
}

#include "mpi_link.inc"

struct ar_mpi_abi AR_ABI = {.name = "Open MPI", .wrappers = wrappers, .link = AR_LINK};
