# SPDX-License-Identifier: BSD-3-Clause
"""Proves that waiting in mpi4py's methods for objects is one wait at the line that the user wrote, however many messages they are
made of, on four ranks. What really happened goes into truth-R.json: see planted_notes.py.
"""

import time

from mpi4py import MPI
from planted_notes import enter, leave, post, set_out, write

world = MPI.COMM_WORLD
rank = world.rank
small = {"step": 1, "values": [1.0, 2.0]}


def meet():
    world.Barrier()
    set_out()


def makes_an_object():
    time.sleep(0.15)


def send_and_receive():
    if rank == 1:
        makes_an_object()
        enter("recv")
        world.send(small, dest=0)
    if rank == 0:
        enter("recv")
        world.recv(source=1)  # WAIT: recv


def reads_settings():
    time.sleep(0.12)


def broadcast():
    if rank == 0:
        reads_settings()
    enter("bcast")
    world.bcast(small, root=0)  # WAIT: bcast


def finds_its_error():
    time.sleep(0.15)


def reduce_to_all():
    if rank == 2:
        finds_its_error()
    enter("allreduce")
    world.allreduce(rank)  # WAIT: allreduce


def sums_up_last():
    time.sleep(0.15)


def reduce_to_one():
    if rank == 3:
        sums_up_last()
    enter("reduce")
    world.reduce(rank, root=0)  # WAIT: reduce


def collects_results():
    time.sleep(0.12)


def gather():
    if rank == 1:
        collects_results()
    enter("gather")
    world.gather(small, root=0)  # WAIT: gather


def names_its_parts():
    time.sleep(0.12)


def gather_to_all():
    if rank == 3:
        names_its_parts()
    enter("allgather")
    world.allgather(small)  # WAIT: allgather


def cuts_the_cake():
    time.sleep(0.12)


def scatter():
    if rank == 1:
        cuts_the_cake()
    enter("scatter")
    world.scatter([small] * 4 if rank == 1 else None, root=1)  # WAIT: scatter


def addresses_letters():
    time.sleep(0.12)


def all_to_all():
    if rank == 0:
        addresses_letters()
    enter("alltoall")
    world.alltoall([small] * 4)  # WAIT: alltoall


def forgets_the_time():
    time.sleep(0.12)


def barrier():
    if rank == 2:
        forgets_the_time()
    enter("barrier")
    world.barrier()  # WAIT: barrier


def counts_before_others():
    time.sleep(0.12)


def scan():
    if rank == 1:
        counts_before_others()
    enter("scan")
    world.scan(rank)  # WAIT: scan


def makes_it_wait():
    time.sleep(0.15)


def request():
    """Rank 2 receives from rank 3."""
    if rank == 3:
        makes_it_wait()
        enter("irecv")
        world.send(small, dest=2)
    if rank == 2:
        post("irecv")
        receiving = world.irecv(source=3)  # POST: irecv
        enter("irecv")
        receiving.wait()  # WAIT: irecv
        leave("irecv")


def pickled_slowly():
    """Rank 0 waits for what rank 1 has yet to pickle."""
    large = [{"number": i, "text": str(i)} for i in range(60_000)] if rank == 1 else None
    meet()
    if rank == 1:
        enter("pickled")
        world.send(large, dest=0)
    if rank == 0:
        enter("pickled")
        world.recv(source=1)  # WAIT: pickled
        leave("pickled")


def main():
    world.allreduce(rank)  # mpi4py makes itself a communicator for these when first asked
    world.scan(rank)
    for fault in (send_and_receive, broadcast, reduce_to_all, reduce_to_one, gather, gather_to_all, scatter,
                  all_to_all, barrier, scan, request, pickled_slowly):  # fmt: skip
        meet()
        fault()
    meet()
    write()


main()
