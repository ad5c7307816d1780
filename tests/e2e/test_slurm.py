# SPDX-License-Identifier: BSD-3-Clause
"""Under a real Slurm: srun, sbatch, scancel and the time limit. One run file, or live files that recover makes one
of; exit codes are Slurm's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import STACKS, debian_stack
from harness import Running, Sandbox, Stack, is_closing_line, workload
from slurm import NODES, Slurm
from test_merge_faults import (
    RUN,
    N,
    all_have_met,
    assert_recovered,
    assert_steps,
    our_lines,
    small_disk,
)

UNEVEN = workload("uneven_work.py")
ENDS = workload("ends_badly.py")
OTHER_LINES = ("srun: ", "slurmstepd-", "allranks: ")


def protocol_of(stack: Stack) -> str:
    return "pmix" if stack.mpi == "openmpi" else "pmi2"


def skip_unless_started(mpi: Sandbox, slurm: Slurm) -> None:
    protocol = protocol_of(mpi.stack)
    if protocol not in slurm.protocols():
        pytest.skip(f"this Slurm has no {protocol}, which {mpi.stack.mpi} wants")


def stack_for(slurm: Slurm, config: pytest.Config) -> Stack:
    """Debian's own if Slurm can start its MPI: in Debian 14 it has no pmix."""
    for stack in (debian_stack(), *config.stash[STACKS]):
        if stack and protocol_of(stack) in slurm.protocols():
            return stack
    pytest.skip("no stack that this Slurm can start")


@pytest.fixture
def debian(slurm: Slurm, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(stack_for(slurm, pytestconfig), tmp_path)
    yield sandbox
    sandbox.end()


def srun(mpi: Sandbox, n: int, *argv: str, where: tuple[str, ...] = ("-N", "1")) -> list[str]:
    """As each MPI wants to be started, on one node."""
    return ["srun", f"--mpi={protocol_of(mpi.stack)}", *where, "-n", str(n), *argv]


def started(mpi: Sandbox, slurm: Slurm, name: str, *argv: str) -> tuple[Running, str]:
    """And the job's number, once all ranks have met."""
    running = mpi.start([*srun(mpi, N, "-J", name), *argv], env=slurm.env)
    running.wait_until(lambda: all_have_met(mpi), "all have met")
    return running, slurm.says("squeue", "-h", "-n", name, "-o", "%i")


def submitted(mpi: Sandbox, slurm: Slurm, script: Path) -> str:
    done = mpi.run(["sbatch", "--parsable", "-N", "1", "-n", str(N), "-o", "out", str(script)], env=slurm.env)
    assert done.code == 0, done
    return done.out.strip()


def wait_for_job(slurm: Slurm, job_id: str, state: str) -> None:
    """Until Slurm is done with it, one way or another."""
    with contextlib.suppress(RuntimeError):
        slurm.wait_until(lambda: slurm.job(job_id, "JobState") not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"), "")
    assert slurm.job(job_id, "JobState") == state, slurm.says("scontrol", "show", "job", job_id)


class OutOfTime:
    """A job whose time is up while the other tests run: Slurm looks for such jobs every 30 s only."""

    def __init__(self, place: Path, slurm: Slurm, stack: Stack) -> None:
        self.sandbox = Sandbox(stack, place)
        self.running, self.job_id = started(self.sandbox, slurm, "limit", *self.sandbox.recorder(), ENDS, "deaf")
        slurm.order("scontrol", "update", f"JobId={self.job_id}", "EndTime=now")


@pytest.fixture(scope="module", autouse=True)
def out_of_time(
    slurm: Slurm, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OutOfTime]:
    job = OutOfTime(tmp_path_factory.mktemp("limit"), slurm, stack_for(slurm, pytestconfig))
    yield job
    job.sandbox.end()


def test_ranks_of_srun_are_one_run(mpi: Sandbox, slurm: Slurm):
    skip_unless_started(mpi, slurm)
    done = mpi.run(srun(mpi, N, *mpi.recorder("-o", "run-{job}.allranks"), UNEVEN, "exit", "3"), env=slurm.env)
    assert done.code == 3 and sorted(done.out.splitlines()) == [f"rank {i} did {10 * (i + 1)}" for i in range(N)], done
    (line,) = our_lines(done)
    assert is_closing_line(line) and line.startswith(f"allranks: {N} ranks recorded in run-"), line
    (name,) = mpi.files()
    assert name[4:-9].isdigit() and slurm.job(name[4:-9], "NumTasks") == str(N)
    assert mpi.info(name).ranks == list(range(N))
    assert mpi.report(name).calls("work") == 10 + 20 + 30 + 40
    assert mpi.left_overs() == []


@pytest.mark.parametrize("plain", [0, N - 1])
def test_ranks_of_srun_of_which_one_is_not_recorded(debian: Sandbox, slurm: Slurm, plain: int):
    """By --multi-prog. What MPI does not have here it is not asked for, so that it has nothing to say."""
    ranks = [i for i in range(N) if i != plain]
    programs = debian.cwd.parent / "programs"
    recorded = " ".join(debian.recorder())
    programs.write_text(f"{plain} {debian.stack.python} {UNEVEN}\n{ranks[0]}-{ranks[-1]} {recorded} {UNEVEN}\n")
    done = debian.run([*srun(debian, N, "--multi-prog"), str(programs)], env=slurm.env)
    assert done.code == 0 and len(done.out.splitlines()) == N, done
    assert [line for line in done.err.splitlines() if not line.startswith(OTHER_LINES)] == []
    (line,) = our_lines(done)
    assert f"only {N - 1} of {N} ranks were found here" in line and debian.files() == set()
    assert debian.allranks("recover", debian.live, "-o", "x.allranks").code == 1  # a rank is missing
    assert debian.info("x.allranks").ranks == ranks
    assert debian.report("x.allranks").calls("work") == sum(10 * (rank + 1) for rank in ranks)


def test_tasks_of_srun_that_do_not_use_mpi(debian: Sandbox, slurm: Slurm):
    """Slurm says which rank each is. A command in a batch script is none, whatever Slurm's variables say there."""
    options = ("-o", "x-{rank}.allranks")
    job = debian.cwd / "job.sh"
    command = " ".join(debian.recorder("-o", "script.allranks"))
    tasks = " ".join(["srun", "--mpi=none", "-n", "3", *debian.recorder(*options), workload("without_mpi.py")])
    job.write_text(f"#!/bin/sh\n{command} -c pass && {tasks} && touch done\n")
    job_id = submitted(debian, slurm, job)
    wait_for_job(slurm, job_id, "COMPLETED")
    assert debian.files() - {"job.sh", "out"} == {"done", "script.allranks", *(f"x-{i}.allranks" for i in range(3))}
    assert debian.info("script.allranks").ranks == [None]
    for rank in range(3):
        assert debian.info(f"x-{rank}.allranks").ranks == [rank]
    assert debian.left_overs() == []


def on_two_nodes(mpi: Sandbox, *argv: str) -> list[str]:
    """Rank 1 is alone on its node: in memory that the two share, Open MPI's ranks of one would take the other's for their own."""
    places = mpi.cwd.parent / "places"
    places.write_text("".join(f"{NODES[rank == 1]}\n" for rank in range(N)))
    return ["env", f"SLURM_HOSTFILE={places}", *srun(mpi, N, *argv, where=("-m", "arbitrary"))]


@contextlib.contextmanager
def apart(mpi: Sandbox, but: str = "") -> Iterator[list[str]]:
    """Words that have a program recorded with live files in each node's own memory, which must be empty afterwards; but one rank is not."""
    with small_disk(mpi.cwd.parent / "memory", "64m") as memory:
        script = f'[ "$SLURM_PROCID" = "{but}" ] || set -- -m allranks --live-dir {memory}/$SLURMD_NODENAME "$@"; exec "$0" "$@"'
        yield ["sh", "-c", script, mpi.stack.python]
        assert [path for path in memory.rglob("*") if path.is_file()] == []


def test_ranks_on_two_nodes(mpi: Sandbox, slurm: Slurm):
    """They share the output, by which they find each other, and no live directory. A step that is run again leaves a second run."""
    skip_unless_started(mpi, slurm)
    with apart(mpi) as recorded:
        for run in (RUN, "ends_badly-2.allranks"):
            for log in mpi.cwd.glob("log-*"):
                log.unlink()
            done = mpi.run(on_two_nodes(mpi, *recorded, ENDS, "all"), env=slurm.env)
            assert done.code == 0 and [is_closing_line(line) for line in our_lines(done)] == [True], done
            assert_steps(mpi, run)
    assert sorted(path.name for path in mpi.cwd.iterdir() if "allranks" in path.name or path.is_dir()) == sorted((RUN, run))


def test_ranks_on_two_nodes_that_share_their_live_files(debian: Sandbox, slurm: Slurm):
    done = debian.run(on_two_nodes(debian, *debian.recorder(), ENDS, "all"), env=slurm.env)
    assert done.code == 0 and [is_closing_line(line) for line in our_lines(done)] == [True], done
    assert_steps(debian, RUN)


@pytest.mark.parametrize("plain, n_found", [(0, "only 1 of 4 ranks were found here"), (3, "only 3 of 4 ranks were found,")])
def test_ranks_on_two_nodes_of_which_one_is_not_recorded(debian: Sandbox, slurm: Slurm, plain: int, n_found: str):
    """The files of both are beside the output, for one command, which one of them tells."""
    with apart(debian, but=str(plain)) as recorded:
        done = debian.run(on_two_nodes(debian, *recorded, ENDS, "all"), env=slurm.env)
    assert done.code == 0 and RUN not in debian.files(), done
    assert [line for line in done.err.splitlines() if not line.startswith(OTHER_LINES)] == []
    (line,) = our_lines(done)
    command = line.partition("can be had by: ")[2].split()
    assert n_found in line and command[:2] == ["allranks", "recover"] and command[3:] == ["-o", str(debian.cwd / RUN)], line
    assert [path for path in debian.cwd.iterdir() if path.is_dir()] == [debian.cwd / "ends_badly.live"]
    assert debian.allranks(*command[1:]).code == 1  # a rank is missing
    assert_steps(debian, RUN, [rank for rank in range(N) if rank != plain])


def test_ranks_on_two_nodes_that_go_on_after_mpi_finalize(debian: Sandbox, slurm: Slurm):
    """The run is there, and what followed is in live files beside it: one line says so, and how to have both."""
    run = "early_finalize.allranks"
    with apart(debian) as recorded:
        done = debian.run(on_two_nodes(debian, *recorded, workload("early_finalize.py")), env=slurm.env)
    assert done.code == 0 and debian.report(run).calls("before") == N * 5, done
    (line,) = our_lines(done)
    command = line.partition("is made by: ")[2].split()
    assert f"the run up to MPI_Finalize is in {run};" in line and command[:3] == ["allranks", "merge", run], line
    assert debian.allranks(*command[1:]).code == 0
    report = debian.report("early_finalize-2.allranks")
    assert (report.calls("before"), report.calls("after")) == (N * 5, N * 7)


# ---- the end of a job ----


def test_scancel(mpi: Sandbox, slurm: Slurm):
    """SIGTERM: live files that lie in memory are beside the output then."""
    skip_unless_started(mpi, slurm)
    plain, plain_id = started(mpi, slurm, "plain", mpi.stack.python, ENDS, "sleep")
    slurm.order("scancel", plain_id)
    code = plain.wait().code
    for file in mpi.cwd.iterdir():
        file.unlink()
    with small_disk(mpi.cwd.parent / "memory", "64m") as mpi.live:
        running, job_id = started(mpi, slurm, "recorded", *mpi.recorder(), ENDS, "sleep")
        slurm.order("scancel", job_id)
        done = running.wait()
    assert done.code == code != 0, done
    assert all(f"allranks recover {mpi.cwd / 'ends_badly.live'}" in line for line in our_lines(done))
    assert_recovered(mpi, mpi.cwd / "ends_badly.live")


def test_mpiexec_in_a_batch_script(mpi: Sandbox, slurm: Slurm):
    """It starts its ranks through srun. The first of two runs ends, the second one is cancelled. Slurm believes in more processors
    than there are, and Open MPI 5 and later would bind a rank to each.
    """
    job = mpi.cwd.parent / "job.sh"
    free = ["--bind-to", "none"] if mpi.stack.mpi == "openmpi" else []
    with small_disk(mpi.cwd.parent / "memory", "64m") as mpi.live:
        first, second = (" ".join(mpi.ranks(N, *free, *mpi.recorder(*options))) for options in (("-o", "run-{job}.allranks"), ()))
        job.write_text(f"#!/bin/sh\n{first} {UNEVEN}\n{second} {ENDS} sleep\n")
        job_id = submitted(mpi, slurm, job)
        slurm.wait_until(lambda: all_have_met(mpi), "all have met")
        slurm.order("scancel", job_id)
        wait_for_job(slurm, job_id, "CANCELLED")
        assert mpi.info(f"run-{job_id}.allranks").ranks == list(range(N))
        assert mpi.report(f"run-{job_id}.allranks").calls("work") == 10 + 20 + 30 + 40
        assert_recovered(mpi, *filter(Path.exists, (mpi.cwd / "ends_badly.live", mpi.live)))


def test_the_time_limit(slurm: Slurm, out_of_time: OutOfTime):
    """SIGTERM, to which these ranks do not listen, and SIGKILL."""
    done, sandbox = out_of_time.running.wait(), out_of_time.sandbox
    assert "DUE TO TIME LIMIT" in done.err and our_lines(done) == [], done
    wait_for_job(slurm, out_of_time.job_id, "TIMEOUT")
    assert len(sandbox.live_files()) == N and not sandbox.files() & {RUN}
    assert_recovered(sandbox, sandbox.live)
