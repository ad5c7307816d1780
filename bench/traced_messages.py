# SPDX-License-Identifier: BSD-3-Clause
"""Nothing but messages between two ranks, for what a trace of them takes on disk: traced_messages.py ping_pong|requests N."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other = 1 - world.rank
sent, received = np.zeros(128), np.zeros(128)


def ping_pong(n):
    for _ in range(n):
        if world.rank == 0:
            world.Send(sent, 1)
            world.Recv(received, 1)
        else:
            world.Recv(received, 0)
            world.Send(sent, 0)


def requests(n):
    for _ in range(n):
        MPI.Request.Waitall([world.Irecv(received, other), world.Isend(sent, other)])
        world.Allreduce(sent, received)


{"ping_pong": ping_pong, "requests": requests}[sys.argv[1]](int(sys.argv[2]))
