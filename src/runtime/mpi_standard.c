// SPDX-License-Identifier: BSD-3-Clause
/*
 * The ABI of the MPI-5 standard (libmpi_abi), whoever made the library: handles are pointers, those
 * of predefined objects small numbers. Facts from the standard's mpi.h.
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
typedef void *MPI_Request;
typedef void *MPI_Message;
typedef void *MPI_Errhandler;
typedef int64_t MPI_Count;
typedef int64_t MPI_Offset;
typedef intptr_t MPI_Aint;

typedef struct {
    int source, tag, error;
    int internal[5];
} MPI_Status;

#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_ANY_SOURCE (-1)
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)
#define MPI_CART 211
#define MPI_GRAPH 212
#define MPI_DIST_GRAPH 213
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_PENDING 18
#define MPI_ERR_IN_STATUS 19
#define AR_ABI ar_mpi_standard

#define word(handle) ((uint64_t)(uintptr_t)(handle))

static MPI_Comm comm_of(uint64_t handle)
{
    return (MPI_Comm)(uintptr_t)handle; // NOLINT(performance-no-int-to-ptr): it was one
}

static MPI_Comm comm_world(void)
{
    return (MPI_Comm)0x101;
}

static MPI_Comm comm_self(void)
{
    return (MPI_Comm)0x102;
}

static MPI_Comm comm_null(void)
{
    return (MPI_Comm)0x100;
}

static MPI_Request request_null(void)
{
    return (MPI_Request)0x180;
}

/* As in MPICH, whose handles stay small numbers here, and in Open MPI. */
static bool may_share(MPI_Request request, enum ar_request_kind kind)
{
    return kind == AR_REQUEST_SEND || word(request) >> 30 == 1;
}

static MPI_Op no_op(void)
{
    return (MPI_Op)0x3d;
}

static MPI_Datatype type_byte(void)
{
    return (MPI_Datatype)0x247;
}

static MPI_Info info_null(void)
{
    return (MPI_Info)0x130;
}

static MPI_Errhandler errors_return(void)
{
    return (MPI_Errhandler)0x143;
}

/* What a status holds is each library's own affair. */
static uint64_t received(const MPI_Status *status)
{
    static int (*get_elements)(const MPI_Status *, MPI_Datatype, MPI_Count *);
    MPI_Count n = 0;

    if (!get_elements)
        get_elements = (int (*)(const MPI_Status *, MPI_Datatype, MPI_Count *))ar_mpi_symbol(
            &AR_ABI, "PMPI_Get_elements_c");
    return get_elements && get_elements(status, type_byte(), &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static bool was_cancelled(const MPI_Status *status)
{
    static int (*test_cancelled)(const MPI_Status *, int *);
    int flag = 0;

    if (!test_cancelled)
        test_cancelled =
            (int (*)(const MPI_Status *, int *))ar_mpi_symbol(&AR_ABI, "PMPI_Test_cancelled");
    return test_cancelled && test_cancelled(status, &flag) == 0 && flag;
}

#include "mpi_link.inc"

struct ar_mpi_abi AR_ABI = {.name = "MPI-5 ABI",
                            .wrappers = wrappers,
                            .link = AR_LINK,
                            .ask = AR_QUESTIONS,
                            .proc_null = MPI_PROC_NULL};
