# SPDX-License-Identifier: BSD-3-Clause
"""How much processor time ordinary programs take more: whole processes, their children included, and what allranks itself
states beside it.

pip puts the programs' libraries into build/bench, once per interpreter. Numerical codes that only Debian has are run by Debian's
Python, if it is of the same version. Modes take turns; of each the least is kept.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Callable, NamedTuple

import floors
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
    geometric_mean,
    install,
    run,
    scratch,
)
from tables import Check, Outcome, note, number, title, verdict_row

PROGRAM = str(BENCH / "programs.py")
REQUIREMENTS = ROOT / "tools/requirements-programs.txt"
ORDINARY = ("pytest", "pool", "asyncio", "pandas", "sklearn", "networkx", "sympy", "text", "scipy", "docutils")
NUMERICAL = ("petsc", "fft", "gpaw", "dolfinx")
DEBIAN_PYTHON = "/usr/bin/python3"
PETSC = "petscdir/petsc*/*-real/lib/python3/dist-packages"  # below /usr/lib, where Debian has it
MODES = ("floor", "none", "allranks", "pyspy", "pyinstrument", "cprofile")
FLOOR_MARGIN = 0.03
# A tool that is lost (py-spy now and then, on 3.13) does not come back.
PATIENCE_S = 120
# Libraries that start threads of their own would measure how many of them find a processor.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Program(NamedTuple):
    name: str
    python: str
    modules: str  # PYTHONPATH
    allranks: str

    def environment(self) -> dict[str, str]:
        return {**environment(), **ONE_THREAD, "PYTHONPATH": self.modules}


def allranks_alone(interpreter: Interpreter) -> Path:
    """A directory for PYTHONPATH: beside allranks, the interpreter's own may have another NumPy than Debian's."""
    code = "import allranks, os; print(os.path.dirname(allranks.__file__))"
    link = BUILD / f"allranks-{interpreter.name}/allranks"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(run([interpreter.python, "-c", code], "/").strip())
    return link.parent


def programs(interpreter: Interpreter, site: Path) -> list[Program]:
    allranks = str(Path(interpreter.python).with_name("allranks"))
    found = [Program(name, interpreter.python, str(site), allranks) for name in ORDINARY]
    debian = subprocess.run([DEBIAN_PYTHON, "-V"], capture_output=True, text=True)
    if debian.returncode == 0 and debian.stdout.split()[1].split(".")[:2] == interpreter.name.split(".")[:2]:
        modules = [str(allranks_alone(interpreter)), *map(str, Path("/usr/lib").glob(PETSC))]
        found += [Program(name, DEBIAN_PYTHON, os.pathsep.join(modules), allranks) for name in NUMERICAL]
    return found


def commands(program: Program, interpreter: Interpreter, site: Path) -> dict[str, list[str]]:
    python, script = program.python, [PROGRAM, program.name]
    recorder = [program.allranks, "run"] if program.name in ORDINARY else [python, "-m", "allranks"]
    allranks = [*recorder, "-q", "-o", "run.allranks"]
    modes = {
        "plain": [python, *script],
        "floor": [python, str(BENCH / "run_floor.py"), str(floors.build(interpreter)), *script],
        "none": [*allranks, "--builtins", "none", *script],
        "allranks": [*allranks, *script],
        "cprofile": [python, "-m", "cProfile", "-o", "cprofile.out", *script],
    }
    if program.name in ORDINARY:
        modes["pyspy"] = [str(site / "bin/py-spy"), "record", "-f", "raw", "-o", "pyspy.out", "--", python, *script]
        modes["pyinstrument"] = [python, "-m", "pyinstrument", "-o", "pyinstrument.out", *script]
    return modes


def processor_seconds(command: list[str], program: Program, directory: str) -> Callable[[], Figures]:
    """Of the process and of the children that it has waited for."""

    def measure() -> Figures:
        Path(directory, "run.allranks").unlink(missing_ok=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=directory, env=program.environment(), timeout=PATIENCE_S
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"not done after {PATIENCE_S} s") from error
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise Failed((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
        return {"s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, **stated(program.allranks, directory)}

    return measure


def stated(allranks: str, directory: str) -> Figures:
    """What allranks says of the run that was just written; nothing if there is none."""
    path = Path(directory, "run.allranks")
    if not path.exists():
        return {}
    told = json.loads(run([allranks, "info", "--json=1", str(path)], directory))
    parts = {f"stated_{part}_s": ns / 1e9 for part, ns in told["overheads_ns"].items()}
    return {"stated_s": told["overhead_ns"] / 1e9, **parts}


def seconds_of(program: Program, interpreter: Interpreter, site: Path, options: Options) -> dict[str, Figures]:
    """Mode to figures; a tool that cannot run the program, or is not there, is left out."""
    with scratch() as directory:
        modes = {}
        for mode, command in commands(program, interpreter, site).items():
            measure = processor_seconds(command, program, directory)
            modes[mode] = measure if mode in ("plain", "allranks") else forgiving(measure)
        modes["plain"]()  # some compile what they need at their first run
        best = best_of(modes, options.n_rounds(5), f"{interpreter.name} {program.name}")
        return {mode: figures for mode, figures in best.items() if figures}


def forgiving(measure: Callable[[], Figures]) -> Callable[[], Figures]:
    """Of a tool that is not there, or that fails now and then: the rounds in which it worked."""

    def measure_if_it_works() -> Figures:
        try:
            return measure()
        except (Failed, FileNotFoundError):
            return {}

    return measure_if_it_works


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    found: dict[str, dict[str, Figures]] = {}
    missing: dict[str, str] = {}
    site = install(interpreter, REQUIREMENTS, "programs")
    for program in programs(interpreter, site):
        try:
            found[program.name] = seconds_of(program, interpreter, site, options)
        except Failed as failure:
            missing[program.name] = str(failure)
    show(interpreter, found, missing)
    verdicts = checks(found)
    for check in verdicts:
        verdict_row(check)
    return Outcome({"modes": found, "missing": missing}, verdicts)


def slowdown(modes: dict[str, Figures], mode: str) -> float | None:
    return modes[mode]["s"] / modes["plain"]["s"] if mode in modes else None


def mean_slowdown(found: dict[str, dict[str, Figures]], names: tuple[str, ...], mode: str) -> float | None:
    values = [value for name in names if name in found and (value := slowdown(found[name], mode))]
    return geometric_mean(values) if values else None


def limit_of(found: dict[str, dict[str, Figures]], names: tuple[str, ...], limit: float) -> float:
    """Where the floor is higher, no profiler with these hooks can keep it."""
    floor = mean_slowdown(found, names, "floor")
    return max(limit, floor + FLOOR_MARGIN) if floor else limit


def checks(found: dict[str, dict[str, Figures]]) -> list[Check]:
    ordinary, numerical = (mean_slowdown(found, names, "allranks") for names in (ORDINARY, NUMERICAL))
    verdicts = [Check("programs, processor time", ordinary, limit_of(found, ORDINARY, 1.13), ".3f")]
    if numerical:
        verdicts.append(Check("numerical codes", numerical, limit_of(found, NUMERICAL, 1.05), ".3f"))
    return verdicts


def show(interpreter: Interpreter, found: dict[str, dict[str, Figures]], missing: dict[str, str]) -> None:
    title(f"Python {interpreter.name}: processor time of programs, times plain")
    narrow_row("", ["plain", "floor", "none", "allr.", "py-spy", "pyins.", "cProf.", "added", "stated"])
    narrow_row("", ["s", *(len(MODES) * [""]), "ms", "ms"])
    for name, modes in found.items():
        added = modes["allranks"]["s"] - modes["plain"]["s"]
        cells = [number(modes["plain"]["s"], ".2f"), *(number(slowdown(modes, mode), ".3f") for mode in MODES)]
        narrow_row(name, [*cells, number(1000 * added, ".0f"), number(1000 * modes["allranks"]["stated_s"], ".0f")])
    means = [number(mean_slowdown(found, ORDINARY, mode), ".3f") for mode in MODES]
    narrow_row("geometric mean", ["", *means, "", ""])
    for name, reason in missing.items():
        note(f"{name}: not available: {reason}")


def narrow_row(label: str, cells: list[str]) -> None:
    print(f"  {label:14}{''.join(f'{cell:>7}' for cell in cells)}".rstrip())
