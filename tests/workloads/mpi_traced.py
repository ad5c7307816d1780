# SPDX-License-Identifier: BSD-3-Clause
"""A random program of messages and collective calls, the same on all ranks, that notes what it does in the order in which it does it.

    mpi_traced.py SEED STEPS     writes noted-R.json: [[what, communicator, peer, tag, bytes out, bytes in, request], …]

Communicators have names. Requests have numbers of the program's own: the same where one was posted and where it has ended. What is
not known there is null.
"""

import json
import random
import sys

from mpi4py import MPI

dice = random.Random(int(sys.argv[1]))  # throws the same on all ranks
own = random.Random(MPI.COMM_WORLD.rank)
world = MPI.COMM_WORLD
noted = []
n_requests = 0


def note(what, c, peer=None, tag=None, out=0, into=0, request=0):
    noted.append([what, c.Get_name(), peer, tag, out, into, request])


def number():
    global n_requests
    n_requests += 1
    return n_requests


def pair(c):
    return dice.sample(range(c.size), 2)


def blocking(c):
    source, dest = pair(c)
    n, tag = dice.randrange(500), dice.randrange(100)
    name, more = dice.choice(["Send", "Ssend"]), dice.randrange(1, 9)
    any_source, probes = dice.random() < 0.3, dice.random() < 0.3
    if c.rank == source:
        getattr(c, name)(bytearray(n), dest, tag)
        note("send", c, dest, tag, out=n)
    elif c.rank == dest:
        if probes:
            c.Probe(source, tag)
            note("probed", c, source, tag)
        c.Recv(bytearray(n + more), MPI.ANY_SOURCE if any_source else source, tag)
        note("receive", c, source, tag, into=n)


def exchange(c):
    right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    n = dice.randrange(500)
    c.Sendrecv(bytearray(n), right, 7, bytearray(n), left, 7)
    note("send", c, right, 7, out=n)
    note("receive", c, left, 7, into=n)


def nonblocking(c):
    right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    posted = []
    sizes = [dice.randrange(500) for _ in range(dice.randrange(1, 4))]
    for tag, n in enumerate(sizes):
        request = c.Irecv(bytearray(n), left, tag)
        posted.append((request, "receive-done", left, tag, 0, n, number()))
        note("receive-posted", c, left, tag, into=n, request=n_requests)
    for tag, n in enumerate(sizes):
        request = c.Isend(bytearray(n), right, tag)
        posted.append((request, "send-done", right, tag, n, 0, number()))
        note("send-posted", c, right, tag, out=n, request=n_requests)
    finish(c, posted)


def finish(c, posted):
    """Each rank in its own way."""
    requests = [each[0] for each in posted]
    how = own.choice(["Waitall", "Wait", "Waitany", "Waitsome", "Test"])
    if how == "Waitall":
        MPI.Request.Waitall(requests)
        done = range(len(posted))
    elif how in ("Wait", "Test"):
        done = own.sample(range(len(posted)), len(posted))
        for i in done:
            while not (requests[i].Wait() if how == "Wait" else requests[i].Test()):
                pass
    elif how == "Waitany":
        done = [MPI.Request.Waitany(requests) for _ in posted]
    else:
        done = []
        while (some := MPI.Request.Waitsome(requests)) is not None:
            done += some
    for i in done:
        _, what, peer, tag, out, into, request = posted[i]
        note(what, c, peer, tag, out, into, request)


def collective(c):
    n, root = dice.randrange(1, 200), dice.randrange(c.size)
    name = dice.choice(["Bcast", "Allreduce", "Barrier", "Gather"])
    here = c.rank == root
    if name == "Bcast":
        c.Bcast(bytearray(n), root)
        note("collective", c, root, None, n if here else 0, 0 if here else n)
    elif name == "Allreduce":
        c.Allreduce([bytearray(n), n, MPI.BYTE], [bytearray(n), n, MPI.BYTE], MPI.BOR)
        note("collective", c, None, None, n, n)
    elif name == "Gather":
        c.Gather(bytearray(n), bytearray(n * c.size) if here else None, root)
        note("collective", c, root, None, n, n * c.size if here else 0)
    else:
        c.Barrier()
        note("collective", c, None, None)


def nonblocking_collective(c):
    request = c.Ibarrier()
    i = number()
    note("collective-posted", c, None, None, request=i)
    request.Wait()
    note("collective-done", c, None, None, request=i)


def split(communicators):
    colour = world.rank % 2 if world.size > 3 else 0
    made = world.Split(colour, -world.rank)
    note("collective", world, None, None)
    made.Set_name(f"half {len(communicators)} {colour}")
    communicators.append(made)


def main():
    communicators = [world]
    split(communicators)
    split(communicators)
    steps = [blocking, blocking, exchange, nonblocking, nonblocking, collective, collective, nonblocking_collective]
    for _ in range(int(sys.argv[2])):
        dice.choice(steps)(dice.choice(communicators))
    with open(f"noted-{world.rank}.json", "w") as file:
        json.dump(noted, file)


main()
