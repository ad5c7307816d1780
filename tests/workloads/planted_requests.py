# SPDX-License-Identifier: BSD-3-Clause
"""Proves that requests are told apart whose handles have one value after the other: rank 1 of two completes some by calls that are not
redirected, and posts others, for which it waits. Then requests that are started several times, and a send that is posted as half of an exchange.
What the library or mpi4py has not got is left out. What really happened goes into truth-R.json: see planted_notes.py.
"""

import array
import ctypes
import time

from mpi4py import MPI
from planted_notes import enter, leave, post, set_out, write

world = MPI.COMM_WORLD
rank = world.rank
other = 1 - rank
library = ctypes.CDLL(MPI.__file__)
one, into = array.array("d", [1]), array.array("d", [0])
large = bytearray(1 << 22)  # no MPI sends so much before the other rank wants it
UNSEEN = 7  # the tag of messages whose end is not seen


def complete_unseen(comm, n):
    if rank == 0:
        for _ in range(n):
            comm.Send(one, other, UNSEEN)
        return
    requests = [comm.Irecv(array.array("d", [0]), other, UNSEEN) for _ in range(n)]
    status = ctypes.create_string_buffer(64)
    for request in requests:
        library.PMPI_Wait(ctypes.c_void_p(MPI._addressof(request)), status)


def sends_late():
    time.sleep(0.12)


def receive():
    if rank == 0:
        sends_late()
        post("receive")
        enter("receive")
        world.Send(one, other)
        return
    request = world.Irecv(into, other)  # POST: receive
    post("receive")
    enter("receive")
    request.Wait()  # WAIT: receive
    leave("receive")


def posts_late():
    time.sleep(0.12)


def barrier():
    if rank == 0:
        posts_late()
    request = world.Ibarrier()
    post("barrier")
    enter("barrier")
    request.Wait()  # WAIT: barrier


def starts_late():
    time.sleep(0.1)


def started_again():
    request = world.Barrier_init()
    for _ in range(3):
        if rank == 0:
            starts_late()
        request.Start()
        post("started")
        enter("started")
        request.Wait()  # WAIT: started
        set_out()
    request.Free()


def takes_it_late():
    time.sleep(0.12)


def one_way():
    """Rank 1 waits for its message to be taken, and receives none."""
    if rank == 0:
        takes_it_late()
        post("one_way")
        enter("one_way")
        world.Recv(large, other, 3)
        return
    request = world.Isendrecv(large, other, 3, into, MPI.PROC_NULL, 3)  # POST: one_way
    post("one_way")
    enter("one_way")
    request.Wait()  # WAIT: one_way
    leave("one_way")


def is_there(fault):
    """mpi4py may have a method for what the library has not got."""
    try:
        if fault is started_again:
            world.Barrier_init().Free()
        if fault is one_way:
            world.Isendrecv(one, MPI.PROC_NULL, 0, into, MPI.PROC_NULL, 0).Wait()
    except (AttributeError, NotImplementedError):
        return False
    return True


def main():
    others = world.Dup()
    world.Barrier()
    complete_unseen(others, 3)
    for fault in (receive, barrier, started_again, one_way):
        there = is_there(fault)
        world.Barrier()
        set_out()
        if there:
            fault()
    world.Barrier()
    write()


main()
