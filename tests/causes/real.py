# SPDX-License-Identifier: BSD-3-Clause
"""Runs a made-up program for real, with mpi4py and sleeps, under mpiexec: one rank of it.

    mpiexec -n 4 python -m allranks tests/causes/real.py two_mains
    mpiexec -n 3 python -m allranks tests/causes/real.py random 7

The functions of its call paths are made, so that a profiler sees them. Each rank writes when its operations really ended to
`ends-RANK.json`, by thread: the simulator can then repeat this very run.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from array import array
from typing import Any, Callable

from mpi4py import MPI
from operations import Body, Comm, Op, Path, Program, Rank, is_c_function
from real_programs import real_program

N_LINES = 16  # from which a function can call another one


class MadeFunctions:
    """Python functions of any name that call each other from any line."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}

    def make(self, name: str) -> None:
        calls = "".join(
            f"    if lines[at] == {line}: return functions[names[at]](names, lines, at + 1, act, arguments)\n"
            for line in range(N_LINES)
        )
        source = f"def {name}(names, lines, at, act, arguments):\n    if at == len(names): return act(*arguments)\n{calls}"
        scope: dict[str, Any] = {"functions": self.functions}
        exec(compile(source, f"made_{name}.py", "exec"), scope)
        self.functions[name] = scope[name]

    def call(self, path: Path, act: Callable[..., Any], *arguments: Any) -> Any:
        """Calls the functions of the path, the last of which calls `act`."""
        steps = [name.partition("@") for name in path if not is_c_function(name)]
        names, lines = [name for name, _, _ in steps], [int(line or 0) for _, _, line in steps]
        for name in names:
            if name not in self.functions:
                self.make(name)
        return self.functions[names[0]](names, lines, 1, act, arguments)


class Received:
    """What a program may ask of a message that it received."""

    def __init__(self, status: MPI.Status) -> None:
        self.peer, self.sequence = status.source, status.tag


def small() -> array[float]:
    return array("d", [0.0])


def large() -> array[float]:
    return array("d", bytes(1 << 22))


class RealRank:
    def __init__(self, program: Program) -> None:
        self.world, self.made = MPI.COMM_WORLD, MadeFunctions()
        assert self.world.size == program.n_ranks, f"needs {program.n_ranks} ranks"
        self.comms = {name: self.split(comm) for name, comm in program.made_comms().items()} | {"world": self.world}
        self.ends: dict[int, list[float]] = {}
        self.threads: dict[int, threading.Thread] = {}
        self.world.Barrier()
        self.start = time.monotonic()
        for (rank, number), body in program.threads.items():
            if rank == self.world.rank:
                self.threads[number] = threading.Thread(target=self.drive, args=(program, body, number))
                self.threads[number].start()
        self.drive(program, program.body, 0)
        for thread in self.threads.values():
            thread.join()

    def split(self, comm: Comm) -> MPI.Comm:
        if self.world.rank not in comm.members:
            return self.world.Split(MPI.UNDEFINED, 0)
        return self.world.Split(0, comm.rank_of(self.world.rank))

    def drive(self, program: Program, body: Body, number: int) -> None:
        world = Comm("world", tuple(range(program.n_ranks)), True)
        steps, answer = body(Rank(self.world.rank, world, number), program.made_comms()), None
        self.ends[number] = []
        while True:
            try:
                op = steps.send(answer)
            except StopIteration:
                return
            answer = self.perform(op)
            self.ends[number].append(time.monotonic())

    def perform(self, op: Op) -> Any:
        if op.what == "join":
            return self.threads[op.thread].join()
        if op.what == "work":
            return self.made.call(op.path, time.sleep, op.seconds)
        return self.made.call(op.path[:-1], getattr(self, op.what), op)

    def call(self, op: Op) -> Received | None:
        comm = self.comms[op.comm.name]
        if op.kind == "barrier":
            comm.Barrier()
        elif op.kind == "all":
            comm.Allreduce(small(), small())
        elif op.kind == "from_root":
            comm.Bcast(large() if op.is_sync else small(), op.peer)
        elif op.kind == "to_root":
            comm.Reduce(small(), small(), root=op.peer)
        elif op.kind == "scan":
            comm.Scan(small(), small())
        elif op.kind == "send":
            (comm.Ssend if op.is_sync else comm.Send)(small(), op.peer, op.tag)
        else:
            return self.receive(comm, op)
        return None

    def receive(self, comm: MPI.Comm, op: Op) -> Received:
        status = MPI.Status()
        source = MPI.ANY_SOURCE if op.peer is None else op.peer
        comm.Recv(small(), source, MPI.ANY_TAG if op.tag is None else op.tag, status)
        return Received(status)

    def post(self, op: Op) -> tuple[MPI.Request, Any]:
        """With its buffers, which have to live until it completes."""
        comm, buffers = self.comms[op.comm.name], (small(), small())
        if op.kind == "all":
            return comm.Iallreduce(*buffers), buffers
        if op.kind == "from_root":
            return comm.Ibcast(buffers[0], op.peer), buffers
        if op.kind == "send":
            return (comm.Issend if op.is_sync else comm.Isend)(buffers[0], op.peer, op.tag), buffers
        return comm.Irecv(buffers[0], op.peer, op.tag), buffers

    def wait(self, op: Op) -> None:
        MPI.Request.Waitall([request for request, _ in op.requests])


if __name__ == "__main__":
    rank = RealRank(real_program(sys.argv[1], *map(int, sys.argv[2:])))
    with open(f"ends-{rank.world.rank}.json", "w") as out:
        json.dump({"start": rank.start, "ends": rank.ends}, out)
