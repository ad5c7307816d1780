# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to start: milliseconds and opened files beyond those of `python -c pass`."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Callable, Optional

from rounds import Figures, Interpreter, Options, best_of, run, scratch
from tables import Check, Outcome, note, number, row, title, verdict_row

EMPTY = "empty_module"  # run by -m, it costs what any tool costs that is started so
STRACE = ["strace", "-f", "-qq", "-e", "trace=openat,open", "-o", "opens.txt"]


Opens = dict[str, Optional[dict[str, int]]]


def commands(interpreter: Interpreter) -> dict[str, list[str]]:
    return {
        "plain": [interpreter.python, "-c", "pass"],
        "floor": [interpreter.python, "-m", EMPTY],
        "allranks": [*interpreter.allranks("-o", "run.allranks"), "-c", "pass"],
    }


def time_of(command: list[str], directory: str) -> Callable[[], Figures]:
    def measure() -> Figures:
        start = time.perf_counter()
        run(command, directory)
        return {"ms": (time.perf_counter() - start) * 1000}

    return measure


def opens_of(command: list[str], directory: str) -> dict[str, int] | None:
    """How many opens succeeded and how many failed; None without strace."""
    if not shutil.which("strace"):
        return None
    run([*STRACE, *command], directory)
    with open(f"{directory}/opens.txt") as trace:
        results = re.findall(r"= (-?\d+)", trace.read())
    n_failing = sum(result.startswith("-") for result in results)
    return {"succeeding": len(results) - n_failing, "failing": n_failing}


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    with scratch() as directory:
        Path(directory, EMPTY + ".py").touch()
        found = commands(interpreter)
        modes = {mode: time_of(command, directory) for mode, command in found.items()}
        best = best_of(
            modes, 5 if options.quick else options.n_rounds(30), f"{interpreter.name} start-up"
        )
        opens = {mode: opens_of(command, directory) for mode, command in found.items()}
    ms = {mode: figures["ms"] for mode, figures in best.items()}
    verdicts = checks(ms, opens)
    show(f"Python {interpreter.name}: start-up", ms, opens, verdicts)
    return Outcome({"ms": ms, "opens": opens}, verdicts)


def more_opens(opens: Opens) -> float | None:
    totals = [sum(of_mode.values()) for of_mode in (opens["plain"], opens["allranks"]) if of_mode]
    return totals[1] - totals[0] if len(totals) == 2 else None


def checks(ms: Figures, opens: Opens) -> list[Check]:
    return [
        Check("start-up, ms more", ms["allranks"] - ms["plain"], 15, ".1f"),
        Check("start-up, more file opens", more_opens(opens), 10, ".0f"),
    ]


def show(heading: str, ms: Figures, opens: Opens, found: list[Check]) -> None:
    title(heading)
    row("", ["ms", "opens", "opens failing"])
    for mode, figure in ms.items():
        counts = opens[mode] or {}
        row(
            mode,
            [
                number(figure),
                *(number(counts.get(kind), "d") for kind in ("succeeding", "failing")),
            ],
        )
    if not all(opens.values()):
        note("no strace: opens are not counted")
    for check in found:
        verdict_row(check)
