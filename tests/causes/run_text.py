# SPDX-License-Identifier: BSD-3-Clause
"""Writes the records of a simulated run as text for tests/unit/waits_of.c, runs that, and reads the waits that it found."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from judging import Charge
from operations import Comm, Location, Path, is_c_function, without_lines
from records import ANY_CALLERS, N_SHARES, UNKNOWN, Part, Record, records_of
from simulator import CALL_S, Call, Run

ROOT = FilePath(__file__).resolve().parent.parent.parent
WAITS_OF = os.environ.get("ALLRANKS_WAITS_OF", str(ROOT / "build" / "sanitize" / "tests" / "unit" / "waits_of"))
TIME_LIMIT_S = 300
FIRST_CALL_LINE = 1000
HELD_UP = 0.9  # of a call, in which the main thread is blocked: when it begins and when it ends


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def call_site(path: Path) -> tuple[str, str]:
    """Calls of one MPI function in one function are on one line."""
    return without_lines(path)[-2], path[-1]


class Tree:
    """Numbers of call paths, each written once. Every call site of MPI has a line of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ids: dict[tuple[tuple[str, str, int], ...], int] = {(): 0}
        self.sites: dict[tuple[str, str], int] = {}

    def node(self, path: Path) -> int:
        steps: tuple[tuple[str, str, int], ...] = ()
        for i, name in enumerate(path):
            parent = self.ids[steps]
            steps = (*steps, self.step(path[: i + 1], name))
            if steps not in self.ids:
                self.ids[steps] = len(self.ids)
                function, kind, line = steps[-1]
                self.lines.append(f"node {self.ids[steps]} {parent} {function} {kind} {line}")
        return self.ids[steps]

    def step(self, path: Path, name: str) -> tuple[str, str, int]:
        if name.startswith("MPI_"):
            return name, "mpi", self.sites.setdefault(call_site(path), FIRST_CALL_LINE + len(self.sites))
        if is_c_function(name):
            return name.strip("<>"), "builtin", 1
        function, _, line = name.partition("@")
        return function, "python", int(line or 1) + 1


class RunText:
    def __init__(self, run: Run) -> None:
        self.run, self.tree = run, Tree()
        self.comms: dict[str, int] = {}
        self.comm_lines: list[str] = []
        self.sync_lines: list[str] = []
        self.threads = sorted(run.threads)
        for location, thread in records_of(run).items():
            longest = longest_paths(run, location)
            for record in sorted(thread.records, key=lambda record: record.exit):
                self.add_record(self.threads.index(location), record, longest)

    def __str__(self) -> str:
        n_ranks, wall = self.run.program.n_ranks, ns(self.run.wall)
        lines = [f"process {rank} {n_ranks} {wall}" for rank in range(n_ranks)]
        lines += [f"thread {rank} {number}" for rank, number in self.threads]
        return "\n".join((*lines, *self.tree.lines, *self.comm_lines, *self.sync_lines, ""))

    def comm(self, comm: Comm) -> int:
        if comm.name not in self.comms:
            number = self.comms[comm.name] = len(self.comms)
            self.comm_lines.append(f"comm {number} {len(comm.members)} {'world' if comm.is_world else 'split'} 0")
            self.comm_lines += [f"rank {number} {process} {rank}" for rank, process in enumerate(comm.members)]
        return self.comms[comm.name]

    def add_record(self, thread: int, record: Record, longest: dict[Path, Path]) -> None:
        posting = record.receive if not record.calls else None
        for i, call in enumerate([posting] if posting else record.calls):
            self.sync_lines.append(self.sync_line(thread, record, call))
            if i == 0 and not record.gap.is_shared:
                self.add_parts(record.gap.parts or {Part(UNKNOWN, True): 1.0}, longest)

    def sync_line(self, thread: int, record: Record, call: Call) -> str:
        kind = {"recv": "receive"}.get(call.kind, call.kind)
        is_posting = call.is_post or not record.calls
        if is_posting:
            kind = "isend" if kind == "send" else "post"
        posted = "- -"
        if call.post is not None and not is_posting:
            posted = f"{self.tree.node(call.post_path)} {ns(call.post + CALL_S)}"
        peer = "-" if call.peer is None else call.peer
        share = self.run.counted_share(call.location, record.time, record.exit - record.time)
        held = " holds_up" if call.location[1] and share > HELD_UP else ""
        return (f"sync {thread} {kind} {self.comm(call.comm)} {call.sequence} {peer} {self.tree.node(record.path)} "
                f"{ns(record.time)} {ns(record.exit)} {posted}{held}")  # fmt: skip

    def add_parts(self, parts: dict[Part, float], longest: dict[Path, Path]) -> None:
        for part, share in sorted(parts.items(), key=lambda each: -each[1]):
            path = tuple(name for name in longest.get(part.path, part.path) if name != ANY_CALLERS)
            node = "?" if path == UNKNOWN else self.tree.node(path)
            self.sync_lines.append(f"part {node} {round(N_SHARES * share)} {'rest' if part.is_rest else 'whole'}")


def longest_paths(run: Run, location: Location) -> dict[Path, Path]:
    """The call path, with lines and C functions, that stands for all that differ in these only."""
    seconds: dict[Path, float] = defaultdict(float)
    for stretch in run.threads[location].log:
        seconds[stretch.path] += stretch.end - stretch.start
    found: dict[Path, Path] = {}
    for path in sorted(seconds, key=seconds.__getitem__):
        found[without_lines(path)] = path
    return found


@dataclass
class CWaits:
    """What the C code found."""

    waited: dict[tuple[int, int], float]  # (rank, line) -> seconds
    charges: list[Charge]
    n_unresolved: int


def true_waits(run: Run, tree: Tree) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = defaultdict(float)
    for call, seconds in run.waits():
        found[call.location[0], tree.sites[call_site(call.path)]] += seconds
    return found


def charge_of(cause: dict[str, Any]) -> Charge:
    path = () if cause["is_unknown"] else tuple(cause["path"])
    return Charge(cause["process"], path, cause["is_spread"], cause["ns"] / 1e9)


def waits_of(text: RunText) -> CWaits:
    done = subprocess.run([WAITS_OF], input=str(text), capture_output=True, text=True, timeout=TIME_LIMIT_S)
    assert done.returncode == 0, (text.run.program.name, done.stderr)
    found = json.loads(done.stdout)
    waited: dict[tuple[int, int], float] = defaultdict(float)
    for site in found["sites"]:
        for share in site["waiting"]:
            waited[share["process"], site["line"]] += share["ns"] / 1e9
    charges = [charge_of(cause) for site in found["sites"] for cause in site["causes"]]
    return CWaits(waited, charges, found["unresolved"])
