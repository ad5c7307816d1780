# SPDX-License-Identifier: BSD-3-Clause
"""The table of MPI functions has all that mpi4py calls, whatever MPI and mpi4py there are."""

import re
import subprocess
import sys

import pytest
from harness import ROOT, Sandbox

# As in the head of mpi.def, with the reasons.
LEFT_OUT = re.compile(
    r"MPI_(Wtime|Wtick|Aint_add|Aint_diff|Pcontrol|\w+_(c2f|f2c|toint|fromint|c2f08|f082c|f082f|f2f08)|"
    r"T_event_(read|copy|get_timestamp|get_source)|[A-Z0-9_]+)$"  # the last are values
)


def functions_of_the_table(tmp_path) -> set[str]:
    listed = tmp_path / "functions.inc"
    generator, table = ROOT / "tools" / "gen_mpi.py", ROOT / "src" / "format" / "mpi.def"
    subprocess.run([sys.executable, generator, "functions", table, listed], check=True)
    return set(re.findall(r'"(MPI_\w+)"', listed.read_text()))


@pytest.mark.every_stack
def test_every_function_that_mpi4py_calls_is_in_the_table(mpi: Sandbox, tmp_path):
    where = subprocess.run(
        [*mpi.stack.mpiexec, "-n", "1", mpi.stack.python, "-c", "from mpi4py import MPI; print(MPI.__file__)"],
        check=True, capture_output=True, text=True,
    ).stdout.split()[-1]  # fmt: skip
    symbols = subprocess.run(["nm", "-D", where], check=True, capture_output=True, text=True).stdout
    # Undefined functions; weak ones are those that mpi4py tests for. Variables of Open MPI have other names.
    called = set(re.findall(r"^ *[Uw] (MPI_\w+)", symbols, re.MULTILINE))
    assert len(called) > 300
    missing = {name for name in called - functions_of_the_table(tmp_path) if not LEFT_OUT.match(name)}
    assert not missing
