# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to find out who waited for whom: a million synchronising operations of 64 ranks, and the report of a run of 10,240
ranks with waits. Both are synthetic (synthetic.c), and must find the waits that were put in.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from measure_scale import MIB, figures_of, generate
from rounds import Failed, Figures, Interpreter, Options, best_of, environment, scratch
from tables import Check, Outcome, heads, number, row, title, verdict_row

MANY = {"ranks": 64, "nodes": 200, "waits": 1_000_000}
WIDE = {"ranks": 10240, "nodes": 5000, "share": 1 / 3, "waits": 500}
TWICE = {**WIDE, "waits": 1000}  # no limit is for that: how it goes on


def make(target: Path, size: dict[str, float]) -> str:
    return str(generate("run", target, size, "--mpi"))


def check_found(allranks: str, run: str) -> None:
    """That nothing is left open, and ranks waited: a fast answer may be a wrong one."""
    answer = subprocess.run([allranks, "waits", "--json=1", run], capture_output=True, env=environment())
    if answer.returncode:
        raise Failed(answer.stderr.decode().strip())
    found = json.loads(answer.stdout)
    if found["unresolved"] or not found["waited_ns"] or not found["resolved"]:
        raise Failed(f"{run}: {found['unresolved']} of {found['operations']} calls are not resolved")


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    allranks = str(Path(interpreter.python).with_name("allranks"))
    many = {**MANY, "waits": 20_000} if options.quick else MANY
    wide, twice = ({**size, "ranks": 512} if options.quick else size for size in (WIDE, TWICE))
    with scratch() as directory:
        runs = {
            "waits": make(Path(directory, "many.allranks"), many),
            "report": make(Path(directory, "wide.allranks"), wide),
            "twice": make(Path(directory, "twice.allranks"), twice),
        }
        check_found(allranks, runs["waits"])
        modes = {
            "waits, 64 ranks": lambda: figures_of([allranks, "waits", runs["waits"]], options),
            "report, 10,240 ranks": lambda: figures_of([allranks, "report", runs["report"]], options),
            "the same, twice as many": lambda: figures_of([allranks, "report", runs["twice"]], options),
        }
        best = best_of(modes, options.n_rounds(3), f"{interpreter.name} waits")
        for name, run in zip(modes, runs.values()):
            best[name]["file"] = float(Path(run).stat().st_size)
    found = checks(best, options)
    show(f"Python {interpreter.name}: waits", best, found)
    return Outcome({"modes": best, "many": many, "wide": wide}, found)


def checks(best: dict[str, Figures], options: Options) -> list[Check]:
    if options.quick:  # of less, which no limit is for
        return []
    many, wide = best["waits, 64 ranks"], best["report, 10,240 ranks"]
    return [
        Check("waits of a million x 64, s", many["s"], 10),
        Check("waits of a million x 64, MiB", many["bytes"] / MIB, 1024, ".0f"),
        Check("report of 10,240 with waits, s", wide["s"], 5),
    ]


def show(heading: str, best: dict[str, Figures], found: list[Check]) -> None:
    title(heading)
    heads("seconds", "resident|MiB", "file|MiB")
    for name, figures in best.items():
        row(name, [number(figures["s"], ".3f"), number(figures["bytes"] / MIB), number(figures["file"] / MIB, ".2f")])
    for check in found:
        verdict_row(check)
