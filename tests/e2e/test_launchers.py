# SPDX-License-Identifier: BSD-3-Clause
"""What may stand between the launcher and the program: shells, and Pythons that start another one. The ranks stay ranks, of one
run, or of files that recover makes one of. More of them than there are processors, as in all tests. For srun see test_slurm.py, for the colon test_mpmd.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import Sandbox, is_closing_line, workload

PROGRAM = workload("uneven_work.py")
N = 4

# What sites write to bind ranks, load modules or set variables; some replace themselves by the program, some wait for it.
WRAPPERS = {
    "waits": '#!/bin/sh\nexport OMP_NUM_THREADS=1\n"$@"\ncode=$?\nexit $code\n',
    "becomes": '#!/bin/sh\nexec env OMP_NUM_THREADS=1 "$@"\n',
}

# Python programs that become the one that calls MPI, or start it and wait. hydra's ranks need a descriptor that they inherit.
TOOLS = {
    "becomes": "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])",
    "waits": "sys.exit(subprocess.run([sys.executable, *sys.argv[1:]], close_fds=False).returncode)",
}


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def run_ranks(mpi: Sandbox, *argv: str, arguments: tuple[str, ...] = ()) -> str:
    """As without us; the line that we add."""
    plain = mpi.plain_ranks(N, PROGRAM, *arguments)
    done = mpi.run(mpi.ranks(N, *argv, PROGRAM, *arguments))
    assert (done.code, sorted(done.out.splitlines())) == (plain.code, sorted(plain.out.splitlines())), done
    (line,) = [line for line in done.err.splitlines() if line.startswith("allranks: ")]
    return line


def assert_work_of_all(mpi: Sandbox, run: str) -> None:
    assert set(mpi.info(run).ranks) == set(range(N))
    assert mpi.report(run).calls("work") == sum(10 * (rank + 1) for rank in range(N))


@pytest.mark.parametrize("how", WRAPPERS)
def test_a_shell_script_before_the_recorder(mpi: Sandbox, how: str):
    wrapper = script(mpi.cwd.parent / "wrap.sh", WRAPPERS[how])
    line = run_ranks(mpi, wrapper, *mpi.recorder(), arguments=("exit", "3"))
    assert is_closing_line(line) and line.startswith(f"allranks: {N} ranks recorded in uneven_work.allranks")
    assert mpi.files() == {"uneven_work.allranks"} and mpi.left_overs() == []
    assert_work_of_all(mpi, "uneven_work.allranks")


@pytest.mark.parametrize("how", TOOLS)
def test_a_python_program_that_starts_the_ranks_program(mpi: Sandbox, how: str):
    """The rank that was recorded first is another program, or another process, than the one that calls MPI: they are not merged.
    Ended by a code, the launcher may lose the line, which comes at the very end then.
    """
    tool = script(mpi.cwd.parent / "tool", f"#!{mpi.stack.python}\nimport os, subprocess, sys\n{TOOLS[how]}\n")
    line = run_ranks(mpi, mpi.command, "run", "--live-dir", str(mpi.live), tool)
    found = re.search(r"allranks recover (\S+) -o (\S+)$", line)
    assert found and mpi.files() == set(), line
    recovered = mpi.allranks("recover", found.group(1), "-o", found.group(2))
    assert recovered.code == 0, recovered
    assert_work_of_all(mpi, "tool.allranks")
