# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in for kernprof: every line is counted as often as it ran, whatever the program does, and recipes work to the letter."""

from __future__ import annotations

import marshal
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from harness import Done, Sandbox, own_copy, workload
from line_files import hits_in_remarks, line_profilers, read_lprof

MODULE = "allranks.compat.kernprof"
LINES = workload("kernprof_lines.py")
RANKS = workload("kernprof_ranks.py")
ENDS = {"": 0, "raise": 1, "exit": 3, "_exit": 4, "SIGTERM": -signal.SIGTERM, "SIGINT": -signal.SIGINT}


def live(sandbox: Sandbox) -> dict[str, str]:
    return {"ALLRANKS_LIVE_DIR": str(sandbox.live)}


def said_at_the_end(sandbox: Sandbox, name: str = "kernprof_lines.py.lprof", viewer: str = "allranks.compat.line_profiler -rmt") -> str:
    return f"Wrote profile results to '{name}'\nInspect results with:\n{sandbox.stack.python} -m {viewer} {name}\n"


def kernprof(sandbox: Sandbox, *words: str, **how) -> Done:
    return sandbox.plain("-m", MODULE, *words, env={**live(sandbox), **how.pop("env", {})}, **how)


def without_newer_events(hits: dict[int, int]) -> dict[int, int]:
    """`try` and what belongs to it has other events on each Python: see the comparison with the real one."""
    return {line: n for line, n in hits.items() if line not in range(37, 49)}


# ---- counts ----


@pytest.mark.parametrize("how", ENDS)
def test_lines_are_counted_however_it_ends(any_python: Sandbox, how: str):
    done = kernprof(any_python, "-l", LINES, how)
    assert done.code == ENDS[how], done
    message = "" if how == "SIGTERM" else said_at_the_end(any_python)
    assert done.out == "worked\n" + message, done
    found = {line: n for lines in read_lprof(any_python.cwd / "kernprof_lines.py.lprof").hits.values() for line, n in lines.items()}
    assert without_newer_events(found) == without_newer_events(hits_in_remarks(LINES))
    files = {"kernprof_lines.py.lprof"} | (set() if how == "SIGTERM" else {"kernprof_lines.allranks"})
    assert any_python.files() == files
    assert len(any_python.live_files()) == (how == "SIGTERM")


def test_counts_are_those_of_the_real_one(any_python: Sandbox):
    for version, python in line_profilers(any_python):
        done = any_python.run([python, "-m", "kernprof", "-l", "-o", f"{version}.lprof", LINES])
        if done.code and b"__code__" in done.stderr:  # 4 does not take everything that 5 takes
            continue
        assert done.code == 0, done
        theirs = read_lprof(any_python.cwd / f"{version}.lprof").hits
        assert kernprof(any_python, "-l", "-o", "ours.lprof", LINES).code == 0
        assert read_lprof(any_python.cwd / "ours.lprof").hits == theirs, version


def test_a_kill_loses_nothing(python: Sandbox):
    done = kernprof(python, "-l", LINES, "SIGKILL")
    assert done.code == -9 and python.files() == set(), done
    (file,) = python.live_files()
    assert python.allranks("recover", file, "-o", "run.allranks").code == 0
    python.answer("export", "run.allranks", "-q", "-f", "lprof")
    found = {line: n for lines in read_lprof(python.cwd / "run.lprof").hits.values() for line, n in lines.items()}
    assert without_newer_events(found) == without_newer_events(hits_in_remarks(LINES))


def test_each_rank_has_a_file(debian: Sandbox):
    done = debian.run(debian.ranks(4, debian.stack.python, "-m", MODULE, "-l", RANKS), env=live(debian))
    assert done.code == 0, done
    assert debian.files() == {"kernprof_ranks.allranks", *(f"kernprof_ranks.py.lprof{rank}" for rank in range(4))}
    for rank in range(4):
        n = 10 * (rank + 1)
        expected = {8: {10: 1, 11: n + 1, 12: n, 13: 1}, **({16: {18: 1}} if rank == 2 else {})}
        assert read_lprof(debian.cwd / f"kernprof_ranks.py.lprof{rank}").hits == expected
    files = [f"kernprof_ranks.py.lprof{rank}" for rank in range(4)]
    done = debian.plain("-m", "allranks.compat.line_profiler", *files)
    assert done.code == 0 and "    12       100 " in done.out, done


def test_ranks_that_are_told_to_end_leave_their_files(debian: Sandbox):
    program = "import sys, time\nfrom mpi4py import MPI\n@profile\ndef work():\n    for i in range(5):\n        pass\nwork()\n"
    program += "open(f'ready.{MPI.COMM_WORLD.rank}', 'w').close()\nMPI.COMM_WORLD.recv(source=MPI.COMM_WORLD.rank)\n"
    (debian.cwd / "stuck.py").write_text(program)
    job = debian.start(debian.ranks(2, debian.stack.python, "-m", MODULE, "-l", "stuck.py"), env=live(debian))
    job.wait_until(lambda: len(list(debian.cwd.glob("ready.*"))) == 2, "both ranks wait")
    time.sleep(0.1)
    os.kill(job.process.pid, signal.SIGTERM)
    job.wait()
    files = [debian.cwd / f"stuck.py.lprof{rank}" for rank in range(2)]
    for _ in range(1000):  # a launcher does not wait for it
        if all(file.exists() for file in files):
            break
        time.sleep(0.02)
    for file in files:
        assert read_lprof(file).hits == {3: {5: 6, 6: 5}}


def test_children_count_for_the_program(any_python: Sandbox):
    """Forked, spawned by multiprocessing, and started by subprocess."""
    program = """\
import subprocess, sys, multiprocessing
@profile
def work(n):
    for i in range(n):
        pass
if __name__ == "__main__":
    work(10)
    subprocess.run([sys.executable, "child.py"])
    for how in ("fork", "spawn"):
        process = multiprocessing.get_context(how).Process(target=work, args=(100,))
        process.start()
        process.join()
"""
    (any_python.cwd / "program.py").write_text(program)
    (any_python.cwd / "child.py").write_text("@profile\ndef other():\n    return 1\nother()\n")
    done = kernprof(any_python, "-lq", "program.py")
    assert (done.code, done.err) == (0, ""), done
    assert read_lprof(any_python.cwd / "program.py.lprof").hits == {2: {4: 213, 5: 210}, 1: {3: 1}}


def test_a_forked_child_that_is_terminated_leaves_the_file_to_its_parent(python: Sandbox):
    program = """\
import os, signal, time
@profile
def work(n):
    for i in range(n):
        pass
work(10)
child = os.fork()
if not child:
    work(5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)
os.waitpid(child, 0)
"""
    (python.cwd / "program.py").write_text(program)
    done = kernprof(python, "-lq", "program.py")
    assert (done.code, done.err) == (0, ""), done
    assert read_lprof(python.cwd / "program.py.lprof").hits == {2: {4: 17, 5: 15}}


# ---- what the program sees ----


def test_profile_is_a_line_profiler(any_python: Sandbox):
    program = """\
import line_profiler
from line_profiler import profile as imported
@profile
def work(n):
    for i in range(n):
        pass
@imported
def other():
    return 1
class A:
    @profile
    def step(self):
        return 1
work(10); other(); A().step()
print(isinstance(profile, line_profiler.LineProfiler), type(profile).__module__.startswith("line_profiler"), work.__name__)
stats = profile.get_stats()
print([[(line, hits) for line, hits, _ in lines] for _, lines in sorted(stats.timings.items())])
profile.print_stats()
with profile: work(1)
profile.enable_by_count(); profile.disable_by_count(); profile.dump_stats("so_far.lprof")
print(profile.runcall(lambda: 5), len(profile.functions))
"""
    (any_python.cwd / "program.py").write_text(program)
    done = kernprof(any_python, "-lq", "program.py")
    assert (done.code, done.err) == (0, ""), done
    assert done.out.startswith("True True work\n[[(5, 11), (6, 10)], [(9, 1)], [(13, 1)]]\nTimer unit: 1e-06 s\n\nTotal time: "), done
    assert done.out.endswith("\n5 3\n") and "     5        11 " in done.out, done
    assert read_lprof(any_python.cwd / "so_far.lprof").hits == {3: {5: 13, 6: 11}, 7: {9: 1}, 11: {13: 1}}


def test_with_as_the_builtin_is_the_same_and_without_it_a_pass_through(python: Sandbox):
    program = "@profile\ndef work():\n    return 1\nwork()\nprint(type(profile).__name__)\n"
    (python.cwd / "program.py").write_text(program)
    done = python.recorded("program.py", options=("-q", "-o", "as.allranks", "--as", "line_profiler"))
    assert (done.code, done.out, done.err) == (0, "RecordingProfiler\n", ""), done
    python.answer("export", "as.allranks", "-q", "-f", "lprof")
    assert read_lprof(python.cwd / "as.lprof").hits == {1: {3: 1}}
    done = python.recorded("program.py", options=("-q", "-o", "plain.allranks"))
    assert (done.code, done.out, done.err) == (0, "PassThrough\n", ""), done


def test_pyop2_takes_it_for_a_line_profiler(python: Sandbox):
    program = "from pyop2.profiling import lineprof\n@lineprof\ndef work():\n    return 1\nwork()\n"
    (python.cwd / "program.py").write_text(program)
    done = python.recorded("program.py", options=("-q", "-o", "run.allranks", "--as", "line_profiler", "--as", "pyop2"))
    assert (done.code, done.err) == (0, ""), done
    python.answer("export", "run.allranks", "-q", "-f", "lprof")
    assert read_lprof(python.cwd / "run.lprof").hits == {2: {4: 1}}


# ---- the command line ----


def test_options(python: Sandbox):
    (python.cwd / "setup.py").write_text("import builtins; builtins.from_setup = 5\n")
    (python.cwd / "lib.py").write_text("def chosen():\n    return 1\ndef other():\n    return 2\n")
    program = "import lib, sys\nprint(from_setup, sys.argv, __name__)\nlib.chosen(); lib.other()\n@profile\ndef work():\n    return 1\nwork()\n"
    (python.cwd / "program.py").write_text(program)
    done = kernprof(python, "-lvz", "-u", "1", "-s", "setup.py", "-p", "lib.chosen", "--outfile=out.lprof", "-i", "5", "--", "program.py", "-x", "y")
    assert (done.code, done.err) == (0, ""), done
    assert done.out.startswith("5 ['program.py', '-x', 'y'] __main__\n" + said_at_the_end(python, "out.lprof") + "Timer unit: 1 s\n"), done
    assert read_lprof(python.cwd / "out.lprof").hits == {1: {2: 1}, 4: {6: 1}}
    assert "out.allranks" in python.files()
    done = kernprof(python, "-l", "--no-config", "--preimports=no", "-q", "-p", "lib.py", "-m", "program")
    assert done.code == 1 and "NameError" in done.err and done.out == "", done  # from_setup
    assert kernprof(python, "-lqq", "-s", "setup.py", "program.py").out == ""
    done = kernprof(python, "-l", "-c", "import sys; print(__name__, sys.argv[1:])", "a", "b")
    assert done.out.startswith("__main__ ['a', 'b']\nWrote profile results to 'kernprof-command-"), done
    done = kernprof(python, "-lq", "-", stdin=b"print(profile is not None)\n")
    assert (done.code, done.out) == (0, "True\n"), done


def test_nothing_to_count_makes_an_empty_file(python: Sandbox):
    (python.cwd / "program.py").write_text("@profile\ndef never():\n    pass\n")
    done = kernprof(python, "-lv", "program.py")
    assert (done.code, done.out, done.err) == (0, said_at_the_end(python, "program.py.lprof") + "Timer unit: 1e-06 s\n\n", ""), done
    assert read_lprof(python.cwd / "program.py.lprof").timings == {}


def test_without_l_it_is_cprofile(python: Sandbox):
    (python.cwd / "program.py").write_text("def work():\n    return 1\nfor _ in range(7): work()\n")
    done = kernprof(python, "program.py")
    assert (done.code, done.out, done.err) == (0, said_at_the_end(python, "program.py.prof", "pstats"), ""), done
    calls = {key[2]: value[1] for key, value in marshal.loads((python.cwd / "program.py.prof").read_bytes()).items()}
    assert calls["work"] == 7 and python.files() == {"program.py", "program.py.prof"}
    done = kernprof(python, "-v", "program.py")
    assert "program.py:1(work)" in done.out, done


def test_with_b_the_program_chooses(python: Sandbox):
    (python.cwd / "program.py").write_text("def other(): pass\n@profile\ndef work():\n    return 1\nfor _ in range(7): work(); other()\n")
    done = kernprof(python, "-b", "program.py")
    assert (done.code, done.out, done.err) == (0, said_at_the_end(python, "program.py.prof", "pstats"), ""), done
    calls = {key[2]: value[1] for key, value in marshal.loads((python.cwd / "program.py.prof").read_bytes()).items()}
    assert calls["work"] == 7 and "other" not in calls
    done = kernprof(python, "-q", "program.py")
    assert (done.code, done.out, done.err) == (0, "", ""), done


def test_words_that_are_not_understood(python: Sandbox):
    for words in ((), ("-l",), ("-l", "--nonsense", "x.py"), ("-o",), ("-u", "much", "x.py"), ("-lY", "x.py")):
        done = kernprof(python, *words)
        assert (done.code, done.out) == (2, "") and done.err.startswith("usage: kernprof "), done
        assert done.err.splitlines()[-1].startswith("kernprof: error: "), done
    done = kernprof(python, "-l", "missing.py")
    assert (done.code, done.out, done.err) == (1, "", "Could not find script 'missing.py'\n"), done
    assert kernprof(python, "-V").out == "5.1.0\n"
    assert kernprof(python, "--help").out.startswith("usage: kernprof ")
    assert python.files() == set()


# ---- recipes ----


@pytest.fixture
def shims(python: Sandbox) -> dict[str, str]:
    env = own_copy(python)
    done = python.plain("-m", "allranks", "install-shims", "kernprof", "line_profiler", env=env)
    place = Path(env["PYTHONPATH"])
    names = ("kernprof.py", "bin/kernprof", "bin/kernprof.py", "line_profiler.py")
    assert done.code == 0 and [line.rpartition(" ")[2] for line in done.out.splitlines()] == [str(place / name) for name in names], done
    return {**env, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.parametrize("recipe", ["kernprof -l {}", "kernprof.py -l {}", "python -m kernprof -l {}", "python kernprof.py -l {}"])
def test_recipes_work_to_the_letter(python: Sandbox, shims: dict[str, str], recipe: str):
    (python.cwd / "script_to_profile.py").write_text("@profile\ndef work(n):\n    for i in range(n):\n        pass\nwork(10)\n")
    words = recipe.format("script_to_profile.py").split()
    if words[1] == "kernprof.py":
        shutil.copy(Path(shims["PYTHONPATH"]) / "kernprof.py", python.cwd)
    words[0] = python.stack.python if words[0] == "python" else str(Path(shims["PYTHONPATH"]) / "bin" / words[0])
    done = python.run(words, env=shims)
    viewer = "line_profiler -rmt"
    assert (done.code, done.out, done.err) == (0, said_at_the_end(python, "script_to_profile.py.lprof", viewer), ""), done
    is_file = "kernprof.py" in recipe
    assert (python.cwd / "script_to_profile.lprof").exists() == is_file
    for name in ["script_to_profile.py.lprof", "script_to_profile.lprof"][: 1 + is_file]:
        done = python.plain("-m", "line_profiler", name, env=shims)
        assert (done.code, done.err) == (0, "") and "     3        11 " in done.out, done


def test_commands_come_and_go_and_touch_nothing_else(python: Sandbox, shims: dict[str, str]):
    place = Path(shims["PYTHONPATH"])
    command = place / "bin" / "kernprof"
    assert os.access(command, os.X_OK)
    done = python.plain("-m", "allranks", "install-shims", "kernprof", env=shims)
    assert [line.split(" ")[:3] for line in done.out.splitlines()] == [[f"{name}:", "a", "shim,"] for name in ("kernprof", "bin/kernprof", "bin/kernprof.py")]
    (place / "bin" / "kernprof.py").write_text("#!/bin/sh\necho somebody else\n")
    done = python.plain("-m", "allranks", "install-shims", "--remove", "kernprof", env=shims)
    assert done.code == 0 and f"bin/kernprof.py: left alone, it is installed: {place}/bin/kernprof.py" in done.out, done
    assert not command.exists() and not (place / "kernprof.py").exists() and (place / "bin" / "kernprof.py").exists()
