# SPDX-License-Identifier: BSD-3-Clause
"""How much slower real programs become: ten of pyperformance, under allranks, with a budget, under cProfile, and under
hooks that do nothing.

pip puts pyperformance into build/bench, once for each interpreter. The number of loops is fixed: a second to four of plain
running. Each loop is timed by itself, and the best of each is summed up, so that what happens only once still counts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import floors
from rounds import (
    BENCH,
    ROOT,
    Failed,
    Figures,
    Interpreter,
    Options,
    accepts,
    best_of,
    install,
    median,
    run,
    scratch,
)
from tables import Check, Outcome, heads, note, number, row, title, verdict_row

PROGRAM = str(BENCH / "real.py")
REQUIREMENTS = ROOT / "tools/requirements-bench.txt"
LOOPS = {
    "async_none": 2,
    "async_io": 1,
    "async_cpu_io": 1,
    "async_memo": 1,
    "docutils": 1,
    "fannkuch": 3,
    "mdp": 1,
    "pprint": 1,
    "raytrace": 4,
    "sympy": 1,
}
SLEEPING = ("async_io", "async_cpu_io", "async_memo")  # only their processor time means something
BUDGET = ["--budget", "2%"]
LEAST_S = 0.001


def commands(interpreter: Interpreter, program: list[str]) -> dict[str, list[str]]:
    modes = {
        "plain": [interpreter.python, *program],
        "allranks": [*interpreter.allranks(), *program],
        "floor": [interpreter.python, *program, str(floors.build(interpreter))],
        "budget": [*interpreter.allranks(*BUDGET), *program],
        "cprofile": [interpreter.python, "-m", "cProfile", "-o", "cprofile.out", *program],
    }
    if not accepts(interpreter, *BUDGET):
        del modes["budget"]
    return modes


def loops_of(command: list[str], clock: str, directory: str) -> Callable[[], Figures]:
    def measure() -> Figures:
        seconds = json.loads(run(command, directory).splitlines()[-1])[clock]
        return {str(number): value for number, value in enumerate(seconds)}

    return measure


def clock_of(name: str, options: Options) -> str:
    return "cpu" if options.processor_time or name in SLEEPING else "wall"


def seconds_of(name: str, interpreter: Interpreter, site: Path, options: Options) -> Figures:
    """Mode to seconds."""
    clock = clock_of(name, options)
    program = [PROGRAM, str(site), name, str(1 if options.quick else LOOPS[name])]
    with scratch() as directory:
        found = commands(interpreter, program)
        modes = {mode: loops_of(command, clock, directory) for mode, command in found.items()}
        best = best_of(modes, options.n_rounds(2), f"{interpreter.name} {name}")
    return {mode: sum(loops.values()) for mode, loops in best.items()}


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    programs: dict[str, Figures] = {}
    missing: dict[str, str] = {}
    site = install(interpreter, REQUIREMENTS, "site")
    for name in LOOPS:
        try:
            programs[name] = seconds_of(name, interpreter, site, options)
        except Failed as failure:
            missing[name] = str(failure)
    clocks = {name: clock_of(name, options) for name in programs}
    found = checks(programs)
    heading = f"Python {interpreter.name}: real programs, how many times slower"
    show(heading, programs, clocks, missing)
    for check in found:
        verdict_row(check)
    return Outcome({"seconds": programs, "clock": clocks, "missing": missing}, found)


def slowdown(seconds: Figures, mode: str) -> float | None:
    return seconds[mode] / seconds["plain"] if mode in seconds else None


def ratio(seconds: Figures) -> float:
    """Of the time that allranks adds to what cProfile adds."""
    added = {
        mode: max(seconds[mode] - seconds["plain"], LEAST_S) for mode in ("allranks", "cprofile")
    }
    return added["allranks"] / added["cprofile"]


def median_or_none(values: list[float | None]) -> float | None:
    return median([v for v in values if v is not None]) if any(values) else None


def checks(programs: dict[str, Figures]) -> list[Check]:
    ratios: list[float | None] = [ratio(s) for s in programs.values()]
    budgets = [slowdown(s, "budget") for s in programs.values()]
    return [
        Check("real, median x cProfile", median_or_none(ratios), 0.25),
        Check("real, 2% budget, slowdown", median_or_none(budgets), 1.05, ".3f"),
    ]


def show(
    heading: str, programs: dict[str, Figures], clocks: dict[str, str], missing: dict[str, str]
) -> None:
    title(heading)
    heads("plain|seconds", "floor", "allranks", "allranks|2% budget", "cProfile", "ratio of|added")
    for name, seconds in programs.items():
        slowdowns = [slowdown(seconds, mode) for mode in ("floor", "allranks", "budget", "cprofile")]
        cells = [number(seconds["plain"], ".2f"), *(number(s, ".3f") for s in slowdowns)]
        label = name + (" (cpu)" if clocks[name] == "cpu" else "")
        row(label, [*cells, number(ratio(seconds), ".2f")])
    for name, reason in missing.items():
        note(f"{name}: not available: {reason}")
