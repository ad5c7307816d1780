# SPDX-License-Identifier: BSD-3-Clause
"""A call of an mpi4py method is one operation, at its line, with the MPI calls and the pickling that it makes below it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from harness import Sandbox, settled, times_unlike, workload
from readings import Node, Report

PICKLERS = {"dumps": "built-in method _pickle.dumps", "loads": "built-in method _pickle.loads"}


def what_was_noted(mpi: Sandbox) -> dict[tuple[str, int], Counter]:
    """By operation and line, summed over ranks."""
    sums: dict[tuple[str, int], Counter] = {}
    for rank in range(2):
        for note in mpi.read_json(f"noted-{rank}.json"):
            key = (note.pop("operation"), note.pop("line"))
            sums.setdefault(key, Counter()).update(note)
    return sums


def in_the_program(report: Report) -> list[Node]:
    """Nodes that lie below a function of the program, directly or in an operation."""
    callers = {"from_one_to_the_other", "all_together", "reductions", "however_it_is_called", "overridden"}
    return [node for node in report.nodes if callers.union({"OwnComm.Barrier", "Barrier"}) & {node.python_caller}]


def below(report: Report, operation: Node) -> list[Node]:
    return [node for node in report.nodes if node.parent == operation]


@pytest.mark.every_stack
def test_a_method_is_one_operation_at_its_line(mpi: Sandbox):
    assert not settled(lambda: unlike_the_notes(mpi))


def unlike_the_notes(mpi: Sandbox) -> dict[str, str]:
    """Counts are asserted, times are compared."""
    (mpi.cwd / "mpi4py_methods.allranks").unlink(missing_ok=True)
    done = mpi.recorded_ranks(2, workload("mpi4py_methods.py"))
    assert done.code == 0, done
    assert mpi.info("mpi4py_methods.allranks").lost == 0
    report = mpi.report("mpi4py_methods.allranks")
    noted = what_was_noted(mpi)
    nodes = in_the_program(report)
    operations = {(node.name, node["line"]): node for node in nodes if node.kind == "operation"}
    assert {key: node["calls"] for key, node in operations.items()} == {k: n["calls"] for k, n in noted.items()}
    for node in nodes:
        if node.kind == "mpi":
            assert node.parent.kind == "operation" and node["line"] == node.parent["line"], node.path
    return unlike_logged_times(report, operations, noted)


def unlike_logged_times(report: Report, operations: dict, noted: dict) -> dict[str, str]:
    wrong = {}
    for key, operation in operations.items():
        found, logged = {}, {}
        inside = {node.name: node for node in below(report, operation)}
        for what, name in PICKLERS.items():
            if noted[key][what]:
                assert inside[name]["calls"] == noted[key][what], operation.path
                found[f"{key} {what}"] = inside[name]["time_ns"]["sum"] / 1e9
                logged[f"{key} {what}"] = noted[key][f"{what}_s"]
        if key[0].split(".")[1][0].isupper():
            assert sum(node["calls"] for node in inside.values()) == operation["calls"], operation.path
        assert sum(node["time_ns"]["sum"] for node in inside.values()) <= operation["time_ns"]["sum"] + 1000
        wrong.update(times_unlike(found, logged, abs_s=0.005))
    return wrong


def seen_by_ranks(mpi: Sandbox) -> list[list[str]]:
    return [(mpi.cwd / f"seen-{rank}.txt").read_text().splitlines() for rank in range(2)]


@pytest.mark.parametrize("builtins", ["costly", "all"])
def test_nothing_is_different_for_the_program(mpi: Sandbox, builtins: str):
    plain = mpi.plain_ranks(2, workload("mpi4py_seen.py"))
    expected = seen_by_ranks(mpi)
    done = mpi.recorded_ranks(2, workload("mpi4py_seen.py"), options=("--builtins", builtins))
    assert (plain.code, done.code) == (0, 0), (plain, done)
    assert seen_by_ranks(mpi) == expected
    assert all(len(seen) > 40 for seen in expected)
    report = mpi.report("mpi4py_seen.allranks")
    assert mpi.info("mpi4py_seen.allranks").lost == 0
    as_functions_in_c = {n.name for n in report.nodes if n.kind == "builtin" and " of 'mpi4py.MPI." in n.name}
    assert as_functions_in_c <= {"method 'dumps' of 'mpi4py.MPI.Pickle' objects"}
    check_tree(report, mpi.read_json("lines.json"))


def check_tree(report: Report, lines: dict[str, int]) -> None:
    """Whatever happens in an operation, what it did is below it, and what comes after it is not."""

    def children(name: str, mark: str) -> Counter:
        here = [n for n in report.named(name) if n["line"] == lines[mark] and n.kind == "operation"]
        (node,) = [n for n in here if n["calls"]]  # in the child of a fork it is open, but was not called
        found = Counter()
        for child in below(report, node):
            if child.kind == "builtin" and child.name not in PICKLERS.values():
                continue  # mpi4py calls functions in C of others, for its locks
            found[child.name.rpartition(".")[2]] += child["calls"]
        return found

    assert children("Comm.allreduce", "nested")["talks"] == 1
    (talks,) = report.named("talks")
    operations = {(n.name, n["calls"]) for n in below(report, talks) if n.kind == "operation"}
    assert operations == {("Comm.Allreduce", 1), ("Comm.bcast", 1)}
    raises = children("Comm.allreduce", "raises")  # its own duplicate is made first; nothing is sent
    # One that is made for all versions of Python runs some of it for each of its lines in a traceback.
    assert {name: n for name, n in raises.items() if not name.startswith(("MPI_Comm_", "<module>"))} == {"dumps": 2}
    (fails,) = report.named("fails")
    assert fails["calls"] == 2 and PICKLERS["dumps"] in [above.name for above in fails.ancestors]
    assert children("Comm.allreduce", "forks")["forks"] == 1
    assert children("Comm.Barrier", "after all") == Counter({"MPI_Barrier": 2})
    assert children("Comm.send", "own pickle")["own_dumps"] == 2
    assert [n.python_caller for n in report.named("Comm.Barrier") if n["line"] == lines["after all"]] == ["main"]
    threads = [n for n in report.named("Comm.allgather") if n["line"] == lines["thread"]]
    assert [n["calls"] for n in threads] == [2 * 20] * 3
    assert len({n.path[0] for n in threads}) == 3
    assert not [n for n in report.named("Comm.Allreduce") if n["line"] == lines["while paused"]]
    assert children("Comm.allreduce", "resumes")["pauses"] == 1


@pytest.mark.every_stack
def test_pickling_by_functions_of_the_program_is_pickling(mpi: Sandbox):
    assert not settled(lambda: pickling_unlike(mpi))


def pickling_unlike(mpi: Sandbox) -> dict[str, str]:
    """`to_bytes` and `of_bytes` are named as no pickler is; the time of `joined`, the operation, is none."""
    (mpi.cwd / "own_pickle.allranks").unlink(missing_ok=True)
    done = mpi.recorded_ranks(2, workload("own_pickle.py"))
    assert done.code == 0, done
    logged: Counter = Counter()
    for rank in range(2):
        for caller, times in mpi.read_json(f"pickled-{rank}.json").items():
            logged.update({f"{caller} {what}": seconds for what, seconds in times.items()})
    found: Counter = Counter({key: 0.0 for key in logged})
    for row in json.loads(mpi.answer("mpi", "--json=1", "own_pickle.allranks"))["paths"]:
        for what in ("pickling", "unpickling"):
            if f"{row['caller']} {what}" in found:
                found[f"{row['caller']} {what}"] += row[f"{what}_ns"] / 1e9
    assert logged["messages pickling"] > 0.05 and logged["reductions unpickling"] > 0.05
    return times_unlike(dict(found), dict(logged), abs_s=0.005)
