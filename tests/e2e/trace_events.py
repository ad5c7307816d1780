# SPDX-License-Identifier: BSD-3-Clause
"""Events of a trace, as short lists that a test can write down: `+name` is entered, `-name` left, `on` and `off`."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness import Sandbox


@dataclass(frozen=True)
class Event:
    ns: int
    pid: int
    rank: str
    thread: int
    kind: str
    is_implied: bool
    depth: int
    name: str  # without the class
    file: str
    line: int


def events_of(sandbox: Sandbox, run: str | Path, *options: str) -> list[Event]:
    done = sandbox.allranks("dump", "--csv", run, *options)
    assert done.code == 0, done
    text = done.out
    return [
        Event(int(row["time_ns"]), int(row["process"]), row["rank"], int(row["thread"]), row["event"], row["implied"] == "1",
              int(row["depth"]), row["function"].rpartition(".")[2], row["file"], int(row["line"] or 0))
        for row in csv.DictReader(text.splitlines())
    ]  # fmt: skip


def by_thread(events: Iterable[Event]) -> dict[tuple[int, int], list[Event]]:
    threads = defaultdict(list)
    for event in events:
        threads[event.pid, event.thread].append(event)
    return dict(threads)


def steps(events: Iterable[Event], *names: str) -> list[str]:
    """Of one thread: what really happened in it to functions of these names, and when the trace was off."""
    signs = {"enter": "+", "leave": "-"}
    found = []
    for event in events:
        if event.kind in ("on", "off", "full"):
            found.append(event.kind)
        elif event.kind in signs and not event.is_implied and event.name in names:
            found.append(signs[event.kind] + event.name)
    return found


def check_sound(events: Iterable[Event]) -> None:
    """Time goes on, and what is entered is left, innermost first."""
    for thread in by_thread(events).values():
        stack: list[str] = []
        assert [each.ns for each in thread] == sorted(each.ns for each in thread)
        for event in thread:
            if event.kind == "enter":
                assert event.depth == len(stack), event
                stack.append(event.name)
            elif event.kind == "leave":
                assert stack.pop() == event.name, event
        assert stack == []


def main_thread(events: Iterable[Event]) -> list[Event]:
    threads = by_thread(events)
    assert len({pid for pid, _ in threads}) == 1, sorted(threads)
    return next(events for (_, number), events in threads.items() if number == 0)
