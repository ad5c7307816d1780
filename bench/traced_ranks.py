# SPDX-License-Identifier: BSD-3-Clause
"""Calls functions on every rank, and then MPI_Finalize, in which their traces are merged.

    traced_ranks.py N_CALLS       of each rank: of an empty function, in a recursion and of methods

Rank 0 writes traced_ranks.json: ns per call; what was resident before MPI_Finalize, and at most until it was done, all and without what lies in
files; how long that took.
"""

import json
import sys
import time

from mpi4py import MPI
from traced import WAYS


def resident(*names):
    """In bytes, by the names that /proc/self/status has."""
    with open("/proc/self/status") as file:
        found = dict(line.split(":") for line in file)
    return sum(int(found[name].split()[0]) for name in names) << 10


def main():
    n_calls = int(sys.argv[1])
    rank = MPI.COMM_WORLD.rank
    begin = time.process_time()
    for way in WAYS.values():
        way(n_calls // len(WAYS))
    ns = (time.process_time() - begin) * 1e9 / n_calls
    MPI.COMM_WORLD.Barrier()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is counted from here
    before, own = resident("VmRSS"), resident("RssAnon")
    start = time.perf_counter()
    MPI.Finalize()
    figures = {
        "ns": ns,
        "finalize_s": time.perf_counter() - start,
        "before": before,
        "peak": resident("VmHWM"),
        "own_before": own,
        "own_after": resident("RssAnon"),
    }
    if rank == 0:
        with open("traced_ranks.json", "w") as file:
            json.dump(figures, file)


main()
