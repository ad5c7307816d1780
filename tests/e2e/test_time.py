# SPDX-License-Identifier: BSD-3-Clause
"""Truth: how long it took, compared with what the program measured itself."""

import pytest
from harness import Sandbox, workload
from readings import in_file

# Between a function's entry and its first look at the clock there is room for a switch to another process.
TOLERANCE = 0.05
SWITCH_S = 0.002
# Where self times are compared, functions in C are to be part of their callers.
WITHOUT_C = ("--builtins", "none")


def agrees(found_s: float, logged_s: float) -> bool:
    return found_s == pytest.approx(logged_s, rel=TOLERANCE, abs=SWITCH_S)


def test_times_are_what_the_program_measured(python: Sandbox):
    path = workload("time_spans.py")
    done = python.recorded(path, "log.json", options=WITHOUT_C)
    assert done.code == 0, done
    log = python.read_json("log.json")
    found = {key[2]: calls for key, calls in in_file(python.pstats("time_spans.allranks"), path).items()}
    wrong = [
        f"{name}: {what} {measured:.4f} s, logged {logged:.4f} s"
        for what, table in log.items()
        for name, logged in table.items()
        for measured in [found[name].total_s if what == "total" else found[name].self_s]
        if not agrees(measured, logged)
    ]
    assert not wrong


def test_the_report_has_the_same_times(python: Sandbox):
    done = python.recorded(workload("time_spans.py"), "log.json", options=WITHOUT_C)
    assert done.code == 0, done
    log = python.read_json("log.json")
    report = python.report("time_spans.allranks")
    for name in ("main", "parent", "consumer", "sleeper", "in_thread"):
        (node,) = report.named(name)
        assert agrees(node["time_ns"]["sum"] / 1e9, log["total"][name]), name
    (leaf,) = report.named("leaf")
    assert leaf["calls"] == 5
    assert agrees(leaf["self_ns"]["sum"] / 1e9, log["self"]["leaf"])


def test_a_thread_that_has_ended_takes_no_more_time(python: Sandbox):
    """Of a run of more than a second the thread lives for 100 ms."""
    done = python.recorded(workload("time_spans.py"), "log.json")
    assert done.code == 0, done
    log = python.read_json("log.json")
    report = python.report("time_spans.allranks")
    (thread,) = [node for node in report.nodes if node.kind == "thread" and node.parent]
    assert thread["time_ns"]["sum"] / 1e9 < log["total"]["waits_for_thread"] + SWITCH_S
    assert report.data["wall_ns"] / 1e9 > log["total"]["main"]
