# SPDX-License-Identifier: BSD-3-Clause
"""Tables: JSON, CSV and allranks.load show the same names and figures, and docs/tables.md has them all."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, Sandbox
from heat_writing import write_heat

DESCRIBE = "import json\nfrom allranks import _reader\nprint(json.dumps(_reader.tables()))\n"
DUMP = """
import json, sys, allranks
run = allranks.load(sys.argv[1], as_="python", fold=True)
print(json.dumps({name: run.table(name).to_dict() for name in sys.argv[2:]}))
"""
# Which tables each command has, and how.
REPORTED = ("metrics", "tree_metrics", "derived_metrics", "tree_derived", "function_metrics")
IN_JSON = {
    ("report",): ["run", "efficiency", "findings", "functions", "tree", "tasks", *REPORTED],
    ("report", "--callers", "late", "--callees", "late"): ["run", "efficiency", "findings", "functions", "tree", "tasks", *REPORTED, "relatives"],
    ("report", "--tree", "bottom-up"): ["run", "efficiency", "findings", "functions", "tree", "tasks", *REPORTED, "bottom_up"],
    ("ranks",): ["run", "efficiency", "functions", "function_efficiency", "derived_metrics", "function_metrics"],
    ("ranks", "late"): ["run", "efficiency", "functions", "function_efficiency", "derived_metrics", "function_metrics", "function_ranks", "imbalance",
                        "rank_classes", "function_rank_metrics"],
    ("mpi",): ["run", "mpi_methods", "communicators", "mpi_paths", "mpi_functions", "mpi_classes", "mpi_communicators", "mpi_peers",
               "mpi_sizes", "mpi_requests", "mpi_matrix"],
    ("waits",): ["run", "waiting", "wait_times", "waits", "wait_ranks", "requests"],
    ("where",): ["processes", "stacks", "stack_threads", "stack_frames"],
    ("info",): ["run", "processes", "other_data"],
}  # fmt: skip
# Those about something else than a run.
OF_OTHERS = {
    ("diff", "run.allranks"): ["diff", "diff_runs", "diff_functions", "diff_conditions"],
    ("diff", "--paths", "--fail-if", "total > 5%", "run.allranks"): ["diff", "diff_runs", "diff_functions", "diff_paths", "diff_conditions"],
    ("scale", "other.allranks"): ["scaling", "scaling_runs", "scaling_functions", "scaling_function_runs"],
    ("top", "--once"): ["top", "top_processes", "top_functions"],
    ("clean",): ["clean", "clean_jobs"],
}  # fmt: skip
OTHERS_IN_CSV = {
    ("diff", "run.allranks"): "diff_functions",
    ("diff", "--paths", "run.allranks"): "diff_paths",
    ("scale", "other.allranks"): "scaling_runs",
    ("scale", "--functions", "other.allranks"): "scaling_function_runs",
}
IN_CSV = {
    ("report", "--functions"): "functions",
    ("report",): "tree",
    ("report", "--callers", "late"): "relatives",
    ("report", "--tree", "bottom-up"): "bottom_up",
    ("ranks",): "functions",
    ("ranks", "late"): "function_ranks",
    ("mpi",): "mpi_paths",
    ("mpi", "--by", "function"): "mpi_functions",
    ("mpi", "--by", "class"): "mpi_classes",
    ("mpi", "--by", "communicator"): "mpi_communicators",
    ("mpi", "--by", "peer"): "mpi_peers",
    ("mpi", "--by", "size"): "mpi_sizes",
    ("mpi", "--requests"): "mpi_requests",
    ("mpi", "--matrix"): "mpi_matrix",
    ("waits",): "wait_ranks",
}
BESIDE = {"schema", "command", "facts", "selection", "hang", "other_tables"}


@pytest.fixture
def run(python: Sandbox) -> str:
    shutil.copy(ROOT / "tests/golden/run-9.allranks", python.cwd / "run.allranks")
    return "run.allranks"


def in_python(python: Sandbox, code: str, *words: str) -> Any:
    done = subprocess.run([python.stack.python, "-c", code, *words], cwd=python.cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def described(python: Sandbox) -> dict[str, list[dict[str, Any]]]:
    names = ("load", "name", "group", "unit", "type", "help")
    return {name: [dict(zip(names, column)) for column in columns] for name, *_, columns in in_python(python, DESCRIBE)}


def of_runs(python: Sandbox) -> list[str]:
    """Names of tables that are about a run."""
    return [name for name, command, *_ in in_python(python, DESCRIBE) if not command]


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row of JSON as CSV names its columns."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        if not isinstance(value, dict):
            cells[key] = value
            continue
        stem, suffix = (key[:-3], "_ns") if key.endswith("_ns") else (key, "")
        for member, cell in value.items():
            is_number = not member.endswith(("_rank", "estimated")) and member not in ("compared", "counts", "undecided")
            name = stem if member == "sum" else f"{stem}_{member}"
            cells[name + (suffix if is_number else "")] = cell
    return cells


def rows_of(data: dict[str, Any], table: str) -> list[dict[str, Any]]:
    rows = data[table] if isinstance(data[table], list) else [data[table]] if data[table] else []
    return [flat(row) for row in rows]


def test_every_table_is_documented(python: Sandbox):
    done = subprocess.run([python.stack.python, ROOT / "tools/gen_tables.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs/tables.md").read_text(), "made by: tools/gen_tables.py >docs/tables.md"


@pytest.mark.parametrize("words", IN_JSON, ids=" ".join)
def test_json_has_the_columns_of_its_tables(python: Sandbox, run: str, words: tuple[str, ...]):
    tables = described(python)
    data = json.loads(python.answer(words[0], "--json", run, *words[1:]))
    assert (data["schema"], data["command"]) == (2, words[0])
    assert [key for key in data if key not in BESIDE] == IN_JSON[words]
    for name in IN_JSON[words]:
        for row in rows_of(data, name):
            assert list(row) == [column["name"] for column in tables[name]], name


@pytest.mark.parametrize("words", IN_CSV, ids=" ".join)
def test_csv_has_the_columns_of_its_table(python: Sandbox, run: str, words: tuple[str, ...]):
    columns = [column["name"] for column in described(python)[IN_CSV[words]]]
    options = words[1:] if "late" not in words[1:2] else ()
    told = list(csv.reader(io.StringIO(python.answer(words[0], "--csv", *options, run, *words[1 + len(options) :]).decode())))
    assert told[0] == columns and len(told) > 1


@pytest.fixture
def other(python: Sandbox, run: str) -> Path:
    """A directory with the same job on another number of ranks: live files, as of a job that was killed."""
    shutil.move(write_heat(python.cwd / "other", 2), python.live / "job")
    assert python.allranks("merge", python.live / "job", "-o", "other.allranks").code == 0
    return python.live / "job"


@pytest.mark.parametrize("words", OF_OTHERS, ids=" ".join)
def test_json_that_is_not_about_a_run(python: Sandbox, run: str, other: Path, words: tuple[str, ...]):
    tables = described(python)
    operand = {"top": other, "clean": python.live}.get(words[0], run)
    done = python.allranks(words[0], "--json", *words[1:], operand)
    data = json.loads(done.out)
    assert (data["schema"], data["command"]) == (2, words[0]), done
    assert [key for key in data if key not in BESIDE] == OF_OTHERS[words]
    for name in OF_OTHERS[words]:
        assert rows_of(data, name) or name == "diff_conditions", name
        for row in rows_of(data, name):
            assert list(row) == [column["name"] for column in tables[name]], name
    old = json.loads(python.allranks(words[0], "--json=1", *words[1:], operand).out)
    assert old["schema"] == f"allranks.{words[0]}"


@pytest.mark.parametrize("words", OTHERS_IN_CSV, ids=" ".join)
def test_csv_that_is_not_about_a_run(python: Sandbox, run: str, other: Path, words: tuple[str, ...]):
    columns = [column["name"] for column in described(python)[OTHERS_IN_CSV[words]]]
    told = list(csv.reader(io.StringIO(python.answer(words[0], "--csv", *words[1:], run).decode())))
    assert told[0] == columns and len(told) > 1


def is_same(in_load: Any, in_json: Any, column: dict[str, Any]) -> bool:
    if in_json is None:
        return in_load in (-1, "") or math.isnan(in_load)
    if column["unit"] == "ns":
        return in_load == pytest.approx(in_json / 1e9, rel=1e-12)
    if column["type"] == "R":
        return sum(1 + int(last or first) - int(first) for first, _, last in (r.partition("-") for r in in_load.split(",") if r)) == len(in_json)
    return in_load == pytest.approx(in_json) if isinstance(in_json, float) else in_load == in_json


@pytest.mark.parametrize("words", [("ranks",), ("mpi",), ("waits",), ("info",)], ids=" ".join)
def test_load_shows_what_json_does(python: Sandbox, run: str, words: tuple[str, ...]):
    """Of folded call paths, as these commands are. Rows may be in another order where a command sorts them."""
    tables = described(python)
    data = json.loads(python.answer(words[0], "--json", run))
    loaded = in_python(python, DUMP, run, *IN_JSON[words])
    for name in set(IN_JSON[words]) - {"functions", "processes", "run"}:
        in_json = rows_of(data, name)
        for column in tables[name]:
            in_load = loaded[name][column["load"]]
            assert len(in_load) == len(in_json), name
            assert all(is_same(a, b[column["name"]], column) for a, b in zip(in_load, in_json)), (name, column)


def test_every_table_can_be_loaded(python: Sandbox, run: str):
    tables = {name: columns for name, columns in described(python).items() if name in of_runs(python)}
    loaded = in_python(python, DUMP, run, *tables)
    for name, columns in tables.items():
        assert set(loaded[name]) == {column["load"] for column in columns}, name
        assert len({len(column) for column in loaded[name].values()}) == 1, name


def test_version_1_is_still_there(python: Sandbox, run: str):
    for words in IN_JSON:
        old = json.loads(python.answer(words[0], "--json=1", run, *words[1:]))
        assert old["schema"] == f"allranks.{words[0]}"
    done = python.allranks("report", "--json=3", run)
    assert done.code == 2 and "--json=3" in done.err.replace(" 3", "=3"), done


def test_figures_are_those_of_version_1(python: Sandbox, run: str):
    old = json.loads(python.answer("report", "--json=1", run))
    new = json.loads(python.answer("report", "--json", run))
    assert new["facts"] == old["facts"] and new["hang"] == old["hang"]
    assert (new["run"]["ranks"], new["run"]["wall_ns"]) == (old["ranks"], old["wall_ns"])
    assert [f["text"] for f in new["findings"]] == [f["text"] for f in old["findings"]]
    assert [node["id"] for node in new["tree"] if node["hot"]] == old["hot_path"]
    assert len(new["tree"]) == len(old["nodes"])
    for node, before in zip(new["tree"], old["nodes"]):
        assert (node["parent"], node["function_id"], node["calls"]) == (before["parent"], before["function"], before["calls"])
        for key in ("time_ns", "self_ns"):
            assert {k: node[key][k] for k in ("sum", "mean", "sd", "min", "max")} == {
                k: before[key][k] for k in ("sum", "mean", "sd", "min", "max")
            }
    for function in new["functions"]:
        before = old["functions"][function["id"]]
        assert (function["name"], function["calls"], function["time_ns"]["sum"]) == (
            before["name"], before["calls"], before["time_ns"]["sum"],
        )  # fmt: skip
