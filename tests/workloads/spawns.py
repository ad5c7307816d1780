# SPDX-License-Identifier: BSD-3-Clause
"""Proves that processes which MPI itself starts, in a world of their own, do not disturb those that did it, and are
found in the run. Each calls `work` as often as its rank and its world say; parents twice, children 10 and 20 times.
"""

import sys

from mpi4py import MPI


def work():
    return None


def meet(comm):
    comm.Barrier()


parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    children = MPI.COMM_WORLD.Spawn(sys.executable, [__file__, "a word"], maxprocs=2)
    for _ in range(2):
        work()
    meet(children)
    children.Disconnect()
    print("parent done", flush=True)
else:
    assert sys.argv[1:] == ["a word"], sys.argv
    for _ in range(10 * (MPI.COMM_WORLD.Get_rank() + 1)):
        work()
    meet(parent)
    parent.Disconnect()
