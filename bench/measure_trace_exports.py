# SPDX-License-Identifier: BSD-3-Clause
"""Exporting a trace: bytes per event, events per second of processor time, and the memory that it takes."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

from rounds import BENCH, Figures, Interpreter, Options, environment, run, scratch
from tables import Check, Outcome, heads, note, number, row, title

PROGRAM = str(BENCH / "traced.py")
N_CALLS = 500_000
N_EVENTS = 2 * 3 * N_CALLS  # three ways of calling, and a call is two
FORMATS = ("otf2", "perfetto", "chrome", "speedscope")


def has_otf2(command: str, directory: str) -> bool:
    """Its library may be missing."""
    words = [command, "export", "t.allranks", "-q", "-f", "otf2", "-o", "t.otf2"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=directory, env=environment())
    if done.returncode:
        note(f"otf2: {done.stderr.strip()}")
    return done.returncode == 0


def size_of(path: Path) -> int:
    """An archive is a directory."""
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) if path.is_dir() else path.stat().st_size


def export(command: str, name: str, directory: str) -> tuple[float, int]:
    """Seconds of processor time, and bytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = Path(directory) / f"t.{name}"
    subprocess.run(
        [command, "export", "t.allranks", "-q", "-f", name, "-o", str(output)],
        check=True, cwd=directory, env=environment(),
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, size_of(output)


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    command = str(Path(interpreter.python).with_name("allranks"))
    speeds: Figures = {}
    sizes: Figures = {}
    with scratch() as directory:
        run([*interpreter.allranks("--trace", "-o", "t.allranks"), PROGRAM, str(N_CALLS)], directory)
        formats = FORMATS if has_otf2(command, directory) else FORMATS[1:]
        for name in formats:
            rounds = [export(command, name, directory) for _ in range(options.n_rounds(3))]
            speeds[name] = N_EVENTS / 1e6 / min(seconds for seconds, _ in rounds)
            sizes[name] = rounds[0][1] / N_EVENTS
    memory_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    title(f"Python {interpreter.name}: exporting a trace of {N_EVENTS / 1e6:.0f} million events")
    heads("million/s", "bytes/event")
    for name in formats:
        row(name, [number(speeds[name]), number(sizes[name])])
    checks = [
        Check("perfetto: bytes per event", sizes["perfetto"], 20, ".1f"),
        Check("MiB of memory of the largest process", memory_mib, 256, ".0f"),
    ]
    return Outcome({"million_events_per_s": speeds, "bytes_per_event": sizes}, checks)
