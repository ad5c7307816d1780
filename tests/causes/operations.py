# SPDX-License-Identifier: BSD-3-Clause
"""What a rank of a made-up program can do: work on call paths, and calls of MPI.

A program is one generator per thread, which yields operations. The simulator works out when everything happens; real.py
runs the same program with mpi4py.

    yield me.work("main/solve/kernel", 0.5)   half a second in `kernel`, called by `solve`, called by `main`
    yield me.work("main/kernel@12", 0.5)      `kernel` called from line 12: another call path, the same function
    yield me.work("main/sum/<sleep>", 0.5)    `<sleep>` is a C function; its time counts for `sum`
    yield me.delay("main/load", 0.1)          a planted delay, absent from the run without delays
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

Path = tuple[str, ...]
Location = tuple[int, int]  # rank in the world, thread
Steps = Generator["Op", Any, None]
Body = Callable[["Rank", Mapping[str, "Comm"]], Steps]
RanksOf = Mapping[str, "set[int]"]  # function, or "function/*" with all that it calls -> ranks

COLLECTIVES = ("barrier", "all", "from_root", "to_root", "scan")


@dataclass(frozen=True)
class Comm:
    name: str
    members: tuple[int, ...]  # world ranks, sorted by their rank in the communicator
    is_world: bool = False

    def rank_of(self, world_rank: int) -> int:
        return self.members.index(world_rank)


NO_COMM = Comm("", ())


@dataclass
class Op:
    what: str  # work, join, call, post or wait
    path: Path = ()
    seconds: float = 0.0
    delay: int | None = None  # the number of a planted delay
    kind: str = ""
    comm: Comm = NO_COMM
    peer: int | None = None  # root, source or destination in the communicator; None: none, or any
    tag: int | None = 0  # None: any
    is_sync: bool = False  # a send that waits for its receiver, a broadcast that waits for all
    requests: tuple[Any, ...] = ()
    thread: int = 0


def path_of(text: str) -> Path:
    return tuple(text.split("/")) if text else ()


def is_c_function(name: str) -> bool:
    return name.startswith("<")


def function_of(path: Path) -> str:
    """The function that a path is charged to: the innermost one that is not in C, without its line."""
    for name in reversed(path):
        if not is_c_function(name):
            return name.split("@")[0]
    return path[0] if path else ""


def without_lines(path: Path) -> Path:
    """The path that time is compared by: C functions count for their callers. `<acquire>` stays: it is blocked time."""
    return tuple(name.split("@")[0] for name in path if not is_c_function(name) or name == "<acquire>")


class Rank:
    """One thread of one rank, as its program sees it: makes the operations that the program yields."""

    def __init__(self, rank: int, world: Comm, thread: int = 0) -> None:
        self.rank, self.world, self.thread, self.size = rank, world, thread, len(world.members)

    def work(self, path: str, seconds: float) -> Op:
        return Op("work", path_of(path), seconds)

    def delay(self, path: str, seconds: float, number: int = 0) -> Op:
        return Op("work", path_of(path), seconds, delay=number)

    def join(self, thread: int, at: str = "main") -> Op:
        return Op("join", (*path_of(at), "Thread.join", "<acquire>"), thread=thread)

    def _collective(self, what: str, kind: str, name: str, comm: Comm | None, root: int | None, at: str) -> Op:
        return Op(what, (*path_of(at), name), kind=kind, comm=comm or self.world, peer=root)

    def barrier(self, comm: Comm | None = None, at: str = "main") -> Op:
        return self._collective("call", "barrier", "MPI_Barrier", comm, None, at)

    def allreduce(self, comm: Comm | None = None, at: str = "main") -> Op:
        return self._collective("call", "all", "MPI_Allreduce", comm, None, at)

    def bcast(self, root: int = 0, comm: Comm | None = None, at: str = "main", large: bool = False) -> Op:
        """A large one moves in pieces through all ranks: no rank leaves it before all have entered it."""
        op = self._collective("call", "from_root", "MPI_Bcast", comm, root, at)
        op.is_sync = large
        return op

    def reduce(self, root: int = 0, comm: Comm | None = None, at: str = "main") -> Op:
        return self._collective("call", "to_root", "MPI_Reduce", comm, root, at)

    def scan(self, comm: Comm | None = None, at: str = "main") -> Op:
        return self._collective("call", "scan", "MPI_Scan", comm, None, at)

    def iallreduce(self, comm: Comm | None = None, at: str = "main") -> Op:
        return self._collective("post", "all", "MPI_Iallreduce", comm, None, at)

    def ibcast(self, root: int = 0, comm: Comm | None = None, at: str = "main") -> Op:
        return self._collective("post", "from_root", "MPI_Ibcast", comm, root, at)

    def _message(self, what: str, name: str, comm: Comm | None, peer: int | None, tag: int | None, at: str) -> Op:
        kind = "send" if name.endswith("send") else "recv"
        return Op(what, (*path_of(at), f"MPI_{name.capitalize()}"), kind=kind, comm=comm or self.world, peer=peer, tag=tag,
                  is_sync=name.endswith("ssend"))  # fmt: skip

    def send(self, to: int, comm: Comm | None = None, tag: int = 0, sync: bool = False, at: str = "main") -> Op:
        return self._message("call", "ssend" if sync else "send", comm, to, tag, at)

    def recv(self, source: int | None = None, comm: Comm | None = None, tag: int | None = 0, at: str = "main") -> Op:
        return self._message("call", "recv", comm, source, tag, at)

    def isend(self, to: int, comm: Comm | None = None, tag: int = 0, sync: bool = False, at: str = "main") -> Op:
        return self._message("post", "issend" if sync else "isend", comm, to, tag, at)

    def irecv(self, source: int | None = None, comm: Comm | None = None, tag: int | None = 0, at: str = "main") -> Op:
        return self._message("post", "irecv", comm, source, tag, at)

    def wait(self, *requests: Any, at: str = "main") -> Op:
        return Op("wait", (*path_of(at), "MPI_Waitall"), requests=requests)


@dataclass
class Program:
    name: str
    n_ranks: int
    body: Body
    comms: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    threads: Mapping[Location, Body] = field(default_factory=dict)
    truth: RanksOf | None = None  # the causes of its waits; None: what was planted
    also: RanksOf = field(default_factory=dict)  # more true causes
    family: str = "other"  # programs of one family have one floor
    note: str = ""
    cut: Mapping[int, int] = field(default_factory=dict)  # rank -> only this many of its calls are recorded
    blind: Mapping[int, int] = field(default_factory=dict)  # rank -> of N of its records one has no parts
    is_weak: bool = False  # MPI moves nonblocking collective calls only while the rank is in MPI, as most libraries do

    def made_comms(self) -> dict[str, Comm]:
        return {name: Comm(name, tuple(members)) for name, members in self.comms.items()}
