# SPDX-License-Identifier: BSD-3-Clause
"""Variables that allranks reads, with whatever may stand in them: Python starts, says nothing and leaves nothing.

ALLRANKS_CHILD is inherited by everything that is started below a recorded program, and carried for days by a daemon.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import TIME_LIMIT_S, Sandbox, clean_environment

OPTIONS = ("", "\n", "\n--help", "\n--version", "\n-q", "\n-o", "\n--output=x.allranks\n--builtins=all", "\n--max-size=x",
           "\n--as=mpiprof", "\n--as=nothing", "\n-m\nmodule", "\n-c\nprint(1)", "\n--include", "\n\n\n", "\n-", "\nx")  # fmt: skip


def start_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def own_name() -> str:
    """Of a process that runs, and is not recorded."""
    return f"p{os.getpid()}-{start_of(os.getpid())}"


def odd_directories(place: Path) -> Iterator[Path]:
    """Some are such as a recording has, with files of its names in them; some are not even directories."""
    place.mkdir(exist_ok=True)
    own = place / "own"
    own.mkdir(mode=0o700)
    yield own
    for name, content in (("zeros", bytes(5000)), ("short", b"AR"), ("text", b"text\n" * 1000), ("random", random.Random(1).randbytes(9000))):
        (place / name).mkdir(mode=0o700)
        for stem in ("p1-2", "r0-p1-2", own_name()):
            (place / name / f"{stem}.live").write_bytes(content)
            (place / name / f"{stem}.allranks").write_bytes(content)
            (place / name / f"{stem}.c1-2.live").write_bytes(content)
        yield place / name
    (place / "pipes").mkdir(mode=0o700)
    os.mkfifo(place / "pipes" / "p1-2.live")
    yield place / "pipes"
    (place / "link").symlink_to("own")
    (place / "loop").symlink_to("loop")
    (place / "dangling").symlink_to("nowhere")
    (place / "file").touch()
    (place / "shared").mkdir()
    (place / "shared").chmod(0o777)
    (place / "forbidden").mkdir(mode=0o000)
    (place / "per%cent %s%n").mkdir(mode=0o700)
    (place / "new\nline").mkdir(mode=0o700)
    for name in ("link", "loop", "dangling", "file", "shared", "forbidden", "per%cent %s%n", "new\nline", "missing", "missing/too"):
        yield place / name
    if os.geteuid() == 0:
        (place / "others").mkdir(mode=0o700)
        os.chown(place / "others", 65534, 65534)
        yield place / "others"


def odd_names() -> Iterator[str]:
    yield from ("", ".", "..", "p", "p1", "p1-", "p-1-2", "p1-2", "p1-2x", "p1-2.live", "p01-2", "p 1-2", "p+1-2", "p1--2", "P1-2")
    yield from ("r0-p1-2", "r-1-p1-2", "r0-", "r", "r0", "r4294967295-p1-2", "r4294967296-p1-2", "r0-r0-p1-2")
    yield from ("p4294967296-2", "p1-18446744073709551615", "p1-99999999999999999999999999", "p0-0", "p%d-%d", "p1-2\t", own_name())


def odd_values(place: Path) -> list[bytes]:
    token = place.parent.parent.name
    values = ["", " ", "\t", "\n", "\n\n", "/", "//", "///", ".", "..", "-", "--help", "x", "p1-2", "1", "0", "-1", "%s%s%n", "%", "=", "a=b"]
    values += [f"{start}{name}" for name in ("p1-2", "r0-p1-2", own_name()) for start in ("/", "//", "/../", "/./", "./", "~/", "/proc/self/")]
    values += [f"/dev/shm/{token}/p1-2", f"/tmp/{token}/p1-2", f"/dev/shm/{token}/{own_name()}", "/dev/null/p1-2", "/dev/fd/0/p1-2", "/nonexistent/p1-2"]
    directories = list(odd_directories(place))
    values += [f"{directory}/{name}" for directory in directories for name in ("p1-2", "r0-p1-2", own_name())]
    values += [f"{directories[0]}/{name}" for name in odd_names()]
    values += [f"{directories[0]}/{own_name()}{options}" for options in OPTIONS]
    values += ["x" * n for n in (1000, 4095, 4096, 4097, 100_000)]
    values += ["/" + "x" * n + "/p1-2" for n in (250, 255, 256, 4000, 4029, 4032, 4090, 4096, 100_000)]
    values += ["/x" * n + "/p1-2" for n in (2000, 2016, 2048, 40_000)]
    encoded = [os.fsencode(value) for value in values]
    encoded += [b"\xff", b"/\xff/p1-2", b"/\xff\xfe/\x80", b"\xed\xa0\x80", os.fsencode(place) + b"/own/\xffp1-2", "/ä/p1-2".encode("latin-1")]
    chance = random.Random(7)
    encoded += [bytes(chance.randrange(1, 256) for _ in range(chance.randrange(1, 60))) for _ in range(20)]
    return encoded


def everything_in(*places: Path) -> list[tuple[str, int, int]]:
    found = []
    for place in places:
        for directory, _, names in os.walk(place):
            for path in (directory, *(os.path.join(directory, name) for name in names)):
                stat = os.lstat(path)
                found.append((path, stat.st_size, stat.st_mtime_ns))
    return sorted(found)


def run_with(python: Sandbox, variables: dict[bytes, bytes], *words: str) -> tuple[int, bytes, bytes]:
    """Without a new session, and so on: there are hundreds."""
    env = {**{os.fsencode(k): os.fsencode(v) for k, v in clean_environment().items()}, **variables}
    done = subprocess.run(
        [python.stack.python, *words], env=env, cwd=python.cwd, capture_output=True, timeout=TIME_LIMIT_S, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout, done.stderr


def test_whatever_the_variable_holds_python_starts(any_python: Sandbox):
    place = any_python.cwd / "odd"
    values = odd_values(place)
    shown = place.parent.parent.name
    before = everything_in(any_python.cwd), set(os.listdir("/"))
    wrong = []
    for value in values:
        done = run_with(any_python, {b"ALLRANKS_CHILD": value}, "-c", "import os; assert 'ALLRANKS_CHILD' not in os.environ")
        if done != (0, b"", b""):
            wrong.append((value[:200], done))
    assert wrong == [], f"{len(wrong)} of {len(values)}"
    assert (everything_in(any_python.cwd), set(os.listdir("/"))) == before
    assert not os.path.exists(f"/dev/shm/{shown}") and not os.path.exists(f"/tmp/{shown}")
    (place / "forbidden").chmod(0o700)


@pytest.mark.parametrize("name", ["PMI_SPAWNED", "OMPI_PARENT_PORT"])
def test_nor_do_those_of_launchers_matter(any_python: Sandbox, name: str):
    """A Python that MPI has started looks for a note, in a place where anything may lie."""
    jobs = any_python.cwd / f"allranks-{os.geteuid()}"
    for directory in odd_directories(jobs):
        for note in ("p1-2.spawns", "r0-p1-2.spawns", "x.spawns", f"{own_name()}.spawns", ".spawns", "p\udcff.spawns"):
            if directory.name in ("own", "zeros"):
                (directory / note).write_bytes(b"\xff\n/x/p1-2\n")
            elif directory.name == "pipes":
                os.mkfifo(directory / note)
    before = everything_in(any_python.cwd)
    for value in (b"", b"1", b"\xff", b"x" * 5000, b"%s:%n", b"-1:2:3"):
        for place in (os.fsencode(any_python.cwd), b".", b"", b"\xff", b"/" + b"x" * 5000):
            assert run_with(any_python, {os.fsencode(name): value, b"TMPDIR": place}, "-c", "pass") == (0, b"", b"")
    assert everything_in(any_python.cwd) == before
    (jobs / "forbidden").chmod(0o700)


RANKS = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK",
         "PMI_SIZE", "PMI_JOBID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS",
         "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID", "SLURM_STEP_TASKS_PER_NODE", "OMPI_MCA_ess_base_jobid", "TMPDIR")  # fmt: skip


def test_a_program_is_recorded_whatever_launchers_are_said_to_say(any_python: Sandbox):
    for i, value in enumerate((b"", b"-1", b"abc", b"9" * 40, b"%s%n", b"\xff/..", b"../../x", b"x" * 5000, b"1(x", b"\n")):
        words = ("-m", "allranks", "-q", "--live-dir", str(any_python.live), "-o", f"{i}.allranks", "-c", "print(1)")
        variables = {os.fsencode(name): value for name in RANKS}
        assert run_with(any_python, variables, *words) == (0, b"1\n", b""), value
        assert any_python.report(f"{i}.allranks").data["processes"] == 1


# ---- after the end ----


PASSED_ON = "import os; os.system('printf %s \"$ALLRANKS_CHILD\" > passed_on')\n"


def passed_on(python: Sandbox) -> dict[str, str]:
    text = (python.cwd / "passed_on").read_text()
    assert text.startswith(str(python.live)), text
    return {"ALLRANKS_CHILD": text}


def test_a_family_that_has_ended_is_not_added_to(any_python: Sandbox):
    done = any_python.recorded("-c", PASSED_ON)
    assert done.code == 0, done
    env = passed_on(any_python)
    before = everything_in(any_python.cwd)
    for _ in range(2):
        late = any_python.plain("-c", "print('late')", env=env)
        assert (late.code, late.out, late.err) == (0, "late\n", ""), late
    assert everything_in(any_python.cwd) == before
    assert not any_python.live.exists() or everything_in(any_python.live) == [(str(any_python.live), *everything_in(any_python.live)[0][1:])]


def test_nor_is_one_that_was_killed(any_python: Sandbox):
    done = any_python.recorded("-c", PASSED_ON + "os.kill(os.getpid(), 9)")
    assert done.code == -9, done
    before = everything_in(any_python.cwd, any_python.live)
    late = any_python.plain("-c", "print('late')", env=passed_on(any_python))
    assert (late.code, late.out, late.err) == (0, "late\n", ""), late
    assert everything_in(any_python.cwd, any_python.live) == before
    assert len(any_python.live_files()) == 1


def test_one_that_outlives_its_root_is_joined(any_python: Sandbox):
    """The root has ended and a child of it has not: what that starts is recorded with it."""
    code = (
        "import os, subprocess, sys, time\n"
        "read, write = os.pipe()\n"
        "root = os.getpid()\n"
        "if os.fork():\n"
        "    os.close(write)\n"
        "    os.read(read, 1)\n"
        "else:\n"
        "    os.write(write, b'.')\n"
        "    while os.getppid() == root:\n"
        "        time.sleep(0.01)\n"
        "    subprocess.run([sys.executable, '-c', 'def late(): pass\\nlate()'], check=True)\n"
    )
    done = any_python.recorded("-c", code)
    assert done.code == 0, done
    any_python.wait_for_the_last()
    assert len(any_python.info("command.allranks").processes) == 3
    assert any_python.report("command.allranks").calls("late") == 1
