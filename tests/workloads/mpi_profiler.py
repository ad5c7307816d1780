# SPDX-License-Identifier: BSD-3-Clause
"""MPIProfiler from all sides, on two ranks or more: every case says itself what must have been counted."""

import gc
import json
import sys
import threading
import time

from mpi4py import MPI
from mpi4py.util import pkl5
from mpiprof import MPIProfiler

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
other = rank ^ 1
is_paired = other < size
thrice = range(3)


def here():
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def counts(comm):
    found = {}
    for (name, _), figures in comm.statistics.items():
        found[name] = found.get(name, 0) + figures["count"]
    return found


def lines(comm, operation):
    """Calls by line, all of them of this file."""
    found = {}
    for (name, ((file, line),)), figures in comm.statistics.items():
        assert file == __file__, file
        if name == operation:
            found[line] = found.get(line, 0) + figures["count"]
    return found


def case_counts_and_lines():
    comm = MPIProfiler(world)
    for _ in thrice:
        assert comm.allreduce(rank, op=MPI.SUM) == sum(range(size))
    loop_line = here() - 1
    comm.allreduce(1); comm.allreduce(1)  # noqa: E702  two calls of one line are one place
    assert lines(comm, "allreduce") == {loop_line: 3, here() - 1: 2}
    assert comm.bcast("x" if rank == 0 else None) == "x"
    assert comm.gather(rank) == (list(range(size)) if rank == 0 else None)
    assert comm.scatter(list(range(size)) if rank == 0 else None) == rank
    assert comm.reduce(1) == (size if rank == 0 else None)
    comm.Allreduce(bytearray(8), bytearray(8))
    assert comm.sendrecv(rank, rank, source=rank) == rank
    if is_paired:
        comm.send(b"hello", dest=other, tag=1)
        assert comm.recv(source=other, tag=1) == b"hello"
    expected = {"allreduce": 5, "bcast": 1, "gather": 1, "scatter": 1, "reduce": 1, "Allreduce": 1, "sendrecv": 1}
    if is_paired:
        expected.update(send=1, recv=1)
    assert counts(comm) == expected, counts(comm)


def case_any_letter_case():
    comm = MPIProfiler(world)
    comm.barrier()
    comm.Barrier()
    comm.BARRIER()
    comm.ibarrier().wait()
    comm.Ibarrier().Wait()
    assert comm.ALLREDUCE(1) == size
    assert counts(comm) == {"barrier": 2, "Barrier": 1, "Ibarrier": 2, "wait": 1, "Wait": 1, "allreduce": 1}, counts(comm)
    assert not hasattr(comm, "get_rank") and not hasattr(comm, "nonsense")


def case_requests():
    comm = MPIProfiler(MPI.COMM_SELF)
    sent, got = bytearray(b"12345678"), [bytearray(8) for _ in range(6)]
    posts = [comm.Irecv(buffer, source=0, tag=tag) for tag, buffer in enumerate(got)]
    for tag in range(6):
        assert comm.Isend(sent, dest=0, tag=tag).Wait() is True
    comm.wait(posts[0])
    comm.Wait(posts[1])
    comm.waitall(posts[2:4])
    MPI.Request.Waitall(posts[4:])  # not through us
    assert all(buffer == sent for buffer in got)
    assert all(isinstance(post, MPI.Request) and post == MPI.REQUEST_NULL for post in posts)
    receive = comm.irecv(source=0)
    comm.isend({"any": "object"}, dest=0).wait()
    assert comm.wait(receive) == {"any": "object"}
    several = [comm.irecv(source=0, tag=tag) for tag in thrice]
    comm.waitall([comm.isend(tag, dest=0, tag=tag) for tag in thrice])
    assert comm.waitall(iter(several)) == [0, 1, 2]
    assert comm.Waitall([]) is True
    persistent = comm.Send_init(sent, dest=0, tag=9)
    persistent.Start()
    comm.Recv(got[0], source=0, tag=9)
    comm.Waitall([persistent])
    persistent.Start()
    comm.Recv(got[0], source=0, tag=9)
    persistent.Wait()
    persistent.Free()
    expected = {"Irecv": 6, "Isend": 6, "Wait": 8, "wait": 3, "waitall": 3, "irecv": 4, "isend": 4, "Waitall": 2,
                "Send_init": 1, "Recv": 2}  # fmt: skip
    assert counts(comm) == expected, counts(comm)


def case_it_is_a_communicator():
    comm = MPIProfiler(world)
    assert isinstance(comm, MPIProfiler) and isinstance(comm, MPI.Intracomm) and comm == world
    assert (comm.Get_rank(), comm.rank, comm.Get_size(), comm.size) == (rank, rank, size, size)
    assert comm.comm is world and comm.Get_name() == comm.name == world.Get_name()
    memory = bytearray(8)
    window = MPI.Win.Create(memory, comm=comm)
    window.Fence()
    window.Free()
    MPI.File.Open(comm, f"profiled.{size}", MPI.MODE_CREATE | MPI.MODE_WRONLY | MPI.MODE_DELETE_ON_CLOSE).Close()
    assert MPI.Comm.Compare(comm, world) == MPI.IDENT
    for plain in (comm.Dup(), comm.Clone(), comm.Split(0), comm.Create(comm.group)):
        assert type(plain) is MPI.Intracomm, type(plain)
        assert plain.allreduce(1) == size
        plain.Free()
    assert counts(comm) == {}


def case_other_kinds():
    cart = MPIProfiler(world.Create_cart([size], periods=[True]))
    assert isinstance(cart, MPI.Cartcomm) and cart.Get_coords(rank) == [rank]
    assert cart.neighbor_allgather(rank) == [(rank - 1) % size, (rank + 1) % size]
    assert counts(cart) == {"neighbor_allgather": 1}
    cart.Free()
    half = world.Split(rank % 2)
    inter = MPIProfiler(half.Create_intercomm(0, world, 1 - rank % 2))
    assert isinstance(inter, MPI.Intercomm) and inter.allreduce(1) == inter.remote_size
    assert counts(inter) == {"allreduce": 1}
    inter.Free()
    half.Free()


def case_the_end_of_a_communicator():
    given = world.Dup()
    comm = MPIProfiler(given)
    del comm
    gc.collect()
    assert given.allreduce(1) == size  # it is not ours to free
    comm = MPIProfiler(MPIProfiler(given))
    assert comm.comm is given
    comm.barrier()
    comm.Free()
    assert given == comm == MPI.COMM_NULL and not comm
    assert counts(comm) == {"barrier": 1}


def case_errors():
    comm = MPIProfiler(world)
    for make in (lambda of: of.send(1, dest=size + 5), lambda of: of.Send(object(), dest=0), lambda of: of.bcast()):
        texts = []
        for of in (world, comm):
            try:
                make(of)
                texts.append("none")
            except Exception as error:
                texts.append(f"{type(error).__name__}: {error}")
        assert texts[0] == texts[1], texts
    assert counts(comm)["send"] == counts(comm)["Send"] == 1
    try:
        MPIProfiler()
    except TypeError:
        pass
    else:
        raise AssertionError("a profiler of nothing")


def case_threads():
    comm = MPIProfiler(MPI.COMM_SELF)
    n_each = 2000

    def work(tag):
        for i in range(n_each):
            comm.sendrecv(i, 0, sendtag=tag, source=0, recvtag=tag)

    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(tag,)) for tag in range(4)]
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts(comm) == {"sendrecv": 4 * n_each}, counts(comm)
    sys.setswitchinterval(0.005)


class Own(MPI.Intracomm):
    """A communicator of the program's own."""

    def twice(self):
        return self.allreduce(self.amount) * 2

    def bcast(self, obj, root=0):
        return super().bcast(obj, root)


class Profiler(MPIProfiler):
    def bcast(self, obj, root=0):
        self.seen = True
        return super().bcast(obj, root)


class Alone:
    """Looks like a communicator."""

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1

    def allreduce(self, value):
        return value

    greeting = "hello"


def case_subclasses():
    own = Own(world)
    own.amount = 4
    comm = Profiler(own)
    assert isinstance(comm, Own) and comm.twice() == 8 * size and comm.amount == 4
    assert comm.bcast("x" if rank == 0 else None) == "x" and comm.seen
    assert counts(comm) == {"allreduce": 1, "bcast": 1}
    comm = MPIProfiler(Alone())
    assert comm.allreduce(7) == comm.ALLREDUCE(7) == 7 and comm.greeting == "hello"
    assert counts(comm) == {"allreduce": 2} and not hasattr(comm, "barrier")
    comm = MPIProfiler(pkl5.Intracomm(MPI.COMM_SELF))
    request = comm.isend("object", dest=0)
    assert comm.recv(source=0) == "object"
    comm.wait(request)
    assert counts(comm) == {"isend": 1, "recv": 1, "wait": 1}, counts(comm)


def case_time():
    """Own looks at the clock stand outside of ours, so that they are never less."""
    before_s = time.perf_counter()
    comm = MPIProfiler(world)
    for _ in thrice:
        time.sleep(0.01 if rank == 0 else 0)
        comm.barrier()
    time.sleep(0.05 if rank == 0 else 0)
    inner_s = comm.statistics
    begin_s = time.perf_counter()
    comm.bcast("x")
    bcast_s = time.perf_counter() - begin_s
    all_s = time.perf_counter() - before_s
    after = comm.statistics
    (barrier,) = (figures for (name, _), figures in after.items() if name == "barrier")
    (bcast,) = (figures for (name, _), figures in after.items() if name == "bcast")
    assert [figures for (name, _), figures in inner_s.items()] == [barrier]
    assert 0 < bcast["durations"] <= bcast_s and barrier["durations"] > 0
    assert bcast["since_last_call"] >= (0.05 if rank == 0 else 0)
    assert barrier["since_last_call"] >= (0.03 if rank == 0 else 0)
    assert sum(each for figures in (barrier, bcast) for each in
               (figures["durations"], figures["since_last_call"])) <= all_s  # fmt: skip


def read(name):
    with open(name) as file:
        return json.load(file)


def case_files():
    comm = MPIProfiler(world)
    comm.barrier()
    comm.barrier()
    comm.bcast("x")
    comm.write_statistics("first.")
    comm.write_statistics("text.", ".out")
    comm.barrier()
    comm.write_statistics("first.")
    found = read(f"first.{rank}.json")
    assert (found["rank"], found["size"], list(found["operations"])) == (rank, size, sorted(found["operations"], key=lambda
            name: -max(origin["seconds"] for origin in found["operations"][name]["origins"])))  # fmt: skip
    barrier = found["operations"]["barrier"]
    assert barrier["count"] == 3 and sorted(origin["count"] for origin in barrier["origins"]) == [1, 1, 1]
    assert all(origin["file"] == __file__ and origin["function"] == "case_files" for origin in barrier["origins"])
    for field, total in (("seconds", "mpi_seconds"), ("seconds_before", "non_mpi_seconds")):
        assert abs(barrier[field] - sum(origin[field] for origin in barrier["origins"])) < 1e-9
        assert abs(found[total] - sum(each[field] for each in found["operations"].values())) < 1e-9
    with open(f"text.{rank}.out") as file:
        text = file.read()
    assert text.count("Function: barrier\nCall stack: \n\t" + __file__) == 2 and "Total MPI Time: " in text, text
    assert "comm.bcast(\"x\")\nNumber of calls: 1\nDuration During Call: " in text, text

    half = MPIProfiler(world.Split(0, -rank))  # its ranks are others
    half.Set_name("half")
    half.allreduce(1)
    named = MPIProfiler(half)
    named.allreduce(1)
    half.write_statistics("first.")
    named.write_statistics("first.")
    found = read(f"first.{rank}.json")
    assert found["operations"]["barrier"]["count"] == 3 and found["operations"]["allreduce"]["count"] == 2
    assert {origin["communicator"] for origin in found["operations"]["allreduce"]["origins"]} >= {"half"}
    half.Free()


for name, case in list(globals().items()):
    if name.startswith("case_"):
        case()
        print(rank, name, "ok", flush=True)
