# SPDX-License-Identifier: BSD-3-Clause
"""Proves that waiting is measured where and by whom it was done: the last rank comes half a second late to a
barrier. Every rank measures its own barrier; what rank R measured, in seconds, goes into waited-R.json.
"""

import json
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD


def arrive_late():
    time.sleep(0.5)


def meet():
    start = time.perf_counter()
    comm.Barrier()
    return time.perf_counter() - start


def meet_punctually():
    """So that starting up is over on all ranks."""
    comm.Barrier()


meet_punctually()
if comm.rank == comm.size - 1:
    arrive_late()
with open(f"waited-{comm.rank}.json", "w") as file:
    json.dump(meet(), file)
