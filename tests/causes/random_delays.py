# SPDX-License-Identifier: BSD-3-Clause
"""Random programs with planted delays.

All ranks do the same work, by different call paths, and meet in many ways; then delays are planted. The truth is the
counterfactual: the same run without the delays. What is waited more with them is caused by them.

    planted = random_program(seed, n_delays=2)
    planted.program, planted.delays[0].rank, planted.delays[0].name
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from operations import Comm, Op, Program, Rank, Steps

MEETINGS = ("barrier", "all", "all", "from_root", "to_root", "scan", "iall", "halo", "halo", "pair", "often")


class Delay(NamedTuple):
    at: int  # the step of work that it follows
    rank: int
    seconds: float
    name: str
    callers: str


class Work(NamedTuple):
    function: int
    seconds: float
    ranks: frozenset[int]


class Meeting(NamedTuple):
    kind: str
    comm: str
    a: int  # root, or source
    b: int  # destination
    is_sync: bool
    times: int


@dataclass
class Planted:
    program: Program
    delays: list[Delay]


class Plan:
    """What was rolled for one program."""

    def __init__(self, seed: int, n_delays: int, is_even: bool, most_ranks: int, meetings: tuple[str, ...]) -> None:
        self.meetings = meetings
        self.dice = dice = random.Random(seed)
        self.n = n = dice.randint(2, most_ranks)
        self.comms = {"all": tuple(dice.sample(range(n), n))}
        for i in range(dice.randint(0, 3)):
            if n > 2:
                self.comms[f"some{i}"] = tuple(dice.sample(range(n), dice.randint(2, n - 1)))
        self.functions = [f"f{i}" for i in range(dice.randint(2, 7))]
        self.tops = [dice.choice(("main", "root_main", "worker_main/run")) for _ in range(n)]
        self.callers = [dice.choice(("", "/step", "/outer/inner")) for _ in self.functions]
        self.steps: list[Work | Meeting] = []
        for _ in range(dice.randint(6, 40)):
            is_work = dice.random() < 0.5 or not any(isinstance(step, Work) for step in self.steps)
            self.steps.append(self.random_work(is_even) if is_work else self.random_meeting())
        self.steps.append(Meeting("barrier", "world", 0, 0, False, 0))
        works = [i for i, step in enumerate(self.steps) if isinstance(step, Work)]
        self.delays = [self.random_delay(i, works) for i in range(n_delays)]

    def random_work(self, is_even: bool) -> Work:
        dice, f = self.dice, self.dice.randrange(len(self.functions))
        is_of_all = is_even or dice.random() < 0.8
        ranks = range(self.n) if is_of_all else dice.sample(range(self.n), dice.randint(1, self.n))
        return Work(f, dice.uniform(0.002, 0.08), frozenset(ranks))

    def random_meeting(self) -> Meeting:
        dice, comm = self.dice, self.dice.choice(["world", *self.comms])
        size = len(self.comms.get(comm, range(self.n)))
        kind = dice.choice(self.meetings)
        return Meeting(kind, comm, dice.randrange(size), dice.randrange(size), dice.random() < 0.5, dice.randint(2, 30))

    def random_delay(self, number: int, works: list[int]) -> Delay:
        dice, f = self.dice, self.dice.randrange(len(self.functions))
        is_new = dice.choice((False, False, True))
        at, rank, seconds = dice.choice(works), dice.randrange(self.n), dice.uniform(0.05, 0.5)
        return Delay(at, rank, seconds, f"extra{number}" if is_new else self.functions[f], self.callers[f])

    def body(self, me: Rank, comms: Mapping[str, Comm]) -> Steps:
        top = self.tops[me.rank]
        for at, step in enumerate(self.steps):
            if isinstance(step, Meeting):
                yield from meet(me, step, comms.get(step.comm, me.world), top)
                continue
            if me.rank in step.ranks:
                yield me.work(f"{top}{self.callers[step.function]}/{self.functions[step.function]}", step.seconds)
            for number, delay in enumerate(self.delays):
                if (delay.at, delay.rank) == (at, me.rank):
                    yield me.delay(f"{top}{delay.callers}/{delay.name}", delay.seconds, number)


def meet(me: Rank, step: Meeting, comm: Comm, top: str) -> Steps:
    """Ranks that are not members do the same work."""
    is_member = me.rank in comm.members
    if step.kind == "iall":
        request = (yield me.iallreduce(comm, at=top)) if is_member else None
        yield me.work(f"{top}/overlap", 0.01 * (1 + step.a % 3))
        if is_member:
            yield me.wait(request, at=top)
    elif step.kind == "often":
        for _ in range(step.times):
            yield me.work(f"{top}/iterate", 0.002)
            if is_member:
                yield me.allreduce(comm, at=top)
    elif is_member and step.kind == "halo":
        yield from exchange_around(me, comm, step.is_sync, top)
    elif is_member and step.kind == "pair":
        yield from send_one(me, step, comm, top)
    elif is_member:
        yield collective(me, step, comm, top)


def collective(me: Rank, step: Meeting, comm: Comm, top: str) -> Op:
    if step.kind == "from_root":
        return me.bcast(step.a, comm, at=top)
    if step.kind == "to_root":
        return me.reduce(step.a, comm, at=top)
    return {"barrier": me.barrier, "all": me.allreduce, "scan": me.scan}[step.kind](comm, at=top)


def exchange_around(me: Rank, comm: Comm, is_sync: bool, top: str) -> Steps:
    own, size, posted = comm.rank_of(me.rank), len(comm.members), []
    neighbours = sorted({(own - 1) % size, (own + 1) % size})
    for other in neighbours:
        posted.append((yield me.irecv(other, comm, at=top)))
    for other in neighbours:
        posted.append((yield me.isend(other, comm, sync=is_sync, at=top)))
    yield me.wait(*posted, at=top)


def send_one(me: Rank, step: Meeting, comm: Comm, top: str) -> Steps:
    own = comm.rank_of(me.rank)
    if step.a != step.b and own == step.a:
        yield me.send(step.b, comm, sync=step.is_sync, at=top)
    elif step.a != step.b and own == step.b:
        yield me.recv(step.a, comm, at=top)


def random_program(seed: int, n_delays: int, is_even: bool = True, most_ranks: int = 8,
                   meetings: tuple[str, ...] = MEETINGS) -> Planted:  # fmt: skip
    """If it is not even, some ranks do work that others do not, so that ranks wait without any delay."""
    plan = Plan(seed, n_delays, is_even, most_ranks, meetings)
    return Planted(Program(f"random {seed}", plan.n, plan.body, comms=plan.comms), plan.delays)
