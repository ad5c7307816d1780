# SPDX-License-Identifier: BSD-3-Clause
"""A profiled communicator where libraries in C want one: petsc4py and h5py."""

import glob
import sys

sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")

import h5py
import petsc4py
from mpi4py import MPI
from mpiprof import MPIProfiler

comm = MPIProfiler(MPI.COMM_WORLD)
petsc4py.init([], comm=comm)
from petsc4py import PETSc  # noqa: E402

vector = PETSc.Vec().createMPI(8, comm=comm)
vector.set(1)
assert vector.sum() == 8 and vector.comm.size == comm.size
if h5py.get_config().mpi:
    with h5py.File("profiled.h5", "w", driver="mpio", comm=comm) as file:
        file.create_dataset("a", (4,))
print("ok", flush=True)
