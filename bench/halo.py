# SPDX-License-Identifier: BSD-3-Clause
"""A small solver: halos are exchanged with two neighbours, then all ranks agree on a sum; in between there is some arithmetic.
Each rank writes the processor time of a step into cpu-R.json, in seconds: that of the spell of N_STEPS steps that took least. Who
waits takes processor time, so a rank that is disturbed disturbs all; but not in every spell.

    halo.py calls|flat     with the work in Python functions, or in one
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

N_SPELLS, N_STEPS = 100, 50
comm = MPI.COMM_WORLD
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size


def aligned(n):
    """How long arithmetic takes depends on the addresses of its numbers, and those on all that was allocated before."""
    whole = np.ones(n + 8)
    first = -whole.ctypes.data // 8 % 8
    return whole[first : first + n]


u, mean = aligned(10_000), aligned(10_000)[8:-8]
total, part = np.zeros(1), np.zeros(1)


def exchange():
    requests = [comm.Irecv(u[:8], left, 1), comm.Irecv(u[-8:], right, 2)]
    requests += [comm.Isend(u[8:16], left, 2), comm.Isend(u[-16:-8], right, 1)]
    MPI.Request.Waitall(requests)


def smooth(v):
    np.add(v[7:-9], v[9:-7], out=mean)
    np.multiply(mean, 0.25, out=mean)
    np.multiply(v[8:-8], 0.5, out=v[8:-8])
    np.add(v[8:-8], mean, out=v[8:-8])


def norm(v):
    part[0] = v.sum()
    comm.Allreduce(part, total)


def with_calls():
    for _ in range(N_STEPS):
        exchange()
        for _ in range(16):
            smooth(u)
        norm(u)


def flat():
    for _ in range(N_STEPS):
        requests = [comm.Irecv(u[:8], left, 1), comm.Irecv(u[-8:], right, 2)]
        requests += [comm.Isend(u[8:16], left, 2), comm.Isend(u[-16:-8], right, 1)]
        MPI.Request.Waitall(requests)
        for _ in range(16):
            np.add(u[7:-9], u[9:-7], out=mean)
            np.multiply(mean, 0.25, out=mean)
            np.multiply(u[8:-8], 0.5, out=u[8:-8])
            np.add(u[8:-8], mean, out=u[8:-8])
        part[0] = u.sum()
        comm.Allreduce(part, total)


body = {"calls": with_calls, "flat": flat}[sys.argv[1]]
spells = []
for _ in range(N_SPELLS):
    comm.Barrier()
    start = time.process_time()
    body()
    spells.append(time.process_time() - start)
with open(f"cpu-{comm.rank}.json", "w") as file:
    json.dump(min(spells) / N_STEPS, file)
