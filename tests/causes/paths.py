# SPDX-License-Identifier: BSD-3-Clause
"""The path of each thread: the work that had to be done, by any thread, one piece after the other, for it to be where it is.

A path covers the time without gaps. A thread that waited continues from the path of the one that it waited for. So paths
share their beginnings and form a tree; nodes that cannot be compared with any more are joined with their child or freed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from operations import Location, Path
from records import Part, compress


class Entry(NamedTuple):
    """A kind of work: what is added up and compared."""

    location: Location | None  # None: of no thread
    path: Path
    is_rest: bool
    is_cause: bool = False  # an earlier wait was charged to it, so it is compared with other causes first


class Work:
    """Seconds by entry, the oldest entry first."""

    __slots__ = ("credits", "most", "seconds")

    def __init__(self) -> None:
        self.seconds: dict[Entry, float] = {}
        self.most: dict[Entry, float] = {}  # of rests: the longest piece that can be in it
        # (done, instead) -> seconds: `done` went on while the cause `instead` made the thread wait, and is on no path
        self.credits: dict[tuple[Entry, Entry], float] = {}

    def add(self, entry: Entry, seconds: float, most: float = 0.0) -> None:
        self.seconds[entry] = self.seconds.get(entry, 0.0) + seconds
        if entry.is_rest:
            self.most[entry] = self.most.get(entry, 0.0) + most

    def add_all(self, other: Work, scale: float = 1.0) -> None:
        for entry, seconds in other.seconds.items():
            self.add(entry, scale * seconds, other.most.get(entry, 0.0) * scale)
        for pair, seconds in other.credits.items():
            self.credits[pair] = self.credits.get(pair, 0.0) + scale * seconds


class Node(Work):
    """A stretch that all paths below it share."""

    __slots__ = ("n_refs", "parent", "serial")

    def __init__(self, parent: Node | None, serial: int) -> None:
        super().__init__()
        self.parent, self.n_refs, self.serial = parent, 0, serial
        if parent:
            parent.n_refs += 1


class Paths:
    LIMIT = 128  # entries of a node; then small ones become rests

    def __init__(self, locations: Iterable[Location]) -> None:
        self.n_made = 0
        root = self.new_node(None)
        self.tips = {location: self.new_node(root) for location in locations}

    def new_node(self, parent: Node | None) -> Node:
        self.n_made += 1
        return Node(parent, self.n_made)

    def add(self, location: Location, part: Part, seconds: float, most: float = 0.0) -> None:
        if seconds > 0:
            self.tips[location].add(Entry(location, *part), seconds, most)

    def pin(self, location: Location, n: int) -> Node:
        """The point that a thread has reached, to be compared with n times."""
        node = self.tips[location]
        node.n_refs += n
        self.tips[location] = self.new_node(node)
        return node

    def unpin(self, node: Node) -> None:
        node.n_refs -= 1
        free_unused(node)

    def continue_from(self, location: Location, node: Node) -> None:
        old = self.tips[location]
        self.tips[location] = self.new_node(node)
        free_unused(old)

    def squeeze(self, node: Node) -> None:
        """Joins a node with parents that have no other child. A root without other children is of no use."""
        while node.parent is not None and node.parent.n_refs == 1:
            parent = node.parent
            node.parent = parent.parent
            if parent.parent is None:
                break
            own = Work()
            own.seconds, own.most, own.credits = node.seconds, node.most, node.credits
            node.seconds, node.most, node.credits = parent.seconds, parent.most, parent.credits
            node.add_all(own)
            if len(node.seconds) > self.LIMIT:
                shorten(node, self.LIMIT)

    def compare(self, late: Node, waiting: Node) -> tuple[Work, Work]:
        """The work on one of the two paths only. A child has a larger serial number than its parent, so that walking up
        from the larger one ends where the paths part."""
        stretches: tuple[list[Node], list[Node]] = ([], [])
        at: list[Node | None] = [late, waiting]
        while at[0] is not at[1]:
            side = 0 if at[1] is None or (at[0] is not None and at[0].serial > at[1].serial) else 1
            node = at[side]
            assert node
            self.squeeze(node)
            stretches[side].append(node)
            at[side] = node.parent
        return joined(stretches[0]), joined(stretches[1])


def joined(stretches: list[Node]) -> Work:
    work = Work()
    for node in reversed(stretches):  # the oldest first
        work.add_all(node)
    return work


def free_unused(node: Node | None) -> None:
    while node is not None and node.n_refs == 0:
        node = node.parent
        if node:
            node.n_refs -= 1


def shorten(node: Node, limit: int) -> None:
    """Small entries become rests, as in a record."""
    least = sum(node.seconds.values()) / (limit / 2)
    plain: dict[tuple[Location | None, bool], dict[Path, float]] = defaultdict(dict)
    kept: list[Entry] = []
    for entry, seconds in node.seconds.items():
        if entry.is_rest or seconds <= 0:
            kept.append(entry)
        else:
            plain[entry.location, entry.is_cause][entry.path] = seconds
    work = Work()
    for (location, is_cause), paths in plain.items():
        for part, seconds in compress(paths, least).items():
            work.add(Entry(location, *part, is_cause), seconds, least)
    for entry in kept:
        work.add(entry, node.seconds[entry], node.most.get(entry, 0.0))
    node.seconds, node.most = work.seconds, work.most
