# SPDX-License-Identifier: BSD-3-Clause
"""Proves that every MPI call is seen at its line, on its rank, with its bytes. On two or more ranks.

Each rank notes what it is about to do: the MPI function, the Python function and the line that call it, how often,
and the bytes that go out and come in. Lines are found by the marks in this file. The notes of rank R go into the
file noted-R.json.
"""

import json

import numpy as np
from mpi4py import MPI

with open(__file__) as file:
    LINES = {
        text.rpartition("# mark: ")[2].strip(): number
        for number, text in enumerate(file, start=1)
        if "# mark: " in text
    }

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
notes = []


def note(mpi, caller, mark, calls, n_out=0, n_in=0):
    """`n_out` and `n_in` are bytes of all calls together."""
    notes.append(
        {"mpi": mpi, "caller": caller, "line": LINES[mark], "calls": calls, "out": n_out, "in": n_in}
    )


def send_and_receive():
    """From even to odd ranks; of an odd number of ranks the last one looks on."""
    data = np.arange(100, dtype="f8")
    if rank % 2 == 0 and rank + 1 < size:
        note("MPI_Send", "send_and_receive", "Send", 3, n_out=3 * 800)
        for _ in range(3):
            comm.Send(data, dest=rank + 1)  # mark: Send
    elif rank % 2 == 1:
        note("MPI_Recv", "send_and_receive", "Recv", 3, n_in=3 * 800)
        for _ in range(3):
            comm.Recv(data, source=rank - 1)  # mark: Recv


def receive_less_than_fits():
    """What counts is what came, not what there was room for."""
    if rank == 0:
        note("MPI_Ssend", "receive_less_than_fits", "Ssend", 1, n_out=5 * 4)
        comm.Ssend(np.arange(5, dtype="i4"), dest=1)  # mark: Ssend
    elif rank == 1:
        note("MPI_Recv", "receive_less_than_fits", "Recv short", 1, n_in=5 * 4)
        comm.Recv(np.empty(1000, dtype="i4"), source=0)  # mark: Recv short


def around_the_ring():
    note("MPI_Sendrecv", "around_the_ring", "Sendrecv", 7, n_out=7 * 64, n_in=7 * 64)
    for _ in range(7):
        comm.Sendrecv(np.zeros(8), dest=right, recvbuf=np.empty(8), source=left)  # mark: Sendrecv


def to_nobody():
    note("MPI_Sendrecv", "to_nobody", "PROC_NULL", 2)
    for _ in range(2):
        comm.Sendrecv(np.zeros(8), dest=MPI.PROC_NULL, recvbuf=np.empty(8), source=MPI.PROC_NULL)  # mark: PROC_NULL


def nonblocking():
    out, into = np.zeros(50, dtype="i8"), np.empty(50, dtype="i8")
    note("MPI_Irecv", "nonblocking", "Irecv", 4, n_in=4 * 400)
    note("MPI_Isend", "nonblocking", "Isend", 4, n_out=4 * 400)
    note("MPI_Wait", "nonblocking", "Wait in", 4)
    note("MPI_Wait", "nonblocking", "Wait out", 4)
    for _ in range(4):
        incoming = comm.Irecv(into, source=left)  # mark: Irecv
        outgoing = comm.Isend(out, dest=right)  # mark: Isend
        incoming.Wait()  # mark: Wait in
        outgoing.Wait()  # mark: Wait out


def many_at_once():
    note("MPI_Irecv", "many_at_once", "Irecv many", 10, n_in=10 * 40)
    note("MPI_Isend", "many_at_once", "Isend many", 10, n_out=10 * 40)
    note("MPI_Waitall", "many_at_once", "Waitall", 1)
    requests = []
    for tag in range(10):
        requests.append(comm.Irecv(np.empty(10, dtype="f4"), source=left, tag=tag))  # mark: Irecv many
        requests.append(comm.Isend(np.zeros(10, dtype="f4"), dest=right, tag=tag))  # mark: Isend many
    MPI.Request.Waitall(requests)  # mark: Waitall


def objects():
    """Pickled: mpi4py asks for the size of what comes, then takes it."""
    message = {"numbers": list(range(100)), "text": "x" * 1000}
    n_bytes = len(MPI.pickle.dumps(message))
    if rank == 0:
        note("MPI_Send", "objects", "send", 5, n_out=5 * n_bytes)
        for _ in range(5):
            comm.send(message, dest=1)  # mark: send
    elif rank == 1:
        note("MPI_Mprobe", "objects", "recv", 5)
        note("MPI_Mrecv", "objects", "recv", 5, n_in=5 * n_bytes)
        for _ in range(5):
            assert comm.recv(source=0) == message  # mark: recv


def nonblocking_object():
    message = "y" * 333
    n_bytes = len(MPI.pickle.dumps(message))
    if rank == 0:
        note("MPI_Isend", "nonblocking_object", "isend", 1, n_out=n_bytes)
        note("MPI_Wait", "nonblocking_object", "wait", 1)
        request = comm.isend(message, dest=1)  # mark: isend
        request.wait()  # mark: wait
    elif rank == 1:
        note("MPI_Mprobe", "nonblocking_object", "recv one", 1)
        note("MPI_Mrecv", "nonblocking_object", "recv one", 1, n_in=n_bytes)
        assert comm.recv(source=0) == message  # mark: recv one


def probing():
    if rank == 0:
        note("MPI_Send", "probing", "Send probed", 1, n_out=24)
        comm.Send(np.zeros(3), dest=1, tag=9)  # mark: Send probed
    elif rank == 1:
        note("MPI_Probe", "probing", "Probe", 1)
        note("MPI_Recv", "probing", "Recv probed", 1, n_in=24)
        status = MPI.Status()
        comm.Probe(source=0, tag=9, status=status)  # mark: Probe
        comm.Recv(np.empty(status.Get_count(MPI.DOUBLE)), source=0, tag=9)  # mark: Recv probed


def collectives():
    """Bytes as the program hands them over and gets them: the way they take through the network is MPI's affair."""
    root = size - 1
    ten = np.zeros(10)
    all_of_them = np.empty((size, 10))
    is_root = rank == root
    note("MPI_Barrier", "collectives", "Barrier", 3)
    for _ in range(3):
        comm.Barrier()  # mark: Barrier
    note("MPI_Bcast", "collectives", "Bcast", 2, n_out=160 * is_root, n_in=160 * (not is_root))
    for _ in range(2):
        comm.Bcast(ten, root=root)  # mark: Bcast
    note("MPI_Reduce", "collectives", "Reduce", 1, n_out=80, n_in=80 * is_root)
    comm.Reduce(ten.copy(), ten if is_root else None, root=root)  # mark: Reduce
    note("MPI_Allreduce", "collectives", "Allreduce", 6, n_out=6 * 80, n_in=6 * 80)
    for _ in range(6):
        comm.Allreduce(ten.copy(), ten)  # mark: Allreduce
    note("MPI_Allreduce", "collectives", "Allreduce in place", 1, n_out=80, n_in=80)
    comm.Allreduce(MPI.IN_PLACE, ten)  # mark: Allreduce in place
    note("MPI_Gather", "collectives", "Gather", 1, n_out=80, n_in=80 * size * is_root)
    comm.Gather(ten, all_of_them if is_root else None, root=root)  # mark: Gather
    note("MPI_Scatter", "collectives", "Scatter", 1, n_out=80 * size * is_root, n_in=80)
    comm.Scatter(all_of_them if is_root else None, ten, root=root)  # mark: Scatter
    note("MPI_Allgather", "collectives", "Allgather", 2, n_out=2 * 80, n_in=2 * 80 * size)
    for _ in range(2):
        comm.Allgather(ten, all_of_them)  # mark: Allgather
    note("MPI_Alltoall", "collectives", "Alltoall", 1, n_out=80 * size, n_in=80 * size)
    comm.Alltoall(all_of_them.copy(), all_of_them)  # mark: Alltoall


def derived_type():
    """Every second number of twenty: the bytes are those of the numbers that travel."""
    every_second = MPI.DOUBLE.Create_vector(10, 1, 2)
    every_second.Commit()
    twenty = np.zeros(20)
    note("MPI_Sendrecv", "derived_type", "vector", 1, n_out=80, n_in=80)
    comm.Sendrecv([twenty, 1, every_second], right, 0, [twenty.copy(), 1, every_second], left, 0)  # mark: vector
    every_second.Free()


def on_other_communicators():
    note("MPI_Barrier", "on_other_communicators", "Barrier dup", 1)
    note("MPI_Allreduce", "on_other_communicators", "Allreduce split", 1, n_out=8, n_in=8)
    note("MPI_Comm_dup", "on_other_communicators", "Dup", 1)
    note("MPI_Comm_split", "on_other_communicators", "Split", 1)
    note("MPI_Comm_free", "on_other_communicators", "Free half", 1)
    note("MPI_Comm_free", "on_other_communicators", "Free other", 1)
    other = comm.Dup()  # mark: Dup
    other.Barrier()  # mark: Barrier dup
    half = other.Split(rank % 2)  # mark: Split
    half.Allreduce(np.ones(1), np.empty(1))  # mark: Allreduce split
    half.Free()  # mark: Free half
    other.Free()  # mark: Free other


def from_two_callers():
    """The same line, reached in two ways, is two call paths with one call each."""
    note("MPI_Barrier", "shared_helper", "shared", 2)
    first_caller()
    second_caller()


def first_caller():
    shared_helper()


def second_caller():
    shared_helper()


def shared_helper():
    comm.Barrier()  # mark: shared


def main():
    send_and_receive()
    receive_less_than_fits()
    around_the_ring()
    to_nobody()
    nonblocking()
    many_at_once()
    objects()
    nonblocking_object()
    probing()
    collectives()
    derived_type()
    on_other_communicators()
    from_two_callers()


main()
with open(f"noted-{rank}.json", "w") as file:
    json.dump(notes, file)
