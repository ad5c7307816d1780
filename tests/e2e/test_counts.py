# SPDX-License-Identifier: BSD-3-Clause
"""Truth: how often every function was called, and by whom."""

import pytest
from harness import Sandbox, workload
from readings import Calls, FunctionKey, counts_by_name, in_file, read_pstats

SINGLE_THREADED = ("functions", "recursion", "generators", "coroutines", "exceptions")


def record(python: Sandbox, kind: str) -> tuple[str, dict[FunctionKey, Calls]]:
    """Runs a program that counts; returns its path and what was recorded of the functions in its file.

    Callers are compared, so functions in C, which may come in between, are left out.
    """
    path = workload(f"counts_{kind}.py")
    done = python.recorded(path, "noted.json", options=("--builtins", "none"))
    assert done.code == 0, done
    run = f"counts_{kind}.allranks"
    assert python.info(run).lost == 0
    return path, python.pstats(run)


def noted_counts(python: Sandbox) -> dict[str, int]:
    noted = python.read_json("noted.json")
    return noted.get("calls", noted)


@pytest.mark.parametrize("kind", [*SINGLE_THREADED, "threads"])
def test_counts_are_what_the_program_noted(python: Sandbox, kind: str):
    path, stats = record(python, kind)
    stats = {**in_file(stats, path), **in_file(stats, "<string>")}  # the latter: made by exec
    found = counts_by_name(stats)
    noted = noted_counts(python)
    noted.pop("endless", None)
    assert {name: found.get(name, 0) for name in noted} == noted


def test_a_call_that_the_recursion_limit_refuses_is_not_counted(python: Sandbox):
    path, stats = record(python, "exceptions")
    assert counts_by_name(in_file(stats, path))["endless"] == noted_counts(python)["endless"]


def test_primitive_calls_are_what_the_program_noted(python: Sandbox):
    path, stats = record(python, "recursion")
    noted = python.read_json("noted.json")["primitive"]
    found = {key[2]: calls.primitive for key, calls in in_file(stats, path).items()}
    assert {name: found[name] for name in noted} == noted


def among_themselves(stats: dict[FunctionKey, Calls], path: str) -> dict:
    """Calls, primitive calls and the same for each caller, of functions in the file called by functions in the file."""
    return {
        key: (
            calls.calls,
            calls.primitive,
            {caller: pair for caller, pair in calls.callers.items() if caller[0] == path},
        )
        for key, calls in in_file(stats, path).items()
        if key[2] != "endless"
    }


@pytest.mark.parametrize("kind", SINGLE_THREADED)
def test_counts_are_those_of_cprofile(python: Sandbox, kind: str):
    path, stats = record(python, kind)
    reference = python.cwd / "reference.pstats"
    done = python.plain(workload("cprofile_reference.py"), str(reference), path, "ignored.json")
    assert done.code == 0, done
    expected = among_themselves(read_pstats(reference), path)
    assert len(expected) > 5
    assert among_themselves(stats, path) == expected


def test_calls_are_told_apart_by_their_lines(python: Sandbox):
    done = python.recorded(workload("call_places.py"), "expected.json")
    assert done.code == 0, done
    found: dict[str, int] = {}
    for node in python.report("call_places.allranks").named("target"):
        found[str(node["line"])] = found.get(str(node["line"]), 0) + node["calls"]
    assert found == python.read_json("expected.json")


def test_each_thread_has_a_tree_of_its_own(python: Sandbox):
    done = python.recorded(workload("counts_threads.py"), "noted.json")
    assert done.code == 0, done
    report = python.report("counts_threads.allranks")
    roots = {node.number for node in report.nodes if node.kind == "thread"}
    assert len(roots) >= 1 + 6 + 3 + 1 + 300  # the main thread's, which is the root, and the others'
    for name in ("busy_thread", "failing_thread", "short_thread", "pool_task"):
        for node in report.named(name):
            above = node
            while above.kind != "thread":
                above = above.parent
            assert above.number in roots - {0}, node.path
    assert all("main" in node.path for node in report.named("run_all"))


def test_a_thread_has_the_name_that_the_program_gave_it(python: Sandbox):
    code = "import threading\nt = threading.Thread(target=print, name='the cook')\nt.start()\nt.join()"
    assert python.recorded("-c", code, options=("-o", "x.allranks")).code == 0
    names = [node.name for node in python.report("x.allranks").nodes if node.kind == "thread"]
    assert "the cook" in names
