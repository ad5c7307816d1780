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
    return Where(json.loads(sandbox.answer("where", "--json=1", *words)))


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


@pytest.mark.parametrize("how", ["importing", "unpacking"])
def test_a_module_that_is_being_imported(python: Sandbox, how: str):
    running = start(python, how)
    group = settle(python, "sleep")
    assert python_frames(group)[:2] == logged(python)[:2]
    assert python_frames(group)[-1][0] == "stop_here"
    text = python.answer("where", "--tree", python.live).decode()
    assert 1 <= text.count("(import)") <= 2, "the import system is one frame"
    assert "load_module" not in text
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
    title = next(i for i, line in enumerate(lines) if line.split()[:2] == ["ranks", "stack"])
    first, second = lines[title + 1 : title + 3]
    assert first.split()[0] == "0" and "receive > Comm.Recv" in first and "MPI_Recv" in first
    assert second.split()[0] == "1" and "meet > Comm.Barrier" in second and "MPI_Barrier" in second
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


def test_the_directory_in_the_environment_is_where_jobs_are_looked_for(python: Sandbox):
    """Beside it a job in the default directory is another one, and nobody's but its user's to switch."""
    chosen = {"ALLRANKS_LIVE_DIR": str(python.live), **default_directory(python)}
    running = start(python, "sleep")
    settle(python, "sleep")
    (live,) = python.live_files()
    shutil.copytree(live.parent, python.cwd / f"allranks-{os.geteuid()}" / "job-of-mine")
    for words in (("where",), ("top", "--once"), ("trace",), ("trace", "off"), ("trace", "on")):
        done = python.allranks(*words, env=chosen)
        assert done.code == 0 and done.err == "", done
    assert "stop_here" in python.allranks("where", env=chosen).out
    empty = python.cwd / "empty"
    empty.mkdir()
    for command in ("where", "top", "trace on"):
        done = python.allranks(*command.split(), env={**chosen, "ALLRANKS_LIVE_DIR": str(empty)})
        message = f"allranks: error: no job of yours is running in {empty} ($ALLRANKS_LIVE_DIR) (name its directory: allranks {command} DIR)\n"
        assert (done.code, done.out, done.err) == (2, "", message)
    running.kill()


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


def start_hanging(mpi: Sandbox, *program: str, title: str = "Where it hangs") -> Running:
    running = mpi.start(mpi.ranks(4, *mpi.recorder(), *program, "ready"))
    running.wait_until(lambda: all((mpi.cwd / f"ready-{rank}").exists() for rank in range(4)), "all ranks are ready")
    running.wait_until(lambda: title in mpi.answer("where", mpi.live).decode(), title)
    return running


def in_one_line(screen: str) -> str:
    """Sentences without their line breaks; each line fits the screen."""
    assert max(map(len, screen.splitlines())) <= 80, screen
    return " ".join(screen.split())


def assert_hang(screen: str) -> None:
    """Which ranks wait where, and which are missing: each rank is in one place, by its own program."""
    text = in_one_line(screen)
    call = r"\S*Allreduce at hangs\.py:23 on MPI_COMM_WORLD \(number 2 on it\): ranks 2,3 have waited for "
    assert re.search(call, text), screen
    assert "rank 0 is missing: it is in compute at hangs.py:19" in text, screen
    assert "rank 1 is missing: it has left the script and is in MPI_Finalize" in text, screen


def test_a_job_that_hangs_says_where(mpi: Sandbox):
    running = start_hanging(mpi, workload("hangs.py"))
    assert_hang(mpi.answer("where", mpi.live).decode())
    end_session(running.process)
    for command in ("where", "report"):
        assert_hang(mpi.answer(command, mpi.live).decode())
    recovered = mpi.allranks("recover", mpi.live, "-o", "recovered.allranks")
    assert recovered.code == 0, recovered
    for command in ("where", "report"):
        assert_hang(mpi.answer(command, "recovered.allranks").decode())


def line_of(code: str, after: str = "") -> int:
    """Where this is in the program, after the function of that name begins."""
    lines = Path(workload("hangs_by.py")).read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"def {after}("))
    return next(i for i, line in enumerate(lines, 1) if i > first and code in line)


RECV = f"hangs_by.py:{line_of('Recv', 'receive')}"
SPIN = f"it is computing in spin (hangs_by.py:{line_of('def spin', 'stop_here')})"
ASSEMBLE = f"computing in assemble (hangs_by.py:{line_of('def assemble', 'worker')})"
HANGS, WAITS = "Where it hangs", "Where ranks wait"

# What stands there, sentence by sentence; "…" is how long.
CASES: dict[str, tuple[str, list[str]]] = {
    "split": (WAITS, [
        f"Comm.Barrier at hangs_by.py:{line_of('part.Barrier', 'split') + 5} on a communicator of ranks 0,2 (number 3 on it): "
        f"rank 0 has waited for … rank 2 is missing: {SPIN}",
    ]),
    "apart": (WAITS, [
        f"Comm.Barrier at hangs_by.py:{line_of('part.Barrier', 'apart')} on a communicator of ranks 0,2 (number 1 on it): "
        f"rank 0 has waited for … rank 2 is missing: {SPIN}",
    ]),
    "mismatch": (HANGS, [
        f"rank 0 is in Comm.Reduce at hangs_by.py:{line_of('Reduce', 'mismatch')} (root 0), "
        f"ranks 1-3 in Comm.Bcast at hangs_by.py:{line_of('Bcast', 'mismatch')} (root 0): "
        "a mismatch, all in the same turn (number 2 on MPI_COMM_WORLD)",
    ]),
    "roots": (HANGS, [
        "rank 0 is in Comm.Bcast", "(root 1), rank 1 in Comm.Bcast", "(root 2), rank 2 in Comm.Bcast",
        "(root 3), 1 more rank elsewhere: a mismatch, all in the same turn (number 1 on MPI_COMM_WORLD)",
    ]),
    "circle": (HANGS, [
        f"rank 0 waits for a message from rank 1 (tag 7) at {RECV}, rank 1 for one from rank 0 (tag 8) at {RECV}: a circle",
        f"rank 2 waits for a message from rank 3 (tag 9) at {RECV}, rank 3 for one from rank 2 (tag 10) at {RECV}: a circle",
    ]),
    "ring": (HANGS, [
        f"rank 0 waits for a message from rank 3 (tag 5) at {RECV}, rank 3 for one from rank 2 (tag 5) at {RECV}, "
        f"rank 2 for one from rank 1 (tag 5) at {RECV} and so on, 1 more rank: a circle",
    ]),
    "sends": (HANGS, [
        "ranks 2,3 have waited for … ranks 0,1 are missing: they wait in a circle, see below rank 0 waits for rank 1 to receive "
        f"its message (tag 3) at hangs_by.py:{line_of('Ssend', 'sends')}, rank 1 waits for rank 0 to receive its message (tag 3)",
    ]),
    "tags": (HANGS, [
        f"rank 0 waits for a message from rank 1 (tag 7) at {RECV}, rank 1 waits for rank 0 to receive its message (tag 9) "
        f"at hangs_by.py:{line_of('Ssend', 'tags')}: the tags differ",
    ]),
    "left": (HANGS, [
        f"rank 0 waits for a message from rank 1 (tag 7) at {RECV}; rank 1 has left the script and is in MPI_Finalize",
    ]),
    "any": (HANGS, [f"ranks 0-3 wait for a message from any rank (any tag) at {RECV}, and no rank can send one"]),
    "requests": (HANGS, [
        f"rank 0 waits for 3 requests, the first a receive from rank 1 (tag 4) at hangs_by.py:{line_of('Waitall', 'requests')}",
        f"rank 1 waits for one of 2 requests, the first a receive from rank 2 (tag 4) at hangs_by.py:{line_of('Waitany', 'requests')}",
    ]),
    "posted": (WAITS, [
        f"Request.Wait at hangs_by.py:{line_of('Wait()', 'posted')} for a collective call on MPI_COMM_WORLD (number 1 on it): "
        f"ranks 0-2 have waited for … rank 3 is missing: {SPIN}",
    ]),
    "mixed": (HANGS, [
        f"rank 0 has waited for … ranks 1-3 are missing: they wait for a message from rank 0 (tag 2) at {RECV}, "
        "which is in this call: a circle",
    ]),
    "pickled": (WAITS, [
        f"Comm.allreduce at hangs_by.py:{line_of('!= 3', 'pickled') + 1} on MPI_COMM_WORLD: ranks 0-2 have waited for … "
        f"rank 3 is missing: {SPIN}",
    ]),
    "listening": (WAITS, [
        f"Comm.Barrier at hangs_by.py:{line_of('Barrier', 'listening')} on MPI_COMM_WORLD (number 1 on it): "
        f"ranks 0-2 have waited for … rank 3 is missing: {SPIN}",
    ]),
    "worker": (HANGS, [
        f"rank 0, in thread listener, waits for a message from rank 1 (tag 6) at {RECV}, "
        f"rank 1 for one from rank 0 (tag 8) at {RECV}: a circle",
    ]),
    "slow": (WAITS, [f"ranks 0-2 have waited for … rank 3 is missing: it is {ASSEMBLE}"]),
    "slow_sender": (WAITS, [f"rank 0 waits for a message from rank 3 (tag 7) at {RECV}; rank 3 is {ASSEMBLE}"]),
}  # fmt: skip

BY_MPI = ["apart", "mismatch", "circle", "tags", "left", "posted", "worker", "slow"]  # the others are the same on all


def assert_says(screen: str, sentences: list[str]) -> None:
    text = in_one_line(screen)
    for sentence in sentences:
        pattern = re.escape(sentence).replace("…", r"(at least )?[\d.]+ \S+")
        assert re.search(pattern, text), f"{sentence}\n{screen}"


def check_case(mpi: Sandbox, case: str) -> None:
    title, sentences = CASES[case]
    running = start_hanging(mpi, workload("hangs_by.py"), case, title=title)
    running.wait_until(lambda: all_stand_still(mpi), "all ranks stand still")
    screen = mpi.answer("where", mpi.live).decode()
    assert title in screen, screen
    assert_says(screen, sentences)
    assert_fits_a_screen(screen)
    end_session(running.process)
    assert_says(mpi.answer("where", mpi.live).decode(), sentences)


def all_stand_still(mpi: Sandbox) -> bool:
    """For long enough to be reported: the last rank to arrive may have moved a moment ago."""
    return all(thread["still_ns"] > 1.1e9 for group in where(mpi, mpi.live).groups for thread in group["threads"])


@pytest.mark.parametrize("case", BY_MPI)
def test_what_a_job_hangs_by_on_each_mpi(mpi: Sandbox, case: str):
    check_case(mpi, case)


@pytest.mark.parametrize("case", sorted(set(CASES) - set(BY_MPI)))
def test_what_a_job_hangs_by(one_mpi: Sandbox, case: str):
    check_case(one_mpi, case)


def hang_of(mpi: Sandbox, case: str) -> dict[str, Any]:
    """As JSON; the same of the job while it runs, after a kill, and of the run that is made of it."""
    running = start_hanging(mpi, workload("hangs_by.py"), case, title=CASES[case][0])
    running.wait_until(lambda: all_stand_still(mpi), "all ranks stand still")
    alive = where(mpi, mpi.live).data["hang"]
    assert alive["state"] == ("hangs" if CASES[case][0] == HANGS else "waits")
    end_session(running.process)
    merged = mpi.allranks("merge", mpi.live, "-o", "merged.allranks")
    assert merged.code == 0, merged
    for words in (("where", mpi.live), ("where", "merged.allranks"), ("report", "merged.allranks")):
        dead = json.loads(mpi.answer(words[0], "--json", words[1]))["hang"]
        assert dead["state"] == "killed"
        assert without_times(dead) == {**without_times(alive), "state": "killed"}
    return alive


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key != "still_ns"}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def test_a_collective_call_as_json(one_mpi: Sandbox):
    hang = hang_of(one_mpi, "apart")
    (call,) = hang["calls"]
    assert (hang["messages"], hang["circles"], call["number"], call["mismatch"]) == ([], [], 1, False)
    assert call["communicator"]["ranks"] == [0, 2] and call["communicator"]["origin"] == "split"
    (present,), (missing,) = call["present"], call["missing"]
    assert (present["rank"], present["activity"], present["function"]["name"]) == (0, "collective", "Comm.Barrier")
    assert present["function"]["line"] == line_of("part.Barrier", "apart")
    assert 1e9 < call["still_ns"] == present["still_ns"]
    assert (missing["rank"], missing["activity"], missing["function"]["name"]) == (2, "computing", "spin")


def test_messages_as_json(one_mpi: Sandbox):
    hang = hang_of(one_mpi, "circle")
    assert (hang["calls"], hang["circles"]) == ([], [[0, 1], [2, 3]])
    waits = [(each["rank"], each["activity"], each["peer"], each["tag"]) for each in hang["messages"]]
    assert waits == [(rank, "receive", rank ^ 1, 7 + rank) for rank in range(4)]
    assert {each["function"]["line"] for each in hang["messages"]} == {line_of("Recv", "receive")}


def test_a_run_that_has_ended_hangs_nowhere(one_mpi: Sandbox):
    code = "from mpi4py.MPI import COMM_WORLD as world; world.Barrier()"
    done = one_mpi.recorded_ranks(2, "-c", code, options=("-o", "run.allranks"))
    assert done.code == 0, done
    for command in ("where", "report"):
        assert json.loads(one_mpi.answer(command, "--json", "run.allranks"))["hang"] is None
        screen = one_mpi.answer(command, "run.allranks").decode()
        assert HANGS not in screen and WAITS not in screen and "Where ranks were" not in screen
