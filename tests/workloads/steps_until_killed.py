# SPDX-License-Identifier: BSD-3-Clause
"""Proves that nothing is lost when a process is killed: notes in a log the start and the end of every step it takes,
and takes steps for ever. What is recorded must be between the two.

    steps_until_killed.py LOG            alone
    steps_until_killed.py LOG mpi        each rank with a log of its own, LOG-R; rank 1 kills itself after 500 steps,
                                         when all have taken 500, as they wait for each other every 50
    steps_until_killed.py LOG mpi-abort  the same, but rank 1 calls MPI_Abort
"""

import os
import signal
import sys


def step():
    part()
    part()


def part():
    return sum(range(10))


def forever(log, after_step=None):
    n = 0
    while True:
        os.write(log, b"start\n")
        step()
        os.write(log, b"done\n")
        n += 1
        if after_step:
            after_step(n)


def on_ranks(log_name, how):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    def meet_or_end(n):
        if n % 50 == 0:
            comm.Barrier()
        if n == 500 and comm.rank == 1:
            if how == "mpi-abort":
                comm.Abort(5)
            os.kill(os.getpid(), signal.SIGKILL)

    forever(open_log(f"{log_name}-{comm.rank}"), meet_or_end)


def open_log(name):
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


if len(sys.argv) > 2:
    on_ranks(sys.argv[1], sys.argv[2])
else:
    forever(open_log(sys.argv[1]))
