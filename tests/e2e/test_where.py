# SPDX-License-Identifier: BSD-3-Clause
"""`allranks where`: a program writes down its own stack, and stays there or is killed; the same must be shown."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from harness import Running, Sandbox, end_session, workload
from live_writing import ring_rank, write_ring

PROGRAM = workload("stands_still.py")


class Where:
    """`allranks where --json`."""

    def __init__(self, data: dict[str, Any]) -> None:
        assert (data["schema"], data["version"]) == ("allranks.where", 1)
        self.data = data

    @property
    def groups(self) -> list[dict[str, Any]]:
        return self.data["groups"]

    def main(self, rank: int | None = None) -> dict[str, Any]:
        """The group that the main thread (of a rank) is in."""
        (group,) = [g for g in self.groups if g["main"] and rank in self.ranks_of(g)]
        return group

    def ranks_of(self, group: dict[str, Any]) -> list[int | None]:
        return [self.data["processes"][thread["process"]]["rank"] for thread in group["threads"]]


def where(sandbox: Sandbox, *words: str | Path) -> Where:
    return Where(json.loads(sandbox.answer("where", "--json", *words)))


def start(sandbox: Sandbox, how: str, builtins: str = "all") -> Running:
    """Runs until the program stands still. Functions in C are sure to be seen only if all of them are."""
    running = sandbox.start([*sandbox.recorder("--builtins", builtins), PROGRAM, "log", how])
    running.wait_until((sandbox.cwd / "log").exists, "the program stands still")
    return running


def python_frames(group: dict[str, Any]) -> list[list[Any]]:
    """[name, line in it] of functions of the program; of methods and inner functions the last name."""
    return [
        [frame["name"].rpartition(".")[2], frame["line"]]
        for frame in group["frames"]
        if frame["kind"] == "python" and frame["file"].endswith("stands_still.py")
    ]


def logged(sandbox: Sandbox, thread: str = "main", log: str = "log") -> list[list[Any]]:
    """What the program noted itself."""
    return sandbox.read_json(log)["stacks"][thread]


def settle(sandbox: Sandbox, leaf: str) -> dict[str, Any]:
    """The program writes its file just before it stops: until it has stopped."""
    for _ in range(1000):
        group = where(sandbox, sandbox.live).main()
        if leaf in group["frames"][-1]["name"]:
            return group
    raise AssertionError(f"never in {leaf}: {group['frames']}")


def test_a_stack_alive_dead_and_from_a_run_file(any_python: Sandbox):
    running = start(any_python, "sleep")
    alive = settle(any_python, "sleep")
    truth = logged(any_python)
    assert alive["state"] == "running"
    assert python_frames(alive) == truth
    assert alive["frames"][-1] == {
        "kind": "builtin", "name": "built-in method time.sleep", "file": "", "line": None, "first_line": 0,
    }  # fmt: skip
    assert running.process.poll() is None

    running.kill()
    dead = where(any_python, any_python.live).main()
    assert dead["state"] == "silent"
    assert dead["frames"] == alive["frames"]
    (live,) = any_python.live_files()
    assert where(any_python, live).main() == dead

    merged = any_python.allranks("merge", any_python.live, "-o", "merged.allranks")
    assert merged.code == 0, merged
    assert where(any_python, "merged.allranks").main() == dead
    again = any_python.allranks("merge", "merged.allranks", "-o", "again.allranks")
    assert again.code == 0, again
    assert where(any_python, "again.allranks").main() == dead


def test_the_screen_names_stack_line_and_function(any_python: Sandbox):
    running = start(any_python, "sleep")
    settle(any_python, "sleep")
    line = logged(any_python)[-1][1]
    text = any_python.answer("where", any_python.live).decode()
    pid = any_python.read_json("log")["pid"]
    head, _, title, row, *rest = text.splitlines()
    assert head.startswith("stands_still.py   1 process on 1 host, running")
    assert title.split() == ["process", "stack", "line", "in", "still"]
    assert row.split()[:2] == ["pid", str(pid)]
    assert "middle > stop_here" in row
    assert f"stands_still.py:{line}  time.sleep" in row
    assert any("<module>" in line for line in rest), "the tree is below"
    assert_fits_a_screen(text)
    running.kill()
    row = any_python.answer("where", any_python.live).decode().splitlines()[3]
    assert row.endswith("dead")


def test_what_is_not_looked_at_is_not_made_up(any_python: Sandbox):
    """By default functions in C are looked at now and then: if not, the function that calls one has no line."""
    running = start(any_python, "sleep", builtins="costly")
    group = settle(any_python, "")
    while group["frames"][-1]["name"] not in ("stop_here", "built-in method time.sleep"):
        group = settle(any_python, "")
    found, truth = python_frames(group), logged(any_python)
    in_c = group["frames"][-1]["kind"] == "builtin"
    assert found[:-1] == truth[:-1]
    assert found[-1] == (truth[-1] if in_c else [truth[-1][0], None])
    running.kill()


def assert_fits_a_screen(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80, text


def test_the_line_in_a_loop_without_calls_is_not_made_up(python: Sandbox):
    running = start(python, "spin")
    group = where(python, python.live).main()
    while group["frames"][-1]["name"] != "spinning":
        group = where(python, python.live).main()
    assert python_frames(group) == logged(python)
    assert group["frames"][-1]["line"] is None
    first = group["frames"][-1]["first_line"]
    text = python.answer("where", python.live).decode()
    assert f"stands_still.py:{first}+" in text
    assert "+ somewhere in the function that begins at this line" in text
    running.kill()


def test_how_long_nothing_moved(python: Sandbox):
    """By the program's own clock: at least as long as since it wrote its file, at most until we had looked."""
    import time

    running = start(python, "sleep")
    settle(python, "sleep")
    stopped = python.read_json("log")["at"]
    running.wait_until(lambda: time.time() > stopped + 1.5, "a second and a half")
    before = time.time()
    group = where(python, python.live).main()
    after = time.time()
    # It did not stop before it had written its file; how long after that it went to sleep is not known.
    assert group["still_ns"] / 1e9 < after - stopped + 0.01
    latest = group["threads"][0]["latest_real_ns"] / 1e9
    assert stopped - 0.01 < latest < before
    assert before - latest - 0.01 < group["still_ns"] / 1e9 < after - latest + 0.01
    text = python.answer("where", python.live).decode()
    assert "nothing moved for" in text
    running.kill()


def test_regions_and_recursion(python: Sandbox):
    running = start(python, "region")
    group = settle(python, "sleep")
    frames = [frame for frame in group["frames"] if frame["kind"] == "region"]
    assert [frame["name"] for frame in frames] == ["assemble"]
    found = python_frames(group)
    truth = logged(python)
    assert [name for name, _ in found] == [name for name, _ in truth]
    # In recursion calls are not told apart by place: their line is not known, and not made up.
    assert [f == t or f[1] is None for f, t in zip(found, truth)] == [True] * len(truth)
    assert found[-1] == truth[-1]
    running.kill()


def test_tasks(python: Sandbox):
    running = start(python, "task")
    group = settle(python, "sleep")
    assert [f["name"] for f in group["frames"] if f["kind"] == "task"][-1:] == ["fetch"]
    names = [name for name, _ in python_frames(group)]
    assert names[-3:] == [name for name, _ in logged(python)[-3:]] == ["outer", "inner", "stop_here"]
    assert python_frames(group)[-1] == logged(python)[-1]
    running.kill()


def test_a_module_that_is_being_imported(python: Sandbox):
    running = start(python, "importing")
    group = settle(python, "sleep")
    assert python_frames(group)[:2] == logged(python)[:2]
    assert python_frames(group)[-1][0] == "stop_here"
    text = python.answer("where", "--tree", python.live).decode()
    assert text.count("(import)") <= 2, "the import system is one frame"
    running.kill()


def test_threads(python: Sandbox):
    running = start(python, "threads")
    shown = where(python, python.live)
    main, others = shown.main(), [g for g in shown.groups if not g["main"]]
    assert python_frames(main) == logged(python)
    (group,) = others
    assert sorted(thread["name"] for thread in group["threads"]) == ["one", "two"]
    assert python_frames(group) == logged(python, "one") == logged(python, "two")
    text = python.answer("where", python.live).decode()
    assert "2 threads" in text
    assert_fits_a_screen(text)
    assert [g["main"] for g in where(python, "--main", python.live).groups] == [True]
    running.kill()
    dead = where(python, python.live)
    assert [g["frames"] for g in dead.groups] == [g["frames"] for g in shown.groups]
    assert {g["state"] for g in dead.groups} == {"silent"}


def test_a_deadlock_of_two_ranks_is_seen_at_a_glance(mpi: Sandbox):
    running = mpi.start(mpi.ranks(2, *mpi.recorder(), PROGRAM, "log", "deadlock"))
    for rank in range(2):
        running.wait_until((mpi.cwd / f"log-{rank}").exists, "both ranks are there")
    functions = {0: "MPI_Recv", 1: "MPI_Barrier"}
    for _ in range(1000):
        shown = where(mpi, mpi.live)
        leaves = {rank: shown.main(rank)["frames"][-1]["name"] for rank in functions}
        if all(leaves[rank].startswith(name) for rank, name in functions.items()):
            break
    for rank, name in functions.items():
        group = shown.main(rank)
        assert python_frames(group) == logged(mpi, log=f"log-{rank}")
        assert group["frames"][-1]["kind"] == "mpi"
        assert group["frames"][-1]["name"].startswith(name)
        assert shown.ranks_of(group) == [rank]
    lines = mpi.answer("where", mpi.live).decode().splitlines()
    assert lines[0].startswith("stands_still.py   2 ranks on 1 host, all running")
    assert lines[3].split()[0] == "0" and "receive > Comm.Recv" in lines[3] and "MPI_Recv" in lines[3]
    assert lines[4].split()[0] == "1" and "meet > Comm.Barrier" in lines[4] and "MPI_Barrier" in lines[4]
    assert_fits_a_screen("\n".join(lines))

    running.process.terminate()
    running.wait()
    merged = mpi.allranks("merge", mpi.live, "-o", "merged.allranks")
    assert merged.code == 0, merged
    for path in (mpi.live, mpi.cwd / "merged.allranks"):
        dead = where(mpi, path)
        assert [g["frames"] for g in dead.groups] == [g["frames"] for g in shown.groups]
        assert "all dead" in mpi.answer("where", path).decode()


def test_who_has_finished_is_nowhere(python: Sandbox):
    done = python.recorded("-c", "pass", options=("-o", "run.allranks"))
    assert done.code == 0, done
    assert where(python, "run.allranks").groups == []
    text = python.answer("where", "run.allranks").decode()
    assert "finished" in text


# ---- which job ----


def default_directory(sandbox: Sandbox) -> dict[str, str]:
    """Where the runtime puts live files by default, for a job of this test alone: /dev/shm cannot be had for it."""
    return {"TMPDIR": str(sandbox.cwd)}


def test_a_job_in_the_default_directory_is_found(python: Sandbox):
    place = python.cwd / f"allranks-{os.geteuid()}" / "job-of-mine"
    running = start(python, "sleep")
    settle(python, "sleep")
    (live,) = python.live_files()
    shutil.copytree(live.parent, place)
    done = python.allranks("where", env=default_directory(python))
    others = "jobs of yours are running" in done.err  # of whoever else uses this machine
    assert others or "stop_here" in done.out, done
    assert not others or str(place) in done.err
    running.kill()
    done = python.allranks("where", env=default_directory(python))
    assert done.code == 0 or str(place) in done.err or "older ones" in done.err


def test_a_directory_of_several_jobs_is_no_run(python: Sandbox):
    place = python.cwd / "jobs"
    write_ring(place / "first", 2)
    for words in (("where",), ("report",), ("mpi",), ("ranks",), ("waits",), ("top", "--once")):
        assert python.allranks(*words, place).code == 0  # of one job
    write_ring(place / "second", 3)
    for command in ("where", "report", "mpi", "ranks", "waits", "top"):
        done = python.allranks(command, place)
        assert (done.code, done.out) == (2, ""), done
        assert f"{place}: live files of 2 jobs are in it (say which one):\n" in done.err
        assert f"  allranks {command} {place}/first\n      2 processes" in done.err
        assert f"  allranks {command} {place}/second\n      3 processes" in done.err
        assert python.allranks(command, place / "second").code == 0


def write_as(job: str, rank: int, size: int, directory: Path) -> Path:
    process = ring_rank(rank, size)
    process.job = job
    path = process.write(directory)
    return path.rename(directory / f"{job}-{path.name}")


def test_files_of_several_jobs_beside_each_other_are_no_run(python: Sandbox):
    place = python.cwd / "copied"
    place.mkdir()
    for rank, host in enumerate(("one", "two")):  # each host has its own name for the job
        write_as(host, rank, 2, place)
    assert python.allranks("report", place).code == 0
    for rank in range(5):
        write_as("second", rank, 5, place)
    alone = write_as("third", 0, 1, place)
    for command in ("where", "report", "top"):
        done = python.allranks(command, place)
        assert (done.code, done.out) == (2, ""), done
        assert f"{place}: live files of 3 jobs are in it (say which one):\n" in done.err
        typed = [line for line in done.err.splitlines() if line.startswith("  allranks ")]
        assert f"  allranks {'report' if command == 'top' else command} {alone}" in typed
        runs = [line for line in typed if line.startswith("  allranks merge ")]
        for words in runs:
            made = python.run(["sh", "-c", words.replace("allranks merge", f"{python.command} merge", 1)])
            assert made.code == 0, made
        sizes = {python.report(word.split()[-1]).data["ranks"] for word in runs}
        assert sizes == {2, 5}
        for word in runs:
            (python.cwd / word.split()[-1]).unlink()


def test_run_files_in_a_directory_are_listed(python: Sandbox):
    place = python.cwd / "runs"
    place.mkdir()
    for name in ("a", "b"):
        assert python.recorded("-c", "pass", options=("-o", str(place / f"{name}.allranks"))).code == 0
    for command in ("where", "report", "top"):
        done = python.allranks(command, place)
        assert (done.code, done.out) == (2, ""), done
        assert f"{place}: no live files are in it, but 2 run files (say which one):\n" in done.err
        for name in ("a", "b"):
            assert f"  allranks {'report' if command == 'top' else command} {place}/{name}.allranks\n    " in done.err


NOBODY = 65534


def as_nobody(*paths: Path) -> None:
    for path in paths:
        os.chown(path, NOBODY, NOBODY)


@pytest.mark.parametrize("whose", ["home", "job", "file", "linked job", "linked file", "open to all"])
@pytest.mark.parametrize("command", ["where", "top"])
def test_jobs_of_others_are_not_listed(python: Sandbox, whose: str, command: str):
    """In the default places anybody can make a directory that is called as ours is; one that is named is read."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    home = python.cwd / f"allranks-{os.geteuid()}"
    job = home / "planted-job"
    running = start(python, "sleep")
    settle(python, "sleep")
    (live,) = python.live_files()
    shutil.copytree(live.parent, job)
    home.chmod(0o700)
    job.chmod(0o700)
    (copy,) = job.iterdir()
    if whose == "linked job":
        job = job.rename(python.cwd / "elsewhere")
        (home / "planted-job").symlink_to(job)
    elif whose == "linked file":
        copy.unlink()
        copy.symlink_to(live)
    elif whose == "open to all":
        home.chmod(0o777)
    else:
        as_nobody({"home": home, "job": job, "file": copy}[whose])
    words = ("--once",) if command == "top" else ()
    done = python.allranks(command, *words, env=default_directory(python))
    assert "planted-job" not in done.out + done.err and "stands_still" not in done.out
    assert done.code == 2 or "of yours" not in done.err
    if whose != "linked file":
        assert "stands_still" in python.answer(command, *words, job).decode()
    running.kill()


def test_notes_of_others_are_not_followed(python: Sandbox):
    """By a Python that MPI has started: only a note of this user's, in directories of this user's."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    home = python.cwd / f"allranks-{os.geteuid()}"
    job = home / "job"
    job.mkdir(parents=True)
    note = job / f"r0-p{os.getpid()}-1.spawns"
    code = (
        "import sys, types; sys.modules['allranks._launch'] = types.ModuleType('nothing')\n"
        "from allranks import _child\n"
        "_child.launchers_of = lambda pid: {1}\n"
        "print(_child.left_by_parent())"
    )

    def found() -> str:
        return python.plain("-c", code, env=default_directory(python)).out.strip()

    note.write_text("ALLRNOTE\n-\nthe recording\n")
    assert found() == "the recording"
    for path in (note, job, home):
        as_nobody(path)
        assert found() == ""
        os.chown(path, 0, 0)
    home.chmod(0o777)
    assert found() == ""
    home.chmod(0o700)
    note.write_text("-\nno note of ours\n")
    assert found() == ""
    note.unlink()
    os.mkfifo(note)
    assert found() == ""


# ---- what is no job ----


def test_what_is_no_job_gives_one_line(python: Sandbox):
    (python.cwd / "empty").mkdir()
    (python.cwd / "text.allranks").write_text("hello\n")
    for words in (("where", "missing"), ("where", "empty"), ("where", "text.allranks"), ("where", "a", "b"),
                  ("where", "--frob"), ("where", "--rows", "x", "empty")):  # fmt: skip
        done = python.allranks(*words)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("allranks: error: ") and done.err.count("\n") == 1, done


@pytest.mark.parametrize("n_bytes", [0, 100, 4096, 8192, 70000])
def test_a_truncated_live_file_gives_one_line(python: Sandbox, n_bytes: int):
    start(python, "sleep").kill()
    (live,) = python.live_files()
    whole = live.read_bytes()
    live.write_bytes(whole[:n_bytes])
    done = python.allranks("where", python.live)
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("allranks: error: ") and done.err.count("\n") == 1, done


def test_help_says_what_it_is_for(python: Sandbox):
    text = python.answer("where", "--help").decode()
    assert "usage: allranks where" in text and max(map(len, text.splitlines())) <= 90
    assert "where " in python.answer("--help").decode()


# ---- where a job hangs ----


def start_hanging(mpi: Sandbox) -> Running:
    running = mpi.start(mpi.ranks(4, *mpi.recorder(), workload("hangs.py"), "ready"))
    running.wait_until(lambda: all((mpi.cwd / f"ready-{rank}").exists() for rank in range(4)), "all ranks are ready")
    running.wait_until(lambda: "Where it hangs" in mpi.answer("where", mpi.live).decode(), "it hangs")
    return running


def assert_hang(screen: str) -> None:
    """Who waits where, and who is missing: each rank is in one place, by its own program."""
    text = " ".join(screen.split())
    assert re.search(r"ranks 2,3 have been in \S*Allreduce at hangs\.py:23 for ", text), screen
    assert "not in it: rank 0, which is in compute at hangs.py:19" in text, screen
    assert "not in it: rank 1, which has left the script and is in MPI_Finalize" in text, screen
    assert max(map(len, screen.splitlines())) <= 80


def test_a_job_that_hangs_says_where(one_mpi: Sandbox):
    running = start_hanging(one_mpi)
    assert_hang(one_mpi.answer("where", one_mpi.live).decode())
    end_session(running.process)
    for command in ("where", "report"):
        assert_hang(one_mpi.answer(command, one_mpi.live).decode())
    recovered = one_mpi.allranks("recover", one_mpi.live, "-o", "recovered.allranks")
    assert recovered.code == 0, recovered
    assert_hang(one_mpi.answer("report", "recovered.allranks").decode())
