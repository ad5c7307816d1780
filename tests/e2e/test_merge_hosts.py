# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on two hosts that share no file system: they are one run, written by rank 0; and what is not merged is beside the
output of each host.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from harness import Sandbox, workload
from hosts import Hosts, two_hosts
from test_merge_faults import RUN, assert_steps, our_lines

PROGRAM = workload("ends_badly.py")


def recorded(mpi: Sandbox, *options: str) -> list[str]:
    return [mpi.stack.python, "-m", "allranks", *options]


def take_logs(mpi: Sandbox, hosts: Hosts) -> None:
    """To where the test looks for them."""
    for i in range(2):
        for name in hosts.files(i):
            if Path(name).name.startswith(("log-", "pid-")):
                (mpi.cwd / Path(name).name).write_text(hosts.run(i, f"cat '{name}'"))


def test_ranks_without_a_shared_file_system_are_one_run(mpi: Sandbox):
    with two_hosts(mpi) as hosts:
        done = mpi.run(hosts.launcher(*recorded(mpi), PROGRAM, "late"))
        assert done.code == 0 and ["4 ranks recorded" in line for line in our_lines(done)] == [True], done
        assert f"./{RUN}" in hosts.files(0) and f"./{RUN}" not in hosts.files(1)
        assert [name for i in range(2) for name in hosts.files(i, "/dev/shm") if "allranks" in name] == []
        take_logs(mpi, hosts)
        home = hosts.bring_home(0, ".", Path("home"))
        assert_steps(mpi, home / RUN)
        assert {process["host"] for process in mpi.info(home / RUN).processes} == {"first-host", "second-host"}


def test_a_host_that_is_not_recorded_hangs_nobody(mpi: Sandbox):
    """By a wrapper that records the ranks of one host only."""
    with two_hosts(mpi) as hosts:
        script = 'if [ "$(hostname)" = first-host ]; then exec "$0" -m allranks "$@"; else exec "$0" "$@"; fi'
        done = mpi.run(hosts.launcher("sh", "-c", script,
                                      mpi.stack.python, PROGRAM, "all"))  # fmt: skip
        (line,) = our_lines(done)
        assert done.code == 0 and "only 2 of 4 ranks were found here" in line, done
        assert f"allranks recover {mpi.cwd}/ends_badly.live/" in line
        take_logs(mpi, hosts)
        kept = hosts.bring_home(0, "ends_badly.live", Path("kept"))
    assert mpi.allranks("recover", kept, "-o", "half.allranks").code == 1
    assert_steps(mpi, "half.allranks", [0, 1])


def test_what_is_not_merged_is_beside_the_output_of_each_host(mpi: Sandbox):
    """Rank 3 is killed, and then all are asked to end: its neighbour has copied its file. Some launchers ask nobody, but
    kill: then files are where they were.
    """
    with two_hosts(mpi) as hosts:
        running = mpi.start(hosts.launcher(*recorded(mpi), PROGRAM, "sleep"))
        running.wait_until(lambda: sum("met-" in name for i in range(2) for name in hosts.files(i)) == 4, "all have met")
        take_logs(mpi, hosts)
        pids = [int((mpi.cwd / f"pid-{rank}").read_text()) for rank in range(4)]
        os.kill(pids[3], signal.SIGKILL)
        for pid in pids[:3]:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
        running.wait()
        places = []
        for i in range(2):
            for place in ("ends_badly.live", "/dev/shm/allranks-0"):
                if hosts.run(i, f"test -d {place} && echo yes || true"):
                    places.append(hosts.bring_home(i, place, Path(f"left-{i}-{len(places)}")))
    recovered = mpi.allranks("recover", *places, "-o", RUN)
    assert recovered.code == 0, recovered
    assert_steps(mpi, RUN)
