# SPDX-License-Identifier: BSD-3-Clause
"""Interpreters, commands, and the best of interleaved rounds: what all measurements are made of.

Machines are noisy: what is compared runs in turn, round after round, and of each figure the smallest counts.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
BUILD = ROOT / "build/bench"

Figures = dict[str, float]


class Failed(Exception):
    """A command that did not do what it is measured for; the text says why, in one line."""


class Interpreter(NamedTuple):
    version: tuple[int, ...]
    python: str

    @property
    def name(self) -> str:
        return ".".join(map(str, self.version))

    def allranks(self, *options: str) -> list[str]:
        """The command line up to the program. Runs are written into the current directory."""
        return [self.python, "-m", "allranks", "-q", *options]

    def allranks_run(self, *options: str) -> list[str]:
        """The same through the command, which does without the modules that `python -m` itself loads."""
        return [str(Path(self.python).with_name("allranks")), "run", "-q", *options]


class Options(NamedTuple):
    quick: bool
    rounds: int | None
    processor_time: bool

    def n_rounds(self, usual: int) -> int:
        return self.rounds or (1 if self.quick else usual)


def find_interpreters(wanted: list[str]) -> list[Interpreter]:
    """Every .venv* that holds allranks, one of each version."""
    found: dict[tuple[int, ...], str] = {}
    for venv in sorted(ROOT.glob(".venv*")):
        python = venv / "bin/python"
        probe = "import sys, allranks; print(*sys.version_info[:3])"
        answer = subprocess.run([python, "-c", probe], capture_output=True, text=True, cwd="/")
        if answer.returncode == 0:
            found.setdefault(tuple(map(int, answer.stdout.split())), str(python))
    everything = [Interpreter(version, python) for version, python in sorted(found.items())]
    return [
        i
        for i in everything
        if not wanted or i.name in wanted or i.name.rpartition(".")[0] in wanted
    ]


@functools.cache
def accepts(interpreter: Interpreter, *options: str) -> bool:
    """Whether the installed allranks knows these options."""
    with scratch() as directory:
        command = [*interpreter.allranks(*options), "-c", "pass"]
        done = subprocess.run(command, capture_output=True, cwd=directory, env=environment())
    return (
        done.returncode != 2
    )  # another failure is not a refusal, and is to be seen when it is measured


def compiled(name: str, *parts: str) -> str:
    """bench/NAME.c as a program, with the project's own sources in these folders of src, or these files."""
    target = BUILD / name
    found = [ROOT / "src" / part for part in parts]
    sources = [path for part in found for path in ([part] if part.is_file() else part.glob("*.c"))]
    sources = [path for path in sources if path.name != "counters_module.c"]  # it needs Python
    BUILD.mkdir(parents=True, exist_ok=True)
    for kind in ("functions", "classes"):
        definition, generated = ROOT / "src/format/mpi.def", BUILD / f"mpi_{kind}.inc"
        run([sys.executable, str(ROOT / "tools/gen_mpi.py"), kind, str(definition), str(generated)], "/")
    includes = [f"-I{ROOT / 'src'}", f"-I{BUILD}"]
    command = ["cc", "-O2", "-D_GNU_SOURCE", *includes, *map(str, sources), str(BENCH / f"{name}.c")]
    done = subprocess.run([*command, "-lm", "-lpthread", "-ldl", "-o", str(target)], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip().splitlines()[-1])
    return str(target)


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        yield directory


def run(command: list[str], directory: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment())
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Failed(lines[-1])
    return done.stdout


def environment() -> dict[str, str]:
    """Without what would make one run differ from the next."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "ALLRANKS"))}
    return {**kept, "PYTHONHASHSEED": "0"}


def figures_of(command: list[str], directory: str) -> Callable[[], Figures]:
    """Runs a program that prints its own figures, as a JSON object."""

    def measure() -> Figures:
        # Other tools print reports of their own around it.
        lines = [line for line in run(command, directory).splitlines() if line.startswith("{")]
        if not lines:
            raise Failed("it printed no figures")
        figures: Figures = json.loads(lines[-1])
        return figures

    return measure


def best_of(
    modes: dict[str, Callable[[], Figures]],
    n_rounds: int,
    what: str,
    pick: Callable[[list[float]], float] = min,
) -> dict[str, Figures]:
    """Mode to name to figure, the smallest of all rounds, or another one of them."""
    found: dict[str, dict[str, list[float]]] = {mode: {} for mode in modes}
    for number in range(n_rounds):
        for mode, measure in modes.items():
            progress(f"{what}: {mode}, round {number + 1} of {n_rounds}")
            for name, figure in measure().items():
                found[mode].setdefault(name, []).append(figure)
    progress("")
    return {
        mode: {name: pick(figures) for name, figures in by_name.items()}
        for mode, by_name in found.items()
    }


def install(interpreter: Interpreter, requirements: Path, kind: str) -> Path:
    """Where pip has put what the programs of that kind import, once per interpreter."""
    site = BUILD / f"{kind}-{interpreter.name}"
    stamp = site / ".installed"
    wanted = requirements.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        progress(f"{interpreter.name}: pip install -r {requirements.name}")
        pip = [interpreter.python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        run([*pip, "--upgrade", "--target", str(site), "-r", str(requirements)], "/")
        stamp.write_text(wanted)
    return site


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<78.78}", end="\r" if not text else "", file=sys.stderr, flush=True)


def added(best: dict[str, Figures], mode: str, name: str, least: float) -> float:
    """Never below `least`: what cannot be told from nothing must not make a ratio of nothing."""
    return max(best[mode][name] - best["plain"][name], least)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def median(values: list[float]) -> float:
    return statistics.median(values)
