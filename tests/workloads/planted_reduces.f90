! SPDX-License-Identifier: BSD-3-Clause
! A library in Fortran that makes one collective call: see planted_collectives.py.
subroutine reduce_in_fortran(comm) bind(c)
    use iso_c_binding
    implicit none
    include 'mpif.h'
    integer(c_int), value :: comm
    double precision :: total(4)
    integer :: ierr

    total = 1
    call MPI_Allreduce(MPI_IN_PLACE, total, 4, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
end subroutine
