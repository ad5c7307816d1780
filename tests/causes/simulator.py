# SPDX-License-Identifier: BSD-3-Clause
"""When everything happens in a made-up program, and which rank really waited for which: exact, without a clock.

Threads take turns in the order of time. A call completes when the ranks that MPI makes it wait for have come.

    run = simulate(program)                      with its planted delays
    run = simulate(program, delays=set())        without any
    run = simulate(program, noise=0.01)          every piece of work varies by up to 1 %
    run = simulate(program, ends=logged)         every operation ends when it did in a real run
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from operations import COLLECTIVES, Comm, Location, Op, Path, Program, Rank, Steps, function_of

Ends = Mapping[Location, Iterable[float]]  # of all operations of a thread, one after the other

CALL_S = 2e-6  # what a call takes beyond waiting
TAKEN_S = 1e-5  # a completed send leaves a record only if it was waited for this long


class Stretch(NamedTuple):
    """A piece of a thread's work."""

    start: float
    end: float
    path: Path


@dataclass
class Call:
    """A call that may have waited, or that others may wait for. A Waitall is several, with the same times."""

    location: Location
    kind: str
    comm: Comm
    sequence: int  # which of the collective calls on the communicator; the tag of a message
    peer: int | None
    path: Path
    enter: float
    exit: float = 0.0
    post: float | None = None  # when it was posted
    post_path: Path = ()
    is_post: bool = False  # the posting itself, which does not wait
    message: int = -1
    true_wait: float = 0.0
    true_late: Location | None = None


@dataclass
class Request:
    thread: Thread
    kind: str
    comm: Comm
    sequence: int | None
    peer: int | None
    path: Path
    posted: float
    is_sync: bool = False
    ready: float | None = None  # when it could complete
    by: Location | None = None  # the thread that made it ready
    source: int | None = None
    message: int = -1
    moved: float | None = None  # when MPI first worked on it


@dataclass
class Blocked:
    enter: float
    path: Path
    requests: tuple[Request, ...] = ()
    is_posted: bool = False


@dataclass
class Thread:
    location: Location
    steps: Steps
    random: random.Random
    now: float = 0.0
    end: float = 0.0  # of its operation, if that was logged in a real run
    log: list[Stretch] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    blocked: Blocked | None = None
    joining: list[Thread] = field(default_factory=list)
    ended: float | None = None
    sequences: Counter[str] = field(default_factory=Counter)
    unmoved: list[Request] = field(default_factory=list)  # requests that MPI moves when it is called again


@dataclass
class Run:
    program: Program
    threads: dict[Location, Thread]
    planted: dict[str, set[int]]
    wall: float

    def recorded_calls(self, location: Location) -> list[Call]:
        return self.threads[location].calls[: self.program.cut.get(location[0])]

    def waits(self) -> Iterator[tuple[Call, float]]:
        """Calls that waited, with the seconds that held their process up."""
        for _, thread in sorted(self.threads.items()):
            seen = set()
            for call in thread.calls:
                if call.true_wait > 0 and (call.enter, call.exit) not in seen:
                    seen.add((call.enter, call.exit))
                    yield call, call.true_wait * self.counted_share(call.location, call.enter, call.true_wait)

    def counted_share(self, location: Location, enter: float, wait: float) -> float:
        """The share of a wait that holds its process up: a thread other than the main one does so only while the main
        thread is blocked or has ended."""
        rank, number = location
        if number == 0 or wait <= 0:
            return 1.0
        main, until = self.threads[rank, 0], enter + wait
        assert main.ended is not None
        blocked = [stretch for stretch in main.log if stretch.path[-1] == "<acquire>"]
        idle = sum(max(0.0, min(s.end, until) - max(s.start, enter)) for s in blocked)
        return (idle + max(0.0, until - max(main.ended, enter))) / wait

    def total_wait(self) -> float:
        return sum(seconds for _, seconds in self.waits())


class Simulator:
    def __init__(self, program: Program, delays: set[int] | None, noise: float, seed: int,
                 ends: Ends | None) -> None:  # fmt: skip
        self.program, self.delays, self.noise = program, delays, noise
        self.ends = {location: iter(times) for location, times in (ends or {}).items()}
        world, comms = Comm("world", tuple(range(program.n_ranks)), True), program.made_comms()
        bodies = {(rank, 0): program.body for rank in range(program.n_ranks)} | dict(program.threads)
        self.threads = {}
        for (rank, number), body in sorted(bodies.items()):
            dice = random.Random(f"{seed} {rank} {number}")  # the same with and without delays
            self.threads[rank, number] = Thread((rank, number), body(Rank(rank, world, number), comms), dice)
        self.turns = [(0.0, i, thread) for i, thread in enumerate(self.threads.values())]
        self.n_turns = len(self.turns)
        self.groups: dict[tuple[str, int], dict[int, Request]] = defaultdict(dict)
        self.sends: dict[tuple[str, int], list[Request]] = defaultdict(list)  # by communicator and receiver
        self.receives: dict[tuple[str, int], list[Request]] = defaultdict(list)
        self.n_messages = 0
        self.planted: dict[str, set[int]] = defaultdict(set)

    def run(self) -> Run:
        heapq.heapify(self.turns)
        answers: dict[Location, Any] = {}
        while self.turns:
            now, _, thread = heapq.heappop(self.turns)
            thread.now = now
            try:
                op = thread.steps.send(answers.pop(thread.location, None))
            except StopIteration:
                thread.ended = now
                for joining in thread.joining:
                    self.leave_join(joining, now)
                continue
            answers[thread.location] = self.do(thread, op)
        ends = [thread.ended for thread in self.threads.values() if thread.ended is not None]
        assert len(ends) == len(self.threads), f"{self.program.name}: deadlock"
        return Run(self.program, self.threads, dict(self.planted), max(ends))

    def schedule(self, thread: Thread, at: float) -> None:
        self.n_turns += 1
        heapq.heappush(self.turns, (at, self.n_turns, thread))

    def do(self, thread: Thread, op: Op) -> Request | None:
        if self.ends:
            thread.end = next(self.ends[thread.location])
        if op.what == "work":
            self.work(thread, op)
        elif op.what == "join":
            self.join(thread, op)
        else:
            self.move_requests(thread)
            if op.what != "wait":
                return self.call(thread, op)
            self.block(thread, Blocked(thread.now, op.path, op.requests, is_posted=True))
        return None

    # ---- work ----

    def work(self, thread: Thread, op: Op) -> None:
        seconds = op.seconds
        if op.delay is not None:
            if self.delays is not None and op.delay not in self.delays:
                return self.schedule(thread, thread.now)
            self.planted[function_of(op.path)].add(thread.location[0])
        elif self.noise:
            seconds *= 1 + self.noise * thread.random.uniform(-1, 1)
        if self.ends:
            seconds = max(0.0, thread.end - thread.now)
        if seconds > 0:
            thread.log.append(Stretch(thread.now, thread.now + seconds, op.path))
        self.schedule(thread, thread.now + seconds)

    def join(self, thread: Thread, op: Op) -> None:
        other = self.threads[thread.location[0], op.thread]
        thread.blocked = Blocked(thread.now, op.path)
        if other.ended is None:
            other.joining.append(thread)
        else:
            self.leave_join(thread, thread.now)

    def leave_join(self, thread: Thread, now: float) -> None:
        assert thread.blocked
        if now > thread.blocked.enter:
            thread.log.append(Stretch(thread.blocked.enter, now, thread.blocked.path))
        thread.blocked = None
        self.schedule(thread, now)

    # ---- calls ----

    def call(self, thread: Thread, op: Op) -> Request:
        request = self.post(thread, op)
        if op.what == "call":
            self.block(thread, Blocked(thread.now, op.path, (request,)))
            return request
        if op.kind != "recv":
            assert request.sequence is not None
            thread.calls.append(Call(thread.location, op.kind, op.comm, request.sequence, request.peer, op.path, thread.now,
                                     thread.now + CALL_S, is_post=True, message=request.message))  # fmt: skip
        self.schedule(thread, max(thread.now + CALL_S, thread.end))
        return request

    def post(self, thread: Thread, op: Op) -> Request:
        rank = op.comm.rank_of(thread.location[0])
        request = Request(thread, op.kind, op.comm, op.tag, op.peer, op.path, thread.now, op.is_sync)
        if op.kind not in COLLECTIVES:
            self.match_message(request, rank)
            return request
        request.sequence = thread.sequences[op.comm.name]
        thread.sequences[op.comm.name] += 1
        self.groups[op.comm.name, request.sequence][rank] = request
        if op.what == "post" and self.program.is_weak:
            thread.unmoved.append(request)
        else:
            request.moved = thread.now
        self.match_group(request)
        return request

    def move_requests(self, thread: Thread) -> None:
        for request in thread.unmoved:
            request.moved = thread.now
            self.match_group(request)
        thread.unmoved = []

    def complete(self, request: Request, at: float, by: Location) -> None:
        if request.ready is None:
            request.ready, request.by = max(at, request.posted), by
            self.try_leave(request.thread)

    def match_group(self, request: Request) -> None:
        assert request.sequence is not None
        group = self.groups[request.comm.name, request.sequence]
        everyone = range(len(request.comm.members))
        for rank, member in list(group.items()):
            late = last_moved(group, needed_ranks(member, rank, everyone))
            if late:
                assert late.moved is not None
                self.complete(member, late.moved, late.thread.location)

    def match_message(self, request: Request, rank: int) -> None:
        if request.kind == "send":
            assert request.peer is not None
            where, partners, own = (request.comm.name, request.peer), self.receives, self.sends
            request.source, request.message = rank, self.n_messages
            self.n_messages += 1
            if not request.is_sync:
                request.ready, request.by = request.posted, request.thread.location
        else:
            where, partners, own = (request.comm.name, rank), self.sends, self.receives
        for partner in partners[where]:
            sent, received = (request, partner) if request.kind == "send" else (partner, request)
            if received.sequence in (None, sent.sequence) and received.peer in (None, sent.source):
                partners[where].remove(partner)
                received.peer, received.sequence, received.message = sent.source, sent.sequence, sent.message
                self.complete(received, sent.posted, sent.thread.location)
                self.complete(sent, received.posted, received.thread.location)
                return
        own[where].append(request)

    def block(self, thread: Thread, blocked: Blocked) -> None:
        thread.blocked = blocked
        self.try_leave(thread)

    def try_leave(self, thread: Thread) -> None:
        blocked = thread.blocked
        if blocked is None or any(request.ready is None for request in blocked.requests):
            return
        thread.blocked = None
        last = max(blocked.requests, key=ready_of)
        until = max(blocked.enter, ready_of(last))
        exit = max(until + CALL_S, thread.end)
        for request in blocked.requests:
            call = completed_call(request, blocked, exit)
            if request is last and request.by != thread.location:
                call.true_wait, call.true_late = until - blocked.enter, request.by
            if request.kind == "send" and blocked.is_posted:
                if not request.is_sync or until - blocked.enter < TAKEN_S:
                    continue
                call.kind = "taken"
            thread.calls.append(call)
        self.schedule(thread, exit)


def ready_of(request: Request) -> float:
    assert request.ready is not None
    return request.ready


def needed_ranks(request: Request, rank: int, everyone: range) -> Iterable[int]:
    """The ranks without which a collective call does not complete on this rank."""
    if request.is_sync:
        return everyone
    if request.kind == "from_root":
        assert request.peer is not None
        return [request.peer]
    if request.kind == "scan":
        return range(rank + 1)
    if request.kind == "to_root" and rank != request.peer:
        return [rank]
    return everyone


def last_moved(group: dict[int, Request], ranks: Iterable[int]) -> Request | None:
    """The last of these ranks to come; None: not all have come yet."""
    late, latest = None, -1.0
    for rank in ranks:
        request = group.get(rank)
        if request is None or request.moved is None:
            return None
        if request.moved > latest:
            late, latest = request, request.moved
    return late


def completed_call(request: Request, blocked: Blocked, exit: float) -> Call:
    assert request.sequence is not None
    return Call(request.thread.location, request.kind, request.comm, request.sequence, request.peer, blocked.path, blocked.enter,
                exit, request.posted if blocked.is_posted else None, request.path, message=request.message)  # fmt: skip


def simulate(program: Program, delays: set[int] | None = None, noise: float = 0.0, seed: int = 1,
             ends: Ends | None = None) -> Run:  # fmt: skip
    """`delays`: the numbers of the planted ones that happen; None: all."""
    return Simulator(program, delays, noise, seed, ends).run()
