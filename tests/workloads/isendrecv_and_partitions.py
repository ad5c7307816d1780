# SPDX-License-Identifier: BSD-3-Clause
"""Proves that both halves of MPI_Isendrecv, and partitioned messages, are known to those who wait for them. Two ranks send each other 8
bytes with tags 3 and 4, and rank 0 sends rank 1 four parts of 8 bytes, twice; what the library or mpi4py has not got is left out. Prints, on
rank 0, which of them there are.
"""

import json

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, other = world.rank, 1 - world.rank
out, into = bytearray(b"8 bytes."), bytearray(8)
there = []


def both_ways():
    world.Isendrecv(out, other, 3 + rank, into, other, 3 + other).Wait()
    assert into == b"8 bytes."


def in_parts():
    buf = bytearray(b"partsof8" * 4 if rank == 0 else 32)
    request = world.Psend_init(buf, 4, other, 5) if rank == 0 else world.Precv_init(buf, 4, other, 5)
    for _ in range(2):
        request.Start()
        if rank == 0:
            request.Pready_range(0, 3)
        else:
            while not request.Parrived(0):
                pass
        request.Wait()
    request.Free()
    assert buf == b"partsof8" * 4


for function in (both_ways, in_parts):
    try:
        function()
        there.append(function.__name__)
    except (NotImplementedError, AttributeError):  # of the library, or of mpi4py
        pass
if rank == 0:
    print(json.dumps(there))
