# SPDX-License-Identifier: BSD-3-Clause
"""Truth: random programs note every step of theirs, and the trace has just these steps, in this order, at these times; and its
calls add up to the profile of the same run.

A note is made inside the function that enters or leaves. So between the note before and its own one a function was entered, and it
was left between its note and the next. One distance between the program's clock and the trace's must explain all of them.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import Sandbox
from trace_reading import (
    Row,
    Thread,
    check_paths,
    check_profile,
    check_sound,
    check_text,
    dump,
    load,
    threads_of,
)
from traced_programs import IN_TRACES, Note, by_thread, write_traced

ALL = os.environ.get("ALLRANKS_TEST_ALL", "0") != "0"
SEED = int(os.environ.get("ALLRANKS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
SEEDS = (1, *(range(2, 24) if ALL else ()), pytest.param(SEED, id="any"))
HELPERS = {"Spent", "Base", "Derived", "Door", "_note", "_c", "_save", "_child", "_run", "current_thread"}
# As events; of a pause the trace has the same ones.
SWITCHES = {"off": "off", "on": "on", "pause": "off", "resume": "on"}
REGIONS = {"solve", "outer", "inner", "by_decorator"}
# The counter of the processor and the kernel's clock: what the kernel bends its clock by, and a switch between two looks.
DRIFT = 5e-4
CLOCK_NS = 20_000


@dataclass(frozen=True)
class Step:
    """Of the program, in the words of its notes."""

    kind: str
    name: str
    row: Row


def write(python: Sandbox, seed: int, is_alone: bool) -> Path:
    path = python.cwd / f"traced{seed}.py"
    path.write_text(write_traced(seed, is_alone))
    print("ALLRANKS_SEED", seed)
    return path


def record(python: Sandbox, path: Path, n_threads: int, n_children: int, *options: str) -> str:
    done = python.recorded(str(path), "notes.json", str(n_threads), str(n_children), options=("--trace", *options))
    assert done.code == 0, done
    run = f"{path.stem}.allranks"
    assert python.info(run).lost == 0
    return run


# ---- the steps of the program ----------------------------------------------------------------------


def kind_of(row: Row, callers: list[Row], own: tuple[str, str]) -> str:
    """As it would be noted; empty: it is not the program's, or a function that says nothing."""
    if row.event == "parameter":
        return "p"
    if row.event in ("off", "on"):
        return row.event
    sign = "+" if row.event == "enter" else "-"
    if row.file in own and row.name not in HELPERS and not row.name.startswith(("<", "mute")):
        return sign
    if not row.file and row.function in REGIONS:
        return "r" + sign
    if not row.file and row.function in IN_TRACES and callers and callers[-1].name == "_c":
        return "c" + sign
    return ""


def name_of(row: Row, kind: str) -> str:
    if kind == "p":
        return f"{row.parameter}={row.value}"
    return IN_TRACES[row.function] if kind[0] == "c" else row.name


def steps_of(rows: list[Row], own: tuple[str, str]) -> list[Step]:
    """Implied ones are none: the thread made them when nothing was recorded."""
    steps: list[Step] = []
    stack: list[Row] = []
    for row in rows:
        if row.event == "leave":
            stack.pop()
        kind = kind_of(row, stack, own)
        if kind and not row.implied:
            steps.append(Step(kind, name_of(row, kind), row))
        if row.event == "enter":
            stack.append(row)
    return steps


def expected_of(notes: list[Note]) -> list[int]:
    """Which notes are of steps that were recorded, by number: what comes while the trace is off is not, nor what changes nothing."""
    found: list[int] = []
    is_on, is_paused = True, False
    for i, note in enumerate(notes):
        was_recorded = is_on and not is_paused
        is_on = note.kind == "on" if note.kind in ("on", "off") else is_on
        is_paused = note.kind == "pause" if note.kind in ("pause", "resume") else is_paused
        if note.kind in SWITCHES:
            if was_recorded != (is_on and not is_paused):
                found.append(i)
        elif was_recorded and note.kind != "fork":
            found.append(i)
    return found


def without_c(steps: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [step for step in steps if step[0][0] != "c"]


def first_difference(found: list[tuple[str, str]], noted: list[tuple[str, str]]) -> str:
    """Empty: there is none."""
    for i, (a, b) in enumerate(zip(found, noted)):
        if a != b:
            return f"step {i} of {len(noted)}: {found[max(i - 4, 0) : i + 4]}, noted {noted[max(i - 4, 0) : i + 4]}"
    return "" if len(found) == len(noted) else f"{len(found)} steps, noted {len(noted)}: {found[len(noted) :][:4]} {noted[len(found) :][:4]}"


def is_part_of(found: list[tuple[str, str]], noted: list[tuple[str, str]]) -> bool:
    rest = iter(noted)
    return all(step in rest for step in found)


# ---- times -----------------------------------------------------------------------------------------


def bounds(notes: list[Note], i: int) -> tuple[int, int]:
    """Of the clock of the program: when the step was made at the earliest and the latest. Several frames that are left or
    entered together say so one after the other.
    """
    kind = notes[i].kind

    def beyond(step: int) -> int:
        at = i + step
        while 0 <= at < len(notes) and notes[at].kind == kind:
            at += step
        return notes[at].ns if 0 <= at < len(notes) else (0 if step < 0 else 1 << 62)

    if kind in ("+", "r-", "c-", *SWITCHES):
        return beyond(-1), notes[i].ns if SWITCHES.get(kind) != "on" else beyond(1)
    return notes[i].ns, beyond(1)


def check_distance(pairs: list[tuple[Note, int, int, Row]]) -> None:
    """One distance between both clocks fits all steps."""
    least = max(earliest - row.ns for _, earliest, _, row in pairs)
    most = min(latest - row.ns for _, _, latest, row in pairs)
    lasted = pairs[-1][3].ns - pairs[0][3].ns
    assert least <= most + CLOCK_NS + DRIFT * lasted, (least - most, lasted)


def pair_up(notes: list[Note], expected: list[int], steps: list[Step]) -> list[tuple[Note, int, int, Row]]:
    return [(notes[i], *bounds(notes, i), step.row) for i, step in zip(expected, steps)]


# ---- both ------------------------------------------------------------------------------------------


def match_threads(data: dict, notes: dict[str, list[Note]], process: int) -> dict[Thread, str]:
    threads, pids = data["tables"]["threads"], data["tables"]["processes"]["pid"]
    return {(process, number): name for number, name, row in zip(threads["thread"], threads["name"], threads["process"])
            if pids[row] == process and name in notes}  # fmt: skip


def compare(rows: list[Row], notes: list[Note], own: tuple[str, str], exact: bool) -> list[tuple[Note, int, int, Row]]:
    """The steps of one thread."""
    steps, expected = steps_of(rows, own), expected_of(notes)
    if not exact:
        found_in_c = [(step.kind, step.name) for step in steps if step.kind[0] == "c"]
        assert is_part_of(found_in_c, [(notes[i].kind, notes[i].name) for i in expected if notes[i].kind[0] == "c"])
        steps = [step for step in steps if step.kind[0] != "c"]
        expected = [i for i in expected if notes[i].kind[0] != "c"]
    found = [(step.kind, step.name if step.kind not in ("off", "on") else "") for step in steps]
    noted = [(SWITCHES.get(notes[i].kind, notes[i].kind), notes[i].name) for i in expected]
    assert not (difference := first_difference(found, noted)), difference
    return pair_up(notes, expected, steps)


def check_process(data: dict, rows: list[Row], process: int, saved: list, own: tuple[str, str], exact: bool) -> list:
    """All threads that noted something. Returns their steps with the times between which they were made."""
    notes, threads = by_thread(saved), threads_of(rows)
    matched = match_threads(data, notes, process)
    assert sorted(matched.values()) == sorted(notes)
    return [pair for thread, name in matched.items() for pair in compare(threads[thread], notes[name], own, exact)]


def own_files(path: Path) -> tuple[str, str]:
    return str(path), "<string>"


def check_run(python: Sandbox, path: Path, run: str, exact: bool) -> tuple[list[Row], dict]:
    rows, data = dump(python, run), load(python, run)
    check_sound(rows)
    check_paths(data, rows)
    root = data["tables"]["processes"]["pid"][0]
    pairs = check_process(data, rows, root, python.read_json("notes.json"), own_files(path), exact)
    for child in python.cwd.glob("notes.json.*"):
        saved = json.loads(child.read_text())
        since = next(i for i, note in enumerate(saved) if note[0] == "fork")
        pairs += check_process(data, rows, int(child.suffix[1:]), saved[since:], own_files(path), exact)
    assert len(pairs) > 150
    check_distance(pairs)
    return rows, data


@pytest.mark.parametrize("exact", [False, True], ids=["", "exact"])
@pytest.mark.parametrize("seed", SEEDS)
def test_steps_are_what_the_program_noted(any_python: Sandbox, seed: int, exact: bool):
    """With parameters, regions, pauses; the trace is switched off and on."""
    path = write(any_python, seed, True)
    run = record(any_python, path, 0, 0, *(["--exact"] if exact else []))
    rows, _ = check_run(any_python, path, run, exact)
    check_text(any_python, run, rows)
    assert "quiet" not in {row.name for row in rows}


@pytest.mark.parametrize("exact", [False, True], ids=["", "exact"])
@pytest.mark.parametrize("seed", SEEDS)
def test_steps_add_up_to_the_profile(any_python: Sandbox, seed: int, exact: bool):
    """On several threads, with nothing left out."""
    path = write(any_python, seed, False)
    run = record(any_python, path, 3, 0, *(["--exact"] if exact else []))
    rows, data = check_run(any_python, path, run, exact)
    may_lack = frozenset() if exact else frozenset(["c", "builtin"])
    assert check_profile(data, rows, may_lack) > 100


@pytest.mark.parametrize("seed", SEEDS[-2:])
def test_a_forked_child_has_its_own_trace(any_python: Sandbox, seed: int):
    path = write(any_python, seed, True)
    run = record(any_python, path, 0, 2)
    rows, data = check_run(any_python, path, run, False)
    assert len({row.process for row in rows}) == 3 == len(data["tables"]["processes"]["pid"])
