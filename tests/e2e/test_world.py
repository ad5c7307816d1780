# SPDX-License-Identifier: BSD-3-Clause
"""MPI in all the ways that are not MPI_Init, work, MPI_Finalize: whoever takes part, what was done is in the run."""

import subprocess

import pytest
from harness import Done, Sandbox, is_closing_line, settled, workload

# ---- the program goes on after MPI_Finalize ----

EARLY = workload("early_finalize.py")
EARLY_RUN = "early_finalize.allranks"
SLOW_S = 0.5


def our_lines(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("allranks: ")]


@pytest.mark.parametrize("how", ["", "late", "exit", "moved", "exits"])
def test_what_follows_mpi_finalize_is_recorded_too(mpi: Sandbox, how: str):
    if how == "exit" and mpi.stack.mpi != "openmpi":
        pytest.skip("MPICH says good-bye to its launcher in an exit function, and without that the launcher ends the others")
    done = mpi.recorded_ranks(3, EARLY, *how.split())
    assert (done.code, done.out) == (0, 3 * "done\n"), done
    (line,) = our_lines(done)
    assert is_closing_line(line) and line.startswith("allranks: 3 ranks recorded in "), line
    assert mpi.files() - {"others-ended"} == {EARLY_RUN} | ({"elsewhere.allranks"} if how == "moved" else set())
    info = mpi.info(EARLY_RUN)
    assert (info.ranks, info.lost) == ([0, 1, 2], 0)
    assert {process["state"] for process in info.processes} == {"finished"}
    report = mpi.report(EARLY_RUN)
    assert (report.calls("before"), report.calls("after")) == (3 * 5, 3 * 7)
    assert sum(node["calls"] for node in report.nodes if node.name == "MPI_Finalize") == 3
    assert mpi.left_overs() == []


def test_a_rank_killed_after_mpi_finalize_loses_nothing(mpi: Sandbox):
    """What its launcher does with the others is the launcher's: the run of MPI_Finalize is there, the rest in live files or in it."""
    done = mpi.recorded_ranks(2, EARLY, "killed")
    assert done.code != 0
    assert mpi.report(EARLY_RUN).calls("before") == 2 * 5
    left = [mpi.live] if mpi.live_files() else []
    merged = mpi.allranks("merge", EARLY_RUN, *left, "-o", "merged.allranks")
    assert merged.code == 0 and "adds nothing" not in merged.err, merged
    if left:
        again = mpi.allranks("merge", "merged.allranks", *left, "-o", "again.allranks")
        assert again.code == 0 and f"{mpi.live}: adds nothing, all of its processes are there already\n" in again.err, again
        assert mpi.info("again.allranks").processes == mpi.info("merged.allranks").processes
    assert mpi.info("merged.allranks").ranks == [0, 1]
    report = mpi.report("merged.allranks")
    assert (report.calls("before"), report.calls("after")) == (2 * 5, 2 * 7)


def test_merging_is_no_part_of_mpi_finalize(mpi: Sandbox):
    """A file system that takes its time with the run: both ranks wait for it, but not in MPI's own function."""
    slow = slow_fsync(mpi, SLOW_S)
    assert not settled(lambda: merging_in_finalize(mpi, slow))


def merging_in_finalize(mpi: Sandbox, slow: str) -> dict[str, str]:
    (mpi.cwd / EARLY_RUN).unlink(missing_ok=True)
    done = mpi.run(mpi.ranks(2, "env", f"LD_PRELOAD={slow}", *mpi.recorder(), EARLY))
    assert done.code == 0, done
    (call,) = [node for node in mpi.report(EARLY_RUN).nodes if node.name == "MPI_Finalize"]
    assert call.parent["time_ns"]["sum"] > 2 * 1e9 * SLOW_S
    took_s = call["time_ns"]["sum"] / 1e9
    return {"MPI_Finalize": f"{took_s} s"} if took_s > SLOW_S else {}


def slow_fsync(mpi: Sandbox, seconds: float) -> str:
    source, target = mpi.cwd.parent / "slow.c", mpi.cwd.parent / "slow.so"
    source.write_text(f"#include <unistd.h>\nint fsync(int fd) {{ usleep({int(seconds * 1e6)}); return fdatasync(fd); }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", target, source], check=True)
    return str(target)


# ---- MPI_Finalize is not called ----


@pytest.mark.parametrize("how", ["never", "raises", "at-once", "abort"])
def test_ranks_that_end_in_other_ways_lose_nothing(mpi: Sandbox, how: str):
    """Whether they merge is MPI's and the launcher's: what they did is in the run, or in live files, and a line says so."""
    program = (workload("ends_ranks.py"), how)
    plain = mpi.plain_ranks(2, *program)
    done = mpi.recorded_ranks(2, *program)
    assert (done.code, done.stdout) == (plain.code, plain.stdout), done
    assert done.err.count("ValueError") == plain.err.count("ValueError")
    run = "ends_ranks.allranks"
    if how == "raises":
        assert [is_closing_line(line) for line in our_lines(done)] == [True]
    else:
        assert mpi.files() == set()
        recovered = mpi.allranks("recover", mpi.live, "-o", run)
        assert recovered.code == 0, recovered
    if how == "never":
        (line,) = our_lines(done)
        assert line.startswith("allranks: MPI_Finalize was not called, so the ranks were not merged; "), line
    assert mpi.info(run).ranks == [0, 1]
    assert mpi.report(run).calls("work") == 2 * 4


ABORTS_LATE = """
import os, time
from mpi4py import MPI
def work():
    return None
work()
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    os._exit(0)
time.sleep(1)
MPI.COMM_WORLD.Abort(7)
"""


def test_a_rank_that_is_killed_while_it_writes_leaves_no_half_of_a_file(mpi: Sandbox):
    """Rank 0 is at its end, and its disk is slow, when rank 1 aborts the job."""
    program = mpi.cwd.parent / "aborts_late.py"
    program.write_text(ABORTS_LATE)
    slow = ("env", f"LD_PRELOAD={slow_fsync(mpi, 5)}")
    done = mpi.run(mpi.ranks(2, *slow, *mpi.recorder("--per-rank"), str(program)))
    assert done.code != 0 and mpi.files() == set(), done
    assert mpi.allranks("recover", mpi.live, "-o", "both.allranks").code == 0
    assert mpi.report("both.allranks").calls("work") == 2


# ---- processes that MPI starts ----


def test_processes_that_mpi_starts_are_recorded_as_children(mpi: Sandbox):
    plain = mpi.plain_ranks(2, workload("spawns.py"))
    if plain.code:
        pytest.skip("this MPI cannot start processes")
    done = mpi.recorded_ranks(2, workload("spawns.py"))
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"parent done\n" * 2), done
    (line,) = our_lines(done)
    assert "2 ranks and 2 child processes" in line
    mpi.wait_for_the_last()
    assert mpi.files() == {"spawns.allranks"}
    info = mpi.info("spawns.allranks")
    assert sorted(info.ranks) == [0, 0, 0, 1]  # they are rank 0's, whatever they are in their own world
    report = mpi.report("spawns.allranks")
    assert (report.data["processes"], report.data["ranks"]) == (4, 2)
    assert report.calls("work") == 2 * 2 + 10 + 20
    assert sum(node["calls"] for node in report.mpi("MPI_Barrier", "meet")) == 4


def test_processes_that_mpi_starts_are_left_alone_if_asked(mpi: Sandbox):
    plain = mpi.plain_ranks(1, workload("spawns.py"))
    if plain.code:
        pytest.skip("this MPI cannot start processes")
    done = mpi.recorded_ranks(1, workload("spawns.py"), options=("--no-children",))
    assert (done.code, done.stdout) == (plain.code, plain.stdout), done
    assert mpi.report("spawns.allranks").calls("work") == 2
    assert mpi.left_overs() == []


@pytest.mark.parametrize("words", [("-m", "mpi4py.futures"), ()], ids=["ranks", "spawned"])
def test_workers_of_a_pool_are_recorded(mpi: Sandbox, words: tuple[str, ...]):
    program = workload("futures_pool.py")
    n_ranks = 3 if words else 1
    if not words and mpi.plain_ranks(1, workload("spawns.py")).code:
        pytest.skip("this MPI cannot start processes")
    plain = mpi.plain_ranks(n_ranks, *words, program)
    done = mpi.recorded_ranks(n_ranks, *words, program, options=("-o", "pool.allranks"))
    assert (done.code, done.stdout) == (plain.code, plain.stdout), done
    mpi.wait_for_the_last()
    assert mpi.files() == {"pool.allranks"}
    report = mpi.report("pool.allranks")
    assert report.calls("square") == 12
    assert report.data["processes"] == 3


@pytest.mark.every_stack  # few can
def test_two_runs_that_connect_are_two_runs(mpi: Sandbox):
    def both(*words: str) -> list[Done]:
        (mpi.cwd / "port").unlink(missing_ok=True)
        started = [mpi.start([*mpi.ranks(1, mpi.stack.python, *words), workload("connects.py"), way]) for way in ("accept", "connect")]
        return [each.wait() for each in started]

    if mpi.stack.mpi == "openmpi":
        pytest.skip("Open MPI connects two launchers through a server only")
    plain = both()
    if plain[0].code:
        pytest.skip("no ports here")
    assert [each.out for each in plain] == ["from connect\n", "from accept\n"], plain
    recorded = both(*mpi.recorder("-o", "run.allranks")[1:])
    assert [(each.code, each.stdout) for each in recorded] == [(each.code, each.stdout) for each in plain], recorded
    runs = sorted(name for name in mpi.files() if name.endswith(".allranks"))
    assert runs == ["run-2.allranks", "run.allranks"]
    assert [mpi.report(run).calls("talk") for run in runs] == [1, 1]


# ---- sessions ----


@pytest.mark.every_stack  # few can
def test_a_program_that_has_sessions_only_is_recorded(mpi: Sandbox):
    program = workload("session_only.py")
    plain = mpi.plain_ranks(2, program)
    if plain.code:
        pytest.skip("no sessions here")
    done = mpi.recorded_ranks(2, program)
    assert (done.code, sorted(done.out.splitlines())) == (0, sorted(plain.out.splitlines())), done
    assert [is_closing_line(line) for line in our_lines(done)] == [True] and mpi.left_overs() == []
    assert mpi.info("session_only.allranks").ranks == [0, 1]
    report = mpi.report("session_only.allranks")
    assert report.calls("meet") == 2 * 3
    assert sum(node["calls"] for node in report.mpi("MPI_Barrier", "meet")) == 2 * 3


# ---- who a process is, before MPI says so ----

SHELL_OF_SALLOC = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}


@pytest.mark.parametrize(
    ("environment", "rank"),
    [({**SHELL_OF_SALLOC, "PMI_RANK": "1", "PMI_SIZE": "3"}, 1), (SHELL_OF_SALLOC, None)],
    ids=["rank", "shell"],
)
def test_the_environment_says_which_rank_this_is(python: Sandbox, environment: dict[str, str], rank: int | None):
    """Each is the rank's own file, if there are others, or a run."""
    done = python.recorded("-c", "pass", env=environment)
    assert done.code == 0, done
    (path,) = [*python.files(), *python.live_files()]
    assert python.info(path).ranks == [rank]
    if rank is None:
        assert python.left_overs() == []
