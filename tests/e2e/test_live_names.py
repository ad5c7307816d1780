# SPDX-License-Identifier: BSD-3-Clause
"""What Python knows of names of live files is what C knows of them: tests/unit/test_live_names.c has the same list."""

import importlib.util
import os

import pytest
from harness import ROOT

LIST = ROOT / "tests/golden/live_names.txt"
LINES = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
spec = importlib.util.spec_from_file_location("live_names", ROOT / "python/allranks/_live_names.py")
assert spec and spec.loader
live_names = importlib.util.module_from_spec(spec)
spec.loader.exec_module(live_names)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_a_note_for_spawned_pythons_is_told_from_other_files(line: list[str]):
    name, kind, *numbers = line
    assert live_names.spawner(name) == (int(numbers[2]) if kind == "spawns" else 0)


@pytest.mark.parametrize(("chosen", "is_a_place"), [("/scratch", True), ("scratch", False), ("/tmp", False), ("", False)])
def test_homes_of_live_files(monkeypatch: pytest.MonkeyPatch, chosen: str, is_a_place: bool):
    monkeypatch.setenv("TMPDIR", chosen)
    places = ["/dev/shm", *([chosen] if is_a_place else []), "/tmp"]
    assert live_names.homes() == [f"{place}/allranks-{os.geteuid()}" for place in places]
