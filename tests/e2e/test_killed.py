# SPDX-License-Identifier: BSD-3-Clause
"""What is left when a process is killed: all that it had done, by its own log."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from harness import Sandbox, workload

PROGRAM = workload("steps_until_killed.py")


def steps_in(log: Path) -> tuple[int, int]:
    """How many steps were done for certain, and how many were begun."""
    text = log.read_bytes() if log.exists() else b""
    return text.count(b"done\n"), text.count(b"start\n")


def assert_all_is_there(python: Sandbox, path: Path | str, n_done: int, n_begun: int) -> None:
    report = python.report(path)
    assert n_done <= report.calls("step") <= n_begun
    assert 2 * n_done <= report.calls("part") <= 2 * n_begun


def test_a_killed_process_leaves_all_it_had_done(python: Sandbox):
    log = python.cwd / "log"
    running = python.start([*python.recorder(), PROGRAM, "log"])
    running.wait_until(lambda: steps_in(log)[0] > 2000, "2000 steps")
    done = running.kill()
    assert done.code == -9
    n_done, n_begun = steps_in(log)
    (live,) = python.live_files()
    for path in (live, live.parent, python.live):
        assert_all_is_there(python, path, n_done, n_begun)
    (process,) = python.info(live).processes
    assert not process["finished"]
    assert "unfinished" in python.answer("info", live).decode()
    assert "unfinished 1" in python.answer("report", live).decode()
    merged = python.allranks("merge", python.live, "-o", "merged.allranks")
    assert (merged.code, merged.out) == (0, "")
    assert_all_is_there(python, "merged.allranks", n_done, n_begun)
    assert python.live_files() == [live]


def test_a_running_process_can_be_looked_at(python: Sandbox):
    """The same file, while it is being written; what is seen only grows."""
    log = python.cwd / "log"
    running = python.start([*python.recorder(), PROGRAM, "log"])
    seen = [0]
    for _ in range(20):
        running.wait_until(lambda: steps_in(log)[0] > seen[-1] + 50, "50 more steps")
        n_done, _ = steps_in(log)
        seen.append(python.report(python.live).calls("step"))
        assert n_done <= seen[-1] <= steps_in(log)[1]
    running.kill()


def test_a_killed_rank_leaves_all_that_every_rank_had_done(mpi: Sandbox):
    """The launcher takes the others down with it; each must have its steps."""
    n_ranks = 3
    plain = mpi.plain_ranks(n_ranks, PROGRAM, "plain", "mpi")
    killed = mpi.recorded_ranks(n_ranks, PROGRAM, "log", "mpi")
    assert killed.code == plain.code != 0
    assert_ranks_are_there(mpi, n_ranks)


def test_mpi_abort_leaves_all_that_every_rank_had_done(mpi: Sandbox):
    n_ranks = 3
    plain = mpi.plain_ranks(n_ranks, PROGRAM, "plain", "mpi-abort")
    aborted = mpi.recorded_ranks(n_ranks, PROGRAM, "log", "mpi-abort")
    assert aborted.code == plain.code != 0
    assert_ranks_are_there(mpi, n_ranks)


def assert_ranks_are_there(mpi: Sandbox, n_ranks: int) -> None:
    assert [name for name in mpi.files() if not re.match(r"(plain|log)-\d$", name)] == []
    assert len(mpi.live_files()) == n_ranks
    mpi.wait_until_none_runs()
    merged = mpi.allranks("merge", mpi.live, "-o", "merged.allranks")
    assert (merged.code, merged.out) == (0, ""), merged
    assert mpi.info("merged.allranks").ranks == list(range(n_ranks))
    recovered = mpi.allranks("recover", mpi.live, "--remove", "-o", "recovered.allranks")
    assert (recovered.code, recovered.out) == (0, ""), recovered
    assert list(mpi.live.rglob("*")) == []
    assert mpi.report("recovered.allranks").data["nodes"] == mpi.report("merged.allranks").data["nodes"]
    for rank in range(n_ranks):
        n_done, n_begun = steps_in(mpi.cwd / f"log-{rank}")
        stats = mpi.pstats("merged.allranks", "--rank", str(rank))
        (step,) = [calls for key, calls in stats.items() if key[2] == "step"]
        assert 500 <= n_done <= step.calls <= n_begun


@pytest.mark.parametrize("which", ["one", "all"])
def test_a_wait_that_a_kill_ended_lasts_until_the_kill(mpi: Sandbox, which: str):
    """A rank that waits leaves no sign meanwhile: the last one of another rank says that the job still ran, or its own, where
    the launcher ends it by a signal once it has noticed the death of the other."""
    mpi.recorded_ranks(3, workload("killed_while_waiting.py"), "log", which)
    ended = time.monotonic()
    at = [float((mpi.cwd / f"log-{rank}").read_text()) for rank in range(3)]
    recovered = mpi.allranks("recover", mpi.live, "-o", "recovered.allranks")
    assert recovered.code == 0, recovered
    for run in (mpi.live, "recovered.allranks"):
        for rank in (1, 2):
            waited_s, killed_s = in_allreduce_ns(mpi, run, rank) / 1e9, at[0] - at[rank]
            latest_s = killed_s if which == "all" else ended - at[rank]
            assert 0.95 * killed_s < waited_s < latest_s + 0.05 * killed_s, recovered
        screen = " ".join(mpi.answer("where", run).decode().split())
        assert re.search(r"MPI_COMM_WORLD \(number \d on it\): ranks 1,2 have waited for at least [\d.]+ s", screen), screen
        assert "rank 0 is missing: it is computing in <module>" in screen


def in_allreduce_ns(mpi: Sandbox, run: Path | str, rank: int) -> float:
    data = json.loads(mpi.answer("mpi", "--json=1", "--ranks", str(rank), run))
    (row,) = [each for each in data["functions"] if each["name"] == "MPI_Allreduce"]
    return row["time_ns"]["mean"]
