# SPDX-License-Identifier: BSD-3-Clause
"""Truth of C functions: every call is counted, and every long call is recorded or known to be unassigned.

Random programs count their own calls and measure their own long calls (c_programs.py); c_truth.py compares. Three
programs per interpreter and mode are the rule; ALLRANKS_TRUTH_PROGRAMS=50 runs that many, before a release for example.
"""

from __future__ import annotations

import os
import textwrap

import pytest
from c_programs import (
    join_program,
    write_body,
    write_each,
    write_long,
    write_loop,
    write_mixed,
    write_program,
)
from c_truth import find, longer_than_caller, not_exact, record, run_text, unlike_truth
from harness import Sandbox
from readings import Report

SEEDS = range(1, 1 + int(os.environ.get("ALLRANKS_TRUTH_PROGRAMS", "3")))
MODES = {
    "default": (),
    "exact": ("--exact",),
    "all": ("--builtins", "all"),
}
FROM_3_11_ON_INLINED = ("built-in method builtins.len", "built-in method builtins.isinstance", "method 'append' of 'list' objects")


def check(python: Sandbox, text: str, *options: str) -> Report:
    report = run_text(python, text, *options)
    wrong = unlike_truth(report, python.read_json("log.json"), *options)
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    return report


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(any_python: Sandbox, seed: int, mode: str):
    check(any_python, write_program(seed), *MODES[mode])


# ---- programs that were seen to go wrong, one by one ----

DENSE = """\
    x = 0
    for _ in range(100_000):
        x = step(x)
"""
STEP = "def step(x):\n    return x + 1\n"


def check_block(python: Sandbox, body: str, *options: str) -> Report:
    return check(python, join_program([STEP, write_body("block", body)], ["block"]), *options)


def figures_of(report: Report, name: str) -> tuple[int, float]:
    """Calls by the block, and seconds."""
    figures = find(report).figures["block", name]
    return figures.calls, figures.time_ns / 1e9


def test_one_sleep_after_many_python_calls(any_python: Sandbox):
    body = DENSE + write_long("block", "built-in method time.sleep", "time.sleep(0.5)")
    calls, seconds = figures_of(check_block(any_python, body), "built-in method time.sleep")
    assert calls == 1
    assert seconds >= 0.5 * 0.99  # the first call of a function is timed, so none of it is unassigned


MILLION_SUMS = """\
def measure():
    few, shortest = numbers[:60], 10**9
    for _ in range(1000):
        start = now()
        sum(few)
        ns = now() - start
        if ns < shortest:
            shortest = ns
    note_span("block", "built-in method builtins.sum", shortest * 500_000, 0)
    return 0
"""


def test_a_million_short_calls(any_python: Sandbox):
    """At least half of what the shortest of many such calls takes, a million times."""
    block = write_body("block", "    few = numbers[:60]\n" + write_loop("block", "built-in method builtins.sum", "sum(few)", 1_000_000))
    check(any_python, join_program([block, MILLION_SUMS], ["block", "measure"]))


@pytest.mark.parametrize(("name", "statement", "n"), [
    ("built-in method zlib.compress", "zlib.compress(data[i:200_000])", 40),
    ("built-in method zlib.crc32", "zlib.crc32(data[i:1_000_000])", 400),
    ("built-in method builtins.sorted", "sorted(floats[i:])", 150),
    ("method 'findall' of 're.Pattern' objects", "re.compile(r'(w.+)s and (m.+)').findall('words and more, ' * 3000)", 5),
])  # fmt: skip
def test_some_calls_of_milliseconds(any_python: Sandbox, name: str, statement: str, n: int):
    body = "    re.compile(r'(w.+)s and (m.+)')\n" + DENSE  # compiling it may be a long call, too
    calls, _ = figures_of(check_block(any_python, body + write_each("block", name, statement, n)), name)
    assert calls == n


@pytest.mark.parametrize("arguments", [
    "[b'few'] * 20_000 + [data] * 10",
    "[b'few'] * 20_000 + [data] + [b'few'] * 3000 + [data] * 5",
    "([b'few'] * 1000 + [data]) * 10",
    "[data] * 5 + [b'few'] * 20_000",
])  # fmt: skip
def test_long_calls_among_cheap_ones(any_python: Sandbox, arguments: str):
    """All at one place. Long calls are not multiplied, though some of the short ones there are not timed."""
    check_block(any_python, write_mixed("block", "built-in method zlib.crc32", "zlib.crc32(x)", arguments))


def test_long_calls_elsewhere_than_cheap_ones(any_python: Sandbox):
    name = "built-in method zlib.crc32"
    body = write_loop("block", name, "zlib.crc32(b'few')", 50_000)
    body += "    x = 0\n    while x < 1_000_000:\n        x += 1\n"
    body += write_each("block", name, "zlib.crc32(data)", 40)
    body += write_loop("block", name, "zlib.crc32(b'few')", 50_000)
    check_block(any_python, body)


def test_a_long_call_wherever_it_comes(any_python: Sandbox):
    """Some calls of a cheap function are timed: the long one is such a call, or it is not. Each thread begins anew."""
    texts, name = [], "built-in method builtins.sum"
    for n_cheap in range(20_000, 20_017):
        caller = f"after_{n_cheap}"
        body = "    few = [1]\n" + write_loop(caller, name, "sum(few)", n_cheap) + write_long(caller, name, "sum(numbers)")
        block = f"    thread = threading.Thread(target={caller})\n    thread.start()\n    thread.join()\n"
        texts += [write_body(caller, body), write_body(f"block_{n_cheap}", block)]
    check(any_python, join_program(texts, [f"block_{n_cheap}" for n_cheap in range(20_000, 20_017)]))


def test_unassigned_time_is_below_its_function(any_python: Sandbox):
    """It counts as called by this function, and is no part of the function's own time."""
    name = "built-in method builtins.sum"
    body = "    few = [1]\n" + write_loop("block", name, "sum(few)", 20_000) + write_long("block", name, "sum(numbers)")
    report = check_block(any_python, body)
    (block,) = report.named("block")
    children = [node for node in report.nodes if node.parent == block]
    inside = sum(node["time_ns"]["sum"] for node in children)
    assert abs(block["time_ns"]["sum"] - inside - block["self_ns"]["sum"]) <= len(children)


def test_time_that_python_takes_is_no_function_of_c(any_python: Sandbox):
    """A call or two beside a long loop in Python: they are not charged with it."""
    body = write_loop("block", "built-in method builtins.abs", "abs(-1)", 2000)
    body += "    x = 0\n    while x < 3_000_000:\n        x += 1\n"
    body += write_loop("block", "built-in method builtins.abs", "abs(-1)", 2)
    check_block(any_python, body)


@pytest.mark.parametrize("options", [(), ("--exact",), ("--builtins", "all")])
def test_dense_calls_are_counted(any_python: Sandbox, options: tuple[str, ...]):
    body = write_loop("block", "built-in method builtins.abs", "abs(-1)", 300_000)
    body += write_loop("block", "method 'upper' of 'str' objects", "'a'.upper()", 300_000)
    report = check_block(any_python, body, *options)
    assert figures_of(report, "built-in method builtins.abs")[0] == 300_000


def test_no_function_takes_longer_than_what_calls_it(any_python: Sandbox):
    report = run_text(any_python, write_program(7), "--exact")
    assert not longer_than_caller(report, is_exact=True)


# ---- PETSc ----

SOLVES = """
import glob, json, sys, time
sys.path += glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")
import petsc4py
petsc4py.init([])
from petsc4py import PETSc
now = time.perf_counter_ns
N = 20_000
spans = {}
def makes():
    start = now()
    matrix = PETSc.Mat().createAIJ([N, N], nnz=3)
    spans["createAIJ"] = now() - start
    return matrix
def solves():
    start = now()
    solver.solve(b, x)
    spans["solve"] = now() - start
matrix = makes()
for row in range(N):
    for column, value in ((row - 1, -1.0), (row, 2.0001), (row + 1, -1.0)):
        if 0 <= column < N:
            matrix[row, column] = value
matrix.assemble()
x, b = matrix.createVecs()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solves()
with open(sys.argv[1], "w") as file:
    json.dump(spans, file)
"""


def test_methods_of_petsc(debian: Sandbox):
    report = run_text(debian, SOLVES)
    spans = debian.read_json("log.json")
    for caller, method, kind in (("makes", "createAIJ", "Mat"), ("solves", "solve", "KSP")):
        nodes = [node for node in report.nodes if node.python_caller == caller and f"'{method}'" in node.name]
        assert [(node["calls"], kind in node.name) for node in nodes] == [(1, True)], method
        (above,) = report.named(caller)
        took = nodes[0]["time_ns"]["sum"]
        assert took <= spans[method] * 1.01
        assert above["self_ns"]["sum"] <= above["time_ns"]["sum"] - took
    (solve,) = [node for node in report.nodes if "'solve'" in node.name]
    assert any(node.kind == "mpi" and solve in node.ancestors for node in report.nodes)
    assert solve["time_ns"]["sum"] >= 0.5 * spans["solve"]


# ---- what is called is below, and in the total ----


NESTED = """
    import functools, json, sys, time
    now = time.perf_counter_ns
    spans = {}
    def rests(x):
        start = now()
        time.sleep(0.004)
        spans["sleep"] = spans.get("sleep", 0) + now() - start
        return x
    def sorts():
        start = now()
        sorted([3, 1, 2], key=rests)
        spans["sorted"] = now() - start
    def folds():
        start = now()
        functools.reduce(lambda a, b: sum(map(rests, [b])), [1, 2, 3])
        spans["reduce"] = now() - start
    sorts()
    folds()
    with open(sys.argv[1], "w") as file:
        json.dump(spans, file)
"""


@pytest.mark.parametrize("mode", MODES)
def test_callbacks_are_below_what_calls_them(any_python: Sandbox, mode: str):
    report = run_text(any_python, textwrap.dedent(NESTED), *MODES[mode])
    spans = any_python.read_json("log.json")
    for caller, name, n in (("sorts", "built-in method builtins.sorted", 3), ("folds", "built-in method _functools.reduce", 2)):
        (called,) = [node for node in report.named(name) if node.python_caller == caller]
        assert called["calls"] == 1
        assert n * 4e6 * 0.99 <= called["time_ns"]["sum"] <= spans[name.rpartition(".")[2]] * 1.01
        assert called["self_ns"]["sum"] <= called["time_ns"]["sum"] - n * 4e6 * 0.99
        below = [node for node in report.named("rests") if called in node.ancestors]
        assert sum(node["calls"] for node in below) == n
        sleeps = [node for node in report.named("built-in method time.sleep") if called in node.ancestors]
        assert sum(node["calls"] for node in sleeps) == n
        assert n * 4e6 * 0.99 <= sum(node["time_ns"]["sum"] for node in sleeps)
    assert sum(node["time_ns"]["sum"] for node in report.named("built-in method time.sleep")) <= spans["sleep"] * 1.01


NESTED_MPI = """
    import functools, json, sys, time
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    now = time.perf_counter_ns
    spans = {}
    def meets(x):
        if comm.rank == 0:
            time.sleep(0.02)
        start = now()
        comm.Barrier()
        spans["meet"] = spans.get("meet", 0) + now() - start
        return x
    def sorts():
        start = now()
        sorted([3, 1, 2], key=meets)
        spans["sorted"] = now() - start
    sorts()
    with open(f"{sys.argv[1]}-{comm.rank}", "w") as file:
        json.dump(spans, file)
"""


def test_mpi_is_below_the_c_function_that_leads_to_it(one_mpi: Sandbox):
    (one_mpi.cwd / "program.py").write_text(textwrap.dedent(NESTED_MPI))
    done = one_mpi.recorded_ranks(2, "program.py", "log", options=("-q", "-o", "run.allranks"))
    assert done.code == 0, done
    report = one_mpi.report("run.allranks")
    spans = [one_mpi.read_json(f"log-{rank}") for rank in (0, 1)]
    sorts = [node for node in report.named("built-in method builtins.sorted") if node.python_caller == "sorts"]
    assert sum(node["calls"] for node in sorts) == 2
    total = sum(node["time_ns"]["sum"] for node in sorts)
    assert 2 * 3 * 20e6 * 0.9 <= total <= sum(each["sorted"] for each in spans) * 1.01
    below = [node for node in report.mpi("MPI_Barrier", "meets") if sorts[0] in node.ancestors]
    assert sum(node["calls"] for node in below) == 6
    waited = sum(node["time_ns"]["sum"] for node in below)
    assert waited <= sum(each["meet"] for each in spans) * 1.01
    assert sum(node["self_ns"]["sum"] for node in sorts) <= total - waited


# ---- modes ----

SMALL = """
    import json, sys, time
    def small():
        for i in range(5000):
            abs(i)
        items = []
        for i in range(5000):
            items.append(len("ab"))
            isinstance(i, int)
        time.sleep(0.002)
        return sorted(items, key=lambda x: -x)
    small()
"""


def run_small(python: Sandbox, *options: str) -> Report:
    return run_text(python, textwrap.dedent(SMALL), *options)


def kinds_of(report: Report) -> set[str]:
    return {node.kind for node in report.nodes}


def test_none_of_them_on_request(any_python: Sandbox):
    """What they take is the time of their callers, and their callbacks are below these callers."""
    report = run_small(any_python, "--builtins", "none")
    assert not kinds_of(report) & {"builtin", "unassigned"}
    assert not not_exact(report)
    (small,) = report.named("small")
    assert small["self_ns"]["sum"] >= 2e6 * 0.99
    (callback,) = [node for node in report.nodes if node.parent == small]
    assert "<lambda>" in callback.name
    assert callback["calls"] == 5000
    assert report.data["facts"]["builtins"] == "none"


@pytest.mark.parametrize("options", [(), ("--builtins", "counted"), ("--builtins", "costly")])
def test_names_of_the_default(any_python: Sandbox, options: tuple[str, ...]):
    report = run_small(any_python, *options)
    assert report.data["facts"]["builtins"] == "counted"
    figures = find(report).figures
    assert figures["small", "built-in method builtins.abs"].calls == 5000
    assert figures["small", "built-in method time.sleep"].calls == 1
    n_inlined = {figures["small", name].calls for name in FROM_3_11_ON_INLINED if ("small", name) in figures}
    assert n_inlined == ({5000} if any_python.stack.python_version in ("3.9", "3.10") else set())


def test_inlined_functions_on_request(any_python: Sandbox):
    report = run_small(any_python, "--builtins", "all")
    assert report.data["facts"]["builtins"] == "all"
    figures = find(report).figures
    assert [figures["small", name].calls for name in FROM_3_11_ON_INLINED] == [5000] * 3


def test_every_call_is_timed_on_request(any_python: Sandbox):
    report = run_small(any_python, "--exact")
    assert (report.data["facts"]["builtins"], report.data["facts"]["exact"]) == ("counted", "yes")
    assert not not_exact(report)
    assert find(report).figures["small", "built-in method builtins.abs"].calls == 5000


@pytest.mark.parametrize("options", [("--exact", "--budget", "2%"), ("--budget", "2%", "--exact"), ("--builtins", "some")])
def test_options_that_are_refused(any_python: Sandbox, options: tuple[str, ...]):
    (any_python.cwd / "program.py").write_text("print('runs')")
    done = record(any_python, *options)
    assert (done.code, done.out) == (2, ""), done
    (line,) = done.err.splitlines()
    assert line.startswith("allranks: "), line
    assert all(word in line for word in options if word.startswith("--")), line
    assert any_python.files() == {"program.py"}
