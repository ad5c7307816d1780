# SPDX-License-Identifier: BSD-3-Clause
"""`allranks merge` beside a slow reference: thousands of ranks with small random trees, each rank with some of the nodes.

The live files are written by other code than the one that is tested (live_writing.py). What each rank has at each call path is a
dict here, and merging is adding to it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from harness import Sandbox
from live_writing import PYTHON, LiveFile

FILE = "/home/ada/model.py"
# Prints what a run has: metric, call path, rank, value.
DUMP = """
import json, sys, allranks
run = allranks.load(sys.argv[1], as_="python")
paths, tree, threads = {0: ""}, run.tree, run.threads
for i in range(1, len(tree)):
    paths[i] = f"{paths[tree['parent'][i]]}/{tree['function'][i]}:{tree['line'][i]}"
found = []
for metric in ("calls", "time_s", "self_s"):
    values = run.values(metric)
    scale = 1 if metric == "calls" else 1e9
    for node, thread, value in zip(*(values[name] for name in values.columns)):
        if node and value:
            found.append((metric, paths[node], threads["rank"][thread], round(value * scale)))
print(json.dumps(found))
"""

Cells = dict[tuple[str, str, int], int]  # by metric, path and rank


class Program:
    """A tree that all ranks have some of; a node is a call of a function from a line of its parent."""

    def __init__(self, dice: random.Random, n_nodes: int) -> None:
        self.parents = [dice.randrange(i) if i else -1 for i in range(n_nodes)]
        self.functions = [dice.randrange(n_nodes) for _ in range(n_nodes)]
        self.lines = [1 + dice.randrange(3) for _ in range(n_nodes)]

    def path(self, node: int) -> str:
        parent = self.parents[node]
        line = self.lines[node] if parent >= 0 else 0
        return f"{self.path(parent) if parent >= 0 else ''}/f{self.functions[node]}:{line}"


def live_rank(program: Program, dice: random.Random, rank: int, size: int, cells: Cells) -> LiveFile:
    """A file of a rank, whose figures are added to the cells; two nodes may be the same call path."""
    live = LiveFile(rank, size, 10**9, n_pages=(3, 1, 1))
    alike = random.Random(rank % 3)  # ranks of a kind have the same nodes and calls
    functions: dict[int, int] = {}
    refs = {-1: live.root}
    for node, parent in enumerate(program.parents):
        if parent not in refs or alike.random() < 0.4:
            continue
        number = program.functions[node]
        if number not in functions:
            functions[number] = live.function(PYTHON, f"f{number}", FILE, 1)
        n_calls = 1 + alike.randrange(5)
        ns = dice.choice([0, 1, dice.randrange(1000), dice.randrange(10**9)])
        refs[node] = live.call(refs[parent], functions[number], program.lines[node], n_calls, ns)
        for metric, value in (("calls", n_calls), ("time_s", ns)):
            key = (metric, program.path(node), rank)
            cells[key] = cells.get(key, 0) + value
    return live


def with_selves(cells: Cells) -> Cells:
    """Self time is time without the children's, and never less than nothing."""
    selves = {("self_s", path, rank): value for (metric, path, rank), value in cells.items() if metric == "time_s"}
    for (metric, path, rank), value in cells.items():
        above = ("self_s", path.rpartition("/")[0], rank)
        if metric == "time_s" and above in selves:
            selves[above] -= value
    return {key: value for key, value in {**cells, **selves}.items() if value > 0}


def cells_of(python: Sandbox, run: Path) -> Cells:
    done = python.run([python.stack.python, "-c", DUMP, str(run)])
    assert done.code == 0, str(done)
    found: Cells = {}
    for metric, path, rank, value in json.loads(done.out):
        assert (metric, path, rank) not in found
        found[metric, path, rank] = value
    return found


def merge(python: Sandbox, target: Path, *sources: Path) -> Path:
    done = python.allranks("merge", *sources, "-o", target)
    assert done.code == 0, str(done)
    return target


@pytest.mark.parametrize(("n_ranks", "n_nodes"), [(1, 30), (9, 30), (2500, 8)])
def test_merge_is_adding(python: Sandbox, n_ranks: int, n_nodes: int):
    dice = random.Random(n_ranks)
    program = Program(dice, n_nodes)
    cells: Cells = {}
    halves = [python.cwd / "even", python.cwd / "odd"]
    for half in halves:
        half.mkdir()
    for rank in range(n_ranks):
        live_rank(program, dice, rank, n_ranks, cells).write(halves[rank % 2 if n_ranks > 1 else 0])
    halves = halves[: min(n_ranks, 2)]
    expected = with_selves(cells)

    at_once = merge(python, python.cwd / "once.allranks", *halves)
    assert cells_of(python, at_once) == expected
    runs = [merge(python, python.cwd / f"{half.name}.allranks", half) for half in halves]
    in_two_steps = merge(python, python.cwd / "twice.allranks", *reversed(runs))
    assert cells_of(python, in_two_steps) == expected
    # A run that has all of them already gains nothing by live files.
    again = merge(python, python.cwd / "again.allranks", at_once, *(half / "*.live" for half in halves))
    assert cells_of(python, again) == expected

    # Live files are read as plain values, a run by rows: the tree, the spreads and the imbalance are the same.
    if len(halves) == 1:
        everything = ("report", "--rows", "0", "--min", "0")
        shown = [python.allranks(*everything, path).out.splitlines()[1:] for path in (halves[0], at_once)]  # but for their names
        assert shown[0] == shown[1] and len(shown[0]) > 5
    report = json.loads(python.allranks("report", "--json=1", at_once).out)
    in_all = sum(value for (metric, _, _), value in cells.items() if metric == "calls")
    assert sum(node["calls"] for node in report["nodes"][1:]) == in_all
