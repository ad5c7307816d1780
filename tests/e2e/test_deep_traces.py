# SPDX-License-Identifier: BSD-3-Clause
"""Traces of recursion that is deeper than nodes have numbers, and than the C stack of any reader."""

from __future__ import annotations

import pytest
from harness import Sandbox, workload
from trace_reading import check_sound, dump

PROGRAM = workload("trace_deep.py")
DEPTH = 150_000


@pytest.mark.parametrize("when", ["from the start", "late"])
def test_every_level_is_entered_and_left(python: Sandbox, when: str) -> None:
    is_late = when == "late"
    options = ("--trace-later" if is_late else "--trace", "-o", "deep.allranks")
    done = python.recorded(PROGRAM, *(["late"] if is_late else []), options=options)
    assert done.code == 0, done
    rows = dump(python, "deep.allranks")
    check_sound(rows)
    levels = [row for row in rows if row.file == PROGRAM and row.name == "descend"]
    entered = [row for row in levels if row.event == "enter"]
    assert len(entered) == len(levels) - len(entered) == DEPTH
    assert all(row.implied == (is_late and row.event == "enter") for row in levels)
    assert [row.event for row in rows if row.name == "innermost"] == ["enter", "leave"]


def test_short_calls_are_left_out_at_any_depth(python: Sandbox) -> None:
    """Those around a long one stay, and so may some of those in which there were too many to remember."""
    program = workload("trace_short_calls.py")
    done = python.recorded(program, options=("--trace", "--trace-min", "50ms", "-o", "short.allranks"))
    assert done.code == 0, done
    rows = [row for row in dump(python, "short.allranks") if row.file == program]
    check_sound(dump(python, "short.allranks"))
    steps = [(row.event, row.name) for row in rows if row.name not in ("<module>", "descend")]
    inside = [("enter", "around")] * 601 + [("enter", "rest"), ("leave", "rest")] + [("leave", "around")] * 601
    assert steps == [("enter", "outer"), *inside, ("leave", "outer")]
    assert sum(row.name == "descend" and row.event == "enter" for row in rows) <= 512  # two rooms full
