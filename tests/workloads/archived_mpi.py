# SPDX-License-Identifier: BSD-3-Clause
"""One of each kind of message and collective call, whose order and sizes are arithmetic: see test_otf2.py, which has them once more.

Ranks of `part` are in the order opposite to the world's.
"""

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
to, source = (rank + 1) % size, (rank - 1) % size
data, room = bytearray(80), bytearray(80)

# Messages around a ring, without blocking.
requests = [world.Irecv([room, MPI.BYTE], source, 5), world.Isend([data, MPI.BYTE], to, 5)]
MPI.Request.Waitall(requests)
world.Sendrecv([data, 24, MPI.BYTE], to, 7, [room, MPI.BYTE], source, 7)
request = world.Irecv([room, MPI.BYTE], source, 99)
request.Cancel()
request.Wait()

# Collective calls of a part of the world, one half if there are four.
part = world.Split(rank % (size // 2), -rank)
part.Set_name("part")
part.Allreduce([data, 64, MPI.BYTE], [room, 64, MPI.BYTE], MPI.BOR)
part.Bcast([data, 32, MPI.BYTE], 1)
if part.rank == 0:
    part.Send([data, 40, MPI.BYTE], 1, 3)
else:
    part.Recv([room, MPI.BYTE], 0, 3)
part.Ibcast([data, 16, MPI.BYTE], 0).Wait()
part.Ibarrier().Wait()
part.Gather([data, 4, MPI.BYTE], [room, 4, MPI.BYTE] if part.rank == 0 else None, 0)
copy = part.Dup()
copy.Barrier()
copy.Free()
MPI.COMM_SELF.Barrier()

# Two groups: the lowest rank of each is its leader.
if size == 4:
    both = part.Create_intercomm(1, world, 1 - rank % 2, 11)
    both.Bcast([data, 8, MPI.BYTE], (1 if rank % 2 else MPI.ROOT if part.rank == 1 else MPI.PROC_NULL))
    both.Free()
world.Barrier()
