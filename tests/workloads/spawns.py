# SPDX-License-Identifier: BSD-3-Clause
"""Proves that processes started by MPI itself, which nobody records, do not disturb those that did it."""

import sys

from mpi4py import MPI


def work():
    return None


parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    children = MPI.COMM_WORLD.Spawn(sys.executable, [__file__], maxprocs=1)
    work()
    children.Barrier()
    children.Disconnect()
    print("parent done", flush=True)
else:
    parent.Barrier()
    parent.Disconnect()
