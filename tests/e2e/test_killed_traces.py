# SPDX-License-Identifier: BSD-3-Clause
"""SIGKILL at any instant: the trace that is left is what the program had noted, step for step, up to the one that was being made.

A step is noted inside the function that enters or leaves: so what is entered is recorded before it is noted, and what is left after. The
trace has one step more than the notes, one less, or none.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import defaultdict
from pathlib import Path

import pytest
from harness import Running, Sandbox, workload
from trace_reading import Row, Thread, check_sound, dump, threads_of

PROGRAM = workload("steps_into_memory.py")
ALL = os.environ.get("ALLRANKS_TEST_ALL", "0") != "0"
N_KILLS = 12 if ALL else 1
SEED = int(os.environ.get("ALLRANKS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
N_LEAST = 2000  # steps, before it may be killed


def noted_by(sandbox: Sandbox) -> dict[Thread, bytes]:
    """By process and thread, as far as it got."""
    found = {}
    for path in sandbox.cwd.glob("steps-*-*[0-9]"):
        _, pid, thread = path.name.split("-")
        with path.open("rb") as file:
            steps = b""
            while (more := file.read(1 << 16)).strip(b"\0"):
                steps += more.rstrip(b"\0")
        found[int(pid), int(thread)] = steps
    return found


def traced(rows: list[Row]) -> bytes:
    """In the same words."""
    steps = bytearray()
    for row in rows:
        if not row.implied and row.event in ("enter", "leave") and row.file == PROGRAM and row.name in ("f0", "f1", "f2", "f3", "f4"):
            steps.append(1 + 2 * int(row.name[1]) + (row.event == "leave"))
    return bytes(steps)


def assert_same(found: bytes, noted: bytes, what: object) -> None:
    n = min(len(found), len(noted))
    assert abs(len(found) - len(noted)) <= 1, (what, len(found), len(noted), found[-8:], noted[-8:])
    assert found[:n] == noted[:n], (what, next(i for i in range(n) if found[i] != noted[i]))
    assert len(found) <= len(noted) or found[-1] % 2 == 1, (what, found[-4:])  # it was entered, and had not said so
    assert len(found) >= len(noted) or noted[-1] % 2 == 0, (what, noted[-4:])  # it was being left


def assert_tail(found: bytes, noted: bytes, what: object) -> None:
    """Of a trace of the last moments: it ends as the notes do."""
    for more in (-1, 0, 1):
        n = len(noted) + more
        start = n - len(found)
        if start >= 0 and noted[start:] == found[: len(noted) - start]:
            return
    raise AssertionError((what, len(found), len(noted), found[-20:], noted[-20:]))


def wait_for_steps(running: Running, sandbox: Sandbox, n_threads: int) -> None:
    def is_far() -> bool:
        noted = noted_by(sandbox)
        return len(noted) == n_threads and all(len(steps) > N_LEAST for steps in noted.values())

    running.wait_until(is_far, "all threads have made steps")


def check_left(sandbox: Sandbox, n_threads: int, is_tail: bool = False) -> None:
    """What lies in the live directory, and the run that is made of it."""
    noted = noted_by(sandbox)
    assert len(noted) == n_threads
    rows = dump(sandbox, sandbox.live)
    check_sound(rows)
    recovered = sandbox.allranks("recover", sandbox.live, "--remove", "-o", "left.allranks")
    assert recovered.code in (0, 1), recovered
    again = dump(sandbox, "left.allranks")
    check_sound(again)
    for form in (rows, again):
        steps = {thread: traced(own) for thread, own in threads_of(form).items()}
        for thread, log in noted.items():
            (assert_tail if is_tail else assert_same)(steps[thread], log, thread)
    assert steps_and_times(rows) == steps_and_times(again)


def steps_and_times(rows: list[Row]) -> dict[Thread, list[tuple[int, str, str, bool]]]:
    found = defaultdict(list)
    for row in rows:
        found[row.process, row.thread].append((row.ns, row.event, row.function, row.implied))
    return found


def remove_all(sandbox: Sandbox) -> None:
    for path in [*sandbox.cwd.glob("steps-*"), *sandbox.cwd.glob("*.allranks")]:
        path.unlink()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_killed_at_random(any_python: Sandbox, n_threads: int):
    print("ALLRANKS_SEED", SEED)
    dice = random.Random(f"{SEED} {n_threads}")
    for _ in range(N_KILLS):
        running = any_python.start([*any_python.recorder("--trace"), PROGRAM, str(n_threads - 1)])
        wait_for_steps(running, any_python, n_threads)
        time.sleep(dice.uniform(0, 0.05))
        assert running.kill().code == -9
        check_left(any_python, n_threads)
        remove_all(any_python)


def test_the_last_moments_before_a_kill(any_python: Sandbox):
    """Chunks are used again, and the one that was being written is whole."""
    options = ("--trace", "--trace-last", "0.05s")
    running = any_python.start([*any_python.recorder(*options), PROGRAM, "0"])
    wait_for_steps(running, any_python, 1)
    running.wait_until(lambda: all(len(steps) > 20_000 for steps in noted_by(any_python).values()), "more than it keeps")
    assert running.kill().code == -9
    check_left(any_python, 1, is_tail=True)


def is_running(pid: int) -> bool:
    """One that has ended is there until its parent has asked for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ranks_killed_at_random(one_mpi: Sandbox):
    print("ALLRANKS_SEED", SEED)
    running = one_mpi.start(one_mpi.ranks(4, *one_mpi.recorder("--trace"), PROGRAM, "0", "mpi"))
    wait_for_steps(running, one_mpi, 4)
    pids = [pid for pid, _ in noted_by(one_mpi)]
    random.Random(SEED).shuffle(pids)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the launcher kills the others, too
            os.kill(pid, signal.SIGKILL)
    running.wait()
    while any(map(is_running, pids)):  # who was killed goes on for a moment
        time.sleep(0.005)
    check_left(one_mpi, 4)


def test_a_live_trace_is_read_while_it_grows(any_python: Sandbox):
    """Of a program that runs: what is read is a part of its steps."""
    running = any_python.start([*any_python.recorder("--trace"), PROGRAM, "1"])
    wait_for_steps(running, any_python, 2)
    for _ in range(3):
        before = noted_by(any_python)
        rows = dump(any_python, any_python.live)
        check_sound(rows)
        after = noted_by(any_python)
        for thread, own in threads_of(rows).items():
            steps = traced(own)
            if thread in after:
                assert len(before[thread]) - 1 <= len(steps) <= len(after[thread]) + 1
                assert steps[: len(after[thread])] == after[thread][: len(steps)]
    assert running.kill().code == -9
    check_left(any_python, 2)
