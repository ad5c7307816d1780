# SPDX-License-Identifier: BSD-3-Clause
"""What allranks and cProfile write, in a form that tests can ask questions of."""

from __future__ import annotations

import pstats
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FunctionKey = tuple[str, int, str]  # file, first line, name: how pstats knows a function


@dataclass(frozen=True)
class Calls:
    """What pstats says about a function; `callers` has (calls, primitive calls) of each."""

    calls: int
    primitive: int
    self_s: float
    total_s: float
    callers: dict[FunctionKey, tuple[int, int]]


def read_pstats(path: Path) -> dict[FunctionKey, Calls]:
    stats: dict[FunctionKey, Any] = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    return {
        key: Calls(nc, cc, tt, ct, {caller: tuple(pair[:2]) for caller, pair in callers.items()})
        for key, (cc, nc, tt, ct, callers) in stats.items()
    }


def in_file(stats: dict[FunctionKey, Calls], path: str) -> dict[FunctionKey, Calls]:
    return {key: calls for key, calls in stats.items() if key[0] == path}


def counts_by_name(stats: dict[FunctionKey, Calls]) -> dict[str, int]:
    """Calls of functions that are known by their last name, those of one name together."""
    counts: dict[str, int] = {}
    for (_, _, name), calls in stats.items():
        counts[name] = counts.get(name, 0) + calls.calls
    return counts


@dataclass(frozen=True)
class Node:
    """A call path of `allranks report --json`."""

    report: Report
    number: int

    @property
    def data(self) -> dict[str, Any]:
        return self.report.data["nodes"][self.number]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def function(self) -> dict[str, Any]:
        return self.report.data["functions"][self.data["function"]]

    @property
    def name(self) -> str:
        return self.function["name"]

    @property
    def kind(self) -> str:
        return self.function["kind"]

    @property
    def parent(self) -> Node | None:
        number = self.data["parent"]
        return None if number is None else Node(self.report, number)

    @property
    def ancestors(self) -> Iterator[Node]:
        """From the parent up to the root."""
        above = self.parent
        while above:
            yield above
            above = above.parent

    @property
    def python_caller(self) -> str:
        """Name of the nearest Python function above."""
        return next((above.name for above in self.ancestors if above.kind == "python"), "")

    @property
    def path(self) -> list[str]:
        """Names from the root's child down to this one."""
        above = self.parent
        return [*above.path, self.name] if above else []


class Report:
    """`allranks report --json`."""

    def __init__(self, data: dict[str, Any]) -> None:
        assert (data["schema"], data["version"]) == ("allranks.report", 2)
        self.data = data

    @property
    def nodes(self) -> Iterator[Node]:
        return (Node(self, i) for i in range(len(self.data["nodes"])))

    def named(self, *names: str) -> list[Node]:
        return [node for node in self.nodes if node.name in names]

    def calls(self, *names: str) -> int:
        return sum(node["calls"] for node in self.named(*names))

    def mpi(self, function: str, caller: str, line: int | None = None) -> list[Node]:
        """Nodes of an MPI function, large-count form included, called by a Python function (at a line)."""
        return [
            node
            for node in self.named(function, f"{function}_c")
            if node.kind == "mpi"
            and node.python_caller == caller
            and (line is None or node["line"] == line)
        ]


class Info:
    """`allranks info --json`."""

    def __init__(self, data: dict[str, Any]) -> None:
        assert (data["schema"], data["version"]) == ("allranks.info", 2)
        self.data = data

    @property
    def processes(self) -> list[dict[str, Any]]:
        return self.data["processes"]

    @property
    def ranks(self) -> list[int | None]:
        return [process["rank"] for process in self.processes]

    @property
    def lost(self) -> int:
        return sum(sum(process["lost"].values()) for process in self.processes)
