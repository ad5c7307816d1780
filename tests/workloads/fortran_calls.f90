! SPDX-License-Identifier: BSD-3-Clause
! A library that calls MPI from Fortran, as PETSc and MUMPS do: see calls_fortran.py.
subroutine fortran_talk(comm, right, left) bind(c)
    use iso_c_binding
    implicit none
    include 'mpif.h'
    integer(c_int), value :: comm, right, left
    double precision :: outgoing(10), incoming(100), total(4)
    integer :: requests(2), status(MPI_STATUS_SIZE), rank, n_ranks, ierr

    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, n_ranks, ierr)
    outgoing = rank
    call MPI_Sendrecv(outgoing, 10, MPI_DOUBLE_PRECISION, right, 1, &
                      incoming, 100, MPI_DOUBLE_PRECISION, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    call MPI_Irecv(incoming, 100, MPI_DOUBLE_PRECISION, left, 2, comm, requests(1), ierr)
    call MPI_Isend(outgoing, 5, MPI_DOUBLE_PRECISION, right, 2, comm, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call MPI_Irecv(incoming, 100, MPI_DOUBLE_PRECISION, left, 3, comm, requests(1), ierr)
    call MPI_Send(outgoing, 3, MPI_DOUBLE_PRECISION, right, 3, comm, ierr)
    call MPI_Wait(requests(1), status, ierr)
    total = rank
    call MPI_Allreduce(MPI_IN_PLACE, total, 4, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    call MPI_Barrier(comm, ierr)
end subroutine
