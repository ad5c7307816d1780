# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of windows of a trace: 5 million events on 256 ranks, and 100 million on 4. Runs are synthetic (synthetic.c).

What is measured is opening the run, which is read from the page cache, and a picture of 1,000 columns of all ranks: of all of the run, of a
tenth, and of a millisecond, at several places each; in processor time of the thread that draws (trace_windows.c). Of several hosts opening reads all messages, to correct clocks: no limit is for that.
"""

from __future__ import annotations

from pathlib import Path

from measure_scale import generate
from rounds import Interpreter, Options, compiled, run, scratch
from tables import Check, Outcome, heads, number, row, title, verdict_row

RUNS = {
    "5 M, 256 ranks": {"ranks": 256, "nodes": 200, "events": 5_000_000, "per-host": 256},
    "the same, 2 hosts": {"ranks": 256, "nodes": 200, "events": 5_000_000, "per-host": 128},
    "100 M, 4 ranks": {"ranks": 4, "nodes": 200, "events": 100_000_000},
}
PARTS = ("base", "format", "analysis/traces.c", "analysis/trace_clock.c", "analysis/trace_matches.c",
         "analysis/mpi_class.c", "analysis/trace_window.c")  # fmt: skip
COLUMNS = 1000
LIMIT_MS = 100  # for opening and a picture of all of it
Figures = dict[str, float]


def drawn(run_file: str, options: Options) -> Figures:
    """Milliseconds by what was drawn, the longest of them, and what was read for it."""
    program = compiled("trace_windows", *PARTS)
    found: Figures = {}
    for line in run([program, run_file, str(COLUMNS), str(options.n_rounds(10))], "/").splitlines():
        name, *values = line.split()
        if name == "span":
            found["bins of events"] = (float(values[2]) - float(values[1])) / float(values[1])
            continue
        found[name], found[f"{name}, longest"] = float(values[0]) / 1e6, float(values[1]) / 1e6
        found[f"{name}, events"], found[f"{name}, bins"] = float(values[2]), float(values[3])
    return found


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    allranks = str(Path(interpreter.python).with_name("allranks"))
    modes: dict[str, Figures] = {}
    for name, size in RUNS.items():
        with scratch() as directory:
            size = {**size, "events": size["events"] // 20} if options.quick else size
            live = generate("live", Path(directory, "live"), size, "--mpi")
            run([allranks, "merge", str(live), "-o", "run.allranks"], directory)
            modes[name] = drawn(str(Path(directory, "run.allranks")), options)
    found = checks(modes, options)
    show(f"Python {interpreter.name}: windows of traces", modes, found)
    return Outcome({"modes": modes, "runs": RUNS}, found)


def checks(modes: dict[str, Figures], options: Options) -> list[Check]:
    if options.quick:  # of less, which no limit is for
        return []
    return [Check(f"{name}: open and draw all, ms", each["open"] + each["all"], LIMIT_MS) for name, each in modes.items() if "hosts" not in name]


def show(heading: str, modes: dict[str, Figures], found: list[Check]) -> None:
    title(f"{heading}, ms of a processor for {COLUMNS} columns of all ranks")
    heads("open", "all", "tenth", "1 ms", "|longest", "bins, %|of events")
    for name, each in modes.items():
        values = [number(each[what]) for what in ("open", "all", "tenth", "ms", "ms, longest")]
        row(name, [*values, number(100 * each["bins of events"])])
    for check in found:
        verdict_row(check)
