# SPDX-License-Identifier: BSD-3-Clause
"""Damaged and hostile files through the command and `allranks.load`: a right answer, or one line with the remedy and
status 2, and never a crash, a hang, memory without end, or bytes that a terminal obeys.

The command and the reader are those of the build with ASan and UBSan where there is an up-to-date one, which `make test`
has made. Limits on memory are for the plain one: a sanitizer takes terabytes of address space for itself.
"""

from __future__ import annotations

import marshal
import os
import random
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import read_stacks
from harness import ROOT, Sandbox, clean_environment, workload
from hostile import (
    PAGE,
    ROOT_REF,
    hostile_lives,
    hostile_runs,
    live_of,
    node,
    record,
    run_file,
    sections,
)

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
    "export": ("export", "-f", "pstats", "--quiet", "-o", "{}.pstats"),
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


# ---- shrinking ----

COMMANDS = {
    **READERS,
    "where": ("where",),
    "where --json": ("where", "--json"),
    "waits": ("waits",),
    "scale": ("scale", "{}"),
    "recover": ("recover", "-o", "{}.recovered"),
    "top": ("top", "--once"),
    "clean": ("clean",),
}


def command_of(sandbox: Sandbox, name: str, path: str) -> list[str | Path]:
    return [sandbox.command, *(word.format(path) for word in COMMANDS[name]), path]


def in_all_places(sandbox: Sandbox, live: bytes, run: bytes) -> dict[str, str]:
    """By what the reader is given, the file in it that is going to be shorter."""
    cwd = sandbox.cwd
    statistics = marshal.dumps({("f.py", n, "f"): (1, 1, 0.5, 0.5, {}) for n in range(2000)})
    finished = live[:16] + struct.pack("<I", 2) + live[20:]
    files = {"one.live": live, "finished.live": finished, "one.allranks": run, "one.pstats": statistics,
             "job/r0-p1-2.live": live, "family/p1-2.c3-4.allranks": run}  # fmt: skip
    for name, content in files.items():
        (cwd / name).parent.mkdir(exist_ok=True)
        (cwd / name).write_bytes(content)
    return {name.partition("/")[0] if "/" in name else name: name for name in files}


def shrunk(sandbox: Sandbox, library: str, command: list[str | Path], victim: str, to: int, after: int):
    env = {**clean_environment(), "LD_PRELOAD": library, "SHRINK_PATH": victim, "SHRINK_TO": str(to), "SHRINK_AFTER": str(after)}
    return subprocess.run(command, cwd=sandbox.cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S)


def at_every_call(sandbox: Sandbox, library: str, command: list[str | Path], victim: str, to: int):
    """It becomes shorter after the first call that looks at it, then after the second, and so on, up to all that there are."""
    path = sandbox.cwd / victim
    whole = path.read_bytes()
    for after in range(1, 10_000):
        done = shrunk(sandbox, library, command, victim, to, after)
        if path.stat().st_size == len(whole):
            return
        path.write_bytes(whole)
        yield done
    raise AssertionError("it has no end")


def is_one_line(text: str) -> bool:
    return text.startswith("allranks: error: ") and text.count("\n") == 1


@pytest.mark.parametrize("given", ["one.live", "finished.live", "one.allranks", "one.pstats", "job", "family"])
def test_a_file_that_becomes_shorter_while_it_is_read(sandbox: Sandbox, shrinking: str, given: str):
    """At any call, in `info`; in the middle of what they read, in all other commands."""
    victim = in_all_places(sandbox, recorded_live(sandbox), recorded_run(sandbox))[given]
    ends = [done for to in (0, PAGE + 100) for done in at_every_call(sandbox, shrinking, command_of(sandbox, "info", given), victim, to)]
    assert len(ends) > 2 and {done.returncode for done in ends} <= {0, 2}, ends
    assert all(done.returncode == 0 or is_one_line(done.stderr.decode()) for done in ends), ends
    # In a directory a live file is read once more, since its process may have just begun.
    assert (b"damaged" if given == "job" else b"shorter") in b"".join(done.stderr for done in ends)
    whole = (sandbox.cwd / victim).read_bytes()
    for name in COMMANDS:
        done = shrunk(sandbox, shrinking, command_of(sandbox, name, given), victim, 100, len(ends) // 4)
        (sandbox.cwd / victim).write_bytes(whole)
        assert done.returncode in (0, 1, 2), (name, done)
        assert done.returncode != 2 or done.stdout == b"", (name, done)


@pytest.mark.parametrize("given", ["one.live", "one.allranks", "job"])
def test_load_of_a_file_that_becomes_shorter(sandbox: Sandbox, shrinking: str, given: str):
    victim = in_all_places(sandbox, recorded_live(sandbox), recorded_run(sandbox))[given]
    command = [sandbox.stack.python, "-c", LOAD_EACH, given]
    words = []
    for done in at_every_call(sandbox, shrinking, command, victim, PAGE + 100):
        assert (done.returncode, done.stderr) == (0, b""), done
        words.append(done.stdout.decode())
    assert any(("damaged" if given == "job" else "shorter") in word for word in words), words


# ---- in the place of a file ----


def plant(path: Path, what: str) -> None:
    """Something else than a file, under a file's name."""
    if what == "fifo":
        os.mkfifo(path)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))
    elif what == "directory":
        path.mkdir()
    elif what == "device":
        if os.geteuid() != 0:
            pytest.skip("only root can make a device")
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))
    elif what == "endless":
        path.symlink_to("/dev/zero")
    elif what == "fifo behind a link":
        os.mkfifo(path.parent / "pipe")
        path.symlink_to("pipe")
    else:
        path.symlink_to(path.name)


PLACES = ("r1-p9-9.live", "p9-9.c8-8.allranks", "p1-2.lock", "ranks.lock", "verdict-1-2", "p1-2.unrecorded", "p1-2.spawns")
THINGS = ("fifo", "socket", "directory", "device", "endless", "fifo behind a link", "circle")


@pytest.mark.parametrize("what", THINGS)
def test_nothing_is_waited_for(sandbox: Sandbox, what: str, monkeypatch: pytest.MonkeyPatch):
    """A job with one sound file, and something else in the place of another: named, or as if it were not there."""
    monkeypatch.chdir(sandbox.cwd)
    live = recorded_live(sandbox)
    for name in PLACES:
        job = Path("job")
        job.mkdir(mode=0o700)
        (job / "r0-p1-2.live").write_bytes(live)
        plant(job / name, what)
        for command in COMMANDS:
            done = run(command_of(sandbox, command, "job"), sandbox.cwd)
            assert done.returncode in (0, 1, 2), (command, name, done)
            refused = name in PLACES[:2] and what != "directory" and command not in ("top", "clean", "recover")
            assert not refused or (done.returncode == 2 and name.encode() in done.stderr), (command, name, done)
            if done.returncode == 2:
                assert is_one_line(done.stderr.decode()) or command == "recover", (command, name, done)
        (verdict,) = load_all(sandbox, ["job"])
        assert (verdict == "loaded") == (name not in PLACES[:2] or what == "directory"), (name, verdict)
        shutil.rmtree(job)


@pytest.mark.parametrize("what", THINGS)
def test_what_is_named_is_not_waited_for(sandbox: Sandbox, what: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(sandbox.cwd)
    plant(Path("thing"), what)
    for command in COMMANDS:
        done = run(command_of(sandbox, command, "thing"), sandbox.cwd)
        allowed = (0, 1, 2) if what == "directory" else (2,)
        assert done.returncode in allowed, (command, done)
    assert load_all(sandbox, ["thing"]) != ["loaded"]


# ---- holes ----

HOLE = 4 << 30
MOST_MEMORY_KB = 200 << 10


def write_with_hole(path: Path, pieces: list[tuple[int, bytes]], size: int) -> None:
    with path.open("wb") as file:
        for at, content in pieces:
            file.seek(at)
            file.write(content)
        file.truncate(size)


def zeros_crc(n: int) -> int:
    crc, block = 0, bytes(64 << 20)
    for _ in range(n // len(block)):
        crc = zlib.crc32(block, crc)
    return crc


def live_with_hole(kind: int) -> list[tuple[int, bytes]]:
    """The last extent is of this kind, and all of it is a hole."""
    plain = live_of([record(1, b"f")], [node(0, 0, -1000), node(1, ROOT_REF)], used=4 * PAGE + HOLE)
    return [(0, plain), (4 * PAGE, struct.pack("<IIQQ", kind, 0, HOLE, HOLE))]


def files_with_holes(cwd: Path) -> list[str]:
    for kind in (1, 2, 3, 4, 5, 99):
        write_with_hole(cwd / f"{kind}.live", live_with_hole(kind), 4 * PAGE + HOLE)
    plain = run_file(sections(names=[b"f", b"g"]))
    n_sections = struct.unpack_from("<I", plain, 12)[0]
    entry = struct.pack("<IIQQQII", 99, 0, len(plain) + 40, HOLE, HOLE, zeros_crc(HOLE), 0)
    table = [struct.unpack_from("<IIQQQII", plain, 16 + 40 * i) for i in range(n_sections)]
    moved = b"".join(struct.pack("<IIQQQII", *e[:2], e[2] + 40, *e[3:]) for e in table) + entry
    head = plain[:12] + struct.pack("<I", n_sections + 1) + moved + plain[16 + 40 * n_sections :]
    write_with_hole(cwd / "hole.allranks", [(0, head)], len(head) + HOLE)
    write_with_hole(cwd / "hole.pstats", [(0, marshal.dumps({("f.py", 1, "f"): (1, 1, 0.5, 0.5, {})})[:1])], HOLE)
    return [path.name for path in cwd.iterdir() if path.suffix in (".live", ".allranks", ".pstats")]


# The kernel counts what a process had before exec too: a child of this one begins with all that pytest has.
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def status_and_memory(command: list[str | Path], cwd: Path) -> tuple[int, int]:
    """How it ended, and the most it had in memory, in KiB."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], cwd=cwd, env=clean_environment(),
                          capture_output=True, text=True, check=True)  # fmt: skip
    status, memory = map(int, done.stdout.split())
    return status, memory


@pytest.mark.parametrize("name", ["info", "report", "merge", "where", "recover"])
def test_a_hole_takes_no_memory(sandbox: Sandbox, name: str):
    """Some kilobytes on disk that say they are four gigabytes."""
    for path in files_with_holes(sandbox.cwd):
        assert (sandbox.cwd / path).stat().st_blocks * 512 < 1 << 20
        status, memory = status_and_memory(command_of(sandbox, name, path), sandbox.cwd)
        assert status in (0, 1, 2), (path, status)
        assert memory < MOST_MEMORY_KB, (path, memory)
