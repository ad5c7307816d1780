# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a program which uses MPI through a session, and never calls MPI_Init, is recorded: 3 calls of `meet`, each
with one barrier on a communicator made of the session's processes.
"""

import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402

session = MPI.Session.Init()
group = session.Create_group("mpi://WORLD")
comm = MPI.Intracomm.Create_from_group(group, "allranks.test")
group.Free()


def meet():
    comm.Barrier()


for _ in range(3):
    meet()
print(f"rank {comm.Get_rank()} of {comm.Get_size()}, initialized: {MPI.Is_initialized()}", flush=True)
comm.Free()
session.Finalize()
