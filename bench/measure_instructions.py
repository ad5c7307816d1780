# SPDX-License-Identifier: BSD-3-Clause
"""Instructions added to a call, counted by valgrind: slow, but the same on a busy machine.

One process runs all workloads, another runs one of them ten times more: what that executes beyond the first is divided by its
calls. Instructions are not time: reading the clock is one of them, and so is one that misses the cache.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import measure_calls
from rounds import Failed, Figures, Interpreter, Options, environment, progress, scratch
from tables import Outcome, heads, note, number, row, title

N_AGAIN = 10
COUNTER = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=count.txt"]


def count(command: list[str], directory: str) -> tuple[float, Figures]:
    """Instructions of the process, and the calls that each workload makes in a round."""
    done = subprocess.run(
        [*COUNTER, *command], capture_output=True, text=True, cwd=directory, env=environment()
    )
    with open(f"{directory}/count.txt") as log:
        found = re.search(r"Collected\s*:\s*(\d+)", log.read())
    if done.returncode != 0 or not found:
        raise Failed(f"valgrind: {done.stderr.strip().splitlines()[-1:]}")
    return float(found[1]), json.loads(done.stdout)


def per_call(command: list[str], directory: str, what: str) -> Figures:
    """Workload to instructions a call."""
    progress(f"{what}: all workloads")
    base, n_calls = count([*command, "--again", "recursion"], directory)
    found = {}
    for name in n_calls:
        progress(f"{what}: {name}")
        total, _ = count([*command, "--again", name, "--n-again", str(N_AGAIN)], directory)
        found[name] = (total - base) / (N_AGAIN * n_calls[name])
    progress("")
    return found


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    del options  # once is enough
    heading = f"Python {interpreter.name}: instructions a call"
    if not shutil.which("valgrind"):
        title(heading)
        note("no valgrind: not available")
        return Outcome({}, [])
    with scratch() as directory:
        modes = measure_calls.commands(measure_calls.kind_of("python", interpreter), interpreter)
        counts = {m: per_call(c, directory, f"{interpreter.name} {m}") for m, c in modes.items()}
    show(heading, counts)
    return Outcome({"instructions_per_call": counts}, [])


def show(heading: str, counts: dict[str, Figures]) -> None:
    title(heading)
    heads("plain", "floor|adds", "allranks|adds", "cProfile|adds", "ratio")
    for name, plain in counts["plain"].items():
        adds = [counts[mode][name] - plain for mode in ("floor", "allranks", "cprofile")]
        row(name, [*(number(n, ".0f") for n in [plain, *adds]), number(adds[1] / adds[2], ".2f")])
