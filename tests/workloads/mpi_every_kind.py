# SPDX-License-Identifier: BSD-3-Clause
"""Proves the bytes of every kind of MPI call: ways of sending, collectives of all shapes, neighbours, one-sided, files.

Each rank notes what it did: the MPI function, the Python function that called it, how often, and the bytes that went
out and came in. What this MPI or this mpi4py does not have is not done, and not noted. The notes of rank R go into
kinds-R.json. Any number of ranks.
"""

import contextlib
import json
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
notes = []


def note(mpi, calls=1, n_out=0, n_in=0):
    """Bytes are of all calls together; of requests, what they moved counts where they were posted or started."""
    caller = sys._getframe(1).f_code.co_name
    notes.append({"mpi": "MPI_" + mpi, "caller": caller, "calls": calls, "out": n_out, "in": n_in})


def doubles(n, value=0.0):
    return np.full(n, value, dtype="f8")


# ---- point to point ----


def ways_of_sending():
    buffer = MPI.Alloc_mem(100_000)
    MPI.Attach_buffer(buffer)
    for name in ("Send", "Bsend", "Ssend", "Rsend"):
        incoming = comm.Irecv(doubles(7), source=left)
        comm.Barrier()  # for the one that needs its receive to be there
        getattr(comm, name)(doubles(7), dest=right)
        incoming.Wait()
        note(name, 1, n_out=56)
    for name in ("Isend", "Ibsend", "Issend", "Irsend"):
        incoming = comm.Irecv(doubles(9), source=left)
        comm.Barrier()
        outgoing = getattr(comm, name)(doubles(9), dest=right)
        MPI.Request.Waitall([incoming, outgoing])
        note(name, 1, n_out=72)
    note("Irecv", 8, n_in=4 * 56 + 4 * 72)
    note("Barrier", 8)
    note("Wait", 4)
    note("Waitall", 4)
    note("Buffer_attach")
    note("Buffer_detach")
    MPI.Detach_buffer()
    note("Alloc_mem")
    note("Free_mem")
    MPI.Free_mem(buffer)


def there_and_back():
    comm.Sendrecv_replace(doubles(5), right, 0, left, 0)
    note("Sendrecv_replace", 1, 40, 40)
    comm.Sendrecv_replace(doubles(5), MPI.PROC_NULL, 0, MPI.PROC_NULL, 0)
    note("Sendrecv_replace", 1)
    with contextlib.suppress(NotImplementedError, AttributeError):
        comm.Isendrecv(doubles(6), right, 0, doubles(6), left, 0).Wait()
        note("Isendrecv", 1, 48, 48)
        comm.Isendrecv_replace(doubles(3), right, 0, left, 0).Wait()
        note("Isendrecv_replace", 1, 24, 24)
        note("Wait", 2)


def from_anybody():
    """What came counts, not what there was room for, and not whom it was expected from."""
    outgoing = comm.Isend(doubles(4), dest=right, tag=1)
    comm.Recv(doubles(100), source=MPI.ANY_SOURCE, tag=1)
    outgoing.Wait()
    incoming = comm.Irecv(doubles(100), source=MPI.ANY_SOURCE, tag=2)
    outgoing = comm.Isend(doubles(2), dest=right, tag=2)
    MPI.Request.Waitall([outgoing, incoming])
    note("Isend", 2, n_out=32 + 16)
    note("Recv", 1, n_in=32)
    note("Irecv", 1, n_in=16)
    note("Wait")
    note("Waitall")


def matched():
    outgoing = [comm.Isend(doubles(3), dest=right, tag=1), comm.Isend(doubles(3), dest=right, tag=2)]
    message = comm.Mprobe(source=left, tag=1)
    message.Recv(doubles(50))
    message = None
    while message is None:
        message = comm.Improbe(source=left, tag=2)
    message.Irecv(doubles(50)).Wait()
    MPI.Request.Waitall(outgoing)
    note("Isend", 2, n_out=48)
    note("Mprobe")
    note("Mrecv", 1, n_in=24)
    note("Imrecv", 1, n_in=24)
    note("Wait")
    note("Waitall")


def all_ways_of_waiting():
    """Handles are forgotten one by one, in an order that MPI chooses; each is counted once."""
    for wait in ("Waitany", "Waitsome", "Testall", "Testany", "Testsome", "Test"):
        requests = []
        for i in range(40):
            requests.append(comm.Irecv(doubles(10 + i), source=left, tag=i))
            requests.append(comm.Isend(doubles(10 + i), dest=right, tag=i))
        finish(wait, requests)
    n_bytes = 6 * sum(8 * (10 + i) for i in range(40))
    note("Irecv", 6 * 40, n_in=n_bytes)
    note("Isend", 6 * 40, n_out=n_bytes)


def finish(wait, requests):
    n_calls = 0
    if wait == "Test":
        for request in requests:
            n_calls += 1
            while not request.Test():
                n_calls += 1
    else:
        method = getattr(MPI.Request, wait)
        n_left = len(requests)
        while n_left:
            n_calls += 1
            done = method(requests)
            if wait == "Testall":
                n_left = 0 if done else n_left
            elif wait in ("Waitsome", "Testsome"):
                n_left -= len(done or [])
            else:
                n_left -= done is True or (done[1] if isinstance(done, tuple) else 1)
    note(wait, n_calls)


def very_many_at_once():
    """More than there is room for on any stack."""
    requests = []
    for i in range(5000):
        requests.append(comm.Irecv(bytearray(1), source=left, tag=i % 100))
        requests.append(comm.Isend(b"x", dest=right, tag=i % 100))
    MPI.Request.Waitall(requests)
    note("Irecv", 5000, n_in=5000)
    note("Isend", 5000, n_out=5000)
    note("Waitall")


def never_received():
    request = comm.Irecv(doubles(10), source=left, tag=77)
    request.Cancel()
    request.Wait()
    comm.Irecv(doubles(10), source=MPI.PROC_NULL).Wait()
    note("Irecv", 2)
    note("Cancel")
    note("Wait", 2)


def prepared():
    n_starts = 3
    send = comm.Send_init(doubles(11), dest=right)
    receive = comm.Recv_init(doubles(50), source=left)
    for _ in range(n_starts):
        MPI.Prequest.Startall([receive, send])
        MPI.Request.Waitall([receive, send])
    send.Start()
    receive.Start()
    send.Wait()
    receive.Wait()
    send.Free()
    receive.Free()
    note("Send_init")
    note("Recv_init")
    note("Startall", n_starts, 88 * n_starts, 88 * n_starts)
    note("Waitall", n_starts)
    note("Start", 2, 88, 88)
    note("Wait", 2)
    note("Request_free", 2)


def in_parts():
    try:
        send = comm.Psend_init(doubles(12), 4, right)
    except (NotImplementedError, AttributeError):
        return
    receive = comm.Precv_init(doubles(12), 3, left, 0)
    for _ in range(2):
        MPI.Prequest.Startall([receive, send])
        for part in range(4):
            send.Pready(part)
        MPI.Request.Waitall([send, receive])
    send.Free()
    receive.Free()
    note("Psend_init")
    note("Precv_init")
    note("Startall", 2, 2 * 96, 2 * 96)
    note("Pready", 8)
    note("Waitall", 2)
    note("Request_free", 2)


# ---- collective ----


def unequal_shares():
    """Rank r has r + 1 numbers; the sum of all is n."""
    counts = [r + 1 for r in range(size)]
    n, own, root = sum(counts), rank + 1, size - 1
    mine, whole = doubles(own), doubles(n)
    is_root = rank == root
    comm.Gatherv(mine, [whole, counts] if is_root else None, root)
    note("Gatherv", 1, 8 * own, 8 * n * is_root)
    comm.Gatherv(MPI.IN_PLACE if is_root else mine, [whole, counts] if is_root else None, root)
    note("Gatherv", 1, 8 * own, 8 * n * is_root)
    comm.Scatterv([whole, counts] if is_root else None, mine, root)
    note("Scatterv", 1, 8 * n * is_root, 8 * own)
    comm.Scatterv([whole, counts] if is_root else None, MPI.IN_PLACE if is_root else mine, root)
    note("Scatterv", 1, 8 * n * is_root, 8 * own)
    comm.Allgatherv(mine, [whole, counts])
    comm.Allgatherv(MPI.IN_PLACE, [whole, counts])
    note("Allgatherv", 2, 2 * 8 * own, 2 * 8 * n)
    to_each = [whole[:1].repeat(size * own), [own] * size]
    comm.Alltoallv(to_each, [whole, counts])
    note("Alltoallv", 1, 8 * own * size, 8 * n)
    comm.Reduce_scatter(whole, mine, counts)
    note("Reduce_scatter", 1, 8 * n, 8 * own)
    comm.Reduce_scatter_block(doubles(2 * size), doubles(2))
    note("Reduce_scatter_block", 1, 16 * size, 16)


def a_type_for_each():
    types = [MPI.DOUBLE if r % 2 else MPI.INT for r in range(size)]
    sizes = [8 if r % 2 else 4 for r in range(size)]
    own = sizes[rank]
    displacements = [16 * r for r in range(size)]
    outgoing, incoming = bytearray(16 * size), bytearray(16 * size)
    comm.Alltoallw(
        [outgoing, [2] * size, displacements, [types[rank]] * size], [incoming, [2] * size, displacements, types]
    )
    note("Alltoallw", 1, 2 * own * size, 2 * sum(sizes))


def scans():
    comm.Scan(doubles(3), doubles(3))
    note("Scan", 1, 24, 24)
    comm.Exscan(doubles(3), doubles(3))
    note("Exscan", 1, 24, 24 * (rank > 0))


def in_place():
    whole = doubles(2 * size)
    comm.Allgather(MPI.IN_PLACE, whole)
    note("Allgather", 1, 16, 16 * size)
    comm.Alltoall(MPI.IN_PLACE, whole)
    note("Alltoall", 1, 16 * size, 16 * size)
    is_root = rank == 0
    comm.Gather(MPI.IN_PLACE if is_root else doubles(2), whole if is_root else None)
    note("Gather", 1, 16, 16 * size * is_root)
    comm.Scatter(whole if is_root else None, MPI.IN_PLACE if is_root else doubles(2))
    note("Scatter", 1, 16 * size * is_root, 16)
    comm.Reduce(MPI.IN_PLACE if is_root else doubles(2), doubles(2) if is_root else None)
    note("Reduce", 1, 16, 16 * is_root)


def in_the_background():
    is_root, whole, counts = rank == 0, doubles(size), [1] * size
    requests = [
        comm.Ibarrier(),
        comm.Ibcast(doubles(4)),
        comm.Ireduce(doubles(4), doubles(4) if is_root else None),
        comm.Iallreduce(doubles(4), doubles(4)),
        comm.Igather(doubles(1), doubles(size) if is_root else None),
        comm.Iscatter(doubles(size) if is_root else None, doubles(1)),
        comm.Iallgather(doubles(1), doubles(size)),
        comm.Ialltoall(whole, doubles(size)),
        comm.Ialltoallv([whole, counts], [doubles(size), counts]),
        comm.Ireduce_scatter_block(doubles(size), doubles(1)),
        comm.Iscan(doubles(1), doubles(1)),
        comm.Iexscan(doubles(1), doubles(1)),
    ]
    MPI.Request.Waitall(requests)
    note("Ibarrier")
    note("Ibcast", 1, 32 * is_root, 32 * (not is_root))
    note("Ireduce", 1, 32, 32 * is_root)
    note("Iallreduce", 1, 32, 32)
    note("Igather", 1, 8, 8 * size * is_root)
    note("Iscatter", 1, 8 * size * is_root, 8)
    note("Iallgather", 1, 8, 8 * size)
    note("Ialltoall", 1, 8 * size, 8 * size)
    note("Ialltoallv", 1, 8 * size, 8 * size)
    note("Ireduce_scatter_block", 1, 8 * size, 8)
    note("Iscan", 1, 8, 8)
    note("Iexscan", 1, 8, 8 * (rank > 0))
    note("Waitall")


def prepared_for_all():
    try:
        request = comm.Allreduce_init(doubles(4), doubles(4))
    except (NotImplementedError, AttributeError):
        return
    for _ in range(3):
        request.Start()
        request.Wait()
    request.Free()
    note("Allreduce_init")
    note("Start", 3, 3 * 32, 3 * 32)
    note("Wait", 3)
    note("Request_free")


def larger_than_an_int():
    """One element of 3 GiB, to nobody else: nothing is touched, but all of it is handed over."""
    one = bytearray(1)
    memory = getattr(MPI, "buffer", None) or MPI.memory
    whole = memory.fromaddress(MPI.Get_address(one), 3 << 30)
    large = MPI.BYTE.Create_contiguous(3 << 20).Create_contiguous(1 << 10).Commit()
    MPI.COMM_SELF.Bcast([whole, 1, large])
    note("Bcast", 1, 3 << 30)
    large.Free()


def between_groups():
    if size < 2:
        return
    is_low = rank < size // 2
    n_there = size - size // 2 if is_low else size // 2
    half = comm.Split(is_low)
    both = half.Create_intercomm(0, comm, size // 2 if is_low else 0)
    both.Allgather(doubles(2), doubles(2 * n_there))
    note("Allgather", 1, 16, 16 * n_there)
    both.Alltoall(doubles(n_there), doubles(n_there))
    note("Alltoall", 1, 8 * n_there, 8 * n_there)
    both.Allreduce(doubles(3), doubles(3))
    note("Allreduce", 1, 24, 24)
    is_root = is_low and half.rank == 0
    role = (MPI.ROOT if is_root else MPI.PROC_NULL) if is_low else 0
    both.Bcast(doubles(5), role)
    note("Bcast", 1, 40 * is_root, 40 * (not is_low))
    both.Gather(None if is_low else doubles(1), doubles(n_there) if is_root else None, role)
    note("Gather", 1, 8 * (not is_low), 8 * n_there * is_root)
    both.Scatter(doubles(n_there) if is_root else None, None if is_low else doubles(1), role)
    note("Scatter", 1, 8 * n_there * is_root, 8 * (not is_low))
    note("Intercomm_create")
    note("Comm_split")
    note("Comm_free", 2)
    for each in (both, half):
        each.Free()


# ---- neighbours ----


def in_a_row():
    """A grid that ends at both ends: at an end there is one neighbour, and for a single rank there is none."""
    row = comm.Create_cart([size], periods=[False])
    n = (rank > 0) + (rank < size - 1)
    counts = [1, 2]
    of_row = (rank > 0) + 2 * (rank < size - 1)
    row.Neighbor_allgather(doubles(3), doubles(6))
    note("Neighbor_allgather", 1, 24, 24 * n)
    row.Neighbor_alltoall(doubles(6), doubles(6))
    note("Neighbor_alltoall", 1, 24 * n, 24 * n)
    row.Neighbor_alltoallv([doubles(3), [2, 1]], [doubles(3), counts])
    note("Neighbor_alltoallv", 1, 8 * (2 * (rank > 0) + (rank < size - 1)), 8 * of_row)
    row.Ineighbor_alltoall(doubles(2), doubles(2)).Wait()
    note("Ineighbor_alltoall", 1, 8 * n, 8 * n)
    note("Wait")
    note("Cart_create")
    note("Comm_free")
    row.Free()


def in_a_ring():
    """One neighbour before, one after; a graph of each kind."""
    ring = comm.Create_dist_graph_adjacent([left], [right])
    ring.Neighbor_alltoall(doubles(4), doubles(4))
    note("Neighbor_alltoall", 1, 32, 32)
    types = [MPI.INT]
    ring.Neighbor_alltoallw([bytearray(8), [2], [0], types], [bytearray(8), [2], [0], types])
    note("Neighbor_alltoallw", 1, 8, 8)
    ring.Neighbor_allgatherv(doubles(2), [doubles(2), [2]])
    note("Neighbor_allgatherv", 1, 16, 16)
    edges = [r for i in range(size) for r in ((i - 1) % size, (i + 1) % size)]
    graph = comm.Create_graph([2 * (i + 1) for i in range(size)], edges)
    graph.Neighbor_allgather(doubles(1), doubles(2))
    note("Neighbor_allgather", 1, 8, 16)
    note("Dist_graph_create_adjacent")
    note("Graph_create")
    note("Comm_free", 2)
    graph.Free()
    ring.Free()


# ---- one-sided ----


def one_sided():
    """Buffers have to stay until the window is flushed."""
    out, into, old, new = doubles(8), doubles(8), np.zeros(1, "i8"), np.zeros(1, "i8")
    window = MPI.Win.Allocate(800, 8, comm=comm)
    note("Win_allocate")
    window.Fence()
    window.Put(out[:5], right)
    window.Fence()
    window.Get(into[:6], left)
    window.Fence()
    window.Accumulate(out[:7], right)
    window.Fence()
    window.Put(out[:5], MPI.PROC_NULL)
    window.Fence(MPI.MODE_NOSUCCEED)
    note("Win_fence", 5)
    note("Put", 2, 40, 0)
    note("Get", 1, 0, 48)
    note("Accumulate", 1, 56, 0)
    window.Lock_all()
    window.Get_accumulate(out[:2], into[:2], right)
    window.Flush(right)
    window.Fetch_and_op(out[:1], into[:1], right)
    window.Fetch_and_op(out[:1], into[:1], right, op=MPI.NO_OP)
    if size == 1 or "Open MPI v4" not in MPI.Get_library_version():  # there it crashes by itself
        window.Compare_and_swap(old, old, new, right)
        note("Compare_and_swap", 1, 16, 8)
    window.Rput(out[:4], right).Wait()
    window.Rget(into[:4], right).Wait()
    window.Raccumulate(out[:4], right).Wait()
    window.Flush_all()
    window.Unlock_all()
    note("Get_accumulate", 1, 16, 16)
    note("Fetch_and_op", 2, 8, 16)
    note("Rput", 1, 32, 0)
    note("Rget", 1, 0, 32)
    note("Raccumulate", 1, 32, 0)
    note("Wait", 3)
    note("Win_flush")
    note("Win_flush_all")
    note("Win_lock_all")
    note("Win_unlock_all")
    note("Win_free")
    window.Free()


# ---- files ----


def files():
    """What is read counts, not what was asked for: the file ends."""
    file = MPI.File.Open(comm, "numbers", MPI.MODE_CREATE | MPI.MODE_RDWR)
    note("File_open")
    file.Write_at(80 * rank, doubles(10))
    file.Write_at_all(80 * (size + rank), doubles(10))
    note("File_write_at", 1, 80)
    note("File_write_at_all", 1, 80)
    file.Sync()
    comm.Barrier()
    file.Read_at(80 * (2 * size - 1), doubles(100))
    note("File_read_at", 1, 0, 80)
    file.Seek(80 * rank)
    file.Read_all(doubles(4))
    file.Read(doubles(5))
    note("File_read_all", 1, 0, 32)
    note("File_read", 1, 0, 40)
    file.Iwrite_at(80 * rank, doubles(3)).Wait()
    file.Iread_at(80 * (2 * size - 1), doubles(10)).Wait()  # beyond the end Open MPI 4 waits for ever
    note("File_iwrite_at", 1, 24)
    note("File_iread_at", 1, 0, 80)
    note("Wait", 2)
    data = doubles(6)
    file.Write_at_all_begin(80 * rank, data)
    file.Write_at_all_end(data)
    note("File_write_at_all_begin")
    note("File_write_at_all_end", 1, 48)
    note("File_sync")
    note("Barrier")
    note("File_seek")
    note("File_close")
    file.Close()


def main():
    ways_of_sending()
    there_and_back()
    from_anybody()
    matched()
    all_ways_of_waiting()
    very_many_at_once()
    never_received()
    prepared()
    in_parts()
    unequal_shares()
    a_type_for_each()
    scans()
    in_place()
    in_the_background()
    prepared_for_all()
    larger_than_an_int()
    between_groups()
    in_a_row()
    in_a_ring()
    one_sided()
    files()


main()
with open(f"kinds-{rank}.json", "w") as file:
    json.dump(notes, file)
