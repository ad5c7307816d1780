# SPDX-License-Identifier: BSD-3-Clause
"""What holds for the charges of the reference rule in every program, and how much of the waiting it charges rightly."""

from __future__ import annotations

import pytest
from judging import Score, charges_of_rule, planted_case, random_cases
from operations import Program
from programs import PROGRAMS
from random_delays import random_program
from rule import Rule
from simulator import Run, simulate

N_RANDOM = 40


def random_run(seed: int) -> Run:
    return simulate(random_program(7000 + seed, 2, is_even=seed % 2 == 0).program, noise=0.01)


def check_charges(run: Run) -> Rule:
    """They add up to the waits, none is negative, and no rank is charged for being in MPI."""
    rule = Rule(run)
    waited, charged = run.total_wait(), sum(rule.charges.values())
    in_mpi = sum(seconds for (_, name), seconds in rule.charges.items() if name.startswith("MPI_"))
    assert charged == pytest.approx(rule.found, rel=1e-9, abs=1e-9)
    assert all(seconds > -1e-9 for seconds in rule.charges.values())
    assert in_mpi <= 0.01 * max(waited, 0.01)
    if run.program.cut:
        assert rule.found < waited and rule.matcher.n_unresolved > 0
    else:
        assert rule.found == pytest.approx(waited, rel=1e-3, abs=1e-4)
        assert rule.farthest < 1e-9  # both paths are as long as the time that has passed
    return rule


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_planted(program: Program) -> None:
    case = planted_case(program)
    rule = check_charges(case.run)
    if program.truth == {}:
        assert sum(rule.charges.values()) < 1e-3
    elif program.family != "records":  # where records are missing, no rule can know it all
        assert case.score(charges_of_rule(rule.charges)).rank >= 0.99 * case.added


@pytest.mark.parametrize("seed", range(N_RANDOM))
def test_random(seed: int) -> None:
    check_charges(random_run(seed))


def test_missing_records_make_waits_unknown_and_not_wrong() -> None:
    for program in PROGRAMS.values():
        if program.family == "records":
            case = planted_case(program)
            found = case.score(charges_of_rule(Rule(case.run).charges))
            assert found.innocent == pytest.approx(0, abs=1e-3)
            assert found.rank >= 0.4 * case.added


def test_random_delays_are_found() -> None:
    found = sum((case.score(charges_of_rule(Rule(case.run).charges)) for case in random_cases(100)), Score())
    assert found.share("rank") >= 0.98, found
    assert found.share("innocent") <= 0.01, found
