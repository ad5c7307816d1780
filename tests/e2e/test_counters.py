# SPDX-License-Identifier: BSD-3-Clause
"""Counters of the kernel in regions and functions, against the program's own arithmetic and getrusage."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from harness import Done, Sandbox, settled, times_unlike, workload

COUNTED = ("--counters", "page-faults,context-switches")
# What the program does itself, in pages, by region.
PAGES = {"first": 1000, "second": 250, "decorated": 40, "failing": 30, "thread": 300}
SLACK = 12  # pages that the interpreter may need meanwhile


def reason_against() -> str:
    """Why no page fault can be counted here: containers may forbid it."""
    listed = subprocess.run([Path(sys.executable).with_name("allranks"), "counters", "--json"], capture_output=True, check=True)
    rows = {row["name"]: row for row in json.loads(listed.stdout)["counters"]}
    return rows["page-faults"]["reason"] or ""


pytestmark = pytest.mark.skipif(reason_against() != "", reason=f"page-faults: {reason_against()}")


def record(python: Sandbox, *words: str, options: tuple[str, ...] = COUNTED, code: int = 0) -> Done:
    done = python.recorded(workload("counted.py"), *words, options=("-q", "-o", "run.allranks", *options))
    assert (done.code, done.err) == (code, ""), done
    return done


def values(python: Sandbox, metric: str, path: str = "run.allranks") -> dict[tuple[str, str], int]:
    """By kind and name, over all call paths that are not inside one of the same name."""
    answer = json.loads(python.allranks("report", "--json", path).out)
    kinds = {row["id"]: (row["kind"], row["function"], row["parent"]) for row in answer["tree"]}
    found: dict[tuple[str, str], int] = {}
    for row in answer["tree_metrics"]:
        kind, name, parent = kinds[row["node"]]
        while parent is not None and kinds[parent][:2] != (kind, name):
            parent = kinds[parent][2]
        if row["metric"] == metric and parent is None:
            found[kind, name] = found.get((kind, name), 0) + row["value"]
    return found


def check_regions(python: Sandbox, logged: dict[str, int]) -> None:
    counted = values(python, "page-faults")
    for name, pages in PAGES.items():
        assert pages <= counted["region", name] <= pages + SLACK, (name, counted)
    for name, most in logged.items():  # the kernel's own figure, from just outside the region
        assert counted["region", name] <= most, (name, counted, logged)
    assert 30 <= counted["region", "outer"] <= 30 + SLACK  # three deep: what is inside is part of it


def test_regions(any_python: Sandbox) -> None:
    check_regions(any_python, json.loads(record(any_python).out))


def test_functions(any_python: Sandbox) -> None:
    record(any_python, options=(*COUNTED, "--counters-at", "counted.py:touch"))
    total = sum(PAGES.values()) + 30
    assert total <= values(any_python, "page-faults")["python", "touch"] <= total + SLACK
    assert ("python", "main") not in values(any_python, "page-faults")


def test_of_a_killed_process(python: Sandbox) -> None:
    done = python.recorded(
        workload("counted.py"), "dies", options=("-q", "-o", "run.allranks", "--live-dir", "live", *COUNTED))  # fmt: skip
    assert done.code == -9, done
    job = next((python.cwd / "live").iterdir())
    recovered = python.allranks("recover", str(job), "-o", "run.allranks")
    assert recovered.code == 0, recovered
    check_regions(python, json.loads(done.out))


def test_in_a_forked_child(python: Sandbox) -> None:
    record(python, "fork")
    # A child gets a page of its own for each that the interpreter writes to for the first time.
    assert 70 <= values(python, "page-faults")["region", "in the child"] <= 70 + 4 * SLACK


def test_load(python: Sandbox) -> None:
    record(python)
    (python.cwd / "load.py").write_text(textwrap.dedent("""\
        import allranks
        run = allranks.load("run.allranks", as_="python")
        print(sum(run.values("page-faults")["page-faults"]) > 1600, run.facts["counters"])
    """))
    done = python.plain("load.py")
    assert done.out == "True page-faults, context-switches\n", done


def test_nothing_is_left_open(python: Sandbox) -> None:
    """Descriptors are not passed on, and the lowest free one is the program's."""
    text = """\
        import os, subprocess, sys
        import allranks
        with allranks.region("x"):
            pass
        print(os.open("/dev/null", os.O_RDONLY))
        sys.stdout.flush()
        print(subprocess.run(["ls", "/proc/self/fd"], stdout=subprocess.PIPE, close_fds=False).stdout.split())
    """
    (python.cwd / "program.py").write_text(textwrap.dedent(text))
    plain = python.plain("program.py")
    counted = python.recorded("program.py", options=("-q", "-o", "run.allranks", *COUNTED))
    assert (counted.out, counted.err, counted.code) == (plain.out, plain.err, 0)


def test_descriptors_that_the_program_closes(python: Sandbox) -> None:
    text = """\
        import os
        import allranks
        with allranks.region("before"):
            pass
        os.closerange(3, 2000)
        with allranks.region("after"):
            print("goes on")
    """
    (python.cwd / "program.py").write_text(textwrap.dedent(text))
    done = python.recorded("program.py", options=("-q", "-o", "run.allranks", *COUNTED))
    assert (done.out, done.err, done.code) == ("goes on\n", "", 0)


def test_ranks(one_mpi: Sandbox) -> None:
    (one_mpi.cwd / "program.py").write_text(textwrap.dedent("""\
        import mmap
        from mpi4py import MPI
        import allranks
        rank = MPI.COMM_WORLD.rank
        with allranks.region("touch"):
            fresh = mmap.mmap(-1, 100 * (rank + 1) * 4096)
            for page in range(100 * (rank + 1)):
                fresh[page * 4096] = 1
    """))
    done = one_mpi.recorded_ranks(2, "program.py", options=("-q", "-o", "run.allranks", *COUNTED))
    assert done.code == 0, done
    answer = json.loads(one_mpi.allranks("report", "--json", "run.allranks").out)
    (row,) = [row for row in answer["tree_metrics"] if (row["function"], row["metric"]) == ("touch", "page-faults")]
    spread = row["rank_value"]
    assert 100 <= spread["min"] <= 100 + SLACK and 200 <= spread["max"] <= 200 + SLACK
    assert (spread["min_rank"], spread["max_rank"]) == (0, 1)


def test_what_cannot_be_counted(python: Sandbox) -> None:
    for options, text in {
        ("--counters", "no-such"): "--counters no-such: no-such: no such counter (try: allranks counters); --counters-optional runs without it",
        ("--counters", ","): "--counters needs names, such as page-faults (try: allranks counters)",
        ("--counters-at", "x"): "--counters-at says where to count; what is to be counted, say with --counters",
    }.items():
        done = python.recorded(workload("counted.py"), options=options)
        assert (done.code, done.out) == (2, "") and text in done.err, done
        assert done.err.count("\n") == 1


def test_what_is_optional(python: Sandbox) -> None:
    logged = record(python, options=("--counters", "no-such,page-faults", "--counters-optional"))
    check_regions(python, json.loads(logged.out))
    told = python.allranks("info", "run.allranks").out
    assert "\ncounters   page-faults\n" in told and "\nuncounted  no-such\n" in told
    assert "\nwhy not    no-such: no such counter (try: allranks counters)\n" in told


def test_list(python: Sandbox) -> None:
    rows = {row["name"]: row for row in json.loads(python.allranks("counters", "--json").out)["counters"]}
    assert rows["page-faults"]["available"] and rows["page-faults"]["reason"] is None
    assert all(row["available"] == (row["reason"] is None) for row in rows.values())
    told = python.allranks("counters").out
    of_kernel = [row["available"] for row in rows.values() if row["source"] == "kernel"]
    assert f"{sum(of_kernel)} of {len(of_kernel)} counters of the kernel are available:\n" in told


def test_clocks(python: Sandbox) -> None:
    """The processor time of a region lies between what the program finds inside and outside it."""
    (python.cwd / "program.py").write_text(textwrap.dedent("""\
        import json, time
        import allranks
        now = time.thread_time_ns
        outer = -now()
        with allranks.region("busy"):
            inner = -now()
            sum(i * i for i in range(500000))
            inner += now()
        outer += now()
        print(json.dumps([inner, outer]))
    """))

    def look() -> dict[str, str]:
        """A virtual machine that lost its processor meanwhile: one clock goes on, the other does not."""
        found, logged = {}, {}
        for names in ("task-clock,page-faults", "page-faults,task-clock"):
            (python.cwd / "run.allranks").unlink(missing_ok=True)
            done = python.recorded("program.py", options=("-q", "-o", "run.allranks", "--counters", names))
            assert (done.code, done.err) == (0, ""), done
            inner, outer = json.loads(done.out)
            found[names] = values(python, "task-clock")["region", "busy"] / 1e9
            logged[names] = (inner / 1e9, outer / 1e9)
        return times_unlike(found, logged, rel=0.02)

    assert not settled(look)


# ---- known to the digit ----

# What work(n) adds to a counter, for each unit; see papi_stand_in.c and perf_shim.c.
PAPI_UNITS = {"PAPI_TOT_INS": 10, "PAPI_TOT_CYC": 4, "PAPI_L3_TCM": 1, "stand_in:::ENERGY": 100}
KERNEL_UNITS = {"instructions": 10, "cycles": 4, "branches": 1, "cache-misses": 1, "cache-references": 1}
WORK = {"first": 5 + 7, "second": 7, "in a thread": 11, "in the child": 13}


def worked(python: Sandbox, names: dict[str, int], env: dict[str, str], code: int = 0, end: str = "") -> Done:
    words = (workload("worked.py"), *([end] if end else []))
    options = ("-q", "-o", "run.allranks", "--live-dir", "live", "--counters", ",".join(names))
    done = python.recorded(*words, options=options, env=env)
    assert (done.code, done.err) == (code, ""), done
    return done


def check_work(python: Sandbox, names: dict[str, int], path: str = "run.allranks") -> None:
    for name, per_unit in names.items():
        expected = {("region", region): n * per_unit for region, n in WORK.items()}
        assert values(python, name, path) == expected, name


@pytest.mark.parametrize("source", ["papi", "processor"])
def test_exactly(any_python: Sandbox, source: str, papi: str, processor: str) -> None:
    """In regions inside each other, in a thread and in a forked child."""
    names = PAPI_UNITS if source == "papi" else KERNEL_UNITS
    worked(any_python, names, {"ALLRANKS_PAPI": papi} if source == "papi" else {"LD_PRELOAD": processor})
    check_work(any_python, names)


def test_both_sources_at_a_time(python: Sandbox, papi: str, processor: str) -> None:
    names = {"cycles": 4, "PAPI_TOT_INS": 10, "instructions": 10, "PAPI_L3_TCM": 1}
    worked(python, names, {"ALLRANKS_PAPI": papi, "LD_PRELOAD": processor})
    check_work(python, names)


def test_papi_of_a_killed_process(python: Sandbox, papi: str) -> None:
    worked(python, PAPI_UNITS, {"ALLRANKS_PAPI": papi}, code=-9, end="dies")
    job = next((python.cwd / "live").iterdir())
    assert python.allranks("recover", str(job), "-o", "again.allranks").code == 0
    check_work(python, PAPI_UNITS, "again.allranks")


def test_groups_that_take_turns(python: Sandbox, processor: str) -> None:
    """More than the processor has room for are in two groups; each was on it half of the time, and values are scaled."""
    env = {"LD_PRELOAD": processor, "PERF_SHIM_TURNS": "1", "PERF_SHIM_ROOM": "2"}
    worked(python, KERNEL_UNITS, env)
    for name in ("instructions", "cycles"):
        expected = {("region", region): n * KERNEL_UNITS[name] for region, n in WORK.items()}
        assert values(python, name) == expected
    assert "\nestimated  values of counters, which took turns" in python.allranks("info", "run.allranks").out
    for command in (("report", "--rows", "0"), ("counters",), ("ranks", "--metric", "instructions")):
        assert "\n estimates, as counters took turns\n" in python.allranks(*command, "run.allranks").out


def test_papi_on_ranks(one_mpi: Sandbox, papi: str) -> None:
    (one_mpi.cwd / "program.py").write_text(textwrap.dedent("""\
        import ctypes, os
        from mpi4py import MPI
        import allranks
        with allranks.region("work"):
            ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work(MPI.COMM_WORLD.rank + 1)
    """))
    done = one_mpi.recorded_ranks(
        4, "program.py", options=("-q", "-o", "run.allranks", "--counters", "PAPI_TOT_INS"), env={"ALLRANKS_PAPI": papi})  # fmt: skip
    assert done.code == 0, done
    (row,) = json.loads(one_mpi.allranks("report", "--json", "run.allranks").out)["tree_metrics"]
    assert row["value"] == 100 and (row["rank_value"]["min"], row["rank_value"]["max"]) == (10, 40)


def test_without_papi_and_without_an_event(python: Sandbox, papi: str, processor: str) -> None:
    too_many = "PAPI_TOT_INS,PAPI_TOT_CYC,PAPI_FP_OPS,PAPI_L1_DCM,PAPI_L3_TCM"
    for names, env, text in (
        ("PAPI_L3_TCM", {"ALLRANKS_PAPI": "/nowhere/libpapi.so"}, "PAPI_L3_TCM: /nowhere/libpapi.so: cannot open shared object file"),
        ("PAPI_XYZ", {"ALLRANKS_PAPI": papi}, "PAPI_XYZ: PAPI 7.0 has no such event here (try: papi_avail)"),
        ("PAPI_BR_MSP", {"ALLRANKS_PAPI": papi}, "PAPI_BR_MSP: "),
        (too_many, {"ALLRANKS_PAPI": papi}, "PAPI_L3_TCM: the processor cannot count it together with the others (ask for fewer)"),
    ):
        done = python.recorded(workload("worked.py"), options=("--counters", names), env=env)
        assert (done.code, done.out) == (2, "") and text in done.err and done.err.count("\n") == 1, done
    # What PAPI cannot count, the kernel does, if it is the same.
    worked(python, {"PAPI_TOT_INS": 10}, {"ALLRANKS_PAPI": "/nowhere/libpapi.so", "LD_PRELOAD": processor})
    check_work(python, {"PAPI_TOT_INS": 10})


def test_optional_and_too_many(python: Sandbox, papi: str) -> None:
    names = {"PAPI_TOT_INS": 10, "PAPI_TOT_CYC": 4, "PAPI_FP_OPS": 3, "PAPI_L1_DCM": 7}
    options = ("-q", "-o", "run.allranks", "--counters", ",".join([*names, "PAPI_L3_TCM"]), "--counters-optional")
    done = python.recorded(workload("worked.py"), options=options, env={"ALLRANKS_PAPI": papi})
    assert (done.code, done.err) == (0, "")
    check_work(python, names)
    info = python.allranks("info", "run.allranks").out
    assert re.search(r"^uncounted +PAPI_L3_TCM$", info, re.M)
    assert re.search(r"^why not +PAPI_L3_TCM: the processor cannot count it together", info, re.M)
    assert "\nnot counted: PAPI_L3_TCM (allranks info says why)\n" in python.allranks("report", "run.allranks").out


def test_papi_is_loaded_only_if_asked_for(python: Sandbox, papi: str) -> None:
    (python.cwd / "program.py").write_text("print('papi_stand_in.so' in open('/proc/self/maps').read())\n")
    for names, answer in (("page-faults", "False\n"), ("PAPI_TOT_INS", "True\n")):
        options = ("-q", "-o", f"{names}.allranks", "--counters", names)
        assert python.recorded("program.py", options=options, env={"ALLRANKS_PAPI": papi}).out == answer


def test_list_of_papi(python: Sandbox, papi: str) -> None:
    env = {"ALLRANKS_PAPI": papi}
    rows = {row["name"]: row for row in json.loads(python.allranks("counters", "--json", env=env).out)["counters"]}
    assert rows["PAPI_L3_TCM"]["source"] == "PAPI" and rows["PAPI_L3_TCM"]["help"] == "Level 3 cache misses"
    assert rows["PAPI_L3_TCM"]["available"] and not rows["PAPI_BR_MSP"]["available"]
    told = python.allranks("counters", env=env).out
    assert "\n5 of 6 presets of PAPI 7.0 are available:\n" in told and "PAPI_BR_MSP              " not in told


def test_every_function(any_python: Sandbox, processor: str) -> None:
    """--counters-at '*': recursion, generators, exceptions and methods, against the program's own sums."""
    options = ("-q", "-o", "run.allranks", "--counters", "instructions", "--counters-at", "*")
    done = any_python.recorded(workload("counted_calls.py"), options=options, env={"LD_PRELOAD": processor})
    assert (done.code, done.err) == (0, ""), done
    counted = values(any_python, "instructions")
    expected = {name: 10 * units for name, units in json.loads(done.out).items()}
    assert {name: counted["python", name] for name in expected} == expected


# ---- every call path, where reading is cheap: the stand-in for PAPI is read without a system call ----

EVERYWHERE = """
import ctypes, os
import allranks
work = ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work

def leaf(n):
    work(n)

class Solver:
    def step(self, depth):
        leaf(2)
        if depth:
            self.step(depth - 1)

def main():
    Solver().step(4)
    with allranks.region("r"):
        leaf(7)
    sorted([3, 1, 2], key=lambda x: leaf(1) or x)

main()
try:
    from mpi4py import MPI
except ImportError:
    pass
else:
    MPI.COMM_WORLD.Barrier()
"""


def test_everywhere(any_python: Sandbox, papi: str) -> None:
    (any_python.cwd / "program.py").write_text(EVERYWHERE)
    options = ("-q", "-o", "run.allranks", "--counters", "PAPI_TOT_INS", "--counters-everywhere", "--budget", "1%")
    done = any_python.recorded("program.py", options=options, env={"ALLRANKS_PAPI": papi})
    assert (done.code, done.err) == (0, ""), done
    counted = values(any_python, "PAPI_TOT_INS")
    python = {name.rpartition(".")[2]: value for (kind, name), value in counted.items() if kind == "python"}
    assert {name: python[name] for name in ("leaf", "step", "main", "<module>")} == {
        "leaf": 200, "step": 100, "main": 200, "<module>": 200}  # fmt: skip
    assert counted["region", "r"] == 70
    assert not [name for kind, name in counted if kind == "builtin"]  # not all of their calls are timed


def test_everywhere_on_ranks(one_mpi: Sandbox, papi: str) -> None:
    (one_mpi.cwd / "program.py").write_text(EVERYWHERE)
    options = ("-q", "-o", "run.allranks", "--counters", "PAPI_TOT_INS", "--counters-everywhere")
    done = one_mpi.recorded_ranks(2, "program.py", options=options, env={"ALLRANKS_PAPI": papi})
    assert done.code == 0, done
    counted = values(one_mpi, "PAPI_TOT_INS")
    assert counted["python", "main"] == 400 and counted["mpi", "MPI_Barrier"] == 0


def test_everywhere_is_refused(python: Sandbox, papi: str) -> None:
    """A read that is a system call is no read for every call; other options are named."""
    for options, text in {
        ("--counters", "page-faults", "--counters-everywhere"):
            r"--counters-everywhere: page-faults: a read takes \d+ ns here, too much for every call \(try: --counters-at 'solver.py:\*'\)\n",
        ("--counters", "page-faults,nix", "--counters-everywhere", "--counters-optional"): r"--counters-everywhere: page-faults,nix: a read takes \d+ ns",
        ("--counters-everywhere",): "--counters-everywhere says where to count; what is to be counted, say with --counters",
    }.items():  # fmt: skip
        done = python.recorded(workload("counted.py"), options=options, env={"ALLRANKS_PAPI": papi})
        assert (done.code, done.out) == (2, "") and re.search(text, done.err) and done.err.count("\n") == 1, done


# ---- what is shown ----


def test_columns_of_report_and_ranks(one_mpi: Sandbox, papi: str) -> None:
    (one_mpi.cwd / "program.py").write_text(textwrap.dedent("""\
        import ctypes, os
        from mpi4py import MPI
        import allranks
        @allranks.region("solve")
        def solve(n):
            ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work(n)
        solve(1000 * (MPI.COMM_WORLD.rank + 1))
        with allranks.region("still"):
            pass
    """))
    names = "PAPI_TOT_INS,PAPI_TOT_CYC,PAPI_FP_OPS"
    done = one_mpi.recorded_ranks(
        3, "program.py", options=("-q", "-o", "run.allranks", "--counters", names), env={"ALLRANKS_PAPI": papi})  # fmt: skip
    assert done.code == 0, done
    screen = one_mpi.allranks("report", "run.allranks").out
    assert "\nMetrics " in screen and max(map(len, screen.splitlines())) <= 80 and len(screen.splitlines()) <= 24
    report = one_mpi.allranks("report", "--rows", "0", "run.allranks").out
    assert re.search(r"^Metrics .* total PAPI_TOT_INS PAPI_TOT_CYC$", report, re.M)
    assert re.search(r"^ solve +region +\S+ +20,000 +8,000$", report, re.M)  # mean of ranks
    assert re.search(r"^ still +region +\S+ +0 +0$", report, re.M)  # counted, and 0
    one = one_mpi.allranks("ranks", "--all", "run.allranks", "solve").out
    assert " PAPI_TOT_INS         mean 20,000, sd 8,165, least 10,000 (0), most 30,000 (2)\n" in one
    assert " IPC                  mean 2.5, sd 0, least 2.5, most 2.5\n" in one
    assert re.search(r"^ rank 2 .* 30,000$", one, re.M)
    by_metric = one_mpi.allranks("ranks", "--metric", "papi_tot_ins", "run.allranks").out
    assert re.search(r"^ solve +region +20,000 +8,165 +10,000 \(0\) +30,000 \(2\)$", by_metric, re.M)
    everything = one_mpi.allranks("counters", "run.allranks").out
    assert re.search(r"^Metrics .* PAPI_FP_OPS +IPC +GFLOP/s$", everything, re.M)
    rows = json.loads(one_mpi.allranks("counters", "--json", "run.allranks").out)["function_metrics"]
    found = {row["metric"]: row["value"] for row in rows if row["function"] == "solve"}
    assert {name: found[name] for name in ("PAPI_TOT_INS", "PAPI_TOT_CYC", "IPC")} == {
        "PAPI_TOT_INS": 60000, "PAPI_TOT_CYC": 24000, "IPC": 2.5}  # fmt: skip
    csv = one_mpi.allranks("counters", "--csv", "run.allranks").out.splitlines()
    assert len(csv) == 1 + len(rows) and csv[0].startswith("function_id,function,metric,unit,value,")
    of_ranks = json.loads(one_mpi.allranks("ranks", "--json", "run.allranks", "solve").out)["function_rank_metrics"]
    assert [row["value"] for row in of_ranks if row["metric"] == "PAPI_TOT_CYC"] == [4000, 8000, 12000] * 2  # region, function


def test_formulas_of_the_user(python: Sandbox, papi: str) -> None:
    worked(python, PAPI_UNITS, {"ALLRANKS_PAPI": papi})
    formula = ("--metric", "per-cycle = PAPI_TOT_INS / PAPI_TOT_CYC", "--metric", "twice=(per-cycle+1)*2", "--metric", "per-call=cycles/calls")
    assert python.allranks("report", "--metric", "x=nix/2", "run.allranks").err == (
        "allranks: error: run.allranks: metric x=nix/2: no metric nix in it (there is PAPI_TOT_INS, PAPI_TOT_CYC, PAPI_L3_TCM, "
        "stand_in:::ENERGY, IPC, memory-GB/s, time, calls)\n")  # fmt: skip
    rows = json.loads(python.allranks("report", "--json", *formula, "run.allranks").out)["function_metrics"]
    found = {row["metric"]: row["value"] for row in rows if row["function"] == "first"}
    assert (found["per-cycle"], found["twice"], found["per-call"]) == (2.5, 7, 48)
    assert re.search(r"^Metrics .* total per-cycle +twice", python.allranks("report", *formula, "run.allranks").out, re.M)
    (python.cwd / "load.py").write_text(textwrap.dedent("""\
        import allranks
        run = allranks.load("run.allranks", as_="python", metrics={"per-call": "cycles/calls"})
        rows = run.table("function_metrics")
        print([row.value for row in rows if (row.function, row.metric) == ("first", "per-call")])
        try:
            allranks.load("run.allranks", as_="python", metrics={"x": "cycles/"})
        except allranks.LoadError as error:
            print(str(error).partition(" (")[0])
    """))
    done = python.plain("load.py")
    assert done.out == "[48.0]\nrun.allranks: metric x=cycles/: a number or name is missing at its end\n", done


def test_of_a_run_without_counters(python: Sandbox) -> None:
    assert python.recorded(workload("counted.py"), options=("-q", "-o", "run.allranks")).code == 0
    done = python.allranks("counters", "run.allranks")
    assert done.code == 2 and "nothing was counted in it (record with: allranks run --counters NAMES;" in done.err
    assert "a RUN is missing" in python.allranks("counters", "--metric", "x").err
    refused = python.allranks("report", "--metric", "x=time/calls", "run.allranks")
    assert refused.code == 2 and "metric x=time/calls: nothing was counted in it (record with: " in refused.err


def test_nothing_to_count_in(python: Sandbox) -> None:
    """Counters without a region, and with a pattern that no function matches."""
    (python.cwd / "program.py").write_text("def f():\n    pass\nf()\n")
    options = ("-q", "-o", "run.allranks", "--counters", "page-faults", "--counters-at", "nothere:*")
    assert python.recorded("program.py", options=options).code == 0
    assert "\nnothing was counted: no region ran (try: --counters-at 'FILE.py:*')\n" in python.allranks("report", "run.allranks").out
    assert "and no function that --counters-at names" in python.allranks("counters", "run.allranks").err


def test_given_several_times(python: Sandbox, papi: str) -> None:
    """--counters adds up; an event that is named twice, under whichever name, would count double."""
    env = {"ALLRANKS_PAPI": papi}
    options = ("-q", "-o", "run.allranks", "--counters", "PAPI_TOT_INS, PAPI_TOT_CYC", "--counters=PAPI_L3_TCM")
    assert python.recorded(workload("worked.py"), options=options, env=env).code == 0
    check_work(python, {"PAPI_TOT_INS": 10, "PAPI_TOT_CYC": 4, "PAPI_L3_TCM": 1})
    for names, text in {
        "page-faults,page-faults": "page-faults: it is page-faults, which is counted already (name it once)",
        "page-faults,PAPI_TOT_INS,perf::PAGE_FAULTS": "perf::PAGE_FAULTS: it is page-faults, which is counted already (name it once)",
        "PAPI_TOT_INS,PAPI_TOT_INS": "PAPI_TOT_INS: it is PAPI_TOT_INS, which is counted already (name it once)",
    }.items():
        done = python.recorded(workload("worked.py"), options=("--counters", names), env=env)
        assert (done.code, done.out) == (2, "") and text in done.err, done


def test_no_place_in_pstats(python: Sandbox) -> None:
    done = python.recorded(workload("counted.py"), options=("--counters", "page-faults", "-o", "x.prof"))
    assert (done.code, done.out) == (2, "")
    assert done.err == "allranks: error: -o x.prof: a pstats file has no place for counters (try: -o x.allranks)\n"


def test_large_counts_are_exact_in_csv(python: Sandbox, papi: str) -> None:
    (python.cwd / "program.py").write_text(textwrap.dedent("""\
        import ctypes, os
        import allranks
        with allranks.region("r"):
            ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work(ctypes.c_longlong(123456789))
    """))
    options = ("-q", "-o", "run.allranks", "--counters", "PAPI_L3_TCM")
    assert python.recorded("program.py", options=options, env={"ALLRANKS_PAPI": papi}).code == 0
    assert ",r,PAPI_L3_TCM,1,123456789,123456789,0,123456789,,123456789," in python.allranks("counters", "--csv", "run.allranks").out
    shown = python.allranks("counters", "--metric", "x=1e999", "--metric", "y=0-PAPI_L3_TCM", "run.allranks").out
    assert re.search(r"^ r +region +\S+ +inf +-123M", shown, re.M) or re.search(r"^ r +region +\S+ +inf +-12\d", shown, re.M), shown


def test_as_a_user_who_may_not_see_the_kernel(debian: Sandbox) -> None:
    """Context switches happen in the kernel: without it they would all be 0."""
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    if os.geteuid() != 0 or not level.exists() or int(level.read_text()) != 2:
        pytest.skip("needs root, to become another user, and kernel.perf_event_paranoid 2")
    for path in (debian.cwd, *debian.cwd.parents):
        if path != Path("/") and path.stat().st_uid == 0 and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    debian.cwd.chmod(0o777)
    probe = ["setpriv", "--reuid", "65534", "--clear-groups", debian.stack.python, "-c", "import allranks"]
    if subprocess.run(probe, capture_output=True, cwd=debian.cwd, check=False).returncode:
        pytest.skip("another user cannot reach this Python")
    become = ["setpriv", "--reuid", "65534", "--clear-groups", debian.stack.python, "-m", "allranks"]
    script = workload("counted.py")
    refused = subprocess.run([*become, "--counters", "context-switches", script], capture_output=True, text=True, cwd=debian.cwd, check=False)
    assert refused.returncode == 2, refused
    assert "context-switches: not permitted (kernel.perf_event_paranoid is 2; 1 or less is needed" in refused.stderr
    counted = subprocess.run([*become, "-q", "-o", "run.allranks", "--counters", "page-faults", script], capture_output=True, text=True, cwd=debian.cwd, check=False)
    assert counted.returncode == 0, counted
    assert "\n without the kernel's work for the program\n" in debian.allranks("report", "--rows", "0", "run.allranks").out


DESCRIPTORS = """
import os, resource, sys, threading
import allranks

gate = threading.Barrier(int(sys.argv[2]) + 1)

def thread():
    with allranks.region("r"):
        gate.wait()
        gate.wait()

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
threads = [threading.Thread(target=thread) for _ in range(int(sys.argv[2]))]
for each in threads:
    each.start()
gate.wait()
files = [os.open("/dev/null", os.O_RDONLY) for _ in range(int(sys.argv[3]))]
print(files[0], len(files))
gate.wait()
for each in threads:
    each.join()
"""


@pytest.mark.parametrize("words", [("512", "4", "200"), ("1024", "200", "600")])
def test_descriptors_are_the_programs(python: Sandbox, words: tuple[str, ...]) -> None:
    """The lowest ones are left alone, and a thread that would take the last ones is not counted."""
    (python.cwd / "program.py").write_text(DESCRIPTORS)
    plain = python.plain("program.py", *words)
    options = ("-q", "-o", "run.allranks", "--counters", "page-faults,context-switches,task-clock")
    done = python.recorded("program.py", *words, options=options)
    assert (done.out, done.err, done.code) == (plain.out, plain.err, 0)


def test_more_than_there_is_room_for(python: Sandbox, papi: str, processor: str) -> None:
    env = {"ALLRANKS_PAPI": papi, "LD_PRELOAD": processor}
    rows = json.loads(python.allranks("counters", "--json", env=env).out)["counters"]
    presets = {row["preset"] for row in rows}
    names = [row["name"] for row in rows if row["available"] and row["name"] not in presets]
    assert len(names) > 24, names
    done = python.recorded(workload("counted.py"), options=("--counters", ",".join(names)), env=env)
    assert (done.code, done.out) == (2, "") and f"{names[24]}: more than 24 counters (ask for fewer)" in done.err, done
