# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the first screen stays one screen with as much to say as there can be: four functions out of balance,
long names and paths, deep calls, and four MPI functions at four lines. On two or more ranks.
"""

import time

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD


def a_function_with_a_name_that_is_much_longer_than_its_column(n):
    time.sleep(0.02)
    if n:
        a_function_with_a_name_that_is_much_longer_than_its_column(n - 1)


def only_on_rank_1():
    for late in (late_1, late_2, late_3, late_4):
        if comm.rank == 1:
            late()


def late_1():
    time.sleep(0.15)


def late_2():
    time.sleep(0.13)


def late_3():
    time.sleep(0.11)


def late_4():
    time.sleep(0.09)


def exchange():
    comm.Barrier()
    comm.Bcast(np.zeros(1_000_000))
    comm.Allreduce(np.zeros(1_000_000), np.empty(1_000_000))
    comm.Allgather(np.zeros(10), np.empty(10 * comm.size))


def many():
    for name in "abcdefghijkl":
        exec(f"def {name}(): time.sleep(0.02)\n{name}()")


a_function_with_a_name_that_is_much_longer_than_its_column(5)
only_on_rank_1()
exchange()
many()
