# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a program starts: each is recorded in a file of its own, and all are in one run."""

import json
import os
import pstats

import pytest
from conftest import PLAIN
from harness import Done, Sandbox, is_closing_line, workload

PROGRAM = workload("family.py")
FORKS = (
    "fork", "fork_and_exit", "fork_twice", "fork_in_thread", "fork_beside_threads", "fork_deep", "fork_in_generator",
    "fork_in_task", "fork_storm",
)  # fmt: skip
OTHER_WAYS = (
    "pool_fork", "pool_spawn", "pool_forkserver", "pool_terminated", "executor", "subprocesses", "becomes_another",
    "fails_to_become_another", "child_killed",
)  # fmt: skip
PARENT_FIRST = ("outlived", "outlived_by_two", "daemon", "killed_before_child")


def logged(python: Sandbox) -> tuple[dict[int, int], dict[int, int]]:
    """Calls of `tick` and parents of each process, as they wrote them down."""
    calls: dict[int, int] = {}
    parents: dict[int, int] = {}
    for line in (python.cwd / "log").read_text().splitlines():
        pid, parent, n = map(int, line.split())
        calls[pid] = calls.get(pid, 0) + n
        parents[pid] = parent
    return calls, parents


def calls_by_process(python: Sandbox, run: str) -> dict[int, int]:
    """From the run as data: values of all nodes of `tick`, by the process of their thread."""
    code = (
        "import allranks, sys, json\n"
        "run = allranks.load(sys.argv[1], as_='python')\n"
        "nodes = {node.id for node in run.tree if node.function == 'tick'}\n"
        "pids = [run.processes[thread.process].pid for thread in run.threads]\n"
        "calls = {}\n"
        "for value in run.values('calls'):\n"
        "    if value[0] in nodes:\n"
        "        calls[pids[value[1]]] = calls.get(pids[value[1]], 0) + int(value[2])\n"
        "print(json.dumps(calls))\n"
    )
    done = python.plain("-c", code, run)
    assert done.code == 0, done
    return {int(pid): n for pid, n in json.loads(done.out).items()}


def assert_all_are_there(python: Sandbox, run: str = "family.allranks") -> None:
    calls, parents = logged(python)
    assert calls_by_process(python, run) == {pid: n for pid, n in calls.items() if n}
    processes = {process["pid"]: process for process in python.info(run).processes}
    assert set(calls) <= set(processes)
    for pid, process in processes.items():
        assert process["lost"]["processes"] == 0
        if process["parent_pid"] and pid in parents and parents[pid] in processes:
            assert process["parent_pid"] in (parents[pid], pid)


def record(python: Sandbox, way: str, *options: str) -> Done:
    return python.recorded(PROGRAM, way, "log", options=options)


def assert_all_are_in_one_run(python: Sandbox, way: str) -> None:
    plain = python.plain(PROGRAM, way, "log")
    (python.cwd / "log").unlink()
    with python.polled():
        done = record(python, way)
    assert (done.code, done.out) == (plain.code, plain.out), done
    assert sum(map(is_closing_line, done.err.splitlines())) == 1, done
    assert done.err.count("\n") == plain.err.count("\n") + 1, done
    python.wait_for_the_last()
    assert python.files() == {"family.allranks", "log"}
    assert_all_are_there(python)


@pytest.mark.parametrize("way", FORKS)
def test_a_forked_child_goes_on_in_a_file_of_its_own(any_python: Sandbox, way: str):
    assert_all_are_in_one_run(any_python, way)


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_each_has_its_own_and_all_are_in_one_run(python: Sandbox, way: str):
    assert_all_are_in_one_run(python, way)


@pytest.mark.parametrize("way", PARENT_FIRST)
def test_the_parent_may_die_first(any_python: Sandbox, way: str):
    done = record(any_python, way)
    assert done.code == (-9 if way == "killed_before_child" else 0), done
    any_python.wait_for_the_last()
    assert any_python.files() == {"family.allranks", "log"}
    assert_all_are_there(any_python)


def test_a_run_tells_who_still_runs_and_is_completed_later(python: Sandbox):
    done = record(python, "outlived")
    assert "1 still running, to be added at its end" in done.err, done
    states = [process["state"] for process in python.info("family.allranks").processes]
    assert states in (["finished", "running"], ["finished", "finished"])
    python.wait_for_the_last()
    assert [process["state"] for process in python.info("family.allranks").processes] == ["finished", "finished"]


def test_a_run_that_was_moved_is_not_written_over(python: Sandbox):
    running = python.start([*python.recorder(), PROGRAM, "outlived", "log"])
    running.wait()
    os.rename(python.cwd / "family.allranks", python.cwd / "mine.allranks")
    (python.cwd / "family.allranks").write_text("another file")
    python.wait_for_the_last()
    assert (python.cwd / "family.allranks").read_text() == "another file"
    merged = python.allranks("merge", "mine.allranks", "family-2.allranks", "-o", "both.allranks")
    assert merged.code == 0, merged
    assert_all_are_there(python, "both.allranks")


def test_a_killed_child_says_so(python: Sandbox):
    record(python, "child_killed")
    states = {process["state"] for process in python.info("family.allranks").processes}
    assert states == {"finished", "silent"}


def test_a_process_that_became_another_is_told_from_it(python: Sandbox):
    record(python, "becomes_another")
    first, second = python.info("family.allranks").processes
    assert (first["state"], second["state"]) == ("replaced", "finished")
    assert first["pid"] == second["pid"] == second["parent_pid"]


def test_without_children_there_are_none(python: Sandbox):
    for way in ("fork", "pool_spawn", "subprocesses"):
        done = record(python, way, "--no-children", "-o", f"{way}.allranks")
        assert done.code == 0, done
        assert len(python.info(f"{way}.allranks").processes) == 1
        assert python.left_overs() == []


def test_children_count_for_the_process_that_started_them(python: Sandbox):
    record(python, "fork")
    report = python.report("family.allranks")
    assert (report.data["processes"], report.data["ranks"]) == (3, 1)
    assert report.calls("tick") == 60
    head = python.answer("report", "family.allranks").decode().splitlines()[0]
    assert "1 process and 2 children on 1 host" in head
    shown = python.answer("info", "family.allranks").decode()
    assert shown.count("\n  child ") == 2, shown


WORKERS = """\
import os, time

def work():
    time.sleep(0.3)

def start_workers():
    for _ in range(3):
        if os.fork() == 0:
            work()
            os._exit(0)
    for _ in range(3):
        os.wait()

start_workers()
"""


def test_no_function_takes_less_than_what_it_calls(python: Sandbox):
    (python.cwd / "workers.py").write_text(WORKERS)
    assert python.recorded("workers.py").code == 0
    python.answer("export", "workers.allranks", "-f", "pstats", "--quiet", "-o", "workers.pstats")
    stats = pstats.Stats(str(python.cwd / "workers.pstats")).stats  # type: ignore[attr-defined]
    called: dict[str, float] = {}
    for *_, callers in stats.values():
        for (_, _, name), (*_, seconds) in callers.items():
            called[name] = called.get(name, 0) + seconds
    totals = {name: (n, seconds) for (_, _, name), (_, n, _, seconds, _) in stats.items()}
    assert called["start_workers"] <= totals["start_workers"][1] + 1e-6
    assert totals["work"][0] == 3 and totals["work"][1] >= 0.9
    rows = python.answer("report", "--tree", "bottom-up", "--depth", "1", "workers.allranks").decode().splitlines()
    shares = [int(row.split()[-2]) for row in rows if row.endswith("%") and row.startswith(" ")]
    assert len(shares) >= 2 and sum(shares) <= 101


def test_the_program_does_not_see_what_its_children_find(python: Sandbox):
    code = (
        "import os, subprocess, sys\n"
        "look = 'import os; print([k for k in os.environ if k.startswith(\"ALLRANKS\")])'\n"
        "exec(look)\n"
        "subprocess.run([sys.executable, '-c', look])\n"
        "subprocess.run([sys.executable, '-c', look], env={})\n"
    )
    assert python.recorded("-c", code).out == "[]\n" * 3
    assert len(python.info("command.allranks").processes) == 3


def test_a_recording_below_a_recording_is_its_own(python: Sandbox):
    inner = [*python.recorder("-o", "inner.allranks"), PROGRAM, "nothing", "log"]
    done = python.recorded("-c", f"import subprocess; subprocess.run({inner!r}, check=True)")
    assert done.code == 0, done
    assert python.report("inner.allranks").calls("tick") == 10
    assert python.report("command.allranks").calls("tick") == 0


def test_options_are_the_childrens_too(python: Sandbox):
    record(python, "subprocesses", "--exclude", "*tick", "--builtins", "none")
    report = python.report("family.allranks")
    assert report.calls("work") == 8 and report.calls("tick") == 0
    assert not [node for node in report.nodes if node.kind == "builtin"]


def test_console_scripts_and_other_pythons_are_reached(python: Sandbox, request: pytest.FixtureRequest):
    """Whichever Python it is, if allranks is installed in it."""
    others = [stack for stack in request.config.stash[PLAIN] if stack.python_version != python.stack.python_version]
    words = []
    for stack in [python.stack, *others]:
        script = python.cwd / f"tool-{stack.name}"
        script.write_text(f"#!{stack.python}\ndef tick(): pass\nfor _ in range(10): tick()\n")
        script.chmod(0o755)
        words.append([str(script)])
    done = python.recorded("-c", f"import subprocess\nfor words in {words!r}: subprocess.run(words, check=True)")
    assert done.code == 0, done
    assert len(python.info("command.allranks").processes) == 1 + len(words)
    assert python.report("command.allranks").calls("tick") == 10 * len(words)


def test_children_that_find_no_room_are_counted(python: Sandbox):
    """No file may be so large as a live file has to be, for a while."""
    code = (
        "import os, resource\n"
        "most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))\n"
        "for _ in range(3):\n"
        "    pid = os.fork()\n"
        "    if not pid: os._exit(0)\n"
        "    print(os.waitpid(pid, 0)[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
    )
    done = python.recorded("-c", code)
    assert done.out == "0\n" * 3, done
    (process,) = python.info("command.allranks").processes
    assert process["lost"]["processes"] == 3
    assert "3 child processes that were not recorded" in python.answer("info", "command.allranks").decode()
    assert python.left_overs() == []


def test_another_job_started_by_the_program_keeps_its_ranks(mpi: Sandbox):
    """A driver without MPI that starts ranks, which are not recorded on their own."""
    words = mpi.ranks(2, mpi.stack.python, workload("ranks_tick.py"))
    done = mpi.recorded("-c", f"import subprocess; subprocess.run({words!r}, check=True)")
    assert done.code == 0, done
    info = mpi.info("command.allranks")
    assert sorted(process["rank"] for process in info.processes if process["rank"] is not None) == [0, 1], info.data
    assert mpi.report("command.allranks").calls("tick") == 30


def test_children_of_ranks_come_with_their_ranks(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("ranks_fork.py"))
    assert done.code == 0, done
    (run,) = [name for name in mpi.files() if name.endswith(".allranks")]
    info = mpi.info(run)
    assert sorted(process["rank"] for process in info.processes) == [0, 0, 1, 1]
    report = mpi.report(run)
    assert (report.data["processes"], report.data["ranks"]) == (4, 2)
    assert report.calls("tick") == 10 + 11 + 20 + 21
    assert mpi.left_overs() == []


# ---- something else in the place of their files ----


@pytest.mark.parametrize("what", ["fifo", "terminal", "directory", "endless"])
@pytest.mark.parametrize("ending", [".c999999-9.allranks", ".c999999-9.live", ".c999999-9.part", ".lock", ".unrecorded"])
def test_what_stands_in_the_place_of_a_file_is_not_waited_for(python: Sandbox, what: str, ending: str):
    program = workload("planted_in_family.py")
    plain = python.plain(program, "-", what, ending)
    done = python.recorded(program, str(python.live), what, ending)
    assert (done.code, done.out) == (plain.code, plain.out) == (0, "ended\n"), done
    assert python.report("planted_in_family.allranks").calls("tick") == 20
    (planted,) = python.live.rglob(f"*{ending}")
    assert ending in (".lock", ".unrecorded") or not planted.is_file()
