# SPDX-License-Identifier: BSD-3-Clause
"""Damaged and hostile files through the command and `allranks.load`: a right answer, or one line with the remedy and
status 2, and never a crash, a hang, memory without end, or bytes that a terminal obeys.

The command and the reader are those of the build with ASan and UBSan where there is an up-to-date one, which `make test`
has made. Limits on memory are for the plain one: a sanitizer takes terabytes of address space for itself.
"""

from __future__ import annotations

import os
import random
import re
import resource
import struct
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import read_stacks
from harness import ROOT, Sandbox, clean_environment, workload
from hostile import hostile_lives, hostile_runs

TIME_LIMIT_S = 120
AT_ONCE = 2
ADDRESS_SPACE = 1 << 30
READERS = {
    "report": ("report", "--rows", "0", "--min", "0"),
    "report --json": ("report", "--json"),
    "report --callers": ("report", "--callers", "*", "--callees", "*"),
    "report of a part": ("report", "--tree", "bottom-up", "--exclude", "*e*", "--thread", "0", "--rows", "0", "--min", "0"),
    "mpi": ("mpi", "-n", "0"),
    "mpi --json": ("mpi", "--json"),
    "ranks": ("ranks", "--all"),
    "diff": ("diff", "--paths", "-n", "0", "{}"),
    "diff --json": ("diff", "--json", "--paths", "{}"),
    "info": ("info",),
    "info --json": ("info", "--json"),
    "info --check": ("info", "--check"),
    "export": ("export", "-f", "pstats", "-o", "{}.pstats"),
    "merge": ("merge", "-o", "{}.merged"),
}
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1:hard_rss_limit_mb=2000",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99:print_stacktrace=1",
}
CONTROLS = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
TURNS = re.compile(rb"\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
REMEDY = re.compile(r"allranks: error: [^\n]+ \([^\n]+\)\n")
# What says by itself what to do.
SELF_EVIDENT = re.compile(r"allranks: error: [^\n]+: (No such file or directory|Permission denied|Not a directory"
                          r"|no function calls were recorded, and pstats cannot read an empty file)\n")  # fmt: skip


def sanitized_build() -> Path | None:
    newest = max(path.stat().st_mtime for path in (ROOT / "src").rglob("*.[ch]"))
    for build in sorted((ROOT / "build").glob("sanitize*")):
        command = build / "src" / "allranks"
        if "threads" not in build.name and command.exists() and command.stat().st_mtime >= newest:
            return build
    return None


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """Files are the same whichever Python reads them: one of the stacks is enough."""
    made = Sandbox(read_stacks()[0][0], tmp_path)
    yield made
    made.end()


def run(command: list[str | Path], cwd: Path, limited: bool = False) -> subprocess.CompletedProcess[bytes]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    env = {**clean_environment(), **SANITIZER_OPTIONS}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S,
                          preexec_fn=limit if limited else None)  # fmt: skip


def read(sandbox: Sandbox, reader: str, path: str, *, limited: bool = False) -> subprocess.CompletedProcess[bytes]:
    """One command on one file; what holds for all of them is asserted here."""
    build = None if limited else sanitized_build()
    command = build / "src" / "allranks" if build else sandbox.command
    done = run([command, *(word.format(path) for word in READERS[reader]), path], sandbox.cwd, limited)
    about = f"{reader} {path!r}: {done}"
    assert done.returncode in (0, 2), about
    for text in (done.stdout, done.stderr):
        assert not CONTROLS.search(text), about
        assert "--json" in reader or not TURNS.search(text), about  # of text a program is told all
    if done.returncode == 2:
        message = done.stderr.decode()
        assert done.stdout == b"" and (REMEDY.fullmatch(message) or SELF_EVIDENT.fullmatch(message)), about
    elif reader != "merge":
        assert done.stderr == b"", about
    return done


def read_all(sandbox: Sandbox, jobs: list[tuple[str, str]], **how) -> list[subprocess.CompletedProcess[bytes]]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda job: read(sandbox, *job, **how), jobs))


def written(sandbox: Sandbox, files: dict[str, bytes], ending: str) -> list[str]:
    for name, content in files.items():
        (sandbox.cwd / (name + ending)).write_bytes(content)
    return [name + ending for name in files]


def recorded_run(sandbox: Sandbox) -> bytes:
    done = sandbox.recorded(workload("counts_recursion.py"), "ignored.json", options=("-q", "-o", "run"))
    assert done.code == 0, done
    return (sandbox.cwd / "run").read_bytes()


def recorded_live(sandbox: Sandbox) -> bytes:
    """Without the part that was never used."""
    sandbox.recorded(workload("endings.py"), "killed")
    (path,) = sandbox.live_files()
    content = path.read_bytes()
    return content[: struct.unpack_from("<Q", content, 24)[0]]


LOAD_EACH = """
import sys, allranks
for path in sys.argv[1:]:
    try:
        run = allranks.load(path, as_="python")
        for table in (run.functions, run.tree, run.mpi, run.ranks, run.threads):
            repr(table), table.to_dict()
        print("loaded")
    except allranks.LoadError as error:
        print(repr(str(error)))
"""


def load_all(sandbox: Sandbox, paths: list[str]) -> list[str]:
    """What `allranks.load` says of each: "loaded", or the error. Under sanitizers where there is such a build."""
    build, env = sanitized_build(), clean_environment()
    if build:
        package = sandbox.cwd.parent / "sanitized" / "allranks"
        package.mkdir(parents=True, exist_ok=True)
        for source in [*(ROOT / "python" / "allranks").glob("*.py"), build / "src" / "reader" / "_reader.abi3.so"]:
            if not (package / source.name).exists():
                (package / source.name).symlink_to(source)
        libraries = [subprocess.check_output(["cc", f"-print-file-name={name}"], text=True).strip()
                     for name in ("libasan.so", "libubsan.so")]  # fmt: skip
        options = SANITIZER_OPTIONS["ASAN_OPTIONS"] + ":detect_leaks=0"
        env |= {**SANITIZER_OPTIONS, "ASAN_OPTIONS": options, "LD_PRELOAD": " ".join(libraries), "PYTHONPATH": str(package.parent)}
    done = subprocess.run([sandbox.stack.python, "-c", LOAD_EACH, *paths], cwd=sandbox.cwd, env=env, capture_output=True,
                          text=True, timeout=4 * TIME_LIMIT_S)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    verdicts = done.stdout.splitlines()
    assert len(verdicts) == len(paths)
    return verdicts


# ---- made to do harm ----


def must_be_refused(name: str) -> bool:
    return bool(re.match(r"newer|version|parent (itself|before all)\.run|count of|string of|twice|row beyond|values without|overlapping"
                         r"|used|extent|record|texts", name))  # fmt: skip


@pytest.mark.parametrize("kind", ["run", "live"])
def test_hostile_files(sandbox: Sandbox, kind: str):
    files = hostile_runs() if kind == "run" else hostile_lives()
    paths = written(sandbox, files, "." + kind)
    jobs = [(reader, path) for path in paths for reader in READERS]
    for (reader, path), done in zip(jobs, read_all(sandbox, jobs)):
        assert done.returncode == 2 or not must_be_refused(path), (reader, path, done)
        assert done.returncode == 0 or not path.startswith("plain") or reader == "info --check", (reader, path, done)
    verdicts = dict(zip(paths, load_all(sandbox, paths)))
    assert verdicts["plain." + kind] == "loaded"
    assert {path for path, verdict in verdicts.items() if verdict == "loaded"}.isdisjoint(filter(must_be_refused, paths))


@pytest.mark.parametrize("kind", ["run", "live"])
def test_hostile_files_in_little_memory(sandbox: Sandbox, kind: str):
    files = hostile_runs() if kind == "run" else hostile_lives()
    paths = written(sandbox, files, "." + kind)
    read_all(sandbox, [(reader, path) for path in paths for reader in ("report", "merge")], limited=True)


def test_names_are_shown_without_what_a_terminal_obeys(sandbox: Sandbox):
    (path,) = written(sandbox, {"named": hostile_runs()["name, escapes"]}, "")
    assert b"?[2J?]0;title?" in read(sandbox, "report", path).stdout
    assert b"?[2J?]0;title?" in read(sandbox, "info", path).stdout
    assert b"\\u001b[2J" in read(sandbox, "report --json", path).stdout
    missing = read(sandbox, "info", "\x1b[2J\n\u009b")
    assert missing.stderr == b"allranks: error: ?[2J??: no file fits this pattern (is this the right directory?)\n"


# ---- damaged ----


@pytest.mark.parametrize("kind", ["run", "live"])
def test_files_that_are_cut(sandbox: Sandbox, kind: str):
    whole = recorded_run(sandbox) if kind == "run" else recorded_live(sandbox)
    chance = random.Random(3)
    lengths = {0, 1, 7, 8, 9, 11, 12, 15, 16, 17, 55, 56, 57, len(whole) - 1, *(4096 * i + d for i in range(12) for d in (-1, 0, 1, 64))}
    lengths |= {chance.randrange(len(whole)) for _ in range(30)}
    cut = sorted(n for n in lengths if 0 <= n < len(whole))
    paths = written(sandbox, {f"cut at {n}": whole[:n] for n in cut}, "." + kind)
    jobs = [(list(READERS)[i % len(READERS)], path) for i, path in enumerate(paths)]
    assert {done.returncode for done in read_all(sandbox, jobs)} == {2}
    assert "loaded" not in load_all(sandbox, paths)


@pytest.mark.parametrize("kind", ["run", "live"])
def test_bits_that_are_turned_round(sandbox: Sandbox, kind: str):
    whole = recorded_run(sandbox) if kind == "run" else recorded_live(sandbox)
    chance = random.Random(4)
    files = {}
    for i in range(250):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        files[f"damaged {i}"] = bytes(damaged)
    paths = written(sandbox, files, "." + kind)
    jobs = [(list(READERS)[i % len(READERS)], path) for i, path in enumerate(paths)]
    codes = [done.returncode for done in read_all(sandbox, jobs)]
    assert codes.count(2) > (200 if kind == "run" else 3)
    load_all(sandbox, paths)


# ---- foreign ----


def test_foreign_files(sandbox: Sandbox):
    cwd = sandbox.cwd
    paths = written(sandbox, {
        "elf": Path("/bin/sh").read_bytes(), "png": b"\x89PNG\r\n\x1a\n" + bytes(500), "text": b"ALLRANK\n" * 99, "empty": b"",
        "magic": b"ALLRANKS", "live magic": b"ALLRLIVE", "zeros": bytes(9000),
    }, "")  # fmt: skip
    (cwd / "directory").mkdir()
    (cwd / "dangling").symlink_to("nowhere")
    (cwd / "circle").symlink_to("circle")
    os.mkfifo(cwd / "pipe")
    (cwd / "with pipe").mkdir()
    os.mkfifo(cwd / "with pipe" / "r0-p1-2.live")
    for reader in READERS:
        if reader == "info --check":
            continue  # a directory without files is sound
        for path in [*paths, "directory", "dangling", "missing", "pipe", "with pipe", "/dev/null", "/dev/zero", "/proc/self/mem"]:
            assert read(sandbox, reader, path).returncode == 2
        assert run([sandbox.command, *(word.format("out") for word in READERS[reader]), "circle"], cwd).returncode == 2
    if os.geteuid() != 0:
        (cwd / "elf").chmod(0)
        assert b"Permission denied" in read(sandbox, "info", "elf").stderr
    verdicts = load_all(sandbox, [*paths, "directory", "dangling", "pipe", "with pipe", "/dev/null"])
    assert "loaded" not in verdicts


def test_a_process_that_has_only_just_begun_spoils_nothing(sandbox: Sandbox):
    directory = sandbox.cwd / "job"
    directory.mkdir()
    (directory / "p1-2.live").write_bytes(recorded_live(sandbox))
    (directory / "p2-2.live").write_bytes(b"")
    (directory / "p3-2.live").write_bytes(bytes(256 << 10))
    for reader in READERS:
        assert read(sandbox, reader, "job").returncode == 0
    (directory / "p4-2.live").write_bytes(b"something else")
    for reader in READERS:
        assert b"p4-2.live" in read(sandbox, reader, "job").stderr


@pytest.mark.parametrize("head", [b"ALLRANKS", b"ALLRANKS\2\0\0\0", b"ALLRANKS\2\0\0\0\xff\xff\0\0", b"ALLRLIVE",
                                  b"ALLRLIVE\2\0\0\0\0\x10\0\0\1\0\0\0\0\0\0\0\0\0\0\x80\0\0\0\0"])  # fmt: skip
def test_two_gigabytes_of_nothing(sandbox: Sandbox, head: bytes):
    path = sandbox.cwd / "sparse"
    path.write_bytes(head)
    os.truncate(path, 2 << 30)
    for reader in READERS:
        assert read(sandbox, reader, "sparse", limited=True).returncode == 2
