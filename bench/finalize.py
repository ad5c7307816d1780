# SPDX-License-Identifier: BSD-3-Clause
"""How long MPI_Finalize takes on ranks that have called 2,000 functions each, and how long MPI needs to gather as many bytes.

    finalize.py N_BYTES       of each rank, gathered before MPI_Finalize; 0: nothing

Rank 0 writes finalize.json: {"gather", "finalize"}, in seconds, from when all ranks are there until rank 0 is done.
"""

import json
import sys
import time

from mpi4py import MPI

N_FUNCTIONS = 2000
world = MPI.COMM_WORLD
rank = world.rank


def call_functions():
    names = {}
    for i in range(N_FUNCTIONS):
        exec(f"def function_{i}(n):\n    return n + {i}", names)
    calls = "\n".join(f"    function_{i}(n)" for i in range(N_FUNCTIONS))
    exec(f"def all_of_them(n):\n{calls}", names)
    for n in range(3):
        names["all_of_them"](n)


def seconds_of_gather(n_bytes):
    own = bytearray(n_bytes)
    everything = bytearray(n_bytes * world.size) if rank == 0 else None
    best = float("inf")
    for _ in range(3):
        world.Barrier()
        start = time.perf_counter()
        world.Gather([own, MPI.BYTE], [everything, MPI.BYTE] if rank == 0 else None)
        world.Barrier()
        best = min(best, time.perf_counter() - start)
    return best


call_functions()
gather_s = seconds_of_gather(int(sys.argv[1]))
world.Barrier()
begin = time.perf_counter()
MPI.Finalize()
if rank == 0:
    with open("finalize.json", "w") as file:
        json.dump({"gather": gather_s, "finalize": time.perf_counter() - begin}, file)
