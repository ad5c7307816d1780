# SPDX-License-Identifier: BSD-3-Clause
"""Proves that what is kept of MPI has an end, and that the rest is counted: REQUESTS COMMUNICATORS

The first of two ranks works, with itself alone. Posts so many requests and completes them in one Waitall, and then a few that are followed again; sends messages of five sizes
on each of so many duplicates, and makes as many again without. Prints what it did, by how much its
memory has grown, in KiB, and the processor's time, in seconds.
"""

import json
import resource
import sys

from mpi4py import MPI

N_REQUESTS, N_COMMS = map(int, sys.argv[1:])
SIZES = (0, 1, 2, 4, 8)
comm = MPI.COMM_SELF


def resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def post(n):
    into = bytearray(4)
    world = MPI.COMM_WORLD
    return [request for _ in range(n // 2) for request in (world.Irecv(into, 0, 1), world.Isend(b"four", 0, 1))]


def complete(requests):
    MPI.Request.Waitall(requests)


def communicators(n, sizes):
    into = bytearray(8)
    for _ in range(n):
        dup = comm.Dup()
        for size in sizes:
            dup.Sendrecv(bytes(size), 0, 1, into, 0, 1)
        dup.Free()


def main():
    complete(post(100))
    communicators(10, SIZES)
    before, begin = resident_kib(), resource.getrusage(resource.RUSAGE_SELF)
    complete(post(N_REQUESTS))
    complete(post(100))
    communicators(N_COMMS, SIZES)
    communicators(N_COMMS, ())
    end = resource.getrusage(resource.RUSAGE_SELF)
    grown = resident_kib() - before
    done = {"requests": N_REQUESTS + 200, "communicators": 2 * N_COMMS + 10, "messages": 5 * (N_COMMS + 10)}
    print(json.dumps({**done, "grown_kib": grown, "user_s": end.ru_utime - begin.ru_utime}))


if MPI.COMM_WORLD.rank == 0:
    main()
