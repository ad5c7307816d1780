# SPDX-License-Identifier: BSD-3-Clause
"""`allranks recover`: a run of whatever is left, and plain words about what is not."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import struct
from pathlib import Path

import pytest
from harness import Sandbox, workload
from hostile import ROOT_REF, live_of, node, record

PROGRAM = workload("under_fire.py")
STEPS = workload("steps_until_killed.py")
RUN = "under_fire.allranks"
HOST, RANK, PID, STATE, VERSION = 72, 56, 40, 16, 8  # offsets in the header: see docs/file-format.md


def leave_killed(python: Sandbox, *words: str) -> Path:
    """A killed process's live file."""
    before = set(python.live_files())
    python.recorded(*(words or (PROGRAM, "ends_by", "SIGKILL")))
    (path,) = set(python.live_files()) - before
    return path


def change(path: Path, at: int, value: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(value)


def as_rank(path: Path, rank: int, size: int) -> Path:
    """The same file, of a rank, which is another process."""
    target = path.parent / f"r{rank}-{path.name}"
    shutil.copy(path, target)
    (pid,) = struct.unpack("<I", path.read_bytes()[PID : PID + 4])
    change(target, PID, struct.pack("<I", pid + rank))
    change(target, RANK, struct.pack("<II", rank, size))
    return target


def recover(python: Sandbox, *words: str | Path, code: int = 0) -> str:
    done = python.allranks("recover", *words)
    assert (done.code, done.out) == (code, ""), done
    return done.err


def test_finished_running_and_killed_processes_together(python: Sandbox):
    leave_killed(python)
    python.recorded(PROGRAM, "little", options=("-o", "missing/x.allranks"))
    log = python.cwd / "log"
    running = python.start([*python.recorder(), STEPS, "log"])
    running.wait_until(lambda: log.exists() and log.read_bytes().count(b"done") > 50, "50 steps")
    err = recover(python, python.live, "-o", "all.allranks")
    assert "1 process ended without a word" in err
    assert f"1 process still running: all until now is in the run (pid {running.process.pid})" in err
    info = python.info("all.allranks")
    assert len(info.processes) == 3
    report = python.report("all.allranks")
    assert report.calls("ends_by") == report.calls("little") == 1 and report.calls("step") >= 50
    assert len(python.live_files()) == 3
    err = recover(python, python.live, "-o", "all.allranks", "--remove")
    assert "2 live files removed, 1 kept" in err
    assert f"p{running.process.pid}-" in python.live_files()[0].name
    running.kill()
    recover(python, python.live, "-o", "rest.allranks", "--remove")
    assert list(python.live.rglob("*")) == []


@pytest.mark.parametrize("program, name", [
    ((PROGRAM, "ends_by", "SIGKILL"), "under_fire"),
    (("-c", "import os; os.kill(os.getpid(), 9)"), "command"),
    (("-m", "json.tool", "nowhere/nothing"), None),
])  # fmt: skip
def test_the_name_is_the_one_that_run_gives(python: Sandbox, program: tuple, name: str | None):
    if name is None:
        python.recorded(*program, options=("-o", "missing/x"))
        name = "json.tool"
    else:
        leave_killed(python, *program)
    recover(python, python.live)
    recover(python, python.live)
    assert {path for path in python.files() if path != "log"} == {f"{name}.allranks", f"{name}-2.allranks"}


@pytest.mark.parametrize("program, name", [
    ("/a/b/../../outside.py", "outside"), ("..", "recovered"), (".", "recovered"), ("../..", "recovered"), ("/", "recovered"),
    ("-m ../outside", "recovered"), ("-m /tmp/outside", "recovered"), ("-m ..", "recovered"), ("", "recovered"),
    ("a\x1b[2J.py", "recovered"), ("a\nb.py", "recovered"), ("x" * 400 + ".py", "recovered"), ("--remove.py", "recovered"),
    ("dir/my prog.py", "my prog"), ("it's.py", "it's"), ("$(touch harm).py", "$(touch harm)"), ("größe.py", "größe"),
])  # fmt: skip
def test_a_forged_name_leads_nowhere(python: Sandbox, program: str, name: str):
    """The run is in the current directory, and the line that says so can be given to a shell."""
    content = live_of([record(2, b"program", program.encode()), record(1, b"f")], [node(0, 0, -1000), node(1, ROOT_REF)])
    python.live.mkdir()
    (python.live / "p77-5.live").write_bytes(content)
    before = {path for path in python.cwd.parent.rglob("*")}
    err = recover(python, python.live)
    assert {path for path in python.cwd.parent.rglob("*")} - before == {python.cwd / f"{name}.allranks"}
    assert "\x1b" not in err
    command = err.rpartition("see: ")[2].strip()
    words = shlex.split(command)
    assert words == ["allranks", "report", f"{name}.allranks"]
    done = python.run(["sh", "-c", command.replace("allranks", str(python.command), 1)])
    assert done.code == 0 and not (python.cwd / "harm").exists()


def test_ranks_without_a_file_are_missing(python: Sandbox):
    path = leave_killed(python)
    for rank in (0, 2, 3, 7):
        as_rank(path, rank, 10)
    path.unlink()
    err = recover(python, python.live, code=1)
    assert "missing: ranks 1, 4-6, 8-9 of 10 have no file here" in err
    assert "(rank 0, 2-3, 7)" in err
    assert python.info(RUN).ranks == [0, 2, 3, 7]


def test_several_jobs_are_told_apart(python: Sandbox):
    first, second = leave_killed(python), leave_killed(python)
    as_rank(first, 0, 2)
    as_rank(second, 0, 2)
    first.unlink()
    second.unlink()
    err = recover(python, python.live, code=1)
    assert err.count("missing: rank 1 of 2 has no file here") == 2
    assert "2 jobs are in this one run" in err
    assert len(python.info(RUN).processes) == 2


def test_another_host_is_not_judged(python: Sandbox):
    path = leave_killed(python)
    change(path, HOST, b"elsewhere".ljust(64, b"\0"))
    err = recover(python, python.live, "--remove")
    assert "1 process of another host, running still or ended without a word" in err
    assert python.live_files() == [path]
    change(path, STATE, struct.pack("<I", 2))
    recover(python, python.live, "--remove")
    assert python.live_files() == []


def test_run_files_of_ended_children_are_taken(python: Sandbox):
    """As a child leaves one beside the live file of its root; a damaged one does not stop the others."""
    live = leave_killed(python)
    assert python.recorded("-c", "def of_the_child(): pass\nof_the_child()").code == 0
    child = live.with_suffix(".c77-88.allranks")
    shutil.move(python.cwd / "command.allranks", child)
    merged = python.allranks("merge", python.live, "-o", "merged.allranks")
    assert merged.code == 0 and python.report("merged.allranks").calls("of_the_child") == 1
    recover(python, python.live, "-o", "both.allranks")
    assert python.report("both.allranks").calls("of_the_child") == python.report("both.allranks").calls("ends_by") == 1
    data = child.read_bytes()
    child.write_bytes(data[: len(data) // 2])
    err = recover(python, python.live, "-o", "damaged.allranks", "--remove", code=1)
    assert f"missing: {child}" in err
    assert python.report("damaged.allranks").calls("ends_by") == 1
    assert child.exists() and not live.exists()
    child.write_bytes(data)
    recover(python, child.parent, "-o", "child.allranks", "--remove")
    assert python.report("child.allranks").calls("of_the_child") == 1 and not child.exists()


def test_nothing_to_recover(python: Sandbox):
    (python.cwd / "empty").mkdir()
    (python.cwd / "bad").mkdir()
    (python.cwd / "bad" / "p1-1.live").write_text("rubbish")
    (python.cwd / "text").write_text("rubbish")
    for where, words in (("empty", "nothing was recovered"), ("missing", "No such file"), ("bad", "not a live file"),
                         ("text", "not a live file")):  # fmt: skip
        assert words in recover(python, where, code=2)
    assert "usage" in recover(python, code=2)


def test_a_live_file_of_another_version_is_named(python: Sandbox):
    good, bad = leave_killed(python), leave_killed(python)
    change(bad, VERSION, struct.pack("<I", 999))
    err = recover(python, python.live, code=1)
    assert f"missing: {bad}: live file of version 999" in err
    assert len(python.info(RUN).processes) == 1
    done = python.allranks("merge", python.live, "-o", "merged")
    assert done.code == 2 and not (python.cwd / "merged").exists()
    assert good.exists()


# ---- damage ----


def test_a_file_that_was_cut_off(python: Sandbox):
    """At any length: the other file is taken, what is left of this one too, and what was there only shrinks."""
    whole = leave_killed(python)
    cut = leave_killed(python)
    n_bytes = struct.unpack("<Q", cut.read_bytes()[24:32])[0]
    data = cut.read_bytes()
    seen = set()
    for length in sorted({0, 100, 4095, 4096, 5000, 9000, *range(4096, n_bytes, n_bytes // 40), n_bytes}):
        cut.write_bytes(data[:length])
        done = python.allranks("recover", python.live, "-o", "x.allranks")
        assert done.code == (0 if length in (0, n_bytes) else 1), (length, done)
        assert (": damaged, " in done.err) == (4096 <= length < n_bytes)
        calls = python.report("x.allranks").calls("nothing")
        assert 100 <= calls <= 200
        seen.add((length, calls))
        (python.cwd / "x.allranks").unlink()
    counts = [calls for _, calls in sorted(seen)]
    assert counts == sorted(counts) and counts[0] == 100 and counts[-1] == 200
    assert whole.exists()


def test_a_file_with_holes_in_it(python: Sandbox):
    """Pages that became zeros or noise: said, never a crash, and the other file is as it is."""
    leave_killed(python)
    damaged = leave_killed(python)
    data = damaged.read_bytes()
    n_bytes = struct.unpack("<Q", data[24:32])[0]
    dice = random.Random(1)
    n_told = 0
    for n in range(40):
        at = dice.randrange(1, n_bytes // 4096) * 4096
        noise = bytes(4096) if n % 2 else bytes(dice.getrandbits(8) for _ in range(4096))
        damaged.write_bytes(data[:at] + noise + data[at + 4096 :])
        done = python.allranks("recover", python.live, "-o", "x.allranks")
        is_told = "damaged, " in done.err
        assert done.code == (1 if is_told else 0), done
        # A page that is not in use has nothing to damage.
        assert is_told or data[at + 64 : at + 4096].count(0) == 4032 or python.report("x.allranks").calls("nothing") == 200
        n_told += is_told
        report = python.report("x.allranks")
        assert report.calls("nothing") >= 100 and report.calls("ends_by") >= 1
        python.info("x.allranks")
        (python.cwd / "x.allranks").unlink()
    assert n_told >= 20


def test_what_is_damaged_stays(python: Sandbox):
    damaged = leave_killed(python)
    data = damaged.read_bytes()
    damaged.write_bytes(data[:20000])
    err = recover(python, python.live, "--remove", code=1)
    assert "0 live files removed, 1 kept" in err and damaged.exists()


def test_a_fifo_is_not_waited_for(python: Sandbox):
    path = leave_killed(python)
    os.mkfifo(path.with_name("p2-2.live"))
    err = recover(python, python.live, code=1)
    assert "p2-2.live: not a regular file that can be read" in err
    assert python.allranks("report", python.live).code == 2
