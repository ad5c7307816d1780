# SPDX-License-Identifier: BSD-3-Clause
"""Proves that nothing is asked about a communicator that is freed: a window and a request outlive theirs, and a message that is
none is received after the communicator on which it was found is gone. Prints what was moved.
"""

from mpi4py import MPI

world = MPI.COMM_WORLD
peer = (world.rank + 1) % world.size
out, into = bytearray(b"12345678"), bytearray(8)

comm = world.Dup()
message = comm.Mprobe(MPI.PROC_NULL)
comm.Free()
message.Recv(into)

comm = world.Dup()
memory = bytearray(64)
window = MPI.Win.Create(memory, comm=comm)
comm.Free()
window.Fence()
window.Put(out, peer)
window.Fence()
window.Free()

comm = world.Dup()
requests = [comm.Irecv(into, (world.rank - 1) % world.size), comm.Isend(out, peer)]
comm.Free()
other = world.Split(0, -world.rank)
MPI.Request.Waitall(requests)
other.Barrier()
other.Free()
print(bytes(memory[:8]) == bytes(into) == b"12345678")
