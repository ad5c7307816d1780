# SPDX-License-Identifier: BSD-3-Clause
"""Counted lines as .lprof files: what is in them, and that the viewers of line_profiler print them."""

from __future__ import annotations

from pathlib import Path

from harness import Sandbox
from line_files import line_profilers, read_lprof

PROGRAM = """\
import sys

def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

class A:
    def step(self):
        return work(1)

work(10)
work(100)
A().step()
"""
HITS = {3: {4: 3, 5: 114, 6: 111, 7: 3}, 10: {11: 1}}
LINES = ("-q", "-o", "run.allranks", "--lines", "work", "--lines", "*step")


def record(sandbox: Sandbox) -> None:
    (sandbox.cwd / "program.py").write_text(PROGRAM)
    done = sandbox.recorded("program.py", options=LINES)
    assert (done.code, done.err) == (0, ""), done


def test_a_file_has_the_counts(any_python: Sandbox):
    record(any_python)
    done = any_python.allranks("export", "run.allranks", "-f", "lprof")
    assert (done.code, done.out, done.err) == (0, "", "allranks: wrote run.lprof\n"), done
    stats = read_lprof(any_python.cwd / "run.lprof")
    assert stats.hits == HITS
    assert stats.names in ({"work", "A.step"}, {"work", "step"})  # before 3.11 code has no qualified name
    assert {name for name, _, _ in stats.timings} == {str(any_python.cwd / "program.py")}
    assert any_python.answer("export", "run.allranks", "-o", "other.lprof") == b""
    assert (any_python.cwd / "other.lprof").read_bytes() == (any_python.cwd / "run.lprof").read_bytes()


def test_every_viewer_prints_it(any_python: Sandbox):
    record(any_python)
    any_python.answer("export", "run.allranks", "-q", "-f", "lprof")
    ours = any_python.plain("-m", "allranks.compat.line_profiler", "-tmz", "run.lprof")
    assert (ours.code, ours.err) == (0, ""), ours
    assert "     6       111 " in ours.out and ours.out.startswith("Timer unit: 1e-06 s\n"), ours
    for version, python in line_profilers(any_python):
        theirs = any_python.run([python, "-m", "line_profiler", "-tmz", "run.lprof"])
        assert (theirs.code, theirs.out) == (0, ours.out), (version, theirs)


def test_without_lines_the_remedy_is_named(python: Sandbox):
    (python.cwd / "program.py").write_text(PROGRAM)
    python.recorded("program.py", options=("-q", "-o", "run.allranks"))
    done = python.allranks("export", "run.allranks", "-f", "lprof")
    assert (done.code, done.out) == (2, "") and "allranks run --lines GLOB" in done.err, done
    assert python.files() == {"program.py", "run.allranks"}


def test_ranks_are_summed_up_or_have_a_file_each(debian: Sandbox):
    program = "from mpi4py import MPI\ndef work(n):\n    for i in range(n):\n        pass\nwork(10 * (MPI.COMM_WORLD.rank + 1))\n"
    (debian.cwd / "ranks.py").write_text(program)
    done = debian.recorded_ranks(4, "ranks.py", options=("-q", "-o", "run.allranks", "--lines", "work"))
    assert done.code == 0, done
    debian.answer("export", "run.allranks", "-q", "-f", "lprof")
    assert read_lprof(debian.cwd / "run.lprof").hits == {2: {3: 104, 4: 100}}
    debian.answer("export", "run.allranks", "-q", "-f", "lprof", "--ranks", "1-2", "-o", "some.lprof")
    assert read_lprof(debian.cwd / "some.lprof").hits == {2: {3: 52, 4: 50}}
    debian.answer("export", "run.allranks", "-q", "-f", "lprof", "--rank", "3")
    debian.answer("export", "run.allranks", "-q", "-f", "lprof", "-o", "{{x}}.{rank}.lprof")
    for rank in range(4):
        n = 10 * (rank + 1)
        assert read_lprof(debian.cwd / f"{{x}}.{rank}.lprof").hits == {2: {3: n + 1, 4: n}}
    assert (debian.cwd / "run.3.lprof").read_bytes() == (debian.cwd / "{x}.3.lprof").read_bytes()
    done = debian.allranks("export", "run.allranks", "-f", "lprof", "--rank", "4")
    assert done.code == 2 and "there is no rank 4 in this run (it has ranks 0-3)" in done.err, done
    debian.answer("export", "run.allranks", "-q", "-f", "pstats", "-o", "cpu_{rank}.prof")
    assert {f"cpu_{rank}.prof" for rank in range(4)} <= debian.files()


def test_recover_makes_one(python: Sandbox):
    program = "import os, signal\ndef work(n):\n    for i in range(n):\n        pass\nwork(10)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    (python.cwd / "killed.py").write_text(program)
    assert python.recorded("killed.py", options=("-q", "--lines", "work")).code == -9
    (live,) = python.live_files()
    done = python.allranks("recover", live, "-o", "killed.lprof")
    assert done.code == 0, done
    assert read_lprof(python.cwd / "killed.lprof").hits == {2: {3: 11, 4: 10}}


def test_names_that_are_not_utf_8_can_be_printed(python: Sandbox):
    name = bytes(python.cwd / "caf") + b"\xe9.py"
    Path(name.decode(errors="surrogateescape")).write_text("def work():\n    return 1\nwork()\n")
    program = name.decode(errors="surrogateescape")
    done = python.recorded(program, options=("-q", "-o", "run.allranks", "--lines", "work"))
    assert done.code == 0, done
    python.answer("export", "run.allranks", "-q", "-f", "lprof")
    done = python.plain("-m", "allranks.compat.line_profiler", "run.lprof")
    assert (done.code, done.err) == (0, "") and "cannot be read here" in done.out, done
