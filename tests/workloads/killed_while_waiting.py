# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a wait which only a kill ended is in the run: rank 0 computes for two seconds while the others wait for it in
Allreduce; then it kills itself, and before that all others or none.

    killed_while_waiting.py LOG all|one

LOG-R holds when rank R entered the call; that of rank 0, when it killed the others.
"""

import array
import os
import signal
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
pids = world.allgather(os.getpid())


def log():
    with open(f"{sys.argv[1]}-{world.rank}", "w") as file:
        file.write(str(time.monotonic()))


def one_step():
    return sum(range(100))


def compute():
    end = time.monotonic() + 2
    while time.monotonic() < end:
        one_step()


world.Barrier()
if world.rank == 0:
    compute()
    log()
    for pid in (pids[1:] if sys.argv[2] == "all" else []) + pids[:1]:
        os.kill(pid, signal.SIGKILL)
else:
    log()
    world.Allreduce(array.array("d", [1]), array.array("d", [0]))
