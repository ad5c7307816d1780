# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a request is followed rightly whatever part of its life is not recorded. Libraries give the same handles again and
again: what was completed in a pause must not be taken for the next one. Prints how many were posted and completed while
recorded, and the least time, in seconds, that those were in flight together. Two ranks, of which the first sends to itself.
"""

import json
import time

import allranks
from mpi4py import MPI

comm = MPI.COMM_WORLD
buf = bytearray(8)
N = 50


def post():
    return [comm.Irecv(buf, 0, 1), comm.Isend(bytes(8), 0, 1)]


def complete(requests):
    MPI.Request.Waitall(requests)


def completed_in_a_pause():
    requests = post()
    with allranks.paused():
        time.sleep(0.002)
        MPI.Request.Waitall(requests)


def posted_in_a_pause():
    with allranks.paused():
        requests = [comm.Irecv(buf, 0, 1), comm.Isend(bytes(8), 0, 1)]
    complete(requests)


def all_recorded():
    requests = post()
    complete(requests)


def main():
    for _ in range(N):
        completed_in_a_pause()
        posted_in_a_pause()
    for _ in range(N):
        all_recorded()
    print(json.dumps({"recorded": 2 * N, "paused_s": N * 0.002}))


if comm.rank == 0:
    main()
