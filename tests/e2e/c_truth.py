# SPDX-License-Identifier: BSD-3-Clause
"""Compares what was recorded of C functions with what a program of c_programs.py noted.

No figure here depends on the load of the machine: a recorded time lies between two bounds that the program itself
measured, and MARGIN is for the rate of the profiler's clock only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness import Done, Sandbox
from readings import Node, Report

MARGIN = 0.01
N_ERRORS = 4  # an estimate is off by more than that once in 16,000 times
STAMPS = ("built-in method time.perf_counter_ns", "built-in method time.thread_time_ns")
Key = tuple[str, str]  # name of the nearest Python function above, name of the C function


@dataclass
class Figures:
    """What was recorded of one C function below one Python function."""

    calls: int = 0
    calls_by_python: int = 0
    time_ns: int = 0  # of nodes that are not below another node of the same key
    is_estimated: bool = False
    error_ns: float = 0  # standard error of the time


@dataclass
class Found:
    """What was recorded of all C functions."""

    figures: dict[Key, Figures] = field(default_factory=dict)
    unassigned: dict[str, dict[str, int]] = field(default_factory=dict)  # ns by Python function and names

    def take(self, node: Node) -> None:
        key = (node.python_caller, node.name)
        if node.kind == "unassigned":
            names = self.unassigned.setdefault(node.python_caller, {})
            names[node.name] = names.get(node.name, 0) + node["time_ns"]["sum"]
        if node.kind != "builtin":
            return
        figures = self.figures.setdefault(key, Figures())
        figures.calls += node["calls"]
        if node.parent and node.parent.kind != "builtin":
            figures.calls_by_python += node["calls"]
        figures.is_estimated |= is_estimated(node)
        if all((above.python_caller, above.name) != key for above in node.ancestors):
            figures.time_ns += node["time_ns"]["sum"]
            figures.error_ns += node["time_ns"].get("error") or 0

    def unassigned_ns(self, key: Key) -> int:
        """What may be the time of this function, or its caller's."""
        caller, name = key
        rows = self.unassigned.get(caller, {})
        return sum(ns for names, ns in rows.items() if names == "functions in C" or bare(name) in bare_names(names))


def bare(name: str) -> str:
    """`abs` of `built-in method builtins.abs`, `upper` of `method 'upper' of 'str' objects`."""
    return name.split("'")[1] if name.startswith("method ") else name.rpartition(".")[2]


def bare_names(names: str) -> list[str]:
    """Of the row `time.sleep, math.sqrt`."""
    return [bare(name) for name in names.split(", ")]


def find(report: Report) -> Found:
    found = Found()
    for node in report.nodes:
        found.take(node)
    return found


def run_text(python: Sandbox, text: str, *options: str) -> Report:
    """Records a program; `log.json` is on its command line."""
    (python.cwd / "program.py").write_text(text)
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = record(python, *options)
    assert (done.code, done.err) == (0, ""), done
    return python.report("run.allranks")


def record(python: Sandbox, *options: str) -> Done:
    return python.recorded("program.py", "log.json", options=("-q", "-o", "run.allranks", *options))


# ---- what differs, one line each, so that a failure can be read ----


def unlike_counts(found: Found, noted: dict[str, Any], *, by_python_only: bool) -> list[str]:
    wrong = []
    for caller, name, by_python, by_c in noted["calls"]:
        figures = found.figures.get((caller, name), Figures())
        wanted = by_python if by_python_only else by_python + by_c
        if figures.calls != wanted:
            wrong.append(f"{caller}: {name}: {figures.calls} calls, not {wanted}")
    return wrong


def never_called(found: Found, noted: dict[str, Any]) -> list[str]:
    """C functions that were recorded as called by functions of the program that do not call them."""
    known = {(caller, name) for caller, name, *_ in noted["calls"]}
    callers = {caller for caller, _ in known}
    return [
        f"{caller}: {name}: {figures.calls_by_python} calls that it did not make"
        for (caller, name), figures in found.figures.items()
        if caller in callers and figures.calls_by_python and (caller, name) not in known and name not in STAMPS and not is_type(name)
    ]


def is_type(name: str) -> bool:
    """A constructor, as of `range(3)`."""
    return not name.startswith(("built-in method ", "method '"))


def bounds_of(noted: dict[str, Any]) -> dict[Key, tuple[int, int]]:
    bounds: dict[Key, tuple[int, int]] = {}
    for caller, name, least, most in noted["spans"]:
        before = bounds.get((caller, name), (0, 0))
        bounds[caller, name] = before[0] + least, before[1] + most
    return bounds


def unlike_times(found: Found, noted: dict[str, Any], *, is_exact: bool) -> list[str]:
    """Long calls are recorded, or it is known that their time is not assigned; nothing takes longer than it did."""
    wrong = []
    for key, (least, most) in bounds_of(noted).items():
        figures = found.figures.get(key, Figures())
        unassigned = 0 if is_exact else found.unassigned_ns(key)
        mark = "~" if figures.is_estimated else ""
        error = f" ± {figures.error_ns / 1e6:.3f}" if mark else ""
        said = f"{' '.join(key)}: {mark}{figures.time_ns / 1e6:.3f}{error} ms, {unassigned / 1e6:.3f} ms unassigned"
        if figures.time_ns + unassigned < least * (1 - MARGIN):
            wrong.append(f"{said}, but its long calls took {least / 1e6:.3f} ms at least")
        if figures.time_ns - N_ERRORS * figures.error_ns > most * (1 + MARGIN):
            wrong.append(f"{said}, but all of its calls took {most / 1e6:.3f} ms at most")
    return wrong


def unlike_blocks(report: Report, noted: dict[str, Any]) -> list[str]:
    """The Python functions that the calls are below."""
    wrong = []
    for name, (calls, least, most) in noted["blocks"].items():
        nodes = report.named(name)
        ns = sum(node["time_ns"]["sum"] for node in nodes)
        if sum(node["calls"] for node in nodes) != calls:
            wrong.append(f"{name}: {report.calls(name)} calls, not {calls}")
        if not least * (1 - MARGIN) <= ns <= most * (1 + MARGIN):
            wrong.append(f"{name}: {ns / 1e6:.3f} ms, not {least / 1e6:.3f} to {most / 1e6:.3f}")
    return wrong


def longer_than_caller(report: Report, *, is_exact: bool) -> list[str]:
    """What a function calls takes no longer than the function, however it was estimated."""
    inside = [0] * len(report.data["nodes"])
    for node in report.nodes:
        if node.parent and node.kind != "thread":
            inside[node.parent.number] += node["time_ns"]["sum"]
    rounding = len(inside)
    return [
        f"{node.name}: {node['time_ns']['sum']} ns, and what it calls {inside[node.number]} ns"
        for node in report.nodes
        if node.parent and node.kind in ("python", "builtin") and inside[node.number] > node["time_ns"]["sum"] + rounding
        and (is_exact or not any(map(is_estimated, children_of(node))))
    ]  # fmt: skip


def is_estimated(node: Node) -> bool:
    return any(part.get("estimated") for part in (node.data, node["time_ns"], node["self_ns"]))


def children_of(node: Node) -> Iterator[Node]:
    return (each for each in node.report.nodes if each.data["parent"] == node.number)


def not_exact(report: Report) -> list[str]:
    return [
        f"{node.name}: {node.kind}, {'estimated' if is_estimated(node) else 'not estimated'}"
        for node in report.nodes
        if node.kind == "unassigned" or is_estimated(node)
    ]


def unlike_truth(report: Report, noted: dict[str, Any], *options: str) -> list[str]:
    """All of it; `options` are those that the program was recorded with."""
    found, is_exact = find(report), "--exact" in options
    by_python_only = "all" in options  # as cProfile counts
    return [
        *unlike_counts(found, noted, by_python_only=by_python_only),
        *never_called(found, noted),
        *unlike_times(found, noted, is_exact=is_exact),
        *unlike_blocks(report, noted),
        *longer_than_caller(report, is_exact=is_exact),
        *(not_exact(report) if is_exact else []),
    ]
