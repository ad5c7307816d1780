# SPDX-License-Identifier: BSD-3-Clause
"""What a receive takes after as much work in 1 and in 64 functions. On two ranks; the message is there already.

Rank 0 prints {"1", "64"}: ns of a receive, the median of a block of them, and the best block.
"""

import json
import statistics
import time

import numpy as np
from mpi4py import MPI

N_BLOCKS, N_RECEIVES = 40, 50
FUNCTIONS = 64
N_STEPS = 6_400  # of all together: some 0.2 ms
comm = MPI.COMM_WORLD
message = np.zeros(1)


def made(number):
    """A function that calls none; they share no code."""
    names = {}
    exec(f"def work_{number}(n):\n    while n:\n        n -= 1\n", names)
    return names[f"work_{number}"]


WORK = [made(i) for i in range(FUNCTIONS)]


def receive_after(n_functions):
    """Work, and then how long a receive takes."""
    for work in WORK[:n_functions]:
        work(N_STEPS // n_functions)
    start = time.perf_counter_ns()
    comm.Recv(message, 1)
    return time.perf_counter_ns() - start


def block(n_functions):
    comm.Barrier()
    return statistics.median(receive_after(n_functions) for _ in range(N_RECEIVES))


def send_block():
    comm.Barrier()
    for _ in range(N_RECEIVES):
        comm.Send(message, 0)


if comm.rank == 0:
    found = {"1": [], str(FUNCTIONS): []}
    for _ in range(N_BLOCKS):
        for n_functions, blocks in found.items():
            blocks.append(block(int(n_functions)))
    print(json.dumps({n: min(blocks) for n, blocks in found.items()}))
else:
    for _ in range(2 * N_BLOCKS):
        send_block()
