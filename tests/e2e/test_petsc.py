# SPDX-License-Identifier: BSD-3-Clause
"""Stages and events of PETSc's log, against what PETSc's own table says of the same run."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Sandbox, settled, times_unlike, workload
from readings import Node
from test_counters import reason_against

PROGRAM = workload("petsc_events.py")
LINE_OF_SOLVE = Path(PROGRAM).read_text().splitlines().index("    solver.solve(b, x)") + 1
QUIET = ("-q", "-o", "run.allranks")
# In a solve by conjugate gradients with Jacobi's preconditioner.
OF_PETSC = (
    "KSPSolve", "KSPSetUp", "PCSetUp", "PCApply", "MatMult", "MatAssemblyBegin", "MatAssemblyEnd", "VecTDot", "VecNorm", "VecAXPY",
    "VecAYPX", "VecSet", "VecCopy", "VecPointwiseMult",
)  # fmt: skip
METRICS = {"petsc_flops": "flops", "petsc_messages": "numMessages", "petsc_message_bytes": "messageLength", "petsc_reductions": "numReductions"}
STAGES = {"assemble all": 1, "solve all": 1, "within": 3}

HEAD = """
import glob, sys
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")
import petsc4py
petsc4py.init([sys.argv[0], *OPTIONS])
from petsc4py import PETSc
import allranks
"""


# ---- PETSc's table ----

LINE = re.compile(
    r"(?P<name>\S.*?) +(?P<count>\d+) +\d\.\d ?(?P<time>\d\.\d{4}e[+-]\d+) +\d+\.\d (?P<flops>\d\.\d\de[+-]\d+) +\d+\.\d "
    r"(?P<rest>\S+ +\S+ +\S+) "
)


def table_of(out: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Of each stage and event: count, flops, messages, average length and reductions, as they are written."""
    found = {}
    stage = ""
    for line in out.splitlines():
        begins = re.match(r"--- Event Stage \d+: (.*)", line)
        if begins:
            stage = begins[1]
        row = LINE.match(line)
        if row and stage:
            found[stage, row["name"]] = (row["count"], row["flops"], *row["rest"].split())
    return found


def counts_of(out: str) -> dict[str, int]:
    """Over all stages."""
    found: dict[str, int] = {}
    for (_, name), (count, *_) in table_of(out).items():
        found[name] = found.get(name, 0) + int(count)
    return {name: n for name, n in found.items() if n}


# ---- what was recorded ----


class Regions:
    """By name, of one rank or of all, of calls that are not inside themselves."""

    def __init__(self, sandbox: Sandbox, *options: str, path: str = "run.allranks") -> None:
        answer = json.loads(sandbox.answer("report", "--json", path, *options))
        self.nodes = {row["id"]: row for row in answer["tree"]}
        self.calls: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.work: dict[tuple[str, str], int] = {}
        for row in answer["tree"]:
            if row["kind"] == "region" and not self.is_inside_itself(row):
                name = row["function"]
                self.calls[name] = self.calls.get(name, 0) + row["calls"]
                self.seconds[name] = self.seconds.get(name, 0) + row["time_ns"]["sum"] / 1e9
        for row in answer["tree_metrics"]:
            node = self.nodes[row["node"]]
            if not self.is_inside_itself(node):
                key = (node["function"], row["metric"])
                self.work[key] = self.work.get(key, 0) + row["value"]
        self.done = {key: value for key, value in self.work.items() if value}

    def is_inside_itself(self, row: dict[str, Any]) -> bool:
        above = row["parent"]
        while above is not None:
            if (self.nodes[above]["kind"], self.nodes[above]["function"]) == (row["kind"], row["function"]):
                return True
            above = self.nodes[above]["parent"]
        return False


def record(debian: Sandbox, n_ranks: int, *words: str, options: tuple[str, ...] = (), **how) -> Done:
    (debian.cwd / "run.allranks").unlink(missing_ok=True)
    done = debian.recorded_ranks(n_ranks, PROGRAM, *words, options=(*QUIET, *options), **how)
    assert done.code == 0, done
    return done


def record_text(debian: Sandbox, text: str, *options: str, petsc: tuple[str, ...] = (), code: int = 0, **how) -> Done:
    """Without MPI's launcher."""
    (debian.cwd / "program.py").write_text(HEAD.replace("OPTIONS", repr(list(petsc))) + textwrap.dedent(text))
    (debian.cwd / "run.allranks").unlink(missing_ok=True)
    plain = debian.plain("program.py", **how)
    done = debian.recorded("program.py", options=(*QUIET, *options), **how)
    assert (done.code, done.err) == (plain.code, plain.err) and done.code == code, (plain, done)
    if not petsc and "--petsc-log" not in options:
        assert done.out == plain.out, (plain, done)
    return done


# ---- events are PETSc's ----


def unlike_truth(debian: Sandbox, rank: int) -> dict[str, str]:
    """Counts and work are asserted; times are returned."""
    truth = debian.read_json(f"truth-{rank}.json")
    found = Regions(debian, "--ranks", str(rank))
    assert {name: found.calls.get(name, 0) for name in truth} == {name: row["count"] for name, row in truth.items()}
    for metric, key in METRICS.items():
        assert {name: found.work.get((name, metric), 0) for name in truth} == {name: row[key] for name, row in truth.items()}, metric
    assert {name: found.calls.get(name) for name in STAGES} == STAGES
    return times_unlike(found.seconds, {name: row["time"] for name, row in truth.items()}, rel=0.1)


@pytest.mark.parametrize("n_ranks", [1, 2, 4])
def test_events_are_those_of_petscs_table(debian: Sandbox, n_ranks: int):
    def look() -> dict[str, str]:
        done = record(debian, n_ranks, *OF_PETSC, "--", "-log_view")
        table = counts_of(done.out)
        found = Regions(debian)
        assert set(OF_PETSC) <= set(table), done.out
        assert {name: found.calls.get(name, 0) for name in table} == {name: n_ranks * n for name, n in table.items()}
        assert set(found.calls) == {*table, *STAGES}
        wrong = {}
        for rank in range(n_ranks):
            wrong.update({f"{name} on rank {rank}": how for name, how in unlike_truth(debian, rank).items()})
        return wrong

    assert not settled(look)
    assert "petsc-log  recorded" in debian.answer("info", "run.allranks").decode()
    assert "--petsc-log" not in debian.answer("report", "run.allranks").decode()


def test_petscs_table_is_the_same(debian: Sandbox):
    plain = debian.plain_ranks(2, PROGRAM, "--", "-log_view")
    done = record(debian, 2, "--", "-log_view")
    assert table_of(done.out) == table_of(plain.out)
    assert len(table_of(plain.out)) > 20
    assert sorted(line for line in done.out.splitlines() if line.endswith(" True")) == sorted(
        line for line in plain.out.splitlines() if line.endswith(" True"))  # fmt: skip


def test_regions_are_where_the_program_is(debian: Sandbox):
    record(debian, 1, "--", "-log_view")
    report = debian.report("run.allranks")
    paths = {tuple(node.path[-2:]) for node in report.nodes if node.kind == "region"}
    assert ("KSPSolve", "PCApply") in paths and ("PCApply", "VecPointwiseMult") in paths
    assert ("run", "sleeping") not in paths and ("sleeps", "sleeping") in paths
    assert ("begin_elsewhere", "crossing") in paths and ("run", "crossing") in paths
    assert any(node.name == "in_between" and "crossing" in node.path for node in report.nodes)
    (solve,) = [node for node in report.named("KSPSolve") if node.kind == "region"]
    assert "solve" in solve.path and "solve all" in solve.path and solve["line"] == LINE_OF_SOLVE
    for name in ("decorated", "unnamed"):
        assert all(node.parent and node.parent.kind == "region" for node in report.named(name)), name


def test_mpi_calls_are_in_events(debian: Sandbox):
    record(debian, 2, "--", "-log_view")
    report = debian.report("run.allranks")
    in_dots = [node for node in report.nodes if node.name == "MPI_Allreduce" and node.parent and node.parent.name == "VecTDot"]
    dots = sum(node["calls"] for node in report.named("VecTDot"))
    assert sum(node["calls"] for node in in_dots) == dots > 0


# ---- when is it on ----


def test_off_unless_it_is_asked_for(debian: Sandbox):
    """But stages can be pushed at any time, and change nothing."""
    done = record(debian, 1)
    assert done.out == debian.plain_ranks(1, PROGRAM).out and done.out.endswith(" False\n")
    assert Regions(debian).calls == STAGES
    said = debian.answer("report", "run.allranks").decode()
    assert "PETSc's events are not recorded (try: allranks run --petsc-log)" in said.splitlines()


def test_a_program_without_petsc_is_told_nothing(debian: Sandbox):
    (debian.cwd / "program.py").write_text("print(1)\n")
    assert debian.recorded("program.py", options=(*QUIET, "--petsc-log")).out == "1\n"
    assert b"PETSc" not in debian.answer("report", "run.allranks")
    assert b"\npetsc" not in debian.answer("info", "run.allranks")


ASKED = {
    "option": (("--petsc-log",), {}),
    "drop-in": (("--as", "pyop2"), {}),
    "summary": ((), {"PYOP2_PRINT_SUMMARY": "1"}),
    "environment": ((), {"PETSC_OPTIONS": "-log_view :petsc.log"}),
}


@pytest.mark.parametrize("asked", ASKED)
def test_on_if_it_is_asked_for(debian: Sandbox, asked: str):
    options, env = ASKED[asked]
    done = record(debian, 2, *OF_PETSC, options=options, env=env)
    assert [line.split()[1] for line in done.out.splitlines()] == ["True"] * 2
    for rank in range(2):
        unlike_truth(debian, rank)
    assert b"--petsc-log" not in debian.answer("report", "run.allranks")


@pytest.mark.parametrize("value", ["0", "", "yes"])
def test_a_summary_that_is_not_wanted(debian: Sandbox, value: str):
    done = record(debian, 1, env={"PYOP2_PRINT_SUMMARY": value})
    assert done.out.endswith(" False\n")


def test_the_program_switches_it_on_itself(debian: Sandbox):
    done = record_text(debian, """
        event = PETSc.Log.Event("mine")
        with event:
            pass
        print(PETSc.Log.isActive())
        PETSc.Log.begin()
        print(PETSc.Log.isActive())
        for _ in range(5):
            with event:
                PETSc.Log.logFlops(2)
        print(event.getPerfInfo()["count"])
        PETSc.Log.begin()
        with event:
            pass
        print(event.getPerfInfo()["count"])
    """)  # fmt: skip
    assert done.out == "False\nTrue\n5\n6\n"
    found = Regions(debian)
    assert found.calls == {"mine": 6} and found.work["mine", "petsc_flops"] == 10


def test_a_view_in_between(debian: Sandbox):
    """While it prints, PETSc takes all stages off. Until 3.19 it does not put them on again."""
    text = """
        stage = PETSc.Log.Stage("outer stage")
        with stage:
            with PETSc.Log.Event("before"):
                pass
            if PETSc.Sys.getVersion() >= (3, 20):
                PETSc.Log.view()
            with PETSc.Log.Event("after"):
                pass
        PETSc.Log.view()
    """
    done = record_text(debian, text, "--petsc-log", petsc=("-log_view", ":petsc.log"))
    assert "outer stage" in done.out
    assert {name: n for name, n in Regions(debian).calls.items() if name in ("outer stage", "before", "after")} == {"outer stage": 1, "before": 1, "after": 1}
    nodes = debian.report("run.allranks").named("after")
    assert all("outer stage" in node.path for node in nodes)


# ---- awkward programs ----


def test_a_rank_that_is_not_recorded(debian: Sandbox):
    """Its logging is off, and that of the other is on: PETSc's ranks still agree on what they count together."""
    plain = debian.plain_ranks(2, PROGRAM)
    words = debian.ranks(1, *debian.recorder("-q", "--petsc-log"), PROGRAM)
    done = debian.run([*words, ":", "-n", "1", debian.stack.python, PROGRAM])
    results = {line.split()[0] for line in plain.out.splitlines()}
    assert done.code == 0 and sorted(line.split()[1] for line in done.out.splitlines()) == ["False", "True"], done
    assert {line.split()[0] for line in done.out.splitlines()} == results


def test_exceptions(debian: Sandbox):
    record_text(debian, """
        def fails():
            raise ValueError("on purpose")
        def goes_on():
            pass
        decorated = PETSc.Log.EventDecorator("decorated")(fails)
        for _ in range(3):
            try:
                decorated()
            except ValueError:
                goes_on()
            try:
                with PETSc.Log.Event("block"):
                    fails()
            except ValueError:
                goes_on()
        print(PETSc.Log.Event("block").id > 0)
        goes_on()
        raise KeyError("the end")
    """, "--petsc-log", code=1)  # fmt: skip
    found = Regions(debian)
    assert found.calls == {"decorated": 3, "block": 3}
    for node in debian.report("run.allranks").named("goes_on"):
        assert all(above.kind != "region" for above in node.ancestors), node.path


def test_an_error_within_an_event_of_petsc(debian: Sandbox):
    """PETSc never ends the events that were open then."""
    record_text(debian, """
        class Fails:
            def mult(self, matrix, x, y):
                if self.fails:
                    raise ValueError("on purpose")
                x.copy(y)
        context = Fails()
        matrix = PETSc.Mat().createPython([10, 10], context, comm=PETSc.COMM_SELF)
        matrix.setUp()
        solver = PETSc.KSP().create(PETSc.COMM_SELF)
        solver.setOperators(matrix)
        solver.setType("cg")
        solver.getPC().setType("none")
        b = PETSc.Vec().createSeq(10)
        b.set(1.0)
        x = b.duplicate()
        def solve():
            try:
                solver.solve(b, x)
            except Exception as error:
                print(type(error).__name__)
        def after_it():
            b.norm()
        for fails in (True, False, True):
            context.fails = fails
            solve()
            after_it()
    """, "--petsc-log")  # fmt: skip
    found = Regions(debian)
    assert found.calls["KSPSolve"] == 3
    report = debian.report("run.allranks")
    (node,) = report.named("after_it")
    assert all(above.kind != "region" for above in node.ancestors), node.path
    assert all(each.parent.name in ("norm", "after_it") for each in report.named("VecNorm") if "after_it" in each.path)
    assert debian.info("run.allranks").lost == 0


def test_a_killed_program(debian: Sandbox):
    (debian.cwd / "program.py").write_text(HEAD.replace("OPTIONS", "[]") + textwrap.dedent("""
        import os, signal
        for _ in range(7):
            with PETSc.Log.Event("done"):
                PETSc.Log.logFlops(11)
        PETSc.Log.Stage("open stage").push()
        PETSc.Log.Event("open").begin()
        os.kill(os.getpid(), signal.SIGKILL)
    """))
    done = debian.recorded("program.py", options=(*QUIET, "--petsc-log"))
    assert done.code == -9, done
    recovered = debian.allranks("recover", debian.live, "-o", "run.allranks")
    assert recovered.code == 0, recovered
    found = Regions(debian)
    assert found.calls == {"done": 7, "open stage": 1, "open": 1}
    assert found.done == {("done", "petsc_flops"): 77}
    assert found.work["done", "petsc_messages"] == 0  # known, and none


def test_fork(debian: Sandbox):
    """What the parent had done when it forked is the parent's."""
    record_text(debian, """
        import os, warnings
        warnings.simplefilter("ignore")  # PETSc may have started threads
        event, inner = PETSc.Log.Event("forks"), PETSc.Log.Event("inner")
        with event:
            PETSc.Log.logFlops(100)
            child = os.fork()
            if child == 0:
                with inner:
                    PETSc.Log.logFlops(10)
            else:
                os.waitpid(child, 0)
        if child == 0:
            with inner:
                pass
            os._exit(0)
        with inner:
            PETSc.Log.logFlops(1)
    """, "--petsc-log")  # fmt: skip
    found = Regions(debian)
    assert found.calls == {"forks": 1, "inner": 3}
    assert found.done == {("forks", "petsc_flops"): 110, ("inner", "petsc_flops"): 11}


def test_pauses(debian: Sandbox):
    record_text(debian, """
        event, crossing = PETSc.Log.Event("event"), PETSc.Log.Event("crossing")
        def goes_on():
            pass
        with event:
            pass
        with allranks.paused():
            with event:
                with event:
                    pass
            crossing.begin()
        crossing.end()
        crossing.begin()
        with allranks.paused():
            crossing.end()
        goes_on()
        with event:
            pass
    """, "--petsc-log")  # fmt: skip
    assert {name: n for name, n in Regions(debian).calls.items() if name != "(paused)"} == {"event": 2, "crossing": 1}
    (node,) = debian.report("run.allranks").named("goes_on")
    assert all(above.kind != "region" for above in node.ancestors), node.path
    assert debian.info("run.allranks").lost == 0


def test_threads(debian: Sandbox):
    """PETSc may be called by any thread, one at a time."""
    record_text(debian, """
        import threading
        event = PETSc.Log.Event("in a thread")
        def work():
            for _ in range(3):
                with event:
                    PETSc.Log.logFlops(4)
        for _ in range(2):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        with event:
            pass
    """, "--petsc-log")  # fmt: skip
    found = Regions(debian)
    assert found.calls == {"in a thread": 7} and found.done == {("in a thread", "petsc_flops"): 24}
    nodes: list[Node] = debian.report("run.allranks").named("in a thread")
    assert sum(node["calls"] for node in nodes if "work" in node.path) == 6


def test_many_events_and_names(debian: Sandbox):
    record_text(debian, """
        events = [PETSc.Log.Event(f"event {number} é") for number in range(2000)]
        for event in events:
            with event:
                pass
        stages = [PETSc.Log.Stage(f"stage {number}") for number in range(20)]
        for stage in stages:
            with stage:
                pass
        with PETSc.Log.Event("first"):
            PETSc.Log.Event("never ended").begin()
        with PETSc.Log.Event("x" * 400):
            pass
    """, "--petsc-log")  # fmt: skip
    found = Regions(debian)
    assert all(found.calls[f"event {number} é"] == 1 for number in range(2000))
    assert all(found.calls[f"stage {number}"] == 1 for number in range(20))
    assert found.calls["never ended"] == 1 and found.calls["x" * 255] == 1


def test_selection_by_region(debian: Sandbox):
    record(debian, 2, "--", "-log_view")
    names = {node["function"] for node in Regions(debian, "--region", "MatMult").nodes.values() if node["kind"] == "region"}
    assert "MatMult" in names and "VecScatterBegin" in names and "VecTDot" not in names


def test_a_module_that_knows_nothing_of_options(debian: Sandbox):
    """PETSc is begun by importing it."""
    (debian.cwd / "program.py").write_text(textwrap.dedent("""
        import glob, sys
        sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")
        from petsc4py import PETSc
        with PETSc.Log.Event("event"):
            print(PETSc.Log.isActive())
    """))
    done = debian.recorded("program.py", options=(*QUIET, "--petsc-log"))
    assert (done.out, done.err, done.code) == ("True\n", "", 0), done
    assert Regions(debian).calls == {"event": 1}


# ---- PyOP2 ----

PARLOOP = """
import glob, sys
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")
import numpy
import petsc4py
petsc4py.init([])
from mpi4py import MPI
from petsc4py import PETSc

rank, size = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
halo = PETSc.SF().create()
halo.setGraph(1, None, [((rank + 1) % size, 0)])
own, copy = numpy.full(1, rank, "d"), numpy.zeros(1)

@PETSc.Log.EventDecorator("ParLoopRednBegin")
def reduction_begin():
    pass

@PETSc.Log.EventDecorator("ParLoopRednEnd")
def reduction_end():
    PETSc.COMM_WORLD.tompi4py().allreduce(1)

def compute(kernel):
    with PETSc.Log.Event(f"Parloop_cells_{kernel}"):
        PETSc.Log.logFlops(1000)

@PETSc.Log.EventDecorator("ParLoopExecute")
def par_loop():
    halo.bcastBegin(MPI.DOUBLE, own, copy, MPI.REPLACE)
    compute("wrap_mass")
    halo.bcastEnd(MPI.DOUBLE, own, copy, MPI.REPLACE)
    reduction_begin()
    reduction_end()

for _ in range(6):
    par_loop()
print(copy[0] == (rank + 1) % size)
"""


def test_what_pyop2_times_by_itself(debian: Sandbox):
    """Its parallel loop, as its source has it since 2016."""
    (debian.cwd / "program.py").write_text(PARLOOP)
    done = debian.recorded_ranks(2, "program.py", options=(*QUIET, "--as", "pyop2"))
    assert (done.out, done.err, done.code) == ("True\nTrue\n", "", 0), done
    found = Regions(debian)
    timers = ("ParLoopExecute", "Parloop_cells_wrap_mass", "ParLoopRednBegin", "ParLoopRednEnd", "SFBcastBegin", "SFBcastEnd")
    assert {name: found.calls.get(name) for name in timers} == dict.fromkeys(timers, 2 * 6)
    assert found.work["ParLoopExecute", "petsc_flops"] == found.work["Parloop_cells_wrap_mass", "petsc_flops"] == 2 * 6 * 1000
    report = debian.report("run.allranks")
    assert all("ParLoopExecute" in node.path for node in report.named(*timers[1:]))
    assert any(node["line"] == 25 for node in report.mpi("MPI_Allreduce", "reduction_end")) or report.named("Comm.allreduce")


def test_a_program_that_prints_the_table_itself(debian: Sandbox):
    text = HEAD.replace("OPTIONS", "[]") + textwrap.dedent("""
        PETSc.Log.begin()
        vector = PETSc.Vec().createMPI(20)
        with PETSc.Log.Stage("a stage"):
            for _ in range(5):
                vector.set(1.0)
                vector.scale(2.0)
        PETSc.Log.view()
    """)
    (debian.cwd / "program.py").write_text(text)
    plain = debian.plain_ranks(2, "program.py")
    for options in ((), ("--petsc-log",)):
        (debian.cwd / "run.allranks").unlink(missing_ok=True)
        done = debian.recorded_ranks(2, "program.py", options=(*QUIET, *options))
        assert (done.code, done.err) == (0, ""), done
        assert table_of(done.out) == table_of(plain.out) and counts_of(plain.out)["VecScale"] == 5
        assert Regions(debian).calls["VecScale"] == 10 and Regions(debian).calls["a stage"] == 2


@pytest.mark.skipif(reason_against() != "", reason=f"page-faults: {reason_against()}")
def test_counters_of_events(debian: Sandbox):
    record_text(debian, """
        import mmap
        touches, stage = PETSc.Log.Event("touches"), PETSc.Log.Stage("a stage")
        with PETSc.Log.Event("first"), PETSc.Log.Stage("first stage"):
            pass
        with touches, stage:
            fresh = mmap.mmap(-1, 200 * 4096)
            for page in range(200):
                fresh[page * 4096] = 1
        vector = PETSc.Vec().createSeq(10)
        vector.set(1.0)
    """, "--petsc-log", "--counters", "page-faults")  # fmt: skip
    found = Regions(debian)
    assert 200 <= found.work["a stage", "page-faults"] <= found.work["touches", "page-faults"] <= 220
    assert found.calls["VecSet"] == 1


# ---- PETSc since 3.20, stood in for where there is an older one ----


def stand_in(python: Sandbox, text: str, *options: str) -> Done:
    library = python.cwd.parent / "libpetsc_stand_in.so"
    source = Path(__file__).with_name("petsc_stand_in.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, source], check=True)
    program = "import ctypes, sys, allranks\npetsc = ctypes.CDLL(sys.argv[1])\n" + textwrap.dedent(text)
    (python.cwd / "program.py").write_text(program)
    plain = python.plain("program.py", str(library))
    done = python.recorded("program.py", str(library), options=(*QUIET, *options))
    assert (done.code, done.err) == (plain.code, plain.err) == (0, ""), (plain, done)
    if "--petsc-log" not in options:
        assert done.out == plain.out
    return done


def test_log_handlers(python: Sandbox):
    """They begin and end, and with them what is recorded."""
    text = """
        def work():
            petsc.works(4)
        petsc.PetscInitialize(None, None, None, None)
        petsc.PetscLogStagePush(1)
        work()
        petsc.PetscLogStagePush(2)
        petsc.PetscLogDefaultBegin()
        work()
        petsc.PetscLogStagePop()
        work()
        petsc.PetscLogStagePop()
        petsc.PetscLogHandlerStop(ctypes.byref(ctypes.c_int.in_dll(petsc, "n_logged")))
        work()
        print(ctypes.c_int.in_dll(petsc, "n_logged").value)
        petsc.PetscFinalize()
        work()
    """
    assert stand_in(python, text).out == "20\n"
    found = Regions(python)
    assert found.calls == {"a stage": 1, "another stage": 1, "first event": 2, "second event": 8}
    assert found.work["second event", "petsc_flops"] == found.work["first event", "petsc_flops"] == 24
    assert found.work["a stage", "petsc_flops"] == 36 and found.work["another stage", "petsc_message_bytes"] == 32
    assert found.work["first event", "petsc_reductions"] == 2 and found.work["second event", "petsc_messages"] == 8
    said = python.answer("info", "run.allranks").decode()
    assert "petsc      3.99.1" in said and "petsc-log  recorded" in said


def test_log_handlers_if_asked_for(python: Sandbox):
    text = """
        petsc.PetscInitialize(None, None, None, None)
        def work():
            petsc.works(4)
        def breaks():
            petsc.fails()
        work()
        breaks()
        work()
        print(ctypes.c_int.in_dll(petsc, "n_logged").value)
    """
    assert stand_in(python, text).out == "0\n"
    assert Regions(python).calls == {}
    assert "(try: allranks run --petsc-log)" in python.answer("report", "run.allranks").decode()
    assert stand_in(python, text, "--petsc-log").out == "22\n"
    assert Regions(python, path="run-2.allranks").calls == {"first event": 3, "second event": 9}
    nodes = python.report("run-2.allranks").named("first event")
    assert sorted(node.parent.name for node in nodes if node.parent) == ["breaks", "work", "work"], "what an error leaves open ends with its caller"


def test_four_log_handlers(python: Sandbox):
    """Then there is no room for one more."""
    text = """
        petsc.PetscInitialize(None, None, None, None)
        others = [ctypes.c_int() for _ in range(4)]
        for other in others[:3]:
            assert petsc.PetscLogHandlerStart(ctypes.byref(other)) == 0
        def seen():
            petsc.works(1)
        seen()
        assert petsc.PetscLogHandlerStart(ctypes.byref(others[3])) == 0
        petsc.works(1)
        petsc.PetscLogHandlerStop(ctypes.byref(others[3]))
        seen()
    """
    stand_in(python, text)
    assert Regions(python).calls == {"first event": 2, "second event": 2}
