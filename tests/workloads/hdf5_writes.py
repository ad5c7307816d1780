# SPDX-License-Identifier: BSD-3-Clause
"""Proves that MPI calls made by HDF5 are seen at the Python line that caused them: one file written by all ranks."""

import h5py
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD


def write(file):
    data = file.create_dataset("x", (comm.Get_size(), 8), dtype="i8")
    data[comm.Get_rank()] = numpy.arange(8) + comm.Get_rank()


assert h5py.get_config().mpi
with h5py.File("together.h5", "w", driver="mpio", comm=comm) as file:
    write(file)
if comm.Get_rank() == 0:
    with h5py.File("together.h5", "r") as file:
        print(file["x"][...].sum(), flush=True)
