// SPDX-License-Identifier: BSD-3-Clause
/* The least that a wrapper can do, to be preloaded: it passes on. What every tool for MPI pays at least. */
#include <mpi.h>

int MPI_Allreduce(const void *out, void *in, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Allreduce(out, in, n, type, op, comm);
}

int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int n_in, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    return PMPI_Sendrecv(out, n_out, out_type, to, out_tag, in, n_in, in_type, from, in_tag, comm,
                         status);
}

int MPI_Irecv(void *in, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *r)
{
    return PMPI_Irecv(in, n, type, from, tag, comm, r);
}

int MPI_Isend(const void *out, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *r)
{
    return PMPI_Isend(out, n, type, to, tag, comm, r);
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    return PMPI_Waitall(n, requests, statuses);
}
