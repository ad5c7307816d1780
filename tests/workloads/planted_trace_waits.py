# SPDX-License-Identifier: BSD-3-Clause
"""Delays, as long as they take without a call of anything, whose waits are arithmetic: planted-RANK.json has, of each step, when this rank came to it and when its delay was over, by
the clock that all ranks of a host share.
"""

import json
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.rank
small, out = np.zeros(8), np.zeros(8)
steps: dict[str, tuple[float, float]] = {}


def slow_sender():
    for _ in range(24_000_000):
        pass


def slow_receiver():
    for _ in range(20_000_000):
        pass


def slow_root():
    for _ in range(16_000_000):
        pass


def slow_member():
    for _ in range(12_000_000):
        pass


def not_needed():
    """While another one is slower."""
    time.sleep(0.05)


def step(name, late, delay):
    """All begin together; one is late."""
    world.Barrier()
    begin = time.perf_counter()
    if rank == late:
        delay()
    steps[name] = (begin, time.perf_counter())


step("send", 0, slow_sender)
if rank == 0:
    world.Send(small, 1)
elif rank == 1:
    world.Recv(small, 0)
    world.Send(small, 2)
else:
    world.Recv(small, 1)

step("receive", 1, slow_receiver)
if rank == 0:
    world.Ssend(small, 1)
elif rank == 1:
    world.Recv(small, 0)

step("root", 2, slow_root)
if rank == 1:
    not_needed()
    steps["root"] = (time.perf_counter(), 0.0)
world.Bcast(small, 2)

step("reduce", 1, slow_member)
world.Reduce(small, out, root=0)
world.Barrier()

with open(f"planted-{rank}.json", "w") as file:
    json.dump(steps, file)
