# SPDX-License-Identifier: BSD-3-Clause
"""What it costs a program to be looked at while it runs: its own processor time, with `allranks top --once` reading its live
file on another processor, ten times a second and without a pause.

The program calls five hundred small functions in turn, so that what is read is what it writes all the time. It measures rounds of
some milliseconds. Ten times a second only few of them are looked at, which a median would not notice, and a mean differs by more
between two runs without any look (5 % on a shared machine): that row is shown, and what is judged is the median without a pause, where
most of them are looked at, a hundred times as often. A reader keeps caches and memory busy
whatever it reads: beside it there is one that reads as much of a file that no process writes (`elsewhere`), and what looking
costs is the difference to that. Instructions are counted by valgrind, with a reader that never pauses and without one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import measure_instructions
from rounds import (
    BENCH,
    Failed,
    Figures,
    Interpreter,
    Options,
    best_of,
    environment,
    progress,
    run,
    scratch,
)
from tables import Check, Outcome, heads, number, row, title, verdict_row

PROGRAM = [str(BENCH / "calls.py"), "--again", "wide_tree", "--slices"]
PAUSES_S = {"10 a second": 0.1, "no pause": 0.0, "elsewhere": 0.0}
N_SLICES_COUNTED = 20  # under valgrind


def processors() -> tuple[set[int], set[int]]:
    """One for the program and one for the reader; the same where there is but one."""
    usable = sorted(os.sched_getaffinity(0))
    return {usable[0]}, {usable[-1]}


@contextlib.contextmanager
def reader(interpreter: Interpreter, live: Path, pause_s: float, n_looks: list[int]) -> Iterator[None]:
    """Looks until it is left. Before there is a file, and after it has gone, there is nothing to see."""
    ended = threading.Event()
    command = [str(Path(interpreter.python).with_name("allranks")), "top", "--once", str(live)]
    _, other = processors()

    def look() -> None:
        while not ended.wait(pause_s):
            done = subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
                preexec_fn=lambda: os.sched_setaffinity(0, other),
            )  # fmt: skip
            n_looks[0] += done.returncode == 0

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def figures_of(command: list[str], directory: str) -> Figures:
    """What the program has measured itself, on a processor of its own."""
    own, _ = processors()
    done = subprocess.run(
        command, cwd=directory, env=environment(), capture_output=True, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, own),
    )  # fmt: skip
    if done.returncode != 0:
        raise Failed(f"{command[0]}: exit status {done.returncode}")
    figures: Figures = json.loads(done.stdout)
    return figures


def leave_a_file(interpreter: Interpreter, directory: str) -> Path:
    """A live file like the program's, of a process that has been killed."""
    left = Path(directory, "left")
    kill = "import os, runpy, sys; sys.argv[1:] = {words}; runpy.run_path({path!r}, run_name='__main__'); os._exit(0)"
    code = kill.format(path=PROGRAM[0], words=[*PROGRAM[1:], "1"])
    run(interpreter.allranks("--live-dir", str(left), "-c", code), directory)
    return left


def modes_for(
    interpreter: Interpreter, directory: str, n_slices: int, n_looks: dict[str, list[int]]
) -> dict[str, Callable[[], Figures]]:
    left, live = leave_a_file(interpreter, directory), Path(directory, "live")
    command = [*interpreter.allranks("--live-dir", str(live)), *PROGRAM, str(n_slices)]
    modes: dict[str, Callable[[], Figures]] = {"alone": lambda: figures_of(command, directory)}

    def looked_at(name: str) -> Callable[[], Figures]:
        what = left if name == "elsewhere" else live
        looks = n_looks.setdefault(name, [0])

        def measure() -> Figures:
            with reader(interpreter, what, PAUSES_S[name], looks):
                return figures_of(command, directory)

        return measure

    return {**modes, **{name: looked_at(name) for name in PAUSES_S}}


def count(interpreter: Interpreter, directory: str, looked_at: bool) -> float:
    """Functions in C are left out: when they are looked at is decided by the clock."""
    live = Path(directory, "live-counted")
    options = ["--builtins", "none", "--live-dir", str(live)]
    command = [*interpreter.allranks(*options), *PROGRAM, str(N_SLICES_COUNTED)]
    with contextlib.ExitStack() as stack:
        if looked_at:
            stack.enter_context(reader(interpreter, live, 0, [0]))
        return measure_instructions.count(command, directory)[0]


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    n_looks: dict[str, list[int]] = {}
    n_rounds = options.n_rounds(10)
    with scratch() as directory:
        modes = modes_for(interpreter, directory, 300 if options.quick else 2000, n_looks)
        best = best_of(modes, n_rounds, f"{interpreter.name} looking")
        if shutil.which("valgrind") and not options.quick:
            for mode in ("alone", "no pause"):
                progress(f"{interpreter.name} looking: instructions, {mode}")
                best[mode]["instructions"] = count(interpreter, directory, mode != "alone")
            progress("")
    for name, looks in n_looks.items():
        best[name]["looks"] = looks[0] / n_rounds
    found = checks(best)
    show(f"Python {interpreter.name}: being looked at", best, found)
    return Outcome({"modes": best}, found)


def checks(best: dict[str, Figures]) -> list[Check]:
    def ratio(mode: str, to: str, kind: str) -> float:
        return best[mode][kind] / best[to][kind]

    return [
        Check("looked at without a pause", ratio("no pause", "elsewhere", "median_ns"), 1.05, ".3f"),
    ]


def show(heading: str, best: dict[str, Figures], found: list[Check]) -> None:
    title(heading)
    heads("median|ns a call", "mean|ns a call", "looks", "instruc-|tions, M")
    for name, figures in best.items():
        instructions = figures.get("instructions")
        row(
            name,
            [
                number(figures["median_ns"]),
                number(figures["mean_ns"]),
                number(figures.get("looks"), ".0f"),
                number(instructions / 1e6 if instructions else None, ".0f"),
            ],
        )
    for check in found:
        verdict_row(check)
