# SPDX-License-Identifier: BSD-3-Clause
"""How the run file is called, and a file for each rank: nothing is overwritten, and ranks do not wait for each other."""

import re
import socket

import pytest
from harness import Sandbox, is_closing_line, workload
from readings import read_pstats

PROGRAM = workload("uneven_work.py")  # rank r calls `work` 10 * (r + 1) times
HOST = socket.gethostname()


def test_words_in_the_name_are_filled_in(python: Sandbox):
    code = "import os; print(os.getpid())"
    done = python.recorded("-c", code, options=("-o", "{host}-{pid}-{rank}-{job}-{{x}}.allranks"), env={"PBS_JOBID": "7/8"})
    (name,) = python.files()
    assert name == f"{HOST}-{done.out.strip()}-0-7_8-{{x}}.allranks", done
    assert is_closing_line(done.err.splitlines()[-1])


def test_names_that_happen_to_hold_braces_stay_as_they_are(python: Sandbox):
    """Of the script and of the directory: only what -o says is looked at."""
    folder = python.cwd / "{rank}{"
    folder.mkdir()
    (folder / "a{b}.py").write_text("pass\n")
    done = python.recorded("a{b}.py", cwd=folder)
    assert done.code == 0, done
    assert python.files() == {"{rank}{/a{b}.py", "{rank}{/a{b}.allranks"}


@pytest.mark.parametrize("name", ["x-{nobody}.allranks", "x-{rank.allranks", "{}"])
def test_a_word_that_is_none_is_refused(python: Sandbox, name: str):
    done = python.recorded("-c", "print('ran')", options=("-o", name))
    assert (done.code, done.out) == (2, "")
    assert re.match(r"allranks: error: -o .*: \{.* is not one of \{rank\}, \{host\}, \{pid\}, \{job\}", done.err), done
    assert python.files() == set()


@pytest.mark.parametrize("options", [("--per-rank",), ("-o", "uneven_work.{rank}.allranks")], ids=["option", "word"])
def test_a_file_for_each_rank(mpi: Sandbox, options: tuple[str, ...]):
    plain = mpi.plain_ranks(3, PROGRAM)
    for n_before in range(2):
        done = mpi.recorded_ranks(3, PROGRAM, options=options)
        assert (done.code, sorted(done.out.splitlines())) == (0, sorted(plain.out.splitlines())), done
        (line,) = done.err.splitlines()  # rank 0 speaks for all
        assert is_closing_line(line) and "rank 0 recorded in uneven_work.0" in line
        suffix = "-2" if n_before else ""
        names = [f"uneven_work.{rank}{suffix}.allranks" for rank in range(3)]
        assert mpi.files() >= set(names)
        for rank, name in enumerate(names):
            assert mpi.info(name).ranks == [rank]
            assert mpi.report(name).calls("work") == 10 * (rank + 1)
    assert len(mpi.files()) == 6
    assert mpi.left_overs() == []
    merged = mpi.allranks("merge", *[f"uneven_work.{rank}.allranks" for rank in range(3)], "-o", "merged.allranks")
    assert merged.code == 0, merged
    assert mpi.info("merged.allranks").ranks == [0, 1, 2]
    assert mpi.report("merged.allranks").calls("work") == 60


def test_pstats_files_for_each_rank(mpi: Sandbox):
    """And beside one that was there."""
    (mpi.cwd / "x.1.prof").write_text("mine")
    done = mpi.recorded_ranks(2, PROGRAM, options=("-o", "x.prof"))
    assert done.code == 0, done
    (line,) = done.err.splitlines()
    assert is_closing_line(line)
    assert mpi.files() == {"x.0.prof", "x.1.prof", "x.1-2.prof"}
    assert (mpi.cwd / "x.1.prof").read_text() == "mine"
    for rank, name in enumerate(("x.0.prof", "x.1-2.prof")):
        calls = [each.calls for key, each in read_pstats(mpi.cwd / name).items() if key[2] == "work"]
        assert calls == [10 * (rank + 1)]


def test_a_pstats_file_of_a_program_that_is_no_rank(python: Sandbox):
    done = python.recorded("-c", "def f(): pass\nfor _ in range(5): f()", options=("-o", "x.pstats"))
    assert done.code == 0, done
    assert python.files() == {"x.pstats"}
    assert [each.calls for key, each in read_pstats(python.cwd / "x.pstats").items() if key[2] == "f"] == [5]
    assert done.err == "allranks: recorded in x.pstats; see: allranks report x.pstats\n"


def test_what_cannot_become_pstats_stays_a_run(python: Sandbox):
    """os._exit leaves no time for it."""
    done = python.recorded("-c", "import os\ndef f(): pass\nf()\nos._exit(3)", options=("-o", "x.pstats"))
    assert done.code == 3, done
    assert python.files() == {"x.allranks"}
    assert python.report("x.allranks").calls("f") == 1
    assert is_closing_line(done.err.splitlines()[-1])
