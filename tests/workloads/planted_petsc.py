# SPDX-License-Identifier: BSD-3-Clause
"""Proves that waiting in a library that calls MPI itself is found at the Python line that called it: PETSc's sum of a vector, to
which rank 1 of two comes late. What really happened goes into truth-R.json: see planted_notes.py.
"""

import glob
import sys
import time

# Debian has it where it does not disturb other versions of it.
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")

import petsc4py
from planted_notes import enter, set_out, write

petsc4py.init([])
from petsc4py import PETSc  # noqa: E402

rank = PETSc.COMM_WORLD.rank
vector = PETSc.Vec().createMPI(100)
vector.set(1.0)


def assembles_slowly():
    time.sleep(0.2)


def main():
    vector.sum()
    PETSc.COMM_WORLD.barrier()
    set_out()
    if rank == 1:
        assembles_slowly()
    enter("sum")
    vector.sum()  # WAIT: sum
    write()


main()
