# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not come to the merge, stop in it, have no room for it, or are killed: nobody is hung by us, and all that was
recorded is in the run file or in live files. What the ranks did is in their own logs.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Done, Running, Sandbox, end_session, processes_of_session, workload

PROGRAM = workload("ends_badly.py")
RUN = "ends_badly.allranks"
SOON = ("--merge-timeout", "2")
N = 4

# Stops the process in the moment in which another one waits for it, once. The file says that it has.
STOPS = """
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void stop(const char *where)
{
    static int done;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    if (done || !rank || strcmp(rank, getenv("STOP_RANK")) || strcmp(where, getenv("STOP_IN")))
        return;
    done = 1;
    close(open("stopped", O_CREAT | O_WRONLY, 0600));
    raise(SIGSTOP);
}
int fsync(int fd)
{
    stop("fsync");
    return fdatasync(fd);
}
int nanosleep(const struct timespec *t, struct timespec *left)
{
    if (t->tv_sec == 0 && t->tv_nsec == 50000)
        stop("waiting");
    return clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
}
"""


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def our_lines(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("allranks: ")]


def steps_in(mpi: Sandbox, rank: int, where: Path | None = None) -> tuple[int, int]:
    text = ((where or mpi.cwd) / f"log-{rank}").read_bytes()
    return text.count(b"done\n"), text.count(b"start\n")


def assert_steps(mpi: Sandbox, run: str | Path, ranks: range | list[int] = range(N)) -> None:
    """Each rank's are in it, as many as its log says."""
    assert sorted(mpi.info(run).ranks) == list(ranks)
    for rank in ranks:
        n_done, n_begun = steps_in(mpi, rank)
        stats = mpi.pstats(run, "--rank", str(rank))
        (step,) = [calls for key, calls in stats.items() if key[2] == "step"]
        assert n_done <= step.calls <= n_begun and n_done >= 20


def assert_recovered(mpi: Sandbox, *directories: Path | str) -> None:
    recovered = mpi.allranks("recover", *directories, "-o", "recovered.allranks")
    assert recovered.code == 0, recovered
    assert_steps(mpi, "recovered.allranks")


def pid_of(mpi: Sandbox, rank: int) -> int:
    return int((mpi.cwd / f"pid-{rank}").read_text())


def all_have_met(mpi: Sandbox) -> bool:
    return len(list(mpi.cwd.glob("met-*"))) == N


def said(running: Running, words: str) -> bool:
    return words in running.result().err


def kill_session(running: Running, number: int) -> None:
    for pid in processes_of_session(running.process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


# ---- ranks that do not come ----


def test_a_rank_that_never_comes_is_not_waited_for_long(mpi: Sandbox):
    """The others stand in MPI_Finalize then, as they would without us, but the files are closed and a line says so."""
    running = mpi.start(mpi.ranks(N, *mpi.recorder(*SOON), PROGRAM, "stays-one"))
    running.wait_until(lambda: said(running, "rank 1 did not come to MPI_Finalize within 2 s"), "a line about rank 1")
    (line,) = our_lines(running.result())
    assert re.search(r"allranks recover \S+ -o \S+$", line)
    end_session(running.process)
    assert RUN not in mpi.files() and len(mpi.live_files()) == N
    assert_recovered(mpi, mpi.live)


def test_a_rank_that_has_ended_is_not_waited_for(mpi: Sandbox):
    """Whether the others are killed, end, or stand in MPI_Finalize is the launcher's and MPI's, and chance: in any case not we
    wait, for five minutes as it would be.
    """
    running = mpi.start(mpi.ranks(N, *mpi.recorder(), PROGRAM, "exit-one"))
    try:
        running.wait_until(lambda: said(running, "rank 1 ended before MPI_Finalize"), "a line about rank 1")
    except AssertionError as error:  # unless it just hangs
        assert "ended before a line" in str(error)
    end_session(running.process)
    assert RUN not in mpi.files() and len(mpi.live_files()) == N
    assert_recovered(mpi, mpi.live)


@pytest.mark.parametrize("rank, place, how", [(0, "fsync", "all"), (2, "waiting", "late")])
def test_a_rank_that_is_stopped_in_the_merge_is_not_waited_for_long(mpi: Sandbox, rank: int, place: str, how: str):
    """The others give up; when it goes on again it finds that they have, and the job ends as ever."""
    source, library = mpi.cwd.parent / "stops.c", mpi.cwd.parent / "stops.so"
    source.write_text(STOPS)
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source], check=True)
    preload = ["env", f"LD_PRELOAD={library}", f"STOP_RANK={rank}", f"STOP_IN={place}"]
    running = mpi.start(mpi.ranks(N, *preload, *mpi.recorder(*SOON), PROGRAM, how))
    running.wait_until((mpi.cwd / "stopped").exists, "a rank that is stopped")
    if rank:
        running.wait_until(lambda: bool(our_lines(running.result())), "a line of rank 0")
    else:
        states = lambda: [process["finished"] for process in mpi.info(mpi.live).processes]  # noqa: E731
        running.wait_until(lambda: all(states()), "all files are closed")
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(4)  # the patience of the others is over
    os.kill(pid_of(mpi, rank), signal.SIGCONT)
    done = running.wait()
    assert done.code == 0, done
    if rank:
        assert RUN not in mpi.files() and len(mpi.live_files()) == N
        assert_recovered(mpi, mpi.live)
    else:
        assert_steps(mpi, RUN)
        assert len(mpi.live_files()) == N - 1


# ---- no room ----


def test_a_full_disk_of_live_files_loses_paths_and_not_ranks(mpi: Sandbox):
    """If there is not even room for the ranks' verdict, they are not merged. A rank that starts when others have filled it says so."""
    with small_disk(mpi.cwd.parent / "small", "1200k") as mpi.live:
        done = mpi.recorded_ranks(N, PROGRAM, "all", options=("--builtins", "all"))  # imports alone fill it
        assert done.code == 0, done
        unrecorded = {int(rank) for rank in re.findall(r"/r(\d+)-\S+: no room for .* runs without being recorded", done.err)}
        if RUN not in mpi.files():
            recovered = mpi.allranks("recover", mpi.live, *mpi.cwd.glob("*.live/*"), "-o", RUN)
            assert recovered.code == (1 if unrecorded else 0), (done, recovered)
    assert len(unrecorded) < N
    assert mpi.info(RUN).ranks == [rank for rank in range(N) if rank not in unrecorded], done
    assert mpi.info(RUN).lost > 0


def test_a_full_disk_at_the_output_leaves_the_live_files(mpi: Sandbox):
    with small_disk(mpi.cwd.parent / "out", "16k") as out:
        done = mpi.recorded_ranks(N, PROGRAM, "all", options=("-o", str(out / "x.allranks")))
        assert done.code == 0, done
        (line,) = our_lines(done)
        assert "No space left on device" in line and f"allranks recover {mpi.live}" in line
        assert not [path for path in out.rglob("*") if path.is_file()]
    assert len(mpi.live_files()) == N
    assert_recovered(mpi, mpi.live)


# ---- killed ----


@pytest.mark.parametrize("how", ["sleep", "handler"])
def test_the_time_limit_of_a_job(mpi: Sandbox, how: str):
    """SIGTERM, and SIGKILL to whoever is left: live files that lie in memory are beside the output then. A handler of the
    program's own is left alone.
    """
    with small_disk(mpi.cwd.parent / "memory", "64m") as mpi.live:
        running = mpi.start(mpi.ranks(N, *mpi.recorder(), PROGRAM, how))
        running.wait_until(lambda: all_have_met(mpi), "all have met")
        for rank in range(N):
            os.kill(pid_of(mpi, rank), signal.SIGTERM)
        running.wait_until(lambda: not any(map(is_alive, ranks_of(mpi))), "the ranks have ended")
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(10)
        kill_session(running, signal.SIGKILL)
        done = running.wait()
        if how == "handler":  # a launcher may kill the others when the first one has ended
            assert done.out.count("was asked to end") >= 1 and "ended by SIGTERM" not in done.err
            assert_recovered(mpi, *filter(Path.exists, (mpi.cwd / "ends_badly.live", mpi.live)))
    if how == "sleep":
        assert all(f"allranks recover {mpi.cwd / 'ends_badly.live'}" in line for line in our_lines(done))
        assert_recovered(mpi, mpi.cwd / "ends_badly.live")


def ranks_of(mpi: Sandbox) -> list[int]:
    return [pid_of(mpi, rank) for rank in range(N)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_kill_9_of_all_at_once(mpi: Sandbox):
    running = mpi.start(mpi.ranks(N, *mpi.recorder(), PROGRAM, "sleep"))
    running.wait_until(lambda: all_have_met(mpi), "all have met")
    kill_session(running, signal.SIGKILL)
    for pid in ranks_of(mpi):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    running.wait()
    assert len(mpi.live_files()) == N
    assert_recovered(mpi, mpi.live)


# ---- something else in the place of a file ----


def test_a_fifo_in_the_place_of_the_verdict_is_not_waited_for(mpi: Sandbox):
    """Nobody has agreed then, so nothing is merged, and nothing lost."""
    program = workload("planted_verdict.py")
    plain = mpi.plain_ranks(N, program, "-")
    done = mpi.recorded_ranks(N, program, str(mpi.live))
    assert (done.code, done.out) == (plain.code, plain.out) == (0, "sum 6\n"), done
    (line,) = our_lines(done)
    assert "allranks recover" in line
    assert mpi.allranks("recover", mpi.live, mpi.cwd, "-o", "all.allranks").code == 0
    assert mpi.info("all.allranks").ranks == list(range(N))


# ---- on request ----


def test_ranks_that_are_not_to_be_merged(mpi: Sandbox):
    done = mpi.recorded_ranks(N, PROGRAM, "all", options=("--no-merge",))
    assert done.code == 0, done
    (line,) = our_lines(done)
    found = re.search(r"allranks merge (\S+) -o ends_badly.allranks$", line)
    assert found, line
    assert RUN not in mpi.files() and mpi.left_overs() == []
    merged = mpi.allranks("merge", found.group(1), "-o", RUN)
    assert (merged.code, merged.out) == (0, ""), merged
    assert_steps(mpi, RUN)
    bad = mpi.recorded("-c", "", options=("--merge-timeout", "soon"))
    assert bad.code == 2 and "--merge-timeout soon: not a number of seconds" in bad.err
