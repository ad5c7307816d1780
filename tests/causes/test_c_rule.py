# SPDX-License-Identifier: BSD-3-Clause
"""The C code, held against the simulator and the reference rule: who waited how long, and which function on which rank that
is charged to.

ALLRANKS_CAUSES is the number of random programs. A family of programs is as good in C as with the reference rule, or nearly.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import pytest
from judging import FAMILIES, Case, Score, charges_of_rule, planted_case, random_cases
from operations import Program
from programs import PROGRAMS
from rule import Rule
from run_text import RunText, true_waits, waits_of

N_RANDOM = int(os.environ.get("ALLRANKS_CAUSES", "300"))
NEARLY = 0.02  # of the waiting, by which C may be worse than the reference rule
ROUNDING_S = 1e-4  # calls take time themselves, and clocks count nanoseconds
PLANTED = list(PROGRAMS.values())
BALANCED = [program for program in PLANTED if program.truth == {}]
UNBALANCED = [program for program in PLANTED if program.truth != {}]
PLANTED_FAMILIES = sorted({program.family for program in UNBALANCED})
RANDOM_FAMILIES = [family.name for family in FAMILIES]


@dataclass
class Result:
    """Of one program; without its run, of which thousands would fill the memory."""

    program: Program
    family: str
    found: Score
    wanted: Score  # of the reference rule
    charged: float
    unlike: dict[tuple[int, int], tuple[float, float]]  # (rank, line) -> seconds that were found and that were waited
    n_unresolved: int


def result_of(case: Case) -> Result:
    text = RunText(case.run)
    found = waits_of(text)
    true = true_waits(case.run, text.tree)
    pairs = {key: (found.waited.get(key, 0.0), true.get(key, 0.0)) for key in {*found.waited, *true}}
    unlike = {key: (a, b) for key, (a, b) in pairs.items() if abs(a - b) > 0.01 * b + ROUNDING_S}
    wanted = case.score(charges_of_rule(Rule(case.run).charges))
    charged = sum(charge.seconds for charge in found.charges)
    return Result(case.run.program, case.family, case.score(found.charges), wanted, charged, unlike, found.n_unresolved)


@cache
def planted_results() -> list[Result]:
    return [result_of(planted_case(program)) for program in UNBALANCED]


@cache
def random_results() -> list[Result]:
    return [result_of(case) for case in random_cases(N_RANDOM)]


def of_family(family: str) -> list[Result]:
    results = planted_results() if family in PLANTED_FAMILIES else random_results()
    return [result for result in results if result.family == family]


def added_up(scores: Iterable[Score]) -> Score:
    return sum(scores, Score())


@pytest.mark.parametrize("family", [*PLANTED_FAMILIES, *RANDOM_FAMILIES])
def test_waits_are_as_long_as_they_were(family: str) -> None:
    whole = [result for result in of_family(family) if not result.program.cut]
    assert {result.program.name: result.unlike for result in whole if result.unlike} == {}
    assert [result.program.name for result in whole if result.n_unresolved] == []


@pytest.mark.parametrize("family", [*PLANTED_FAMILIES, *RANDOM_FAMILIES])
def test_causes_are_found_as_by_the_reference(family: str) -> None:
    results = of_family(family)
    found, wanted = added_up(result.found for result in results), added_up(result.wanted for result in results)
    said = f"{family}\nin C      {found}\nreference {wanted}"
    assert found.share("function") >= wanted.share("function") - NEARLY, said
    assert found.share("rank") >= wanted.share("rank") - NEARLY, said
    assert found.share("innocent") <= wanted.share("innocent") + NEARLY, said


def test_causes_over_all() -> None:
    whole = [result for result in planted_results() if result.family != "records"]
    found = added_up(result.found for result in (*whole, *random_results()))
    assert found.share("function") >= 0.95, str(found)
    assert found.share("rank") >= 0.90, str(found)
    assert found.share("innocent") <= 0.02, str(found)


@pytest.mark.parametrize("program", BALANCED, ids=lambda program: program.name)
def test_nothing_is_charged_in_balanced_programs(program: Program) -> None:
    assert result_of(planted_case(program)).charged < 1e-3
