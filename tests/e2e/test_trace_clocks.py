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


def test_one_clock(mpi: Sandbox):
    done = mpi.recorded_ranks(N_RANKS, workload("skewed_messages.py"), "0.2", options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    found = waiting(mpi, "run.allranks")
    assert not found["clocks_corrected"]
    assert found["moved_messages"] == found["moved_collectives"] == found["largest_shift_ns"] == 0
    assert all(int(row["sent_ns"]) < int(row["received_ns"]) for row in pairs(mpi, "run.allranks"))
