# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a call of an mpi4py method is one operation at its line, and what of its time is pickling. On two ranks.

What is sent takes its time to be pickled and unpickled, and notes how long it really took. Each rank writes into
noted-R.json, by the mark of a line in this file: the operation, how often it was called, and the seconds and number of
picklings and unpicklings.
"""

import functools
import json
import time

import numpy as np
from mpi4py import MPI

PICKLING_S, UNPICKLING_S = 0.03, 0.05

with open(__file__) as file:
    LINES = {
        text.rpartition("# mark: ")[2].strip(): number
        for number, text in enumerate(file, start=1)
        if "# mark: " in text
    }

comm = MPI.COMM_WORLD
rank, other = comm.rank, 1 - comm.rank
notes: dict[str, dict] = {}
mark = ""


def note(name, operation, calls=1):
    """What is noted from now on belongs to that line."""
    global mark
    mark = name
    notes[mark] = {"operation": operation, "line": LINES[mark], "calls": calls}
    notes[mark].update(dumps=0, dumps_s=0.0, loads=0, loads_s=0.0)


def sleep(what, seconds):
    start = time.perf_counter()
    time.sleep(seconds)
    notes[mark][what] += 1
    notes[mark][f"{what}_s"] += time.perf_counter() - start


def unpickle():
    sleep("loads", UNPICKLING_S)
    return Slow()


class Slow:
    def __reduce__(self):
        sleep("dumps", PICKLING_S)
        return unpickle, ()


def either(one, two):
    return one


def from_one_to_the_other():
    if rank == 0:
        note("send", "Comm.send", 2)
        for _ in range(2):
            comm.send(Slow(), dest=1)  # mark: send
        note("isend", "Comm.isend")
        request = comm.isend(Slow(), dest=1)  # mark: isend
        note("wait for isend", "Request.wait")
        request.wait()  # mark: wait for isend
    else:
        note("recv", "Comm.recv", 2)
        for _ in range(2):
            comm.recv(source=0)  # mark: recv
        note("irecv", "Comm.irecv")
        request = comm.irecv(source=0)  # mark: irecv
        note("wait for irecv", "Request.wait")
        request.wait()  # mark: wait for irecv
    note("sendrecv", "Comm.sendrecv")
    comm.sendrecv(Slow(), dest=other, source=other)  # mark: sendrecv
    note("two at once", "Comm.isend")
    requests = [comm.isend(Slow(), dest=other)]  # mark: two at once
    note("irecv of two", "Comm.irecv")
    requests.append(comm.irecv(source=other))  # mark: irecv of two
    note("waitall", "Request.waitall")
    MPI.Request.waitall(requests)  # mark: waitall


def all_together():
    note("bcast", "Comm.bcast")
    comm.bcast(Slow(), root=0)  # mark: bcast
    note("gather", "Comm.gather")
    comm.gather(Slow(), root=1)  # mark: gather
    note("scatter", "Comm.scatter")
    comm.scatter([Slow(), Slow()], root=0)  # mark: scatter
    note("allgather", "Comm.allgather")
    comm.allgather(Slow())  # mark: allgather
    note("alltoall", "Comm.alltoall")
    comm.alltoall([Slow(), Slow()])  # mark: alltoall


def reductions():
    note("reduce", "Comm.reduce")
    comm.reduce(Slow(), op=either)  # mark: reduce
    note("allreduce", "Comm.allreduce")
    comm.allreduce(Slow(), op=either)  # mark: allreduce
    note("scan", "Intracomm.scan")
    comm.scan(Slow(), op=either)  # mark: scan
    note("small allreduce", "Comm.allreduce", 50)
    for _ in range(50):
        comm.allreduce(1)  # mark: small allreduce


def however_it_is_called():
    """Nothing is pickled here, and each call is one call of MPI."""
    numbers, sums = np.zeros(4), np.zeros(4)
    note("Allreduce", "Comm.Allreduce", 5)
    for _ in range(5):
        comm.Allreduce(numbers, sums)  # mark: Allreduce
    note("by keywords", "Comm.Allreduce")
    comm.Allreduce(sendbuf=numbers, recvbuf=sums, op=MPI.MAX)  # mark: by keywords
    note("unbound", "Comm.Allreduce")
    MPI.Comm.Allreduce(comm, numbers, sums)  # mark: unbound
    note("partial", "Comm.Allreduce", 3)
    call = functools.partial(comm.Allreduce, numbers)
    for _ in range(3):
        call(sums)  # mark: partial
    note("bound", "Comm.Barrier", 300)
    meet = comm.Barrier
    for _ in range(300):
        meet()  # mark: bound
    note("mapped", "Comm.Bcast", 2)
    list(map(comm.Bcast, [numbers, sums]))  # mark: mapped
    note("Irecv", "Comm.Irecv")
    requests = [comm.Irecv(sums, source=other)]  # mark: Irecv
    note("Isend", "Comm.Isend")
    requests.append(comm.Isend(numbers, dest=other))  # mark: Isend
    note("class method", "Request.Waitall")
    MPI.Request.Waitall(requests)  # mark: class method


class OwnComm(MPI.Intracomm):
    def Barrier(self):
        super().Barrier()  # mark: super


def overridden():
    own = OwnComm(comm)
    note("super", "Comm.Barrier")
    own.Barrier()
    note("inherited", "Comm.barrier")
    own.barrier()  # mark: inherited


from_one_to_the_other()
all_together()
reductions()
however_it_is_called()
overridden()
with open(f"noted-{rank}.json", "w") as file:
    json.dump(list(notes.values()), file)
