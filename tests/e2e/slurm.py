# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of two nodes on one machine, from Debian's packages: munged, slurmctld and two slurmd as plain processes, with all that
they write in a directory of their own. It needs no systemd, no cgroups and no configuration of the machine's, and touches none.

    with running_slurm() as slurm:
        subprocess.run(["srun", "-n", "4", "hostname"], env={**os.environ, **slurm.env})
"""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

COMMANDS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
START_LIMIT_S = 60
KILL_WAIT_S = 2  # between SIGTERM and SIGKILL; sites have 30
NODES = ("first", "second")
N_CPUS = 4  # of each, whatever the machine has

# linuxproc follows processes by their parents, where sites use cgroups. A job may have all the processors that others have, too.
CONF = """\
ClusterName=allranks
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/%n
TmpFS={place}/%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait={kill_wait}
NodeName={nodes[0]} Port={ports[1]} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={n_cpus}
NodeName={nodes[1]} Port={ports[2]} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={n_cpus}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:8
"""


def reason_against() -> str:
    missing = [name for name in COMMANDS if not shutil.which(name, path=search_path())]
    return f"{', '.join(missing)} not found: install slurm-wlm and munge" if missing else ""


def search_path() -> str:
    """Daemons are where only root looks by default."""
    return f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"


def free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [each.getsockname()[1] for each in taken]


class Slurm:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.conf = place / "slurm.conf"
        self.env = {"SLURM_CONF": str(self.conf), "PATH": search_path()}
        self.daemons: list[subprocess.Popen[bytes]] = []

    # ---- its life ----

    def start(self) -> None:
        self.configure()
        key = self.place / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        places = [f"--{name}-file={self.place}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self.daemon("munged", "--foreground", f"--socket={self.place}/munge.socket", "--num-threads=4", *places)
        self.wait_until((self.place / "munge.socket").exists, "munged listens")
        self.daemon("slurmctld", "-D", "-i")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node)
        self.wait_until(lambda: self.says("sinfo", "-h", "-o", "%T %D") == f"idle {len(NODES)}", "the nodes are idle")

    def configure(self) -> None:
        """munge wants its socket where everybody may look, and what it trusts where nobody else may write."""
        self.place.chmod(0o755)
        for name in ("state", *NODES):
            (self.place / name).mkdir(0o755)
        user = pwd.getpwuid(os.geteuid()).pw_name
        self.conf.write_text(CONF.format(place=self.place, user=user, ports=free_ports(3), nodes=NODES, n_cpus=N_CPUS,
                                         host=socket.gethostname(), kill_wait=KILL_WAIT_S))  # fmt: skip
        (self.place / "cgroup.conf").write_text(self.without_cgroups())

    def without_cgroups(self) -> str:
        """Before 23.02 slurmd loads a plugin for them in any case; it looks at nothing as long as nothing asks it to."""
        found = re.search(r"(\d+)\.(\d+)", self.says("slurmd", "-V"))
        if found and tuple(map(int, found.groups())) >= (23, 2):
            return "CgroupPlugin=disabled\n"
        return f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={self.place}/cgroup\n"

    def daemon(self, name: str, *words: str) -> None:
        """It ends with us, however we end."""
        with open(self.place / f"{len(self.daemons)}-{name}.log", "wb") as log:
            argv = ["setpriv", "--pdeathsig", "KILL", name, *words]
            env = {**os.environ, **self.env}
            self.daemons.append(subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while not condition():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in self.daemons):
                raise RuntimeError(f"not so that {what}:\n{self.logs()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Jobs and the processes that keep them have our configuration in their environment, whoever is their parent."""
        for daemon in reversed(self.daemons):
            daemon.kill()
            daemon.wait()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> Iterator[int]:
        mark = f"SLURM_CONF={self.conf}".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)

    # ---- asking it ----

    def says(self, *argv: str) -> str:
        done = subprocess.run(argv, env={**os.environ, **self.env}, capture_output=True, text=True, timeout=60)
        return done.stdout.strip()

    def order(self, *argv: str) -> None:
        subprocess.run(argv, env={**os.environ, **self.env}, check=True, capture_output=True, timeout=60)

    @functools.cache  # noqa: B019
    def protocols(self) -> list[str]:
        """By which its ranks may find each other: words of --mpi."""
        return self.says("srun", "--mpi=list").split()

    def job(self, job_id: str, field: str) -> str:
        """What scontrol shows of a job, some minutes after its end as well."""
        found = re.search(rf"\b{field}=(\S+)", self.says("scontrol", "show", "job", job_id))
        return found.group(1) if found else ""

    def logs(self) -> str:
        return "\n".join(f"---- {path.name}\n{path.read_text(errors='replace')}" for path in self.place.glob("*.log"))


@contextlib.contextmanager
def running_slurm() -> Iterator[Slurm]:
    """Not below pytest's directories: others may not look into them."""
    slurm = Slurm(Path(tempfile.mkdtemp(prefix="slurm-")))
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()
        shutil.rmtree(slurm.place, ignore_errors=True)
