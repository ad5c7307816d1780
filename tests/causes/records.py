# SPDX-License-Identifier: BSD-3-Clause
"""What a runtime records of a simulated run: when threads entered, posted and left calls, and what they did before.

A record is written for each call that may wait and for each posting that others may wait for. Its parts say what the thread
did since its previous record, up to where it entered the call or posted: entries with a 32nd of that time or more, by call
path without lines. What is smaller is the rest of the function that contains it, "in `assemble` or below".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from operations import Location, Path, without_lines
from simulator import CALL_S, Call, Run, Stretch

SHORT_S = 20e-6  # records that are closer together share the parts of the next record that has some
N_PARTS = 32
N_SHARES = 255  # a part is recorded as a number of these
UNKNOWN: Path = ("?",)
ANY_CALLERS = "..."  # in a path: callers that are not the same for all of the entry's time


class Part(NamedTuple):
    path: Path
    is_rest: bool


@dataclass
class Gap:
    """The time of a thread between two of its records."""

    seconds: float
    parts: dict[Part, float] = field(default_factory=dict)  # shares, which add up to 1; empty: not known
    least: float = 0.0  # shorter pieces are in a rest
    is_shared: bool = False  # it was too short: its parts are recorded with the next record


@dataclass
class Point:
    """Where a thread has entered a call, or posted one, and others may go on because of it."""

    location: Location
    index: int  # of the thread's records
    time: float


@dataclass
class Record:
    time: float  # when the call was entered, or the posting was made
    exit: float
    path: Path
    point: Point
    calls: list[Call] = field(default_factory=list)  # that were entered; empty: a receive was posted
    receive: Call | None = None  # which one
    gap: Gap = field(default_factory=lambda: Gap(0.0))


def work_between(log: list[Stretch], start: float, end: float, at: int) -> tuple[dict[Path, float], int]:
    """Seconds by path, and where to continue in the log; `at` is where to begin."""
    found: dict[Path, float] = defaultdict(float)
    while at < len(log) and log[at].end <= start:
        at += 1
    i = at
    while i < len(log) and log[i].start < end:
        seconds = min(end, log[i].end) - max(start, log[i].start)
        if seconds > 0:
            found[log[i].path] += seconds
        i += 1
    return found, at


def common_prefix(paths: Iterable[Path]) -> Path:
    """The path that all of them begin with. Of sorted tuples the first and the last differ soonest."""
    found = list(paths)
    if not found:
        return ()
    low, high = min(found), max(found)
    n = 0
    while n < min(len(low), len(high)) and low[n] == high[n]:
        n += 1
    return low[:n]


def compress(work: Mapping[Path, float], least: float) -> dict[Part, float]:
    """At most sum / least entries: paths with `least` seconds or more; functions that have as much in all, though on no
    single path; and rests."""
    kept: dict[Part, float] = {}
    left: dict[Path, float] = {}
    by_function: dict[str, list[Path]] = defaultdict(list)
    for path, seconds in work.items():
        if seconds >= least:
            kept[Part(path, False)] = seconds
        elif seconds > 0:
            left[path] = seconds
            by_function[path[-1]].append(path)
    for name, paths in by_function.items():
        if len(paths) > 1 and sum(left[path] for path in paths) >= least:
            common = common_prefix(path[:-1] for path in paths)
            kept[Part((*common, ANY_CALLERS, name), False)] = sum(left.pop(path) for path in paths)
    add_rests(kept, left, least, len(common_prefix(work)))
    return kept


def add_rests(kept: dict[Part, float], left: Mapping[Path, float], least: float, depth_of_all: int) -> None:
    """What is too small moves up to its caller, until `least` is reached there or all of the work is below it."""
    levels: dict[int, dict[Path, float]] = defaultdict(lambda: defaultdict(float))
    for path, seconds in left.items():
        levels[len(path)][path] += seconds
    for depth in range(max(levels, default=0), -1, -1):
        for path, seconds in levels[depth].items():
            if seconds >= least or depth <= depth_of_all:
                kept[Part(path, True)] = kept.get(Part(path, True), 0.0) + seconds
            else:
                levels[depth - 1][path[:-1]] += seconds


def compose(log: list[Stretch], gaps: list[tuple[float, float, Gap]], at: int) -> int:
    """Fills in the parts of gaps (start, end, gap) that are recorded together. Returns where to continue in the log."""
    total = sum(gap.seconds for _, _, gap in gaps)
    work: dict[Path, float] = defaultdict(float)
    for start, end, _ in gaps:
        found, at = work_between(log, start, end, at)
        for path, seconds in found.items():
            work[without_lines(path)] += seconds
    if total <= 0:
        return at
    parts = compress(work, total / N_PARTS)
    idle = total - sum(work.values())
    if idle > 1e-9:
        parts[Part(UNKNOWN, True)] = idle
    shares = {part: round(N_SHARES * seconds / total) / N_SHARES for part, seconds in parts.items()}
    largest = max(shares, key=shares.__getitem__)
    shares[largest] += 1 - sum(shares.values())
    for _, _, gap in gaps:
        gap.parts, gap.least = shares, total / N_PARTS
    return at


def add_gaps(log: list[Stretch], records: list[Record], blind: int) -> None:
    """`blind`: one of this many records has no parts; 0: all have some."""
    start, at = 0.0, 0
    together: list[tuple[float, float, Gap]] = []
    for i, record in enumerate(records):
        record.gap = Gap(max(0.0, record.time - start))
        together.append((start, record.time, record.gap))
        start = record.exit
        if sum(gap.seconds for _, _, gap in together) < SHORT_S:
            record.gap.is_shared = True
            continue
        if not blind or i % blind:
            at = compose(log, together, at)
        together = []


class ThreadRecords:
    """The records of one thread, sorted by when their calls were entered, and the point of each call in them."""

    def __init__(self, run: Run, location: Location) -> None:
        self.location = location
        self.found: dict[tuple[float, float], Record] = {}
        self.points: dict[int, Point] = {}  # by id of the call
        posted: dict[tuple[str, int], Point] = {}
        for call in sorted(run.recorded_calls(location), key=lambda call: (call.exit, call.enter)):
            self.add(call)
            if call.is_post and call.kind != "send":
                posted[call.comm.name, call.sequence] = self.points[id(call)]
            elif call.post is not None and call.kind not in ("recv", "taken"):
                self.points[id(call)] = posted[call.comm.name, call.sequence]
        self.records = sorted(self.found.values(), key=lambda record: (record.time, record.exit))
        for i, record in enumerate(self.records):
            record.point.index = i
        add_gaps(run.threads[location].log, self.records, run.program.blind.get(location[0], 0))

    def add(self, call: Call) -> None:
        if call.kind == "recv" and call.post is not None:
            posting = self.record_at(call.post, call.post + CALL_S, call.post_path)
            posting.receive = call
            self.points[id(call)] = posting.point
        record = self.record_at(call.enter, call.exit, call.path)
        record.calls.append(call)
        if call.post is None:
            self.points[id(call)] = record.point

    def record_at(self, time: float, exit: float, path: Path) -> Record:
        if (time, exit) not in self.found:
            self.found[time, exit] = Record(time, exit, path, Point(self.location, 0, time))
        return self.found[time, exit]


def records_of(run: Run) -> dict[Location, ThreadRecords]:
    return {location: ThreadRecords(run, location) for location in sorted(run.threads)}
