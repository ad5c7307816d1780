# SPDX-License-Identifier: BSD-3-Clause
"""Truth: how long it took, compared with what the program measured itself."""

from math import inf

from harness import Sandbox, settled, times_unlike, workload
from readings import in_file

# Where self times are compared, functions in C are to be part of their callers.
WITHOUT_C = ("--builtins", "none")


def record(python: Sandbox, *options: str) -> dict[str, dict[str, float]]:
    """Returns what the program logged."""
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded(workload("time_spans.py"), "log.json", options=("-o", "run.allranks", *options))
    assert done.code == 0, done
    return python.read_json("log.json")


def test_times_are_what_the_program_measured(python: Sandbox):
    def look() -> dict[str, str]:
        log = record(python, *WITHOUT_C)
        found = {key[2]: calls for key, calls in in_file(python.pstats("run.allranks"), workload("time_spans.py")).items()}
        total = times_unlike({name: found[name].total_s for name in log["total"]}, log["total"])
        own = times_unlike({name: found[name].self_s for name in log["self"]}, log["self"])
        return {**total, **{f"self of {name}": how for name, how in own.items()}}

    assert not settled(look)


def test_the_report_has_the_same_times(python: Sandbox):
    def look() -> dict[str, str]:
        log = record(python, *WITHOUT_C)
        report = python.report("run.allranks")
        found = {}
        for name in ("main", "parent", "consumer", "sleeper", "in_thread"):
            (node,) = report.named(name)
            found[name] = node["time_ns"]["sum"] / 1e9
        (leaf,) = report.named("leaf")
        assert leaf["calls"] == 5
        own = times_unlike({"self of leaf": leaf["self_ns"]["sum"] / 1e9}, {"self of leaf": log["self"]["leaf"]})
        return {**own, **times_unlike(found, {name: log["total"][name] for name in found})}

    assert not settled(look)


def test_a_thread_that_has_ended_takes_no_more_time(python: Sandbox):
    """Of a run of more than a second the thread lives for 100 ms."""

    def look() -> dict[str, str]:
        total = record(python)["total"]
        report = python.report("run.allranks")
        (thread,) = [node for node in report.nodes if node.kind == "thread" and node.parent]
        return times_unlike(
            {"thread": thread["time_ns"]["sum"] / 1e9, "run": report.data["wall_ns"] / 1e9},
            {"thread": (total["in_thread"], total["waits_for_thread"]), "run": (total["main"], inf)},
        )

    assert not settled(look)
