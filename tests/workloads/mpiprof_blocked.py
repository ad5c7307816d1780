# SPDX-License-Identifier: BSD-3-Clause
"""Every rank waits in MPI for a message that nobody sends."""

from mpi4py import MPI

comm = MPI.COMM_WORLD


def wait_in_vain():
    comm.Recv(bytearray(8), source=(comm.rank + 1) % comm.size)


comm.Barrier()
open(f"waiting.{comm.rank}", "w").close()
wait_in_vain()
