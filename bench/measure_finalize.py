# SPDX-License-Identifier: BSD-3-Clause
"""What merging adds to MPI_Finalize, with many more ranks than cores, beside a bare gather of the same bytes by the same MPI.

The bytes are those that one rank would send: the size of the run file of a rank alone.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable

from rounds import BENCH, Failed, Figures, Interpreter, Options, best_of, environment, scratch
from tables import Check, Outcome, heads, note, number, row, title, verdict_row

LIBRARIES = {"Open MPI": "openmpi", "MPICH": "mpich"}
RANKS = (64, 128)
TIMES_GATHER, FIXED_S = 3, 0.2


def launcher(mpi: str, n_ranks: int) -> list[str]:
    program = shutil.which(f"mpiexec.{mpi}")
    if not program:
        raise Failed(f"there is no mpiexec.{mpi}")
    words = [program, "-n", str(n_ranks)]
    if mpi == "openmpi":
        words[1:1] = ["--oversubscribe"] + ["--allow-run-as-root"] * (os.geteuid() == 0)
    return words


def variables(mpi: str, directory: str) -> dict[str, str]:
    """For mpi4py's wheel, which looks for its MPI by a name that Debian's MPICH does not have."""
    name = Path(directory, "libmpi.so.12")
    found = glob.glob("/usr/lib/*/libmpich.so.12")
    if mpi == "mpich" and found and not name.exists():
        name.symlink_to(found[0])
    library_path = {"LD_LIBRARY_PATH": directory} if mpi == "mpich" and found else {}
    return {**environment(), "MPI4PY_MPIABI": mpi, **library_path}


def seconds(words: list[str], mpi: str, n_ranks: int, directory: str) -> Callable[[], Figures]:
    command = [*launcher(mpi, n_ranks), *words]

    def measure() -> Figures:
        for old in Path(directory).glob("finalize*"):
            old.unlink()
        env = variables(mpi, directory)
        done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=env)
        figures = Path(directory, "finalize.json")
        if done.returncode or not figures.exists():
            raise Failed((done.stderr.strip().splitlines() or ["the ranks failed"])[-1])
        return {name: float(value) for name, value in json.loads(figures.read_text()).items()}

    return measure


def bytes_of_a_rank(interpreter: Interpreter, mpi: str, directory: str) -> int:
    seconds([*interpreter.allranks(), str(BENCH / "finalize.py"), "0"], mpi, 1, directory)()
    return Path(directory, "finalize.allranks").stat().st_size


def measure_library(
    interpreter: Interpreter, options: Options, name: str, directory: str
) -> tuple[dict[str, Figures], list[Check]]:
    mpi = LIBRARIES[name]
    n_bytes = bytes_of_a_rank(interpreter, mpi, directory)
    data: dict[str, Figures] = {}
    checks = []
    for n_ranks in RANKS:
        program = [str(BENCH / "finalize.py"), str(n_bytes)]
        modes = {
            "plain": seconds([interpreter.python, *program], mpi, n_ranks, directory),
            "allranks": seconds([*interpreter.allranks(), *program], mpi, n_ranks, directory),
        }
        best = best_of(modes, options.n_rounds(3), f"{interpreter.name} {name} {n_ranks}")
        gather = best["plain"]["gather"]
        added = best["allranks"]["finalize"] - best["plain"]["finalize"]
        data[str(n_ranks)] = {
            "gather": gather,
            "plain": best["plain"]["finalize"],
            "allranks": best["allranks"]["finalize"],
            "bytes": n_bytes,
        }
        limit = TIMES_GATHER * gather + FIXED_S
        checks.append(Check(f"{name}, {n_ranks} ranks: MPI_Finalize adds, s", added, limit, ".3f"))
    return data, checks


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    data: dict[str, dict[str, Figures]] = {}
    checks: list[Check] = []
    for name in LIBRARIES:
        with scratch() as directory:
            try:
                data[name], found = measure_library(interpreter, options, name, directory)
            except Failed as failure:
                note(f"{name}: not measured: {failure}")
                continue
        checks += found
        title(f"Python {interpreter.name}: {name}, MPI_Finalize of ranks with 2,000 functions, s")
        heads("gather", "plain", "allranks")
        for n_ranks, figures in data[name].items():
            cells = (figures[column] for column in ("gather", "plain", "allranks"))
            row(f"{n_ranks} ranks", [number(cell, ".3f") for cell in cells])
        for check in found:
            verdict_row(check)
    return Outcome({"seconds": data}, checks)
