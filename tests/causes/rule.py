# SPDX-License-Identifier: BSD-3-Clause
"""The rule for the cause of a wait, as plain as possible: what the C code must agree with.

Every thread has a path (paths.py). Work is added to it. A thread that waits continues from the path of the one that it waited
for, as that path was when the late thread came. A wait is charged to what the path of the late thread has more of than that of
the waiting one (charging.py). Two refinements: what a wait was charged to is marked as a cause on the path that continues,
and what the waiting thread did meanwhile is remembered as a credit.

    rule = Rule(simulate(program))
    rule.charges        (rank, name) -> seconds; a name is a function, "assemble/*" for it and all that it calls, or "?"
"""

from __future__ import annotations

from collections import defaultdict, deque

from charging import Credits, Side, charge
from matching import Matcher
from naming import Site, name_causes
from operations import Location, without_lines
from paths import Entry, Node, Paths, Work
from records import UNKNOWN, Part, Record
from simulator import Run

MOST_CREDITS = 8  # of a wait
UNKNOWN_WORK = Part(UNKNOWN, True)


class Rule:
    def __init__(self, run: Run, together: float = 0.002) -> None:
        """`together`: waits shorter than this share of the run are added up and charged once they are as long."""
        self.run, self.found = run, 0.0
        self.least = together * run.wall
        self.farthest = 0.0  # by how much the lengths of two paths differ from the wait
        self.matcher = Matcher(run)
        self.records = {location: thread.records for location, thread in self.matcher.threads.items()}
        self.n_waiting: dict[tuple[Location, int], int] = defaultdict(int)  # by point
        for wait in self.matcher.waits.values():
            if wait.late:
                self.n_waiting[wait.late.location, wait.late.index] += 1
        self.paths = Paths(self.records)
        self.nodes: dict[tuple[Location, int], Node | None] = {}  # of points that were reached
        self.short: dict[tuple[Site, Location, Location], ShortWaits] = {}
        self.sites: dict[Site, Side] = defaultdict(lambda: defaultdict(float))
        self.follow()
        for key in list(self.short):
            self.close(key)
        self.charges: dict[tuple[int | None, str], float] = defaultdict(float)
        for charges in self.sites.values():
            for (location, name), seconds in name_causes(charges).items():
                self.charges[location[0] if location else None, name] += seconds

    def follow(self) -> None:
        """Each thread as far as it does not depend on a point that another has not reached yet."""
        at = dict.fromkeys(self.records, 0)
        ready = deque(self.records)
        blocked: dict[tuple[Location, int], list[Location]] = defaultdict(list)
        while ready:
            location = ready.popleft()
            for record in self.records[location][at[location] :]:
                own = (location, record.point.index)
                if own not in self.nodes:
                    self.arrive(location, record)
                    ready.extend(blocked.pop(own, []))
                late = self.matcher.wait_of(record).late
                if late and (late.location, late.index) not in self.nodes:
                    blocked[late.location, late.index].append(location)
                    break
                self.leave(location, record)
                at[location] += 1

    def arrive(self, location: Location, record: Record) -> None:
        gap = record.gap
        for part, share in gap.parts.items():
            self.paths.add(location, part, share * gap.seconds, min(gap.least, gap.seconds))
        if not gap.parts:
            self.paths.add(location, UNKNOWN_WORK, gap.seconds, float("inf"))
        self.paths.squeeze(self.paths.tips[location])
        point = (location, record.point.index)
        n_waiting = self.n_waiting[point]
        self.nodes[point] = self.paths.pin(location, n_waiting) if n_waiting else None

    def leave(self, location: Location, record: Record) -> None:
        """Time in the call beyond waiting is work of the call, or unknown if its partners were not found."""
        wait = self.matcher.wait_of(record)
        if wait.late:
            node = self.nodes[wait.late.location, wait.late.index]
            assert node
            charges, credits = self.charge(location, record, node)
            self.paths.continue_from(location, node)
            mark_causes(self.paths.tips[location], charges, credits)
            self.paths.unpin(node)
        moving = record.exit - record.time - wait.seconds
        if wait.is_known or wait.seconds > 0:
            self.paths.add(location, Part(without_lines(record.path), False), moving)
        else:
            self.paths.add(location, UNKNOWN_WORK, moving, float("inf"))

    def charge(self, location: Location, record: Record, node: Node) -> tuple[Side, Credits]:
        wait = self.matcher.wait_of(record)
        assert wait.late
        counted = self.run.counted_share(location, record.time, wait.seconds)
        late, waiting = self.paths.compare(node, self.paths.tips[location])
        difference = sum(late.seconds.values()) - sum(waiting.seconds.values())
        self.farthest = max(self.farthest, abs(wait.seconds - difference))
        self.found += wait.seconds * counted
        site = (without_lines(record.path), record.calls[0].kind)
        if wait.seconds >= self.least:
            charges, credits = charge(late, waiting, wait.seconds)
            self.add_charges(site, charges, counted)
            return charges, credits
        key = (site, wait.late.location, location)
        if self.short.setdefault(key, ShortWaits()).add(wait.seconds, late, waiting, counted) >= self.least:
            self.close(key)
        return {}, {}

    def close(self, key: tuple[Site, Location, Location]) -> None:
        """Differences are linear, so short waits may be charged as one."""
        short = self.short.pop(key)
        if short.wait > 0:
            self.add_charges(key[0], charge(short.late, short.waiting, short.wait)[0], 1.0)

    def add_charges(self, site: Site, charges: Side, counted: float) -> None:
        for entry, seconds in charges.items():
            self.sites[site][entry._replace(is_cause=False)] += seconds * counted


class ShortWaits:
    """Sums of the short waits of one thread for another at one site."""

    def __init__(self) -> None:
        self.wait, self.late, self.waiting = 0.0, Work(), Work()

    def add(self, wait: float, late: Work, waiting: Work, counted: float) -> float:
        self.wait += wait * counted
        self.late.add_all(late, counted)
        self.waiting.add_all(waiting, counted)
        return self.wait


def mark_causes(tip: Node, charges: Side, credits: Credits) -> None:
    for entry, seconds in charges.items():
        if not entry.is_rest and not entry.is_cause and entry.location is not None:
            tip.add(entry, -seconds)
            tip.add(Entry(entry.location, entry.path, False, True), seconds)
    tip.credits = dict(sorted(credits.items(), key=lambda credit: -credit[1])[:MOST_CREDITS])
