# SPDX-License-Identifier: BSD-3-Clause
"""Proves that nothing is lost however ranks end without MPI_Finalize: HOW is `never` (nobody calls it), `raises` (rank 1
ends by an exception), `at-once` (all by os._exit) or `abort` (rank 1 aborts the job). Each calls `work` 4 times first.
"""

import os
import sys
import time

import mpi4py

HOW = sys.argv[1]
mpi4py.rc.finalize = HOW != "never"
from mpi4py import MPI  # noqa: E402


def work():
    return None


for _ in range(4):
    work()
MPI.COMM_WORLD.Barrier()
rank = MPI.COMM_WORLD.Get_rank()
if HOW == "raises" and rank == 1:
    raise ValueError("rank 1 fails")
if HOW == "abort" and rank == 1:
    MPI.COMM_WORLD.Abort(7)
if HOW == "abort":
    time.sleep(60)
if HOW == "at-once":
    os._exit(0)
