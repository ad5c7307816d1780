# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: F821
"""On rank r the body of the loop runs 10 * (r + 1) times; rank 2 alone calls `special`."""

from mpi4py import MPI


@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


@profile
def special():
    return 1


rank = MPI.COMM_WORLD.rank
work(10 * (rank + 1))
if rank == 2:
    special()
MPI.COMM_WORLD.Barrier()
