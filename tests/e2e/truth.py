# SPDX-License-Identifier: BSD-3-Clause
"""Programs with planted faults (tests/workloads/planted_*.py): what they wrote down, and what `allranks waits` must say of it.

A wait lasts from when a rank came to a call until those came that it could not go on without. So for every kind of call the
truth is the same arithmetic, and a fault is a table of who waits for whom:

    Fault("reduce", "early_reduce", "Reduce", {0: (1, 2, 3)}, {3: "sums_up_slowly"})

Times are compared as (least, most), in seconds: mostly both are the same, but here and there more than one answer is right.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from harness import Sandbox, times_unlike, workload

SLACK_S = 0.005  # two processes look at one clock, and are put off their processors in between
Range = tuple[float, float]
Json = dict[str, Any]


@dataclass(frozen=True)
class Blame:
    """What is charged with a part of a wait; `rank` None: whichever of them it was."""

    rank: int | None
    function: str
    indirect: bool = False

    def __str__(self) -> str:
        return f"{self.function} of rank {self.rank}{', indirectly' if self.indirect else ''}"


@dataclass(frozen=True)
class Fault:
    name: str  # of the mark in the program, and of what it wrote down
    kind: str  # the class of the wait
    operation: str
    waits_for: Mapping[int, tuple[int, ...]]  # by waiting rank
    blamed: Mapping[int, str] = field(default_factory=dict)  # by late rank: its function; of all that is waited for it
    nonblocking: bool = False
    # Of these ranks the call may be said to have waited, too: its messages had to go through them.
    may_wait_for: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    tied: tuple[int, ...] = ()  # these come last at about the same time: which of them is by chance
    until_left: bool = False  # waiting ends somewhere between when they came and when the waiting rank was through


def everybody(*ranks: int) -> dict[int, tuple[int, ...]]:
    """Each waits for all others."""
    return {rank: tuple(other for other in ranks if other != rank) for rank in ranks}


def after_the_root(root: int, *ranks: int) -> dict[int, tuple[int, ...]]:
    return {rank: (root,) for rank in ranks if rank != root}


def untied(fault: Fault, rank: int) -> int | None:
    return None if rank in fault.tied else rank


def plus(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def total(ranges: Iterable[Range]) -> Range:
    least_and_most = (0.0, 0.0)
    for each in ranges:
        least_and_most = plus(least_and_most, each)
    return least_and_most


@dataclass(frozen=True)
class Wait:
    """Of one rank in one call."""

    rank: int
    late: int
    lasted: Range
    charged: Range  # to what the late rank did: it may have left the call before a little later than others

    def at_most(self) -> Wait:
        return replace(self, lasted=(0.0, self.lasted[1]), charged=(0.0, self.charged[1]))


class Truth:
    """What the ranks of a program wrote down, and where its source has marks."""

    def __init__(self, program: str, noted: list[Json]) -> None:
        self.program = program
        self.noted = noted
        self.ranks = range(len(noted))
        source = Path(program).read_text()
        self.marks = {
            (kind, name): number
            for number, text in enumerate(source.splitlines(), start=1)
            for kind, name in re.findall(r"# (WAIT|POST): (\w+)", text)
        }
        functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
        self.first_lines = {node.name: node.lineno for node in functions}

    def entered(self, rank: int, fault: str) -> list[float]:
        return self.noted[rank]["entered"].get(fault, [])

    def came(self, rank: int, fault: str) -> list[float]:
        """For the others: what a rank has posted is there, whenever it waits for that itself."""
        return self.noted[rank]["posted"].get(fault) or self.entered(rank, fault)

    def span(self, rank: int, function: str) -> float:
        return sum(end - begin for begin, end in self.noted[rank]["spans"].get(function, []))

    def each_wait(self, fault: Fault, waits_for: Mapping[int, tuple[int, ...]]) -> Iterable[Wait]:
        for rank, partners in waits_for.items():
            came = {partner: self.came(partner, fault.name) for partner in partners}
            for i, entered in enumerate(self.entered(rank, fault.name)):
                late = max(partners, key=lambda partner: came[partner][i])
                least = most = max(0.0, came[late][i] - entered)
                if fault.until_left:
                    most = self.noted[rank]["left"][fault.name][i] - entered
                own = came[late][i] - self.noted[late]["since"][fault.name][i]
                yield Wait(rank, late, (least, most), (min(least, own), most))

    def all_waits(self, fault: Fault) -> list[Wait]:
        possible = [wait.at_most() for wait in self.each_wait(fault, fault.may_wait_for)]
        return [*self.each_wait(fault, fault.waits_for), *possible]

    def waited(self, fault: Fault) -> dict[int, Range]:
        """By waiting rank."""
        waits = self.all_waits(fault)
        return {rank: total(wait.lasted for wait in waits if wait.rank == rank) for rank in self.ranks}

    def waited_for(self, fault: Fault) -> dict[int | None, Range]:
        """By late rank."""
        waits = self.all_waits(fault)
        ranks = {untied(fault, rank) for rank in self.ranks}
        return {rank: total(wait.lasted for wait in waits if untied(fault, wait.late) == rank) for rank in ranks}

    def charged(self, fault: Fault) -> dict[Blame, Range]:
        """Where one function of a rank has made it late."""
        waits = self.all_waits(fault)
        blamed = {(untied(fault, rank), name) for rank, name in fault.blamed.items()}
        return {
            Blame(rank, name): total(wait.charged for wait in waits if untied(fault, wait.late) == rank)
            for rank, name in blamed
        }


def record(mpi: Sandbox, program: str, n_ranks: int, *arguments: str) -> tuple[Truth, str]:
    """Runs a program that writes down its truth; also returns the name of the run."""
    run = f"{Path(program).stem}.allranks"
    (mpi.cwd / run).unlink(missing_ok=True)
    done = mpi.recorded_ranks(n_ranks, workload(program), *arguments)
    assert done.code == 0, done
    noted = [mpi.read_json(f"truth-{rank}.json") for rank in range(n_ranks)]
    return Truth(workload(program), noted), run


def read_waits(mpi: Sandbox, run: str, *options: str) -> Json:
    data = json.loads(mpi.answer("waits", run, "--json=1", *options))
    assert (data["schema"], data["version"]) == ("allranks.waits", 1)
    return data


def check_efficiencies(mpi: Sandbox, run: str, data: Json) -> None:
    """As the POP centre defines them, of the run and of whatever it called, from what `waits` says of ranks."""
    found = json.loads(mpi.answer("ranks", run, "--json=1", "--all"))
    walls = [row["wall_ns"] - row["setting_up_ns"] for row in data["by_rank"]]
    ideal = [row["computing_ns"] + row["waiting_ns"] for row in data["by_rank"]]
    computing = [row["computing_ns"] for row in data["by_rank"]]
    whole = found["efficiency"]
    assert whole["serialisation_efficiency"] == pytest.approx(max(computing) / max(ideal))
    assert whole["counted_ns"] == pytest.approx(max(walls))
    assert whole["transfer_efficiency"] == pytest.approx(max(ideal) / max(walls))
    assert whole["load_balance"] == pytest.approx(sum(computing) / len(computing) / max(computing))
    known = [function["efficiency"] for function in found["functions"] if function["efficiency"]]
    for each in [whole, *known]:
        factors = [each["load_balance"], each["serialisation_efficiency"], each["transfer_efficiency"]]
        assert all(0 <= factor <= 1 + 1e-9 for factor in factors)
        assert each["parallel_efficiency"] == pytest.approx(factors[0] * factors[1] * factors[2], abs=1e-9)
    assert any(each["serialisation_efficiency"] < 0.9 for each in known)


# ---- comparing ----


def named(prefix: str, seconds: Mapping[Any, Any]) -> dict[str, Any]:
    return {f"{prefix} {key}": value for key, value in seconds.items()}


GUESSED = ("late_member", "late_progress")


def entries_at(data: Json, file: str, line: int) -> list[Json]:
    return [entry for entry in data["waits"] if (entry["file"], entry["line"]) == (file, line)]


def by_rank(entries: list[Json], key: str) -> dict[int, float]:
    sums: dict[int, float] = {}
    for entry in entries:
        for each in entry[key]:
            sums[each["rank"]] = sums.get(each["rank"], 0.0) + each["waited_ns"] / 1e9
    return sums


def unlike_kind(fault: Fault, entries: list[Json]) -> dict[str, str]:
    """Whatever took a while at that line is what it was planted as."""
    wanted = (fault.kind, fault.operation, fault.nonblocking)
    found = {
        (entry["class"], entry["name"], entry["nonblocking"]) for entry in entries if entry["waited_ns"] > SLACK_S * 1e9
    }
    return {f"{fault.name}: what": f"{found}, planted {wanted}"} if found - {wanted} else {}


def unlike_fault(truth: Truth, data: Json, fault: Fault, charged: Mapping[Blame, Range] | None = None) -> dict[str, str]:
    """How the wait, its ranks and its causes differ from what was planted, by name; `charged` where one function is not all."""
    here = entries_at(data, truth.program, truth.marks["WAIT", fault.name])
    entries = [entry for entry in here if entry["class"] not in GUESSED]
    waited, waited_for = truth.waited(fault), truth.waited_for(fault)
    return {
        **unlike_kind(fault, entries),
        **innocents(truth, fault, [entry for entry in here if entry["class"] in GUESSED], charged or truth.charged(fault)),
        **unlike_times(f"{fault.name}: waiting rank", by_rank(entries, "waiting"), waited),
        **unlike_times(f"{fault.name}: late rank", late_ranks(fault, entries), waited_for),
        **unlike_times(f"{fault.name}: charged to", causes_of(truth, fault, entries), charged or truth.charged(fault)),
    }


def innocents(truth: Truth, fault: Fault, entries: list[Json], charged: Mapping[Blame, Range]) -> dict[str, str]:
    """How a library moves data through other ranks is its own affair: how long these waited is not known here, but what for."""
    guilty = {(blame.rank, blame.function) for blame in charged}
    return {
        f"{fault.name}: {blame}": f"{seconds} s of {entries[0]['class']}"
        for blame, seconds in causes_of(truth, fault, entries).items()
        if seconds > SLACK_S and (blame.rank, blame.function) not in guilty
    }


def late_ranks(fault: Fault, entries: list[Json]) -> dict[int | None, float]:
    sums: dict[int | None, float] = {}
    for rank, seconds in by_rank(entries, "late").items():
        sums[untied(fault, rank)] = sums.get(untied(fault, rank), 0.0) + seconds
    return sums


def unlike_times(what: str, found: Mapping[Any, float], logged: Mapping[Any, Range]) -> dict[str, str]:
    """All ranks that were logged, and all that were not."""
    expected = {**{key: (0.0, 0.0) for key in found if isinstance(key, int)}, **logged}
    return times_unlike(named(what, found), named(what, expected), abs_s=SLACK_S)


def causes_of(truth: Truth, fault: Fault, entries: list[Json]) -> dict[Blame, float]:
    """Functions of the program only, and where they say that they are."""
    sums: dict[Blame, float] = {}
    for entry in entries:
        for cause in entry["causes"]:
            place = (cause["file"], cause["line"])
            if cause["kind"] == "python" and place == (truth.program, truth.first_lines.get(cause["name"])):
                blame = Blame(untied(fault, cause["rank"]), cause["name"], cause["indirect_ns"] > cause["ns"] / 2)
                sums[blame] = sums.get(blame, 0.0) + cause["ns"] / 1e9
    return sums


def unlike_request(truth: Truth, data: Json, fault: str, posted_by: str, completed_by: str) -> dict[str, str]:
    """What of a request was hidden and what exposed, over all ranks that logged one."""
    place = (truth.program, truth.marks["WAIT", fault], truth.marks["POST", fault])
    here = [each for each in data["nonblocking"] if (each["file"], each["line"], each["posted"]["line"]) == place]
    found = [each for each in here if (each["name"], each["posted"]["name"]) == (completed_by, posted_by)]
    spans = [
        (posted, entered, left)
        for noted in truth.noted if fault in noted["left"]
        for posted, entered, left in zip(*(noted[when][fault] for when in ("posted", "entered", "left")))
    ]  # fmt: skip
    if sum(each["n"] for each in found) != len(spans):
        return {f"{fault}: requests": f"{here}, logged {len(spans)}"}
    logged = {
        "in_flight": sum(left - posted for posted, _, left in spans),
        "exposed": sum(left - entered for _, entered, left in spans),
        "hidden": sum(entered - posted for posted, entered, _ in spans),
    }
    said = {what: sum(each[f"{what}_ns"] for each in found) / 1e9 for what in logged}
    return times_unlike(named(fault, said), named(fault, logged), abs_s=SLACK_S)


def check_sums(truth: Truth, data: Json, *, main_threads_only: bool = True) -> None:
    """What must hold whatever the clock says."""
    assert data["ranks"] == len(truth.noted) == len(data["by_rank"])
    assert data["operations"] == data["resolved"] + data["unresolved"] > 0
    assert data["lost"] == 0
    assert sum(entry["waited_ns"] for entry in data["waits"]) == data["waited_ns"]
    sizes = [entry["waited_ns"] for entry in data["waits"]]
    assert sizes == sorted(sizes, reverse=True)
    for entry in data["waits"]:
        assert entry["waited_ns"] == sum(each["waited_ns"] for each in entry["waiting"])
        assert entry["waited_ns"] == sum(each["waited_ns"] for each in entry["late"])
        assert entry["waited_ns"] == sum(each["ns"] for each in entry["causes"])
        assert entry["n"] == sum(each["n"] for each in entry["waiting"])
        assert all(each["ns"] >= 0 for each in entry["causes"])
    for row in sorted(data["by_rank"], key=lambda row: row["rank"]):
        assert row["computing_ns"] + row["waiting_ns"] + row["communicating_ns"] == row["wall_ns"]
        assert 0 < row["setting_up_ns"] <= row["communicating_ns"]
        assert min(row["computing_ns"], row["waiting_ns"], row["communicating_ns"]) >= 0
        begin, end = truth.noted[row["rank"]]["whole"]
        assert row["wall_ns"] >= (end - begin) * 1e9
        if main_threads_only:
            waited = sum(each["waited_ns"] for e in data["waits"] for each in e["waiting"] if each["rank"] == row["rank"])
            assert row["waiting_ns"] == waited
    assert sum(row["caused_ns"] for row in data["by_rank"]) <= data["waited_ns"]
