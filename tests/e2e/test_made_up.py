# SPDX-License-Identifier: BSD-3-Clause
"""What only a live file describes (tests/unit/test_measures.c), from there to JSON, CSV and allranks.load."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import allranks
import pytest
from harness import ROOT, clean_environment

COMMAND = Path(sys.executable).with_name("allranks")


def run(*words: str | Path, status: int = 0) -> str:
    done = subprocess.run([COMMAND, *words], env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("live")
    with tarfile.open(ROOT / "tests/golden/live-8-made-up.tar.xz") as archive:
        archive.extractall(directory)
    return directory


@pytest.fixture(scope="module")
def recovered(live: Path) -> Path:
    target = live.parent / "recovered.allranks"
    run("recover", live, "-o", target)
    return target


@pytest.fixture(scope="module")
def merged(live: Path) -> Path:
    """Each rank a run of its own first."""
    singles = []
    for rank, path in enumerate(sorted(live.glob("*.live"))):
        singles.append(live.parent / f"rank-{rank}.allranks")
        run("recover", path, "-o", singles[-1], status=1)  # the other rank is missing
    target = live.parent / "merged.allranks"
    run("merge", *reversed(singles), "-o", target)
    return target


def report(path: Path, *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run("report", "--json", *options, path))
    return answer


def values(answer: dict[str, Any], metric: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in answer["tree_metrics"]:
        if row["metric"] == metric:
            found[row["function"]] = found.get(row["function"], 0) + row["value"]
    return found


@pytest.mark.parametrize("how", ["live", "recovered", "merged"])
def test_metrics(how: str, request: pytest.FixtureRequest) -> None:
    answer = report(request.getfixturevalue(how))
    kinds = {row["name"]: row for row in answer["metrics"] if not row["known"]}
    assert {name: (row["combine"], row["scope"], row["divided_by"]) for name, row in kinds.items()} == {
        "made_up.cycles": ("sum", "inclusive", "calls"),
        "made_up.samples": ("sum", "exclusive", None),
        "made_up.deepest": ("max", "call", None),
    }
    # A region is around solve: what is inclusive is in both, what is exclusive in one.
    assert values(answer, "made_up.cycles") == {"main": 1800, "find_spec": 1900, "solve": 1200}
    assert values(answer, "made_up.samples") == {"main": 40, "find_spec": 86, "solve": 14}
    assert values(answer, "made_up.deepest") == {"main": 2, "find_spec": 4, "solve": 6}


def test_of_one_rank(recovered: Path) -> None:
    assert values(report(recovered, "--ranks", "1"), "made_up.samples") == {"main": 20, "find_spec": 43, "solve": 7}


def test_of_hidden_functions(recovered: Path) -> None:
    """What a hidden function had alone is its caller's."""
    answer = report(recovered, "--exclude", "find_spec")
    assert values(answer, "made_up.samples") == {"main": 126, "solve": 14}
    assert values(answer, "made_up.cycles") == {"main": 1800, "solve": 1200}


@pytest.mark.parametrize("fold", [False, True])
def test_load(recovered: Path, fold: bool) -> None:
    loaded = allranks.load(recovered, as_="python", fold=fold)
    assert {"made_up.cycles", "made_up.samples", "made_up.deepest"} <= set(loaded.metrics)
    assert sum(loaded.values("made_up.samples")["made_up.samples"]) == 140
    rows = [row for row in loaded.table("tree_metrics") if row.metric == "made_up.samples"]
    assert sum(row.value for row in rows) == 140
    assert [row.value for row in rows if row.function == "main"] == [40]
    assert [row.value for row in rows if row.function == ("(import)" if fold else "find_spec")] == ([86] if fold else [6, 80])


@pytest.mark.parametrize("how", ["live", "recovered", "merged"])
def test_table(how: str, request: pytest.FixtureRequest) -> None:
    rows = report(request.getfixturevalue(how))["other_tables"]["made_up.lines"]
    assert sorted((row["function"], row["rank"], row["line"], row["hits"]) for row in rows) == [
        ("solve", 0, 11, 6), ("solve", 0, 12, 4), ("solve", 1, 11, 6), ("solve", 1, 12, 4)]  # fmt: skip
    assert all(row["time_ns"] > 0 for row in rows)


def test_table_of_load(recovered: Path) -> None:
    loaded = allranks.load(recovered, as_="python")
    assert "made_up.lines" in loaded.tables
    assert [row.hits for row in loaded.table("made_up.lines")] == [6, 4, 6, 4]


@pytest.mark.parametrize("how", ["live", "recovered", "merged"])
def test_stream(how: str, request: pytest.FixtureRequest) -> None:
    rows = json.loads(run("info", "--json", request.getfixturevalue(how)))["other_data"]
    stream = next(row for row in rows if row["name"] == "made_up.events")
    assert (stream["kind"], stream["threads"]) == ("stream", 2) and stream["bytes"] > 0
