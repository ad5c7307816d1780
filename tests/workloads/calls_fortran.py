# SPDX-License-Identifier: BSD-3-Clause
"""Calls MPI through a library that is written in Fortran: fortran_calls.f90. Its path is the only argument."""

import ctypes
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
library = ctypes.CDLL(sys.argv[1])


def talk():
    library.fortran_talk(comm.py2f(), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)


for _ in range(3):
    talk()
print("done")
