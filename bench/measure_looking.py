# SPDX-License-Identifier: BSD-3-Clause
"""What it costs a program to be looked at while it runs: its own processor time, with `allranks top --once` reading its live
file on another processor, ten times a second and without a pause.

The program calls five hundred small functions in turn, so that what is read is what it writes all the time. It measures rounds of
some milliseconds, of which the median counts: without a pause most of them are looked at. A reader keeps caches and memory busy
whatever it reads: beside it there is one that reads as much of a file that nobody writes (`elsewhere`), and what looking
costs is the difference to that. Instructions are counted where the machine can (perf).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

from rounds import BENCH, Failed, Figures, Interpreter, Options, best_of, environment, run, scratch
from tables import Check, Outcome, heads, number, row, title, verdict_row

PROGRAM = [str(BENCH / "calls.py"), "--again", "wide_tree", "--slices"]
PAUSES_S = {"10 a second": 0.1, "no pause": 0.0, "elsewhere": 0.0}
PERF = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", "perf.txt"]


def processors() -> tuple[set[int], set[int]]:
    """One for the program and one for the reader; the same where there is but one."""
    usable = sorted(os.sched_getaffinity(0))
    return {usable[0]}, {usable[-1]}


def counts_instructions() -> bool:
    if not shutil.which("perf"):
        return False
    done = subprocess.run([*PERF[:-2], "true"], capture_output=True, text=True)
    return done.returncode == 0 and re.search(r"^\d+,", done.stderr, re.MULTILINE) is not None


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
    left = leave_a_file(interpreter, directory)
    live = Path(directory, "live")
    perf = PERF if counts_instructions() else []
    command = [*perf, *interpreter.allranks("--live-dir", str(live)), *PROGRAM, str(n_slices)]

    def measure(pause_s: float | None, what: Path, looks: list[int]) -> Figures:
        with contextlib.ExitStack() as stack:
            if pause_s is not None:
                stack.enter_context(reader(interpreter, what, pause_s, looks))
            figures = figures_of(command, directory)
        if perf:
            counted = re.search(r"^(\d+),", Path(directory, "perf.txt").read_text(), re.MULTILINE)
            figures["instructions"] = float(counted[1]) if counted else 0.0
        return figures

    modes: dict[str, Callable[[], Figures]] = {"alone": lambda: measure(None, live, [0])}
    for name, pause_s in PAUSES_S.items():
        what, looks = left if name == "elsewhere" else live, n_looks.setdefault(name, [0])
        modes[name] = lambda pause_s=pause_s, what=what, looks=looks: measure(pause_s, what, looks)
    return modes


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    n_looks: dict[str, list[int]] = {}
    n_rounds = options.n_rounds(10)
    with scratch() as directory:
        modes = modes_for(interpreter, directory, 300 if options.quick else 2000, n_looks)
        best = best_of(modes, n_rounds, f"{interpreter.name} looking")
    for name, looks in n_looks.items():
        best[name]["looks"] = looks[0] / n_rounds
    found = checks(best)
    show(f"Python {interpreter.name}: being looked at", best, found)
    return Outcome({"modes": best}, found)


def checks(best: dict[str, Figures]) -> list[Check]:
    def ratio(mode: str, to: str, kind: str) -> float:
        return best[mode][kind] / best[to][kind]

    return [
        Check("looked at 10 times a second", ratio("10 a second", "alone", "median_ns"), 1.01, ".3f"),
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
