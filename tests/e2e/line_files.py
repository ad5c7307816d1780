# SPDX-License-Identifier: BSD-3-Clause
"""Files of line_profiler, and the real ones that tests compare with: see PEERS in tools/stacks.py."""

from __future__ import annotations

import io
import json
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import STACKS_FILE
from harness import Sandbox

CLASSES = {("line_profiler._line_profiler", "LineStats"), ("line_profiler.line_profiler", "LineStats")}


@dataclass
class Stats:
    timings: dict[tuple[str, int, str], list[tuple[int, int, int]]] = field(default_factory=dict)
    unit: float = 0.0

    @property
    def hits(self) -> dict[int, dict[int, int]]:
        """By first line of the function and line; functions that did not run are left out, as from our files."""
        return {key[1]: {line: hits for line, hits, _ in lines} for key, lines in self.timings.items() if lines}

    @property
    def names(self) -> set[str]:
        return {name for _, _, name in self.timings}


class Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        assert (module, name) in CLASSES, (module, name)
        return Stats


def read_lprof(path: Path) -> Stats:
    content = path.read_bytes()
    stats = Reader(io.BytesIO(content)).load()
    assert isinstance(stats, Stats) and stats.unit == 1e-9
    for lines in stats.timings.values():
        assert lines == sorted(lines) and all(type(number) is int for line in lines for number in line)
    return stats


def hits_in_remarks(source: str) -> dict[int, int]:
    """What a program says of its own lines: `total += i  # 95`."""
    remarks = ((number, line.rpartition("  # ")) for number, line in enumerate(Path(source).read_text().splitlines(), 1))
    return {number: int(hits) for number, (_, mark, hits) in remarks if mark and hits.isdigit()}


def line_profilers(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Version and interpreter of each that there is for this Python."""
    listed = json.loads(STACKS_FILE.read_text()).get("peers", [])
    found = [
        (each["version"], each["python"])
        for each in listed
        if each["package"] == "line_profiler" and each["python_version"] == sandbox.stack.python_version
    ]
    if not found:
        pytest.skip(f"no line_profiler for Python {sandbox.stack.python_version}")
    return found
