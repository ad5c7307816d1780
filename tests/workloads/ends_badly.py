# SPDX-License-Identifier: BSD-3-Clause
"""Proves that nothing is lost and nobody hangs when ranks end badly. Rank R notes its pid in pid-R, calls `step` 20 times and R
times more, notes each in log-R before and after, and all meet. Then, by HOW:

    all        all come to MPI_Finalize
    late       the last rank comes half a second after the others
    exit-one   rank 1 ends by os._exit, the others come to MPI_Finalize
    stays-one  rank 1 sleeps for ever, the others come to MPI_Finalize
    sleep      all sleep for ever
    handler    the same, with a handler of their own for SIGTERM, which ends them with code 3
    deaf       the same, and SIGTERM is ignored
"""

import os
import signal
import sys
import time

from mpi4py import MPI

HOW = sys.argv[1]
rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


def step():
    return sum(range(10))


def take_steps(log):
    for _ in range(20 + rank):
        os.write(log, b"start\n")
        step()
        os.write(log, b"done\n")


def on_sigterm(number, frame):
    sys.stdout.write(f"rank {rank} was asked to end\n")
    sys.stdout.flush()
    os._exit(3)


with open(f"pid-{rank}", "w") as file:
    file.write(str(os.getpid()))
take_steps(os.open(f"log-{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
    raise RuntimeError("SIGTERM has a handler")
if HOW == "handler":
    signal.signal(signal.SIGTERM, on_sigterm)
if HOW == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
MPI.COMM_WORLD.Barrier()
open(f"met-{rank}", "w").close()
if HOW in ("sleep", "handler", "deaf") or (HOW == "stays-one" and rank == 1):
    time.sleep(600)
if HOW == "exit-one" and rank == 1:
    os._exit(0)
if HOW == "late" and rank == size - 1:
    time.sleep(0.5)
