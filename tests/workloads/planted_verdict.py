# SPDX-License-Identifier: BSD-3-Clause
"""planted_verdict.py LIVE: rank 0 puts a FIFO where the ranks look for the result of their roll call. LIVE "-" puts none."""

import os
import sys
from pathlib import Path

import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402

if sys.argv[1] != "-":
    (own,) = Path(sys.argv[1]).rglob(f"r*-p{os.getpid()}-*.live")
    rank, _, process = own.stem.partition("-p")
    if rank == "r0":
        os.mkfifo(own.with_name(f"verdict-{process}"))
MPI.Init()
total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank)
if MPI.COMM_WORLD.rank == 0:
    print("sum", total)
MPI.Finalize()
