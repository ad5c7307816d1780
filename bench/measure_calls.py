# SPDX-License-Identifier: BSD-3-Clause
"""What is added to a call: by hooks that do nothing, by allranks, by cProfile."""

from __future__ import annotations

from typing import NamedTuple

import floors
from rounds import (
    BENCH,
    Figures,
    Interpreter,
    Options,
    added,
    best_of,
    figures_of,
    geometric_mean,
    scratch,
)
from tables import Check, Outcome, heads, number, row, title, verdict_row

PROGRAM = str(BENCH / "calls.py")
# Below a tenth of a nanosecond nothing can be told from nothing.
LEAST_NS = 0.1


class Kind(NamedTuple):
    title: str
    programs: str  # the set of bench/calls.py
    options: tuple[str, ...]  # of allranks
    of: str
    mean_limit: float  # of ratios to what cProfile adds
    each_limit: float | None = None


KINDS = {
    "python": Kind("Python functions only; cProfile with builtins=False", "python", ("--builtins=none",), "Python only", 0.33, 0.50),
    "default": Kind("Python and C, default mode; cProfile with builtins=True", "mixed", (), "Python and C", 0.20),
    "all": Kind("Python and C, --builtins=all; cProfile with builtins=True", "mixed", ("--builtins=all",), "all of C", 0.30),
}  # fmt: skip


def kind_of(which: str, interpreter: Interpreter) -> Kind:
    """Before sys.monitoring Python functions cost less."""
    kind = KINDS[which]
    if which == "python" and interpreter.version < (3, 12):
        return kind._replace(mean_limit=0.20, each_limit=0.35)
    return kind


def commands(kind: Kind, interpreter: Interpreter) -> dict[str, list[str]]:
    """Mode to command line."""
    program = [PROGRAM, "--set", kind.programs]
    floor = ["--under", "floor", "--floor", str(floors.build(interpreter))]
    return {
        "plain": [interpreter.python, *program],
        "floor": [interpreter.python, *program, *floor],
        "allranks": [*interpreter.allranks(*kind.options), *program],
        "cprofile": [interpreter.python, *program, "--under", "cprofile"],
    }


def measure(which: str, interpreter: Interpreter, options: Options) -> Outcome:
    kind = kind_of(which, interpreter)
    with scratch() as directory:
        modes = {m: figures_of(c, directory) for m, c in commands(kind, interpreter).items()}
        best = best_of(modes, options.n_rounds(5), f"{interpreter.name} calls, {kind.of}")
    ratio = ratios(best)
    found = checks(kind, ratio)
    show(f"Python {interpreter.name}: {kind.title}, ns a call", best, ratio, found)
    return Outcome({"ns_per_call": best, "ratio_to_cprofile": ratio}, found)


def ratios(best: dict[str, Figures]) -> Figures:
    return {
        name: added(best, "allranks", name, LEAST_NS) / added(best, "cprofile", name, LEAST_NS)
        for name in best["plain"]
    }


def checks(kind: Kind, ratio: Figures) -> list[Check]:
    values = list(ratio.values())
    found = [Check(f"{kind.of}, mean x cProfile", geometric_mean(values), kind.mean_limit)]
    if kind.each_limit:
        found.append(Check(f"{kind.of}, worst x cProfile", max(values), kind.each_limit))
    return found


def show(heading: str, best: dict[str, Figures], ratio: Figures, found: list[Check]) -> None:
    title(heading)
    heads("plain", "floor|adds", "allranks|adds", "cProfile|adds", "ratio")
    for name, plain in best["plain"].items():
        adds = [added(best, mode, name, LEAST_NS) for mode in ("floor", "allranks", "cprofile")]
        row(name, [*map(number, [plain, *adds]), number(ratio.get(name), ".2f")])
    for check in found:
        verdict_row(check)
