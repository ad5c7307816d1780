# SPDX-License-Identifier: BSD-3-Clause
"""All that is printed: of texts that others chose only what a terminal, a spreadsheet and a reader of JSON can be given,
and output that cannot be written is an error.

Commands and options are those that --help names, so that a new one is tried as well.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import marshal
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import read_stacks
from harness import Sandbox, clean_environment
from live_writing import MS, PYTHON, REGION, TASK, LiveFile, ring_rank

TIME_LIMIT_S = 120
# Controls of ASCII and of Unicode, all that changes the direction, other ends of lines, a byte order mark, and no UTF-8.
EVIL = ("=\x1b[31m\x1b]0;x\x07\n\r\t\x08\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
        "\u2066\u2067\u2068\u2069\ufeff\udcff,\"';")  # fmt: skip
EVIL_NAMES = [sign + EVIL[1:] for sign in "=+-@"]
NOT_SHOWN = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
STYLES = re.compile(rb"\x1b\[[012]m")
ONE_ERROR = re.compile(r"allranks: error: [^\n]+\n")
IN_PYTHON = ("run", "install-shims")


def shown(text: str) -> str:
    """As the screen has it, by a definition that is not the command's."""
    return NOT_SHOWN.sub("?", text.replace("\n", "?"))


# ---- what there is ----


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    made = Sandbox(read_stacks()[0][0], tmp_path_factory.mktemp("output"))
    write_evil(made)
    yield made
    made.end()


def evil_rank(rank: int, size: int) -> LiveFile:
    """A ring in which every text is an evil one."""
    live = ring_rank(rank, size)
    live.host, live.thread_name, live.job = "h" + EVIL, EVIL[:20], "j" + EVIL[:20]
    for key in ("program", "command", "directory", EVIL):
        live.fact(key, EVIL)
    for kind in (PYTHON, REGION, TASK):
        for name in EVIL_NAMES:
            inner = live.function(kind, name, f"/x/{EVIL}.py" if kind == PYTHON else "", 5)
            live.call(live.root, inner, 0, 3, 50 * MS)
    live.comm(EVIL, 4, 2, identity=14, parent=1)
    return live


def write_live(directory: Path, size: int = 2) -> None:
    directory.mkdir(parents=True)
    for rank in range(size):
        live = evil_rank(rank, size)
        (directory / f"r{rank}-p{5000 + rank}-4711.live").write_bytes(live.bytes())


def write_broken(directory: Path) -> None:
    """Of four ranks one is missing, one has not begun, one is cut, and one is no file of ours."""
    write_live(directory, 4)
    ranks = sorted(directory.iterdir())
    ranks[0].unlink()
    for path, content in zip(ranks[1:], (b"", ranks[2].read_bytes()[:9000], b"ALLRLIVE" + bytes(90_000))):
        path.rename(directory / f"{EVIL}{path.name}")
        (directory / f"{EVIL}{path.name}").write_bytes(content)


def write_evil(sandbox: Sandbox) -> None:
    """A job, a run, and a file of cProfile, each under an evil name."""
    write_live(sandbox.cwd / ("live" + EVIL))
    write_live(sandbox.cwd / ("wide" + EVIL), 3)
    write_broken(sandbox.cwd / ("broken" + EVIL))
    for stem, live in (("run", "live"), ("wide", "wide")):
        done = sandbox.allranks("merge", live + EVIL, "-o", f"{stem}{EVIL}.allranks")
        assert done.code == 0, done
    entries = {(EVIL, 3, name): (1, 1, 0.5, 0.5, {(EVIL, 9, EVIL): (1, 1, 0.5, 0.5)}) for name in EVIL_NAMES}
    entries[EVIL, 9, EVIL] = (1, 1, 0.1, 1.0, {})
    plain = json.loads(json.dumps([list(key) for key in entries]).replace("\\udcff", "?"))
    stats = {tuple(key): value for key, value in zip(plain, entries.values())}
    content = marshal.dumps({key: (*value[:4], {}) for key, value in stats.items()}, 2)
    (sandbox.cwd / f"old{EVIL}.prof").write_bytes(content)


def commands_of(sandbox: Sandbox) -> list[str]:
    text = sandbox.answer("--help").decode().partition("commands:\n")[2]
    found = re.findall(r"^  ([a-z-]+) ", text, re.MULTILINE)
    assert len(found) > 10
    return found


def in_c(sandbox: Sandbox) -> list[str]:
    return [name for name in commands_of(sandbox) if name not in IN_PYTHON]


@functools.cache
def help_of(command: str, name: str) -> str:
    return subprocess.run([command, name, "--help"], capture_output=True, text=True, check=True).stdout


def options_of(sandbox: Sandbox, name: str) -> list[str]:
    return sorted(set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*\b", help_of(sandbox.command, name))) - {"--help", "-h"})


def inputs_of(name: str) -> list[list[str]]:
    """What it may be asked to read."""
    run, wide, live, old = f"run{EVIL}.allranks", f"wide{EVIL}.allranks", "live" + EVIL, f"old{EVIL}.prof"
    if name in ("diff", "scale"):
        return [[run, wide], [old, run], ["missing" + EVIL, run]]
    if name == "counters":  # it reads nothing
        return [[], [run]]
    return [[run], [live], [old], ["broken" + EVIL], ["missing" + EVIL], []]


def lines_of(sandbox: Sandbox, name: str) -> Iterator[list[str]]:
    """Command lines: each option alone, with an evil value, and none; on everything."""
    for words in inputs_of(name):
        yield [name, *words]
        for option in options_of(sandbox, name):
            yield [name, option, *words]
            yield [name, *words, f"{option}={EVIL}" if option.startswith("--") else option + EVIL]
    yield [name, "--" + EVIL]
    yield [name, EVIL, EVIL, EVIL]


def allranks(sandbox: Sandbox, words: list[str], **how) -> subprocess.CompletedProcess[bytes]:
    """What --remove and -o have done is undone."""
    live = sandbox.cwd / ("live" + EVIL)
    if not live.exists() or len(list(live.iterdir())) < 2:
        shutil.rmtree(live, ignore_errors=True)
        write_live(live)
    kept = set(sandbox.cwd.iterdir())
    how = {"stdout": subprocess.PIPE, **how}
    env = {**clean_environment(), "ALLRANKS_LIVE_DIR": str(sandbox.cwd), "TMPDIR": str(sandbox.cwd)}
    done = subprocess.run([sandbox.command, *words], cwd=sandbox.cwd, env=env, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S,
                          stderr=subprocess.PIPE, check=False, **how)  # fmt: skip
    for path in set(sandbox.cwd.iterdir()) - kept:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return done


def is_binary(words: list[str]) -> bool:
    """Asked to write another tool's format to standard output."""
    return words[0] == "export" and "-" in words


def assert_nothing_evil(done: subprocess.CompletedProcess[bytes]) -> None:
    for stream in (done.stdout or b"", done.stderr):
        text = stream.decode("utf-8", "surrogateescape")
        found = NOT_SHOWN.search(text)
        assert not found, (done.args, found, text[max(0, found.start() - 80) : found.end() + 20])


# ---- on a screen ----


def test_commands_of_the_launcher_are_all_of_them(sandbox: Sandbox):
    from_python = sandbox.plain("-c", "from allranks._launch import COMMANDS; print(*COMMANDS)")
    assert sorted([*from_python.out.split(), *IN_PYTHON]) == sorted(commands_of(sandbox))


def test_no_command_passes_on_what_a_terminal_interprets(sandbox: Sandbox):
    n_good, names = 0, set()
    for name in in_c(sandbox):
        for words in lines_of(sandbox, name):
            done = allranks(sandbox, words)
            assert done.returncode in (0, 1, 2), done
            if not is_binary(words):
                assert_nothing_evil(done)
            n_good += done.returncode == 0
            if shown(EVIL[1:12]).encode() in done.stdout + done.stderr:
                names.add(name)
    assert n_good > 150
    assert names >= {"report", "diff", "where", "info", "clean", "recover", "top", "scale", "ranks"}


def test_unknown_commands_are_named_harmlessly(sandbox: Sandbox):
    done = allranks(sandbox, [EVIL])
    assert done.returncode == 2
    assert_nothing_evil(done)
    assert done.stderr.decode().startswith(f"allranks: error: {shown(EVIL)}: no such command")


@pytest.mark.parametrize("name", ["where", "top", "clean"])
def test_lists_of_jobs(sandbox: Sandbox, name: str):
    """Where no job is named, those that there are, with the commands that they run. Others may run some as well."""
    home = sandbox.cwd.parent / ("jobs" + EVIL)
    home.mkdir()
    env = {**clean_environment(), "TMPDIR": str(home)}
    code = "import os\nos.kill(os.getpid(), 9)" if name == "clean" else "import sys\nsys.stdin.read()"
    argv = [sandbox.stack.python, "-m", "allranks", "--live-dir", str(home / f"allranks-{os.geteuid()}"), "-c", code, EVIL]
    jobs = [subprocess.Popen(argv, cwd=sandbox.cwd, env=env, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
    if name == "clean":
        assert [job.wait(TIME_LIMIT_S) for job in jobs] == [-signal.SIGKILL] * 2
    else:
        wait_for_live_files(home, len(jobs))
    done = subprocess.run([sandbox.command, name], cwd=sandbox.cwd, capture_output=True, check=False, env=env, timeout=TIME_LIMIT_S)
    for job in jobs:
        job.communicate(timeout=TIME_LIMIT_S)
    shutil.rmtree(home)
    for path in sandbox.cwd.glob("command*.allranks"):
        path.unlink()
    assert_nothing_evil(done)
    assert done.returncode == (0 if name == "clean" else 2), done
    if name == "clean":
        assert shown("jobs" + EVIL) in done.stdout.decode()
        return
    # A command to copy: what a shell makes of its last word is the path.
    offered = next(line for line in done.stderr.decode().splitlines() if f"  allranks {name} " in line)
    word = offered.partition(f"allranks {name} ")[2]
    path = subprocess.run(["bash", "-c", f"printf %s {word}"], check=True, capture_output=True).stdout
    assert path.startswith(os.fsencode(home) + b"/"), word
    assert shown(EVIL) in done.stderr.decode().partition("since")[2]


def wait_for_live_files(live: Path, n: int) -> None:
    deadline = time.monotonic() + TIME_LIMIT_S
    while len(list(live.rglob("*.live"))) < n:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("words", [
    ["report", "run"], ["report", "--functions", "run"], ["mpi", "run"], ["ranks", "run"], ["info", "run"],
    ["diff", "run", "wide"], ["scale", "run", "wide"], ["where", "live"], ["top", "--once", "live"], ["recover", "live"], ["clean"],
], ids=" ".join)  # fmt: skip
def test_a_terminal_gets_our_sequences_only(sandbox: Sandbox, words: list[str]):
    names = {"run": f"run{EVIL}.allranks", "wide": f"wide{EVIL}.allranks", "live": "live" + EVIL}
    main, side = pty.openpty()
    process = subprocess.Popen([sandbox.command, *(names.get(word, word) for word in words)], cwd=sandbox.cwd, stdout=side,
                               stderr=side, stdin=subprocess.DEVNULL, env={**clean_environment(), "TMPDIR": str(sandbox.cwd)})  # fmt: skip
    os.close(side)
    printed = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        printed += piece
        if not piece:
            break
    os.close(main)
    assert process.wait(TIME_LIMIT_S) in (0, 1)
    text = STYLES.sub(b"", printed.replace(b"\r\n", b"\n")).replace(b"\r\x1b[K", b"")
    found = NOT_SHOWN.search(text.decode("utf-8", "surrogateescape"))
    assert printed and not found, (found, text)


# ---- for spreadsheets and programs ----


def is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell))


def test_no_cell_is_a_formula(sandbox: Sandbox):
    of_traces = ("dump", "timeline")  # there is none here: see test_random_traces.py
    commands = [name for name in in_c(sandbox) if "--csv" in options_of(sandbox, name) and name not in of_traces]
    assert len(commands) >= 6
    n_texts = 0
    for name in commands:
        done = allranks(sandbox, [name, "--csv", *inputs_of(name)[0]])
        assert done.returncode == 0, done
        assert_nothing_evil(done)
        for row in csv.reader(io.StringIO(done.stdout.decode())):
            for cell in row:
                assert is_number(cell) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (name, row)
                n_texts += cell in [f"'{shown(each)}" for each in EVIL_NAMES]
    assert n_texts >= 12


def test_json_holds_the_text_and_shows_it_escaped(sandbox: Sandbox):
    commands = [name for name in in_c(sandbox) if "--json" in options_of(sandbox, name)]
    assert len(commands) >= 9
    for name in commands:
        for words in inputs_of(name)[:2]:
            done = allranks(sandbox, [name, "--json", *words])
            assert_nothing_evil(done)
            if done.returncode == 0:
                json.loads(done.stdout)
    report = json.loads(allranks(sandbox, ["report", "--json=1", f"run{EVIL}.allranks"]).stdout)
    assert EVIL.replace("\udcff", "\ufffd") in texts_in(report)


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)


def test_text_files_of_each_rank(sandbox: Sandbox):
    made = sandbox.allranks("report", "--per-rank-text", "text-{rank}.txt", f"run{EVIL}.allranks")
    assert made.code == 0, made
    for rank in range(2):
        path = sandbox.cwd / f"text-{rank}.txt"
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        path.unlink()
        assert shown(EVIL_NAMES[2]) in text
        assert not NOT_SHOWN.search(text)


# ---- the launcher ----


LAUNCHES = {
    "no script": ["missing" + EVIL],
    "unknown option": ["--" + EVIL, "x.py"],
    "a value": ["--max-size", EVIL, "x.py"],
    "another value": ["--budget", EVIL, "x.py"],
    "an output": ["-o", "{" + EVIL + "}", "x.py"],
    "no directory": ["-o", f"no{EVIL}/x", "-c", "pass"],
    "a command": ["mpirun" + EVIL],
    "a name": ["-o", f"out{EVIL}", "-c", "pass"],
    "a pstats file": ["-o", f"out{EVIL}.prof", "-c", "pass"],
    "a live directory": ["--live-dir", f"x{EVIL}/y{EVIL}", "-c", "pass"],
}


@pytest.mark.parametrize("how", LAUNCHES)
def test_the_launcher_shows_words_harmlessly(sandbox: Sandbox, how: str):
    done = allranks(sandbox, ["run", *LAUNCHES[how]])
    assert_nothing_evil(done)
    assert done.stderr, done


def test_the_environment_is_shown_harmlessly(sandbox: Sandbox):
    done = sandbox.recorded("-c", "pass", env={"ALLRANKS_MERGE_TIMEOUT": EVIL})
    assert done.code == 2 and shown(EVIL) in done.err, done
    assert not NOT_SHOWN.search(done.err)


def test_a_message_without_standard_error_goes_nowhere(sandbox: Sandbox):
    """And not to standard output, which is the program's."""
    done = sandbox.run(["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sandbox.stack.python, "-m", "allranks", "missing.py"])
    assert (done.code, done.out) == (2, "")


# ---- output that cannot be written ----


def assert_one_line(done: subprocess.CompletedProcess[bytes]) -> None:
    message = done.stderr.decode()
    assert done.returncode == 2, done
    assert ONE_ERROR.fullmatch(message.splitlines(keepends=True)[-1]), done
    assert message.count("allranks: error:") == 1, done


def test_a_full_disk_behind_standard_output_is_an_error(sandbox: Sandbox):
    n_tried = 0
    lines = [["--help"], ["help"], ["--version"], *([name, "--help"] for name in commands_of(sandbox))]
    lines += [words for name in in_c(sandbox) for words in lines_of(sandbox, name)]
    lines += [["install-shims", "--list"], ["install-shims", "--list", "--json"], ["run", "--version"]]
    for words in lines:
        plain = allranks(sandbox, words)
        with open("/dev/full", "wb") as full:
            done = allranks(sandbox, words, stdout=full)
        if plain.returncode == 2 or not plain.stdout:
            assert done.returncode == plain.returncode, done
        else:
            assert_one_line(done)
            n_tried += 1
    assert n_tried > 100


@pytest.mark.parametrize("words", [["report", "--rows", "0"], ["info"], ["report", "--json=1"], ["info", "--help"], ["run", "--help"]],
                         ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("is_ignored", [False, True], ids=["SIGPIPE", "ignored"])
def test_a_reader_that_has_gone_is_no_news(sandbox: Sandbox, words: list[str], is_ignored: bool):
    reading, writing = os.pipe()
    os.close(reading)
    run = [] if "--help" in words else [f"run{EVIL}.allranks"]
    done = allranks(sandbox, [*words, *run], stdout=writing, restore_signals=not is_ignored)
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == (2 if is_ignored or words[0] == "run" else -signal.SIGPIPE)


def test_a_closed_standard_output_is_not_taken_for_a_file(sandbox: Sandbox):
    """A file that is opened next would have its number, and get what is printed."""
    script = 'exec "$@" >&-'
    run = f"run{EVIL}.allranks"
    merged = sandbox.run(["/bin/sh", "-c", script, "sh", sandbox.command, "merge", run, "-o", "copy.allranks"])
    assert merged.code == 0, merged
    assert sandbox.info("copy.allranks").ranks == [0, 1]
    (sandbox.cwd / "copy.allranks").unlink()
    info = sandbox.run(["/bin/sh", "-c", script, "sh", sandbox.command, "info", run])
    assert info.code == 2 and ONE_ERROR.fullmatch(info.err), info


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def files_in(sandbox: Sandbox) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sandbox.cwd.iterdir() if path.is_file()}


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "existing"])
def test_files_that_cannot_be_whole_are_not_there(sandbox: Sandbox, is_there: bool):
    run = f"run{EVIL}.allranks"
    lines = [[name, run, *(["-f", "pstats"] if name == "export" else []), "-o", "made"] for name in in_c(sandbox)
             if "--output" in options_of(sandbox, name) and name != "recover"]  # fmt: skip
    lines += [["recover", "live" + EVIL, "-o", "made"], ["report", "--per-rank-text", "made-{rank}", run]]
    assert len(lines) >= 4
    for words in lines:
        for name in ("made", "made-0") if is_there else ():
            (sandbox.cwd / name).write_bytes(b"mine")
        before = files_in(sandbox)
        done = subprocess.run([sandbox.command, *words], cwd=sandbox.cwd, env=clean_environment(), capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S, preexec_fn=limit_files)  # fmt: skip
        assert_one_line(done)
        assert files_in(sandbox) == before, words
    for name in ("made", "made-0") if is_there else ():
        (sandbox.cwd / name).unlink()


def test_a_file_behind_a_link_is_whole_or_as_it_was(sandbox: Sandbox):
    (sandbox.cwd / "behind").write_bytes(b"mine")
    (sandbox.cwd / "link").symlink_to("behind")
    words = [sandbox.command, "export", f"run{EVIL}.allranks", "-f", "pstats", "-o", "link"]
    done = subprocess.run(words, cwd=sandbox.cwd, env=clean_environment(), capture_output=True, check=False, preexec_fn=limit_files)
    assert_one_line(done)
    assert (sandbox.cwd / "behind").read_bytes() == b"mine"
    assert subprocess.run(words, cwd=sandbox.cwd, check=False).returncode == 0
    assert (sandbox.cwd / "link").is_symlink() and len((sandbox.cwd / "behind").read_bytes()) > 100
    for name in ("link", "behind"):
        (sandbox.cwd / name).unlink()


def test_standard_output_that_may_not_grow(sandbox: Sandbox):
    with open(sandbox.cwd / "printed", "wb") as file:
        done = allranks(sandbox, ["info", f"run{EVIL}.allranks"], stdout=file, preexec_fn=limit_files)
    (sandbox.cwd / "printed").unlink()
    assert_one_line(done)

