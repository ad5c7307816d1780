# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a job which hangs says where: all ranks but the first two wait in Allreduce. Rank 0 computes, and rank 1 has left
the script.

    hangs.py READY       makes the files READY-R when rank R is about to stop
"""

import array
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
one, other = array.array("d", [1]), array.array("d", [0])


def compute():
    time.sleep(1000)


def meet():
    world.Allreduce(one, other)


meet()
open(f"{sys.argv[1]}-{world.rank}", "w").close()
if world.rank == 0:
    compute()
elif world.rank > 1:
    meet()
