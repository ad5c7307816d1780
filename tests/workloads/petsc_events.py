# SPDX-License-Identifier: BSD-3-Clause
"""Proves that stages and events of PETSc's log are regions: its own in a solve, and the program's own in every way that petsc4py has.
What PETSc says of each event on this rank goes into truth-R.json, at the end; words in front of PETSc's options:

    NAMES...    events to say that of, besides those of the program
    --          PETSc's options follow
"""

import glob
import json
import sys
import time

# Debian 12 has it where it does not disturb other versions of it.
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")

import petsc4py

words = sys.argv[1:]
at = words.index("--") if "--" in words else len(words)
petsc4py.init([sys.argv[0], *words[at + 1 :]])
from petsc4py import PETSc  # noqa: E402

N = 100
FACTS = {"numMessages": "petsc_messages", "messageLength": "petsc_message_bytes", "numReductions": "petsc_reductions", "flops": "petsc_flops"}
STAGES = ("assemble all", "solve all", "within")


def make_system():
    matrix = PETSc.Mat().createAIJ([N, N], nnz=3)
    for row in range(*matrix.getOwnershipRange()):
        for column, value in ((row - 1, -1.0), (row, 2.1), (row + 1, -1.0)):
            if 0 <= column < N:
                matrix[row, column] = value
    matrix.assemble()
    return matrix


def make_solver(matrix):
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType("cg")
    solver.getPC().setType("jacobi")
    return solver


def solve(solver, b, x):
    solver.solve(b, x)


@PETSc.Log.EventDecorator("decorated event")
def decorated(n):
    PETSc.Log.logFlops(n)
    return n + 1


@PETSc.Log.EventDecorator()
def unnamed():
    PETSc.Log.logFlops(3)


@PETSc.Log.EventDecorator("recursive")
def recurse(depth):
    PETSc.Log.logFlops(10)
    if depth > 1:
        recurse(depth - 1)


def begin_elsewhere(event):
    event.begin()


def in_between():
    time.sleep(0.001)


def sleeps(event):
    with event:
        time.sleep(0.03)


def run():
    stages = {name: PETSc.Log.Stage(name) for name in STAGES}
    with stages["assemble all"]:
        matrix = make_system()
        x, b = matrix.createVecs()
        b.set(1.0)
    solver = make_solver(matrix)
    stages["solve all"].push()
    for _ in range(3):
        solve(solver, b, x)
        with stages["within"]:
            x.norm()
    stages["solve all"].pop()

    for n in range(4):
        assert decorated(n) == n + 1
    unnamed()
    recurse(4)
    crossing = PETSc.Log.Event("crossing")
    for _ in range(2):
        begin_elsewhere(crossing)
        in_between()
        crossing.end()
    first, second = PETSc.Log.Event("first of two"), PETSc.Log.Event("second of two")
    first.begin()
    second.begin()
    PETSc.Log.logFlops(5)
    first.end()
    PETSc.Log.logFlops(7)
    in_between()
    second.end()
    sleeps(PETSc.Log.Event("sleeping"))
    return f"{x.norm():.6f}"


def truth(names):
    stages = [0, *(int(PETSc.Log.Stage(name)) for name in STAGES)]
    said = {}
    for name in names:
        infos = [PETSc.Log.Event(name).getPerfInfo(stage) for stage in stages]
        said[name] = {key: sum(info[key] for info in infos) for key in ("count", "time", *FACTS)}
    return said


def main():
    print(run(), PETSc.Log.isActive(), flush=True)
    own = ["decorated event", "__main__.unnamed", "recursive", "crossing", "first of two", "second of two", "sleeping"]
    if PETSc.Log.isActive():
        with open(f"truth-{PETSc.COMM_WORLD.rank}.json", "w", encoding="utf-8") as file:
            json.dump(truth([*own, *words[:at]]), file)


main()
