# SPDX-License-Identifier: BSD-3-Clause
"""`allranks timeline`: what a program did when, against its own log and against the events that `dump` prints."""

from __future__ import annotations

import json
import os
import random
import re
import select
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from harness import Sandbox, settled, times_unlike, workload
from terminals import Terminal
from trace_reading import Row, dump

PHASES = workload("planned_phases.py")
SYMBOLS = set(" .=+~:/zkmpcW-")


def record(sandbox: Sandbox, mode: str, *options: str) -> None:
    (sandbox.cwd / "run.allranks").unlink(missing_ok=True)
    done = sandbox.recorded(PHASES, mode, options=("--trace", "-o", "run.allranks", *options))
    assert done.code == 0, done


def table(sandbox: Sandbox, path: str | Path, *options: str) -> dict[str, Any]:
    return json.loads(sandbox.answer("timeline", path, "--json", *options))


def seconds(row: dict[str, Any]) -> dict[str, float]:
    return {name: ns / 1e9 for name, ns in row["class_ns"].items()}


def log_of(sandbox: Sandbox, rank: int = 0) -> dict[str, float]:
    return sandbox.read_json(f"phases-{rank}.json")


def text_rows(text: str) -> list[tuple[str, str]]:
    """Label and picture of each row of the text."""
    lines = text.splitlines()
    rows = [re.match(r" *((?:pid )?[\d.-]+(?: pid \d+)?(?:\.\d+)?) (.*)$", line) for line in lines[2:]]
    return [(found[1], found[2]) for found in rows if found and set(found[2]) <= SYMBOLS]


def zoomed(sandbox: Sandbox, path: str, *options: str) -> dict[str, Any]:
    """The window that the last line names."""
    text = sandbox.allranks("timeline", path, *options).out
    found = re.search(r"allranks timeline \S+ --from (\S+) --to (\S+)$", text)
    assert found, text
    done = sandbox.allranks("timeline", path, "--json", "--from", found[1], "--to", found[2])
    assert done.code == 0, done
    return json.loads(done.out)


AFTER_INIT = """
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
time.sleep(1)
if world.rank == 0:
    time.sleep(0.1)
world.Barrier()
time.sleep(1)
"""
HALF_TRACED = """
import time
def leaf():
    for _ in range(200): pass
end = time.monotonic() + 2
while time.monotonic() < end: leaf()
"""


def test_the_window_that_is_suggested_has_mpi_and_not_its_start(debian: Sandbox):
    (debian.cwd / "after_init.py").write_text(AFTER_INIT)
    done = debian.recorded_ranks(2, "after_init.py", options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    functions = {cell["function"] for cell in zoomed(debian, "run.allranks")["timeline_cells"]}
    assert "MPI_Barrier" in functions and not functions & {"MPI_Init_thread", "MPI_Init", "MPI_Finalize"}, functions


def test_the_window_that_is_suggested_is_recorded(python: Sandbox):
    (python.cwd / "half.py").write_text(HALF_TRACED)
    done = python.recorded("half.py", options=("--trace", "--trace-last", "300ms", "-o", "run.allranks"))
    assert done.code == 0, done
    (whole,), (row,) = table(python, "run.allranks")["timeline_rows"], zoomed(python, "run.allranks")["timeline_rows"]
    assert whole["class_ns"]["not_recorded"] > 1e9 and row["class_ns"]["not_recorded"] < 0.1 * sum(row["class_ns"].values())


# ---- shares ----


def test_classes_are_those_of_the_program(python: Sandbox):
    def look() -> dict[str, str]:
        record(python, "")
        (row,) = table(python, "run.allranks")["timeline_rows"]
        log = log_of(python)
        found = seconds(row)
        assert sum(found.values()) == pytest.approx(table(python, "run.allranks")["timeline"]["to_ns"] / 1e9, rel=1e-6)
        found["busy"] = found["python"] + found["c"]
        slept = log["rest"] + log["rest again"]
        return times_unlike(found, {"sleep": slept, "busy": (log["compute"], log["compute"] + 0.1)})

    assert not settled(look)


def test_ranks_wait_at_the_barrier(debian: Sandbox):
    def look() -> dict[str, str]:
        (debian.cwd / "run.allranks").unlink(missing_ok=True)
        done = debian.recorded_ranks(3, PHASES, "mpi", options=("--trace", "-o", "run.allranks"))
        assert done.code == 0, done
        found = table(debian, "run.allranks")
        assert [row["rank"] for row in found["timeline_rows"]] == [0, 1, 2]
        wrong = {}
        for row in found["timeline_rows"]:
            log = log_of(debian, row["rank"])
            logged = {"sleep": log["rest"] + log["rest again"]}
            # MPI_Init and the first barrier are in these classes, too.
            logged["mpi_collective"] = (log["barrier"], log["barrier"] + 2)
            for name, how in times_unlike(seconds(row), logged).items():
                wrong[f"{name} of rank {row['rank']}"] = how
        return wrong

    assert not settled(look)
    # The earlier a rank came to the barrier, the longer it waited there: seen in the picture, too.
    waits = [call for call in dump(debian, "run.allranks", "--match", "MPI_Barrier") if call.event == "enter"]
    last = {call.rank: call.ns for call in waits}
    window = ("--from", f"{min(last.values())}ns", "--to", f"{max(last.values())}ns")
    rows = text_rows(debian.answer("timeline", "run.allranks", *window, "--width", "80").decode())
    counts = [picture.count("c") for _, picture in rows]
    assert counts[0] > counts[1] > counts[2], rows


# ---- cells against events ----


def innermost(rows: list[Row], end_ns: int) -> list[tuple[int, int, str]]:
    """From when to when the thread was in which function."""
    stack: list[str] = []
    spans = []
    before = 0
    for row in [*rows, None]:
        at = row.ns if row else end_ns
        if stack and at > before:
            spans.append((before, at, stack[-1]))
        before = at
        if row and row.event == "enter":
            stack.append(row.function)
        elif row and row.event == "leave":
            stack.pop()
    return spans


def shares_of(spans: list[tuple[int, int, str]], start: float, end: float) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for a, b, name in spans:
        if min(b, end) > max(a, start):
            found[name] += (min(b, end) - max(a, start)) / (end - start)
    return found


def test_cells_are_those_of_the_events(python: Sandbox):
    record(python, "", "--builtins", "all")
    events = dump(python, "run.allranks")
    whole = table(python, "run.allranks")["timeline"]
    spans = innermost(events, whole["to_ns"])
    rng = random.Random(5)
    for _ in range(6):
        start, end = sorted(rng.sample(range(whole["to_ns"]), 2))
        found = table(python, "run.allranks", "--from", f"{start}ns", "--to", f"{end}ns", "--width", "7")
        window = found["timeline"]
        assert (window["from_ns"], window["to_ns"]) == (start, end)
        width = (end - start) / 7
        for cell in found["timeline_cells"]:
            shares = shares_of(spans, start + cell["column"] * width, start + (cell["column"] + 1) * width)
            assert sum(cell["share"].values()) == pytest.approx(1, abs=1e-4)
            # A unit is 4 ns at most, and columns are rounded to it.
            off = window["error"] + 12 / width + 1e-4
            known = sum(shares.values())
            assert cell["share"]["not_recorded"] == pytest.approx(1 - known, abs=off)
            slept = sum(share for name, share in shares.items() if "sleep" in name)
            assert cell["share"]["sleep"] == pytest.approx(slept, abs=off)


def test_a_window_is_what_happens_in_it(python: Sandbox):
    record(python, "")
    enter, leave = [row for row in dump(python, "run.allranks", "--match", "sleep")][:2]
    assert (enter.event, leave.event) == ("enter", "leave")
    inside = table(python, "run.allranks", "--from", f"{enter.ns + 100}ns", "--to", f"{leave.ns - 100}ns")
    assert all(cell["share"]["sleep"] > 0.999 for cell in inside["timeline_cells"])
    assert "sleep" in inside["timeline_cells"][0]["function"]
    length = leave.ns - enter.ns
    half = table(python, "run.allranks", "--from", f"{leave.ns - length // 2}ns", "--to", f"{leave.ns + length // 2}ns")
    shares = seconds(half["timeline_rows"][0])
    assert shares["sleep"] == pytest.approx(length / 2e9, rel=0.01)


@pytest.mark.parametrize("length_ns", [100, 1000, 20000])
def test_a_short_window_has_columns_of_some_units(python: Sandbox, length_ns: int):
    """Shares add up to the window, and in the middle of a recording nothing was not recorded."""
    record(python, "")
    middle = int(log_of(python)["compute"] * 1e9 / 2)
    begin = next(row.ns for row in dump(python, "run.allranks") if row.name == "compute" and row.event == "enter") + middle
    found = table(python, "run.allranks", "--from", f"{begin / 1e9:.9f}s", "--to", f"{(begin + length_ns) / 1e9:.9f}s")
    columns, (row,) = found["timeline"]["columns"], found["timeline_rows"]
    assert columns == min(100, length_ns // 16) or columns <= length_ns / 4
    shares = row["class_ns"]
    assert sum(shares.values()) == pytest.approx(length_ns, abs=8) and shares["not_recorded"] <= 8, shares
    assert python.allranks("timeline", "run.allranks", "--from", f"{begin / 1e9:.9f}s", "--to", f"{(begin + 3) / 1e9:.9f}s").err.startswith(
        "allranks: error: run.allranks: this window is too short: "
    )


def test_only_what_is_wanted(python: Sandbox):
    record(python, "")
    (row,) = table(python, "run.allranks", "--match", "compute")["timeline_rows"]
    found = seconds(row)
    assert found["sleep"] == 0 and found["unwanted"] > 0.2
    assert not times_unlike({"compute": found["python"] + found["c"]}, {"compute": log_of(python)["compute"]}, rel=0.3)
    done = python.allranks("timeline", "run.allranks", "--match", "nothing_like_that")
    assert done.code == 2 and "no function nothing_like_that" in done.err


# ---- what is not there ----


def test_time_without_a_trace_is_told_apart(python: Sandbox):
    record(python, "off")
    (row,) = table(python, "run.allranks")["timeline_rows"]
    off = log_of(python)["off"]
    assert off * 0.9 < seconds(row)["not_recorded"] < off + 0.2
    assert " " * 5 in text_rows(python.answer("timeline", "run.allranks", "--width", "80").decode())[0][1]


def test_a_program_that_was_killed(python: Sandbox):
    running = python.start([*python.recorder("--trace"), PHASES, "killed"])
    running.wait()
    (row,) = table(python, python.live)["timeline_rows"]
    log = log_of(python)
    assert seconds(row)["sleep"] > (log["rest"] + log["rest again"]) * 0.95
    assert text_rows(python.answer("timeline", python.live).decode())[0][1].count("z") > 5


def test_threads_are_rows_where_they_are_wanted(python: Sandbox):
    record(python, "threads")
    found = table(python, "run.allranks")
    assert (len(found["timeline_rows"]), found["timeline"]["threads_left_out"]) == (1, 1)
    assert "1 thread or child is not shown: --threads" in python.answer("timeline", "run.allranks").decode()
    rows = table(python, "run.allranks", "--threads")["timeline_rows"]
    assert [row["thread"] for row in rows] == [0, 1]
    log = log_of(python)
    assert 0.15 < seconds(rows[1])["sleep"] < log["thread"] + 0.05
    together = table(python, "run.allranks", "--threads", "--rows", "1")
    assert together["timeline"]["threads_per_row"] == 2
    assert seconds(together["timeline_rows"][0])["sleep"] == pytest.approx(
        (seconds(rows[0])["sleep"] + seconds(rows[1])["sleep"]) / 2, rel=1e-6
    )


def test_a_run_without_a_trace(python: Sandbox):
    python.recorded("-c", "pass", options=("-o", "run.allranks"))
    done = python.allranks("timeline", "run.allranks")
    assert done.code == 2
    assert done.err == "allranks: error: run.allranks: it has no trace (record one with: allranks run --trace)\n"


def test_a_window_that_is_none(python: Sandbox):
    record(python, "")
    done = python.allranks("timeline", "run.allranks", "--from", "1h")
    assert done.code == 2 and "before this window begins" in done.err
    done = python.allranks("timeline", "run.allranks", "--from", "2s", "--to", "1s")
    assert done.code == 2 and "is not before" in done.err


# ---- how it looks ----


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_the_screen(python: Sandbox, width: int):
    record(python, "")
    for environment, options in (({"COLUMNS": str(width)}, ()), ({}, ("--width", str(width)))):
        done = python.allranks("timeline", "run.allranks", *options, env=environment)
        lines = done.out.splitlines()
        assert (done.code, done.err) == (0, "")
        assert max(map(len, lines[1:-1])) <= width, done
        (row,) = text_rows(done.out)
        assert len(row[1]) > width - 20 and "\x1b" not in done.out
        assert lines[1].count("|") >= 2
        hint = re.search(r"allranks timeline run.allranks (--from \S+ --to \S+)$", lines[-1])
        assert hint, lines[-1]
    assert python.answer("timeline", "run.allranks", *hint[1].split())


def written_to(terminal: Terminal) -> bytes:
    """All of it, sequences included."""
    data = b""
    while select.select([terminal.fd], [], [], 0.2)[0] or terminal.process.poll() is None:
        if select.select([terminal.fd], [], [], 0.2)[0]:
            data += os.read(terminal.fd, 65536)
    return data


def test_colour_on_a_terminal_only(python: Sandbox):
    record(python, "")
    terminal = Terminal([python.command, "timeline", "run.allranks"], python.cwd, n_rows=24, n_columns=80)
    text = written_to(terminal)
    assert terminal.process.wait() == 0
    assert b"\x1b[48;5;182m" in text and b"\x1b[48;5;25m" in text
    assert b"\x1b" not in python.answer("timeline", "run.allranks")


def test_a_picture(python: Sandbox):
    record(python, "")
    python.answer("timeline", "run.allranks", "-o", "timeline.svg")
    text = (python.cwd / "timeline.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg") and "href" not in text and "<script" not in text
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert any("sleep" in title and "sleep, locks" in title for title in titles if title)
    assert any("compute planned_phases.py" in title for title in titles if title)
    drawn = [e for e in root.iter() if e.tag.endswith("rect") and int(e.attrib["width"]) > 20]
    assert drawn and all(0 <= int(e.attrib["x"]) <= 1200 for e in drawn)
    assert len(text) < 1_000_000


# ---- files that are not as they should be ----


def test_damaged_files_are_refused_in_one_line(python: Sandbox):
    record(python, "")
    content = (python.cwd / "run.allranks").read_bytes()
    rng = random.Random(29)
    n_refused = 0
    for i in range(60):
        damaged = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            # Half of them near the end, where the events and the bins are.
            damaged[rng.randrange(len(content)) if i % 2 else len(content) - 1 - rng.randrange(5000)] ^= 1 << rng.randrange(8)
        if i % 10 == 9:
            damaged = damaged[: rng.randrange(len(content))]
        (python.cwd / "damaged.allranks").write_bytes(damaged)
        options = [("--width", "30"), ("--width", "5000"), ("--from", "100ms", "--to", "101ms")][i % 3]
        done = python.allranks("timeline", "damaged.allranks", *options)
        assert done.code in (0, 2), done
        if done.code:
            assert re.fullmatch(r"allranks: error: damaged\.allranks: [^\n]+\n", done.err), done
            n_refused += 1
    assert n_refused > 20
