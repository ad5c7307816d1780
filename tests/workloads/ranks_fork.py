# SPDX-License-Identifier: BSD-3-Clause
"""Each rank has a child: rank r calls `tick` 10 + r times, its child 20 + r times."""

import subprocess
import sys


def tick():
    return None


def work(n):
    for _ in range(n):
        tick()


if len(sys.argv) > 1:
    work(int(sys.argv[1]))
else:
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    work(10 + rank)
    subprocess.run([sys.executable, __file__, str(20 + rank)], check=True)
    MPI.COMM_WORLD.Barrier()
