# SPDX-License-Identifier: BSD-3-Clause
"""Writes down all that a program can see of mpi4py's methods, and has things happen inside of them. On two ranks.

What rank R has seen goes into seen-R.txt, and must be the same with and without allranks. lines.json has the lines of
this file that are marked.
"""

import copy
import functools
import gc
import inspect
import json
import os
import pickle
import re
import sys
import threading
import traceback
import types
import weakref

numbers_of_functions = {pickle.dumps: 1, pickle.loads: 2}

import numpy as np  # noqa: E402
from mpi4py import MPI, rc  # noqa: E402, F401

comm = MPI.COMM_WORLD
rank = comm.rank
said = []
TYPES = [v for _, v in sorted(vars(MPI).items()) if isinstance(v, type) and v.__module__ == "mpi4py.MPI"]


def say(*words):
    said.append(" ".join(map(str, words)))


def digest(values):
    """Short, and the same in every process."""
    text = repr(values).encode()
    return f"{len(values)} {sum(i * b for i, b in enumerate(text)) % 1_000_003}"


def without_address(value):
    text = repr(value)
    return text.partition(" at 0x")[0]


def objects():
    say("pickle", pickle.dumps in numbers_of_functions, pickle.loads in numbers_of_functions, numbers_of_functions[pickle.dumps])
    say("attributes", digest([(t.__name__, name, without_address(v)) for t in TYPES for name, v in sorted(vars(t).items())]))
    methods = [(t, n, v) for t in TYPES for n, v in sorted(vars(t).items()) if callable(v) and not n.startswith("__")]
    say("types", digest([type(v).__name__ for _, _, v in methods]))
    say("docs", digest([v.__doc__ for _, _, v in methods]))
    say("names", digest([(v.__name__, v.__qualname__) for _, _, v in methods]))
    say("signatures", digest([signature(v) for _, _, v in methods]))
    say("sizes", digest([sys.getsizeof(v) for _, _, v in methods]))
    say("references", digest([(sys.getrefcount(v), len(gc.get_referents(v))) for _, _, v in methods]))
    say("dir", digest([dir(v) for _, _, v in methods]))
    say("pickle objects", sys.getrefcount(pickle.dumps), repr(pickle.dumps), signature(pickle.dumps), sys.getsizeof(pickle.loads))


def signature(function):
    try:
        return re.sub("0x[0-9a-f]+", "", str(inspect.signature(function)))
    except (ValueError, TypeError) as error:
        return type(error).__name__


def identities():
    say("is", comm.send is comm.send, MPI.Comm.send is MPI.Comm.send, MPI.Comm.send is MPI.Intracomm.send)
    say("equal", comm.send == comm.send, comm.send == comm.recv, hash(comm.send) == hash(comm.send))
    say("as keys", {comm.send: 1, comm.Send: 2}[comm.send], len({comm.send, comm.send, MPI.Comm.send, MPI.Intracomm.send}))
    say("bound", type(comm.send).__name__, comm.send.__self__ is comm, comm.send.__name__, comm.send.__qualname__)
    say("isinstance", [isinstance(MPI.Comm.send, t) for t in (types.FunctionType, types.MethodDescriptorType, types.BuiltinFunctionType)])
    say("copied", attempt(lambda: copy.copy(MPI.Comm.send) is MPI.Comm.send))
    say("pickled", attempt(lambda: pickle.loads(pickle.dumps(MPI.Comm.send)) is MPI.Comm.send))
    say("weak", attempt(lambda: weakref.ref(MPI.Comm.send)() is MPI.Comm.send))
    # To what it is: types of an mpi4py that is made for all versions of Python can be changed.
    say("set", attempt(lambda: setattr(MPI.Comm, "send", MPI.Comm.send)), attempt(lambda: setattr(comm, "send", None)))


def attempt(function):
    try:
        return function()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def faults():
    say("no argument", attempt(lambda: comm.send()))
    say("too many", attempt(lambda: comm.Barrier(1, 2, 3)))
    say("unknown", attempt(lambda: comm.bcast(1, nothing=2)))
    say("no rank", attempt(lambda: comm.bcast(1, root=99)).partition(":")[0])
    say("not to be pickled", attempt(lambda: comm.bcast(lambda: 0, root=rank)).partition(" at ")[0])
    try:
        comm.Send(object(), dest=0)
    except BaseException:
        say("traceback", [frame.name for frame in traceback.extract_tb(sys.exc_info()[2])], traceback.format_exc().count("\n"))


def ways():
    one, two = np.full(3, rank + 1.0), np.zeros(3)
    functools.partial(MPI.Comm.Allreduce, comm, one)(recvbuf=two, op=MPI.SUM)
    say("partial", two.tolist())
    say("mapped", [value for value in map(comm.allreduce, [1, 2, 3])])
    say("starred", comm.bcast(*["x"], **{"root": 1}))
    say("class method", MPI.Request.Waitall([comm.Isend(one, 1 - rank), comm.Irecv(two, 1 - rank)]), two.tolist())
    say("objects", MPI.Request.waitall([comm.isend(rank, 1 - rank), comm.irecv(source=1 - rank)]))
    say("operator", comm.allreduce([rank], op=lambda a, b: a + b), comm.scan(rank + 1), comm.exscan(rank + 1))
    say("protocol", MPI.pickle.PROTOCOL == pickle.HIGHEST_PROTOCOL, MPI.pickle.dumps(1) == pickle.dumps(1, pickle.HIGHEST_PROTOCOL))

    class Own(MPI.Intracomm):
        def bcast(self, obj, root=0):
            return "own", super().bcast(obj, root)

    own = Own(comm)
    say("subclass", own.bcast(rank), own.allgather(rank), type(own.Clone()).__name__)


def depth(n=0):
    """How far one gets through a method that calls back."""
    try:
        return MPI.COMM_SELF.sendrecv(Deeper(n), dest=0, source=0)
    except RecursionError:
        return n


class Deeper:
    def __init__(self, n):
        self.n = n

    def __reduce__(self):
        return int, (depth(self.n + 1),)


def talks(a, b):
    two = np.zeros(1)
    MPI.COMM_SELF.Allreduce(np.full(1, float(a + b)), two)
    return MPI.COMM_SELF.bcast(int(two[0]))


def fails(a, b):
    raise ValueError(f"{a} {b}")


def forks(a, b):
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def pauses(a, b):
    allranks_pause()
    MPI.COMM_SELF.Allreduce(np.zeros(1), np.zeros(1))  # mark: while paused
    allranks_resume()
    return a + b


def callbacks():
    say("nested", comm.allreduce(rank, op=talks))  # mark: nested
    say("forks", comm.allreduce(rank, op=forks))  # mark: forks
    say("resumes", comm.allreduce(rank, op=pauses))  # mark: resumes
    say("raises", attempt(lambda: fail_alone(comm.Split(rank))))
    say("depth", depth())


def fail_alone(own):
    """On one rank, so that nobody waits for who has failed."""
    request = own.isend(1, dest=0)
    try:
        return own.allreduce(Raising())  # mark: raises
    finally:
        own.recv(source=0)
        request.wait()


class Raising:
    def __reduce__(self):
        return fails(1, 2)


def recording():
    """pause and resume of allranks, if it is there; without a recording they do nothing."""
    try:
        import allranks
    except ImportError:
        return (lambda: None), (lambda: None)
    return allranks.pause, allranks.resume


allranks_pause, allranks_resume = recording()


def own_dumps(obj, protocol=None):
    return b"own" + pickle.dumps(obj)


def own_loads(data):
    return "own", pickle.loads(bytes(data)[3:])


def own_pickle():
    MPI.pickle.__init__(own_dumps, own_loads)
    request = comm.irecv(source=1 - rank)
    comm.send(rank, dest=1 - rank)  # mark: own pickle
    say("own pickle", request.wait())
    MPI.pickle.__init__()
    say("again", comm.bcast(rank))


def threads():
    comms = [comm.Dup() for _ in range(3)]
    sums = {}

    def work(i):
        sums[i] = [comms[i].allgather(i) for _ in range(20)]  # mark: thread

    running = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    else:
        for i in range(3):
            work(i)
    say("threads", sorted(sums.items()) == [(i, [[i, i]] * 20) for i in range(3)])


def inside_mpi():
    """Callbacks of MPI itself."""

    def add(a, b, datatype):
        MPI.COMM_SELF.Barrier()
        np.frombuffer(b, "d")[:] += np.frombuffer(a, "d")

    op = MPI.Op.Create(add, commute=True)
    two = np.zeros(2)
    comm.Allreduce(np.ones(2), two, op=op)
    say("own operator", two.tolist())
    op.Free()
    keyval = MPI.Comm.Create_keyval(copy_fn=lambda comm, key, value: value + 1, delete_fn=None)
    dup = comm.Dup()
    dup.Set_attr(keyval, 5)
    again = dup.Dup()
    say("attribute", again.Get_attr(keyval))
    again.Free()
    dup.Free()
    grequest = MPI.Grequest.Start(lambda status: status.Set_elements(MPI.BYTE, 3), lambda: None, lambda done: None)
    grequest.Complete()
    status = MPI.Status()
    grequest.Wait(status)
    say("generalised request", status.Get_elements(MPI.BYTE))


def main():
    objects()
    identities()
    faults()
    ways()
    callbacks()
    own_pickle()
    threads()
    inside_mpi()
    objects()
    comm.Barrier()  # mark: after all


main()
with open(__file__) as file:
    marks = {t.rpartition("# mark: ")[2].strip(): n for n, t in enumerate(file, start=1) if "# mark: " in t}
if rank == 0:
    with open("lines.json", "w") as file:
        json.dump(marks, file)
with open(f"seen-{rank}.txt", "w") as file:  # launchers mix what ranks print
    file.writelines(f"{line}\n" for line in said)
