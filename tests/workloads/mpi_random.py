# SPDX-License-Identifier: BSD-3-Clause
"""Proves that calls, bytes and peers are right in whatever order and on whatever communicators calls are made: a random program, the
same on all ranks, that counts for itself.

    mpi_random.py SEED STEPS     writes noted-R.json: {"calls": {function: n}, "bytes": {function: [out, in]},
                                 "peers": [[world rank, messages out, bytes out, messages in, bytes in], …]}
"""

import json
import random
import sys
from collections import Counter, defaultdict

from mpi4py import MPI

dice = random.Random(int(sys.argv[1]))  # throws the same on all ranks
world = MPI.COMM_WORLD
calls = Counter()
moved = defaultdict(lambda: [0, 0])
peers = defaultdict(lambda: [0, 0, 0, 0])

VECTOR = MPI.DOUBLE.Create_vector(3, 2, 5).Commit()  # 48 bytes of 13 doubles
TYPES = [(MPI.BYTE, 1, 1), (MPI.INT, 4, 4), (MPI.DOUBLE, 8, 8), (VECTOR, 48, 8 * 15)]


class Communicator:
    def __init__(self, comm):
        self.comm = comm
        self.world_ranks = MPI.Group.Translate_ranks(comm.group, list(range(comm.size)), world.group)


def note(function, out=0, into=0):
    calls[function] += 1
    moved[function][0] += out
    moved[function][1] += into


def sent(c, peer, n):
    row = peers[c.world_ranks[peer]]
    row[0] += 1
    row[1] += n


def received(c, peer, n):
    row = peers[c.world_ranks[peer]]
    row[2] += 1
    row[3] += n


def message(n):
    """A buffer for n items of a random type, and their bytes."""
    datatype, n_bytes, extent = dice.choice(TYPES)
    return [bytearray(max(n, 1) * extent), n, datatype], n * n_bytes


def pair(c):
    """Two different ranks, which all know."""
    return dice.sample(range(c.comm.size), 2)


def blocking_message(c):
    source, dest = pair(c)
    buffer, n = message(dice.randrange(50))
    name = dice.choice(["Send", "Ssend", "Bsend"])
    tag = dice.randrange(100)
    any_source = dice.random() < 0.3
    if c.comm.rank == source:
        getattr(c.comm, name)(buffer, dest, tag)
        note(f"MPI_{name}", n)
        sent(c, dest, n)
    elif c.comm.rank == dest:
        c.comm.Recv(buffer, MPI.ANY_SOURCE if any_source else source, tag)
        note("MPI_Recv", 0, n)
        received(c, source, n)


def exchange(c):
    right, left = (c.comm.rank + 1) % c.comm.size, (c.comm.rank - 1) % c.comm.size
    buffer, n = message(dice.randrange(50))
    into = [bytearray(len(buffer[0])), *buffer[1:]]
    c.comm.Sendrecv(buffer, right, 1, into, left, 1)
    note("MPI_Sendrecv", n, n)
    sent(c, right, n)
    received(c, left, n)


def nonblocking(c):
    """Receives are larger than what comes."""
    right, left = (c.comm.rank + 1) % c.comm.size, (c.comm.rank - 1) % c.comm.size
    buffer, n = message(dice.randrange(50))
    into = [bytearray(len(buffer[0]) + 1000), MPI.BYTE]
    requests = [c.comm.Irecv(into, left, 2), c.comm.Isend(buffer, right, 2)]
    note("MPI_Irecv", 0, n)
    note("MPI_Isend", n)
    sent(c, right, n)
    received(c, left, n)
    finish(requests)


def finish(requests):
    how = dice.choice(["Waitall", "Wait", "Waitany", "Waitsome"])
    if how == "Waitall":
        MPI.Request.Waitall(requests)
        calls["MPI_Waitall"] += 1
    elif how == "Wait":
        for request in reversed(requests):
            request.Wait()
            calls["MPI_Wait"] += 1
    elif how == "Waitany":
        for _ in requests:
            MPI.Request.Waitany(requests)
            calls["MPI_Waitany"] += 1
    else:
        while MPI.Request.Waitsome(requests):
            calls["MPI_Waitsome"] += 1
        calls["MPI_Waitsome"] += 1


def persistent(c):
    right, left = (c.comm.rank + 1) % c.comm.size, (c.comm.rank - 1) % c.comm.size
    buffer, n = message(1 + dice.randrange(50))
    into = [bytearray(len(buffer[0]) + 1000), MPI.BYTE]
    requests = [c.comm.Recv_init(into, left, 3), c.comm.Send_init(buffer, right, 3)]
    calls.update(["MPI_Recv_init", "MPI_Send_init"])
    for _ in range(dice.randrange(1, 4)):
        MPI.Prequest.Startall(requests)
        note("MPI_Startall", n, n)
        sent(c, right, n)
        received(c, left, n)
        MPI.Request.Waitall(requests)
        calls["MPI_Waitall"] += 1
    for request in requests:
        request.Free()
        calls["MPI_Request_free"] += 1


def rooted(c):
    root, n, size = dice.randrange(c.comm.size), 1 + dice.randrange(50), c.comm.size
    here = c.comm.rank == root
    part, whole = bytearray(n), bytearray(n * size)
    name = dice.choice(["Bcast", "Gather", "Scatter", "Reduce", "Ibcast"])
    if name == "Bcast":
        c.comm.Bcast(part, root)
        note("MPI_Bcast", n if here else 0, 0 if here else n)
    elif name == "Ibcast":
        finish([c.comm.Ibcast(part, root)])
        note("MPI_Ibcast", n if here else 0, 0 if here else n)
    elif name == "Gather":
        c.comm.Gather(part, whole if here else None, root)
        note("MPI_Gather", n, n * size if here else 0)
    elif name == "Scatter":
        c.comm.Scatter(whole if here else None, part, root)
        note("MPI_Scatter", n * size if here else 0, n)
    else:
        c.comm.Reduce([part, n, MPI.BYTE], [bytearray(n), n, MPI.BYTE] if here else None, MPI.BOR, root)
        note("MPI_Reduce", n, n if here else 0)


def of_all(c):
    n, size, rank = 1 + dice.randrange(50), c.comm.size, c.comm.rank
    part, whole = bytearray(n), bytearray(n * size)
    name = dice.choice(["Allreduce", "in place", "Allgather", "Alltoall", "Scan", "Exscan", "Barrier", "Iallreduce", "Allgatherv", "Alltoallv"])
    if name == "Allreduce":
        c.comm.Allreduce([part, n, MPI.BYTE], [bytearray(n), n, MPI.BYTE], MPI.BOR)
        note("MPI_Allreduce", n, n)
    elif name == "in place":
        c.comm.Allreduce(MPI.IN_PLACE, [part, n, MPI.BYTE], MPI.BOR)
        note("MPI_Allreduce", n, n)
    elif name == "Iallreduce":
        into = bytearray(n)  # mpi4py does not keep it alive
        finish([c.comm.Iallreduce([part, n, MPI.BYTE], [into, n, MPI.BYTE], MPI.BOR)])
        note("MPI_Iallreduce", n, n)
    elif name == "Allgather":
        c.comm.Allgather(part, whole)
        note("MPI_Allgather", n, n * size)
    elif name == "Alltoall":
        c.comm.Alltoall(whole, bytearray(n * size))
        note("MPI_Alltoall", n * size, n * size)
    elif name in ("Scan", "Exscan"):
        getattr(c.comm, name)([part, n, MPI.BYTE], [bytearray(n), n, MPI.BYTE], MPI.BOR)
        note(f"MPI_{name}", n, 0 if name == "Exscan" and rank == 0 else n)
    elif name == "Allgatherv":
        counts = [dice.randrange(9) for _ in range(size)]
        c.comm.Allgatherv(bytearray(counts[rank]), [bytearray(sum(counts)), counts])
        note("MPI_Allgatherv", counts[rank], sum(counts))
    elif name == "Alltoallv":
        table = [[dice.randrange(9) for _ in range(size)] for _ in range(size)]
        out, into = table[rank], [row[rank] for row in table]
        c.comm.Alltoallv([bytearray(sum(out)), out], [bytearray(sum(into)), into])
        note("MPI_Alltoallv", sum(out), sum(into))
    else:
        c.comm.Barrier()
        note("MPI_Barrier")


def remake(communicators):
    """One more, or one less; all ranks of the world take part."""
    if len(communicators) < 6:
        kind = dice.choice(["Dup", "Split", "Create_cart"])
        parent = world
        if kind == "Dup":
            made = parent.Dup()
        elif kind == "Split":
            made = parent.Split(0, -world.rank)  # the other way round
        else:
            made = parent.Create_cart([world.size], periods=[True])
        calls[{"Dup": "MPI_Comm_dup", "Split": "MPI_Comm_split", "Create_cart": "MPI_Cart_create"}[kind]] += 1
        communicators.append(Communicator(made))
    else:
        communicators.pop(dice.randrange(1, len(communicators))).comm.Free()
        calls["MPI_Comm_free"] += 1


def main():
    MPI.Attach_buffer(bytearray(1 << 20))
    communicators = [Communicator(world)]
    steps = [blocking_message, exchange, nonblocking, persistent, rooted, of_all]
    for _ in range(int(sys.argv[2])):
        if dice.random() < 0.05:
            remake(communicators)
        else:
            dice.choice(steps)(dice.choice(communicators))
    MPI.Detach_buffer()
    with open(f"noted-{world.rank}.json", "w") as file:
        rows = [[rank, *row] for rank, row in sorted(peers.items())]
        json.dump({"calls": calls, "bytes": moved, "peers": rows}, file)


main()
