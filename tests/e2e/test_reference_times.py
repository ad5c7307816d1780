# SPDX-License-Identifier: BSD-3-Clause
"""Self, total and recursive time: what allranks makes of a run, and what a slow and obvious program makes of its log."""

from __future__ import annotations

from collections import Counter

import pytest
from harness import SWITCH_S, Sandbox, settled, times_unlike, workload
from readings import Node, Report, in_file

Event = tuple[int, str, int]  # +1 or -1, function, nanoseconds


class Reference:
    """Sums over a list of events, by function and by path."""

    def __init__(self, events: list[Event]) -> None:
        self.calls: Counter[str] = Counter()
        self.total: Counter[str] = Counter()  # what is spent inside itself counts once
        self.own: Counter[str] = Counter()
        self.total_of_path: Counter[str] = Counter()
        self.calls_of_path: Counter[str] = Counter()
        open_calls: list[list] = []  # name, since, inside other calls
        for sign, name, at in events:
            if sign > 0:
                open_calls.append([name, at, 0])
            else:
                self.leave(open_calls, name, at)
        assert not open_calls

    def leave(self, open_calls: list[list], name: str, at: int) -> None:
        path = "/".join(call[0] for call in open_calls)
        left, since, inside = open_calls.pop()
        assert left == name
        self.calls[name] += 1
        self.own[name] += at - since - inside
        self.calls_of_path[path] += 1
        self.total_of_path[path] += at - since
        if all(call[0] != name for call in open_calls):
            self.total[name] += at - since
        if open_calls:
            open_calls[-1][2] += at - since


def in_seconds(table: Counter[str]) -> dict[str, float]:
    return {name: ns / 1e9 for name, ns in table.items()}


def record(python: Sandbox, mode: str, seed: int, n_threads: int) -> list[Reference]:
    words = ("log.json", str(seed), str(n_threads))
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded(workload("event_log.py"), *words, options=("-q", "-o", "run.allranks", "--builtins", mode))
    assert (done.code, done.err) == (0, ""), done
    return [Reference(events) for events in python.read_json("log.json")]


@pytest.mark.parametrize("mode", ["none", "all"])
def test_functions_are_as_the_reference_has_them(any_python: Sandbox, mode: str):
    assert not settled(lambda: functions_unlike(any_python, mode))


def functions_unlike(any_python: Sandbox, mode: str) -> dict[str, str]:
    """Where functions in C are recorded, what they take is not their callers' own."""
    (reference,) = record(any_python, mode, 1, 0)
    found = {key[2]: calls for key, calls in in_file(any_python.pstats("run.allranks"), workload("event_log.py")).items()}
    assert {name: found[name].calls for name in reference.calls} == reference.calls
    total = times_unlike({name: calls.total_s for name, calls in found.items()}, in_seconds(reference.total))
    own = times_unlike({name: calls.self_s for name, calls in found.items()}, in_seconds(reference.own))
    wrong = {"total": total, "self": own if mode == "none" else {}}
    return {f"{what} of {name}": how for what, table in wrong.items() for name, how in table.items()}


def logged_path(node: Node) -> str:
    """Of the functions that log: the others come in between."""
    names = [name.rpartition(".")[2] for name in node.path]
    return "/".join(name for name in names if name in LOGGED)


LOGGED = {
    "in_thread", "first", "second", "recursive", "raising", "through_c", "called_by_c", "generating", "busy", "go_on", "spin",
}  # fmt: skip


def thread_of(node: Node) -> Node:
    above = node
    while above.parent and above.kind != "thread":
        above = above.parent
    return above


@pytest.mark.parametrize("n_threads", [0, 3])
def test_call_paths_of_every_thread_are_as_the_reference_has_them(any_python: Sandbox, n_threads: int):
    """Where there are several, each may lose the GIL between its look at the clock and its return, for 5 ms a thread."""
    assert not settled(lambda: paths_unlike(any_python, n_threads))


def paths_unlike(any_python: Sandbox, n_threads: int) -> dict[str, str]:
    wrong: dict[str, str] = {}
    references = record(any_python, "none", 5, n_threads)
    report = any_python.report("run.allranks")
    for number, reference in enumerate(references):
        calls, seconds = paths_of_thread(report, f"logged {number}" if number else "")
        assert calls == reference.calls_of_path
        logged = in_seconds(reference.total_of_path)
        unlike = {} if n_threads else times_unlike(seconds, logged)
        whole = {"in_thread": logged["in_thread"]}
        unlike.update(times_unlike(seconds, whole, rel=0, abs_s=SWITCH_S + 0.01 * n_threads))
        wrong.update({f"{path} in thread {number}": how for path, how in unlike.items()})
    return wrong


def paths_of_thread(report: Report, name: str) -> tuple[Counter[str], dict[str, float]]:
    calls: Counter[str] = Counter()
    time_ns: Counter[str] = Counter()
    for node in report.nodes:
        if node.name in LOGGED and thread_of(node).name == name:
            calls[logged_path(node)] += node["calls"]
            time_ns[logged_path(node)] += node["time_ns"]["sum"]
    return calls, in_seconds(time_ns)


def test_recursion_counts_once(any_python: Sandbox):
    assert not settled(lambda: recursion_unlike(any_python))


def recursion_unlike(any_python: Sandbox) -> dict[str, str]:
    """In pstats; in the tree each of its calls has its own."""
    (reference,) = record(any_python, "none", 1, 0)
    nodes = any_python.report("run.allranks").named("recursive")
    assert max(node.path.count("recursive") for node in nodes) > 1
    (found,) = [calls for key, calls in any_python.pstats("run.allranks").items() if key[2] == "recursive"]
    each_ns = sum(ns for path, ns in reference.total_of_path.items() if path.endswith("recursive"))
    return times_unlike(
        {"once": found.total_s, "each": sum(node["time_ns"]["sum"] for node in nodes) / 1e9},
        {"once": reference.total["recursive"] / 1e9, "each": each_ns / 1e9},
    )


@pytest.mark.parametrize("mode", ["none", "all"])
def test_times_add_up(any_python: Sandbox, mode: str):
    """To the nanosecond, but for rounding."""
    record(any_python, mode, 7, 2)
    report = any_python.report("run.allranks")
    own, inside = Counter(), Counter()
    for node in report.nodes:
        assert node["self_ns"]["sum"] >= 0
        own[thread_of(node).number] += node["self_ns"]["sum"]
        if node.parent and node.kind != "thread":
            inside[node.parent.number] += node["time_ns"]["sum"]
    n_nodes = len(report.data["nodes"])
    for node in report.nodes:
        assert inside[node.number] <= node["time_ns"]["sum"] + n_nodes, node.path
        if node.kind != "thread":
            assert node["self_ns"]["sum"] == pytest.approx(node["time_ns"]["sum"] - inside[node.number], abs=n_nodes), node.path
    check_threads(report, own, n_nodes)


def check_threads(report: Report, own: Counter[int], n_nodes: int) -> None:
    threads = [node for node in report.nodes if node.kind == "thread"]
    assert len(threads) == 3
    for thread in threads:
        assert own[thread.number] == pytest.approx(thread["time_ns"]["sum"], abs=n_nodes), thread.name
