# SPDX-License-Identifier: BSD-3-Clause
"""Clocks of hosts that differ, and go wrong between the comparisons at both ends: no message of a trace is received before it was
sent. Where there is one clock, nothing is moved.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from harness import Sandbox, workload

N_RANKS = 3
SECONDS = 1.5
SKEW_S = 0.02
ERROR_S = 0.002  # of comparing clocks, on a busy machine

# CLOCK_MONOTONIC goes wrong from SKEW_FROM on, by up to SKEW_BY, and is right again SKEW_SPAN later; all in ns.
SHIM = r"""
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double number(const char *name)
{
    const char *text = getenv(name);

    return text ? atof(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    static double from, span, by;
    int status = (int)syscall(SYS_clock_gettime, id, t);
    double ns, since;

    if (id != CLOCK_MONOTONIC || status)
        return status;
    if (!span) {
        from = number("SKEW_FROM");
        by = number("SKEW_BY");
        span = number("SKEW_SPAN");
    }
    ns = 1e9 * (double)t->tv_sec + (double)t->tv_nsec;
    since = ns - from;
    if (since <= 0 || since >= span)
        return 0;
    long long wrong = (long long)ns + (long long)(by * pow(sin(M_PI * since / span), 2));
    t->tv_sec = wrong / 1000000000;
    t->tv_nsec = wrong % 1000000000;
    return 0;
}
"""

# A host of its own, as far as names go; no processor's counter; and, of one rank, a clock that goes wrong.
IN_OWN_HOST = """\
rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
hostname node$rank
mount --bind '{clock}' /sys/devices/system/clocksource/clocksource0/current_clocksource
[ $rank != {skewed} ] || export LD_PRELOAD='{shim}'
exec "$@"
"""

needs_hosts = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="host names of one's own need root"
)


@pytest.fixture
def shim(mpi: Sandbox) -> Path:
    source, library = mpi.cwd / "skew.c", mpi.cwd / "skew.so"
    source.write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library), "-lm"], check=True)
    return library


def pairs(mpi: Sandbox, run: str) -> list[dict[str, str]]:
    done = mpi.allranks("dump", run, "--pairs", "--csv")
    assert done.code == 0, done
    return list(csv.DictReader(io.StringIO(done.out)))


def waiting(mpi: Sandbox, run: str) -> dict:
    done = mpi.allranks("waits", run, "--trace", "--json")
    assert done.code == 0, done
    return json.loads(done.out)["trace_waiting"]


def run_skewed(mpi: Sandbox, shim: Path, skewed: int, by_s: float) -> str:
    clock = mpi.cwd / "clocksource"
    clock.write_text("none\n")
    script = mpi.cwd / "own-host"
    script.write_text(IN_OWN_HOST.format(clock=clock, skewed=skewed, shim=shim))
    words = mpi.recorder("--trace", "--live-dir", str(mpi.cwd / "shared"), "-o", "run.allranks")
    env = {"SKEW_FROM": str(time.monotonic_ns() + 2_000_000_000), "SKEW_BY": str(by_s * 1e9), "SKEW_SPAN": str(SECONDS * 1e9)}
    argv = ["unshare", "--uts", "--mount", "sh", str(script), *words, workload("skewed_messages.py"), str(SECONDS + 2.5)]
    done = mpi.run(mpi.ranks(N_RANKS, *argv), env=env)
    assert done.code == 0, done
    if not (mpi.cwd / "run.allranks").exists():
        pytest.skip("this launcher names its jobs after the host")
    return "run.allranks"


@needs_hosts
@pytest.mark.parametrize("by_s", [SKEW_S, -SKEW_S])
def test_a_clock_that_goes_wrong(mpi: Sandbox, shim: Path, by_s: float):
    """Ahead, its messages come too late for the others; behind, theirs for it. Either way nobody receives what was not sent."""
    run = run_skewed(mpi, shim, 1, by_s)
    found, messages = waiting(mpi, run), pairs(mpi, run)
    assert found["clocks_corrected"] and found["moved_messages"] + found["moved_collectives"] > 3
    assert 0.5 * SKEW_S <= found["largest_shift_ns"] / 1e9 <= SKEW_S + ERROR_S
    assert len(messages) > 50 and all(int(row["sent_ns"]) <= int(row["received_ns"]) for row in messages)
    note = mpi.allranks("dump", run, "-n", "1").err
    assert "clocks of ranks disagree" in note and "were moved forward" in note


@needs_hosts
@pytest.mark.alone
def test_clocks_that_are_right(mpi: Sandbox, shim: Path):
    """Hosts of which nobody's clock goes wrong: what is moved is not more than comparing them may be off by."""
    found = waiting(mpi, run_skewed(mpi, shim, N_RANKS, 0))
    assert found["clocks_corrected"] and found["messages"] > 50
    assert found["largest_shift_ns"] / 1e9 < ERROR_S


# CLOCK_MONOTONIC is off by SKEW_NS, always.
CONSTANT = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
{
    const char *text = getenv("SKEW_NS");
    int status = (int)syscall(SYS_clock_gettime, id, t);

    if (id == CLOCK_MONOTONIC && status == 0) {
        long long ns = 1000000000LL * t->tv_sec + t->tv_nsec + (text ? atoll(text) : 0);

        t->tv_sec = ns / 1000000000;
        t->tv_nsec = ns % 1000000000;
    }
    return status;
}
"""

WITH_OFFSET = """\
rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
hostname node$rank
mount --bind '{clock}' /sys/devices/system/clocksource/clocksource0/current_clocksource
export SKEW_NS=$(echo {offsets} | cut -d' ' -f $((rank + 1)))
export LD_PRELOAD='{library}'
exec "$@"
"""

# What each rank did at which time of day, which is not skewed, and whether messages go back as well.
TALKS = """
import json, sys, time
import allranks
from mpi4py import MPI
world = MPI.COMM_WORLD
both, noted = sys.argv[1] == "both", []
for i in range(30):
    time.sleep(0.01 if world.rank == i % world.size else 0.001)
    with allranks.region("moment"):
        noted.append(time.time_ns())
    if world.rank == 0:
        for to in range(1, world.size):
            world.send(i, to)
            if both:
                world.recv(source=to)
    else:
        world.recv(source=0)
        if both:
            world.send(i, 0)
with open(f"noted-{world.rank}.json", "w") as file:
    json.dump(noted, file)
"""


def merged_from_files(mpi: Sandbox, offsets_s: list[float], how: str, directions: str) -> str:
    """A run of hosts whose clocks differ and were not compared."""
    source, library, clock = mpi.cwd / "offset.c", mpi.cwd / "offset.so", mpi.cwd / "clocksource"
    source.write_text(CONSTANT)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    clock.write_text("none\n")
    script = mpi.cwd / "own-host"
    offsets = " ".join(str(int(offset * 1e9)) for offset in offsets_s)
    script.write_text(WITH_OFFSET.format(clock=clock, offsets=offsets, library=library))
    (mpi.cwd / "talks.py").write_text(TALKS)
    output = "part.{rank}.allranks" if how == "--per-rank" else "part.allranks"
    words = mpi.recorder("--trace", how, "--live-dir", str(mpi.cwd / "shared"), "-o", output)
    argv = ["unshare", "--uts", "--mount", "sh", str(script), *words, "talks.py", directions]
    done = mpi.run(mpi.ranks(len(offsets_s), *argv))
    assert done.code == 0, done
    parts = sorted(mpi.cwd.glob("part.[0-9].allranks")) or sorted(mpi.cwd.rglob("r*.live"))
    assert len(parts) == len(offsets_s), parts
    merged = mpi.allranks("merge", *parts, "-o", "run.allranks")
    assert merged.code == 0, merged
    return "run.allranks"


def moments(mpi: Sandbox, run: str, n_ranks: int) -> list[list[int]]:
    """By rank: when the trace says that it took a note of the time of day."""
    done = mpi.allranks("dump", run, "--csv", "--match", "moment")
    assert done.code == 0, done
    rows = [row for row in csv.DictReader(io.StringIO(done.out)) if row["event"] == "enter"]
    return [[int(row["time_ns"]) for row in rows if row["rank"] == str(rank)] for rank in range(n_ranks)]


@needs_hosts
@pytest.mark.parametrize("how", ["--no-merge", "--per-rank"])
@pytest.mark.parametrize("offsets_s", [[0, -0.3], [0, 0.3], [0.1, -0.3, 0.5]], ids=["behind", "ahead", "three"])
def test_clocks_that_were_never_compared(one_mpi: Sandbox, offsets_s: list[float], how: str):
    """Messages say what they are, to within the stated error, and waits are found as long as they were."""
    run = merged_from_files(one_mpi, offsets_s, how, "both")
    found, messages = waiting(one_mpi, run), pairs(one_mpi, run)
    n_hosts, error_ns = len(offsets_s), found["clocks_error_ns"]
    assert (found["clocks"], found["hosts_estimated"], found["hosts_not_known"]) == ("estimated", n_hosts - 1, 0)
    assert len(messages) == 60 * (n_hosts - 1) and all(int(row["sent_ns"]) <= int(row["received_ns"]) for row in messages)
    assert found["clocks_corrected"] and found["largest_shift_ns"] <= 2
    assert found["waited_ns"] > 0.05e9
    assert "estimated from messages, to within" in one_mpi.allranks("info", run).out
    assert "is estimated from messages, to within" in one_mpi.allranks("dump", run, "-n", "1").err
    noted, traced, quickest = [one_mpi.read_json(f"noted-{rank}.json") for rank in range(n_hosts)], moments(one_mpi, run, n_hosts), []
    for rank in range(1, n_hosts):
        off = [traced[rank][i] - traced[0][i] - (noted[rank][i] - noted[0][i]) for i in range(30)]
        assert abs(statistics.median(off)) <= error_ns + ERROR_S * 1e9, off
        there = [int(row["sent_ns"]) for row in messages if row["to_rank"] == str(rank)]
        back = [int(row["received_ns"]) for row in messages if row["from_rank"] == str(rank)]
        quickest.append(min(b - a for a, b in zip(sorted(there), sorted(back))))
    assert 0 < error_ns <= max(quickest) / 2


@needs_hosts
def test_clocks_that_are_not_known(one_mpi: Sandbox):
    """Messages in one direction do not say what they are: that is said, and no wait between hosts is claimed."""
    run = merged_from_files(one_mpi, [0, -0.3], "--per-rank", "one-way")
    found = waiting(one_mpi, run)
    assert (found["clocks"], found["hosts_not_known"], found["clocks_corrected"]) == ("not_known", 1, False)
    info = one_mpi.allranks("info", run).out
    assert "clocks     not known" in info and "no message is received before" not in info
    for words in (["dump", run, "-n", "1"], ["timeline", run], ["waits", run, "--trace"]):
        done = one_mpi.allranks(*words)
        assert done.code == 0 and "clock not known: node1" in done.err, done
    assert "whose clock is known" in one_mpi.allranks("waits", run, "--trace").out


def test_one_clock(mpi: Sandbox):
    done = mpi.recorded_ranks(N_RANKS, workload("skewed_messages.py"), "0.2", options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    found = waiting(mpi, "run.allranks")
    assert not found["clocks_corrected"]
    assert found["moved_messages"] == found["moved_collectives"] == found["largest_shift_ns"] == 0
    assert all(int(row["sent_ns"]) < int(row["received_ns"]) for row in pairs(mpi, "run.allranks"))
