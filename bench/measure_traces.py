# SPDX-License-Identifier: BSD-3-Clause
"""What a trace costs beyond the profile, per event and in bytes, beside viztracer on the same program; and what exporting one takes."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from measure_mpi import on_two_ranks, with_mpi4py
from rounds import (
    BENCH,
    ROOT,
    Failed,
    Figures,
    Interpreter,
    Options,
    best_of,
    environment,
    figures_of,
    install,
    run,
    scratch,
)
from tables import Check, Outcome, heads, note, number, row, title

PROGRAM = str(BENCH / "traced.py")
REQUIREMENTS = ROOT / "tools/requirements-traces.txt"
N_CALLS = 2_000_000
N_CALLS_VIZTRACER = 200_000
N_MESSAGES = 20_000
MOST_MESSAGE_BYTES = 6.5  # of a program that does nothing but MPI
MESSAGES = ("ping_pong", "requests")
FORMATS = ("otf2", "perfetto")


def viztracer(interpreter: Interpreter, output: str, *options: str) -> list[str]:
    """As its users call it, with room for all events, and without its message."""
    site = install(interpreter, REQUIREMENTS, "traces")
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from viztracer.main import main; sys.exit(main())"
    return [interpreter.python, "-c", code, "--quiet", "--tracer_entries", "4000000", "-o", output, *options, "--"]


def times(interpreter: Interpreter, options: Options) -> dict[str, Figures]:
    with scratch() as directory:
        modes = {
            "plain": figures_of([interpreter.python, PROGRAM], directory),
            "profile": figures_of([*interpreter.allranks(), PROGRAM], directory),
            "trace": figures_of([*interpreter.allranks("--trace"), PROGRAM], directory),
            "viztracer": figures_of([*viztracer(interpreter, "v.json"), PROGRAM], directory),
        }
        return best_of(modes, options.n_rounds(5), f"{interpreter.name} traces")


def n_bytes(command: list[str], output: str, directory: str, n_calls: int) -> float:
    """Per event; a call is two, and the run's other data are a few kilobytes."""
    run([*command, PROGRAM, str(n_calls)], directory)
    return os.path.getsize(Path(directory) / output) / (2 * 3 * n_calls)


def sizes(interpreter: Interpreter) -> Figures:
    with scratch() as directory:
        return {
            "trace": n_bytes(interpreter.allranks("--trace", "-o", "t.allranks"), "t.allranks", directory, N_CALLS),
            "viztracer": n_bytes(viztracer(interpreter, "v.json"), "v.json", directory, N_CALLS_VIZTRACER),
        }


def message_size(interpreter: Interpreter, way: str) -> float:
    """What the trace adds to the file, per event of a program that does nothing but MPI: calls and messages alike."""
    with scratch() as directory:
        size = {}
        for name, options in (("profile", ()), ("trace", ("--trace",))):
            words = [*interpreter.allranks(*options, "-o", f"{name}.allranks"), str(BENCH / "traced_messages.py"), way, str(N_MESSAGES)]
            run(on_two_ranks(with_mpi4py(interpreter, words)), directory)
            size[name] = os.path.getsize(Path(directory) / f"{name}.allranks")
        command = [str(Path(interpreter.python).with_name("allranks")), "info", "trace.allranks"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment())
        events = re.search(r"^trace +.*?([\d,]+) events", done.stdout, re.MULTILINE)
        if not events:
            raise Failed(f"info says of no trace: {done.stderr}")
        return (size["trace"] - size["profile"]) / int(events[1].replace(",", ""))


def message_sizes(interpreter: Interpreter) -> Figures:
    """Where mpi4py and a launcher are here."""
    try:
        return {way: message_size(interpreter, way) for way in MESSAGES}
    except (Failed, OSError) as failure:
        note(f"messages: not measured: {failure}")
        return {}


def exports(interpreter: Interpreter) -> Figures:
    """Millions of events per second of each format that there is here."""
    found: Figures = {}
    command = str(Path(interpreter.python).with_name("allranks"))
    with scratch() as directory:
        run([*interpreter.allranks("--trace", "-o", "t.allranks"), PROGRAM, str(N_CALLS)], directory)
        for name in FORMATS:
            begin = time.perf_counter()
            done = subprocess.run(
                [command, "export", "t.allranks", "-f", name, "-o", f"t.{name}"],
                capture_output=True, text=True, cwd=directory, env=environment(),
            )  # fmt: skip
            if done.returncode == 0:
                found[name] = 2 * 3 * N_CALLS / 1e6 / (time.perf_counter() - begin)
            else:
                note(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return found


def show(interpreter: Interpreter, best: dict[str, Figures], size: Figures, speed: Figures) -> None:
    title(f"Python {interpreter.name}: traces, ns per event beyond the program itself")
    heads("profile", "trace|more", "viztracer")
    for way, plain in best["plain"].items():
        profile, trace, other = (best[mode][way] - plain for mode in ("profile", "trace", "viztracer"))
        row(way, [number(profile / 2), number((trace - profile) / 2), number(other / 2)])
    title("bytes per event")
    for tool, each in size.items():
        note(f"{tool:20}{number(each, '.2f')}")
    title("exported, million events per second")
    for name, each in speed.items():
        note(f"{name:20}{number(each, '.2f')}")


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    best, size, speed = times(interpreter, options), {**sizes(interpreter), **message_sizes(interpreter)}, exports(interpreter)
    show(interpreter, best, size, speed)
    more = max((best["trace"][way] - best["profile"][way]) / 2 for way in best["plain"])
    checks = [
        Check("a trace: ns more per event than the profile", more, 10, ".1f"),
        Check("a trace: bytes per event", size["trace"], 4),
        *(Check(f"a trace of {way}: bytes per event", size[way], MOST_MESSAGE_BYTES) for way in MESSAGES if way in size),
    ]
    return Outcome({"ns_per_call": best, "bytes_per_event": size, "export_events_per_us": speed}, checks)
