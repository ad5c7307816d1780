# SPDX-License-Identifier: BSD-3-Clause
"""How much of the waiting was charged to what was planted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from operations import Path, Program, RanksOf, function_of
from random_delays import Planted, random_program
from simulator import Run, simulate

LEAST_ADDED_S = 0.02  # a random program whose delays add less says nothing


class Charge(NamedTuple):
    """Seconds that ranks waited because of a function on a rank."""

    rank: int | None
    path: Path  # of which the last function is charged; empty: not known
    is_spread: bool  # together with all that it calls
    seconds: float


@dataclass
class Score:
    """Seconds. `function` includes `rank`."""

    waited: float = 0.0
    function: float = 0.0  # charged to the right function, on any rank
    rank: float = 0.0  # charged to the right function on the right rank
    innocent: float = 0.0
    unknown: float = 0.0

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def share(self, what: str) -> float:
        return float(getattr(self, what)) / self.waited if self.waited else 0.0

    def __str__(self) -> str:
        shares = ", ".join(f"{each.name} {100 * self.share(each.name):.1f} %" for each in fields(self)[1:])
        return f"{self.waited:.2f} s waited: {shares}"


def charges_of_rule(charges: Mapping[tuple[int | None, str], float]) -> Iterable[Charge]:
    for (rank, name), seconds in charges.items():
        is_spread = name.endswith("/*")
        yield Charge(rank, () if name == "?" else (name[:-2] if is_spread else name,), is_spread, seconds)


def truth_of(run: Run) -> RanksOf:
    program = run.program
    return {**(run.planted if program.truth is None else program.truth), **program.also}


def ranks_for(charge: Charge, truth: RanksOf) -> set[int]:
    """The ranks on which a charge is right. A function below one that is right with all that it calls is right, too."""
    names = [f"{name}/*" for name in charge.path]
    if not charge.is_spread:
        names.append(function_of(charge.path))
    return set().union(*(truth.get(name, set()) for name in names))


def score(charges: Iterable[Charge], truth: RanksOf, waited: float) -> Score:
    found = Score(waited)
    for charge in charges:
        ranks = ranks_for(charge, truth)
        if not charge.path:
            found.unknown += charge.seconds
        elif not ranks:
            found.innocent += charge.seconds
        else:
            found.function += charge.seconds
            found.rank += charge.seconds if charge.rank in ranks else 0.0
    return found


@dataclass
class Case:
    """A simulated run, and what it would have been without the delays."""

    family: str
    run: Run
    truth: RanksOf
    added: float  # seconds that ranks waited because of what was planted
    base: float  # and without

    def score(self, charges: Iterable[Charge]) -> Score:
        """Without the waiting that is not due to the delays, as far as it was charged to other functions."""
        found = score(charges, self.truth, self.added)
        found.innocent = max(0.0, found.innocent - self.base)
        found.function, found.rank = min(found.function, self.added), min(found.rank, self.added)
        return found


def planted_case(program: Program) -> Case:
    run = simulate(program)
    return Case(program.family, run, truth_of(run), run.total_wait(), 0.0)


class Family(NamedTuple):
    name: str
    n_delays: int
    is_even: bool
    noise: float
    first_seed: int


FAMILIES = (
    Family("even, one delay", 1, True, 0.0, 1000),
    Family("even, one delay, 1 % noise", 1, True, 0.01, 51000),
    Family("even, two delays, 1 % noise", 2, True, 0.01, 52000),
    Family("even, three delays, 1 % noise", 3, True, 0.01, 53000),
    Family("uneven, one delay, 1 % noise", 1, False, 0.01, 141000),
)


def truth_of_delays(planted: Planted) -> RanksOf:
    truth: dict[str, set[int]] = {}
    for delay in planted.delays:
        truth.setdefault(delay.name, set()).add(delay.rank)
    return truth


def random_cases(n: int) -> Iterable[Case]:
    """About n cases, of all families."""
    for i in range(n):
        family = FAMILIES[i % len(FAMILIES)]
        planted = random_program(family.first_seed + i // len(FAMILIES), family.n_delays, family.is_even)
        run = simulate(planted.program, noise=family.noise)
        base = simulate(planted.program, delays=set(), noise=family.noise).total_wait()
        added = run.total_wait() - base
        if added >= LEAST_ADDED_S:
            yield Case(family.name, run, truth_of_delays(planted), added, base)
