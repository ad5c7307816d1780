# SPDX-License-Identifier: BSD-3-Clause
"""What `with allranks.region(...)` costs in a program that is not recorded: a loop with it minus an empty one."""

from __future__ import annotations

from rounds import BENCH, Interpreter, Options, best_of, figures_of, scratch
from tables import Check, Outcome, title, verdict_row


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    with scratch() as directory:
        modes = {"plain": figures_of([interpreter.python, str(BENCH / "regions.py")], directory)}
        best = best_of(modes, options.n_rounds(5), f"{interpreter.name} regions")
    found = best["plain"]
    check = Check("a region, not recorded: ns", found["with"] - found["empty"], 100, ".0f")
    title(f"Python {interpreter.name}: regions")
    verdict_row(check)
    return Outcome({"ns": found}, [check])
