# SPDX-License-Identifier: BSD-3-Clause
"""Proves that pickling is known whoever does it: functions of any name, set with MPI.pickle.__init__, that take a known time.

Two ranks. Each counts how often its functions are called, and how long that takes, by the clock of the program; the notes of rank R
go into pickled-R.json, by the function of the program that makes the call.
"""

import json
import pickle
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
notes: dict = {}


def note(what, caller, begin):
    at = notes.setdefault(caller.f_code.co_name, {"pickling": 0.0, "unpickling": 0.0})
    at[what] += time.perf_counter() - begin


def spend(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def to_bytes(obj, *protocol):
    begin = time.perf_counter()
    spend(0.02)
    data = pickle.dumps(obj, *protocol)
    note("pickling", sys._getframe(1), begin)
    return data


def of_bytes(data):
    begin = time.perf_counter()
    spend(0.03)
    obj = pickle.loads(data)
    note("unpickling", sys._getframe(1), begin)
    return obj


def messages():
    for _ in range(3):
        if rank == 0:
            comm.send({"a": 1}, dest=1)
        else:
            assert comm.recv(source=0) == {"a": 1}


def requests():
    request = comm.isend([rank], dest=1 - rank)
    assert comm.irecv(source=1 - rank).wait() == [1 - rank]
    request.wait()


def collectives():
    assert comm.bcast((1, 2), root=0) == (1, 2)
    assert comm.allgather(rank) == [0, 1]


def joined(a, b):
    """The operation of a reduction, which is no pickling."""
    spend(0.05)
    return a + b


def reductions():
    assert comm.allreduce([rank], op=joined) == [0, 1]


MPI.pickle.__init__(to_bytes, of_bytes)
messages()
requests()
collectives()
reductions()
with open(f"pickled-{rank}.json", "w") as file:
    json.dump(notes, file)
