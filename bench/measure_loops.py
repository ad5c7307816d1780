# SPDX-License-Identifier: BSD-3-Clause
"""How much slower code becomes that calls nothing: in processor time, and in instructions, which are the same on a busy machine.

Without a call there is nothing to record. Hooks slow such code down all the same where the interpreter leaves its fast paths
while one is set. Whether it is set is a matter of luck in a few rounds, so the median of them counts.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

from rounds import (
    BENCH,
    Failed,
    Figures,
    Interpreter,
    Options,
    best_of,
    environment,
    figures_of,
    median,
    progress,
    scratch,
)
from tables import Check, Outcome, heads, note, number, row, title, verdict_row

PROGRAM = str(BENCH / "loops.py")
N_COUNTED = 20_000  # iterations; valgrind takes fifty times as long
# callgrind writes a file of what it has counted since the last one: numbered, and one at the end.
COUNTER = ["valgrind", "--tool=callgrind", "--dump-before=getpgid", "--callgrind-out-file=counts", "--log-file=log"]
MOST_SECONDS = 1.03
MOST_INSTRUCTIONS = 1.02
Modes = dict[str, Figures]


def commands(interpreter: Interpreter) -> dict[str, list[str]]:
    return {
        "plain": [interpreter.python, PROGRAM],
        "allranks": [*interpreter.allranks(), PROGRAM],
        "none": [*interpreter.allranks("--builtins=none"), PROGRAM],
    }


def count(command: list[str]) -> Figures:
    """Loop to instructions per iteration."""
    with scratch() as directory:
        words = [*COUNTER, *command, "--count", "--n", str(N_COUNTED)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=directory, env=environment())
        if done.returncode != 0:
            raise Failed(f"valgrind: {done.stderr.strip().splitlines()[-1:]}")
        names = json.loads(done.stdout)
        return {name: counted(Path(directory, f"counts.{i}")) / N_COUNTED for i, name in enumerate(names, 2)}


def counted(path: Path) -> float:
    found = re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
    if not found:
        raise Failed("valgrind counted nothing")
    return float(found[1])


def instructions(interpreter: Interpreter) -> Modes:
    if not shutil.which("valgrind"):
        return {}
    counts = {}
    for mode, command in commands(interpreter).items():
        progress(f"{interpreter.name} loops: instructions, {mode}")
        counts[mode] = count(command)
    progress("")
    return counts


def ratios(figures: Modes, mode: str) -> Figures:
    if not figures:
        return {}
    return {name: figures[mode][name] / plain for name, plain in figures["plain"].items()}


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    with scratch() as directory:
        modes = {mode: figures_of(command, directory) for mode, command in commands(interpreter).items()}
        best = best_of(modes, options.n_rounds(5), f"{interpreter.name} loops", median)
    counts = instructions(interpreter)
    found = checks(best, counts)
    show(f"Python {interpreter.name}: code that calls nothing, x plain", best, counts, found)
    return Outcome({"ns_per_iteration": best, "instructions_per_iteration": counts}, found)


def checks(best: Modes, counts: Modes) -> list[Check]:
    found = []
    for mode, name in (("allranks", "no calls"), ("none", "no calls, no builtins")):
        found.append(Check(f"{name}, x time", max(ratios(best, mode).values()), MOST_SECONDS))
        worst = max(ratios(counts, mode).values(), default=None)
        found.append(Check(f"{name}, x instr.", worst, MOST_INSTRUCTIONS))
    return found


def show(heading: str, best: Modes, counts: Modes, found: list[Check]) -> None:
    title(heading)
    heads("ns|plain", "time|allranks", "builtins|none", "instr.|plain", "instr.|allranks", "builtins|none")
    for name, plain in best["plain"].items():
        cells = [number(plain)]
        cells += [number(ratios(best, mode)[name], ".2f") for mode in ("allranks", "none")]
        cells.append(number(counts.get("plain", {}).get(name), ".0f"))
        cells += [number(ratios(counts, mode).get(name), ".2f") for mode in ("allranks", "none")]
        row(name, cells)
    if not counts:
        note("no valgrind: instructions are not available")
    for check in found:
        verdict_row(check)
