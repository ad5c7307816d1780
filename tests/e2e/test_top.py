# SPDX-License-Identifier: BSD-3-Clause
"""`allranks top`: in a terminal with keys and sizes, and as plain text. What it shows is what the program does, and
however it ends the terminal is as before.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from harness import Running, Sandbox, settled, times_unlike, workload
from terminals import Terminal

PROGRAM = workload("two_phases.py")
KEYS = "s sort   / filter   p process   space freeze   arrows scroll   ? help   q quit"


def start(sandbox: Sandbox, *words: str, **how) -> Running:
    """A program that is in `early` until it is told to go on, then in `late`."""
    running = sandbox.start([*sandbox.recorder(), PROGRAM, *words], **how)
    running.wait_until((sandbox.cwd / "started").exists, "the program is at work")
    return running


@pytest.fixture
def opened(python: Sandbox) -> Iterator[list[Terminal]]:
    """What is put here is closed, however the test ends."""
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.close()


def top(python: Sandbox, opened: list[Terminal], *words: str, rows: int = 24, columns: int = 80) -> Terminal:
    terminal = Terminal([python.command, "top", "-d", "0.2", *words, str(python.live)], python.cwd, rows, columns)
    opened.append(terminal)
    return terminal


def shares_of(text: str, name: str) -> list[str]:
    """The columns in front of a function's name; blank ones left out."""
    (line,) = [line for line in text.splitlines() if re.search(rf"  {re.escape(name)} ", line)]
    return line.partition(f"  {name} ")[0].split()


def functions_in(text: str) -> list[str]:
    """Names and places of the table of functions."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith("calls  function"))
    return [" ".join(line[37:].split()) for line in lines[at + 1 :] if line[37:].strip() and line != KEYS]


def first_function(text: str) -> str:
    return functions_in(text)[0].split()[0]


def shows(text: str, name: str) -> bool:
    return any(line.split()[0] == name for line in functions_in(text))


def has_interval(text: str) -> bool:
    return "calls  function" in text and " -     - " not in text


def top_json(sandbox: Sandbox, *words: str) -> dict[str, Any]:
    data = json.loads(sandbox.answer("top", "--json", *words, sandbox.live))
    assert (data["schema"], data["command"]) == (2, "top")
    return data


def named(data: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [f for f in data["top_functions"] if f["name"] == name and (f["file"] or "").endswith("two_phases.py")]
    return found


# ---- what it shows ----


def test_the_last_interval_is_told_from_the_start(python: Sandbox, opened: list[Terminal]):
    start(python)
    terminal = top(python, opened)
    terminal.wait_for(lambda text: has_interval(text) and first_function(text) == "early", "early is the hottest")
    (python.cwd / "go_on").touch()
    text = terminal.wait_for(lambda text: first_function(text) == "late", "late is the hottest")
    terminal.wait_for(lambda text: len(shares_of(text, "early")) == 2, "nothing of early in the last interval")
    terminal.press("sss")  # total since start
    text = terminal.wait_for(lambda text: "sorted by total since start" in text, "sorted by total since start")
    assert first_function(text) == "<module>"
    terminal.press("q")
    assert terminal.end() == 0


def test_counts_are_those_of_the_program(python: Sandbox):
    """Between two looks as many calls as the program itself counted, give or take what it did meanwhile."""
    running = start(python)
    running.wait_until((python.cwd / "counts").exists, "counts are written")
    before = python.read_json("counts")["early"]
    first = named(top_json(python), "early")["calls"]
    data = top_json(python, "-d", "0.3")
    running.wait_until(lambda: python.read_json("counts")["early"] > before, "it goes on")
    calls = named(data, "early")
    after = python.read_json("counts")["early"] + 100  # it writes every hundred
    assert before <= first <= calls["calls"] <= after
    assert calls["lately_calls"] <= calls["calls"] - first
    assert 0 < calls["lately_time_ns"]["sum"] <= data["top"]["lately_span_ns"] * 1.01
    assert named(top_json(python), "early")["lately_calls"] is None


def test_the_time_of_a_young_process_is_right(python: Sandbox):
    """Its clock is known well before it renews its own stamp: `early` has the time that the program says it has run."""

    def look() -> dict[str, str]:
        running = start(python)
        began = python.read_json("started")
        before = time.time()
        module = named(top_json(python), "<module>")["time_ns"]["sum"] / 1e9
        after = time.time()
        running.kill()
        for path in (*python.live_files(), python.cwd / "started"):
            path.unlink()
        span = (before - began["at"], after - began["at"] + began["before_s"])
        return times_unlike({"module": module}, {"module": span}, rel=0.01)

    assert settled(look) == {}


def test_plain_text_fits_a_screen(python: Sandbox):
    running = start(python)
    text = python.answer("top", "--once", python.live).decode()
    assert python.answer("top", python.live).decode().splitlines()[3] == text.splitlines()[3]
    lines = text.splitlines()
    assert lines[0].startswith("two_phases.py   1 process on 1 host, running")
    assert lines[1] == "one look, shares since the start"
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "\x1b" not in text
    row = lines[4].split()
    assert row[:2] == ["-", str(running.process.pid)] and row[3:5] == ["running", "now"]
    again = python.answer("top", "--once", "-d", "0.2", python.live).decode()
    assert "last 0.2 s" in again and "since start" in again
    running.kill()
    text = python.answer("top", "--once", python.live).decode()
    assert "1 process on 1 host, dead" in text
    assert "allranks: the process has ended" in text


def test_ranks(mpi: Sandbox):
    running = mpi.start(mpi.ranks(2, *mpi.recorder(), workload("stands_still.py"), "log", "deadlock"))
    for rank in range(2):
        running.wait_until((mpi.cwd / f"log-{rank}").exists, "both ranks are there")
    data = top_json(mpi, "-d", "0.3")
    assert [process["rank"] for process in data["top_processes"]] == [0, 1]
    for process in data["top_processes"]:
        assert process["kind"] in ("mpi", "python") and process["function"]
    old = json.loads(mpi.answer("top", "--json=1", mpi.live))
    assert (old["schema"], old["version"], old["lately_span_ns"]) == ("allranks.top", 1, None)
    assert [(each["pid"], each["in"]["kind"]) for each in old["processes"]] == [
        (each["pid"], each["kind"]) for each in data["top_processes"]
    ]
    text = mpi.answer("top", "--once", "-d", "0.3", mpi.live).decode()
    assert "2 ranks on 1 host, all running" in text
    for line, rank, place in zip(text.splitlines()[4:6], "01", ("MPI_Recv", "MPI_Barr")):  # names are cut
        figures = rf"\s+{rank}\s+\d+  \S+\s+running\s+(now|\S+ s)\s+(100|99\.\d)"
        lines = "|".join(str(stack[-1][1]) for stack in mpi.read_json(f"log-{rank}")["stacks"].values())
        assert re.match(rf"{figures}  {place}\S* stands_still.py:({lines})$", line), line


# ---- keys ----


def test_keys(python: Sandbox, opened: list[Terminal]):
    start(python)
    terminal = top(python, opened)
    terminal.wait_for(lambda text: KEYS in text and has_interval(text), "the first screen")
    for sort in ("total", "self since start", "total since start", "calls", "name", "self"):
        terminal.press("s")
        terminal.wait_for(lambda text, sort=sort: f"sorted by {sort}\n" in text, f"sorted by {sort}")
    terminal.press("/")
    terminal.wait_for(lambda text: "show only functions with" in text.splitlines()[-1], "a prompt")
    terminal.press("lax\x7f\x7fate")
    terminal.wait_for(lambda text: text.endswith("(empty: all): late_"), "what is typed")
    terminal.press("\x1b")
    terminal.wait_for(lambda text: text.endswith(KEYS), "escape gives up")
    terminal.press("fEARL\r")
    text = terminal.wait_for(lambda text: "   only EARL" in text, "a filter")
    assert first_function(text) == "early" and not shows(text, "<module>")
    terminal.press("f\x7f\x7f\x7f\x7f\r")
    terminal.wait_for(lambda text: "   only EARL" not in text and "<module>" in text, "no filter")
    terminal.press("?")
    text = terminal.wait_for(lambda text: "any key goes back" in text, "help")
    assert all(len(line) < 80 for line in text.splitlines()), "nothing is cut"
    terminal.press("x")
    terminal.wait_for(lambda text: "sorted by" in text, "back again")
    terminal.press("\x1b[B\x1b[B\x1b[A\x1b[6~\x1b[F\x1b[H\x1bOB\x1b[1;5C\t")
    terminal.wait_for(lambda text: "sorted by" in text, "arrows do no harm")
    terminal.press("q")
    assert terminal.end() == 0


def test_scrolling(python: Sandbox, opened: list[Terminal]):
    start(python)
    terminal = top(python, opened, rows=12)
    terminal.wait_for(has_interval, "the first screen")
    terminal.press("sssss")  # by name
    text = terminal.wait_for(lambda text: "sorted by name" in text, "sorted by name")
    first, second, *_ = functions_in(text)
    terminal.press("\x1b[B")
    text = terminal.wait_for(lambda text: functions_in(text)[0] == second, "one further")
    terminal.press("\x1b[A")
    terminal.wait_for(lambda text: functions_in(text)[0] == first, "and back")
    terminal.press("\x1b[F")
    terminal.wait_for(lambda text: functions_in(text)[0] not in (first, second), "the end")
    terminal.press("\x1b[H")
    terminal.wait_for(lambda text: functions_in(text)[0] == first, "the beginning")


def test_freezing(python: Sandbox, opened: list[Terminal]):
    start(python)
    terminal = top(python, opened)
    terminal.wait_for(has_interval, "the first screen")
    terminal.press(" ")
    frozen = terminal.wait_for(lambda text: "FROZEN" in text, "frozen")
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        terminal.read()
    assert terminal.screen.text == frozen
    terminal.press(" ")
    terminal.wait_for(lambda text: "FROZEN" not in text and text.splitlines()[0] != frozen.splitlines()[0], "it goes on")


def as_rank(rank: int) -> dict[str, str]:
    """As Open MPI starts it."""
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2", "OMPI_MCA_ess_base_jobid": "4711"}


def test_one_process_of_two(python: Sandbox, opened: list[Terminal]):
    start(python, env=as_rank(0))
    (python.cwd / "started").unlink()
    (python.cwd / "go_on").touch()
    start(python, "other", env=as_rank(1))
    terminal = top(python, opened)
    text = terminal.wait_for(lambda text: has_interval(text) and "2 ranks on 1 host" in text, "both")
    assert shows(text, "late") and shows(text, "other")
    terminal.press("p0\r")
    text = terminal.wait_for(lambda text: "only rank 0" in text, "one of them")
    assert shows(text, "late") and not shows(text, "other")
    terminal.press("p\r")
    terminal.wait_for(lambda text: "only rank" not in text and shows(text, "other"), "both again")


# ---- sizes ----


def test_sizes(python: Sandbox, opened: list[Terminal]):
    """The emulated screen notices whatever goes beyond its edge or makes it scroll."""
    start(python)
    terminal = top(python, opened)
    terminal.wait_for(has_interval, "the first screen")
    for rows, columns in ((24, 132), (50, 200), (24, 80), (10, 60), (5, 30), (2, 20), (1, 10), (24, 80)):
        terminal.read()
        terminal.resize(rows, columns)
        text = terminal.wait_for(lambda text, n=columns: "two_phases"[:n] in text, f"something at {rows}x{columns}")
        if rows >= 24:
            text = terminal.wait_for(lambda text: text.endswith(KEYS), "the keys at the bottom")
            assert len(text.splitlines()) == rows
    terminal.press("q")
    assert terminal.end() == 0


# ---- ends ----


def assert_restored(terminal: Terminal, before: list[Any]) -> None:
    terminal.read()
    assert not terminal.screen.is_other and terminal.screen.cursor_shown
    assert terminal.settings() == before


@pytest.mark.parametrize("how", ["q", "ctrl-c", "SIGTERM", "SIGINT", "SIGHUP"])
def test_the_terminal_is_as_before(python: Sandbox, opened: list[Terminal], how: str):
    running = start(python)
    terminal = top(python, opened)
    terminal.wait_for(has_interval, "the first screen")
    raw = terminal.settings()
    assert terminal.screen.is_other and not terminal.screen.cursor_shown
    if how == "q":
        terminal.press("q")
        assert terminal.end() == 0
    elif how == "ctrl-c":
        terminal.press("\x03")
        assert terminal.end() == -signal.SIGINT
    else:
        os.kill(terminal.pid, getattr(signal, how))
        assert terminal.end() == -getattr(signal, how)
    before = Terminal(["/bin/true"], python.cwd)  # as it is when nobody has changed anything
    opened.append(before)
    before.end()
    assert raw != before.settings()
    assert_restored(terminal, before.settings())
    assert running.process.poll() is None, "the program goes on"


def test_it_can_be_stopped_and_goes_on(python: Sandbox, opened: list[Terminal]):
    start(python)
    terminal = top(python, opened)
    terminal.wait_for(has_interval, "the first screen")
    raw = terminal.settings()
    os.kill(terminal.pid, signal.SIGTSTP)
    deadline = time.monotonic() + 60
    while (terminal.screen.is_other or terminal.settings() == raw) and time.monotonic() < deadline:
        terminal.read()
    assert not terminal.screen.is_other and terminal.settings() != raw
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.wait_for(lambda text: terminal.screen.is_other and has_interval(text), "it is back")
    assert terminal.settings() == raw
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.parametrize("how", ["killed", "finished"])
def test_it_ends_with_the_program(python: Sandbox, opened: list[Terminal], how: str):
    running = start(python)
    terminal = top(python, opened)
    terminal.wait_for(has_interval, "the first screen")
    if how == "killed":
        running.kill()
    else:
        (python.cwd / "go_on").touch()
        (python.cwd / "finish").touch()
        assert running.wait().code == 0
    assert terminal.end() == 0
    last = terminal.screen.main_text.decode()
    assert "allranks: the process has ended" in last
    assert ("allranks where " in last) == (how == "killed")
    before = Terminal(["/bin/true"], python.cwd)
    opened.append(before)
    before.end()
    assert_restored(terminal, before.settings())


def test_a_process_that_comes_later_is_seen(python: Sandbox, opened: list[Terminal]):
    start(python)
    terminal = top(python, opened)
    terminal.wait_for(lambda text: "1 process on 1 host" in text, "one process")
    (python.cwd / "started").unlink()
    second = start(python)
    terminal.wait_for(lambda text: "2 processes on 1 host, all running" in text, "two")
    second.kill()
    terminal.wait_for(lambda text: "1 running, 1 dead" in text, "one is dead")


# ---- what is no job ----


def test_what_is_no_job_gives_one_line(python: Sandbox):
    (python.cwd / "empty").mkdir()
    (python.cwd / "foreign").mkdir()
    (python.cwd / "foreign" / "x.live").write_bytes(b"hello" * 2000)
    (python.cwd / "short").mkdir()
    (python.cwd / "short" / "x.live").write_bytes(b"ALLRLIVE")
    (python.cwd / "run.allranks").write_bytes(b"ALLRANKS")
    for words in (("missing",), ("empty",), ("foreign",), ("short",), ("run.allranks",), ("a", "b"), ("--frob",),
                  ("-d", "x", "empty"), ("-d", "0", "empty"), ("-d",)):  # fmt: skip
        done = python.allranks("top", *words)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("allranks: error: ") and done.err.count("\n") == 1, done


def test_an_unreadable_file_hides_no_other(python: Sandbox):
    start(python)
    (live,) = python.live_files()
    (live.parent / "r1-p1-1.live").write_bytes(b"short")
    text = python.answer("top", "--once", python.live).decode()
    assert "1 process on 1 host, running" in text and "1 file unreadable" in text


def test_help(python: Sandbox):
    text = python.answer("top", "--help").decode()
    assert "usage: allranks top" in text and max(map(len, text.splitlines())) <= 95
    assert "top " in python.answer("--help").decode()
