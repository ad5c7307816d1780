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

# Python programs that become another, or start it and wait. hydra's ranks need a descriptor that they inherit.
TOOLS = {
    "becomes": "os.execvp(sys.argv[1], sys.argv[1:])",
    "waits": "sys.exit(subprocess.run(sys.argv[1:], close_fds=False).returncode)",
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


def tool_of(mpi: Sandbox, how: str) -> list[str]:
    tool = script(mpi.cwd.parent / "tool", f"#!{mpi.stack.python}\nimport os, subprocess, sys\n{TOOLS[how]}\n")
    return [mpi.command, "run", "--live-dir", str(mpi.live), tool]


@pytest.mark.parametrize("how", TOOLS)
def test_a_python_program_that_starts_the_ranks_program(mpi: Sandbox, how: str):
    """The rank that was recorded first is another program, or another process, than the one that calls MPI: the last one that ends
    merges them. Ended by a code, the launcher may lose the line, which comes at the very end then.
    """
    line = run_ranks(mpi, *tool_of(mpi, how), mpi.stack.python)
    assert is_closing_line(line) and line.startswith(f"allranks: {N} ranks and {N} child processes recorded in tool.allranks"), line
    assert mpi.files() == {"tool.allranks"} and mpi.left_overs() == []
    assert_work_of_all(mpi, "tool.allranks")


@pytest.mark.parametrize("how", TOOLS)
def test_a_python_program_that_starts_the_launcher(mpi: Sandbox, how: str):
    """It is the process that is recorded, and the ranks are its children."""
    plain = mpi.plain_ranks(N, PROGRAM)
    done = mpi.run([*tool_of(mpi, how), *mpi.ranks(N, mpi.stack.python, PROGRAM)])
    assert (done.code, sorted(done.out.splitlines())) == (plain.code, sorted(plain.out.splitlines())), done
    (line,) = [line for line in done.err.splitlines() if line.startswith("allranks: ")]
    assert is_closing_line(line) and line.startswith(f"allranks: 1 process and {N} child processes recorded in tool.allranks"), line
    assert mpi.files() == {"tool.allranks"} and mpi.left_overs() == []
    assert mpi.report("tool.allranks").calls("work") == sum(10 * (rank + 1) for rank in range(N))


def test_ranks_that_do_not_use_mpi(mpi: Sandbox):
    """The launcher says who they are. If one of them is not recorded, a line says how to have the others."""
    program = workload("without_mpi.py")
    done = mpi.recorded_ranks(N, program)
    (line,) = [line for line in done.err.splitlines() if line.startswith("allranks: ")]
    assert done.code == 0 and is_closing_line(line) and mpi.left_overs() == [], done
    assert mpi.info("without_mpi.allranks").ranks == list(range(N))
    assert mpi.report("without_mpi.allranks").calls("work") == N * 7
    done = mpi.run([*mpi.ranks(N - 1, *mpi.recorder(), program), ":", "-n", "1", mpi.stack.python, program])
    (line,) = [line for line in done.err.splitlines() if line.startswith("allranks: ")]
    assert done.code == 0 and f"only {N - 1} of {N} ranks were found here when this one ended" in line, done
    found = re.search(r"allranks recover (\S+) -o (\S+)$", line)
    assert found and mpi.allranks("recover", found.group(1), "-o", "some.allranks").code == 1
    assert mpi.info("some.allranks").ranks == list(range(N - 1))
