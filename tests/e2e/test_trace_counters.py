# SPDX-License-Identifier: BSD-3-Clause
"""Counters in a trace: what regions have counted in the profile is what lies between their ends in the trace, in every format."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import defaultdict

import pytest
import test_counters
import test_otf2
import test_trace_exports
from harness import Sandbox, workload

pytestmark = test_counters.pytestmark
OPTIONS = ("-q", "-o", "t.allranks", "--trace", "--counters", "page-faults,context-switches")


def record(sandbox: Sandbox, *options: str) -> list[dict[str, str]]:
    done = sandbox.recorded(workload("counted.py"), "fork", options=(*OPTIONS, *options))
    assert (done.code, done.err) == (0, ""), done
    return list(csv.DictReader(io.StringIO(sandbox.answer("dump", "--csv", "t.allranks").decode())))


def counted(rows: list[dict[str, str]], metric: str) -> dict[int, int]:
    """By node, what the counter went on by between each of its ends; readings follow the step that they belong to.

    A function that is decorated as a region is left together with it: the reading then follows both.
    """
    total: dict[int, int] = defaultdict(int)
    left: dict[tuple[str, str, int], str] = {}
    open_calls: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    step: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        thread = row["process"], row["thread"]
        if row["event"] in ("enter", "leave"):
            step[thread] = row
            if row["event"] == "leave":
                left[(*thread, int(row["node"]))] = row["time_ns"]
        elif row["event"] == "counter" and row["parameter"] == metric:
            value, node = int(row["value"]), int(step[thread]["node"])
            assert row["time_ns"] == step[thread]["time_ns"]
            if step[thread]["event"] == "enter":
                open_calls[thread].append((node, value))
            else:
                opened, before = open_calls[thread].pop()
                assert left[(*thread, opened)] == row["time_ns"]
                total[opened] += value - before
    assert not any(open_calls.values())
    return total


def test_between_its_ends_a_region_counts_what_the_profile_says(python: Sandbox):
    rows = record(python)
    answer = json.loads(python.answer("report", "--json", "t.allranks"))
    names = {row["id"]: row["function"] for row in answer["tree"]}
    parents = {row["id"]: row["parent"] for row in answer["tree"]}
    for metric in ("page-faults", "context-switches"):
        expected = {row["node"]: row["value"] for row in answer["tree_metrics"] if row["metric"] == metric}
        found = {node: value for node, value in counted(rows, metric).items() if value}
        around = {parents[node]: value for node, value in found.items() if names[parents[node]] == names[node]}  # a decorated function
        assert {node: value for node, value in {**around, **found}.items() if node in expected} == {node: value for node, value in expected.items() if value}
    by_name = {names[node]: value for node, value in counted(rows, "page-faults").items()}
    for name, pages in {**test_counters.PAGES, "in the child": 70}.items():
        assert pages <= by_name[name] <= pages + test_counters.SLACK, by_name


def test_all_formats_have_the_readings(python: Sandbox):
    rows = record(python)
    n_readings = sum(row["event"] == "counter" for row in rows)
    assert n_readings > 30
    for trace in test_trace_exports.assert_exports_agree(python):
        assert len(test_trace_exports.steps_of(trace, "counter")) == n_readings


@pytest.mark.skipif(not shutil.which("otf2-print") or not test_otf2.imports_otf2(), reason="OTF2's tools are not here")
def test_otf2_has_them_as_metrics(python: Sandbox):
    rows = record(python)
    archive = test_otf2.read(python, test_otf2.export(python, "t.allranks"))
    test_otf2.compare(archive, test_otf2.dumped(python, "t.allranks"), python)
    kinds = [each.kind for events in archive.events.values() for each in events]
    assert kinds.count("Metric") == sum(row["event"] == "counter" for row in rows)


def test_without_counters_a_trace_has_none(python: Sandbox):
    done = python.recorded(workload("counted.py"), options=("-q", "-o", "t.allranks", "--trace"))
    assert done.code == 0, done
    assert b",counter," not in python.answer("dump", "--csv", "t.allranks")
