# SPDX-License-Identifier: BSD-3-Clause
"""A wait that the profile and the trace blame on different functions: rank 1 does `extra` first, then both do `common`, and rank 0 waits for rank 1 while that is in `common`.
blame-RANK.json has when this rank came to the barrier at the end, and when each function began and ended, by the clock that all ranks of a host share.
"""

import json
import time

from mpi4py import MPI

EXTRA_S, COMMON_S = 0.3, 0.6
world = MPI.COMM_WORLD
noted: dict[str, tuple[float, float]] = {}


def extra():
    end = time.perf_counter() + EXTRA_S
    while time.perf_counter() < end:
        for _ in range(20_000):
            pass


def common():
    end = time.perf_counter() + COMMON_S
    while time.perf_counter() < end:
        for _ in range(20_000):
            pass


def note(function):
    begin = time.perf_counter()
    function()
    noted[function.__name__] = (begin, time.perf_counter())


world.Barrier()
if world.rank == 1:
    note(extra)
note(common)
came = time.perf_counter()
world.Barrier()
noted["barrier"] = (came, time.perf_counter())

with open(f"blame-{world.rank}.json", "w") as file:
    json.dump(noted, file)
