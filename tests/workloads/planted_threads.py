# SPDX-License-Identifier: BSD-3-Clause
"""Proves that what several threads wait for is found where it can be told, and counted where it cannot: two ranks with two threads
each, first with a communicator for each thread, then with messages that look alike. What really happened goes into
truth-R.json: see planted_notes.py.
"""

import array
import threading
import time

from mpi4py import MPI
from planted_notes import enter, set_out, write

world = MPI.COMM_WORLD
rank = world.rank
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE


def delays_the_first():
    time.sleep(0.25)


def delays_the_second():
    time.sleep(0.15)


def first(comm):
    comm.Barrier()
    set_out()
    if rank == 0:
        delays_the_first()
    enter("first")
    comm.Barrier()  # WAIT: first


def second(comm):
    """The thread's first call of all."""
    if rank == 1:
        delays_the_second()
    enter("second")
    comm.Barrier()  # WAIT: second


def sends_at_some_time(seconds):
    time.sleep(seconds)


def alike(seconds):
    buffer = array.array("d", [0])
    if rank == 0:
        sends_at_some_time(seconds)
        enter("alike")
        world.Send(buffer, dest=1, tag=7)
    else:
        enter("alike")
        world.Recv(buffer, source=0, tag=7)  # WAIT: alike


def at_once(*calls):
    threads = [threading.Thread(target=function, args=(argument,)) for function, argument in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    one, other = world.Dup(), world.Dup()
    world.Barrier()
    set_out()
    at_once((first, one), (second, other))
    world.Barrier()
    set_out()
    at_once((alike, 0.1), (alike, 0.2))
    world.Barrier()
    write()


main()
