# SPDX-License-Identifier: BSD-3-Clause
"""`allranks report` and what it can be asked, on live files made by hand whose sums are known (live_writing.py)."""

from __future__ import annotations

import csv
import io
import json
import pstats
import re
import unicodedata
from pathlib import Path

import pytest
from harness import Sandbox
from live_writing import BUILTIN, MPI, MS, PYTHON, REGION, LiveFile, write_ring
from terminals import Terminal

N = 3
WIDE = "計算する" * 12


def solver_rank(rank: int) -> LiveFile:
    """Rank r has r + 1 times what rank 0 has, in ms:

        main                      1000    main.py:10
            assemble (region)     500     at line 12
                fill              400     fem.py:5, called at line 13 of main
                    numpy.dot     100     in C
                    MPI_Send      200     at line 9 of fill
            solve                 300     fem.py:30, called at line 15
                solve             200     recursion
                    fill          100
            cleanup               50      main.py:90
    """
    live = LiveFile(rank, N, 1000 * (rank + 1) * MS)
    live.fact("program", "/home/ada/main.py")
    main = live.function(PYTHON, "main", "/home/ada/main.py", 10)
    fill = live.function(PYTHON, "Mesh.fill", "/home/ada/lib/fem.py", 5)
    solve = live.function(PYTHON, "solve", "/home/ada/lib/fem.py", 30)
    cleanup = live.function(PYTHON, "cleanup", "/home/ada/main.py", 90)
    region = live.function(REGION, "assemble(level=2)")
    dot, send = live.function(BUILTIN, "built-in method numpy.dot"), live.function(MPI, "MPI_Send")

    def call(parent: int, function: int, line: int, n_calls: int, ms: int) -> int:
        return live.call(parent, function, line, n_calls, ms * (rank + 1) * MS)

    top = call(live.root, main, 0, 1, 1000)
    filling = call(call(top, region, 12, 2, 500), fill, 13, 4, 400)
    call(filling, dot, 7, 8, 100)
    live.moved(call(filling, send, 9, 16, 200), 100, 0)
    call(call(call(top, solve, 15, 1, 300), solve, 33, 1, 200), fill, 34, 1, 100)
    call(top, cleanup, 18, 1, 50)
    return live


@pytest.fixture
def solver(python: Sandbox) -> Path:
    directory = python.cwd / "solver"
    directory.mkdir()
    for rank in range(N):
        solver_rank(rank).write(directory)
    return directory


def rows_of(python: Sandbox, *words: str | Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(python.answer("report", "--csv", *words).decode())))


def tree_of(python: Sandbox, *words: str | Path) -> dict[str, int]:
    """Paths of names, and their mean total in ms of rank 0; whatever else stands in the rows is asserted elsewhere."""
    found, path = {}, []
    for row in rows_of(python, *words):
        path[int(row["depth"]) - 1 :] = [row["function"].partition("(")[0]]
        found["/".join(path)] = round(int(row["time_mean_ns"]) / MS)
    return found


def columns_of(line: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


WHOLE = {
    "main": 1000,
    "main/assemble": 500,
    "main/assemble/Mesh.fill": 400,
    "main/assemble/Mesh.fill/MPI_Send": 200,
    "main/assemble/Mesh.fill/built-in method numpy.dot": 100,
    "main/solve": 300,
    "main/solve/solve": 200,
    "main/solve/solve/Mesh.fill": 100,
    "main/cleanup": 50,
}


def test_a_part_of_the_run(python: Sandbox, solver: Path):
    """Each choice has the tree that follows from it, and the time that functions do not show is their callers'."""

    def times(factor: float, tree: dict[str, int]) -> dict[str, int]:
        return {path: round(factor * ms) for path, ms in tree.items()}

    assert tree_of(python, solver) == times(2, WHOLE)
    assert tree_of(python, solver, "--ranks", "0") == WHOLE
    assert tree_of(python, solver, "--ranks", "0,2-9") == times(2, WHOLE)
    assert tree_of(python, solver, "--thread", "MainThread", "--ranks", "1") == times(2, WHOLE)
    assert tree_of(python, solver, "--ranks=0", "--depth=2") == {k: v for k, v in WHOLE.items() if k.count("/") < 2}
    without_fill = {k.replace("/Mesh.fill", ""): v for k, v in WHOLE.items() if not k.endswith("fill")}
    assert tree_of(python, solver, "--ranks", "0", "--exclude", "fill") == without_fill
    in_file = tree_of(python, solver, "--ranks", "0", "--include", "fem.py")
    assert in_file == {k.removeprefix("main/"): v for k, v in WHOLE.items() if k not in ("main", "main/cleanup")}
    region = tree_of(python, solver, "--ranks", "0", "--region", "assemble")
    assert region == {
        k.replace("main/assemble", "assemble/main").replace("assemble/main", "assemble", k == "main/assemble"): v
        for k, v in WHOLE.items()
        if "assemble" in k
    } | {"assemble/main": 500}
    told = json.loads(python.answer("report", "--json=1", "--region", "assemble", "--ranks", "0-1", solver))
    assert (told["ranks"], told["wall_ns"], told["mpi_ns"], told["overhead"]) == (2, 750 * MS, 300 * MS, None)
    assert told["selection"] == {"ranks": "0-1", "thread": None, "regions": ["assemble"], "include": [], "exclude": []}
    head = python.answer("report", "--ranks", "0-1", "--exclude", "solve", "--exclude", "*.dot", solver).decode().splitlines()
    assert head[3] == "only ranks 0-1, without solve, *.dot"
    for words, what in (
        (("--ranks", "3"), "no such ranks"), (("--ranks", "x"), "no such ranks"), (("--thread", "9"), "no such thread"),
        (("--region", "main"), "no such region"), (("--include", "nobody"), "no function"), (("--callers", "nobody"), "no function"),
    ):  # fmt: skip
        done = python.allranks("report", *words, solver)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1) and what in done.err, done


def test_the_same_part_in_other_commands(python: Sandbox, solver: Path):
    rows = csv.DictReader(io.StringIO(python.answer("ranks", "--csv", "--ranks", "1", "--exclude", "fill", solver).decode()))
    assert {row["name"]: int(row["self_mean_ns"]) // MS for row in rows}["assemble(level=2)"] == 2 * 200
    told = json.loads(python.answer("mpi", "--json=1", "--ranks", "1-2", "--exclude", "fill", solver))
    (path,) = told["paths"]
    assert (path["calls"], path["caller"], path["line"], told["ranks"]) == (32, "main", 13, 2)  # where fill is called
    python.answer("export", solver, "-f", "pstats", "--ranks", "0,2", "--exclude", "solve", "-o", "x.pstats")
    stats = pstats.Stats(str(python.cwd / "x.pstats")).stats  # type: ignore[attr-defined]
    assert {key[2] for key in stats} == {"main", "fill", "cleanup", "<region assemble(level=2)>", "<MPI_Send>", "<built-in method numpy.dot>"}
    assert stats["/home/ada/main.py", 10, "main"][2:4] == (pytest.approx(0.35 * 4), 4.0)


def test_who_calls_a_function_and_what_it_calls(python: Sandbox, solver: Path):
    lines = python.answer("report", "--callers", "fill", "--callees", "fill", solver).decode().splitlines()
    at = lines.index(next(line for line in lines if line.startswith("Who calls it")))
    assert [line.split()[:5] for line in lines[at + 1 : at + 3]] == [
        ["assemble(level=2", "region", "12", "0.800", "80"], ["solve", "fem.py:30", "3", "0.200", "20"],
    ]  # fmt: skip
    at = lines.index(next(line for line in lines if line.startswith("What it calls")))
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["(itself)", "MPI_Send", "numpy.dot"]
    assert "0.200 (0)-0.600 (2)" in lines[at + 1] and "0.100 (0)-0.300 (2)" in lines[at + 3]
    told = json.loads(python.answer("report", "--json=1", "--callers", "solve", "--callees", "solve", solver))
    number = {function["name"]: i for i, function in enumerate(told["functions"])}
    (callers,), (callees,) = told["callers"], told["callees"]
    found = {row["function"]: (row["calls"], row["time_ns"]["sum"] // MS) for row in callers["callers"]}
    assert found == {number["main"]: (3, 1800), number["solve"]: (3, 0)}
    assert callees["itself_ns"]["sum"] == 1200 * MS and callees["callees"][0]["time_ns"]["max_rank"] == 2
    assert [told["nodes"][node]["time_ns"]["sum"] // MS for node in told["hot_path"]] == [6000, 3000, 2400, 1200]
    fill = told["functions"][number["Mesh.fill"]]
    assert (fill["calls"], fill["ranks"], fill["time_ns"]["sum"], fill["self_ns"]["sum"]) == (15, 3, 3000 * MS, 1200 * MS)


def test_trees_and_lists_and_their_order(python: Sandbox, solver: Path):
    bottom = rows_of(python, "--tree", "bottom-up", solver)
    top = [(row["function"], int(row["self_mean_ns"]) // MS) for row in bottom if row["depth"] == "0"]
    assert [ms for _, ms in top] == [400, 400, 400, 300, 200, 200, 100]
    assert dict(top) == {
        "Mesh.fill": 400, "MPI_Send": 400, "solve": 400, "main": 300, "assemble(level=2)": 200,
        "built-in method numpy.dot": 200, "cleanup": 100,
    }  # fmt: skip
    at = next(i for i, row in enumerate(bottom) if (row["depth"], row["function"]) == ("0", "solve"))
    assert {(row["depth"], row["function"], int(row["self_mean_ns"]) // MS) for row in bottom[at + 1 : at + 4]} == {
        ("1", "solve", 200), ("2", "main", 200), ("1", "main", 200)
    }  # fmt: skip
    for sort, first in (("name", "assemble(level=2)"), ("calls", "MPI_Send"), ("total", "main"), ("max", "Mesh.fill")):
        names = [row["name"] for row in rows_of(python, "--functions", "--sort", sort, solver)]
        assert first in names[: 3 if sort == "max" else 1] and len(names) == 7, (sort, names)
    children = [row["function"] for row in rows_of(python, "--sort", "name", solver) if row["depth"] == "2"]
    assert children == ["assemble(level=2)", "cleanup", "solve"]
    shown = python.answer("report", solver).decode()
    hot = [line.split()[0].strip("*") or line.split()[1] for line in shown.splitlines() if line.startswith("*")]
    assert hot == ["main", "assemble(level=2)", "Mesh.fill", "MPI_Send"] and " * hot path" in shown


def test_a_text_file_a_rank_is_what_pstats_prints(python: Sandbox, solver: Path):
    done = python.allranks("report", "--per-rank-text", "cpu_{rank}.txt", solver)
    assert (done.code, done.out, done.err) == (0, "", "allranks: wrote 3 files: cpu_0.txt and so on\n")
    for sort, by in ((None, "cumulative"), ("self", "time"), ("calls", "calls")):
        python.allranks("report", "--per-rank-text", "cpu_{rank}.txt", *(("--sort", sort) if sort else ()), solver)
        for rank in range(N):
            python.answer("export", solver, "-f", "pstats", "--rank", str(rank), "-o", "x.pstats")
            text = io.StringIO()
            stats = pstats.Stats(str(python.cwd / "x.pstats"), stream=text)
            stats.files = []  # type: ignore[attr-defined]
            stats.sort_stats(by).print_stats()
            assert (python.cwd / f"cpu_{rank}.txt").read_text() == text.getvalue()
    assert "each needs a name of its own" in python.allranks("report", "--per-rank-text", "cpu.txt", solver).err


# ---- one screen ----


def crowded_rank(rank: int) -> LiveFile:
    """Long names, wide ones, many sections, ranks of five digits, hours, and losses of every kind."""
    live = LiveFile(10_000 + 31 * rank, 20_000, 40_000_000 * MS, n_pages=(16, 16, 64))
    live.fact("program", f"/home/ada/{WIDE}.py")
    for key, value in (("python", "3.11.2"), ("mpi", "An MPI with a name that does not end soon" * 3), ("mpi4py", "3.1.4")):
        live.fact(key, value)
    live.lost = [123_456_789] * 12
    parent, left = live.root, 39_000_000 * MS
    for i in range(14):
        name = (f"Solver{i}.{WIDE}", "o\u0302" * 40, "a_long_name_" * 9)[i % 3]
        parent = live.call(parent, live.function(PYTHON, name, f"/home/ada/{WIDE}{i}.py", 1000 + i), 0, 1, left)
        send = live.call(parent, live.function(MPI, f"MPI_Something_with_a_long_name_{i}"), 1001 + i, 10**12, left // 30)
        live.moved(send, 10**15, 10**14)
        left -= (2_000_000 + 300_000 * rank) * MS
    return live


def check_screen(lines: list[str]) -> None:
    assert len(lines) <= 24, "\n".join(lines)
    assert [line for line in lines if columns_of(line) > 80] == []


@pytest.mark.parametrize("words", [
    (), ("--functions",), ("--tree", "bottom-up"), ("--ranks", "10000-10031", "--exclude", "a_long_name_*" + "[" * 70),
], ids=["tree", "functions", "bottom-up", "part"])  # fmt: skip
def test_one_screen_whatever_the_run(python: Sandbox, words: tuple[str, ...]):
    directory = python.cwd / ("a_long_directory_" * 6)
    directory.mkdir()
    for rank in range(4):
        crowded_rank(rank).write(directory)
    lines = python.answer("report", *words, directory).decode().splitlines()
    check_screen(lines)
    if words == ():
        starts = [line.split("  ")[0] for line in lines]
        assert {"Imbalance", "Where the time goes", "MPI"} <= set(starts)
        assert any("(10093)" in line for line in lines)


def test_colours_are_for_terminals(python: Sandbox):
    """On one, the hot path is bold and what is said beside the tables dim; without colours the marks are the same."""
    ring = write_ring(python.cwd / "ring", 4)
    plain = python.answer("report", ring.name).decode()
    terminal = Terminal([python.command, "report", ring.name], python.cwd, n_rows=30)
    seen, feed = bytearray(), terminal.screen.feed
    terminal.screen.feed = lambda data: (seen.extend(data), feed(data))  # type: ignore[method-assign]
    try:
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert b"\x1b[1m*main" in seen and b"\x1b[2m* hot path" in seen
    assert re.sub(rb"\x1b\[\d+m", b"", bytes(seen)).replace(b"\r\n", b"\n").decode() == plain
    check_screen(plain.splitlines())
