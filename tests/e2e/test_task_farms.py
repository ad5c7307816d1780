# SPDX-License-Identifier: BSD-3-Clause
"""Farms of tasks: what is said of those that wait for a task, and of those that wait for the last one."""

from __future__ import annotations

import json

import pytest
from harness import Sandbox, workload

PROGRAM = workload("task_farm.py")
N = 4


def largest_causes(mpi: Sandbox, run: str) -> dict[str, str]:
    """By the operation that waited: the function that has most of it."""
    waits = json.loads(mpi.answer("waits", "--json=1", run))["waits"]
    largest: dict[str, str] = {}
    for site in waits:
        if site["waited_ns"] >= 0.1e9 and site["causes"] and "task_farm" in (site["file"] or ""):
            largest.setdefault(site["name"], site["causes"][0]["name"])
    return largest


@pytest.mark.parametrize("farm, cause, operations", [
    ("slow_master", "prepares_next", ("recv",)),
    ("long_task_at_the_end", "takes_long", ("barrier", "recv")),
    ("too_few_tasks", "takes_long", ("barrier", "recv")),
])  # fmt: skip
def test_blocked_ranks_name_the_task_they_waited_for(mpi: Sandbox, farm: str, cause: str, operations: tuple[str, ...]):
    done = mpi.recorded_ranks(N, PROGRAM, farm)
    assert done.code == 0, done
    found = largest_causes(mpi, "task_farm.allranks")
    assert {name: found.get(name) for name in operations} == dict.fromkeys(operations, cause)


def polling_of(mpi: Sandbox, run: str) -> dict:
    (finding,) = (each for each in mpi.report(run).data["findings"] if each["rule"] == "polling")
    done = mpi.allranks(*finding["command"].split()[1:])
    assert (done.code, done.err) == (0, "") and f":{finding['line']}" in done.out, done
    assert "which rank they waited for is not recorded" in finding["text"]
    return finding


@pytest.mark.parametrize("tasks, work", [("long_task_at_the_end", "takes_long"), ("others", "thinks")])
@pytest.mark.parametrize("how", ["in_pool", "in_communicator"])
def test_workers_without_tasks_are_idle(one_mpi: Sandbox, how: str, tasks: str, work: str):
    module = ("-m", "mpi4py.futures") if how == "in_pool" else ()
    done = one_mpi.recorded_ranks(N, *module, PROGRAM, how, tasks, options=("-o", "farm.allranks"))
    assert done.code == 0, done
    finding = polling_of(one_mpi, "farm.allranks")
    assert "polled for tasks of mpi4py.futures" in finding["text"] and f" {work} (hot line " in finding["text"]
    assert 1 <= len(finding["ranks"]) <= N - 1 and 0 not in finding["ranks"]
    assert finding["won_ns"] >= 0.5e9


def test_a_master_that_polls_is_idle(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(N, PROGRAM, "polling_master")
    assert done.code == 0, done
    finding = polling_of(one_mpi, "task_farm.allranks")
    assert "polled for messages" in finding["text"] and " takes_long (hot line " in finding["text"]
    assert finding["ranks"] == [0] and finding["won_ns"] >= 0.5e9
