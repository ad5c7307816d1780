# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a rod, on any number of MPI ranks, with a fault to find: the last rank was given four times the work.

    mpiexec -n 4 python -m allranks examples/heat.py --steps 200
"""

import argparse

import numpy as np
from mpi4py import MPI


def initial(n_points, rank):
    rod = np.zeros(n_points + 2)
    rod[1:-1] = rank + 1
    return rod


def exchange(comm, rod, left, right):
    """Halo: the end points of the neighbours."""
    comm.Sendrecv(rod[1:2], dest=left, recvbuf=rod[-1:], source=right)
    comm.Sendrecv(rod[-2:-1], dest=right, recvbuf=rod[:1], source=left)


def relax(rod, n_sweeps):
    for _ in range(n_sweeps):
        rod[1:-1] += 0.25 * (rod[:-2] - 2 * rod[1:-1] + rod[2:])


def residual(comm, rod):
    local = float(np.abs(np.diff(rod)).max())
    return comm.allreduce(local, op=MPI.MAX)


def step(comm, rod, left, right, n_sweeps):
    exchange(comm, rod, left, right)
    relax(rod, n_sweeps)
    return residual(comm, rod)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--points", type=int, default=50_000)
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    left = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    right = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    n_sweeps = 40 if comm.rank + 1 == comm.size else 10
    rod = initial(options.points, comm.rank)
    for _ in range(options.steps):
        worst = step(comm, rod, left, right, n_sweeps)
    if comm.rank == 0:
        print(f"residual {worst:.6f} after {options.steps} steps")


if __name__ == "__main__":
    main()
