# SPDX-License-Identifier: BSD-3-Clause
"""SIGKILL at any instant: what a process had written down as done is recorded, and it stands where it says it stood.

Random kills hit programs that write down every call; aimed ones hit a call of the C library, before or after it did its
work, while the live file grows, a run file is written, and live files are removed. Somebody reads all live files at
full speed meanwhile. 40 kills, or 500 with ALLRANKS_TEST_ALL=1, over all Pythons of this machine together.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import PLAIN
from harness import Running, Sandbox, workload
from live_reading import read_live

PROGRAM = workload("writes_down.py")
FILE = "writes_down.py"
NAMES = ("turn", "middle", "leaf", "deep")
ALL = os.environ.get("ALLRANKS_TEST_ALL", "0") != "0"
N_RANDOM, N_AIMED = (300, 200) if ALL else (20, 20)
SEED = int(os.environ.get("ALLRANKS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)


def share(request: pytest.FixtureRequest, n_kills: int) -> int:
    return -(-n_kills // len(request.config.stash[PLAIN]))


@pytest.fixture
def watched(any_python: Sandbox) -> Iterator[Sandbox]:
    """All live files are read at full speed while the test runs."""
    any_python.live.mkdir()
    with any_python.polled():
        yield any_python


# ---- what the program has written down ----


@dataclass
class Log:
    """What a thread says: `stacks` are those it may be in, which are two between a call and the word about it."""

    begun: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    stack: list[str] = field(default_factory=list)
    last: tuple[str, str] = ("", "")

    def take(self, what: str, name: str) -> None:
        if what == "c":
            self.begun[name] += 1
        elif what == ">":
            self.stack.append(name)
        elif what == "<":
            assert self.stack.pop() == name
        else:
            self.done[name] += 1
        self.last = what, name

    @property
    def stacks(self) -> list[list[str]]:
        what, name = self.last
        return [self.stack, [*self.stack, name]] if what in "c<" else [self.stack]


def read_logs(path: Path) -> dict[int, Log]:
    logs: dict[int, Log] = {}
    text = path.read_bytes() if path.exists() else b""
    for line in text.decode().splitlines():
        tid, what, name = line.split()
        logs.setdefault(int(tid), Log()).take(what, name)
    return logs


# Names between the thread's root and the first function that writes things down.
OUTER = ("<module>", "forever")
# What turn and write do besides.
INNER = ("write", "new_function", "nothing")


def stack_of(names: list[str]) -> list[str]:
    return [name for name in names if name not in OUTER + INNER and not name.startswith("new_")]


def assert_stands_where_it_says(live_path: Path, logs: dict[int, Log]) -> None:
    live = read_live(live_path)
    threads = {thread.os_tid: thread for thread in live.threads}
    for tid, log in logs.items():
        found = stack_of(live.stack(threads[tid], FILE))
        assert found in log.stacks, (found, log.last)


def assert_all_is_there(sandbox: Sandbox, run: str | Path, logs: dict[int, Log]) -> None:
    report = sandbox.report(run)
    for name in NAMES:
        done, begun = (sum(log.__dict__[what][name] for log in logs.values()) for what in ("done", "begun"))
        assert done <= report.calls(name) <= begun, (name, done, report.calls(name), begun)
    info = sandbox.info(run)
    assert [sum(process["lost"].values()) for process in info.processes] == [0]


def recover(sandbox: Sandbox, output: str) -> None:
    recovered = sandbox.allranks("recover", sandbox.live, "--remove", "-o", output)
    assert (recovered.code, recovered.out) == (0, ""), recovered
    assert sandbox.live_files() == []


# ---- at random ----


def kill_at_random(sandbox: Sandbox, dice: random.Random, n: int, n_threads: int) -> str:
    log = sandbox.cwd / f"log-{n}"
    running = sandbox.start([*sandbox.recorder(), PROGRAM, log.name, str(n_threads)])
    if n > 0 and dice.random() < 0.15:
        time.sleep(dice.uniform(0.0, 0.12))  # while it starts
    else:
        running.wait_until(lambda: log.exists() and log.stat().st_size > 0, "the first word")
        time.sleep(dice.uniform(0.0, 0.3))
    done = running.kill()
    assert done.code == -9, done
    running.close()
    sandbox.started.remove(running)
    return check_what_is_left(sandbox, log, f"killed-{n}.allranks")


def check_what_is_left(sandbox: Sandbox, log: Path, output: str) -> str:
    logs = read_logs(log)
    live = [path for path in sandbox.live_files() if path.read_bytes()[:8] == b"ALLRLIVE"]
    if not live:
        assert logs == {}
        for path in sandbox.live_files():
            path.unlink()  # made, and nothing written into it
        return "nothing yet"
    (path,) = live
    assert_stands_where_it_says(path, logs)
    recover(sandbox, output)
    assert_all_is_there(sandbox, output, logs)
    if logs:  # an empty profile is one, but not in that format
        sandbox.pstats(output)
    (sandbox.cwd / output).unlink()
    return "recorded"


@pytest.mark.parametrize("n_threads", [0, 3])
def test_killed_at_random(watched: Sandbox, request: pytest.FixtureRequest, n_threads: int):
    print("ALLRANKS_SEED", SEED)
    dice = random.Random(f"{SEED} {n_threads} {watched.stack.name}")
    ends = Counter(kill_at_random(watched, dice, n, n_threads) for n in range(share(request, N_RANDOM // 2)))
    print("kills:", dict(ends))
    assert ends["recorded"] > 0


# ---- aimed ----

# While a program is recorded: where its file is made and grows, and where its run file is written.
IN_THE_RUN = [
    *(("posix_fallocate", n, "") for n in range(1, 5)),
    *(("open", n, ".live") for n in range(1, 4)),
    ("open", 1, ".part"), ("fsync", 1, ""), ("link", 1, ".allranks"), ("fsync", 2, ""), ("unlink", 1, ".part"),
    ("unlink", 1, ".live"), ("rmdir", 1, "pid"),
]  # fmt: skip
IN_RECOVER = [
    ("open", 1, ".part"), ("fsync", 1, ""), ("link", 1, ".allranks"), ("fsync", 2, ""), ("unlink", 1, ".part"),
    ("unlinkat", 1, ".live"), ("rmdir", 1, "pid"),
]  # fmt: skip
IN_MERGE = IN_RECOVER[:5]
IN_CLEAN = [("unlinkat", 1, ".live"), ("unlinkat", 2, ".live"), ("rmdir", 1, "pid")]
AIMS = [
    (command, *aim, when)
    for command, aims in (("run", IN_THE_RUN), ("recover", IN_RECOVER), ("merge", IN_MERGE), ("clean", IN_CLEAN))
    for aim in aims
    for when in ("before", "after")
]
N_ROUNDS = "1500"  # the live file grows three times


def aimed(shim: str, aim: tuple[str, str, int, str, str]) -> dict[str, str]:
    _, function, n, path, when = aim
    return {"LD_PRELOAD": shim, "KILL_AT": f"{function}:{n}:{when}", "KILL_PATH": path}


def remove_all(sandbox: Sandbox) -> None:
    for path in [*sandbox.cwd.glob("*.allranks"), *sandbox.cwd.glob("*.part"), *sandbox.live_files()]:
        path.unlink(missing_ok=True)


def assert_nothing_is_lost(sandbox: Sandbox, logs: dict[int, Log]) -> None:
    """In a run file, which is whole, or in what is left; the rest of a file that was being written is no harm."""
    runs = sorted(path.name for path in sandbox.cwd.glob("*.allranks"))
    live = [path for path in sandbox.live_files() if path.read_bytes()[:8] == b"ALLRLIVE"]
    assert runs or live or logs == {}
    for run in runs:
        assert_all_is_there(sandbox, run, logs)
    if live:
        recover(sandbox, "left.allranks")
        assert_all_is_there(sandbox, "left.allranks", logs)


def kill_a_run(sandbox: Sandbox, environment: dict[str, str], n: int) -> int:
    log = sandbox.cwd / f"aimed-{n}"
    done = sandbox.recorded(PROGRAM, log.name, "0", N_ROUNDS, env=environment)
    assert_nothing_is_lost(sandbox, read_logs(log))
    return done.code


def leave_a_killed_run(sandbox: Sandbox, n: int | str) -> dict[int, Log]:
    log = sandbox.cwd / f"aimed-{n}"
    running: Running = sandbox.start([*sandbox.recorder(), PROGRAM, log.name, "0"])
    running.wait_until(lambda: log.exists() and log.stat().st_size > 2000, "some words")
    assert running.kill().code == -9
    return read_logs(log)


def kill_a_command(sandbox: Sandbox, aim: tuple[str, str, int, str, str], environment: dict[str, str], n: int) -> int:
    logs = leave_a_killed_run(sandbox, n)
    words = {
        "recover": ("recover", sandbox.live, "--remove", "-o", "whole.allranks"),
        "merge": ("merge", sandbox.live, "-o", "whole.allranks"),
    }[aim[0]]
    done = sandbox.allranks(*words, env=environment)
    assert_nothing_is_lost(sandbox, logs)
    assert_parts_are_cleaned(sandbox)
    return done.code


def assert_parts_are_cleaned(sandbox: Sandbox) -> None:
    parts = list(sandbox.cwd.glob("*.part"))
    for part in parts:
        os.utime(part, (time.time() - 7200,) * 2)
    runs = sorted(sandbox.cwd.glob("*.allranks"))
    done = sandbox.allranks("clean", sandbox.cwd, "--remove")
    assert (done.code, done.err) == (0, ""), done
    assert list(sandbox.cwd.glob("*.part")) == [] and sorted(sandbox.cwd.glob("*.allranks")) == runs


def kill_a_clean(sandbox: Sandbox, environment: dict[str, str], n: int) -> int:
    for k in "ab":
        leave_a_killed_run(sandbox, f"{n}{k}")
    kept = sandbox.live / "not ours"
    kept.write_text("precious")
    done = sandbox.allranks("clean", sandbox.live, "--remove", env=environment)
    again = sandbox.allranks("clean", sandbox.live, "--remove")
    assert (again.code, again.err) == (0, ""), again
    assert sandbox.live_files() == [] and kept.read_text() == "precious"
    return done.code


def kill_aimed(sandbox: Sandbox, shim: str, aim: tuple[str, str, int, str, str], n: int) -> int:
    environment = aimed(shim, aim)
    remove_all(sandbox)
    if aim[0] == "run":
        return kill_a_run(sandbox, environment, n)
    if aim[0] == "clean":
        return kill_a_clean(sandbox, environment, n)
    return kill_a_command(sandbox, aim, environment, n)


def test_killed_where_it_hurts(watched: Sandbox, request: pytest.FixtureRequest, shim: str):
    """Every aim in turn, another part of them on each Python."""
    print("ALLRANKS_SEED", SEED)
    aims = AIMS[:]
    random.Random(SEED).shuffle(aims)
    n_kills = share(request, N_AIMED)
    first = n_kills * [stack.name for stack in request.config.stash[PLAIN]].index(watched.stack.name)
    missed = []
    for n in range(n_kills):
        aim = aims[(first + n) % len(aims)]
        if kill_aimed(watched, shim, aim, n) != -9:
            missed.append(aim)
    print("aims:", n_kills, "missed:", missed)
    assert missed == []
