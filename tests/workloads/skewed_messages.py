# SPDX-License-Identifier: BSD-3-Clause
"""Messages and barriers for as many seconds as it is told, by a clock that is right on all ranks."""

import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
one = np.zeros(1)
until = time.time() + float(sys.argv[1])  # the clock that is skewed is another one
go_on = True
while go_on:
    world.Sendrecv(one, (world.rank + 1) % world.size, 0, one, (world.rank - 1) % world.size, 0)
    time.sleep(0.002)
    world.Barrier()
    go_on = bool(world.bcast(time.time() < until if world.rank == 0 else None))
