# SPDX-License-Identifier: BSD-3-Clause
"""Proves that what holds a program back is said on the first screen: one fault a run, large enough to be worth a sentence.

    held_back.py FAULT      a function of this file

`# HERE: FAULT` marks the lines that may be named as the place: that of the call, or of the function to blame.
"""

import array
import os
import subprocess
import sys
import threading
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
one, other = array.array("d", [1]), array.array("d", [0])


# ---- ranks that are not alike ----


def works_unevenly(seconds):  # HERE: imbalance
    time.sleep(seconds)


def imbalance():
    for _ in range(4):
        works_unevenly(0.05 * (1 + rank))  # HERE: imbalance
        world.Allreduce(one, other)  # HERE: imbalance


def works_slowly_on_one(seconds):  # HERE: slow_rank
    time.sleep(seconds)


def slow_rank():
    for _ in range(4):
        works_slowly_on_one(0.2 if rank == 1 else 0.05)  # HERE: slow_rank
        world.Barrier()  # HERE: slow_rank


def takes_its_turn():  # HERE: wandering
    time.sleep(0.2)


def wandering():
    """In all, every rank works for the same time."""
    for late in range(size):
        if rank == late:
            takes_its_turn()  # HERE: wandering
        world.Allreduce(one, other)  # HERE: wandering


def assembles_alone():  # HERE: serial_phase
    time.sleep(0.5)


def solves_with_all():
    time.sleep(0.3)


def serial_phase():
    if rank == 0:
        assembles_alone()  # HERE: serial_phase
    world.Bcast(one, root=0)  # HERE: serial_phase
    solves_with_all()
    world.Barrier()


def child_process():
    """One rank calls a compiler, as it were."""
    if rank == 0:
        subprocess.run(["sleep", "0.5"], check=True)
    world.Barrier()
    solves_with_all()


def does_its_share():
    time.sleep(0.15)


def idle_ranks():
    """The second half of the ranks has nothing to do, ever."""
    for _ in range(4):
        if rank < size // 2:
            does_its_share()
        world.Barrier()


def runs_at_its_nodes_speed():
    time.sleep(0.2 if os.uname().nodename == "node1" else 0.1)


def slow_node():
    """The same calls on all ranks, but those of one node take twice as long."""
    for _ in range(4):
        runs_at_its_nodes_speed()
        world.Allreduce(one, other)


def keeps_a_processor_busy():
    until = time.process_time() + 0.3
    while time.process_time() < until:
        sum(range(10_000))


def oversubscription():
    """With more ranks than processors."""
    world.Barrier()
    keeps_a_processor_busy()
    world.Barrier()


# ---- messages ----


def produces():  # HERE: late_sender
    time.sleep(0.2)


def late_sender():
    for _ in range(4):
        if rank == 1:
            produces()  # HERE: late_sender
            world.Send(one, dest=0)  # HERE: late_sender
        else:
            world.Recv(other, source=1)  # HERE: late_sender


def consumes():  # HERE: late_receiver
    time.sleep(0.2)


def late_receiver():
    large = bytearray(1 << 22)
    for _ in range(4):
        if rank == 1:
            consumes()  # HERE: late_receiver
            world.Recv(large, source=0)  # HERE: late_receiver
        else:
            world.Send(large, dest=1)  # HERE: late_receiver


def pickling():
    """What is sent takes longer to pickle than to send."""
    records = [{"number": i, "text": str(i)} for i in range(30_000)] if rank == 0 else None
    for _ in range(20):
        if rank == 0:
            world.send(records, dest=1)  # HERE: pickling
        else:
            world.recv(source=0)  # HERE: pickling


def small_messages():
    """Word by word, with a barrier now and then, since nobody keeps as many as there are."""
    for _ in range(200):
        for _ in range(400):
            if rank == 0:
                world.Send(one, dest=1)  # HERE: small_messages
            else:
                world.Recv(other, source=0)  # HERE: small_messages
        world.Barrier()


def needs_nothing_of_it():
    time.sleep(0.03)


def no_overlap():
    """Much is exchanged while nothing is done, and then something is done that does not need it."""
    outgoing, incoming = bytearray(1 << 25), bytearray(1 << 25)
    for _ in range(6):
        requests = [world.Irecv(incoming, 1 - rank), world.Isend(outgoing, 1 - rank)]  # HERE: no_overlap
        MPI.Request.Waitall(requests)  # HERE: no_overlap
        needs_nothing_of_it()
        world.Sendrecv(outgoing, 1 - rank, 0, incoming, 1 - rank, 0)  # HERE: no_overlap
        needs_nothing_of_it()


# ---- all the rest ----


def drains(path):
    """A disk that takes 64 KiB in 50 ms."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 16):
            time.sleep(0.05)


def writes_checkpoint(path):  # HERE: io_on_one_rank
    with open(path, "wb") as file:
        for _ in range(12):
            file.write(bytes(1 << 16))  # HERE: io_on_one_rank


def io_on_one_rank():
    """Its disk is a pipe, since a file is written in no time."""
    if rank == 0:
        os.mkfifo("disk")
        disk = threading.Thread(target=drains, args=("disk",))
        disk.start()
        writes_checkpoint("disk")  # HERE: io_on_one_rank
    world.Barrier()  # HERE: io_on_one_rank
    if rank == 0:
        disk.join()


def imports():
    import slow_to_import

    assert slow_to_import.READY
    world.Barrier()


def does_next_to_nothing():
    pass


def passes_on():
    does_next_to_nothing()


def overhead():
    """As it is with functions that are called all the time and do nothing."""
    for _ in range(4_000_000):
        passes_on()
    world.Barrier()


globals()[sys.argv[1]]()
