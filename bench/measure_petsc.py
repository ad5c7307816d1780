# SPDX-License-Identifier: BSD-3-Clause
"""What an event of PETSc costs: begin and end of one, with PETSc's logging off, on, and recorded (petsc_events.py)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from measure_programs import DEBIAN_PYTHON, PETSC, allranks_alone
from rounds import BENCH, Failed, Interpreter, Options, best_of, figures_of, scratch
from tables import Outcome, note, title

MODES = ("off", "logged", "recorded", "recorded, no C functions")


def debians_python(interpreter: Interpreter) -> list[str]:
    """The words that start it with petsc4py and allranks."""
    debian = subprocess.run([DEBIAN_PYTHON, "-V"], capture_output=True, text=True)
    if debian.returncode or debian.stdout.split()[1].split(".")[:2] != interpreter.name.split(".")[:2]:
        raise Failed("only on the system's own Python, which petsc4py is for")
    modules = [*map(str, Path("/usr/lib").glob(PETSC))]
    if not modules:
        raise Failed("petsc4py is not installed (python3-petsc4py)")
    return ["env", f"PYTHONPATH={os.pathsep.join([str(allranks_alone(interpreter)), *modules])}", DEBIAN_PYTHON]


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    python, program = debians_python(interpreter), str(BENCH / "petsc_events.py")
    recorder = [*python, "-m", "allranks", "-q"]
    words = {
        "off": [*python, program],
        "logged": [*python, program, "log"],
        "recorded": [*recorder, program, "log"],
        "recorded, no C functions": [*recorder, "--builtins", "none", program, "log"],
    }
    with scratch() as directory:
        modes = {mode: figures_of(words[mode], directory) for mode in MODES}
        best = best_of(modes, options.n_rounds(3), f"{interpreter.name} petsc")
    title(f"Python {interpreter.name}: begin and end of an event of PETSc, ns")
    for where in ("in PETSc", "in Python"):
        for mode in MODES:
            note(f"{where + ', ' + mode:40} {best[mode][where]:8.0f}")
    return Outcome({"ns": best}, [])
