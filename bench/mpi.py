# SPDX-License-Identifier: BSD-3-Clause
"""Calls MPI from C, twelve Python functions deep. Prints {"clock", "allreduce", …, "cold allreduce", …}: ns.

    mpi.py LIBRARY     made of mpi_calls.c
"""

import ctypes
import json
import sys

NAMES = ("clock", "allreduce", "sendrecv", "three", "cold allreduce", "cold sendrecv", "cold three")
N_CALLS, N_TRIES = 5000, 40


def deep(n, library, figures):
    if n:
        return deep(n - 1, library, figures)
    return library.bench_mpi(figures, N_CALLS, N_TRIES)


found = (ctypes.c_double * len(NAMES))()
if deep(12, ctypes.CDLL(sys.argv[1]), found):
    sys.exit("mpi.py: MPI failed")
print(json.dumps(dict(zip(NAMES, found))))
