# SPDX-License-Identifier: BSD-3-Clause
"""Runs other projects' test suites so that no test can hang the run, and reads how each test ended (tests/workloads/outcomes.py)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEVER_ENDED = "never ended"


def read_outcomes(path: Path) -> tuple[dict[str, str], str]:
    """Test to outcome, and the test that was started last if it did not end. A test with subtests may end in several ways."""
    ways: dict[str, list[str]] = {}
    last = ""
    for line in path.read_text().splitlines() if path.exists() else []:
        how, _, test = line.partition(" ")
        if how == "started":
            last = test
            ways.setdefault(test, [])
        elif how not in ways.setdefault(test, []):
            ways[test].append(how)
    outcomes = {test: " and ".join(sorted(hows)) or NEVER_ENDED for test, hows in ways.items()}
    return outcomes, last if outcomes.get(last) == NEVER_ENDED else ""


def processes_of_session(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                found.append(int(entry.name))
    return found


def end_session(process: subprocess.Popen[bytes]) -> None:
    """A launcher that is asked to stop takes its ranks along; what is left of its session is killed."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    for pid in processes_of_session(process.pid):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def take_signals() -> None:
    """In the child: a shell starts what runs in the background with SIGINT ignored, which Python then leaves so."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def run_watched(
    argv: list[str], folder: Path, *, limit_s: float, silence_s: float, env: Mapping[str, str] | None = None
) -> tuple[int | None, float]:
    """Runs a suite that writes folder/outcomes*, its output into folder/output. Exit status, None if it had to be ended, and seconds.

    It is ended when no test has begun or ended for `silence_s`.
    """
    started, is_ended = time.time(), False
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True, preexec_fn=take_signals,
        )  # fmt: skip
        try:
            while process.poll() is None and not is_ended:
                latest = max((path.stat().st_mtime for path in folder.glob("outcomes*")), default=started)
                is_ended = time.time() - max(started, latest) > silence_s or time.time() - started > limit_s
                time.sleep(0 if is_ended else 0.05)
            seconds = time.time() - started
        finally:
            end_session(process)
    return (None if is_ended else process.returncode), seconds
