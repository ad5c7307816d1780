# SPDX-License-Identifier: BSD-3-Clause
"""What reports say beyond Python functions and MPI: functions in C, regions, tasks, estimates, and what it all cost."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import pytest
from harness import Sandbox, settled, times_unlike, workload
from readings import Calls, FunctionKey, Report, read_pstats

Pair = tuple[int, int]


def record(python: Sandbox, name: str, *options: str) -> str:
    """Runs a workload; returns the run file."""
    run = f"r{len(python.files())}.allranks"  # short: the report repeats it
    done = python.recorded(workload(f"{name}.py"), options=(*options, "-o", run))
    assert done.code == 0, done
    return run


def shown(python: Sandbox, run: str, *options: str) -> list[str]:
    return python.answer("report", *options, run).decode().splitlines()


# ---- functions in C ----


def known_alike(key: FunctionKey) -> FunctionKey:
    """cProfile writes an address into the names of methods that belong to types."""
    return (key[0], key[1], re.sub(r" of type object at 0x[0-9a-f]+", "", key[2]))


def in_file_or_c(stats: dict[FunctionKey, Calls], path: str) -> dict[FunctionKey, dict[FunctionKey, Pair]]:
    """Of the program's functions and those in C: calls and primitive calls by each caller that is of the program or in C.

    What runs the program differs, and imports find other things loaded already: their callers are left out.
    """
    found: dict[FunctionKey, dict[FunctionKey, Pair]] = {}
    for key, calls in stats.items():
        if key[0] not in (path, "~", "<string>") or key[2] == "<module>":
            continue
        for caller, (n, primitive) in calls.callers.items():
            if caller[0] in (path, "<string>") or (caller[0] == "~" and key[0] != "~"):
                pairs = found.setdefault(known_alike(key), {})
                before = pairs.get(known_alike(caller), (0, 0))
                pairs[known_alike(caller)] = (before[0] + n, before[1] + primitive)
    return found


def test_calls_of_functions_in_c_are_those_of_cprofile(python: Sandbox):
    path = workload("counts_in_c.py")
    stats = python.pstats(record(python, "counts_in_c", "--builtins=all"))
    reference = python.cwd / "reference.pstats"
    done = python.plain(workload("cprofile_reference.py"), "--builtins", str(reference), path)
    assert done.code == 0, done
    expected = in_file_or_c(read_pstats(reference), path)
    assert len(expected) > 40
    found = in_file_or_c(stats, path)
    found.pop(("~", 0, "<method '__format__' of 'object' objects>"))  # an f-string calls it, which cProfile does not see
    assert found == expected


def test_primitive_calls_are_those_of_cprofile(python: Sandbox):
    """Where a function in C is part of the recursion."""
    path = workload("counts_in_c.py")
    stats = python.pstats(record(python, "counts_in_c", "--builtins=all"))
    reference = python.cwd / "reference.pstats"
    python.plain(workload("cprofile_reference.py"), "--builtins", str(reference), path)
    for key, expected in read_pstats(reference).items():
        if key[0] == path and key[2] != "<module>":
            assert (stats[key].calls, stats[key].primitive) == (expected.calls, expected.primitive), key


@pytest.mark.parametrize("which", ["all", "costly", "none"])
def test_the_program_is_not_disturbed(python: Sandbox, which: str):
    path = workload("counts_in_c.py")
    plain = python.plain(path)
    done = python.recorded(path, options=(f"--builtins={which}",))
    assert (done.code, done.stdout) == (plain.code, plain.stdout)


def test_names_of_functions_in_c_are_short(python: Sandbox):
    run = record(python, "counts_in_c", "--builtins=all")
    lines = shown(python, run, "--rows", "0", "--min", "0")
    for name in ("len", "math.hypot", "list.append", "str.join", "sorted"):
        assert any(re.match(rf"[ *] *{re.escape(name)} +C ", line) for line in lines), name
    assert not any("built-in" in line or "method '" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)
    whole = {function["name"] for function in python.report(run).data["functions"] if function["kind"] == "builtin"}
    assert {"built-in method builtins.len", "built-in method math.hypot", "method 'append' of 'list' objects"} <= whole


def test_short_functions_in_c_are_in_the_file_if_not_on_the_screen(python: Sandbox):
    run = record(python, "counts_in_c")
    report = python.report(run).data
    assert report["facts"]["builtins"] == "counted"
    counts = {function["name"]: function["calls"] for function in report["functions"] if function["kind"] == "builtin"}
    assert counts["built-in method math.hypot"] > 0
    assert len(shown(python, run, "--functions")) < len(shown(python, run, "--functions", "--rows", "0", "--min", "0"))
    assert "every call of functions in C is counted" in python.answer("info", run).decode()


def test_without_functions_in_c(python: Sandbox):
    run = record(python, "counts_in_c", "--builtins=none")
    assert not [f for f in python.report(run).data["functions"] if f["kind"] == "builtin"]
    assert "functions in C were not recorded (--builtins)" in python.answer("info", run).decode()
    assert not any("in C" in line for line in shown(python, run))


# ---- overhead, estimates, budget ----


def test_overhead_is_on_the_first_screen(python: Sandbox):
    """The price of a call is measured in an instant, and at times comes out as nothing."""
    assert not settled(lambda: overhead_unlike(python))


def check_reasons(info: dict[str, Any], report: dict[str, Any]) -> None:
    """Each is there, none is less than nothing, and together they are all of it."""
    reasons = info["overheads_ns"]
    assert list(reasons) == ["start", "imports", "paths", "python_calls", "c_calls", "mpi_calls", "end"]
    assert reasons == report["overheads_ns"] == info["processes"][0]["overheads_ns"]
    assert sum(reasons.values()) == info["overhead_ns"]
    assert min(reasons.values()) >= 0 and reasons["mpi_calls"] == 0
    assert min(reasons[name] for name in ("start", "paths", "python_calls", "c_calls", "end")) > 0


def overhead_unlike(python: Sandbox) -> dict[str, str]:
    run = record(python, "often_called", "--builtins=all")
    report = python.report(run).data
    assert report["overhead"] == pytest.approx(report["overhead_ns"] / report["wall_ns"])
    share = f"{100 * report['overhead']:.1f} %"
    assert re.fullmatch(rf"in MPI 0 %   overhead {share}   dropped 0", shown(python, run)[2])
    info = python.info(run)
    assert info.data["overhead_ns"] == report["overhead_ns"] == info.processes[0]["overhead_ns"]
    assert f"overhead   {share}" in python.answer("info", run).decode()
    check_reasons(info.data, report)
    return {} if report["overhead_ns"] > 0 else {"overhead": "none"}


def marked(report: Report, mark: str) -> set[str]:
    return {node.name for node in report.nodes if node.data.get(mark)}


def test_a_budget_leaves_marks(python: Sandbox):
    assert not settled(lambda: budget_unlike(python))


def budget_unlike(python: Sandbox) -> dict[str, str]:
    run = record(python, "often_called", "--builtins=none", "--budget=1%")
    report = python.report(run)
    assert report.calls("count") == 1
    partial = marked(report, "partial")
    if partial != {"tiny"}:
        return {"partial": str(partial)}
    assert 0 < report.calls("tiny") < 1_000_000
    lines = shown(python, run, "--min", "0")
    (row,) = [line for line in lines if re.match("[ *] *tiny ", line)]
    assert re.search(r" >\d+\.\d+ +>\d+\.\d+$", row)
    assert " > at least: timed no more, see --budget" in lines
    assert python.info(run).data["partial_functions"] == 1
    assert "partial    1 function was timed no more" in python.answer("info", run).decode()
    return {}


def test_without_marks_there_is_no_legend(python: Sandbox):
    run = record(python, "often_called", "--builtins=all")
    report = python.report(run)
    assert marked(report, "partial") == marked(report, "estimated") == set()
    assert report.calls("tiny") == 1_000_000
    assert report.calls("method 'join' of 'str' objects") >= 200_000
    assert not any(line.startswith((" ~ ", " > ")) for line in shown(python, run))
    assert python.info(run).data["partial_functions"] == 0


def test_estimates_are_marked(python: Sandbox):
    """Two million calls of `str.isupper`: counted, and some of them timed."""
    assert not settled(lambda: estimates_unlike(python))


def estimates_unlike(python: Sandbox) -> dict[str, str]:
    run = record(python, "often_called_in_c")
    report = python.report(run)
    (ask,) = report.named("ask")
    below = [node for node in report.nodes if node.parent and node.parent.number == ask.number]
    assert sum(node["time_ns"]["sum"] for node in below) <= ask["time_ns"]["sum"] + 10  # rounding
    asked = [node for node in below if node.name == "method 'isupper' of 'str' objects"]
    assert sum(node["calls"] for node in asked) == 2_000_000
    if not all(node.data.get("estimated") for node in asked):
        return {"isupper": "not estimated"}  # a long gap, and each call is timed
    lines = shown(python, run, "--min", "0")
    assert any(re.match(r"[ *] *str\.isupper +C +~\d+\.\d+ +~\d+\.\d+$", line) for line in lines)
    assert any(re.fullmatch(r" ~ estimated from some of the calls, to within \S+ \w+ in 19 of 20 cases", line) for line in lines)
    return {}


# ---- regions and tasks ----


def test_regions_and_what_is_in_them(python: Sandbox):
    report = python.report(record(python, "regions_and_tasks"))
    counts = {node.name: 0 for node in report.nodes if node.kind == "region"}
    for node in report.nodes:
        if node.kind == "region":
            counts[node.name] += node["calls"]
    assert counts == {"assemble(level=2)": 3, "solve": 3, "decorated": 5, "outlives": 1, "(paused)": 1}
    solve = [node for node in report.named("work") if node.parent.name == "solve"]
    assert sum(node["calls"] for node in solve) == 6
    outlives = [node for node in report.named("work") if "outlives" in node.path]
    assert sum(node["calls"] for node in outlives) == 2  # once after the function that began it had returned
    assert not [node for node in report.nodes if "(paused)" in node.path[:-1]]


def test_ends_of_regions_that_were_not_open_are_counted(python: Sandbox):
    run = record(python, "regions_and_tasks")
    assert python.info(run).processes[0]["lost"]["regions"] == 1
    assert "1 ends of regions that were not open" in python.answer("info", run).decode()
    assert "dropped 1" in shown(python, run)[2]


@pytest.mark.parametrize("which", ["all", "costly", "none"])
def test_tasks(python: Sandbox, which: str):
    assert not settled(lambda: tasks_unlike(python, which))


def tasks_unlike(python: Sandbox, which: str) -> dict[str, str]:
    run = record(python, "regions_and_tasks", f"--builtins={which}")
    report = python.report(run)
    steps: dict[str, int] = {}
    awaited: dict[str, float] = {}
    for node in report.nodes:
        if node.kind == "task":
            steps[node.name] = steps.get(node.name, 0) + node["calls"]
            awaited[node.name] = awaited.get(node.name, 0) + node["awaited_ns"] / 1e9
    assert {name: steps[name] for name in ("loader", "step", "tasks")} == {"loader": 3 * 5, "step": 3, "tasks": 2}
    assert report.calls("step") == 0 or {node.kind for node in report.named("step")} == {"task", "python"}
    lines = shown(python, run, "--rows", "0")
    start = next(i for i, line in enumerate(lines) if line.startswith("asyncio tasks "))
    assert lines[start].split()[-3:] == ["steps", "running", "awaited"]
    rows = {line.split()[0]: line.split()[1:3] for line in lines[start + 1 :] if line}
    assert rows["loader"] == ["task", "15"]
    return times_unlike(awaited, {"loader": (3 * 4 * 0.001, inf), "step": (2 * 0.001, inf)}, abs_s=0)


def test_the_first_screen_is_one_screen(python: Sandbox):
    for options in (("--builtins=all",), ("--budget=1%",)):
        lines = shown(python, record(python, "regions_and_tasks", *options))
        assert len(lines) <= 24
        assert all(len(line) <= 80 for line in lines)
        assert len([line for line in lines if re.search(" task  ", line)]) <= 2 * 5
    assert not any(line.startswith("asyncio") for line in shown(python, record(python, "often_called")))


def test_regions_and_tasks_in_pstats(python: Sandbox):
    stats = python.pstats(record(python, "regions_and_tasks"))
    work = next(calls for key, calls in stats.items() if key[2] == "work")
    assert stats["~", 0, "<region solve>"].calls == 3
    assert work.callers["~", 0, "<region solve>"] == (6, 6)
    assert stats["~", 0, "<task loader>"].calls == 15
