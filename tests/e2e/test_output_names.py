# SPDX-License-Identifier: BSD-3-Clause
"""How the run file is called, and a file for each rank: nothing is overwritten, and ranks do not wait for each other."""

import os
import re
import shlex
import socket
import sys
from pathlib import Path

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


@pytest.mark.parametrize("name", ["my run.allranks", "it's.allranks", "$(touch harm).allranks", "a;b.pstats"])
def test_the_closing_line_can_be_given_to_a_shell(python: Sandbox, name: str):
    done = python.recorded("-c", "def f(): pass\nf()", options=("-o", name))
    assert python.files() == {name}
    assert shlex.split(done.err.rpartition("see: ")[2]) == ["allranks", "report", name]


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


@pytest.mark.parametrize("ending", ["dat", "out", "prof", "pstats"])
def test_endings_that_mean_pstats(python: Sandbox, ending: str):
    name = f"jacobi.{ending}"
    done = python.recorded("-c", "def f(): pass\nfor _ in range(5): f()", options=("-o", name))
    assert (done.code, done.err) == (0, f"allranks: recorded in {name}; see: allranks report {name}\n"), done
    python.recorded("-c", "def f(): pass\nfor _ in range(5): f()", options=("-q", "-o", "run.allranks"))
    python.answer("export", "run.allranks", "--quiet", "-o", f"exported.{ending}")
    assert python.allranks("merge", "run.allranks", "-o", f"merged.{ending}").code == 0
    assert python.files() == {name, "run.allranks", f"exported.{ending}", f"merged.{ending}"}
    for file in (name, f"exported.{ending}", f"merged.{ending}"):
        assert [each.calls for key, each in read_pstats(python.cwd / file).items() if key[2] == "f"] == [5]


def test_gprof2dot_reads_what_was_recorded(python: Sandbox):
    """As documentation of PyOP2 has it: gprof2dot -f pstats -n 1 jacobi.dat."""
    python.recorded("-c", "def f(): sum(range(10**6))\nfor _ in range(20): f()", options=("-q", "-o", "jacobi.dat"))
    done = python.run([sys.executable, "-m", "gprof2dot", "-f", "pstats", "-n", "1", "jacobi.dat"])
    assert done.code == 0 and done.out.startswith("digraph {") and "<string>:1:f" in done.out, done


@pytest.mark.parametrize("name", ["x.json", "a.b/x.part", "x.{rank}.otf2", "x.Prof"])
def test_endings_of_other_formats_are_refused(python: Sandbox, name: str):
    done = python.recorded("-c", "print('ran')", options=("-o", name))
    stem = os.path.splitext(name)[0]
    remedy = f"record it with -o {stem}.allranks, then: allranks export {stem}.allranks -f FORMAT -o {name}"
    known = ".pstats, .prof, .dat, .out"
    expected = f"allranks: error: -o {name}: a recording ends in .allranks, or for pstats in {known} ({remedy})\n"
    assert (done.code, done.out, done.err) == (2, "", expected), done
    assert python.files() == set()


@pytest.mark.parametrize("name", ["run", "heat.4", "heat.np-4", "x.{rank}", ".hidden", "v1.2-try"])
def test_names_without_an_ending_are_run_files(python: Sandbox, name: str):
    done = python.recorded("-c", "pass", options=("-q", "-o", name))
    assert (done.code, done.err) == (0, ""), done
    (written,) = python.files()
    assert written == name.replace("{rank}", "0") and python.report(written).calls("<module>") == 1


def test_what_cannot_become_pstats_stays_a_run(python: Sandbox):
    """os._exit leaves no time for it."""
    done = python.recorded("-c", "import os\ndef f(): pass\nf()\nos._exit(3)", options=("-o", "x.pstats"))
    assert done.code == 3, done
    assert python.files() == {"x.allranks"}
    assert python.report("x.allranks").calls("f") == 1
    assert is_closing_line(done.err.splitlines()[-1])


# ---- names that no file can have ----

LATE = "import os, sys\nsys.stderr.write('started\\n'); sys.stderr.flush()\nprint('ran')\nsys.exit(3)"
RECOVERY = re.compile(r"what was recorded can be had by: (allranks recover .* -o .*)\n?$")
BAD_OUTPUTS = {
    "missing directory": ("missing/x.allranks", "missing: No such file or directory"),
    "missing directory, with a space": ("mis sing/x y.allranks", "mis sing: No such file or directory"),
    "below a file": ("file/x.allranks", "file: Not a directory"),
}


def recover(sandbox: Sandbox, line: str) -> str:
    """Does what the closing line says, in a shell, and returns the name of the run."""
    (command,) = RECOVERY.findall(line)
    env = {"PATH": str(Path(sandbox.command).parent) + ":" + os.environ["PATH"]}
    done = sandbox.run(["/bin/sh", "-c", command], env=env)
    assert done.code == 0, done
    (path,) = re.findall(r"^allranks: .* in (.*); see: allranks report ", done.err, re.MULTILINE)
    return path


@pytest.mark.parametrize("how", BAD_OUTPUTS)
@pytest.mark.parametrize("quiet", [(), ("-q",)], ids=["", "quiet"])
def test_a_name_that_cannot_be_written_is_told_before_the_program(python: Sandbox, how: str, quiet: tuple[str, ...]):
    name, what = BAD_OUTPUTS[how]
    (python.cwd / "file").write_text("mine")
    done = python.recorded("-c", LATE, options=("-o", name, *quiet))
    assert (done.code, done.out) == (3, "ran\n"), done
    *before, started, closing = done.err.splitlines()
    assert started == "started"
    (line,) = before
    assert re.fullmatch(rf"allranks: error: .*/{re.escape(what)} \(.*\)", line), done
    assert python.files() == {"file"}
    path = recover(python, closing)
    assert python.report(path).calls("<module>") == 1
    assert len(python.files()) == 2


@pytest.mark.parametrize("when", ["before", "while it runs"])
def test_a_directory_that_may_not_be_written_to(python: Sandbox, when: str):
    """For root, which may, it is mounted read-only, where nobody else sees it."""
    (python.cwd / "runs").mkdir()
    close = "mount --bind runs runs && mount -o remount,ro,bind runs" if os.geteuid() == 0 else "chmod 500 runs"
    if os.geteuid() == 0 and python.run(["unshare", "-m", "sh", "-c", close]).code != 0:
        pytest.skip("no mounts are allowed here")
    code = LATE if when == "before" else f"import os\nos.system({close!r})\n" + LATE
    recorder = python.recorder("-o", "runs/x.allranks")
    shell = f'{close if when == "before" else ":"} && exec "$@"'
    argv = ["sh", "-c", shell, "sh", *recorder, "-c", code]
    done = python.run(["unshare", "-m", *argv] if os.geteuid() == 0 else argv)
    os.chmod(python.cwd / "runs", 0o700)
    assert (done.code, done.out) == (3, "ran\n"), done
    *before, started, closing = done.err.splitlines()
    assert started == "started" and len(before) == (when == "before")
    assert not before or re.search(r"/runs: (Read-only file system|Permission denied) \(", before[0])
    assert f" -o {python.cwd}/x.allranks" in closing
    assert python.report(recover(python, closing)).calls("<module>") == 1


def test_a_directory_is_no_name(python: Sandbox):
    (python.cwd / "runs").mkdir()
    for name, written in (("runs", "runs-2"), ("runs/", "runs-3"), ("new/", "new")):
        done = python.recorded("-c", LATE, options=("-o", name))
        assert (done.code, done.out) == (3, "ran\n"), done
        first, started, closing = done.err.splitlines()
        assert started == "started"
        assert re.fullmatch(r"allranks: error: .*(: is a directory|/: not the name of a file) \(.*\)", first), done
        assert is_closing_line(closing) and f"recorded in {written};" in closing
        assert python.report(written).calls("<module>") == 1
    assert python.files() == {"runs-2", "runs-3", "new"}


@pytest.mark.parametrize("pstats", ["x.prof", "x.allranks"])
def test_a_directory_that_goes_away_while_the_program_runs(python: Sandbox, pstats: str):
    (python.cwd / "runs").mkdir()
    done = python.recorded("-c", "import os\nos.rmdir('runs')", options=("-o", f"runs/{pstats}"))
    assert done.code == 0, done
    (closing,) = done.err.splitlines()
    assert python.report(recover(python, closing)).calls("<module>") == 1


def test_a_directory_that_comes_while_the_program_runs(python: Sandbox):
    done = python.recorded("-c", "import os\nos.mkdir('runs')", options=("-o", "runs/x.allranks"))
    assert done.code == 0, done
    first, closing = done.err.splitlines()
    assert first.startswith("allranks: error: ") and is_closing_line(closing)
    assert python.files() == {"runs/x.allranks"}


@pytest.mark.parametrize("words", [(PROGRAM,), ("-c", "pass")], ids=["MPI", "no MPI"])
def test_one_rank_tells_it_for_all(mpi: Sandbox, words: tuple[str, ...]):
    """Before MPI_Init, so by what the launcher says."""
    done = mpi.recorded_ranks(3, *words, options=("-o", "missing/x.allranks"))
    assert done.code == 0, done
    errors = [line for line in done.err.splitlines() if line.startswith("allranks: error: ")]
    closings = [line for line in done.err.splitlines() if RECOVERY.search(line)]
    assert len(errors) == 1 and "missing: No such file or directory" in errors[0], done
    assert len(closings) == 1, done
    assert mpi.files() == set()
    path = recover(mpi, closings[0])
    assert mpi.info(path).ranks == [0, 1, 2]


def test_children_do_not_tell_it_again(python: Sandbox):
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'], check=True)"
    done = python.recorded("-c", code, options=("-o", "missing/x.allranks"))
    assert done.code == 0, done
    assert done.err.count("allranks: error:") == 1 and len(done.err.splitlines()) == 2, done
