# SPDX-License-Identifier: BSD-3-Clause
"""Lines: hits as the interpreter counts them, times as the program's own clock has them, on all ranks, and after a kill."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from harness import ROOT, Sandbox, settled, times_unlike, workload

LINED = workload("lined.py")
COUNTER = str(ROOT / "tests" / "e2e" / "line_counter.py")
TIMED = """
import json, sys, time
from time import perf_counter
log = {}
def note(line, begin):
    log[line] = log.get(line, 0) + perf_counter() - begin
def spin(seconds):
    end = perf_counter() + seconds
    while perf_counter() < end: pass
def work():
    for _ in range(5):
        t = perf_counter(); spin(0.010); note(12, t)
        t = perf_counter(); time.sleep(0.020); note(13, t)
        t = perf_counter(); spin(0.005); spin(0.005); note(14, t)
def down(n):
    t = perf_counter(); spin(0.004); note(16, t)
    if n: down(n - 1)
work()
down(9)
with open("log.json", "w") as file: json.dump(log, file)
"""
PLANTED = """
import sys
from time import perf_counter
from mpi4py import MPI
WORLD = MPI.COMM_WORLD; rank = WORLD.rank
def spin(seconds):
    end = perf_counter() + seconds
    while perf_counter() < end: pass
def step():
    spin(0.02 * (rank+1))
    WORLD.Barrier()
for _ in range(5): step()
"""
KILLED = """
import os, signal
def work(n):
    for i in range(n):
        i += 1
work(1000)
os.kill(os.getpid(), signal.SIGKILL)
"""
DECORATED = """
import allranks
class C:
    @allranks.lines
    def method(self, n):
        for i in range(n):
            n += 1
        return n
    @staticmethod
    @allranks.lines
    def static():
        return 1
    @allranks.lines
    @classmethod
    def of_class(cls):
        return 2
    @allranks.lines
    @property
    def value(self):
        return 3
@allranks.lines
def plain(): return C().method(5)
def other(): return 4
assert allranks.lines(len) is len
assert C.__dict__["of_class"].__func__.__code__.co_name == "of_class"
print(plain(), C.static(), C.of_class(), C().value, other())
"""
STRETCHED = """
import time
from time import perf_counter
log = 0.0
def mark(): pass
def work(n):
    global log
    for i in range(n):
        mark()
        t = perf_counter()
        x = 0
        for k in range(2000): x += k
        log += perf_counter() - t
        mark()
work(400)
print(log)
"""
RECURSIVE = """
import time
def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end: pass
def f(n):
    busy(0.01)
    if n: g(n - 1)
def g(n):
    busy(0.03)
    if n: f(n - 1)
def walk(n):
    busy(0.01)
    return 1 + sum(walk(n - 1) for _ in range(1 if n else 0))
f(9)
walk(9)
"""
GENERATORS = """
import time
def busy(value, seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end: pass
def gen(is_slow):
    if is_slow:
        while True:
            b = busy((yield), 0.03)
    else:
        while True:
            a = busy((yield), 0.0)
def main():
    fast, slow = gen(False), gen(True)
    for _ in range(5):
        for each in (fast, slow): next(each)
main()
"""
PAUSED = """
import allranks
def g(n):
    x = n
    return x
def f():
    a = 0
    with allranks.paused():
        for i in range(1000):
            a += i
        g(1)
    g(2)
    for i in range(500):
        a += i
    return a
f()
"""
TRACED = """
import sys
seen = []
def tracer(frame, event, argument):
    seen.append((frame.f_code.co_name, event, frame.f_lineno - frame.f_code.co_firstlineno))
    return tracer
def f(n):
    n += 1
    return n
def g():
    f(1)
    sys.settrace(tracer)
    f(2)
    sys.settrace(None)
    f(3)
before = sys.gettrace()
g()
print(before, sys.gettrace(), seen)
"""


def lines_of(sandbox: Sandbox, run: str | Path, *options: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sandbox.answer("lines", "--csv", run, *options).decode())))


def hits_of(rows: list[dict[str, str]], name: str) -> dict[int, int]:
    """Of the whole file, whichever function a line is in."""
    hits: Counter[int] = Counter()
    for row in rows:
        if row["file"].endswith(name) and row["hits"]:
            hits[int(row["line"])] += int(row["hits"])
    return {line: n for line, n in hits.items() if n}


def seconds_of(rows: list[dict[str, str]], column: str = "time_ns") -> dict[int, float]:
    return {int(row["line"]): int(row[column]) / 1e9 for row in rows if row["line"] == row["last_line"]}


def written(sandbox: Sandbox, name: str, text: str) -> str:
    (sandbox.cwd / name).write_text(text)
    return name


# ---- counted lines ----


def test_hits_are_those_of_the_interpreter(any_python: Sandbox):
    assert any_python.plain(COUNTER, "expected.json", LINED).code == 0
    expected = {int(line): n for line, n in any_python.read_json("expected.json").items()}
    done = any_python.recorded(LINED, options=("--lines", "lined.py:*"))
    assert done.code == 0, done
    assert hits_of(lines_of(any_python, "lined.allranks"), "lined.py") == expected
    assert (expected[12], expected[13], expected[23]) == (101, 100, 21 + 4 * 10 * 4)  # it counts what is meant


def test_only_what_was_chosen_is_counted(python: Sandbox):
    done = python.recorded(LINED, options=("--lines", "loop_*", "--lines", "lined.py:recursion"))
    assert done.code == 0, done
    counted = {row["function"] for row in lines_of(python, "lined.allranks") if row["counted"] == "1"}
    assert counted == {"loop_100", "recursion"}


def test_times_are_those_of_the_program(python: Sandbox):
    script = written(python, "timed.py", TIMED)

    def look() -> dict[str, str]:
        assert python.recorded(script, options=("--lines", "work", "--lines", "down", "-o", "timed.allranks")).code == 0
        found = {str(line): s for line, s in seconds_of(lines_of(python, "timed.allranks")).items()}
        (python.cwd / "timed.allranks").unlink()
        return times_unlike(found, python.read_json("log.json"))

    assert settled(look) == {}


def test_in_recursion_lines_add_up_to_the_time(python: Sandbox):
    script = written(python, "timed.py", TIMED)
    assert python.recorded(script, options=("--lines", "down")).code == 0
    rows = [row for row in lines_of(python, "timed.allranks") if row["function"] == "down"]
    table = csv.DictReader(io.StringIO(python.answer("report", "--functions", "--csv", "timed.allranks").decode()))
    whole = next(int(row["time_ns"]) for row in table if row["name"] == "down")
    assert sum(int(row["time_ns"]) for row in rows) == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize("options", [(), ("--lines", "recursive.py:*")], ids=["", "counted"])
def test_in_recursion_time_counts_once(any_python: Sandbox, options: tuple[str, ...]):
    """In a Python function, in mutual recursion, and through a generator expression."""
    script = written(any_python, "recursive.py", RECURSIVE)
    assert any_python.recorded(script, options=options).code == 0
    rows = lines_of(any_python, "recursive.allranks", "recursive.py")
    spun = sum(int(row["here_ns"]) for row in rows if row["function"] == "busy") / 1e9
    others = sum(int(row["here_ns"]) for row in rows if row["function"] in ("f", "g", "walk")) / 1e9
    assert spun == pytest.approx(0.3, rel=0.1) and others < 0.03, rows


def test_a_generator_goes_on_where_it_was(any_python: Sandbox):
    script = written(any_python, "generators.py", GENERATORS)
    assert any_python.recorded(script, options=("--lines", "gen")).code == 0
    rows = {int(row["line"]): row for row in lines_of(any_python, "generators.allranks", "gen") if row["counted"] == "1"}
    assert int(rows[9]["time_ns"]) >= 4 * 0.03e9 > 10 * int(rows[12]["time_ns"]), rows


def test_a_pause_counts_no_lines(any_python: Sandbox):
    script = written(any_python, "pauses.py", PAUSED)
    assert any_python.recorded(script, options=("--lines", "pauses.py:f", "--lines", "pauses.py:g")).code == 0
    found = hits_of(lines_of(any_python, "pauses.allranks"), "pauses.py")
    assert (found[4], found[13], found[14]) == (1, 501, 500) and not {9, 10, 11} & set(found), found


def test_ranks_with_planted_differences(one_mpi: Sandbox):
    script = written(one_mpi, "planted.py", PLANTED)
    done = one_mpi.recorded_ranks(4, script, options=("--lines", "planted.py:step"))
    assert done.code == 0, done
    rows = {int(row["line"]): row for row in lines_of(one_mpi, "planted.allranks") if row["function"] == "step"}
    assert {line: int(row["hits"]) for line, row in rows.items()} == {10: 20, 11: 20}
    assert (rows[10]["time_min_rank"], rows[10]["time_max_rank"]) == ("0", "3")
    assert int(rows[10]["time_max_ns"]) >= 5 * 0.08e9 and int(rows[10]["time_min_ns"]) >= 5 * 0.02e9
    assert (rows[11]["mpi_min_rank"], rows[11]["mpi_max_rank"]) == ("3", "0")
    assert int(rows[11]["mpi_max_ns"]) > 0.2e9
    screen = one_mpi.answer("lines", "planted.allranks", "step").decode()
    assert "WORLD.Barrier()" in screen and "(3)" in screen, screen
    only = lines_of(one_mpi, "planted.allranks", "--rank", "2")
    assert {row["hits"] for row in only if row["function"] == "step"} == {"5"}


def test_killed(python: Sandbox):
    script = written(python, "killed.py", KILLED)
    assert python.recorded(script, options=("--lines", "work")).code == -9
    recovered = python.allranks("recover", python.live, "-o", "recovered.allranks")
    assert recovered.code == 0, recovered
    rows = hits_of([row for row in lines_of(python, "recovered.allranks") if row["function"] == "work"], "killed.py")
    assert rows == {4: 1001, 5: 1000}


@pytest.mark.parametrize("is_recorded", [True, False])
def test_the_decorator(any_python: Sandbox, is_recorded: bool):
    script = written(any_python, "decorated.py", DECORATED)
    done = any_python.recorded(script) if is_recorded else any_python.plain(script)
    assert (done.code, done.out) == (0, "10 1 2 3 4\n"), done
    if is_recorded:
        assert hits_of(lines_of(any_python, "decorated.allranks"), "decorated.py") == {
            6: 6, 7: 5, 8: 1, 12: 1, 16: 1, 20: 1, 22: 1,
        }  # fmt: skip


def test_forked_children_count_their_own(python: Sandbox):
    script = written(python, "forks.py", "import os\ndef f(n):\n    for i in range(n):\n        n += 0\n    if n == 10:\n        pid = os.fork()\n"
                     "        f(100)\n        os._exit(0) if pid == 0 else os.waitpid(pid, 0)\nf(10)\n")  # fmt: skip
    done = python.recorded(script, options=("--lines", "f"))
    assert done.code == 0, done
    assert hits_of(lines_of(python, "forks.allranks"), "forks.py")[4] == 10 + 2 * 100


# ---- no harm ----


def test_the_programs_own_tracing_works(any_python: Sandbox):
    script = written(any_python, "traced.py", TRACED)
    plain = any_python.plain(script)
    done = any_python.recorded(script, options=("--lines", "traced.py:*", "-q"))
    assert (done.code, done.out, done.err) == (0, plain.out, plain.err)


def test_recursion_is_as_deep(any_python: Sandbox):
    script = written(any_python, "deep.py", "import sys\ndef f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n        return n\nprint(f(0))\n")
    plain = any_python.plain(script)
    done = any_python.recorded(script, options=("--lines", "f", "-q"))
    assert done.code == 0 and abs(int(done.out) - int(plain.out)) <= 3, (done, plain)


def test_an_exception_looks_the_same(any_python: Sandbox):
    script = written(any_python, "fails.py", "def f(n):\n    if n == 0:\n        raise ValueError('planted')\n    f(n - 1)\nf(5)\n")
    plain = any_python.plain(script)
    done = any_python.recorded(script, options=("--lines", "fails.py:*", "-q"))
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err)


# ---- every run ----


def test_time_between_calls_is_between_their_lines(any_python: Sandbox):
    script = written(any_python, "stretched.py", STRETCHED)

    def look() -> dict[str, str]:
        done = any_python.recorded(script, options=("-o", "stretched.allranks", "-q", "--builtins", "none"))
        assert done.code == 0, done
        between, *_ = lines_of(any_python, "stretched.allranks", "work")
        (any_python.cwd / "stretched.allranks").unlink()
        assert (between["line"], between["last_line"]) == ("9", "14"), between
        error = int(between["own_error_ns"]) / 1e9
        return times_unlike({"own": int(between["own_ns"]) / 1e9}, {"own": float(done.out)}, rel=0.05, abs_s=3 * error)

    assert settled(look) == {}


def test_the_report_names_the_hot_line(one_mpi: Sandbox):
    script = written(one_mpi, "planted.py", PLANTED)
    assert one_mpi.recorded_ranks(2, script).code == 0
    screen = one_mpi.answer("report", "planted.allranks").decode()
    assert "planted.py:6 >8" in screen and ">N hottest line" in screen
    assert "planted.py:6 spin (hot line" in " ".join(screen.split())
    hottest = lines_of(one_mpi, "planted.allranks")[0]
    assert (hottest["function"], hottest["line"]) == ("spin", "8")


# ---- commands ----


def test_auto_takes_the_hottest_functions(python: Sandbox):
    first = python.recorded("-c", "pass", options=("--lines", "auto"))
    assert first.code == 2 and "there is no command.allranks of a run before" in first.err
    assert python.recorded(LINED).code == 0
    assert python.recorded(LINED, options=("--lines", "auto")).code == 0
    counted = {(row["function"], row["file"]) for row in lines_of(python, "lined-2.allranks") if row["counted"] == "1"}
    assert 1 <= len(counted) <= 10
    done = python.recorded(LINED, options=("--lines", "auto:lined.allranks", "-o", "again.allranks"))
    assert done.code == 0
    missing = python.recorded(LINED, options=("--lines", "auto:nothing.allranks"))
    assert missing.code == 2 and missing.err.startswith("allranks: error: nothing.allranks: ")


def test_source_that_is_not_there(python: Sandbox):
    script = written(python, "gone.py", "def work():\n    return sorted(range(100000))\nfor _ in range(20): work()\n")
    assert python.recorded(script).code == 0
    (python.cwd / "gone.py").unlink()
    screen = python.answer("lines", "gone.allranks", "work").decode()
    assert "gone.py is not here: only numbers of lines are shown" in screen and "sorted" not in screen
    unknown = python.allranks("lines", "gone.allranks", "nobody")
    assert unknown.code == 2 and "no lines of nobody are known" in unknown.err


def test_hostile_source_is_harmless(python: Sandbox):
    script = written(python, "odd.py", "def work():\n    x = '\x1b[31m\t\x07'; return sorted(range(100000))\nfor _ in range(20): work()\n")
    assert python.recorded(script).code == 0
    screen = python.answer("lines", "odd.allranks", "work")
    assert b"\x1b" not in screen and b"\x07" not in screen and b"'?[31m    ?'" in screen


def test_json(python: Sandbox):
    assert python.recorded(LINED, options=("--lines", "loop_100")).code == 0
    tables = json.loads(python.answer("lines", "--json", "lined.allranks", "loop_100"))
    rows = tables["lines"]
    assert {row["function"] for row in rows} == {"loop_100"} and sum(row["hits"] or 0 for row in rows) > 300
