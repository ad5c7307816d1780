# SPDX-License-Identifier: BSD-3-Clause
"""`allranks clean`: what dead jobs left is listed, and removed only when told to; nothing else is touched."""

from __future__ import annotations

import json
import os
import shutil
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from harness import Sandbox, workload

PROGRAM = workload("under_fire.py")
STEPS = workload("steps_until_killed.py")
HOST, RANK, LATEST_REAL = 72, 56, 240  # offsets in the header: see docs/file-format.md


def leave_killed(python: Sandbox) -> Path:
    before = set(python.live_files())
    assert python.recorded(PROGRAM, "ends_by", "SIGKILL").code == -9
    (path,) = set(python.live_files()) - before
    return path


def change(path: Path, at: int, value: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(value)


def make_old(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    if path.suffix == ".live" and path.stat().st_size > LATEST_REAL:
        change(path, LATEST_REAL, struct.pack("<Q", int(then * 1e9)))
    os.utime(path, (then, then))


def jobs(python: Sandbox, *words: str | Path) -> dict[str, dict[str, Any]]:
    listed = json.loads(python.answer("clean", "--json", *(words or (python.live,))))
    assert (listed["schema"], listed["command"]) == (2, "clean")
    return {Path(job["path"]).name: job for job in listed["clean_jobs"]}


def test_dead_jobs_are_listed_and_removed_when_told(python: Sandbox):
    dead = leave_killed(python)
    running = python.start([*python.recorder(), STEPS, "log"])
    running.wait_until(lambda: (python.cwd / "log").exists(), "the log")
    found = jobs(python)
    assert {name: job["state"] for name, job in found.items()} == {
        dead.parent.name: "dead",
        f"pid{running.process.pid}-" + next(iter(set(found) - {dead.parent.name})).partition("-")[2]: "running",
    }
    assert found[dead.parent.name]["processes"] == 1 and found[dead.parent.name]["run_file"] is None
    assert found[dead.parent.name]["bytes"] >= 256 << 10
    old = json.loads(python.answer("clean", "--json=1", python.live))
    assert (old["schema"], old["version"], old["files_removed"]) == ("allranks.clean", 1, 0)
    (before,) = [job for job in old["jobs"] if job["state"] == "dead"]
    assert {("run_file" if key == "run" else key): value for key, value in before.items()} == found[dead.parent.name]
    text = python.answer("clean", python.live).decode()
    assert dead.parent.name in text and "dead" in text and "running" in text and "allranks clean --remove" in text
    python.answer("clean", python.live, "--remove", "-n")
    assert dead.exists()
    assert "removed 1 file" in python.answer("clean", python.live, "--remove").decode()
    assert not dead.parent.exists()
    (alive,) = python.live_files()
    assert f"p{running.process.pid}-" in alive.name
    running.kill()
    python.answer("clean", alive.parent, "--remove")
    assert list(python.live.iterdir()) == []
    assert python.answer("clean", python.live).decode() == "nothing is left of any job\n"


def test_a_run_that_was_made_of_it_is_named(python: Sandbox):
    dead = leave_killed(python)
    assert jobs(python)[dead.parent.name]["run_file"] is None
    assert python.allranks("recover", python.live).code == 0
    assert jobs(python)[dead.parent.name]["run_file"] == str(python.cwd / "under_fire.allranks")
    assert "under_fire.allranks" in python.answer("clean", python.live).decode()


def test_age(python: Sandbox):
    old, young = leave_killed(python), leave_killed(python)
    make_old(old, 3 * 86400)
    assert set(jobs(python, python.live, "--older-than", "2d")) == {old.parent.name}
    assert set(jobs(python, python.live, "--older-than", "4d")) == set()
    python.answer("clean", python.live, "--older-than", "50h", "--remove")
    assert python.live_files() == [young]


@pytest.mark.parametrize("age", ["", "d", "2", "-1d", "2 days", "1y", "nan", "infd"])
def test_what_is_no_age_is_refused(python: Sandbox, age: str):
    done = python.allranks("clean", python.cwd, "--older-than", age)
    assert (done.code, done.out) == (2, "") and "such as 12h or 2d" in done.err


def test_other_hosts_need_a_word(python: Sandbox):
    path = leave_killed(python)
    change(path, HOST, b"elsewhere".ljust(64, b"\0"))
    assert [(job["state"], job["host"]) for job in jobs(python).values()] == [("elsewhere", "elsewhere")]
    python.answer("clean", python.live, "--remove")
    assert path.exists()
    python.answer("clean", python.live, "--remove", "--other-hosts")
    assert not path.exists()


def test_a_pid_that_came_again_is_another_process(python: Sandbox):
    path = leave_killed(python)
    change(path, 40, struct.pack("<I", os.getpid()))
    assert jobs(python)[path.parent.name]["state"] == "dead"


def test_one_living_process_keeps_the_whole_job(python: Sandbox):
    dead = leave_killed(python)
    running = python.start([*python.recorder(), STEPS, "log"])
    running.wait_until(lambda: len(python.live_files()) == 2, "its file")
    (alive,) = set(python.live_files()) - {dead}
    shutil.move(dead, alive.parent / dead.name)
    dead.parent.rmdir()
    python.answer("clean", python.live, "--remove")
    assert len(python.live_files()) == 2
    running.kill()


def test_verdicts_parts_and_empty_directories(python: Sandbox):
    job = leave_killed(python).parent
    (job / "verdict-1-1").write_text("ALLRNOTEy")
    (job / f"{next(job.glob('*.live')).name}.verdict").write_text("ALLRNOTEn")
    (job / "p1-1.c2-2.allranks.77-ab12.part").write_bytes(b"")
    (job / "r1-p1-1.live.part").write_bytes(b"ALLRLIVE half of it")
    for note in ("lock", "spawns", "unrecorded"):
        (job / f"p1-1.{note}").write_text("ALLRNOTE\nx")
        (job / f"p2-1.{note}").write_text("")
    empty, spawned, fresh = (python.live / name for name in ("pid999999-1", "launcher999999-2-spawned", "launcher999999-2"))
    for directory in (empty, spawned, fresh):
        directory.mkdir(mode=0o700)
    for directory in (empty, spawned):
        make_old(directory, 3600)
    old, young = python.cwd / "x.allranks.999999-1f.part", python.cwd / "y.allranks.999999-2f.part"
    own = python.cwd / f"z.allranks.{os.getpid()}-3f.part"
    for part in (old, young, own):
        part.write_bytes(b"ALLRANKS....")
    begun, not_ours = python.cwd / f"x.allranks.999999-{time.time_ns():x}.part", python.cwd / "x.allranks.999999-4f.part"
    for part in (begun, not_ours):
        part.write_bytes(b"")
    for part in (old, own, begun, not_ours):
        make_old(part, 7200)
    meeting, forsaken = (python.cwd / f".allranks-{digit * 16}" for digit in "ab")
    for place in (meeting, forsaken):
        place.mkdir(mode=0o700)
        (place / "leader-2-00000abc").write_text("ALLRNOTE\n")
    make_old(forsaken, 7200)
    python.answer("clean", python.live, python.cwd, "--remove")
    assert sorted(python.live.iterdir()) == [fresh]
    assert meeting.exists() and not forsaken.exists()
    shutil.rmtree(meeting)
    assert python.files() == {young.name, own.name, not_ours.name}


def planted(python: Sandbox, job: Path) -> list[Path]:
    """Things with our names that are not ours, and our things with names that are not."""
    precious = python.cwd.parent / "precious"
    precious.write_bytes((job / next(job.glob("*.live")).name).read_bytes())
    (job / "p5-5.live").symlink_to(precious)
    (job / "p6-6.live").write_text("not a live file at all")
    (job / "verdict-7-7").write_text("a long verdict")
    (job / "notes.txt").write_text("mine")
    os.mkfifo(job / "p8-8.live")
    (job / "p9-9.live").mkdir()
    others = [precious, *(job / name for name in ("p5-5.live", "p6-6.live", "verdict-7-7", "notes.txt", "p8-8.live", "p9-9.live"))]
    if os.geteuid() == 0:
        foreign = job / "p10-10.live"
        foreign.write_bytes(precious.read_bytes())
        os.chown(foreign, 65534, 65534)
        others.append(foreign)
    return others


NAMES_OF_NOTES = ("ranks.lock", "p1-2.lock", "p1-2.spawns", "p1-2.unrecorded", "p1-2.live.verdict",
                  "verdict-1-2", "leader-1-deadbeef", "p1-2.live", "p1-2.c3-4.allranks", "p1-2.allranks.77-ab.part")  # fmt: skip


@pytest.mark.parametrize("text", ["mine", "y", "n", "ALLRNOT", ""])
def test_files_of_the_user_that_have_names_of_ours(python: Sandbox, text: str):
    """In a directory of the user's, in one that is called as a job is, and, with something in them, among files of ours."""
    own, called, ours = python.cwd / "results", python.live / "pid7-7", leave_killed(python).parent
    places = [own, *([called, ours] if text else [])]
    for place in places:
        place.mkdir(mode=0o700, exist_ok=True)
        for name in NAMES_OF_NOTES:
            (place / name).write_text(text)
    for place in (own, own.parent, python.live):
        python.answer("clean", place, "--remove", "--other-hosts")
    for place in places:
        assert {path.name for path in place.iterdir()} == set(NAMES_OF_NOTES)
    if text:
        assert list(ours.glob("p*-*.live")) == [ours / "p1-2.live"]


def test_live_files_beside_the_output(python: Sandbox):
    """Where ranks that SIGTERM ends leave them: NAME.live/JOB."""
    job = leave_killed(python).parent
    kept = python.cwd / "heat.live" / job.name
    kept.parent.mkdir(mode=0o700)
    shutil.move(job, kept)
    others = python.cwd / "theirs.live" / job.name
    shutil.copytree(kept, others)
    others.parent.chmod(0o777)
    (python.cwd / "linked.live").symlink_to(others.parent)
    assert set(jobs(python, python.cwd)) == {job.name}
    assert jobs(python, python.cwd)[job.name]["path"] == str(kept)
    done = python.allranks("clean", "--json", env={"TMPDIR": str(python.cwd.parent)})
    assert f"./heat.live/{job.name}" in {each["path"] for each in json.loads(done.out)["clean_jobs"]}
    assert len(json.loads(python.answer("clean", "--json", python.cwd, kept.parent))["clean_jobs"]) == 1
    python.answer("clean", python.cwd, "--remove")
    assert not kept.parent.exists() and len(list(others.iterdir())) == 1


def test_what_is_not_ours_is_not_touched(python: Sandbox):
    ours = leave_killed(python)
    others = planted(python, ours.parent)
    python.answer("clean", python.live, "--remove")
    assert not ours.exists()
    assert [path for path in others if not path.is_symlink() and not path.exists()] == []


def test_directories_that_are_not_ours_are_not_touched(python: Sandbox):
    ours = leave_killed(python)
    python.live.joinpath("results").mkdir()
    python.live.joinpath("jobs").mkdir(mode=0o700)
    make_old(python.live / "jobs", 86400)
    open_to_all = python.live / "pid5-5"
    shutil.copytree(ours.parent, open_to_all)
    open_to_all.chmod(0o777)
    linked = python.live / "pid6-6"
    target = python.cwd / "target"
    shutil.copytree(ours.parent, target)
    linked.symlink_to(target)
    kept = ["jobs", "pid5-5", "pid6-6", "results"]
    if os.geteuid() == 0:
        foreign = python.live / "pid7-7"
        shutil.copytree(ours.parent, foreign)
        os.chown(foreign, 65534, 65534)
        kept.insert(3, "pid7-7")
    python.answer("clean", python.live, "--remove")
    assert sorted(path.name for path in python.live.iterdir()) == kept
    assert len(list(target.iterdir())) == len(list(open_to_all.iterdir())) == 1


def test_default_places(python: Sandbox):
    """Where `run` puts live files; nothing is removed here, since others may have left something there."""
    places = python.cwd.parent / "tmp"
    home = places / f"allranks-{os.geteuid()}"
    job = leave_killed(python).parent
    places.mkdir()
    home.mkdir(mode=0o700)
    shutil.move(job, home / job.name)
    done = python.allranks("clean", "--json", env={"TMPDIR": str(places)})
    assert str(home / job.name) in {each["path"] for each in json.loads(done.out)["clean_jobs"]}
    other = leave_killed(python).parent
    done = python.allranks("clean", "--json", env={"ALLRANKS_LIVE_DIR": str(python.live)})
    assert str(other) in {each["path"] for each in json.loads(done.out)["clean_jobs"]}


def test_bad_words(python: Sandbox):
    for words, error in ((("nowhere",), "nowhere: no such directory"), (("--all",), "unknown option --all")):
        done = python.allranks("clean", *words)
        assert (done.code, done.out) == (2, "") and error in done.err
    assert "Nothing is removed without --remove" in python.answer("clean", "--help").decode()
