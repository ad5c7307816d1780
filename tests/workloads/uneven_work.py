# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the numbers of one rank are its own, and the sum those of all: rank R calls `work` 10 * (R + 1) times,
and only odd ranks call `odd_only`, once for each `work`. Each rank ends with what its argument says:

    uneven_work.py          as usual
    uneven_work.py exit 3   sys.exit(3), rank 0 first
"""

import sys
import time

from mpi4py import MPI

rank = MPI.COMM_WORLD.rank


def work():
    if rank % 2:
        odd_only()


def odd_only():
    pass


def main():
    for _ in range(10 * (rank + 1)):
        work()
    print(f"rank {rank} did {10 * (rank + 1)}", flush=True)
    if sys.argv[1:2] == ["exit"]:
        time.sleep(0.2 * (rank > 0))
        sys.exit(int(sys.argv[2]))


main()
