# SPDX-License-Identifier: BSD-3-Clause
"""Proves that what holds a program back is found as it comes in real ones, on four ranks: one slow rank, half of the ranks idle, a
load that wanders from rank to rank, a serial phase, a file that one rank writes, and a rank that is late because it waited
itself. What really happened goes into truth-R.json: see planted_notes.py.
"""

import array
import os
import threading
import time

from mpi4py import MPI
from planted_notes import clock, enter, set_out, span, write

world = MPI.COMM_WORLD
rank = world.rank
one, other = array.array("d", [1]), array.array("d", [0])


def meet():
    world.Barrier()
    set_out()


def works_a_step(seconds):
    time.sleep(seconds)


def one_slow_rank():
    """The same function on all ranks, but rank 3 takes longer, three times."""
    meet()
    for _ in range(3):
        works_a_step(0.13 if rank == 3 else 0.03)
        enter("slow_rank")
        world.Allreduce(one, other)  # WAIT: slow_rank
        set_out()


def does_it_all():
    time.sleep(0.2)


def half_of_them_idle():
    meet()
    if rank < 2:
        does_it_all()
    enter("half_idle")
    world.Barrier()  # WAIT: half_idle


def takes_its_turn():
    time.sleep(0.1)


def wandering():
    """Each rank is late once: in all they work for the same time."""
    meet()
    for late in range(world.size):
        if rank == late:
            takes_its_turn()
        enter("wandering")
        world.Allreduce(one, other)  # WAIT: wandering
        set_out()


def assembles_alone():
    time.sleep(0.2)


def serial_phase():
    meet()
    if rank == 0:
        assembles_alone()
    enter("serial")
    world.Bcast(one, root=0)  # WAIT: serial


def drains(path):
    """A disk that takes 64 KiB in 25 ms."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 16):
            time.sleep(0.025)


def writes_checkpoint(path):
    with open(path, "wb") as file:
        for _ in range(8):
            file.write(bytes(1 << 16))


def writes_alone():
    """Its disk is a pipe, since a file is written in no time."""
    if rank == 0:
        os.mkfifo("disk")
        disk = threading.Thread(target=drains, args=("disk",))
        disk.start()
    meet()
    if rank == 0:
        writes_checkpoint("disk")
    enter("checkpoint")
    world.Barrier()  # WAIT: checkpoint
    if rank == 0:
        disk.join()
        os.remove("disk")


def makes_the_first_late():
    begin = clock()
    time.sleep(0.2)
    span("makes_the_first_late", begin)


def adds_to_it():
    begin = clock()
    time.sleep(0.1)
    span("adds_to_it", begin)


def late_for_two_reasons():
    """Rank 1 waits for rank 0, and then takes its time, too: for a third of what others wait it is to blame itself."""
    meet()
    if rank == 0:
        makes_the_first_late()
        enter("first")
        world.Send(one, dest=1)
    if rank == 1:
        enter("first")
        world.Recv(other, source=0)  # WAIT: first
        adds_to_it()
    enter("second")
    world.Barrier()  # WAIT: second


def main():
    one_slow_rank()
    half_of_them_idle()
    wandering()
    serial_phase()
    writes_alone()
    late_for_two_reasons()
    meet()
    write()


main()
