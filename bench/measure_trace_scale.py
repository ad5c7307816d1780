# SPDX-License-Identifier: BSD-3-Clause
"""100 million events on 4 ranks: bytes per event, what rank 0 needs to merge them, and what an event costs beyond the profile.

What is resident is counted from the moment before MPI_Finalize, with a trace and without: the difference of how much it grows until the
run is written. Times are processor seconds of the calls alone, since the ranks share this machine's processors.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Callable

from measure_finalize import launcher, variables
from measure_mpi import with_mpi4py
from rounds import BENCH, Failed, Figures, Interpreter, Options, best_of, environment, scratch
from tables import Check, Outcome, heads, note, number, row, title, verdict_row

PROGRAM = str(BENCH / "traced_ranks.py")
N_RANKS = 4
N_EVENTS, N_EVENTS_QUICK = 100_000_000, 4_000_000
MIB = 1 << 20
MOST_MIB, MOST_BYTES, MOST_NS = 64, 4, 10


def events_and_bytes(interpreter: Interpreter, directory: str) -> tuple[int, float]:
    """Of the run's trace; bytes are those that the file is larger than one without it."""
    command = [str(Path(interpreter.python).with_name("allranks")), "info", "traced_ranks.allranks"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment())
    found = re.search(r"^trace +.*?([\d,]+) events", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise Failed(f"info says of no trace: {(done.stderr or done.stdout).strip()[-1200:-300]}")
    return int(found[1].replace(",", "")), Path(directory, "traced_ranks.allranks").stat().st_size


def figures(interpreter: Interpreter, options: tuple[str, ...], n_calls: int, directory: str) -> Callable[[], Figures]:
    command = [*launcher("openmpi", N_RANKS), *with_mpi4py(interpreter, [*interpreter.allranks(*options), PROGRAM, str(n_calls)])]

    def measure() -> Figures:
        for old in Path(directory).glob("traced_ranks*"):
            old.unlink()
        env = variables("openmpi", directory)
        done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=env)
        made = Path(directory, "traced_ranks.json")
        if done.returncode or not made.exists():
            raise Failed((done.stderr.strip().splitlines() or ["the ranks failed"])[-1])
        found = {name: float(value) for name, value in json.loads(made.read_text()).items()}
        found["growth"] = found["peak"] - found["before"]
        size = Path(directory, "traced_ranks.allranks").stat().st_size
        if options:
            n_events, size = events_and_bytes(interpreter, directory)
            found["events"] = n_events
        return {**found, "size": float(size)}

    return measure


def checks(best: dict[str, Figures]) -> list[Check]:
    profile, trace = best["profile"], best["trace"]
    return [
        Check("traces of 4 ranks: bytes per event", (trace["size"] - profile["size"]) / trace["events"], MOST_BYTES, ".2f"),
        Check("traces of 4 ranks: rank 0 needs more to merge, MiB", (trace["growth"] - profile["growth"]) / MIB, MOST_MIB),
        Check("traces of 4 ranks: ns more per event", (trace["ns"] - profile["ns"]) / 2, MOST_NS),
    ]  # fmt: skip


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    n_calls = (N_EVENTS_QUICK if options.quick else N_EVENTS) // N_RANKS // 2
    with scratch() as directory:
        best = best_of(
            {
                "profile": figures(interpreter, (), n_calls, directory),
                "trace": figures(interpreter, ("--trace",), n_calls, directory),
            },
            options.n_rounds(2),
            f"{interpreter.name} traces of {N_RANKS} ranks",
        )
    found = checks(best)
    title(f"Python {interpreter.name}: a trace of {best['trace']['events'] / 1e6:.0f} million events on {N_RANKS} ranks")
    heads("ns|per call", "resident|MiB", "peak|MiB", "Finalize|s", "file|MB")
    for name, of in best.items():
        cells = [of["ns"], of["before"] / MIB, of["peak"] / MIB, of["finalize_s"], of["size"] / 1e6]
        row(name, [number(cell) for cell in cells])
    note(f"merged {best['trace']['size'] / 1e6 / best['trace']['finalize_s']:.0f} MB/s")
    for check in found:
        verdict_row(check)
    return Outcome({"modes": best}, found)
