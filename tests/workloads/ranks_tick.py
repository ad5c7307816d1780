# SPDX-License-Identifier: BSD-3-Clause
"""Each rank calls `tick` 10 times, and another 10 for its rank."""

from mpi4py import MPI


def tick():
    return None


for _ in range(10 + 10 * MPI.COMM_WORLD.rank):
    tick()
