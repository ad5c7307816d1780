# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in which not every rank is recorded, or no rank uses MPI: nobody hangs, and the files can be merged."""

import re

import pytest
from harness import Done, Sandbox, workload

PROGRAM = workload("uneven_work.py")


def sorted_lines(done: Done) -> list[str]:
    """Launchers mix the lines of ranks in any order."""
    return sorted(done.out.splitlines())


def advice_in(done: Done) -> str:
    """The directory that the one message says to merge."""
    (line,) = [line for line in done.err.splitlines() if line.startswith("allranks: ")]
    found = re.search(r"allranks recover (\S+) -o \S+$", line)
    assert found, line
    return found.group(1)


@pytest.mark.every_stack
def test_a_job_with_a_rank_that_is_not_recorded_does_not_hang(mpi: Sandbox):
    plain = mpi.plain_ranks(3, PROGRAM)
    python = mpi.stack.python
    mixed = mpi.run([*mpi.ranks(2, *mpi.recorder(), PROGRAM), ":", "-n", "1", python, PROGRAM])
    assert (mixed.code, sorted_lines(mixed)) == (plain.code, sorted_lines(plain)), mixed
    assert mpi.files() == set()
    directory = advice_in(mixed)
    merged = mpi.allranks("merge", directory, "-o", "merged.allranks")
    assert (merged.code, merged.out) == (0, ""), merged
    assert mpi.info("merged.allranks").ranks == [0, 1]
    assert mpi.report("merged.allranks").calls("work") == 10 + 20


def test_a_job_whose_first_rank_is_not_recorded_does_not_hang(mpi: Sandbox):
    plain = mpi.plain_ranks(3, PROGRAM)
    python = mpi.stack.python
    first = [*mpi.ranks(1, python, PROGRAM), ":", "-n", "2"]
    mixed = mpi.run([*first, *mpi.recorder(), PROGRAM])
    assert (mixed.code, sorted_lines(mixed)) == (plain.code, sorted_lines(plain)), mixed
    assert len(mpi.live_files()) == 2
    assert mpi.report(mpi.live).calls("work") == 20 + 30
    assert advice_in(mixed)


def test_ranks_with_different_programs_are_one_run(mpi: Sandbox):
    (mpi.cwd / "other.py").write_text("from mpi4py import MPI\ndef other(): pass\nother()\n")
    done = mpi.run([*mpi.ranks(2, *mpi.recorder(), PROGRAM), ":", "-n", "1", *mpi.recorder(), "other.py"])
    assert done.code == 0, done
    assert mpi.files() == {"other.py", "uneven_work.allranks"}
    report = mpi.report("uneven_work.allranks")
    assert (report.calls("work"), report.calls("other")) == (30, 1)
    assert mpi.live_files() == []


@pytest.mark.every_stack
def test_ranks_that_never_use_mpi_are_recorded(mpi: Sandbox):
    done = mpi.recorded_ranks(3, workload("without_mpi.py"))
    assert (done.code, done.out) == (0, 3 * "no MPI here\n"), done
    run = "without_mpi.allranks"
    if mpi.files() != {run}:
        merged = mpi.allranks("merge", advice_in(done), "-o", run)
        assert (merged.code, merged.out) == (0, ""), merged
    assert mpi.info(run).ranks == [0, 1, 2]
    assert mpi.report(run).calls("work") == 3 * 7


@pytest.mark.every_stack
def test_ranks_that_exit_with_a_code_are_merged(mpi: Sandbox):
    """Rank 0 is there first, and the launcher's code is that of the program."""
    plain = mpi.plain_ranks(3, PROGRAM, "exit", "3")
    recorded = mpi.recorded_ranks(3, PROGRAM, "exit", "3")
    assert recorded.code == plain.code != 0
    assert mpi.files() == {"uneven_work.allranks"}
    assert mpi.info("uneven_work.allranks").ranks == [0, 1, 2]
    assert mpi.live_files() == []


def test_one_rank_is_a_run_too(mpi: Sandbox):
    done = mpi.recorded_ranks(1, PROGRAM)
    assert (done.code, done.out) == (0, "rank 0 did 10\n")
    assert mpi.files() == {"uneven_work.allranks"}
    assert mpi.live_files() == []
    assert mpi.report("uneven_work.allranks").calls("work") == 10


def test_a_program_with_mpi_but_without_a_launcher_is_a_run_too(mpi: Sandbox):
    done = mpi.recorded(PROGRAM)
    assert (done.code, done.out) == (0, "rank 0 did 10\n")
    assert mpi.files() == {"uneven_work.allranks"}
    assert mpi.report("uneven_work.allranks").calls("work") == 10


def test_two_jobs_at_the_same_time_do_not_mix(mpi: Sandbox):
    """Same live directory, same working directory."""
    argv = mpi.ranks(2, *mpi.recorder(), PROGRAM)
    running = [mpi.start(argv) for _ in range(2)]
    assert [each.wait().code for each in running] == [0, 0]
    assert mpi.files() == {"uneven_work.allranks", "uneven_work-2.allranks"}
    for name in mpi.files():
        assert mpi.info(name).ranks == [0, 1]
        assert mpi.report(name).calls("work") == 30
    assert mpi.live_files() == []
