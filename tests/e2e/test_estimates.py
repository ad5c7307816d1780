# SPDX-License-Identifier: BSD-3-Clause
"""Functions in C in every view: counts are exact, times of which not every call was measured are marked and have a known
error, what is called in C is below it, and what is known of nobody is said to be so. On live files made by hand, whose
figures can be worked out (live_writing.py).
"""

from __future__ import annotations

import csv
import io
import json
import math
import pstats
import re
from pathlib import Path

import pytest
from harness import Sandbox
from live_writing import BUILTIN, MPI, MS, PYTHON, UNASSIGNED, LiveFile

N_CALLS, N_TIMED = 100_000, 10_000
SD_NS = 400.0
"""Of rank r every tenth of 100,000 calls of `abs` was timed, at 1000 + 100 r ns each on average."""
VARIANCE = SD_NS**2 * (N_CALLS - N_TIMED) * N_CALLS / N_TIMED
ERROR_OF_RANK = math.sqrt(VARIANCE)
ERROR_OF_SUM = math.sqrt(2 * VARIANCE)
ERROR_OF_MEAN = ERROR_OF_SUM / 2
NOTE = " ~ estimated from some of the calls, to within 536.7 us in 19 of 20 cases"


def rank_of(rank: int, size: int, *, factor: int = 1) -> LiveFile:
    """`main` calls `abs` often, and `sorted`, which calls back and uses MPI; on rank 1 it calls `crc32`, too."""
    live = LiveFile(rank, size, 1000 * MS)
    live.fact("program", "/home/ada/a.py")
    live.fact("builtins", "counted")
    main = live.function(PYTHON, "main", "/home/ada/a.py", 10)
    key = live.function(PYTHON, "key", "/home/ada/a.py", 30)
    absolute = live.function(BUILTIN, "built-in method builtins.abs")
    sort = live.function(BUILTIN, "built-in method builtins.sorted")
    sleep = live.function(UNASSIGNED, "time.sleep")
    allreduce = live.function(MPI, "MPI_Allreduce")
    crc32 = live.function(BUILTIN, "built-in method zlib.crc32")
    in_main = live.call(live.root, main, 0, 1, 990 * MS)
    mean_ns = (1000 + 100 * rank) * factor
    often = live.call(in_main, absolute, 12, N_CALLS, N_TIMED * mean_ns)
    live.timed(often, N_TIMED, N_TIMED * mean_ns**2 + SD_NS**2 * (N_TIMED - 1))
    in_sort = live.call(in_main, sort, 15, 3, 300 * MS)
    live.call(in_sort, key, 15, 300, 200 * MS)
    reduce = live.call(in_sort, allreduce, 0, 5, 50 * MS)
    live.moved(reduce, 80, 80)
    live.call(in_main, sleep, 17, 2, 40 * MS)
    if rank == 1:
        live.call(in_main, crc32, 18, 7, 2 * MS)
    return live


def write_ranks(directory: Path, size: int = 2, **how) -> Path:
    directory.mkdir(parents=True)
    for rank in range(size):
        rank_of(rank, size, **how).write(directory)
    return directory


@pytest.fixture
def job(python: Sandbox) -> Path:
    return write_ranks(python.cwd / "job")


def lines_of(python: Sandbox, *words: str | Path) -> list[str]:
    done = python.allranks(*words)
    lines = done.out.splitlines()
    assert done.code == 0 and done.err == "", str(done)
    assert max(map(len, lines)) <= 80 and len(lines) <= 24, str(done)
    return lines


def row(lines: list[str], name: str) -> list[str]:
    """Of the first row with that name, what is right of the place."""
    found = [line for line in lines if re.match(rf"[ *] *{re.escape(name)} ", line)]
    assert found, lines
    return found[0].split(name, 1)[1].split()[1:]


def json_of(python: Sandbox, *words: str | Path) -> dict:
    return json.loads(python.answer(*words))


def csv_of(python: Sandbox, *words: str | Path) -> dict[str, dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(python.answer(*words).decode())))
    return {row.get("name") or row["function"]: row for row in rows}


# ---- text ----


def test_the_tree(python: Sandbox, job: Path):
    lines = lines_of(python, "report", job)
    assert row(lines, "main") == ["0.990", "~0.544", "0.990-0.990"]
    assert row(lines, "abs") == ["~0.105", "~0.105", "~0.100-0.110"]
    assert row(lines, "sorted") == ["0.300", "0.050", "0.300-0.300"]  # with what it calls
    assert row(lines, "key") == ["0.200", "0.200", "0.200-0.200"]
    assert row(lines, "time.sleep? or caller") == ["0.040", "0.040", "0.040-0.040"]
    indent = {name: len(re.match(r"[ *]( *)", line).group(1)) for line in lines for name in ("sorted", "key", "abs") if f" {name} " in line}
    assert indent["key"] == indent["sorted"] + 1 and indent["sorted"] == indent["abs"]
    assert NOTE in lines
    assert not any("zlib.crc32" in line for line in lines)  # less than 1 %
    assert row(lines_of(python, "report", "--min", "0", job), "zlib.crc32") == ["0.001", "0.001", "0.000", "(0)-0.002", "(1)"]


@pytest.mark.parametrize("options", [("--functions",), ("--tree", "bottom-up"), ("--callers", "abs"), ("--callees", "main")], ids=" ".join)
def test_other_views_of_the_report(python: Sandbox, job: Path, options: tuple[str, ...]):
    lines = lines_of(python, "report", *options, job)
    assert "~0.105" in row(lines, "abs")
    assert lines[-1] == NOTE
    own = next(line for line in lines if "(itself)" in line).split() if "--callees" in options else row(lines, "main")
    assert ("~0.105" if "--callers" in options else "~0.544") in own
    if "--tree" not in options and "--callees" not in options:
        assert row(lines, "abs")[0] == "200,000"  # a count has no mark


def test_ranks(python: Sandbox, job: Path):
    lines = lines_of(python, "ranks", job)
    assert row(lines, "abs") == ["200,000", "~0.105", "0.005", "~0.100", "(0)", "~0.110", "(1)"]
    assert row(lines, "key") == ["600", "0.200", "0.000", "0.200", "0.200"]
    assert lines[-1] == NOTE
    assert row(lines, "zlib.crc32")[0] == "7"  # whoever never called it has 0
    lines = lines_of(python, "ranks", job, "zlib.crc32")
    assert [line.split()[2:] for line in lines if line.startswith(" rank ")] == [["node-1", "0", "0.000", "0.000"], ["node-1", "7", "0.002", "0.002"]]
    assert not any("~" in line for line in lines)
    lines = lines_of(python, "ranks", job, "abs")
    shares = [line.split()[2:] for line in lines if line.startswith(" rank ")]
    assert shares == [["node-1", "100,000", "~0.100", "~0.100"], ["node-1", "100,000", "~0.110", "~0.110"]]
    assert lines[-1] == " ~ estimated from some of the calls, to within 758.9 us in 19 of 20 cases"


def test_diff_and_scale(python: Sandbox, job: Path):
    twice = write_ranks(python.cwd / "twice", factor=2)
    lines = lines_of(python, "diff", job, twice)
    assert row(lines, "abs") == ["~0.105", "~0.210", "~+0.105", "+100", "%", "~+0.105", "="]
    assert row(lines, "main") == ["~0.544", "~0.439", "~-0.105", "-19.3", "%", "+0.000", "="]
    assert lines[-1] == NOTE
    assert not any("cannot be compared" in line for line in lines)
    more = write_ranks(python.cwd / "more", 4)
    lines = lines_of(python, "scale", job, more)
    assert row(lines, "abs")[:3] == ["~0.110", "~0.130", "~0.075"]
    assert lines[-1].startswith(" ~ estimated from some of the calls, to within ")


def test_top(python: Sandbox, job: Path):
    lines = python.answer("top", "--once", job).decode().splitlines()
    (found,) = [line for line in lines if " abs " in line]
    assert found.split() == ["-", "-", "~10.5", "~10.5", "200,000", "abs", "C"]
    assert any(line.endswith("shares in %, ~ estimated") for line in lines)


def test_text_per_rank(python: Sandbox, job: Path):
    text = python.answer("report", "--per-rank-text", "-", "--ranks", "1", job).decode()
    rows = {line.split()[-1]: line.split()[:5] for line in text.splitlines() if "(" in line or "}" in line}
    assert rows["builtins.abs}"] == ["100000", "~0.110", "~0.000", "~0.110", "~0.000"]
    assert rows["/home/ada/a.py:10(main)"] == ["1", "~0.578", "~0.578", "0.990", "0.990"]  # with what nobody knows
    assert rows["builtins.sorted}"] == ["3", "0.050", "0.017", "0.300", "0.100"]
    assert "time.sleep" not in text


# ---- for programs ----


def test_json(python: Sandbox, job: Path):
    report = json_of(python, "report", "--json=1", job)
    functions = {function["name"]: function for function in report["functions"]}
    often = functions["built-in method builtins.abs"]
    assert often["calls"] == 2 * N_CALLS and often["time_ns"]["sum"] == 210 * MS
    assert often["time_ns"]["estimated"] is True
    assert often["time_ns"]["error"] == pytest.approx(ERROR_OF_MEAN, rel=1e-4)
    assert "estimated" not in functions["main"]["time_ns"]
    assert functions["main"]["self_ns"]["error"] == pytest.approx(ERROR_OF_MEAN, rel=1e-4)
    assert functions["time.sleep"]["kind"] == "unassigned" and functions["time.sleep"]["calls"] == 4
    marked = [node for node in report["nodes"] if node.get("estimated")]
    assert [report["functions"][node["function"]]["name"] for node in marked] == ["built-in method builtins.abs"]
    ranks = json_of(python, "ranks", "--json=1", job, "abs")["functions"][0]["by_rank"]
    assert [rank["time_estimated"] for rank in ranks] == [True, True]
    assert [rank["self_error_ns"] for rank in ranks] == pytest.approx([ERROR_OF_RANK] * 2, rel=1e-4)
    ranks = json_of(python, "ranks", "--json=1", job, "main")["functions"][0]["by_rank"]
    assert [(rank["time_estimated"], rank["time_error_ns"], rank["self_estimated"]) for rank in ranks] == [(False, 0, True)] * 2
    diff = {function["name"]: function for function in json_of(python, "diff", "--json", job, job)["diff_functions"]}
    change = diff["built-in method builtins.abs"]["time_ns"]
    assert change["base_estimated"] and change["now_error"] == pytest.approx(ERROR_OF_MEAN, rel=1e-4)
    top = {function["name"]: function for function in json_of(python, "top", "--json", "--once", job)["top_functions"]}
    often = top["built-in method builtins.abs"]
    assert often["self_ns"]["estimated"] and often["time_ns"]["error"] == pytest.approx(ERROR_OF_SUM, rel=1e-4)
    (old,) = [f for f in json_of(python, "top", "--json=1", "--once", job)["functions"] if f["name"] == often["name"]]
    assert old["ever"]["self_estimated"] and old["ever"]["total_error_ns"] == often["time_ns"]["error"]


def test_csv(python: Sandbox, job: Path):
    for words in (("report", "--csv", "--min", "0"), ("report", "--functions", "--csv"), ("ranks", "--csv")):
        rows = csv_of(python, *words, job)
        often, main = rows["built-in method builtins.abs"], rows["main"]
        assert (often["time_estimated"], often["self_estimated"]) == ("1", "1")
        assert float(often["time_error_ns"]) == pytest.approx(ERROR_OF_SUM, rel=1e-4)
        assert (main["time_estimated"], main["time_error_ns"], main["self_estimated"]) == ("0", "0", "1")
        assert rows["built-in method zlib.crc32"]["time_estimated"] == "0" if "--min" in words else True
    of_ranks = list(csv.DictReader(io.StringIO(python.answer("ranks", "--csv", job, "abs").decode())))
    assert [float(row["time_error_ns"]) for row in of_ranks] == pytest.approx([ERROR_OF_RANK] * 2, rel=1e-4)
    assert csv_of(python, "diff", "--csv", job, job)["main"]["self_now_estimated"] == "1"


LOAD = """
import json, sys
import allranks
run = allranks.load(sys.argv[1])
rows = {}
for table in (run.functions, run.tree):
    names = table["name"] if "name" in table.columns else table["function"]
    found = [i for i, name in enumerate(names) if name == "built-in method builtins.abs"]
    main = [i for i, name in enumerate(names) if name == "main"]
    rows[len(rows)] = [[bool(table["time_estimated"][found[0]]), float(table["time_error_s"][found[0]]), bool(table["time_estimated"][main[0]]),
                        bool(table["self_estimated"][main[0]]), float(table["self_error_s"][main[0]])]]
print(json.dumps([list(rows.values()), sorted(run.metrics)]))
"""


def test_load(python: Sandbox, job: Path):
    done = python.plain("-c", LOAD, job)
    assert done.code == 0, str(done)
    tables, metrics = json.loads(done.out)
    for ((is_estimated, error_s, main_is, self_is, self_error_s),) in tables:
        assert (is_estimated, main_is, self_is) == (True, False, True)
        assert error_s == pytest.approx(ERROR_OF_SUM / 1e9, rel=1e-4) == self_error_s
    assert "variance_us2" in metrics


def test_pstats(python: Sandbox, job: Path):
    done = python.allranks("export", job, "-f", "pstats", "-o", "x.pstats")
    assert done.code == 0 and done.out == ""
    assert done.err == "allranks: wrote x.pstats: times of 1 function in C are estimated from some of the calls\n"
    assert python.allranks("export", job, "-f", "pstats", "-o", "x.pstats", "--quiet").err == ""
    stats = pstats.Stats(str(python.cwd / "x.pstats")).stats
    assert ("~", 0, "<time.sleep>") not in stats
    _, _, tottime, cumtime, _ = stats[("/home/ada/a.py", 10, "main")]
    assert tottime == pytest.approx(0.590 + 0.578) and cumtime == pytest.approx(2 * 0.99)  # and 40 ms each of nobody
    assert list(stats[("/home/ada/a.py", 30, "key")][4]) == [("~", 0, "<built-in method builtins.sorted>")]
    done = python.allranks("merge", job, "-o", "merged.pstats")
    assert ", times of 1 function in C estimated; see: " in done.err


# ---- lines, files ----


def test_mpi_below_a_function_in_c_has_the_line_of_the_program(python: Sandbox, job: Path):
    assert row(lines_of(python, "mpi", job), "MPI_Allreduce")[0] == "10"
    assert any(re.match(r" MPI_Allreduce +a\.py:15 ", line) for line in lines_of(python, "mpi", job))
    for options in ((), ("--exclude", "sorted")):
        (call,) = json_of(python, "mpi", "--json=1", *options, job)["paths"]
        assert (Path(call["file"]).name, call["line"], call["caller"]) == ("a.py", 15, "main")


def test_a_run_file_has_the_same(python: Sandbox, job: Path):
    assert python.allranks("merge", job, "-o", "run.allranks").code == 0
    for words in (("report", "--min", "0"), ("ranks",), ("ranks", "--json=1"), ("report", "--csv"), ("mpi", "--json=1")):
        assert python.answer(*words, "run.allranks") == python.answer(*words, job), words


def test_what_is_recorded_in_other_ways_is_not_compared(python: Sandbox, job: Path):
    other = LiveFile(0, 1, 1000 * MS)
    other.fact("builtins", "none")
    directory = python.cwd / "none"
    directory.mkdir()
    other.call(other.root, other.function(PYTHON, "main", "/home/ada/a.py", 10), 0, 1, 990 * MS)
    other.write(directory)
    lines = lines_of(python, "diff", directory, job)
    assert "functions in C cannot be compared: --builtins none and counted record other ones" in lines
