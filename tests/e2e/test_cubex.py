# SPDX-License-Identifier: BSD-3-Clause
"""CUBE files, read by pycubexr: every number in them is the one that allranks.load has, at the same call path and thread."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tarfile
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import allranks
import pytest
from harness import ROOT, Done, Sandbox, clean_environment, workload
from pycubexr import CubexParser
from test_counters import reason_against

GOLDEN = ROOT / "tests" / "golden"
COMMAND = Path(sys.executable).with_name("allranks")
NO_VALUE = sys.float_info.max  # of a least value; of a largest it is less than nothing

# Score-P's names of what allranks.load has, and in which direction no value lies.
NAMES = {
    "visits": "calls", "time": "time_s", "min_time": "min_time_s", "max_time": "max_time_s", "bytes_sent": "bytes_out",
    "bytes_received": "bytes_in", "awaited": "awaited_s",
}  # fmt: skip
NOT_WRITTEN = {"marks", "variance_us2", "primitive_calls", "self_s"}
EMPTY = {"MINDOUBLE": NO_VALUE, "MAXDOUBLE": -NO_VALUE}


class Cube:
    """A file as pycubexr has it, and what it leaves out as it stands in anchor.xml."""

    def __init__(self, path: Path) -> None:
        with tarfile.open(path) as archive:
            self.members = archive.getnames()
            anchor = archive.extractfile("anchor.xml")
            assert anchor
            self.anchor = ElementTree.parse(anchor).getroot()
        with CubexParser(path) as parser:
            self.metrics = {metric.name: metric for metric in parser.all_metrics()}
            self.cnodes = sorted(parser.all_cnodes(), key=lambda cnode: cnode.id)
            self.locations = parser.get_locations()
            self.values = {name: parser.get_metric_values(metric, allow_full_uint64_values=True) for name, metric in self.metrics.items()}
        self.groups = self.anchor.findall(".//locationgroup")

    def row(self, name: str, cnode: Any, **how: bool) -> list[Any]:
        if cnode.id not in self.values[name].cnode_indices and not how:
            return [EMPTY.get(self.metrics[name].data_type, 0)] * len(self.locations)
        found = self.values[name].cnode_values(cnode, **how)
        return list(getattr(found, "_values", found).tolist())

    def calls_from(self) -> list[tuple[int, str]]:
        """Line and file of each call path, in the order of their numbers."""
        found = [(int(each.get("line", 0)), each.get("mod", "")) for each in self.anchor.iter("cnode")]
        assert [int(each.get("id", -1)) for each in self.anchor.iter("cnode")] == list(range(len(found)))
        return found

    def attributes(self) -> dict[str, str]:
        return {each.get("key", ""): each.get("value", "") for each in self.anchor.findall("attr")}

    def columns(self, run: allranks.Run) -> dict[int, int]:
        """Threads of a run by row, and where their values are."""
        found: dict[int, int] = {}
        rows = {process: {t.thread: t.id for t in run.threads if t.process == process} for process in range(len(run.processes))}
        for group in self.groups:
            process = process_of(run, group.findtext("name", ""))
            for location in group.findall("location"):
                found[rows[process].pop(int(location.findtext("rank", "")))] = int(location.get("Id", ""))
        assert not any(rows.values()), rows
        return found

    def by_name(self, metric: str, rank: int | None = None) -> dict[str, int]:
        """Sums over call paths and threads, by the name of the region."""
        columns = [int(each.get("Id", "")) for group in self.groups if rank is None or int(group.findtext("rank", "")) == rank
                   for each in group.findall("location")]  # fmt: skip
        found: dict[str, int] = defaultdict(int)
        for cnode in self.cnodes:
            row = self.row(metric, cnode)
            found[cnode.region.name] += sum(row[column] for column in columns)
        return found


def process_of(run: allranks.Run, name: str) -> int:
    pid = re.fullmatch(r".*\(pid (\d+)\)", name, re.DOTALL)
    if pid:
        (process,) = (each.id for each in run.processes if each.pid == int(pid[1]))
    elif rank := re.fullmatch(r"MPI Rank (\d+)", name):
        (process,) = (each.id for each in run.ranks if each.rank == int(rank[1]))
    else:
        assert name == "Process"
        process = 0
    return int(process)


# ---- the same numbers ----


def values_of(run: allranks.Run) -> dict[str, dict[tuple[int, int], Any]]:
    """By metric, then row of the tree and row of threads; only metrics that have some."""
    found = {}
    for metric in run.metrics:
        table = run.values(metric)
        if metric not in NOT_WRITTEN and len(table):
            found[metric] = {(node, thread): value for node, thread, value in zip(table["node"], table["thread"], table[metric])}
    return found


def deep_order(run: allranks.Run, values: dict[str, dict[tuple[int, int], Any]]) -> list[int]:
    """Rows of the tree that have values, or have them below: callers first, then what each of them calls."""
    parents = list(run.tree["parent"])
    wanted = {node for metric in values.values() for node, _ in metric}
    for node in range(len(parents) - 1, 0, -1):
        if node in wanted:
            wanted.add(parents[node])
    children: dict[int, list[int]] = defaultdict(list)
    for node in range(1, len(parents)):
        if node in wanted:
            children[parents[node]].append(node)
    order, left = [], [0]
    while left:
        order.append(left.pop())
        left += reversed(children[order[-1]])
    return order


def filled(run: allranks.Run, values: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    """With the sum of what is below in place of what was not measured."""
    parents = list(run.tree["parent"])
    found = dict(values)
    for thread in range(len(run.threads)):
        below: dict[int, Any] = defaultdict(int)
        for node in range(len(parents) - 1, -1, -1):
            value = values.get((node, thread), below[node])
            if value:
                found[node, thread] = value
                below[parents[node]] += value
    return found


def assert_same_call_paths(cube: Cube, run: allranks.Run, order: list[int]) -> None:
    tree = [run.tree[node] for node in order]
    assert len(cube.cnodes) == len(order)
    number = {node: i for i, node in enumerate(order)}
    for i, (cnode, row, call) in enumerate(zip(cube.cnodes, tree, cube.calls_from())):
        region = cnode.region
        assert (cnode.parent.id if cnode.parent else -1) == (number[row.parent] if i else -1)
        if i == 0:
            continue
        assert plain(region.description) == plain(row.function), i
        assert region.begin == (row.function_line or -1)
        if row.kind == "mpi":
            assert (region.mod, region.paradigm) == ("MPI", "mpi")
        else:
            assert plain(region.mod) == plain(row.function_file)
        assert call[0] == row.line, (i, call, row)
        assert not call[0] or plain(call[1]) == plain(row.file)


def plain(text: str) -> str:
    """What cannot be written, or shown, is replaced by something on either side."""
    return re.sub(r"[^ -~]", "?", text)


def assert_same_values(cube: Cube, run: allranks.Run, order: list[int], values: dict[str, dict[tuple[int, int], Any]]) -> None:
    columns = cube.columns(run)
    names = {ours: theirs for theirs, ours in NAMES.items()}
    written = {"calls", "time_s", *values}
    assert set(cube.metrics) == {names.get(metric, metric.removesuffix("_s")) for metric in written}
    for metric in sorted(written):
        name = names.get(metric, metric.removesuffix("_s"))
        of_metric = values.get(metric, {})
        is_inclusive = cube.metrics[name].metric_type == "INCLUSIVE"
        expected = filled(run, of_metric) if is_inclusive else of_metric
        empty = EMPTY.get(cube.metrics[name].data_type, 0)
        for i, node in enumerate(order):
            row = cube.row(name, cube.cnodes[i])
            for thread, column in columns.items():
                is_pause = name == "visits" and run.tree[node].function == "(paused)"
                wanted = 0 if is_pause else expected.get((node, thread), empty)
                # A sum of what is below is made of whole nanoseconds there, and here of seconds.
                assert row[column] == wanted or (is_inclusive and math.isclose(row[column], wanted, rel_tol=1e-12) and (node, thread) not in of_metric), (
                    name, run.tree[node], thread, row[column], wanted)  # fmt: skip


def assert_same(path: Path, target: Path) -> Cube:
    """Every call path and every number of a run file, and of the CUBE file made of it."""
    cube, run = Cube(target), allranks.load(str(path), as_="python")
    values = values_of(run)
    order = deep_order(run, values)
    assert_same_call_paths(cube, run, order)
    assert_same_values(cube, run, order, values)
    ranks = [int(group.findtext("rank", "")) for group in cube.groups]
    assert len(set(ranks)) == len(ranks)
    assert [each.id for each in cube.locations] == list(range(len(cube.locations)))
    attributes = cube.attributes()
    assert attributes["Creator"] == f"allranks {run.facts['allranks']}" if "allranks" in run.facts else "Creator" in attributes
    return cube


def export(sandbox: Sandbox, *options: str, run: str = "run.allranks") -> Path:
    target = sandbox.cwd / "run.cubex"
    sandbox.answer("export", run, "-f", "cubex", "-q", "-o", target, *options)
    return target


def exported(sandbox: Sandbox) -> Cube:
    return assert_same(sandbox.cwd / "run.allranks", export(sandbox))


def record(sandbox: Sandbox, program: str, *words: str, options: tuple[str, ...] = (), **how: Any) -> Done:
    done = sandbox.recorded(program, *words, options=("-q", "-o", "run.allranks", *options), **how)
    assert (done.code, done.err) == (0, ""), done
    return done


def write(sandbox: Sandbox, text: str) -> str:
    (sandbox.cwd / "program.py").write_text(textwrap.dedent(text))
    return "program.py"


# ---- programs whose figures are arithmetic ----

COUNTS = """\
    import threading

    class Grid:
        def relax(self, n):
            for _ in range(n):
                leaf()

    def leaf():
        pass

    def fall(n):
        leaf()
        if n:
            fall(n - 1)

    def in_thread(n):
        Grid().relax(n)

    Grid().relax(100)
    fall(9)
    threads = [threading.Thread(target=in_thread, args=(10 * i,), name=f"worker {i}") for i in (1, 2)]
    for thread in threads:
        thread.start()
        thread.join()
"""


def test_counts(any_python: Sandbox):
    record(any_python, write(any_python, COUNTS))
    cube = exported(any_python)
    visits = cube.by_name("visits")
    knows_classes = any_python.stack.python_version not in ("3.9", "3.10")
    expected = {":<module>": 1, ".Grid:relax" if knows_classes else ":relax": 3, ":leaf": 140, ":fall": 10, ":in_thread": 2}
    assert {name: visits[f"__main__{name}"] for name in expected} == expected
    [group] = cube.groups
    assert [each.findtext("name") for each in group.findall("location")] == ["MainThread", "worker 1", "worker 2"]
    relaxed = [cnode for cnode in cube.cnodes if cnode.region.name.endswith(":relax")]
    assert sorted(sum(cube.row("visits", child)[column] for cnode in relaxed for child in cnode.get_children() if child.region.name == "__main__:leaf")
                  for column in range(3)) == [10, 20, 100]  # fmt: skip
    region = next(cnode.region for cnode in cube.cnodes if cnode.region.name.endswith(":relax"))
    assert (region.begin, region.mod, region.paradigm, region.role) == (4, str(any_python.cwd / "program.py"), "user", "function")
    root = cube.cnodes[0]
    assert (root.region.name, root.region.mangled_name, root.region.role) == ("program.py", "program.py", "artificial")
    lines = {line for cnode, (line, _) in zip(cube.cnodes, cube.calls_from()) if cnode.region.name == "__main__:leaf"}
    assert lines == {6, 12}


def test_threads_are_below_the_root(python: Sandbox):
    """Whose part of its own is nothing on their columns, and what was not in any function on that of the main thread."""
    record(python, write(python, COUNTS))
    cube = exported(python)
    root = cube.cnodes[0]
    own = cube.row("time", root, convert_to_exclusive=True)
    whole = cube.row("time", root)
    assert [round(each * 1e9) for each in own[1:]] == [0, 0]
    assert 0 < own[0] < whole[0]
    threads = [cnode for cnode in root.get_children() if cnode.region.name.startswith("thread:")]
    assert [cnode.region.name for cnode in threads] == ["thread:worker 1", "thread:worker 2"]
    assert [cube.row("time", cnode)[i] for i, cnode in enumerate(threads, 1)] == whole[1:]


def is_outermost(cnode: Any) -> bool:
    above = cnode.parent
    while above and above.region.id != cnode.region.id:
        above = above.parent
    return above is None


RANKS = """\
    import sys
    import time
    from mpi4py import MPI

    world = MPI.COMM_WORLD

    def work(n):
        for _ in range(n):
            step()

    def step():
        time.sleep(0.0005)

    def exchange():
        data = bytearray(1000 * (world.rank + 1))
        room = bytearray(1000 * world.size)
        world.Sendrecv(data, (world.rank + 1) % world.size, 0, room, (world.rank - 1) % world.size, 0)

    work(5 * (world.rank + 1))
    for _ in range(3):
        exchange()
    world.Barrier()
"""


@pytest.mark.parametrize("n", [2, 4])
def test_ranks(mpi: Sandbox, n: int):
    done = mpi.recorded_ranks(n, write(mpi, RANKS), options=("-q", "-o", "run.allranks"))
    assert done.code == 0, done
    cube = exported(mpi)
    assert [group.findtext("name") for group in cube.groups] == [f"MPI Rank {rank}" for rank in range(n)]
    for rank in range(n):
        visits, sent, received = (cube.by_name(metric, rank) for metric in ("visits", "bytes_sent", "bytes_received"))
        assert visits["__main__:step"] == 5 * (rank + 1)
        assert (visits["MPI_Sendrecv"], visits["MPI_Barrier"]) == (3, 1)
        assert sent["MPI_Sendrecv"] == 3000 * (rank + 1)
        assert received["MPI_Sendrecv"] == 3000 * ((rank - 1) % n + 1)
    roles = {cnode.region.name: cnode.region.role for cnode in cube.cnodes if cnode.region.paradigm == "mpi"}
    assert (roles["MPI_Sendrecv"], roles["MPI_Barrier"]) == ("point2point", "barrier")
    assert_functions_are_the_reports(mpi, cube)
    assert_functions_are_those_of_ranks(mpi, cube, n)


def assert_functions_are_the_reports(sandbox: Sandbox, cube: Cube) -> None:
    answer = json.loads(sandbox.answer("report", "--json", "--rows", "0", "run.allranks"))
    shown = {(row["name"], row["file"] or "", row["line"]): row for row in answer["functions"] if row["kind"] == "python" and row["name"] in ("work", "step", "exchange")}
    assert len(shown) == 3
    columns = list(range(len(cube.locations)))
    for (name, file, line), row in shown.items():
        cnodes = [cnode for cnode in cube.cnodes if (cnode.region.description, cnode.region.mod, cnode.region.begin) == (name, file, line)]
        assert sum(sum(cube.row("visits", cnode)) for cnode in cnodes) == row["calls"]
        time_ns = sum(round(1e9 * cube.row("time", cnode)[column]) for cnode in cnodes if is_outermost(cnode) for column in columns)
        assert time_ns == row["time_ns"]["sum"]


def assert_functions_are_those_of_ranks(sandbox: Sandbox, cube: Cube, n: int) -> None:
    for name in ("work", "step", "exchange", "MPI_Sendrecv", "MPI_Barrier"):
        answer = json.loads(sandbox.answer("ranks", "run.allranks", name, "--json"))
        rows = {row["rank"]: row for row in answer["function_ranks"]}
        cnodes = [cnode for cnode in cube.cnodes if cnode.region.name in (name, f"__main__:{name}")]
        assert sorted(rows) == list(range(n))
        for rank, row in rows.items():
            assert sum(cube.row("visits", cnode)[rank] for cnode in cnodes) == row["calls"]
            assert sum(round(1e9 * cube.row("time", cnode)[rank]) for cnode in cnodes if is_outermost(cnode)) == row["time_ns"]["sum"]
            own = sum(round(1e9 * max(0.0, cube.row("time", cnode, convert_to_exclusive=True)[rank])) for cnode in cnodes)
            assert own == row["self_ns"]["sum"]


def test_chosen_ranks(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(4, write(one_mpi, RANKS), options=("-q", "-o", "run.allranks"))
    assert done.code == 0, done
    whole = exported(one_mpi)
    some = Cube(export(one_mpi, "--ranks", "1,3"))
    assert [group.findtext("name") for group in some.groups] == ["MPI Rank 1", "MPI Rank 3"]
    assert [group.findtext("rank") for group in some.groups] == ["1", "3"]
    assert len(some.locations) == 2
    for metric in whole.metrics:
        for rank in (1, 3):
            expected = {name: value for name, value in whole.by_name(metric, rank).items() if value and abs(value) < 1e300}
            found = {name: value for name, value in some.by_name(metric, rank).items() if value and abs(value) < 1e300}
            assert found == expected, (metric, rank)
    only = Cube(export(one_mpi, "--include", "step"))
    names = {cnode.region.name for cnode in only.cnodes if cnode.region.mod == str(one_mpi.cwd / "program.py")}
    assert names == {"__main__:step"}
    assert {name for name in only.by_name("visits") if name.startswith("MPI_")} >= {"MPI_Sendrecv", "MPI_Barrier"}
    refused = one_mpi.allranks("export", "run.allranks", "-f", "cubex", "--rank", "1")
    assert (refused.code, refused.err) == (2, "allranks: error: --rank: cubex is of all ranks that are selected (try: --ranks 1)\n"), refused


# ---- other programs ----


@pytest.mark.parametrize("way", ["fork", "fork_twice", "fork_in_thread"])
def test_children(python: Sandbox, way: str):
    done = python.recorded(workload("family.py"), way, "log", options=("-q", "-o", "run.allranks"))
    assert done.code == 0, done
    cube = exported(python)
    logged = {int(pid): int(calls) for pid, _, calls in map(str.split, (python.cwd / "log").read_text().splitlines())}
    assert len(logged) >= 1
    by_pid = {int(re.findall(r"\(pid (\d+)\)$", group.findtext("name", ""))[0]): group for group in cube.groups}
    assert [int(group.findtext("rank", "")) for group in cube.groups] == list(range(len(cube.groups)))
    for pid, n in logged.items():
        assert cube.by_name("visits", int(by_pid[pid].findtext("rank", "")))["__main__:tick"] == n
    root = cube.cnodes[0]
    assert all(each > 0 for each in cube.row("time", root))


@pytest.mark.skipif(reason_against() != "", reason=f"page-faults: {reason_against()}")
def test_page_faults(python: Sandbox):
    record(python, workload("counted.py"), options=("--counters", "page-faults,context-switches"))
    cube = exported(python)
    metric = cube.metrics["page-faults"]
    assert (metric.metric_type, metric.data_type, metric.units) == ("INCLUSIVE", "INT64", "#")
    faults = cube.by_name("page-faults")
    assert 1000 <= faults["user:first"] <= 1012 and 250 <= faults["user:second"] <= 262
    main = next(cnode for cnode in cube.cnodes if cnode.region.name == "__main__:main")
    below = [cube.row("page-faults", child)[0] for child in main.get_children()]
    assert cube.row("page-faults", main)[0] == sum(below) >= 1250


def test_counters_to_the_digit(python: Sandbox, papi: str):
    """Regions inside each other, in a thread and in a forked child: the sum is at the root, and no part of it twice."""
    record(python, workload("worked.py"), options=("--counters", "PAPI_TOT_INS,stand_in:::ENERGY"), env={"ALLRANKS_PAPI": papi})
    cube = exported(python)
    for metric, per_unit in {"PAPI_TOT_INS": 10, "stand_in:::ENERGY": 100}.items():
        assert sum(cube.row(metric, cube.cnodes[0])) == per_unit * (5 + 7 + 11 + 13)
        own: dict[str, int] = defaultdict(int)
        for cnode in cube.cnodes:
            own[cnode.region.name] += sum(cube.row(metric, cnode, convert_to_exclusive=True))
        assert {name: value for name, value in own.items() if value} == {
            "user:first": per_unit * 5, "user:second": per_unit * 7, "user:in a thread": per_unit * 11, "user:in the child": per_unit * 13}  # fmt: skip


def test_strange_names(any_python: Sandbox):
    done = any_python.recorded(workload("strange_names.py"), options=("-q", "-o", "run.allranks"))
    assert done.code == 0, done
    cube = exported(any_python)
    names = {cnode.region.description for cnode in cube.cnodes}
    assert {"with \"quotes\" and 'others'", "<angle>", "caf\u00e9", "\u51fd\u6570", "\U0001f600", "line?end", "tab?and?control"} <= names


def test_regions_and_tasks(python: Sandbox):
    record(python, workload("regions_and_tasks.py"))
    cube = exported(python)
    kinds = {(cnode.region.paradigm, cnode.region.role) for cnode in cube.cnodes}
    assert {("user", "code"), ("user", "task"), ("user", "function")} <= kinds
    assert "awaited" in cube.metrics


# ---- runs that are there ----


def command(*words: str | Path, status: int = 0) -> str:
    done = subprocess.run([COMMAND, *words], env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == status, done
    return done.stderr


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("run-*.allranks")), ids=lambda path: path.stem)
def test_runs_of_earlier_versions(path: Path, tmp_path: Path):
    target = tmp_path / "run.cubex"
    command("export", path, "-q", "-o", target)
    assert_same(path, target)


def test_metrics_that_only_a_file_describes(tmp_path: Path):
    with tarfile.open(GOLDEN / "live-8-made-up.tar.xz") as archive:
        archive.extractall(tmp_path / "live")
    run, target = tmp_path / "run.allranks", tmp_path / "run.cubex"
    command("recover", tmp_path / "live", "-o", run)
    command("export", run, "-q", "-o", target)
    cube = assert_same(run, target)
    report = subprocess.run([COMMAND, "report", "--json", run], capture_output=True, check=True)
    found = {name: (metric.metric_type, metric.data_type) for name, metric in cube.metrics.items() if name.startswith("made_up")}
    assert found == {
        "made_up.cycles": ("INCLUSIVE", "INT64"), "made_up.samples": ("EXCLUSIVE", "UINT64"), "made_up.deepest": ("EXCLUSIVE", "MAXDOUBLE")}  # fmt: skip
    samples = sum(row["value"] for row in json.loads(report.stdout)["tree_metrics"] if row["metric"] == "made_up.samples")
    assert samples == sum(sum(cube.row("made_up.samples", cnode)) for cnode in cube.cnodes) > 0


def test_other_commands_write_it(python: Sandbox):
    record(python, write(python, COUNTS))
    first = export(python).read_bytes()
    assert export(python).read_bytes() == first
    assert python.answer("export", "run.allranks", "-f", "cubex", "-q", "-o", "-") == first
    default = python.allranks("export", "run.allranks", "-f", "cubex")
    assert default.code == 0 and re.fullmatch(r"allranks: wrote run\.cubex(: times of [^\n]+ are estimated from some of the calls)?\n", default.err), default
    merged = python.allranks("merge", "run.allranks", "-o", "merged.cubex")
    assert merged.code == 0, merged
    assert (python.cwd / "merged.cubex").read_bytes() == first
    assert Cube(python.cwd / "run.cubex").members[0] == "anchor.xml"


def test_files_of_cprofile_are_refused(python: Sandbox):
    done = python.plain(workload("cprofile_ranks.py"), "cpu_0.prof", "2")
    assert done.code == 0, done
    refused = python.allranks("export", "cpu_0.prof", "-f", "cubex", "-o", "x.cubex")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "allranks: error: cpu_0.prof: cProfile keeps no call paths, and a CUBE file needs them (try: -f pstats)\n"
    assert not (python.cwd / "x.cubex").exists()
