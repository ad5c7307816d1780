// SPDX-License-Identifier: BSD-3-Clause
/*
 * Open MPI: handles are pointers to objects of the library. Facts from its mpi.h, versions 4.0 to 6.
 */
#include "runtime/mpi_abi.h"

#include <stdint.h>

typedef void *MPI_Comm;
typedef void *MPI_Win;
typedef void *MPI_File;
typedef void *MPI_Group;
typedef void *MPI_Session;
typedef void *MPI_Info;
typedef void *MPI_Datatype;
typedef void *MPI_Op;
typedef void *MPI_Info;
typedef void *MPI_Request;
typedef void *MPI_Message;
typedef void *MPI_Errhandler;
typedef long long MPI_Count;
typedef long long MPI_Offset;
typedef intptr_t MPI_Aint;

typedef struct {
    int source, tag, error;
    int cancelled;
    size_t n_bytes;
} MPI_Status;

#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_ANY_SOURCE (-1)
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define MPI_CART 1
#define MPI_GRAPH 2
#define MPI_DIST_GRAPH 3
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_PENDING 19
#define AR_ABI ar_mpi_openmpi

#define word(handle) ((uint64_t)(uintptr_t)(handle))

static MPI_Comm comm_of(uint64_t handle)
{
    return (MPI_Comm)(uintptr_t)handle; // NOLINT(performance-no-int-to-ptr): it was one
}

static uint64_t received(const MPI_Status *status)
{
    return status->n_bytes;
}

static bool was_cancelled(const MPI_Status *status)
{
    return status->cancelled;
}

/* An object of the library; looked up once. */
#define OBJECT(name)                                                                               \
    static void *object;                                                                           \
    return object ? object : (object = ar_mpi_symbol(&AR_ABI, name))

static MPI_Comm comm_world(void)
{
    OBJECT("ompi_mpi_comm_world");
}

static MPI_Comm comm_self(void)
{
    OBJECT("ompi_mpi_comm_self");
}

static MPI_Comm comm_null(void)
{
    OBJECT("ompi_mpi_comm_null");
}

static MPI_Request request_null(void)
{
    OBJECT("ompi_request_null");
}

static MPI_Request request_empty(void)
{
    OBJECT("ompi_request_empty");
}

/* What was done when it was posted has one handle; UCX has another one for all such sends. */
static bool may_share(MPI_Request request, enum ar_request_kind kind)
{
    return kind == AR_REQUEST_SEND || request == request_empty();
}

static MPI_Op no_op(void)
{
    OBJECT("ompi_mpi_op_no_op");
}

static MPI_Datatype type_byte(void)
{
    OBJECT("ompi_mpi_byte");
}

static MPI_Info info_null(void)
{
    OBJECT("ompi_mpi_info_null");
}

static MPI_Errhandler errors_return(void)
{
    OBJECT("ompi_mpi_errors_return");
}

#include "mpi_link.inc"

struct ar_mpi_abi AR_ABI = {.name = "Open MPI",
                            .wrappers = wrappers,
                            .link = AR_LINK,
                            .ask = AR_QUESTIONS,
                            .proc_null = MPI_PROC_NULL};
