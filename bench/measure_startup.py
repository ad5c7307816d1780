# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to start: milliseconds and opened files beyond those of `python -c pass`.

Both ways of starting are measured. `python -m` opens files of its own before it gets to ours, most of them on older Pythons:
an empty package that is started so stands beside it.
"""

from __future__ import annotations

import re
import resource
import shutil
import time
from pathlib import Path
from typing import Callable

from rounds import Figures, Interpreter, Options, best_of, run, scratch
from tables import Check, Outcome, heads, note, number, row, title, verdict_row

EMPTY = "empty_package"
NAMES = {"plain": "python -c pass", "floor": "python -m empty", "run": "allranks run", "module": "python -m allranks"}
STRACE = ["strace", "-f", "-qq", "-e", "trace=openat,open", "-o", "opens.txt"]


def commands(interpreter: Interpreter) -> dict[str, list[str]]:
    """The floor is what any tool costs that is started by -m."""
    program = ["-o", "run.allranks", "-c", "pass"]
    return {
        "plain": [interpreter.python, "-c", "pass"],
        "floor": [interpreter.python, "-m", EMPTY],
        "run": interpreter.allranks_run(*program),
        "module": interpreter.allranks(*program),
    }


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_of(command: list[str], directory: str) -> Callable[[], Figures]:
    def measure() -> Figures:
        wall, processor = time.perf_counter(), processor_seconds()
        run(command, directory)
        return {
            "ms": (time.perf_counter() - wall) * 1000,
            "processor_ms": (processor_seconds() - processor) * 1000,
        }

    return measure


def opens_of(command: list[str], directory: str) -> Figures:
    """How many opens succeeded and how many failed; nothing without strace."""
    if not shutil.which("strace"):
        return {}
    run([*STRACE, *command], directory)
    with open(f"{directory}/opens.txt") as trace:
        results = re.findall(r"\) += (-?\d+)", trace.read())
    n_failing = sum(result.startswith("-") for result in results)
    return {"opens": len(results) - n_failing, "failing_opens": n_failing}


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    n_rounds = 5 if options.quick else options.n_rounds(30)
    with scratch() as directory:
        for name in ("__init__.py", "__main__.py"):
            Path(directory, EMPTY).mkdir(exist_ok=True)
            Path(directory, EMPTY, name).touch()
        found = commands(interpreter)
        modes = {mode: time_of(command, directory) for mode, command in found.items()}
        best = best_of(modes, n_rounds, f"{interpreter.name} start-up")
        for mode, command in found.items():
            best[mode].update(opens_of(command, directory))
    verdicts = checks(best, "processor_ms" if options.processor_time else "ms")
    show(f"Python {interpreter.name}: start-up", best, verdicts)
    return Outcome({"modes": best}, verdicts)


def checks(best: dict[str, Figures], clock: str) -> list[Check]:
    found = []
    for mode in ("run", "module"):
        more_ms = best[mode][clock] - best["plain"][clock]
        found += [
            Check(f"{NAMES[mode]}, {clock} more", more_ms, 15, ".1f"),
            Check(f"{NAMES[mode]}, more opens", more_opens(best, mode), 10, ".0f"),
        ]
    return found


def more_opens(best: dict[str, Figures], mode: str) -> float | None:
    if "opens" not in best["plain"]:
        return None
    return sum(best[mode][kind] - best["plain"][kind] for kind in ("opens", "failing_opens"))


def show(heading: str, best: dict[str, Figures], found: list[Check]) -> None:
    title(heading)
    heads("ms", "processor|ms", "opens", "failing|opens")
    for mode, figures in best.items():
        times = [number(figures[kind]) for kind in ("ms", "processor_ms")]
        opens = [number(figures.get(kind), ".0f") for kind in ("opens", "failing_opens")]
        row(NAMES[mode], [*times, *opens])
    if "opens" not in best["plain"]:
        note("no strace: opens are not counted")
    for check in found:
        verdict_row(check)
