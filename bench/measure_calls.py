# SPDX-License-Identifier: BSD-3-Clause
"""What is added to a call: by hooks that do nothing, by allranks, by cProfile."""

from __future__ import annotations

import floors
from rounds import (
    BENCH,
    Figures,
    Interpreter,
    Options,
    accepts,
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

TITLES = {
    "python": "Python functions only, ns a call; cProfile with builtins=False",
    "mixed": "--builtins=all, ns a call; cProfile with builtins=True",
}


def limits(which: str, interpreter: Interpreter) -> tuple[float, float]:
    """Of the geometric mean of ratios, and of the largest one."""
    if which == "mixed":
        return 0.75, 1.0
    return (0.20, 0.35) if interpreter.version < (3, 12) else (0.33, 0.50)


def allranks_options(which: str, interpreter: Interpreter) -> list[str] | None:
    """None: the installed allranks cannot do that."""
    wanted = "--builtins=all" if which == "mixed" else "--builtins=none"
    if accepts(interpreter, wanted):
        return [wanted]
    return None if which == "mixed" else []


def commands(which: str, interpreter: Interpreter) -> dict[str, list[str]]:
    """Mode to command line."""
    program = [PROGRAM, "--set", which]
    options = allranks_options(which, interpreter)
    floor = ["--under", "floor", "--floor", str(floors.build(interpreter))]
    modes = {
        "plain": [interpreter.python, *program],
        "floor": [interpreter.python, *program, *floor],
        "allranks": [*interpreter.allranks(*(options or [])), *program],
        "cprofile": [interpreter.python, *program, "--under", "cprofile"],
    }
    if options is None:
        del modes["allranks"]
    return modes


def measure(which: str, interpreter: Interpreter, options: Options) -> Outcome:
    with scratch() as directory:
        modes = {m: figures_of(c, directory) for m, c in commands(which, interpreter).items()}
        best = best_of(modes, options.n_rounds(5), f"{interpreter.name} {which} calls")
    ratio = ratios(best)
    found = checks(which, interpreter, ratio)
    show(f"Python {interpreter.name}: {TITLES[which]}", best, ratio, found)
    return Outcome({"ns_per_call": best, "ratio_to_cprofile": ratio}, found)


def ratios(best: dict[str, Figures]) -> Figures:
    if "allranks" not in best:
        return {}
    return {
        name: added(best, "allranks", name, LEAST_NS) / added(best, "cprofile", name, LEAST_NS)
        for name in best["plain"]
    }


def checks(which: str, interpreter: Interpreter, ratio: Figures) -> list[Check]:
    mean_limit, each_limit = limits(which, interpreter)
    of = "Python only" if which == "python" else "Python and C"
    values = list(ratio.values())
    found = [
        Check(f"{of}, mean x cProfile", geometric_mean(values) if values else None, mean_limit)
    ]
    if which == "python":
        found.append(Check(f"{of}, worst x cProfile", max(values, default=None), each_limit))
    return found


def show(heading: str, best: dict[str, Figures], ratio: Figures, found: list[Check]) -> None:
    title(heading)
    heads("plain", "floor|adds", "allranks|adds", "cProfile|adds", "ratio")
    for name, plain in best["plain"].items():
        adds = [
            added(best, mode, name, LEAST_NS) if mode in best else None
            for mode in ("floor", "allranks", "cprofile")
        ]
        row(name, [*map(number, [plain, *adds]), number(ratio.get(name), ".2f")])
    for check in found:
        verdict_row(check)
