# SPDX-License-Identifier: BSD-3-Clause
"""Self, total and recursive time: what allranks makes of a run, and what a slow and obvious program makes of its log."""

from __future__ import annotations

from collections import Counter

import pytest
from harness import Sandbox, settled, workload
from readings import Node, Report, in_file

TOLERANCE = 0.05
SWITCH_S = 0.002
Event = tuple[int, str, int]  # +1 or -1, function, nanoseconds


class Reference:
    """Sums over a list of events, by function and by path."""

    def __init__(self, events: list[Event]) -> None:
        self.calls: Counter[str] = Counter()
        self.total: Counter[str] = Counter()  # what is spent inside itself counts once
        self.own: Counter[str] = Counter()
        self.total_of_path: Counter[tuple[str, ...]] = Counter()
        self.calls_of_path: Counter[tuple[str, ...]] = Counter()
        open_calls: list[list] = []  # name, since, inside other calls
        for sign, name, at in events:
            if sign > 0:
                open_calls.append([name, at, 0])
            else:
                self.leave(open_calls, name, at)
        assert not open_calls

    def leave(self, open_calls: list[list], name: str, at: int) -> None:
        path = tuple(call[0] for call in open_calls)
        left, since, inside = open_calls.pop()
        assert left == name
        self.calls[name] += 1
        self.own[name] += at - since - inside
        self.calls_of_path[path] += 1
        self.total_of_path[path] += at - since
        if name not in path[:-1]:
            self.total[name] += at - since
        if open_calls:
            open_calls[-1][2] += at - since


def agrees(found_s: float, logged_ns: float) -> bool:
    return found_s == pytest.approx(logged_ns / 1e9, rel=TOLERANCE, abs=SWITCH_S)


def record(python: Sandbox, mode: str, seed: int, n_threads: int) -> list[Reference]:
    words = ("log.json", str(seed), str(n_threads))
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded(workload("event_log.py"), *words, options=("-q", "-o", "run.allranks", "--builtins", mode))
    assert (done.code, done.err) == (0, ""), done
    return [Reference(events) for events in python.read_json("log.json")]


@pytest.mark.parametrize("mode", ["none", "all"])
def test_functions_are_as_the_reference_has_them(any_python: Sandbox, mode: str):
    assert not settled(lambda: functions_unlike(any_python, mode))


def functions_unlike(any_python: Sandbox, mode: str) -> list[str]:
    (reference,) = record(any_python, mode, 1, 0)
    found = {key[2]: calls for key, calls in in_file(any_python.pstats("run.allranks"), workload("event_log.py")).items()}
    assert {name: found[name].calls for name in reference.calls} == reference.calls
    return [
        f"{name}: {what} {seconds:.4f} s, logged {logged[name] / 1e9:.4f} s"
        for name in reference.calls
        for what, seconds, logged in (
            ("total", found[name].total_s, reference.total),
            ("self", found[name].self_s, reference.own),
        )
        if not agrees(seconds, logged[name]) and (mode == "none" or what == "total")
    ]


def logged_path(node: Node) -> tuple[str, ...]:
    """Of the functions that log: the others come in between."""
    names = [name.rpartition(".")[2] for name in node.path]
    return tuple(name for name in names if name in LOGGED)


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


def paths_unlike(any_python: Sandbox, n_threads: int) -> list[str]:
    wrong: list[str] = []
    references = record(any_python, "none", 5, n_threads)
    report = any_python.report("run.allranks")
    for number, reference in enumerate(references):
        calls: Counter[tuple[str, ...]] = Counter()
        seconds: Counter[tuple[str, ...]] = Counter()
        for node in report.nodes:
            name = f"logged {number}" if number else ""
            if node.name in LOGGED and thread_of(node).name == name:
                calls[logged_path(node)] += node["calls"]
                seconds[logged_path(node)] += node["time_ns"]["sum"] / 1e9
        assert calls == reference.calls_of_path
        wrong += [
            f"thread {number}, {path}: {seconds[path]:.4f} s, logged {logged / 1e9:.4f} s"
            for path, logged in reference.total_of_path.items()
            if not agrees(seconds[path], logged) and not n_threads
        ]
        whole = reference.total_of_path["in_thread",] / 1e9
        if seconds["in_thread",] != pytest.approx(whole, abs=SWITCH_S + 0.01 * n_threads):
            wrong.append(f"thread {number}: {seconds['in_thread',]:.4f} s, logged {whole:.4f} s")
    return wrong


def test_recursion_counts_once(any_python: Sandbox):
    (reference,) = record(any_python, "none", 1, 0)
    nodes = any_python.report("run.allranks").named("recursive")
    assert max(node.path.count("recursive") for node in nodes) > 1
    in_all = sum(node["time_ns"]["sum"] for node in nodes) / 1e9
    (found,) = [calls for key, calls in any_python.pstats("run.allranks").items() if key[2] == "recursive"]
    assert in_all > 1.2 * found.total_s
    assert agrees(found.total_s, reference.total["recursive"])


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
