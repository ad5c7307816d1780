# SPDX-License-Identifier: BSD-3-Clause
"""allranks.load: the same figures as the report, the pstats export and a slow reference, in every form, on every Python."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, Sandbox, settled, workload
from live_writing import write_ring

COUNTS_THREADS = workload("counts_threads.py")
ENVIRONMENTS = {"plain": (), "numpy": ("numpy",), "pandas": ("numpy", "pandas")}
PIP_LIMIT_S = 600

Columns = dict[str, list[Any]]


# ---- with and without NumPy and pandas ----


@pytest.fixture(scope="session")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple, Path | str]:
    """Directories of installed packages by interpreter and packages; a text says why there is none."""
    return {}


def install(python: Sandbox, packages: tuple[str, ...], target: Path) -> Path | str:
    options = ("-q", "--disable-pip-version-check", "--only-binary", ":all:", "--target", str(target))
    wanted = [word for name in packages for word in ("-r", str(ROOT / f"tools/requirements-{name}.txt"))]
    argv = [python.stack.python, "-m", "pip", "install", *options, *wanted]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PIP_LIMIT_S)
    return target if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


@pytest.fixture
def environment(targets: dict, tmp_path_factory: pytest.TempPathFactory):
    """environment(python, name): variables and flags with which that Python has these packages, allranks and no others."""

    def make(python: Sandbox, name: str) -> dict[str, Any]:
        packages = ENVIRONMENTS[name]
        key = (python.stack.python, packages)
        if key not in targets:
            target = tmp_path_factory.mktemp("packages")
            (target / "allranks").symlink_to(package_of(python))
            targets[key] = install(python, packages, target) if packages else target
        if isinstance(targets[key], str):
            pytest.skip(f"no {' and '.join(packages)} for Python {python.stack.python_version}: {targets[key]}")
        return {"env": {"PYTHONPATH": str(targets[key])}, "flags": ("-S",)}

    return make


def package_of(python: Sandbox) -> str:
    done = python.plain("-c", "import allranks; print(allranks.__path__[0])")
    assert done.code == 0, done
    return done.out.strip()


def dump(sandbox: Sandbox, path: str | Path, *words: str, **how) -> dict[str, Any]:
    done = sandbox.plain(workload("dump_run.py"), str(path), *words, **how)
    assert (done.code, done.err) == (0, ""), done
    return json.loads(done.out)


def said(sandbox: Sandbox, code: str, **how) -> str:
    """What a program that has loaded run.allranks as `run` prints."""
    program = f"import allranks\nrun = allranks.load('run.allranks', as_='python')\n{code}"
    done = sandbox.plain("-c", program, **how)
    assert (done.code, done.err) == (0, ""), done
    return done.out.rstrip("\n")


@pytest.fixture
def threads_run(python: Sandbox) -> Sandbox:
    """run.allranks of one process with hundreds of threads, and deep recursion in another."""
    done = python.recorded(COUNTS_THREADS, "noted.json", options=("-o", "run.allranks"))
    assert done.code == 0, done
    return python


@pytest.fixture
def recursive_run(python: Sandbox) -> Sandbox:
    done = python.recorded(workload("counts_recursion.py"), "noted.json", options=("-o", "run.allranks"))
    assert done.code == 0, done
    return python


@pytest.fixture
def ranks_run(mpi: Sandbox) -> Sandbox:
    done = mpi.recorded_ranks(3, workload("mpi_operations.py"), options=("-o", "run.allranks"))
    assert done.code == 0, done
    return mpi


def rows(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


# ---- a slow and obvious reference ----


Matrix = dict[int, dict[int, int]]  # node -> thread -> value


class Reference:
    """Everything worked out anew from the tree and the values."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.tree = rows(run["tables"]["tree"])
        self.process_of = run["tables"]["threads"]["process"]
        self.rank_of = run["tables"]["ranks"]["rank"]
        self.calls = matrix(run["values"]["calls"])
        self.time = matrix(run["values"]["time_s"])
        self.children = defaultdict(list)
        self.nodes_of = defaultdict(list)
        for node in self.tree:
            self.children[node["parent"]].append(node["id"])
            self.nodes_of[node["function_id"]].append(node)
        self.self_time = {
            node: {thread: self.self_of(node, thread) for thread in times} for node, times in self.time.items()
        }

    def self_of(self, node: int, thread: int) -> int:
        inside = sum(self.time.get(child, {}).get(thread, 0) for child in self.children[node])
        return max(0, self.time[node][thread] - inside)

    def is_outermost(self, node: dict[str, Any]) -> bool:
        function, above = node["function_id"], node["parent"]
        while above >= 0:
            if self.tree[above]["function_id"] == function:
                return False
            above = self.tree[above]["parent"]
        return True

    def by_rank(self, values: Matrix, nodes: list[int]) -> list[int]:
        sums = [0] * len(self.rank_of)
        for node in nodes:
            for thread, value in values.get(node, {}).items():
                sums[self.process_of[thread]] += value
        return sums

    def spread(self, stem: str, sums: list[int]) -> dict[str, Any]:
        least, most = min(sums), max(sums)
        return {
            f"{stem}_s": sum(sums),
            f"{stem}_mean_s": pytest.approx(sum(sums) / len(sums), abs=0.6),
            f"{stem}_min_s": least,
            f"{stem}_min_rank": self.rank_of[sums.index(least)],
            f"{stem}_max_s": most,
            f"{stem}_max_rank": self.rank_of[sums.index(most)],
        }


def matrix(values: Columns) -> Matrix:
    """Times in nanoseconds, which are whole numbers."""
    result: Matrix = defaultdict(dict)
    name = list(values)[-1]
    for node, thread, value in zip(values["node"], values["thread"], values[name]):
        assert thread not in result[node]
        result[node][thread] = ns(value) if name.endswith("_s") else value
    return result


def in_ns(row: dict[str, Any], names) -> dict[str, int]:
    return {name: ns(row[name]) if name.endswith("_s") else row[name] for name in names}


def check_against_reference(run: dict[str, Any]) -> None:
    reference = Reference(run)
    for node in reference.tree:
        for stem, values in (("time", reference.time), ("self", reference.self_time)):
            expected = reference.spread(stem, reference.by_rank(values, [node["id"]]))
            assert in_ns(node, expected) == expected, node
        assert node["calls"] == sum(reference.by_rank(reference.calls, [node["id"]]))
    assert matrix(run["values"]["self_s"]) == reference.self_time
    for function in rows(run["tables"]["functions"]):
        check_function(run, reference, function)


def check_function(run: dict[str, Any], reference: Reference, function: dict[str, Any]) -> None:
    nodes = reference.nodes_of[function["id"]]
    everywhere = [node["id"] for node in nodes]
    outermost = [node["id"] for node in nodes if reference.is_outermost(node)]
    calls = reference.by_rank(reference.calls, everywhere)
    time = reference.by_rank(reference.time, outermost)
    self_time = reference.by_rank(reference.self_time, everywhere)
    expected = {**reference.spread("time", time), **reference.spread("self", self_time)}
    assert in_ns(function, expected) == expected, function
    assert (function["calls"], function["paths"]) == (sum(calls), len(nodes))
    assert function["ranks"] == sum(n > 0 for n in calls)
    for traffic in ("bytes_out", "bytes_in"):
        assert function[traffic] == sum(node[traffic] for node in nodes)
    across = run["across_ranks"][str(function["id"])]
    assert across["calls"] == calls
    assert list(map(ns, across["time_s"])) == time
    assert list(map(ns, across["self_s"])) == self_time
    assert (across["rank"], across["host"]) == (reference.rank_of, run["tables"]["ranks"]["host"])


def check_that_self_adds_up(run: dict[str, Any]) -> None:
    """Thread by thread; rounding to whole nanoseconds may add one a node."""
    reference = Reference(run)
    sums, paths = Counter(), Counter()
    for values in reference.self_time.values():
        sums.update(values)
        paths.update(dict.fromkeys(values, 1))
    totals = list(map(ns, run["tables"]["threads"]["time_s"]))
    assert len(totals) == len(sums) and all(totals)
    for thread, total in enumerate(totals):
        assert 0 <= sums[thread] - total <= paths[thread]


def test_sums_and_spreads_are_those_of_a_slow_reference(recursive_run: Sandbox):
    check_against_reference(dump(recursive_run, "run.allranks", "python"))


def test_sums_and_spreads_of_several_ranks_are_those_of_a_slow_reference(ranks_run: Sandbox):
    run = dump(ranks_run, "run.allranks", "python")
    assert run["tables"]["ranks"]["rank"] == [0, 1, 2]
    check_against_reference(run)
    check_that_self_adds_up(run)


def test_the_self_times_of_a_thread_add_up_to_its_time(threads_run: Sandbox):
    run = dump(threads_run, "run.allranks", "python")
    assert len(run["tables"]["threads"]["id"]) > 300
    check_that_self_adds_up(run)


def test_a_folded_run_adds_up_and_is_what_the_report_shows(threads_run: Sandbox):
    run = dump(threads_run, "run.allranks", "python", "fold")
    check_against_reference(run)
    check_that_self_adds_up(run)
    report = threads_run.answer("report", "--rows", "0", "--min", "0", "run.allranks").decode()
    table = report.partition("Where the time goes")[2].split("\n\n")[0].strip("\n").splitlines()[1:]
    table = [line for line in table if not re.match(r" (\d.* their callers'|~ estimated|> |\* hot path)", line)]  # remarks below it
    assert len(run["tables"]["tree"]["id"]) == 1 + len(table)
    assert run["tables"]["functions"]["kind"].count("import") == 1
    assert not any(file.startswith("<frozen importlib") for file in run["tables"]["functions"]["file"])


# ---- the command line says the same ----


def check_against_json(sandbox: Sandbox, run: dict[str, Any], path: str | Path) -> None:
    report, info = sandbox.report(path).data, sandbox.info(path).data
    assert run["facts"] == report["facts"]
    assert ns(run["wall_s"]) == pytest.approx(report["wall_ns"], abs=1)  # of several it is their mean
    assert ns(run["mpi_s"]) == pytest.approx(report["mpi_ns"], abs=1)
    for function in rows(run["tables"]["functions"]):
        expected = report["functions"][function["id"]]
        assert [function[key] for key in ("kind", "name", "file", "line", "calls")] == [
            expected[key] for key in ("kind", "name", "file", "line", "calls")
        ]
    numbers = set(run["tables"]["tree"]["function_id"])
    assert {0, *run["tables"]["functions"]["id"]} == numbers
    tree = rows(run["tables"]["tree"])
    assert len(tree) == len(report["nodes"])
    for i, (node, expected) in enumerate(zip(tree, report["nodes"])):
        assert (node["id"], node["parent"]) == (i, -1 if i == 0 else expected["parent"])
        check_node(node, expected, report)
    for process, expected in zip(rows(run["tables"]["ranks"]), info["processes"]):
        check_process(process, expected)
    assert len(run["tables"]["ranks"]["id"]) == len(info["processes"])
    assert len(run["tables"]["threads"]["id"]) == info["threads"]


def check_node(node: dict[str, Any], expected: dict[str, Any], report: dict[str, Any]) -> None:
    function = report["functions"][expected["function"]]
    assert (node["kind"], node["function"]) == (function["kind"], function["name"])
    assert (node["function_id"], node["line"], node["calls"]) == (
        expected["function"], expected["line"], expected["calls"],
    )  # fmt: skip
    for stem in ("time", "self"):
        spread = expected[f"{stem}_ns"]
        assert ns(node[f"{stem}_s"]) == round(spread["sum"])
        assert node[f"{stem}_mean_s"] == pytest.approx(spread["mean"] / 1e9, rel=1e-9)
        for end in ("min", "max"):
            assert ns(node[f"{stem}_{end}_s"]) == spread[end]
            assert node[f"{stem}_{end}_rank"] == (-1 if spread[f"{end}_rank"] is None else spread[f"{end}_rank"])
    traffic = (expected.get("bytes_out", 0), expected.get("bytes_in", 0))
    assert (node["bytes_out"], node["bytes_in"]) == traffic


def check_process(process: dict[str, Any], expected: dict[str, Any]) -> None:
    assert process["rank"] == (-1 if expected["rank"] is None else expected["rank"])
    for key in ("host", "pid", "finished"):
        assert process[key] == expected[key]
    assert ns(process["wall_s"]) == expected["wall_ns"]
    assert process["start_real_s"] == pytest.approx(expected["start_real_ns"] / 1e9, abs=1e-6)
    names = {"traffic": "messages", "syncs": "synchronisations"}
    for loss, n in expected["lost"].items():
        assert process[f"lost_{names.get(loss, loss)}"] == n
    assert process["lost"] == sum(expected["lost"].values())


def check_against_pstats(sandbox: Sandbox, run: dict[str, Any], path: str | Path, *options: str) -> None:
    """Of one rank, where the options name one. Its key is file, line and last name, which several functions may share."""
    found: dict[tuple, list] = defaultdict(list)
    rank = int(options[1]) if options else None
    for function in rows(run["tables"]["functions"]):
        across = rows(run["across_ranks"][str(function["id"])])
        shares = [share for share in across if rank in (None, share["rank"])]
        if function["kind"] != "unassigned":
            found[pstats_key(function)].append([sum(share[k] for share in shares) for k in ("calls", "self_s", "time_s")])
    unassigned = unassigned_of_callers(run, rank)
    stats = sandbox.pstats(path, *options)
    n_compared = 0
    for key, calls in stats.items():
        assert calls.calls == sum(figures[0] for figures in found[key]), key
        assert ns(calls.self_s) == pytest.approx(ns(sum(figures[1] for figures in found[key])) + unassigned[key], abs=1)
        if len(found[key]) == 1:
            assert ns(calls.total_s) == pytest.approx(ns(found[key][0][2]), abs=1), key
            n_compared += 1
    assert n_compared > 3
    rest = [key for key in found if key not in stats and any(map(any, found[key]))]
    assert rest == []


def unassigned_of_callers(run: dict[str, Any], rank: int | None) -> Counter[tuple]:
    """Time that is a caller's or that of functions in C, which pstats has as the caller's own."""
    reference = Reference(run)
    by_id = {function["id"]: function for function in rows(run["tables"]["functions"])}
    sums: Counter[tuple] = Counter()
    for node in reference.tree:
        if node["kind"] == "unassigned":
            caller = pstats_key(by_id[reference.tree[node["parent"]]["function_id"]])
            on_ranks = zip(reference.rank_of, reference.by_rank(reference.time, [node["id"]]))
            sums[caller] += sum(time for each, time in on_ranks if rank in (None, each))
    return sums


def pstats_key(function: dict[str, Any]) -> tuple[str, int, str]:
    if function["kind"] == "python":
        return function["file"], function["line"], last_name(function["name"])
    kind = {"region": "region ", "task": "task ", "operation": "mpi4py "}.get(function["kind"], "")
    return "~", 0, f"<{kind}{function['name']}>"


def last_name(name: str) -> str:
    """Dots in <> are no separators."""
    depth, start = 0, 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">" and depth > 0)
        if c == "." and not depth:
            start = i + 1
    return name[start:] or name


def test_it_agrees_with_json_and_pstats(recursive_run: Sandbox):
    run = dump(recursive_run, "run.allranks", "python")
    check_against_json(recursive_run, run, "run.allranks")
    check_against_pstats(recursive_run, run, "run.allranks")


def test_it_agrees_with_json_and_pstats_on_every_rank(ranks_run: Sandbox):
    run = dump(ranks_run, "run.allranks", "python")
    check_against_json(ranks_run, run, "run.allranks")
    for options in ((), ("--rank", "0"), ("--rank", "1"), ("--rank", "2")):
        check_against_pstats(ranks_run, run, "run.allranks", *options)


def test_it_agrees_with_json_of_runs_that_were_merged(python: Sandbox):
    """Two programs, which differ in their facts: the first one's count."""
    for way in ("exit_0", "exit_3"):
        python.recorded(workload("endings.py"), way, options=("-o", f"{way}.allranks"))
    assert python.allranks("merge", "exit_0.allranks", "exit_3.allranks", "-o", "both.allranks").code == 0
    run = dump(python, "both.allranks", "python")
    assert run["facts"]["command"].endswith("exit_0") and len(run["tables"]["ranks"]["id"]) == 2
    check_against_json(python, run, "both.allranks")
    check_against_reference(run)


def test_it_agrees_with_json_of_many_threads(threads_run: Sandbox):
    run = dump(threads_run, "run.allranks", "python")
    check_against_json(threads_run, run, "run.allranks")
    noted = threads_run.read_json("noted.json")
    by_name = dict(zip(run["tables"]["functions"]["name"], run["tables"]["functions"]["calls"]))
    assert {name: by_name[name] for name in noted} == noted


# ---- MPI ----


def test_mpi_calls_are_at_their_line_with_their_bytes(ranks_run: Sandbox):
    noted: dict[tuple, Counter] = defaultdict(Counter)
    for rank in range(3):
        for note in ranks_run.read_json(f"noted-{rank}.json"):
            key = (note["mpi"], note["caller"], note["line"])
            noted[key].update({k: note[k] for k in ("calls", "out", "in")})
    found: dict[tuple, Counter] = defaultdict(Counter)
    run = dump(ranks_run, "run.allranks", "python")
    for call in rows(run["tables"]["mpi"]):
        key = (call["function"].removesuffix("_c"), call["caller"], call["line"])
        if key in noted:
            assert call["file"] == workload("mpi_operations.py")
            found[key].update({"calls": call["calls"], "out": call["bytes_out"], "in": call["bytes_in"]})
    assert found == noted


@pytest.mark.parametrize("words", [("python",), ("python", "fold"), ("numpy",)])
def test_communicators_messages_and_requests(python: Sandbox, words: tuple[str, ...]):
    """Of a run whose sums are known: see live_writing.py."""
    run = dump(python, write_ring(python.cwd / "ring", 4), *words)["tables"]
    tree = rows(run["tree"])
    calls = {call["function"]: call for call in rows(run["mpi"])}
    assert (calls["MPI_Bcast"]["operation"], calls["MPI_Bcast"]["line"]) == ("Comm.bcast", 25)
    assert (calls["MPI_Waitall"]["mpi_class"], calls["MPI_Waitall"]["operation"]) == ("wait", "")

    comms = rows(run["communicators"])
    assert [(c["name"], c["origin"], c["parent"], c["shown"], c["hidden"]) for c in comms] == [
        ("MPI_COMM_WORLD", "world", -1, 0, False), ("MPI_COMM_SELF", "self", -1, 1, False),
        ("", "dup", 0, 0, True), ("ring", "split", 0, 3, False),
    ]  # fmt: skip
    assert (comms[3]["file"], comms[3]["line"], comms[0]["node"]) == ("/home/ada/heat.py", 15, -1)
    assert tree[comms[3]["node"]]["function"] == "MPI_Comm_split"

    messages = rows(run["messages"])
    sent = {(t["rank"], t["world_peer"]): t for t in messages if t["function"] == "MPI_Isend_c"}
    assert sorted(sent) == sorted((r, p % 4) for r in range(4) for p in (r - 1, r + 1))
    one = sent[0, 3]
    assert (one["messages_out"], one["bytes_out"], one["messages_in"], one["communicator"]) == (10, 80_000, 0, 3)
    assert (one["size_class"], one["peer_kind"], one["line"], one["mpi_class"]) == (13, "rank", 46, "p2p")
    assert ns(one["time_s"]) == 1_000_000 and tree[one["node"]]["line"] == 46
    (reduced,) = (t for t in messages if t["function"] == "MPI_Allreduce" and t["rank"] == 2)
    assert (reduced["peer_kind"], reduced["peer"], reduced["world_peer"]) == ("all", -1, -1)

    requests = rows(run["requests"])
    assert len(requests) == 8
    first = min(requests, key=lambda r: (r["rank"], r["posted_line"]))
    assert (first["posted_function"], first["posted_line"], first["function"], first["line"]) == (
        "MPI_Irecv", 45, "MPI_Waitall", 51,
    )  # fmt: skip
    assert (first["requests"], ns(first["in_flight_s"]), ns(first["waited_s"])) == (20, 240_000_000, 200_000_000)


def test_mpi_calls_are_nodes_of_the_tree_the_longest_first(ranks_run: Sandbox):
    run = dump(ranks_run, "run.allranks", "python")
    tree, calls = rows(run["tables"]["tree"]), rows(run["tables"]["mpi"])
    assert sorted(call["node"] for call in calls) == [node["id"] for node in tree if node["kind"] == "mpi"]
    times = [call["time_s"] for call in calls]
    assert times == sorted(times, reverse=True)
    for call in calls:
        node = tree[call["node"]]
        shared = [key for key in call if key in node]
        assert {key: call[key] for key in shared} == {key: node[key] for key in shared}
        if call["function"] == "MPI_Finalize":  # it has not ended when the file is written
            assert call["shortest_s"] == call["longest_s"] == 0
            continue
        assert 0 < call["shortest_s"] <= call["longest_s"] <= call["time_s"] + 1e-9
        assert call["shortest_s"] * call["calls"] <= call["time_s"] + 1e-9 * call["calls"]
        assert call["longest_s"] * call["calls"] >= call["time_s"] - 1e-9 * call["calls"]
    assert any(call["longest_s"] > call["shortest_s"] for call in calls)


def test_time_in_mpi_is_that_of_the_rank_that_waits(mpi: Sandbox):
    assert not settled(lambda: waiting_unlike(mpi))


def waiting_unlike(mpi: Sandbox) -> dict[str, str]:
    (mpi.cwd / "run.allranks").unlink(missing_ok=True)
    done = mpi.recorded_ranks(3, workload("late_rank.py"), options=("-o", "run.allranks"))
    assert done.code == 0, done
    run = dump(mpi, "run.allranks", "python")
    ranks = run["tables"]["ranks"]
    selves = zip(*run["values"]["self_s"].values())
    kinds, process = run["tables"]["tree"]["kind"], run["tables"]["threads"]["process"]
    expected = Counter()
    for node, thread, self_s in selves:
        expected[process[thread]] += self_s if kinds[node] == "mpi" else 0
    assert ranks["mpi_s"] == pytest.approx([expected[i] for i in range(3)], rel=1e-9)
    assert sum(ranks["mpi_s"]) / 3 == pytest.approx(run["mpi_s"], rel=1e-9)
    (late,) = [f for f in rows(run["tables"]["functions"]) if f["name"] == "arrive_late"]
    assert (late["calls"], late["ranks"], late["time_max_rank"], late["time_min_s"]) == (1, 1, 2, 0)
    assert run["across_ranks"][str(late["id"])]["calls"] == [0, 0, 1]
    (meet,) = [f for f in rows(run["tables"]["functions"]) if f["name"] == "meet"]
    return {} if meet["time_min_rank"] == 2 else {"meet": f"rank {meet['time_min_rank']} waits least"}


def test_ranks_have_their_own_numbers(mpi: Sandbox):
    done = mpi.recorded_ranks(3, workload("uneven_work.py"), options=("-o", "run.allranks"))
    assert done.code == 0, done
    out = said(mpi, "for name in ('work', 'odd_only'): print(*run.across_ranks(name)['calls'])\n"
                    "print(run.function('odd_only').ranks, run.function('odd_only').time_max_rank)\n"
                    "print(*run.across_ranks(run.function('work'))['rank'], 'rank' in repr(run))")  # fmt: skip
    assert out.splitlines() == ["10 20 30", "0 20 0", "1 1", "0 1 2 True"]


# ---- forms ----

FORMS = {
    "plain": ["allranks.Table", "array.array"],
    "numpy": ["allranks.Table", "numpy.ndarray"],
    "pandas": ["DataFrame", "Series"],
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_tables_are_what_is_installed(recursive_run: Sandbox, environment, name: str):
    run = dump(recursive_run, "run.allranks", **environment(recursive_run, name))
    assert run["modules"] == list(ENVIRONMENTS[name])
    for table, column in run["types"].values():
        assert table.endswith(FORMS[name][0]) and column.endswith(FORMS[name][1])
    plain = dump(recursive_run, "run.allranks", "python", **environment(recursive_run, name))
    assert (plain["types"]["tree"], plain["modules"]) == (FORMS["plain"], [])
    for run_or_plain in (run, plain):
        del run_or_plain["types"], run_or_plain["modules"]
    assert run == plain


def test_the_form_can_be_chosen(recursive_run: Sandbox, environment):
    everything = environment(recursive_run, "pandas")
    for form, types in (("python", "plain"), ("numpy", "numpy"), ("pandas", "pandas")):
        run = dump(recursive_run, "run.allranks", form, **everything)
        assert all(map(str.endswith, run["types"]["tree"], FORMS[types])), run["types"]
    code = (
        "import allranks\n"
        "for form in ('pandas', 'numpy', 'arrow'):\n"
        "    try: allranks.load('run.allranks', as_=form)\n"
        "    except (ImportError, ValueError) as error: print(type(error).__name__, error)\n"
    )
    done = recursive_run.plain("-c", code, **environment(recursive_run, "plain"))
    assert done.out.splitlines() == [
        "ModuleNotFoundError No module named 'numpy'",
        "ModuleNotFoundError No module named 'numpy'",
        "ValueError as_='arrow': not one of 'pandas', 'numpy', 'python'",
    ], done


def test_data_frames_work_as_such(recursive_run: Sandbox, environment):
    code = (
        "import allranks\n"
        "run = allranks.load('run.allranks')\n"
        "table = allranks.load('run.allranks', as_='numpy')\n"
        "run.functions['calls'] *= 2\n"
        "print(run.functions['calls'].sum() == 2 * table.functions['calls'].sum(), run.function('fib').calls)\n"
        "print(run.tree.groupby('function_id')['calls'].sum().sum() == table.tree['calls'].sum())\n"
        "print(run.find('fib').equals(table.find('fib').to_pandas()), len(run.find('fib')))\n"
        "time = run.values('time_s').pivot(index='node', columns='thread', values='time_s')\n"
        "print(abs(time.sum().sum() - run.tree['time_s'].sum()) < 1e-6, run.ranks.loc[0, 'finished'])\n"
        "table.functions['calls'][:] = 0\n"
        "print(table.functions['calls'].sum(), table.function('fib').calls)\n"
    )
    done = recursive_run.plain("-c", code, **environment(recursive_run, "pandas"))
    assert done.out.splitlines() == ["True 753", "True", "True 1", "True True", "0 753"], done


def test_tables_of_plain_python(recursive_run: Sandbox):
    code = (
        "t = run.functions\n"
        "print(len(t) == len(list(t)) == len(run) == len(list(run)), t[0] == next(iter(t)) == next(iter(run)))\n"
        "print(t[0]._fields == t.columns == tuple(t.to_dict()), type(t[0]).__name__, t[-1] == list(t)[-1])\n"
        "print(len(t[:3]), [row.name for row in t[:3]] == t.to_dict()['name'][:3] == t['name'][:3])\n"
        "print(t['calls'].typecode, t['self_s'].typecode, list(t['self_s']) == sorted(t['self_s'], reverse=True))\n"
        "print(len(run.mpi), list(run.mpi), run.mpi.to_dict()['calls'])\n"
        "lines = repr(t).splitlines()\n"
        "print(lines[0].split()[:6], max(map(len, lines[:-1])) <= 80, len(lines) <= 23, 'more columns' in lines[-1])\n"
    )
    out = said(recursive_run, code, env={"COLUMNS": "80"}).splitlines()
    assert out[:5] == ["True True", "True Function True", "3 True", "q d True", "0 [] []"]
    assert out[5] == "['name', 'file', 'line', 'calls', 'time_s', 'self_s'] True True True"


def test_every_metric_is_documented(recursive_run: Sandbox):
    text = (ROOT / "docs" / "load.md").read_text()
    run = dump(recursive_run, "run.allranks", "python")
    assert all(f"`{metric}`" in text for metric in run["values"])


# ---- finding ----


def test_functions_are_found_as_people_name_them(python: Sandbox):
    (python.cwd / "solver.py").write_text(
        "class Solver:\n    def step(self): return helper()\nclass Other:\n    def step(self): return 1\n"
        "def helper(): return 2\ndef step(): return 3\nSolver().step(); Other().step(); Other().step(); step(); helper()\n"
    )
    done = python.recorded("solver.py", options=("-o", "run.allranks"))
    assert done.code == 0, done
    qualified = tuple(map(int, python.stack.python_version.split("."))) >= (3, 11)
    if not qualified:
        pytest.skip("names are qualified from 3.11 on")
    code = (
        "print(run.function('Solver.step').line, run.function('helper').calls, run.function('step').line)\n"
        "print(sorted(run.find('step')['name']), sorted(run.find('*elp*')['name']))\n"
        "print(run.function('step', line=4).name, len(run.find(file='solver.py')), len(run.find(kind='mpi')))\n"
        "print('helper' in run, 'helpers' in run, 3 in run)\n"
        "import os\n"
        "print(len(run.find('helper', file=os.path.abspath('solver.py'))), len(run.find('helper', file='olver.py')))\n"
        "node = max(n.id for n in run.tree if n.function == 'helper' and n.caller == 'Solver.step')\n"
        "print([(n.function, os.path.basename(n.file), n.line) for n in run.stack(node)], run.stack(0))\n"
        "for wrong in ({'name': 'helpr'}, {'name': '*.step'}, {'name': 'no such thing at all'}):\n"
        "    try: run.function(**wrong)\n"
        "    except LookupError as error: print(error)\n"
        "for wrong in (lambda: run.values('time'), lambda: run.across_ranks(0), lambda: run.across_ranks(10**6)):\n"
        "    try: wrong()\n"
        "    except LookupError as error: print(error)\n"
        "print(run)\n"
    )
    out = said(python, code).splitlines()
    assert out[:4] == [
        "2 2 6", "['Other.step', 'Solver.step', 'step'] ['helper']", "Other.step 7 0", "True False False",
    ]  # fmt: skip
    assert out[4] == "1 0"
    assert out[5] == "[('<module>', '', 0), ('Solver.step', 'solver.py', 7), ('helper', 'solver.py', 2)] []"
    assert out[6] == "no function 'helpr' in this run (there is helper)"
    assert out[7].startswith("2 functions are '*.step': ") and out[7].endswith("(choose with kind=, file= or line=)")
    assert f"Solver.step at {python.cwd / 'solver.py'}:2" in out[7]
    assert out[8] == "no function 'no such thing at all' in this run"
    assert out[9].startswith("no metric 'time' (there is calls, time_s, ")
    assert out[10:12] == ["no function 0 in this run", "no function 1000000 in this run"]
    assert out[12].startswith("<allranks.Run of solver.py: 1 process, ") and out[12].endswith(" s>")


def test_names_of_any_kind_get_through(python: Sandbox, environment):
    program = python.cwd / "odd.py"
    program.write_text("exec(compile('def odd(): pass\\nodd()', '/caf\\udce9.py', 'exec'))\n")
    assert python.recorded("odd.py", options=("-o", "run.allranks")).code == 0
    assert said(python, "import os\nprint(os.fsencode(run.function('odd').file), 'caf?.py' in repr(run.find('odd')))") == (
        "b'/caf\\xe9.py' True"
    )
    for name in ENVIRONMENTS:
        run = dump(python, "run.allranks", **environment(python, name))
        assert "/caf\udce9.py" in run["tables"]["functions"]["file"]
    assert python.recorded(workload("strange_names.py")).code == 0
    names = dump(python, "strange_names.allranks", "python")["tables"]["functions"]["name"]
    for name in ("line\nend", "caf\u00e9", "\u51fd\u6570", "\U0001f600", "x" * 300, "back\\slash"):
        assert name in names


# ---- what can be loaded, and what cannot ----


def test_what_a_killed_process_left(python: Sandbox):
    python.recorded(workload("endings.py"), "killed")
    (live,) = python.live_files()
    for path in (live, live.parent, python.live):
        run = dump(python, path, "python")
        by_name = dict(zip(run["tables"]["functions"]["name"], run["tables"]["functions"]["calls"]))
        assert by_name["killed"] == 1
        assert run["tables"]["ranks"]["finished"] == [False]
        check_against_json(python, run, path)


def test_paths_of_every_kind(recursive_run: Sandbox):
    code = (
        "import os, pathlib\n"
        "for path in ('run.allranks', b'run.allranks', pathlib.Path('run.allranks')):\n"
        "    run = allranks.load(path)\n"
        "    print(run.path, run.function('fib').calls)\n"
        "os.rename('run.allranks', b'caf\\xe9')\n"
        "print(allranks.load(os.fsdecode(b'caf\\xe9')).function('fib').calls)\n"
        "for wrong in (3, None, 'nul\\0'):\n"
        "    try: allranks.load(wrong)\n"
        "    except (TypeError, ValueError) as error: print(type(error).__name__)\n"
    )
    out = said(recursive_run, code).splitlines()
    assert out == ["run.allranks 753"] * 3 + ["753", "TypeError", "TypeError", "LoadError"]


TRY_EACH = """\
import allranks, os, sys
for path in sys.argv[1:]:
    try:
        run = allranks.load(path)
        [getattr(run, name) for name in ("functions", "tree", "mpi", "ranks", "threads")]
        [run.values(metric) for metric in run.metrics]
        print(repr("loaded"))
    except allranks.LoadError as error:
        assert isinstance(error, OSError) and isinstance(error, ValueError)
        print(repr(str(error)))
"""


def check_same_verdict(python: Sandbox, paths: list[str]) -> int:
    """Each is loaded, or refused with the line of the command. Returns how many were refused."""
    done = python.plain("-c", TRY_EACH, *paths)
    assert (done.code, done.err) == (0, ""), done
    verdicts = [eval(line) for line in done.out.splitlines()]
    assert len(verdicts) == len(paths)
    for path, verdict in zip(paths, verdicts):
        command = python.allranks("report", "--json=1", path)
        expected = "" if verdict == "loaded" else f"allranks: error: {verdict}\n"
        assert command.err == expected
        assert (command.code == 0) == (verdict == "loaded")
    return len(paths) - verdicts.count("loaded")


def test_wrong_files_are_refused_with_the_line_of_the_command(recursive_run: Sandbox):
    whole = (recursive_run.cwd / "run.allranks").read_bytes()
    wrong = {
        "empty": b"",
        "text": b"not a file of allranks\n" * 100,
        "cut": whole[: len(whole) // 2],
        "one byte short": whole[:-1],
        "head only": whole[:8],
        "cut.live": b"ALLRLIVE" + bytes(10),
        "newer": whole[:8] + b"\xff" * 4 + whole[12:],
    }
    for name, content in wrong.items():
        (recursive_run.cwd / name).write_bytes(content)
    (recursive_run.cwd / "directory").mkdir()
    paths = [*wrong, "directory", "missing", "empty/below", "/dev/null"]
    assert check_same_verdict(recursive_run, paths) == len(paths)


def test_a_damaged_file_is_refused_or_read_but_never_a_crash(recursive_run: Sandbox):
    whole = (recursive_run.cwd / "run.allranks").read_bytes()
    chance = random.Random(2)
    for i in range(40):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 2, 8))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        (recursive_run.cwd / f"damaged-{i}").write_bytes(damaged)
    assert check_same_verdict(recursive_run, [f"damaged-{i}" for i in range(40)]) > 30


# ---- who does not ask does not pay ----


def test_importing_allranks_imports_nothing_else(python: Sandbox, environment):
    code = (
        "import sys\nbefore = set(sys.modules)\nimport allranks\nprint(*set(sys.modules) - before)\n"
        "print({'load', 'LoadError', 'Run', 'Table', '__version__'} <= set(dir(allranks)), allranks.__version__)\n"
        "print(*set(sys.modules) - before)\n"
        "try: allranks.nonsense\nexcept AttributeError as error: print(error)\n"
        "from allranks import *\nprint(load is allranks.load, issubclass(LoadError, OSError))\n"
    )
    done = python.plain("-c", code, **environment(python, "plain"))
    assert done.out.splitlines() == [
        "allranks", "True 0.1.0", "allranks", "module 'allranks' has no attribute 'nonsense'", "True True",
    ], done  # fmt: skip


def test_a_recorded_program_has_nothing_of_it(python: Sandbox):
    code = "import sys; print([m for m in sys.modules if m.startswith('allranks')], 'numpy' in sys.modules)"
    done = python.recorded("-c", code)
    loaded = ["allranks", "allranks._runtime", "allranks._launch"]
    names, _, numpy = done.out.strip().rpartition(" ")
    assert (sorted(eval(names)), numpy) == (sorted(loaded), "False"), done


def test_the_reader_exports_nothing_but_its_entry(python: Sandbox):
    (reader,) = Path(package_of(python)).glob("_reader*.so")
    platform = r"-[-\w]+" if python.stack.python_version == "3.15" else ""  # which the name holds since then
    assert re.fullmatch(rf"_reader\.abi3{platform}\.so", reader.name)
    done = subprocess.run(["nm", "-D", "--defined-only", reader], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["PyInit__reader"]
    assert os.access(reader, os.R_OK)
