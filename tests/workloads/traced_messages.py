# SPDX-License-Identifier: BSD-3-Clause
"""Random messages between ranks, the same program on each: which one was received where is in messages-RANK.json.

    traced_messages.py SEED STEPS [gaps]

Every message carries its number. `sends` and `receives` of a rank are the numbers of those that were sent and received, in the
order in which the program saw it, and whether the trace was on then. With `gaps` each rank switches its trace off and on by itself.
"""

import json
import random
import sys
import time

import allranks
import numpy as np
from mpi4py import MPI

seed, steps, with_gaps = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["gaps"]
world = MPI.COMM_WORLD
plan, own = random.Random(seed), random.Random(1000 * seed + world.rank)
halves = world.Split(world.rank % 2, -world.rank)
log: dict[str, list[tuple[int, bool]]] = {"sends": [], "receives": []}
is_on, n_messages = True, 0


def room(number: int = -1) -> np.ndarray:
    return np.full(4, number)


def pause() -> None:
    if own.random() < 0.3:
        time.sleep(own.random() * 2e-3)


def sent(number: int) -> None:
    log["sends"].append((number, is_on))


def received(buffer: np.ndarray) -> None:
    log["receives"].append((int(buffer[0]), is_on))


def one(comm: MPI.Comm, source: int, target: int, tag: int, number: int) -> None:
    """One message that blocks on both sides, received by source or, with a tag of its own, from whoever sends such a one."""
    how = plan.randrange(3)
    tag = 5 if how == 2 else tag
    if comm.rank == source:
        comm.Send(room(number), target, tag)
        sent(number)
    if comm.rank == target:
        buffer = room()
        if how == 0:
            comm.Probe(source, tag)
        comm.Recv(buffer, source if how < 2 else MPI.ANY_SOURCE, tag)
        received(buffer)


def many(comm: MPI.Comm, source: int, target: int, tag: int, first: int, n: int) -> None:
    """Several at once, waited for in any order."""
    order = plan.sample(range(n), n)
    tag = 6 if with_gaps else tag  # what ends in another order than it was posted cannot be told apart across gaps
    if comm.rank == source:
        requests = [comm.Isend(room(first + i), target, tag) for i in range(n)]
        for i in range(n):
            sent(first + i)
        MPI.Request.Waitall(requests)
    if comm.rank == target:
        buffers = [room() for _ in range(n)]
        requests = [comm.Irecv(buffer, source, tag) for buffer in buffers]
        for i in order:
            requests[i].Wait()
            received(buffers[i])


def ring(comm: MPI.Comm, tag: int, first: int) -> None:
    buffer = room()
    comm.Sendrecv(room(first + comm.rank), (comm.rank + 1) % comm.size, tag, buffer, (comm.rank - 1) % comm.size, tag)
    sent(first + comm.rank)
    received(buffer)


def together(comm: MPI.Comm, root: int) -> None:
    which = plan.randrange(6)
    a, b = np.zeros(2), np.zeros(2)
    if which == 0:
        comm.Barrier()
    elif which == 1:
        comm.Bcast(a, root)
    elif which == 2:
        comm.Reduce(a, b, root=root)
    elif which == 3:
        comm.Allreduce(a, b)
    elif which == 4:
        comm.Scan(a, b)
    else:
        comm.Ibarrier().Wait()


def switch() -> None:
    global is_on
    if with_gaps and own.random() < 0.1:
        is_on = not is_on
        (allranks.trace_on if is_on else allranks.trace_off)()


for _ in range(steps):
    switch()
    pause()
    what, tag = plan.randrange(10), plan.randrange(2)
    source, target = plan.sample(range(world.size), 2)
    if what < 4:
        one(world, source, target, tag, n_messages)
        n_messages += 1
    elif what < 6:
        many(world, source, target, tag, n_messages, 3)
        n_messages += 3
    elif what < 8:
        ring(world, tag, n_messages)
        n_messages += world.size
    else:
        together(world if what == 8 else halves, 0)

with open(f"messages-{world.rank}.json", "w") as file:
    json.dump(log, file)
