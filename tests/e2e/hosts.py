# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts on one machine: each has a network with its /sys, a host name, a /dev/shm and a working directory of its own, by namespaces.
They share programs and processes, and nothing that is written. A launcher reaches the other one by a script in place of ssh.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Sandbox

NAMES = ("first-host", "second-host")
NETWORK = "10.77.0.0/24"

AGENT = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
exec nsenter -t "$(cat '{place}'/"$host")" -m -u -n -r sh -c "cd '{work}' && $*"
"""


def reason_against() -> str:
    try:
        done = subprocess.run(
            ["unshare", "--mount", "--uts", "--net", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && ip link set lo up"],
            capture_output=True, timeout=20,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    return done.stderr.decode().strip() if done.returncode else ""


class Hosts:
    def __init__(self, mpi: Sandbox, holders: list[subprocess.Popen[bytes]]) -> None:
        self.mpi = mpi
        self.place = mpi.cwd.parent / "hosts"
        self.holders = holders
        self.place.mkdir()
        self.agent = self.place / "agent"
        self.agent.write_text(AGENT.format(place=self.place, work=mpi.cwd))
        self.agent.chmod(0o755)
        addresses = [f"10.77.0.{i + 1} {name}\n" for i, name in enumerate(NAMES)]
        (self.place / "names").write_text("127.0.0.1 localhost\n" + "".join(addresses))
        pids = [str(holder.pid) for holder in holders]
        subprocess.run(["ip", "link", "add", "v0", "netns", pids[0], "type", "veth", "peer", "name", "v1",
                        "netns", pids[1]], check=True)  # fmt: skip
        for i, name in enumerate(NAMES):
            (self.place / name).write_text(pids[i])
            self.run(i, f"hostname {name}; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs '{mpi.cwd}'; "
                        f"mount --bind '{self.place}/names' /etc/hosts; ip link set lo up; "
                        f"ip addr add 10.77.0.{i + 1}/24 dev v{i}; ip link set v{i} up")  # fmt: skip
        for i in range(2):  # the kernel takes its time, and Open MPI 6 uses no link that is not up
            self.run(i, f"until ip link show v{i} | grep -q 'state UP'; do sleep 0.02; done")

    def enter(self, i: int, *argv: str) -> list[str]:
        """Words that have a command run on that host, in the working directory."""
        inside = ["sh", "-c", f"cd '{self.mpi.cwd}' && exec \"$@\"", "sh", *argv]
        return ["nsenter", "-t", str(self.holders[i].pid), "-m", "-u", "-n", "-r", *inside]

    def run(self, i: int, script: str) -> str:
        return subprocess.run(self.enter(i, "sh", "-ec", script), check=True, capture_output=True, timeout=60).stdout.decode()

    def launcher(self, *argv: str) -> list[str]:
        """Two ranks on each: Open MPI 5 would have all on the first, if processors may be shared. And over this network: Debian
        tells Open MPI 6 to use lo only.
        """
        if self.mpi.stack.mpi == "openmpi":
            how = ["--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl_tcp_if_include", NETWORK, "--map-by", "ppr:2:node",
                   "--host", ",".join(f"{name}:2" for name in NAMES)]  # fmt: skip
        else:
            how = ["-launcher", "ssh", "-launcher-exec", str(self.agent), "-hosts", ",".join(f"{name}:2" for name in NAMES)]
        return self.enter(0, *self.mpi.stack.mpiexec, *how, "-n", "4", *argv)

    def files(self, i: int, place: str | Path = ".") -> list[str]:
        """Below the working directory, or elsewhere."""
        return sorted(self.run(i, f"find '{place}' -type f").split())

    def bring_home(self, i: int, place: str, target: Path) -> Path:
        """What lies there as a directory that all see."""
        home = self.place / target
        home.mkdir()
        self.run(i, f"cp -r '{place}'/. '{home}'")
        return home


@contextlib.contextmanager
def two_hosts(mpi: Sandbox) -> Iterator[Hosts]:
    reason = reason_against()
    if reason:
        pytest.skip(f"no namespaces here: {reason}")
    argv = ["unshare", "--mount", "--uts", "--net", "--propagation", "private", "sh", "-c", "echo; exec sleep 600"]
    holders = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in NAMES]
    try:
        for holder in holders:
            assert holder.stdout is not None and holder.stdout.readline() == b"\n"
        yield Hosts(mpi, holders)
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
