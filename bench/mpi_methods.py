# SPDX-License-Identifier: BSD-3-Clause
"""The same calls as mpi_calls.c makes, through mpi4py. Prints {"allreduce", "sendrecv", "three"}: ns of all calls of a step."""

import json

import numpy as np
from mpi4py import MPI
from timed_loops import best_ns

# As many tries as it takes until it has settled which functions in C are looked at.
N_CALLS, N_TRIES = 2000, 150
comm = MPI.COMM_SELF
out, into = np.zeros(8), np.zeros(8)


def allreduce():
    for _ in range(N_CALLS):
        comm.Allreduce(out, into)


def sendrecv():
    for _ in range(N_CALLS):
        comm.Sendrecv(out, 0, 1, into, 0, 1)


def three():
    for _ in range(N_CALLS):
        MPI.Request.Waitall([comm.Irecv(into, 0, 1), comm.Isend(out, 0, 1)])


print(json.dumps({loop.__name__: best_ns(loop, N_CALLS, N_TRIES) for loop in (allreduce, sendrecv, three)}))
