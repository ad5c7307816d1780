# SPDX-License-Identifier: BSD-3-Clause
"""asyncio tasks by name: how long each ran and waited, as its own clock says."""

from __future__ import annotations

import json

import pytest
from harness import ROOT, Sandbox, settled, times_unlike, workload

ENDED_BY_AN_ERROR = ("cancelled", "timed out")  # that comes from outside


def record(python: Sandbox, mode: str) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """What was found of each task, and what it logged."""
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded(workload("tasks.py"), "log.json", options=("-q", "-o", "run.allranks", "--builtins", mode))
    assert (done.code, done.err) == (0, ""), done
    found: dict[str, dict[str, float]] = {}
    for node in python.report("run.allranks").nodes:
        if node.kind == "task":
            sums = found.setdefault(node.name, {"steps": 0, "running": 0, "waiting": 0})
            sums["steps"] += node["calls"]
            sums["running"] += node["time_ns"]["sum"] / 1e9
            sums["waiting"] += node.data.get("awaited_ns", 0) / 1e9
    return found, python.read_json("log.json")


MODES = ["none", "costly", "all"]


def unlike_log(found: dict[str, dict[str, float]], log: dict[str, dict[str, float]], what: str, *left_out: str) -> dict[str, str]:
    """Between a task's look at the clock and the event the loop has its part."""
    logged = {name: seconds for name, seconds in log[what].items() if name not in left_out}
    unlike = times_unlike({name: found[name][what] for name in logged}, logged, rel=0.1)
    return {f"{name} {what}": how for name, how in unlike.items()}


@pytest.mark.parametrize("mode", MODES)
def test_tasks_ran_and_waited_as_they_logged(any_python: Sandbox, mode: str):
    def look() -> dict[str, str]:
        found, log = record(any_python, mode)
        assert {name: found.get(name, {}).get("steps") for name in log["steps"]} == log["steps"]
        running = unlike_log(found, log, "running", *ENDED_BY_AN_ERROR)
        return {**running, **unlike_log(found, log, "waiting", *ENDED_BY_AN_ERROR)}

    assert not settled(look)


def test_what_a_cancelled_task_waited(any_python: Sandbox):
    def look() -> dict[str, str]:
        found, log = record(any_python, "none")
        others = set(log["waiting"]) - set(ENDED_BY_AN_ERROR)
        return unlike_log(found, log, "waiting", *others)

    assert not settled(look)


@pytest.mark.parametrize("mode", ["none", "all"])
def test_tasks_without_a_name_are_known_by_their_coroutines(any_python: Sandbox, mode: str):
    found, _ = record(any_python, mode)
    assert {"nameless", "other_nameless", "main"} <= set(found)
    assert not [name for name in found if name.startswith("Task-")]


LOAD = "import json, allranks; print(json.dumps(allranks.load('run.allranks', as_='python').table('tasks').to_dict()))"


def test_tasks_are_a_table(any_python: Sandbox):
    found, log = record(any_python, "none")
    rows = json.loads(any_python.answer("report", "--json", "run.allranks"))["tasks"]
    assert [row["time_ns"]["sum"] for row in rows] == sorted((row["time_ns"]["sum"] for row in rows), reverse=True)
    assert {row["name"]: row["steps"] for row in rows} == {name: sums["steps"] for name, sums in found.items()}
    assert {row["name"]: row["steps"] for row in rows if row["name"] in log["steps"]} == log["steps"]
    for row in rows:
        assert row["awaited_ns"] / 1e9 == pytest.approx(found[row["name"]]["waiting"])
    done = any_python.plain("-c", LOAD)
    assert done.code == 0, done
    loaded = json.loads(done.out)
    assert loaded["name"] == [row["name"] for row in rows] and loaded["steps"] == [row["steps"] for row in rows]
    assert loaded["awaited_s"] == pytest.approx([row["awaited_ns"] / 1e9 for row in rows])


def names_of_odd_tasks(python: Sandbox, which: str) -> set[str]:
    done = python.recorded(str(ROOT / "tests" / "awkward" / "tasks_odd.py"), which, options=("-q", "-o", "run.allranks"))
    assert (done.code, done.err) == (0, ""), done
    return {node.name for node in python.report("run.allranks").nodes if node.kind == "task"}


@pytest.mark.parametrize("which", ["names", "loops", "nested"])
def test_a_class_that_computes_names_goes_by_those_that_were_given(any_python: Sandbox, which: str):
    named = names_of_odd_tasks(any_python, which)
    assert {"a name of its own", "step", "with_factory.<locals>.main"} <= named
    assert not named & {"elsewhere", "nested"}


@pytest.mark.parametrize("which", ["audit", "hash"])
def test_audit_hooks_and_odd_loops_cost_no_names(any_python: Sandbox, which: str):
    assert {"a name of its own", "step", "many"} <= names_of_odd_tasks(any_python, which)


def test_a_coroutine_of_the_programs_own_goes_by_its_class(any_python: Sandbox):
    assert {"Coroutine", "coroutine.<locals>.main"} <= names_of_odd_tasks(any_python, "coroutine")


def test_programs_with_tasks_do_the_same(any_python: Sandbox):
    plain = any_python.plain(workload("tasks.py"), "plain.json")
    assert (plain.code, plain.err) == (0, ""), plain
    record(any_python, "costly")
    assert any_python.read_json("log.json")["steps"] == any_python.read_json("plain.json")["steps"]
