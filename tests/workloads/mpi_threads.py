# SPDX-License-Identifier: BSD-3-Clause
"""Proves that MPI calls of several threads at once are each in their own thread's tree: three threads, 20 reductions
of 32 bytes each, every thread on a communicator of its own.
"""

import threading

import numpy as np
from mpi4py import MPI


def talk(comm):
    for _ in range(20):
        comm.Allreduce(np.ones(4), np.empty(4))


assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
threads = [threading.Thread(target=talk, args=(MPI.COMM_WORLD.Dup(),)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
