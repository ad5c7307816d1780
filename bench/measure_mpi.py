# SPDX-License-Identifier: BSD-3-Clause
"""What is added to an MPI call: in C loops that call MPI_COMM_SELF, twelve Python functions deep, with caches warm and cold; and to
the processor time of a small solver on two ranks; and to a receive, which says what was done before it, in 1 and in 64 functions.

Beside it run a wrapper that only passes on and, where ALLRANKS_BENCH_PRELOADS names them (`mpiP=/path/libmpiP.so,IPM=/…`), other
tools for MPI. What is allowed is given in reads of the clock, measured in the same process: that is what a call cannot do without.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable

from rounds import (
    BENCH,
    BUILD,
    ROOT,
    Failed,
    Figures,
    Interpreter,
    Options,
    best_of,
    environment,
    figures_of,
    install,
    scratch,
)
from tables import Check, Outcome, heads, note, number, row, title, verdict_row

REQUIREMENTS = ROOT / "tools/requirements-demo.txt"
LIBRARIES = {"Open MPI": "openmpi", "MPICH": "mpich"}
CASES = {
    "allreduce": (1, 6),
    "sendrecv": (1, 6),
    "three": (3, 8),
}  # calls, and clock reads allowed for each
SOLVER = {"flat": 1.02, "calls": 1.05}
FUNCTIONS_NS = 1000  # for telling what 64 functions did


def build(mpi: str, source: str) -> str:
    """A shared library of one file; Failed where there is no such MPI."""
    compiler = shutil.which(f"mpicc.{mpi}")
    if not compiler:
        raise Failed(f"there is no mpicc.{mpi}")
    target = BUILD / f"{source}-{mpi}.so"
    BUILD.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-O2", "-fPIC", "-shared", str(BENCH / f"{source}.c"), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip().splitlines()[-1])
    return str(target)


def preloads(mpi: str) -> dict[str, str]:
    named = filter(None, os.environ.get("ALLRANKS_BENCH_PRELOADS", "").split(","))
    others = dict(each.split("=", 1) for each in named) if mpi == "openmpi" else {}
    return {"passes on": build(mpi, "mpi_pass"), **others}


def modes_of(
    interpreter: Interpreter, mpi: str, directory: str
) -> dict[str, Callable[[], Figures]]:
    program = [str(BENCH / "mpi.py"), build(mpi, "mpi_calls")]
    plain = [interpreter.python, *program]
    modes = {
        "plain": figures_of(plain, directory),
        "allranks": figures_of([*interpreter.allranks(), *program], directory),
    }
    for name, library in preloads(mpi).items():
        modes[name] = figures_of(["env", f"LD_PRELOAD={library}", *plain], directory)
    return modes


def added_ns(best: dict[str, Figures], mode: str, case: str) -> float:
    n_calls = CASES[case.removeprefix("cold ")][0]
    return (best[mode][case] - best["plain"][case]) / n_calls


def show_calls(interpreter: Interpreter, name: str, best: dict[str, Figures]) -> list[Check]:
    title(
        f"Python {interpreter.name}: {name}, ns added to an MPI call (a clock read: {best['plain']['clock']:.1f})"
    )
    heads("plain", *(f"{mode}|adds" for mode in best if mode != "plain"))
    checks = []
    for case, (n_calls, n_reads) in CASES.items():
        for shown in (case, f"cold {case}"):
            cells = [
                best["plain"][shown] / n_calls,
                *(added_ns(best, mode, shown) for mode in best if mode != "plain"),
            ]
            row(shown, [number(cell) for cell in cells])
        reads = added_ns(best, "allranks", case) / best["plain"]["clock"]
        checks.append(Check(f"{name} {case}, clock reads", reads, n_reads, ".1f"))
    return checks


def with_mpi4py(interpreter: Interpreter, words: list[str]) -> list[str]:
    return ["env", f"PYTHONPATH={install(interpreter, REQUIREMENTS, 'mpi')}", *words]


def both_ways(
    interpreter: Interpreter, directory: str, name: str, on: Callable[[list[str]], list[str]]
) -> dict[str, Callable[[], Figures]]:
    """A program that imports mpi4py, plain and recorded; `on` adds a launcher to the command."""
    program = str(BENCH / name)
    return {
        mode: figures_of(on(with_mpi4py(interpreter, [*words, program])), directory)
        for mode, words in (
            ("plain", [interpreter.python]),
            ("allranks", interpreter.allranks()),
        )
    }


def measure_methods(
    interpreter: Interpreter, options: Options, clock_ns: float, directory: str
) -> list[Check]:
    """The operation that a method of mpi4py is comes on top."""
    modes = both_ways(interpreter, directory, "mpi_methods.py", list)
    best = best_of(modes, options.n_rounds(5), f"{interpreter.name} mpi4py")
    title(f"Python {interpreter.name}: mpi4py, ns added to an MPI call")
    heads("plain", "allranks|adds")
    for case, (n_calls, _) in CASES.items():
        row(case, [number(best["plain"][case] / n_calls), number(added_ns(best, "allranks", case))])
    return [
        Check(
            f"mpi4py {case}, clock reads",
            added_ns(best, "allranks", case) / clock_ns,
            n_reads,
            ".1f",
        )
        for case, (_, n_reads) in CASES.items()
    ]


def on_two_ranks(words: list[str]) -> list[str]:
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpiexec", *root, "--oversubscribe", "-n", "2", *words]


def measure_functions(interpreter: Interpreter, options: Options, directory: str) -> list[Check]:
    modes = both_ways(interpreter, directory, "mpi_parts.py", on_two_ranks)
    best = best_of(modes, options.n_rounds(5), f"{interpreter.name} functions before a receive")
    title(f"Python {interpreter.name}: mpi4py, ns of a receive that was not waited for")
    heads("plain", "allranks|adds")
    added = {n: best["allranks"][n] - best["plain"][n] for n in ("1", "64")}
    for n, ns in added.items():
        row(f"after {n} function{'s'[: n != '1']}", [number(best["plain"][n]), number(ns)])
    return [Check("what 64 functions did, ns", added["64"] - added["1"], FUNCTIONS_NS, ".0f")]


def solver(
    interpreter: Interpreter, kind: str, recorded: bool, directory: str
) -> Callable[[], Figures]:
    words = [
        *(interpreter.allranks() if recorded else [interpreter.python]),
        str(BENCH / "halo.py"),
        kind,
    ]
    command = on_two_ranks(with_mpi4py(interpreter, words))

    def measure() -> Figures:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=directory, env=environment()
        )
        if done.returncode:
            raise Failed((done.stderr.strip().splitlines() or ["the solver failed"])[-1])
        return {
            kind: sum(
                json.loads(Path(directory, f"cpu-{rank}.json").read_text()) for rank in range(2)
            )
        }

    return measure


def measure_solver(interpreter: Interpreter, options: Options, directory: str) -> list[Check]:
    """The least of interleaved runs: a rank that waits for the other takes processor time, so all that disturbs either adds to it."""
    checks = []
    for kind, limit in SOLVER.items():
        modes = {
            name: solver(interpreter, kind, recorded, directory)
            for name, recorded in (("plain", False), ("allranks", True))
        }
        best = best_of(modes, options.n_rounds(9), f"{interpreter.name} solver, {kind}")
        ratio = best["allranks"][kind] / best["plain"][kind]
        checks.append(Check(f"solver, {kind}: processor time", ratio, limit, ".3f"))
    return checks


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    data: dict[str, dict[str, Figures]] = {}
    checks: list[Check] = []
    for name, mpi in LIBRARIES.items():
        with scratch() as directory:
            try:
                best = best_of(
                    modes_of(interpreter, mpi, directory),
                    options.n_rounds(5),
                    f"{interpreter.name} {name}",
                )
            except Failed as failure:
                note(f"{name}: not measured: {failure}")
                continue
        data[name] = best
        checks += show_calls(interpreter, name, best)
    with scratch() as directory:
        try:
            if data:
                clock_ns = next(iter(data.values()))["plain"]["clock"]
                checks += measure_methods(interpreter, options, clock_ns, directory)
            checks += measure_functions(interpreter, options, directory)
            checks += measure_solver(interpreter, options, directory)
        except Failed as failure:
            note(f"mpi4py: not measured: {failure}")
    for check in checks:
        verdict_row(check)
    return Outcome({"ns": data}, checks)
