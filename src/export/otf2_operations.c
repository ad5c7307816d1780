// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_operations.h"

#include "analysis/mpi_class.h"
#include "base/text.h"
#include "format/mpi_functions.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name; /* without "MPI_", and the I of those that do not block */
    OTF2_CollectiveOp operation;
} operations[] = {
    {"Allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
    {"Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
    {"Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
    {"Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
    {"Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
    {"Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
    {"Barrier", OTF2_COLLECTIVE_OP_BARRIER},
    {"Bcast", OTF2_COLLECTIVE_OP_BCAST},
    {"Cart_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Cart_sub", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_create_from_group", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_create_group", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_disconnect", OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
    {"Comm_dup", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_dup_with_info", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
    {"Comm_idup", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_idup_with_info", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_split", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_split_type", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Dist_graph_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Dist_graph_create_adjacent", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Exscan", OTF2_COLLECTIVE_OP_EXSCAN},
    {"Gather", OTF2_COLLECTIVE_OP_GATHER},
    {"Gatherv", OTF2_COLLECTIVE_OP_GATHERV},
    {"Graph_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Intercomm_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Intercomm_create_from_groups", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Intercomm_merge", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Reduce", OTF2_COLLECTIVE_OP_REDUCE},
    {"Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
    {"Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
    {"Scan", OTF2_COLLECTIVE_OP_SCAN},
    {"Scatter", OTF2_COLLECTIVE_OP_SCATTER},
    {"Scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
    {"Win_allocate", OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE},
    {"Win_allocate_shared", OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE},
    {"Win_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Win_create_dynamic", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Win_fence", OTF2_COLLECTIVE_OP_BARRIER},
    {"Win_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
};

/* "Ibarrier" is "Barrier", but "Intercomm_create" is itself. */
static bool is_called(const char *function, const char *name)
{
    if (strcmp(function, name) == 0)
        return true;
    return function[0] == 'I' && function[1] == tolower((unsigned char)name[0]) &&
           strcmp(function + 2, name + 1) == 0;
}

bool ar_otf2_operation(const char *function, OTF2_CollectiveOp *operation)
{
    function = ar_mpi_class_of(function).function;
    if (!ar_starts_with(function, "MPI_"))
        return false;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (is_called(function + strlen("MPI_"), operations[i].name)) {
            *operation = operations[i].operation;
            return true;
        }
    return false;
}

static OTF2_RegionRole role_of_collective(const char *function)
{
    const struct ar_mpi_function *f = ar_mpi_function_named(function);

    switch (f ? f->sync : AR_SYNC_NONE) {
    case AR_SYNC_BARRIER:
        return OTF2_REGION_ROLE_BARRIER;
    case AR_SYNC_ALL:
        return OTF2_REGION_ROLE_COLL_ALL2ALL;
    case AR_SYNC_FROM_ROOT:
        return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case AR_SYNC_TO_ROOT:
        return OTF2_REGION_ROLE_COLL_ALL2ONE;
    default:
        return OTF2_REGION_ROLE_COLL_OTHER;
    }
}

OTF2_RegionRole ar_otf2_role_of_mpi(const char *function)
{
    struct ar_mpi_class class = ar_mpi_class_of(function);

    if (strcmp(class.name, "collective") == 0)
        return role_of_collective(class.function);
    if (strcmp(class.name, "neighbour") == 0)
        return OTF2_REGION_ROLE_COLL_OTHER;
    if (strcmp(class.name, "p2p") == 0)
        return OTF2_REGION_ROLE_POINT2POINT;
    if (strcmp(class.name, "rma") == 0)
        return OTF2_REGION_ROLE_RMA;
    if (strcmp(class.name, "io") == 0)
        return OTF2_REGION_ROLE_FILE_IO;
    if (strcmp(class.name, "file") == 0)
        return OTF2_REGION_ROLE_FILE_IO_METADATA;
    return OTF2_REGION_ROLE_FUNCTION;
}
