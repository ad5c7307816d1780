# SPDX-License-Identifier: BSD-3-Clause
"""Exact waits and the critical path of a trace, the slow and obvious way, from `allranks dump --csv` alone.

For programs on MPI_COMM_WORLD and its splits, of one thread per rank, on one host, whose trace is whole.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from dataclasses import dataclass, field

SENDS, RECEIVES = ("send", "send-posted"), ("receive", "receive-done")
COMES, ENDS = ("collective", "collective-posted"), ("collective", "collective-done")
TO_ALL = {"MPI_Barrier": "barrier", "MPI_Ibarrier": "barrier", "MPI_Allreduce": "all", "MPI_Comm_split": "all", "MPI_Comm_dup": "all"}


@dataclass
class Call:
    rank: int
    function: str
    start: int
    end: int = 0
    events: list[dict[str, str]] = field(default_factory=list)
    waits: list[tuple[int, str, int]] = field(default_factory=list)  # until, class, late rank

    @property
    def name(self) -> str:
        return self.function.removesuffix("_c").removesuffix("_thread")


def read_calls(text: str) -> tuple[list[Call], dict[int, tuple[int, int]]]:
    """All calls that have events, and MPI_Init and MPI_Finalize; and when each rank began and ended."""
    open_calls: dict[int, list[Call]] = defaultdict(list)
    calls, spans = [], {}
    for row in csv.DictReader(io.StringIO(text)):
        rank, now = int(row["rank"]), int(row["time_ns"])
        spans[rank] = (spans.get(rank, (now, 0))[0], now)
        if row["event"] == "enter":
            open_calls[rank].append(Call(rank, row["function"], now))
        elif row["event"] == "leave":
            call = open_calls[rank].pop()
            call.end = now
            if call.events or call.name in ("MPI_Init", "MPI_Finalize"):
                calls.append(call)
        elif row["event"] not in ("parameter", "off", "on", "full"):
            open_calls[rank][-1].events.append(row)
    return calls, spans


@dataclass
class Side:
    call: Call
    event: dict[str, str]


def later(call: Call, came: int, late: int, why: str) -> None:
    if call.start < came <= call.end and late != call.rank:
        call.waits.append((came, why, late))


def wait_for_messages(calls: list[Call]) -> None:
    """Per rank and request: where it was posted. Per channel: all sends in order, all receives in the order of posts."""
    posts: dict[tuple[int, str], Call] = {}
    sends: dict[tuple, list[Side]] = defaultdict(list)
    received: dict[tuple, list[tuple[int, Side]]] = defaultdict(list)
    done: dict[tuple[int, str], Call] = {}
    for call in calls:
        for event in call.events:
            kind, request = event["event"], event["request"]
            if kind.endswith("-posted"):
                posts[call.rank, request] = call
            if kind == "send-done":
                done[call.rank, request] = call
            if kind in SENDS:
                sends[call.rank, int(event["peer"]), event["tag"]].append(Side(call, event))
            if kind in RECEIVES:
                since = posts[call.rank, request].start if kind == "receive-done" else call.start
                received[int(event["peer"]), call.rank, event["tag"]].append((since, Side(call, event)))
    for channel, messages in sends.items():
        ordered = sorted(received[channel], key=lambda item: item[0])
        assert len(ordered) == len(messages), channel
        for sent, (came, got) in zip(messages, ordered):
            later(got.call, sent.call.start, sent.call.rank, "late_sender")
            if sent.event["event"] == "send":
                later(sent.call, came, got.call.rank, "late_receiver")
            elif end := done.get((sent.call.rank, sent.event["request"])):
                later(end, came, got.call.rank, "late_receiver")
            for call in probes_of(calls, got):
                later(call, sent.call.start, sent.call.rank, "late_sender")


def probes_of(calls: list[Call], got: Side) -> list[Call]:
    """Calls of that rank that looked for the message since it received one from there."""
    own = [call for call in calls if call.rank == got.call.rank and call.end <= got.call.start]
    found = []
    for call in reversed(own):
        for event in call.events:
            if (event["peer"], event["tag"], event["communicator"]) == (got.event["peer"], got.event["tag"], got.event["communicator"]):
                if event["event"] == "probed":
                    found.append(call)
                if event["event"] in ("receive", "receive-posted"):
                    return found
    return found


def wait_for_groups(calls: list[Call], member_of: dict[int, str]) -> None:
    """Communicators of two halves have one name, and are told apart by their members."""
    groups: dict[tuple, list[tuple[Call, Call, dict[str, str]]]] = defaultdict(list)
    ends: dict[tuple[int, str], Call] = {}
    for call in calls:
        for event in call.events:
            if event["event"] == "collective-done":
                ends[call.rank, event["request"]] = call
    for call in calls:
        for event in call.events:
            if event["event"] in COMES:
                name = event["communicator"]
                which = name if name == "MPI_COMM_WORLD" else member_of[call.rank]
                end = call if event["event"] == "collective" else ends[call.rank, event["request"]]
                groups[which, int(event["sequence"])].append((call, end, event))
    for members in groups.values():
        wait_for_group(members)


def wait_for_group(members: list[tuple[Call, Call, dict[str, str]]]) -> None:
    name, root = members[0][0].name, members[0][2]["peer"]
    came = [(call.start, call.rank) for call, _, _ in members]
    of_root = [(call.start, call.rank) for call, _, _ in members if root and call.events and own_rank(call, members) == int(root)]
    for call, end, _ in members:
        own = (call.start, call.rank)
        if name in TO_ALL:
            last = max(came, key=lambda each: each[0])
            later(end, *last, TO_ALL[name])
        elif name == "MPI_Bcast":
            later(end, *of_root[0], "late_broadcast")
        elif name == "MPI_Reduce" and own in of_root:
            later(end, *max(each for each in came if each != own), "early_reduce")
        elif name == "MPI_Scan":
            lower = [(c.start, c.rank) for c, _, _ in members if own_rank(c, members) < own_rank(call, members)]
            if lower:
                later(end, *max(lower), "early_scan")


def own_rank(call: Call, members: list[tuple[Call, Call, dict[str, str]]]) -> int:
    """In a half ranks are in reverse order, as the program has split them."""
    ranks = sorted(each.rank for each, _, _ in members)
    in_world = members[0][2]["communicator"] == "MPI_COMM_WORLD"
    return ranks.index(call.rank) if in_world else len(ranks) - 1 - ranks.index(call.rank)


def wait_for_all(calls: list[Call]) -> None:
    for name in ("MPI_Init", "MPI_Finalize"):
        them = [call for call in calls if call.name == name]
        last = max(them, key=lambda call: call.start)
        for call in them:
            later(call, last.start, last.rank, "barrier")


@dataclass
class Wait:
    rank: int
    start: int
    until: int
    why: str
    late: int


def find_waits(calls: list[Call], member_of: dict[int, str]) -> list[Wait]:
    wait_for_messages(calls)
    wait_for_groups(calls, member_of)
    wait_for_all(calls)
    return [Wait(call.rank, call.start, *max(call.waits)) for call in calls if call.waits]


def indirect(wait: Wait, waits: list[Wait]) -> int:
    """How long the late one waited meanwhile."""
    others = [each for each in waits if each.rank == wait.late]
    return sum(max(0, min(wait.until, each.until) - max(wait.start, each.start)) for each in others)


def critical_path(waits: list[Wait], spans: dict[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Parts: from, until, rank; the earliest first."""
    rank = max(spans, key=lambda each: (spans[each][1], -each))
    now, parts = spans[rank][1], []
    while True:
        before = [wait for wait in waits if wait.rank == rank and wait.until <= now]
        if not before:
            parts.append((spans[rank][0], now, rank))
            return parts[::-1]
        last = max(before, key=lambda wait: wait.until)
        parts.append((last.until, now, rank))
        now, rank = last.until, last.late
