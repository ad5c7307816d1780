# SPDX-License-Identifier: BSD-3-Clause
"""Every rank waits in MPI for a message that nobody sends."""

import os

from mpi4py import MPI

comm = MPI.COMM_WORLD


def wait_in_vain():
    comm.Recv(bytearray(8), source=(comm.rank + 1) % comm.size)


comm.Barrier()
with open(f"writing.{comm.rank}", "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, f"waiting.{comm.rank}")
wait_in_vain()
