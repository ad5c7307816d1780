"""Each kind of message that a trace can have: blocking, posted and completed together, collective ones, on two communicators."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def ring(n):
    incoming, outgoing = bytearray(8 * n), bytes([rank]) * (8 * n)
    requests = [comm.Irecv(incoming, (rank - 1) % size, tag=7), comm.Isend(outgoing, (rank + 1) % size, tag=7)]
    MPI.Request.Waitall(requests)
    return incoming


def halves():
    half = comm.Split(rank % 2, rank)
    half.Set_name("half")
    half.Barrier()
    total = half.bcast(rank, root=0)
    half.Free()
    return total


def pickled():
    if rank == 0:
        comm.send({"a": 1}, 1, tag=3)
    if rank == 1:
        comm.recv(source=MPI.ANY_SOURCE, tag=3)


for i in range(4):
    ring(10 + i)
halves()
pickled()
comm.Ibarrier().Wait()
comm.bcast(rank, root=size - 1)
