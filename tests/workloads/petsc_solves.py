# SPDX-License-Identifier: BSD-3-Clause
"""Proves that MPI calls made by a library in C, PETSc, are seen at the Python line that caused them: a tridiagonal system
on all ranks, solved by conjugate gradients; `solve` is called 3 times.
"""

import glob
import sys

# Debian has it where it does not disturb other versions of it.
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")

import petsc4py

petsc4py.init([])
from petsc4py import PETSc  # noqa: E402

N = 100
matrix = PETSc.Mat().createAIJ([N, N], nnz=3)
for row in range(*matrix.getOwnershipRange()):
    for column, value in ((row - 1, -1.0), (row, 2.1), (row + 1, -1.0)):
        if 0 <= column < N:
            matrix[row, column] = value
matrix.assemble()
x, b = matrix.createVecs()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")


def solve():
    solver.solve(b, x)


for _ in range(3):
    solve()
if PETSc.COMM_WORLD.rank == 0:
    print(f"{solver.getIterationNumber()} iterations", flush=True)
print(f"{x.norm():.6f}", flush=True)
