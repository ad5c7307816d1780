# SPDX-License-Identifier: BSD-3-Clause
"""`allranks info --check` on the live files of programs that run, and of programs that were killed at any time."""

from __future__ import annotations

import random
import re
import struct
import time

from harness import Running, Sandbox, workload

POLL_S = 3
N_KILLS = 8


def start_busy(python: Sandbox, name: str) -> Running:
    running = python.start([*python.recorder("-q"), workload("busy_until_killed.py"), name])
    running.wait_until((python.cwd / name).exists, "the program is at work")
    return running


def checked(python: Sandbox) -> tuple[int, int, int]:
    """Files, threads, and those of them at rest."""
    found = python.answer("info", "--check", python.live).decode()
    n_files, n_threads, n_at_rest = re.match(
        r"sound +([\d,]+) live files? \([\d,]+ call paths?, ([\d,]+) threads? of which (\d+) at rest\), 0 run files\n$", found
    ).groups()
    return int(n_files), int(n_threads.replace(",", "")), int(n_at_rest)


def test_a_program_that_runs_is_sound_whenever_it_is_looked_at(any_python: Sandbox):
    running = start_busy(any_python, "ready")
    deadline = time.monotonic() + POLL_S
    n_looks = n_restless = 0
    while time.monotonic() < deadline:
        n_files, n_threads, n_at_rest = checked(any_python)
        assert n_files == 1
        n_looks += 1
        n_restless += n_threads - n_at_rest
    assert n_looks > 3 and n_restless > 0  # it was at work, or nothing has been looked at
    running.kill()


def test_a_program_that_was_killed_has_left_a_sound_file(any_python: Sandbox):
    chance = random.Random(6)
    for i in range(N_KILLS):
        running = start_busy(any_python, f"ready {i}")
        time.sleep(chance.random() * 0.1)
        running.kill()
        n_files, n_threads, n_at_rest = checked(any_python)
        assert n_files == 1 and n_threads == n_at_rest
        (live,) = any_python.live_files()
        live.unlink()


def test_what_is_wrong_is_one_line(any_python: Sandbox):
    any_python.recorded(workload("endings.py"), "killed")
    (live,) = any_python.live_files()
    content = bytearray(live.read_bytes())
    assert checked(any_python)[0] == 1
    at = 4096  # the extent of nodes is looked for, and the second node's parent made the node itself
    while struct.unpack_from("<I", content, at)[0] != 3:
        at += struct.unpack_from("<Q", content, at + 8)[0]
    struct.pack_into("<I", content, at + 128 + 24, (at + 128) // 64)
    live.write_bytes(content)
    done = any_python.allranks("info", "--check", any_python.live)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(rf"allranks: error: {re.escape(str(live))}: does not hold together: node \d+ of thread 0: its parent is none"
                        r" \(.*\)\n", done.err), done  # fmt: skip


def test_a_run_file_is_checked_by_being_read(any_python: Sandbox):
    assert any_python.recorded(workload("endings.py"), "exit_0", options=("-q", "-o", "run.allranks")).code == 0
    assert any_python.answer("info", "--check", "run.allranks") == b"sound      0 live files, 1 run file\n"
    assert any_python.answer("info", "--check", any_python.cwd) == b"sound      0 live files, 1 run file\n"
