# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs with and without allranks: each test has a directory, an interpreter and, if it wants, an MPI.

Nothing here can block: every process has a time limit, and output goes to files, since a pipe that an orphan holds
open is never read to its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from readings import Calls, Info, Report, read_pstats

ROOT = Path(__file__).resolve().parent.parent.parent
WORKLOADS = ROOT / "tests" / "workloads"
POLLER = str(ROOT / "tests" / "e2e" / "poller.py")
TIME_LIMIT_S = 120
SWITCH_S = 0.002  # what a look at the clock may be off by

# What a launcher, a scheduler or a developer may have set, and what decides how Python starts.
FOREIGN_VARIABLES = (
    "ALLRANKS", "MPI", "OMPI_", "OPAL_", "ORTE_", "PMIX_", "PRTE_", "PMI_", "HYDRA_", "HYDI_",
    "MPIEXEC_", "MPIR_", "MV2_", "SLURM_", "PYTHON", "NO_COLOR", "LD_PRELOAD",
)  # fmt: skip


@dataclass(frozen=True)
class Stack:
    """One Python with one MPI and one mpi4py, as tools/stacks.py made it."""

    name: str
    python_version: str
    mpi: str
    mpi4py_version: str
    python: str
    mpiexec: tuple[str, ...]
    compiler: str = "cc"  # of modules for that Python

    @property
    def mpi4py_major(self) -> str:
        return self.mpi4py_version.partition(".")[0]


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    argv: list[str]
    code: int  # negative: ended by that signal
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()

    def __str__(self) -> str:
        return f"$ {' '.join(self.argv)}\nexit {self.code}\n{self.out}---- stderr\n{self.err}"


def clean_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN_VARIABLES)}


def processes_of_session(session: int) -> Iterator[int]:
    """Those that have not ended."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, _, _, its_session, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(its_session) == session and state != "Z":
                yield int(entry.name)


def end_session(process: subprocess.Popen[bytes]) -> None:
    """A launcher that is asked to stop takes its ranks along; what is left of its session is killed."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    while left := list(processes_of_session(process.pid)):
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.poll()
        time.sleep(0.005)  # who was killed goes on for a moment
    process.wait()


def take_signals() -> None:
    """In the child: a shell starts what runs in the background with SIGINT ignored, which Python then leaves so."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A command on its way, in a session of its own."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str], stdin: bytes) -> None:
        self.argv = argv
        self.stdin, self.stdout, self.stderr = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115
        self.stdin.write(stdin)
        self.stdin.seek(0)
        self.process = subprocess.Popen(
            argv, cwd=cwd, env=env, start_new_session=True, preexec_fn=take_signals,
            stdin=self.stdin, stdout=self.stdout, stderr=self.stderr,
        )  # fmt: skip

    def result(self) -> Done:
        done = []
        for file in (self.stdout, self.stderr):
            file.seek(0)
            done.append(file.read())
        return Done(self.argv, self.process.returncode, done[0], done[1])

    def wait(self) -> Done:
        try:
            self.process.wait(TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            end_session(self.process)
            raise AssertionError(f"still running after {TIME_LIMIT_S} s:\n{self.result()}") from None
        return self.result()

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Until something is true while the command runs."""
        deadline = time.monotonic() + TIME_LIMIT_S
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"ended before {what}:\n{self.result()}")
            if time.monotonic() > deadline:
                end_session(self.process)
                raise AssertionError(f"{what}: not within {TIME_LIMIT_S} s:\n{self.result()}")
            time.sleep(0.005)

    def close(self) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()

    def kill(self) -> Done:
        """The end that nobody can prepare for."""
        self.process.kill()
        return self.wait()


def settled(look: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What is wrong in each of ten runs, by name: in one of them another process may have had the processor for a
    while, and whoever looked at the clock just before is off by as much. Each look runs the program anew.
    """
    wrong = look()
    for _ in range(9):
        if wrong:
            again = look()
            wrong = {name: how for name, how in again.items() if name in wrong}
    return wrong


Seconds = Union[float, tuple[float, float]]  # or the least and the most that they may be


def times_unlike(
    found: Mapping[str, float], logged: Mapping[str, Seconds], rel: float = 0.05, abs_s: float = SWITCH_S
) -> dict[str, str]:
    """Seconds by name, of all names that were logged: how they differ."""
    wrong = {}
    for name, seconds in logged.items():
        least, most = seconds if isinstance(seconds, tuple) else (seconds, seconds)
        lowest = min(least * (1 - rel), least - abs_s)
        highest = max(most * (1 + rel), most + abs_s)
        if not lowest <= found.get(name, 0) <= highest:
            wrong[name] = f"{found.get(name, 0):.4f} s, logged {least:.4f}" + (f" to {most:.4f}" if most > least else "")
    return wrong


def workload(name: str) -> str:
    return str(WORKLOADS / name)


def is_closing_line(line: str) -> bool:
    return line.startswith("allranks: ") and "recorded in" in line and "see: allranks report" in line


class Sandbox:
    """A directory to work in, a directory for live files, an interpreter and its MPI."""

    def __init__(self, stack: Stack, directory: Path) -> None:
        self.stack = stack
        self.cwd = directory / "work"
        self.live = directory / "live"
        self.started: list[Running] = []
        self.cwd.mkdir()

    # ---- running ----

    def start(self, argv: list[str], *, env: dict[str, str] | None = None, stdin: bytes = b"",
              cwd: Path | None = None) -> Running:  # fmt: skip
        environment = {**clean_environment(), **(env or {})}
        self.started.append(Running(argv, cwd or self.cwd, environment, stdin))
        return self.started[-1]

    def run(self, argv: list[str], **how) -> Done:
        return self.start(argv, **how).wait()

    def recorder(self, *options: str, flags: tuple[str, ...] = ()) -> list[str]:
        """The words in front of a program that have it recorded; `flags` are the interpreter's."""
        live = ["--live-dir", str(self.live)]
        return [self.stack.python, *flags, "-m", "allranks", *live, *options]

    def plain(self, *program: str, flags: tuple[str, ...] = (), **how) -> Done:
        return self.run([self.stack.python, *flags, *program], **how)

    def recorded(self, *program: str, options: tuple[str, ...] = (), flags: tuple[str, ...] = (),
                 **how) -> Done:  # fmt: skip
        return self.run([*self.recorder(*options, flags=flags), *program], **how)

    def ranks(self, n: int, *argv: str) -> list[str]:
        return [*self.stack.mpiexec, "-n", str(n), *argv]

    def plain_ranks(self, n: int, *program: str, **how) -> Done:
        return self.run(self.ranks(n, self.stack.python, *program), **how)

    def recorded_ranks(self, n: int, *program: str, options: tuple[str, ...] = (), **how) -> Done:
        return self.run(self.ranks(n, *self.recorder(*options), *program), **how)

    @property
    def command(self) -> str:
        return str(Path(self.stack.python).with_name("allranks"))

    def allranks(self, *words: str | Path, **how) -> Done:
        return self.run([self.command, *map(str, words)], **how)

    def end(self) -> None:
        """Leaves nothing running, however the test ended."""
        for running in self.started:
            if running.process.poll() is None:
                end_session(running.process)
            running.close()

    # ---- looking ----

    def files(self) -> set[str]:
        """All that is in the working directory, by relative path, directories left out."""
        return {str(p.relative_to(self.cwd)) for p in self.cwd.rglob("*") if not p.is_dir()}

    def live_files(self) -> list[Path]:
        return sorted(self.live.rglob("*.live")) if self.live.exists() else []

    def left_overs(self) -> list[Path]:
        """All that is in the live directory. By name: directories come and go while they are looked at."""
        return [Path(directory, name) for directory, _, names in os.walk(self.live) for name in names]

    def wait_for_the_last(self) -> None:
        """Children that outlive their parent end on their own, and then nothing is left."""
        deadline = time.monotonic() + TIME_LIMIT_S
        while self.left_overs() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert self.left_overs() == []

    def wait_until_none_runs(self) -> None:
        """A launcher may end before the ranks that it killed have."""
        deadline = time.monotonic() + TIME_LIMIT_S
        while "running" in (states := {process["state"] for process in self.info(self.live).processes}):
            assert time.monotonic() < deadline, states
            time.sleep(0.02)

    @contextlib.contextmanager
    def polled(self) -> Iterator[None]:
        """Live files are read and checked at full speed meanwhile, and every look must find them sound."""
        stop, result = (self.cwd.parent / f"{name}-{len(self.started)}" for name in ("stop", "polled"))
        poller = self.start([self.stack.python, POLLER, str(self.live), str(stop), str(result)])
        try:
            yield
        finally:
            stop.touch()
            done = poller.wait()
        assert done.code == 0, done
        polled = json.loads(result.read_text())
        print("looks of the poller:", polled["looks"])
        assert polled["faults"] == [], polled["faults"]

    def read_json(self, name: str):
        return json.loads((self.cwd / name).read_text())

    def answer(self, *words: str | Path) -> bytes:
        """What allranks prints, which must go well and without complaint."""
        done = self.allranks(*words)
        assert (done.code, done.err) == (0, ""), done
        return done.stdout

    def report(self, path: str | Path) -> Report:
        return Report(json.loads(self.answer("report", "--json=1", path)))

    def info(self, path: str | Path) -> Info:
        return Info(json.loads(self.answer("info", "--json=1", path)))

    def pstats(self, path: str | Path, *options: str) -> dict[tuple[str, int, str], Calls]:
        target = self.cwd.parent / "exported.pstats"
        self.answer("export", path, "-f", "pstats", "--quiet", "-o", target, *options)
        return read_pstats(target)


def own_copy(sandbox: Sandbox) -> dict[str, str]:
    """An environment whose allranks is a copy, with the shims beside it."""
    place = sandbox.cwd.parent / "packages"
    done = sandbox.plain("-c", "import allranks; print(allranks.__path__[0])")
    shutil.copytree(done.out.strip(), place / "allranks")
    return {"PYTHONPATH": str(place), "ALLRANKS_LIVE_DIR": str(sandbox.live)}
