# SPDX-License-Identifier: BSD-3-Clause
"""What mpiprof's README shows, in one program: a collective, a message, and the statistics at the end."""

import sys

from mpi4py import MPI
from mpiprof import MPIProfiler

comm = MPIProfiler(MPI.COMM_WORLD)
rank = comm.Get_rank()
size = comm.Get_size()


def square(x):
    return x * x


for i in range(10):
    square(i)
total = comm.allreduce(rank, op=MPI.SUM)
if rank == 0:
    comm.send(b"hello", dest=1, tag=0)
elif rank == 1:
    msg = comm.recv(source=0, tag=0)
    assert msg == b"hello"
comm.write_statistics()
sys.stdout.write(f"{rank} of {size}: {total} {sys.argv[1:]} {__name__}\n")
