# SPDX-License-Identifier: BSD-3-Clause
"""MPI called from Fortran: recorded as the C function, with its bytes, once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from harness import Sandbox, workload

N_TIMES = 3
PER_CALL = {  # function -> calls, bytes out, bytes in of each time
    "MPI_Sendrecv": (1, 80, 80),
    "MPI_Irecv": (2, 0, 40 + 24),
    "MPI_Isend": (1, 40, 0),
    "MPI_Waitall": (1, 0, 0),
    "MPI_Send": (1, 24, 0),
    "MPI_Wait": (1, 0, 0),
    "MPI_Allreduce": (1, 32, 32),
    "MPI_Barrier": (1, 0, 0),
    "MPI_Comm_rank": (1, 0, 0),
    "MPI_Comm_size": (1, 0, 0),
}


def fortran_library(mpi: Sandbox, source: str) -> Path | None:
    """Built with the compiler beside the launcher; the MPI of a venv brings none."""
    launcher = Path(mpi.stack.mpiexec[0])
    compiler = str(launcher.with_name(launcher.name.replace("mpiexec", "mpif90")))
    if not shutil.which(compiler):
        return None
    library = mpi.cwd / f"lib{Path(source).stem}.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, workload(source)], check=True, cwd=mpi.cwd)
    return library


@pytest.mark.every_stack
def test_calls_from_fortran_are_seen_once(mpi: Sandbox):
    library = fortran_library(mpi, "fortran_calls.f90")
    if not library:
        pytest.skip("no Fortran compiler belongs to this MPI")
    n_ranks = 2
    plain = mpi.plain_ranks(n_ranks, workload("calls_fortran.py"), str(library))
    done = mpi.recorded_ranks(n_ranks, workload("calls_fortran.py"), str(library))
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"done\n" * n_ranks), done
    report = mpi.report("calls_fortran.allranks")
    found = {}
    for node in report.nodes:
        if node.kind == "mpi" and node.python_caller == "talk":
            found[node.name.removesuffix("_c")] = (node["calls"], node["bytes_out"], node["bytes_in"])
    wanted = {name: tuple(n * N_TIMES * n_ranks for n in each) for name, each in PER_CALL.items()}
    assert found == wanted
