# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a job which hangs says for what: each case hangs by construction, on four ranks.

    hangs_by.py CASE READY       makes the files READY-R when rank R is about to stop

    split      ranks 0 and 2 are in a barrier of the even ones, to which rank 0 has come twice; the odd ones compute
    apart      two barriers of two communicators: the even ranks are in one with rank 2 missing, the odd ones have left
    mismatch   rank 0 reduces, the others broadcast, all in the same turn
    roots      all broadcast, and name different roots
    circle     ranks 0 and 1 receive from each other, and so do 2 and 3
    ring       each rank receives from the one before it
    sends      ranks 0 and 1 send to each other, synchronously
    tags       rank 0 receives tag 7, rank 1 sends tag 9
    left       rank 0 receives from rank 1, which has left the script
    any        all receive from any rank
    requests   rank 0 waits for requests, rank 1 for one of them; the others have left
    posted     all but rank 3 wait for a barrier that they have posted
    mixed      rank 0 is in a barrier, the others receive from it
    pickled    all but rank 3 are in a method of mpi4py that is made of messages
    listening  a thread of each rank receives; the main threads are in a barrier that rank 3 does not come to
    worker     the main thread of rank 0 waits for its thread, which receives from rank 1; that one receives from rank 0
    slow       rank 3 computes, the others are in a barrier
    slow_sender   rank 0 receives from rank 3, which computes
"""

import array
import sys
import threading

from mpi4py import MPI

case, ready = sys.argv[1:]
world = MPI.COMM_WORLD
rank = world.rank
one, other = array.array("d", [1]), array.array("d", [0])


def stop_here():
    open(f"{ready}-{rank}", "w").close()


def spin():
    while True:
        pass


def receive(source, tag, comm=world):
    comm.Recv(other, source, tag)


def in_thread(work, *arguments):
    thread = threading.Thread(target=work, args=arguments, name="listener", daemon=True)
    thread.start()
    return thread


def split():
    part = world.Split(rank % 2)
    part.Barrier()
    if rank == 2 or rank == 0:
        part.Barrier()
    stop_here()
    if rank == 0:
        part.Barrier()
    spin()


def apart():
    part = world.Split(rank % 2)
    stop_here()
    if rank == 0:
        part.Barrier()
    elif rank == 2:
        spin()


def mismatch():
    world.Barrier()
    stop_here()
    if rank == 0:
        world.Reduce(one, other, root=0)
    else:
        world.Bcast(other, root=0)


def roots():
    stop_here()
    world.Bcast(other, root=(rank + 1) % 4)


def circle():
    stop_here()
    receive(rank ^ 1, 7 + rank)


def ring():
    stop_here()
    receive((rank - 1) % 4, 5)


def sends():
    stop_here()
    if rank < 2:
        world.Ssend(one, 1 - rank, 3)
    world.Barrier()


def tags():
    stop_here()
    if rank == 0:
        receive(1, 7)
    elif rank == 1:
        world.Ssend(one, 0, 9)


def left():
    stop_here()
    if rank == 0:
        receive(1, 7)


def any_rank():
    stop_here()
    receive(MPI.ANY_SOURCE, MPI.ANY_TAG)


def requests():
    stop_here()
    pending = [world.Irecv(other, source, 4) for source in (1, 2, 3)]
    if rank == 0:
        MPI.Request.Waitall(pending)
    elif rank == 1:
        MPI.Request.Waitany(pending[1:])


def posted():
    pending = world.Ibarrier() if rank != 3 else None
    stop_here()
    if pending:
        pending.Wait()
    spin()


def mixed():
    stop_here()
    if rank == 0:
        world.Barrier()
    receive(0, 2)


def pickled():
    world.allreduce({1}, op=lambda a, b: a | b)
    stop_here()
    if rank != 3:
        world.allreduce({1}, op=lambda a, b: a | b)
    spin()


def listening():
    in_thread(receive, MPI.ANY_SOURCE, 1)
    stop_here()
    if rank != 3:
        world.Barrier()
    spin()


def worker():
    if rank == 0:
        thread = in_thread(receive, 1, 6)
    stop_here()
    if rank == 0:
        thread.join()
    elif rank == 1:
        receive(0, 8)


def assemble():
    while True:
        pass


def slow():
    stop_here()
    if rank == 3:
        assemble()
    world.Barrier()


def slow_sender():
    stop_here()
    if rank == 0:
        receive(3, 7)
    if rank == 3:
        assemble()


assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
{"any": any_rank}.get(case, globals().get(case))()
