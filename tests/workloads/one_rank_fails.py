# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a job in which one rank fails ends as without allranks, if it is run by `-m mpi4py`, which then aborts
all of it: rank 1 raises an exception while the others wait for it.
"""

from mpi4py import MPI


def work():
    return None


work()
MPI.COMM_WORLD.Barrier()  # all have worked
if MPI.COMM_WORLD.rank == 1:
    raise ValueError("rank 1 fails")
MPI.COMM_WORLD.Barrier()
