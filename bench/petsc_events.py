# SPDX-License-Identifier: BSD-3-Clause
"""Begins and ends events of PETSc. Prints ns, of a call without that of an empty loop: {"in PETSc", a vector is set, which is one event;
"in Python", a block of an event of the program}.
"""

import glob
import json
import sys

# Debian 12 has it where it does not disturb other versions of it.
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")

import petsc4py
from timed_loops import best_ns

petsc4py.init([])
from petsc4py import PETSc  # noqa: E402

N_ROUNDS = 20_000
N_TRIES = 10
if "log" in sys.argv:
    PETSc.Log.begin()
vector = PETSc.Vec().createSeq(1)
event = PETSc.Log.Event("measured")


def in_petsc():
    set_to = vector.set
    for _ in range(N_ROUNDS):
        set_to(1.0)


def in_python():
    for _ in range(N_ROUNDS):
        with event:
            pass


def empty():
    for _ in range(N_ROUNDS):
        pass


print(json.dumps({"in PETSc": best_ns(in_petsc, N_ROUNDS, N_TRIES) - best_ns(empty, N_ROUNDS, N_TRIES), "in Python": best_ns(in_python, N_ROUNDS, N_TRIES) - best_ns(empty, N_ROUNDS, N_TRIES)}))
