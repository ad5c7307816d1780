# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in for mpiprof: what its README promises, and that programs which use it run unchanged."""

from __future__ import annotations

import json
import marshal
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Sandbox, own_copy, workload

MODULE = "allranks.compat.mpiprof"
ENDS = ["simply", "exit", "words", "raise", "SIGINT", "SIGTERM", "own handler", "ignored"]


def load(path: Path) -> dict[tuple[str, int, str], Any]:
    stats: dict[tuple[str, int, str], Any] = marshal.loads(path.read_bytes())
    return stats


def counts_in(path: Path, file: str) -> dict[str, tuple[int, int]]:
    """Primitive calls and all calls, of the functions of a file and of those in C that they call."""
    stats = load(path)
    of_file = {key for key in stats if key[0].endswith(file)}
    return {
        key[2]: figures[:2]
        for key, figures in stats.items()
        if key in of_file or (key[0] == "~" and key[2].startswith("<built-in method builtins.len"))
    }


def what_is_seen_of(done: Done) -> tuple[int, bytes, bytes]:
    return done.code, done.stdout, done.stderr


# ---- the runner ----


@pytest.mark.parametrize("how", ENDS)
def test_a_program_ends_as_it_would_and_leaves_its_profile(python: Sandbox, how: str):
    program = [workload("mpiprof_ends.py"), how]
    plain = python.plain(*program)
    live = {"ALLRANKS_LIVE_DIR": str(python.live)}
    ours = python.plain("-m", MODULE, *program, env=live)
    assert what_is_seen_of(ours) == what_is_seen_of(plain)
    assert python.files() == {"mpiprof.0.pstats"} and python.left_overs() == []
    found = counts_in(python.cwd / "mpiprof.0.pstats", "mpiprof_ends.py")
    assert found["step"] == (1000, 1000) and found["deep"] == (1, 300), found
    assert found["<built-in method builtins.len>"][1] >= 1000
    assert ("to_itself" in found) == (how in ("SIGINT", "SIGTERM", "own handler")), found


def test_counts_are_those_of_cprofile(python: Sandbox):
    program = [workload("mpiprof_ends.py"), "simply"]
    assert python.plain("-m", "cProfile", "-o", "expected", *program).code in (0, 1)  # it looks at its stack
    for options in (["-o", "{x}{rank}.p"], ["--outfile={x}{rank}.p", "--"], ["-o{x}{rank}.p"]):
        (python.cwd / "{x}0.p").write_text("to be replaced")
        done = python.plain("-m", MODULE, *options, *program)
        assert (done.code, done.err) == (0, ""), done
        found = counts_in(python.cwd / "{x}0.p", "mpiprof_ends.py")
        expected = counts_in(python.cwd / "expected", "mpiprof_ends.py")
        assert {name: found[name] for name in ("step", "deep")} == {name: expected[name] for name in ("step", "deep")}
    python.plain("-m", MODULE, *program, env={"MPIPROF_OUT": "from.{rank}", "PMIX_RANK": "3", "PMI_RANK": "4"})
    assert python.files() == {"expected", "{x}0.p", "from.3"}


def test_words_that_are_not_understood(python: Sandbox):
    done = python.plain("-m", MODULE)
    assert (done.code, done.out) == (2, "") and done.err.startswith("usage: python -m mpiprof"), done
    assert python.plain("-m", MODULE, "--help").stdout == done.stderr
    for words in (["-x", "y.py"], ["-o"], ["-o", "out"], ["missing.py"]):
        done = python.plain("-m", MODULE, *words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert done.err.startswith("allranks: error: "), done
    assert python.files() == set()


def kills_unasked(mpi: Sandbox) -> bool:
    """The launcher of Open MPI 6 kills ranks at once when it is told to end."""
    return "(Open MPI) 6" in mpi.run([mpi.stack.mpiexec[0], "--version"]).out


def test_every_rank_that_waits_in_mpi_leaves_its_profile_when_terminated(mpi: Sandbox):
    live = {"ALLRANKS_LIVE_DIR": str(mpi.live)}
    job = mpi.start(mpi.ranks(3, mpi.stack.python, "-m", MODULE, workload("mpiprof_blocked.py")), env=live)
    job.wait_until(lambda: len(list(mpi.cwd.glob("waiting.*"))) == 3, "all ranks wait")
    time.sleep(0.1)  # most likely they are in MPI by now; the profile is written wherever they are
    ranks = [int(path.read_text()) for path in mpi.cwd.glob("waiting.*")]
    for pid in ranks if kills_unasked(mpi) else [job.process.pid]:
        os.kill(pid, signal.SIGTERM)
    job.wait()  # the code is the launcher's: MPICH 4.0 says 0 now and then, where ranks take their time, with and without us
    files = [mpi.cwd / f"mpiprof.{rank}.pstats" for rank in range(3)]
    for _ in range(1000):  # a launcher does not wait for it
        if all(file.exists() for file in files):
            break
        time.sleep(0.02)
    for file in files:
        (waiting,) = (figures for key, figures in load(file).items() if key[2] == "wait_in_vain")
        assert waiting[:2] == (1, 1) and waiting[3] > 0


# ---- the profiler ----


def test_profiler_from_all_sides(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("mpi_profiler.py"), options=("--as", "mpiprof", "-q", "-o", "run.allranks"))
    assert done.code == 0, done
    cases = Path(workload("mpi_profiler.py")).read_text().count("\ndef case_")
    assert cases >= 10 and done.out.count(" ok") == 2 * cases, done
    # Calls through the profiler stand at the program's lines, not at ours.
    paths = json.loads(mpi.answer("mpi", "--json=1", "run.allranks"))["paths"]
    places = {(Path(str(path["file"])).name, path["caller"]) for path in paths if path["name"] == "Comm.sendrecv"}
    assert places == {("mpi_profiler.py", "case_counts_and_lines"), ("mpi_profiler.py", "case_threads.<locals>.work")}


def test_libraries_take_it_for_a_communicator(debian: Sandbox):
    done = debian.recorded_ranks(2, workload("mpiprof_libraries.py"), options=("--as", "mpiprof", "-q"))
    assert (done.code, done.out) == (0, "ok\n" * 2), done


def assert_statistics(file: Path, rank: int, size: int) -> None:
    found = json.loads(file.read_text())
    program = Path(workload("mpiprof_example.py"))
    lines = program.read_text().splitlines()
    expected = {"allreduce": 1, **({"send": 1} if rank == 0 else {"recv": 1} if rank == 1 else {})}
    assert (found["rank"], found["size"]) == (rank, size)
    assert {name: each["count"] for name, each in found["operations"].items()} == expected
    for name, each in found["operations"].items():
        (origin,) = each["origins"]
        assert f"comm.{name}(" in lines[origin["line"] - 1] and origin["file"] == str(program)
        assert 0 < each["seconds"] == origin["seconds"]
    assert found["mpi_seconds"] == pytest.approx(sum(each["seconds"] for each in found["operations"].values()))


def test_the_readme_runs_unchanged(mpi: Sandbox):
    env = own_copy(mpi)
    done = mpi.plain("-m", "allranks", "install-shims", env=env)
    assert done.code == 0 and done.out.startswith("mpiprof: installed, " + env["PYTHONPATH"]), done
    n_ranks = 4
    command = mpi.ranks(n_ranks, mpi.stack.python, "-m", "mpiprof", workload("mpiprof_example.py"), "arg1", "arg2")
    done = mpi.run(command, env=env)
    assert done.code == 0, done
    assert sorted(done.out.splitlines()) == [f"{r} of 4: 6 ['arg1', 'arg2'] __main__" for r in range(n_ranks)]
    assert mpi.files() == {f"mpiprof.{what}" for r in range(n_ranks) for what in (f"{r}.pstats", f"stats.{r}.json")}
    for rank in range(n_ranks):
        assert_statistics(mpi.cwd / f"mpiprof.stats.{rank}.json", rank, n_ranks)
        stats = load(mpi.cwd / f"mpiprof.{rank}.pstats")
        assert {key[2]: figures[1] for key, figures in stats.items()}["square"] == 10
        assert any(key[2] == "<mpi4py Comm.allreduce>" and figures[1] == 1 for key, figures in stats.items())
    done = mpi.plain("-m", "pstats", "mpiprof.0.pstats", stdin=b"stats square\n")
    assert done.code == 0 and "(square)" in done.out, done
    # Without being recorded, by the shim alone.
    done = mpi.run(mpi.ranks(2, mpi.stack.python, workload("mpiprof_example.py")), env=env)
    assert done.code == 0, done
    assert_statistics(mpi.cwd / "mpiprof.stats.1.json", 1, 2)


# ---- in place of the original ----


def test_shims_come_and_go_and_touch_nothing_else(python: Sandbox):
    env = own_copy(python)
    place = Path(env["PYTHONPATH"])
    shim = place / "mpiprof.py"
    program = ("-c", "import mpiprof; print(mpiprof.__name__, mpiprof.__version__)")

    def shims(*words: str) -> Done:
        return python.plain("-m", "allranks", "install-shims", *words, env=env)

    def states(*words: str) -> list[str]:
        return [row["state"] for row in json.loads(shims(*words, "--json", "mpiprof").out)["shims"]]

    assert python.plain(*program, env=env).code == 1 and states("--list") == ["absent"]
    assert shims("mpiprof").out == f"mpiprof: installed, {shim}\n"
    assert states() == ["present"] and states("--list") == ["present"]
    assert python.plain(*program, env=env).out == f"{MODULE} 0.2.2\n"
    assert states("--remove") == ["removed"] and not shim.exists()
    assert states("--remove") == ["absent"]

    (python.cwd / "mpiprof.py").write_text("of the current directory = True\n")
    assert states() == ["installed"]
    (python.cwd / "mpiprof.py").unlink()
    (place / "mpiprof").mkdir()
    (place / "mpiprof" / "__init__.py").write_text("__version__ = 'original'\n")  # as if it were installed later
    assert python.plain(*program, env=env).out == "mpiprof original\n"
    assert states("--list") == ["original"] and states("--remove") == ["removed"] and states() == ["original"]
    done = python.plain("-m", "allranks", "-q", "--as", "mpiprof", *program, env=env)
    assert done.out == f"{MODULE} 0.2.2\n", done  # who asks by name gets what was asked for

    shutil.rmtree(place / "mpiprof")
    shim.write_text("somebody's own\n")
    assert states() == ["original"] and states("--remove") == ["original"]
    assert shim.read_text() == "somebody's own\n"
    for words in (("nonsense",), ("--nonsense",)):
        done = shims(*words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1) and words[0] in done.err, done
    assert shims("--help").out.startswith("usage: allranks install-shims")
    assert {p.name for p in place.iterdir()} == {"allranks", "mpiprof.py", "__pycache__"}


def test_as_is_for_the_program_and_its_children(python: Sandbox):
    show = "import mpiprof, sys; print(mpiprof.__name__, mpiprof is sys.modules['allranks.compat.mpiprof'])"
    program = f"{show}\nimport subprocess\nsys.stdout.flush()\nsubprocess.run([sys.executable, '-c', {show!r}])"
    done = python.recorded("-c", program, options=("--as=mpiprof", "-q"))
    assert (done.code, done.out, done.err) == (0, f"{MODULE} True\n" * 2, ""), done
    done = python.recorded("-c", "import sys; print('allranks.compat.mpiprof' in sys.modules)", options=("--as", "mpiprof", "-q"))
    assert done.out == "False\n", done
    done = python.recorded("-c", "", options=("--as", "nonsense"))
    assert done.code == 2 and done.err.startswith("allranks: error: --as nonsense: not one of mpiprof, pyop2, "), done
    assert done.err.count("\n") == 1, done
