# SPDX-License-Identifier: BSD-3-Clause
"""Proves that what is kept of waiting is true: who was late to what, by how much, and with what he had spent his time. Each rank
writes down what it did, by the clock that all ranks share, into waits-R.json:

    slow        spans of `slow`, [begin, end]
    collective  how many collective calls it made on each of WORLD, its row, and a duplicate of WORLD
    sent, received  messages: [peer, tag]
"""

import json
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
done = {"slow": [], "collective": {"world": 0, "row": 0, "dup": 0}, "sent": [], "received": []}


def slow(seconds):
    begin = time.monotonic()
    time.sleep(seconds)
    done["slow"].append([begin, time.monotonic()])


def quick():
    return sum(range(100))


def barriers(comm):
    """Each rank is late once."""
    for late in range(size):
        if rank == late:
            slow(0.05)
        else:
            quick()
        comm.Barrier()
        done["collective"]["world"] += 1


def exchange():
    buf = bytearray(100)
    if rank == 0:
        for tag in (3, 4, 3):
            world.Recv(buf, source=1, tag=tag)
            done["received"].append([1, tag])
        world.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
        done["received"].append([1, 9])
    if rank == 1:
        slow(0.05)
        for tag in (3, 4, 3):
            world.Send(bytes(tag), dest=0, tag=tag)
            done["sent"].append([0, tag])
        world.send("an object", dest=0, tag=9)
        done["sent"].append([0, 9])


def ring(comm):
    """Nonblocking; what is posted by all is completed by all."""
    buf = bytearray(8)
    requests = [comm.Irecv(buf, (rank - 1) % size, 5), comm.Isend(bytes(8), (rank + 1) % size, 5)]
    if rank == size - 1:
        slow(0.02)
    MPI.Request.Waitall(requests)
    done["received"].append([(rank - 1) % size, 5])
    done["sent"].append([(rank + 1) % size, 5])
    request = comm.Ibarrier()
    request.Wait()
    done["collective"]["dup"] += 1


def main():
    barriers(world)
    exchange()
    row = world.Split(rank % 2, rank)
    dup = world.Dup()
    done["collective"]["world"] += 2
    for _ in range(3):
        row.allreduce(rank) if row.size == 1 else row.Barrier()
        done["collective"]["row"] += row.size > 1
    ring(dup)
    with open(f"waits-{rank}.json", "w") as file:
        json.dump(done, file)


main()
