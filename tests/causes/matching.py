# SPDX-License-Identifier: BSD-3-Clause
"""Which point of another thread each record waited for, and how long.

Collective calls belong together by their number on the communicator, messages by their order between two ranks. The rank in
a communicator is recorded, not guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from operations import Location
from records import Point, Record, ThreadRecords, records_of
from simulator import Call, Run


@dataclass
class Wait:
    """What is known of a record's waiting."""

    late: Point | None = None
    seconds: float = 0.0
    is_known: bool = True  # all its partners were found


@dataclass
class Side:
    """One of the two calls of a message."""

    point: Point
    call: Call
    record: Record


class Matcher:
    def __init__(self, run: Run) -> None:
        self.threads: dict[Location, ThreadRecords] = records_of(run)
        self.waits: dict[int, Wait] = {}  # by id of the record
        self.n_unresolved = 0
        self.taken_at: dict[int, Point] = {}  # by message: where it was received
        groups: dict[tuple[str, int], list[tuple[Call, Record]]] = defaultdict(list)
        channels: dict[tuple[object, ...], tuple[list[Side], list[Side]]] = defaultdict(lambda: ([], []))
        for thread in self.threads.values():
            for record in thread.records:
                self.waits[id(record)] = Wait()
                for call in record.calls:
                    if call.kind in ("send", "recv"):
                        self.add_side(channels, thread, call, record)
                    elif call.kind != "taken" and not call.is_post:
                        groups[call.comm.name, call.sequence].append((call, record))
        for members in groups.values():
            self.match_group(members)
        for sends, receives in channels.values():
            self.match_messages(sends, receives)
        self.match_taken()

    def wait_of(self, record: Record) -> Wait:
        return self.waits[id(record)]

    def point_of(self, call: Call) -> Point:
        return self.threads[call.location].points[id(call)]

    # ---- collective calls ----

    def match_group(self, members: list[tuple[Call, Record]]) -> None:
        first = members[0][0]
        if len(members) < len(first.comm.members):
            for _, record in members:
                self.give_up(record)
            return
        points = {call.comm.rank_of(call.location[0]): self.point_of(call) for call, _ in members}
        seen = self.points_in_mpi(members)
        for call, record in members:
            own = self.point_of(call)
            needed = needed_ranks(call, call.comm.rank_of(call.location[0]), points)
            late = max((points[rank] for rank in needed), key=lambda point: point.time)
            if late is not own:
                self.note_wait(record, late)
            self.guess_wait(record, own, seen)

    def points_in_mpi(self, members: list[tuple[Call, Record]]) -> list[Point]:
        """When each member was in MPI: when it came and, if it only posted, when it called MPI again. Sorted by time."""
        found = []
        for call, _ in members:
            own = self.point_of(call)
            found.append(own)
            if call.post is not None:
                records = self.threads[call.location].records
                found.append(records[min(own.index + 1, len(records) - 1)].point)
        return sorted(found, key=lambda point: point.time)

    def guess_wait(self, record: Record, own: Point, seen: list[Point]) -> None:
        """Data in pieces, and nonblocking calls without progress, make ranks wait for others than MPI says. The last other
        rank in MPI before this one left is taken for the late one, if most of the time had passed by then."""
        at = bisect_right([point.time for point in seen], record.exit) - 1
        while at >= 0 and seen[at].location == own.location:
            at -= 1
        if at < 0:
            return
        since = record.time + self.wait_of(record).seconds
        if seen[at].time > since and record.exit - seen[at].time <= seen[at].time - since:
            self.note_wait(record, seen[at])

    # ---- messages ----

    def add_side(self, channels: dict[tuple[object, ...], tuple[list[Side], list[Side]]], thread: ThreadRecords, call: Call,
                 record: Record) -> None:  # fmt: skip
        own = call.comm.rank_of(call.location[0])
        is_send = call.kind == "send"
        ends = (own, call.peer) if is_send else (call.peer, own)
        channels[(call.comm.name, call.sequence, *ends)][not is_send].append(Side(thread.points[id(call)], call, record))

    def match_messages(self, sends: list[Side], receives: list[Side]) -> None:
        sends.sort(key=lambda side: side.point.time)
        receives.sort(key=lambda side: side.point.time)
        for sent, received in zip(sends, receives):
            self.note_wait(received.record, sent.point)
            if not sent.call.is_post:
                self.note_wait_for_receiver(sent.record, received.point)
            self.taken_at[sent.call.message] = received.point
        for side in (*sends[len(receives) :], *receives[len(sends) :]):
            self.give_up(side.record)

    def match_taken(self) -> None:
        for thread in self.threads.values():
            for record in thread.records:
                for call in record.calls:
                    if call.kind == "taken" and call.message in self.taken_at:
                        self.note_wait_for_receiver(record, self.taken_at[call.message])

    # ---- what was found ----

    def note_wait(self, record: Record, late: Point) -> None:
        """A call that waits for several waits for the last of them."""
        wait, until = self.wait_of(record), min(late.time, record.exit)
        if until - record.time > wait.seconds:
            wait.late, wait.seconds = late, until - record.time

    def note_wait_for_receiver(self, record: Record, late: Point) -> None:
        """A sender that had left before the receiver came has not waited for it."""
        if late.time <= record.exit:
            self.note_wait(record, late)

    def give_up(self, record: Record) -> None:
        self.n_unresolved += 1
        self.wait_of(record).is_known = False


def needed_ranks(call: Call, rank: int, all_ranks: Iterable[int]) -> Iterable[int]:
    """The ranks that MPI makes this one wait for."""
    if call.kind == "from_root":
        assert call.peer is not None
        return [call.peer]
    if call.kind == "scan":
        return range(rank + 1)
    if call.kind == "to_root" and rank != call.peer:
        return [rank]
    return all_ranks
