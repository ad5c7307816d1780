# SPDX-License-Identifier: BSD-3-Clause
"""`allranks dump` on the screen: what its lines call regions, communicators, and what is moved through windows."""

from __future__ import annotations

import re

from harness import Sandbox

PROGRAM = """
import allranks
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
place, ones = np.zeros(8), np.ones(8)
for level in range(2):
    with allranks.region("assemble", level=level):
        pass
window = MPI.Win.Create(place, comm=world)
window.Fence()
if world.rank == 0:
    window.Put(ones, 1)
window.Fence()
if world.rank == 1:
    window.Get(place, 0)
window.Fence()
window.Free()
part = world.Split(0)
if world.rank == 0:
    part.Send(ones, 1, tag=7)
else:
    part.Recv(place, 0, tag=7)
"""


def lines(mpi: Sandbox, *options: str) -> list[str]:
    done = mpi.allranks("dump", "run.allranks", *options)
    assert (done.code, done.err) == (0, ""), done
    return done.out.splitlines()


def test_what_lines_call_things(one_mpi: Sandbox):
    (one_mpi.cwd / "moves.py").write_text(PROGRAM)
    done = one_mpi.recorded_ranks(2, "moves.py", options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    text = "\n".join(lines(one_mpi))
    assert re.search(r"rank 0 +put to 1 on window of 2 out 64 B$", text, re.MULTILINE), text
    assert re.search(r"rank 1 +get from 0 on window of 2 in 64 B$", text, re.MULTILINE), text
    assert re.search(r"rank 0 +send to 1 on split of 2 tag 7 out 64 B", text) and " on ?" not in text
    (pair,) = lines(one_mpi, "--pairs")
    assert re.search(r"rank 0 -> .* rank 1 +on split of 2 tag 7 64 B$", pair)
    assert [row.split(",")[-2:] for row in lines(one_mpi, "--pairs", "--csv")] == [["tag", "bytes"], ["7", "64"]]


def test_a_region_is_matched_without_its_parameters(one_mpi: Sandbox):
    (one_mpi.cwd / "regions.py").write_text(PROGRAM.split("window =")[0])
    done = one_mpi.recorded_ranks(1, "regions.py", options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    for pattern, levels in (("assemble", 2), ("assemble*", 2), ("assemble(level=1)", 1)):
        found = lines(one_mpi, "--match", pattern)
        assert len(found) == 2 * levels and all("assemble(level=" in line for line in found), (pattern, found)
    assert one_mpi.allranks("timeline", "run.allranks", "--match", "assemble").code == 0
    assert one_mpi.allranks("dump", "run.allranks", "--match", "assem").code == 2
