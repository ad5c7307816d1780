# SPDX-License-Identifier: BSD-3-Clause
"""Proves that MPI_PROC_NULL is no peer: ranks in a chain exchange with both neighbours, and the two at the ends have only one.

Each function does it in one way, so that there are as many messages as there are pairs of neighbours, twice. `with_itself` posts
requests that no other rank is concerned with. Any number of ranks.
"""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
right = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
out, into = np.zeros(100), [np.empty(100), np.empty(100)]


def blocking():
    """Even ranks send first, so that no send depends on room that MPI has."""
    for is_turn in (comm.rank % 2 == 0, comm.rank % 2 == 1):
        for peer in (left, right):
            if is_turn:
                comm.Ssend(out, dest=peer)
            else:
                comm.Recv(into[0], source=peer)


def nonblocking():
    requests = []
    for i, peer in enumerate((left, right)):
        requests += [comm.Irecv(into[i], source=peer), comm.Isend(out, dest=peer)]
    MPI.Request.Waitall(requests)


def persistent():
    requests = []
    for i, peer in enumerate((left, right)):
        requests += [comm.Recv_init(into[i], source=peer), comm.Send_init(out, dest=peer)]
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    for request in requests:
        request.Free()


def both_ways():
    comm.Sendrecv(out, dest=right, recvbuf=into[0], source=left)
    comm.Sendrecv(out, dest=left, recvbuf=into[0], source=right)


def objects():
    for is_turn in (comm.rank % 2 == 0, comm.rank % 2 == 1):
        for peer in (left, right):
            if is_turn:
                comm.ssend("object", dest=peer)
            else:
                assert comm.recv(source=peer) == (None if peer == MPI.PROC_NULL else "object")


def objects_later():
    for peer in (left, right):
        request = comm.isend("object", dest=peer)
        comm.irecv(source=peer).wait()
        request.wait()


def objects_both_ways():
    comm.sendrecv("object", dest=right, source=left)
    comm.sendrecv("object", dest=left, source=right)


def with_itself():
    requests = [MPI.COMM_SELF.Irecv(into[0], source=0), MPI.COMM_SELF.Isend(out, dest=0)]
    MPI.Request.Waitall(requests)
    MPI.COMM_SELF.Ibarrier().Wait()


for exchange in (blocking, nonblocking, persistent, both_ways, objects, objects_later, objects_both_ways, with_itself):
    exchange()
