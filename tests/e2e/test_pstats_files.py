# SPDX-License-Identifier: BSD-3-Clause
"""Files that cProfile has written, read in place of a run: the figures are those of Python's own pstats."""

from __future__ import annotations

import json
import marshal
import os
import pstats
import random
import re
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Sandbox, workload

Stats = dict[Any, Any]

N_FILES = 12  # so that the order of names is not that of numbers
HALF_NS = 0.5e-9
READERS = {
    "report": ("report",),
    "report --json": ("report", "--json"),
    "info": ("info",),
    "info --json": ("info", "--json"),
    "export": ("export", "-f", "pstats", "-o", "out"),
    "merge": ("merge", "-o", "out"),
}


# ---- making and comparing ----


def load(path: Path) -> Stats:
    loaded: Stats = marshal.loads(path.read_bytes())
    return loaded


def added(paths: list[Path]) -> Stats:
    """What pstats.Stats.add makes of them."""
    stats: Stats = pstats.Stats(*map(str, paths)).stats  # type: ignore[attr-defined]
    return stats


def assert_figures_equal(found: tuple, expected: tuple, within_s: float, where: Any) -> None:
    assert found[:2] == expected[:2], where
    assert found[2:4] == pytest.approx(expected[2:4], rel=1e-12, abs=within_s), where


def assert_same(found: Stats, expected: Stats, n_files: int = 1) -> None:
    """Calls to the last one; times but for the rounding to nanoseconds of each file."""
    within_s = n_files * HALF_NS
    assert found.keys() == expected.keys()
    for key, figures in expected.items():
        assert_figures_equal(found[key], figures, within_s, key)
        assert found[key][4].keys() == figures[4].keys(), key
        for caller, pair in figures[4].items():
            if isinstance(pair, tuple):
                assert_figures_equal(found[key][4][caller], pair, within_s, (caller, key))
            else:
                assert found[key][4][caller] == pair, (caller, key)


def assert_one_line_of_error(done: Done, *parts: str) -> None:
    assert (done.code, done.out) == (2, ""), done
    assert re.match(r"allranks: error: [^\n]+\n$", done.err), done
    for part in parts:
        assert part in done.err, done


def make_file(sandbox: Sandbox, name: str, amount: int = 2) -> Path:
    done = sandbox.plain(workload("cprofile_ranks.py"), name, str(amount))
    assert done.code == 0, done
    return sandbox.cwd / name


def make_files(sandbox: Sandbox) -> list[Path]:
    return [make_file(sandbox, f"cpu_{i}.prof", i) for i in range(N_FILES)]


def merge(sandbox: Sandbox, output: str, *inputs: str | Path) -> Path:
    done = sandbox.allranks("merge", *inputs, "-o", output)
    assert (done.code, done.out) == (0, ""), done
    return sandbox.cwd / output


def exported(sandbox: Sandbox, run: str | Path, *options: str) -> Stats:
    target = sandbox.cwd.parent / "exported.pstats"
    sandbox.answer("export", run, "-f", "pstats", "--quiet", "-o", target, *options)
    return load(target)


# ---- the same figures ----


def test_a_file_comes_back_as_it_was(any_python: Sandbox):
    path = make_file(any_python, "any.name", 5)
    expected = load(path)
    assert len(expected) > 20
    assert any(figures[0] != figures[1] for figures in expected.values()), "no recursion"
    assert any("\udcff" in key[0] for key in expected), "no odd name"
    assert_same(exported(any_python, path.name), expected)
    run = merge(any_python, "x.allranks", path.name)
    assert_same(exported(any_python, run), expected)
    again = merge(any_python, "again.allranks", run)
    assert_same(exported(any_python, again), expected)
    assert_same(load(merge(any_python, "y.prof", run)), expected)


def test_sums_are_those_of_pstats(any_python: Sandbox):
    paths = make_files(any_python)
    expected = added(paths)
    for name, inputs in {
        "quoted": ["cpu_*.prof"],
        "two patterns": ["cpu_?.prof", "cpu_1?.prof"],
        "by the shell": paths,
    }.items():
        assert_same(load(merge(any_python, f"{name}.pstats", *inputs)), expected, N_FILES)
    run = merge(any_python, "all.allranks", "cpu_*.prof")
    assert_same(exported(any_python, run), expected, N_FILES)
    for rank, path in enumerate(paths):
        assert_same(exported(any_python, run, "--rank", str(rank)), load(path))
    some = merge(any_python, "some.allranks", *paths[:4])
    rest = merge(any_python, "rest.allranks", *paths[4:])
    assert_same(load(merge(any_python, "both.pstats", some, rest)), expected, N_FILES)
    printed = any_python.plain("-m", "pstats", "quoted.pstats", stdin=b"sort calls\nstats fib\ncallers fib\n")
    assert printed.code == 0 and "fib" in printed.out, printed


def test_functions_and_ranks_as_data(any_python: Sandbox):
    """What allranks.load has of them, on the interpreter that wrote them."""
    paths = make_files(any_python)
    program = """
import allranks, json
run = allranks.load("cpu_*.prof", as_="python")
key = lambda f: [f.file, f.line, f.name] if f.kind == "python" else ["~", 0, "<" + f.name + ">"]
print(json.dumps({
    "functions": [[key(f), f.calls, f.time_s, f.self_s, f.paths, f.ranks] for f in run.functions],
    "fib": [list(row) for row in run.across_ranks("fib")],
    "ranks": [[r.rank, r.world_size, r.host, r.pid, r.wall_s, r.start_real_s] for r in run.ranks],
    "pairs": [[n.parent, n.depth] for n in run.tree],
    "repr": repr(run), "wall_s": run.wall_s, "facts": run.facts,
    "folded": len(allranks.load("cpu_*.prof", as_="python", fold=True).tree),
}))
"""
    done = any_python.plain("-c", program)
    assert (done.code, done.err) == (0, ""), done
    data = json.loads(done.out)
    expected = added(paths)
    each = [load(path) for path in paths]
    functions = {tuple(key): figures for key, *figures in data["functions"]}
    assert functions.keys() == expected.keys()
    for key, (_, nc, tt, ct, _) in expected.items():
        calls, time_s, self_s, n_paths, n_ranks = functions[key]
        assert (calls, n_paths) == (nc, 0)
        assert (time_s, self_s) == pytest.approx((ct, tt), abs=N_FILES * HALF_NS)
        assert n_ranks == sum(key in stats and stats[key][1] > 0 for stats in each)
    fib = next(key for key in expected if key[2] == "fib")
    assert [row[3] for row in data["fib"]] == [stats[fib][1] for stats in each]
    assert [row[4] for row in data["fib"]] == pytest.approx([stats[fib][3] for stats in each], abs=HALF_NS)
    for rank, (row, path, stats) in enumerate(zip(data["ranks"], paths, each)):
        assert row[:4] == [rank, N_FILES, "", 0]
        assert row[4] == pytest.approx(sum(figures[2] for figures in stats.values()), abs=len(stats) * HALF_NS)
        assert row[5] == pytest.approx(path.stat().st_mtime, abs=1e-3)
    n_pairs = sum(len(figures[4]) for figures in expected.values())
    assert sum(depth == 2 for _, depth in data["pairs"]) == n_pairs
    assert max(depth for _, depth in data["pairs"]) == 2
    assert data["folded"] == len(data["pairs"])
    assert data["repr"].startswith(f"<allranks.Run of cpu_*.prof: 12 ranks, {len(expected)} functions, {n_pairs} caller pairs")
    assert data["facts"] == {"source": "pstats"}


def test_report_shows_functions_and_claims_no_tree(any_python: Sandbox):
    paths = make_files(any_python)
    expected = added(paths)
    shown = any_python.answer("report", "--rows", "0", "--min", "0", "cpu_*.prof").decode()
    assert shown.startswith("cpu_*.prof   12 ranks   ")
    assert "no call paths" in shown and "Where the time goes" not in shown
    rows = [line for line in shown.partition("\nFunctions ")[2].splitlines()[1:] if line]
    assert len(rows) == len(expected)
    for name in ("fib", "even", "odd", "work"):
        key = next(key for key in expected if key[2] == name)
        [row] = [line.split() for line in rows if line.split()[0] == name]
        assert int(row[2].replace(",", "")) == expected[key][1]
    short = any_python.answer("report", "cpu_*.prof").decode()
    assert len(short.splitlines()) <= 24
    assert re.search(r"\d+ more functions: --rows 0 --min 0 shows all", short)
    report = json.loads(any_python.answer("report", "--json=1", "cpu_*.prof"))
    assert report["call_paths"] is False
    functions = [node for node in report["nodes"] if node["parent"] == 0]
    by_name = {report["functions"][node["function"]]["name"]: node for node in functions}
    fib = next(key for key in expected if key[2] == "fib")
    assert (by_name["fib"]["primitive_calls"], by_name["fib"]["calls"]) == expected[fib][:2]
    info = any_python.answer("info", "cpu_*.prof").decode()
    assert "no call paths" in info and "caller pairs" in info and "files      cpu_*.prof" in info


# ---- other writers ----


@pytest.mark.parametrize("version", range(marshal.version + 1))
def test_every_version_of_marshal(any_python: Sandbox, version: int):
    path = make_file(any_python, "0_0.prof")
    stats = load(path)
    path.write_bytes(marshal.dumps(stats, version))
    assert_same(exported(any_python, path.name), stats)


def test_what_python_2_wrote(any_python: Sandbox):
    """Interned names are referred to by a number of their own, and integers may have 64 bits."""

    def text(kind: bytes, content: bytes) -> bytes:
        return kind + len(content).to_bytes(4, "little") + content

    def integer(n: int) -> bytes:
        return b"i" + n.to_bytes(4, "little")

    main = b"(\3\0\0\0" + text(b"s", b"a.py") + integer(1) + text(b"t", b"main")
    f = b"(\3\0\0\0" + text(b"s", b"a.py") + integer(5) + text(b"t", b"f")
    main_again = b"(\3\0\0\0" + text(b"s", b"a.py") + integer(1) + b"R\0\0\0\0"
    half, most = b"f\x030.5", b"f\x041e-3"
    large = b"I" + (1 << 40).to_bytes(8, "little")
    content = b"{" + main + b"(\5\0\0\0" + integer(1) + integer(1) + half + half + b"{0"
    content += f + b"(\5\0\0\0" + large + large + most + most + b"{" + main_again
    content += b"(\4\0\0\0" + large + large + most + most + b"000"
    (any_python.cwd / "old.prof").write_bytes(content)
    n = 1 << 40
    assert exported(any_python, "old.prof") == {
        ("a.py", 1, "main"): (1, 1, 0.5, 0.5, {}),
        ("a.py", 5, "f"): (n, n, 1e-3, 1e-3, {("a.py", 1, "main"): (n, n, 1e-3, 1e-3)}),
    }


def test_what_the_module_profile_wrote(any_python: Sandbox):
    """It has the number of calls of each caller, and that is what there is to be given back."""
    program = "import profile\ndef f(n): return n and f(n - 1)\nprofile.run('f(5)', 'a_%d.prof')"
    for i in range(2):
        assert any_python.plain("-c", program % i).code == 0
    paths = [any_python.cwd / f"a_{i}.prof" for i in range(2)]
    assert_same(exported(any_python, "a_*.prof"), added(paths), 2)
    assert any_python.allranks("report", "a_*.prof").code == 0


def test_our_own_export_is_read_back(any_python: Sandbox):
    program = """
import allranks
def f(n): return n and f(n - 1)
with allranks.region("part(x=1)"): f(3)
sorted([2, 1], key=f)
"""
    (any_python.cwd / "p.py").write_text(program)
    done = any_python.recorded("p.py", options=("-o", "run.allranks", "--builtins", "all"))
    assert done.code == 0, done
    expected = exported(any_python, "run.allranks")
    assert ("~", 0, "<region part(x=1)>") in expected
    assert load(merge(any_python, "merged.prof", "run.allranks")) == expected
    assert exported(any_python, "merged.prof") == expected
    kinds = {f["name"]: f["kind"] for f in json.loads(any_python.answer("report", "--json=1", "merged.prof"))["functions"]}
    assert (kinds["part(x=1)"], kinds["f"]) == ("region", "python")


def test_a_rank_that_called_nothing(any_python: Sandbox):
    make_file(any_python, "cpu_0.prof")
    (any_python.cwd / "cpu_1.prof").write_bytes(marshal.dumps({}))
    assert_same(exported(any_python, "cpu_*.prof"), load(any_python.cwd / "cpu_0.prof"))
    [process] = [p for p in json.loads(any_python.answer("info", "--json=1", "cpu_*.prof"))["processes"] if p["rank"] == 1]
    assert process["wall_ns"] == 0


# ---- recipes that people follow ----


def test_recipe_of_pyop2(any_python: Sandbox):
    """doc/sphinx/source/profiling.rst of PyOP2; only its `print` is that of Python 3."""
    concat = '''"""Usage: concat.py PATTERN FILE"""

import sys
from glob import glob
from pstats import Stats

if len(sys.argv) != 3:
    print(__doc__)
    sys.exit(1)
files = glob(sys.argv[1])
s = Stats(files[0])
for f in files[1:]: s.add(f)
s.dump_stats(sys.argv[2])
'''
    (any_python.cwd / "concat.py").write_text(concat)
    (any_python.cwd / "jacobi.py").write_text("def f(n): return n and f(n - 1)\nf(9)\nprint(sorted([2, 1]))\n")
    for i in range(3):
        assert any_python.plain("-m", "cProfile", "-o", f"jacobi.{i}.part", "jacobi.py").code == 0
    assert any_python.plain("concat.py", "jacobi.*.part", "jacobi.dat").code == 0
    ours = merge(any_python, "all.pstats", "jacobi.*.part")
    assert_same(load(ours), load(any_python.cwd / "jacobi.dat"), 3)
    assert_same(exported(any_python, "jacobi.dat"), load(any_python.cwd / "jacobi.dat"))


def n_calls_of_fib(n: int) -> int:
    return 1 if n < 2 else 1 + n_calls_of_fib(n - 1) + n_calls_of_fib(n - 2)


def test_recipe_of_nersc(mpi: Sandbox):
    """The lines of its page on profiling Python, in a program whose ranks have more to do from one to the next."""
    program = """
import cProfile, sys
from mpi4py.MPI import COMM_WORLD

comm = COMM_WORLD

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def main():
    fib(12 + 4 * comm.rank)
    comm.allreduce(comm.rank)

pr = cProfile.Profile()
pr.enable()
main()
pr.disable()

# Dump results:
# - for binary dump
pr.dump_stats('cpu_%d.prof' %comm.rank)
# - for text dump
with open( 'cpu_%d.txt' %comm.rank, 'w') as output_file:
    sys.stdout = output_file
    pr.print_stats( sort='time' )
    sys.stdout = sys.__stdout__
"""
    (mpi.cwd / "script.py").write_text(program)
    done = mpi.plain_ranks(3, "script.py")
    assert done.code == 0, done
    paths = [mpi.cwd / f"cpu_{rank}.prof" for rank in range(3)]
    assert_same(exported(mpi, "cpu_*.prof"), added(paths), 3)
    shown = mpi.answer("report", "--rows", "0", "--min", "0", "cpu_*.prof").decode()
    assert "3 ranks" in shown
    [row] = re.findall(r"^ fib .*", shown.partition("\nFunctions ")[2], re.MULTILINE)
    assert row.split()[2] == f"{sum(n_calls_of_fib(12 + 4 * rank) for rank in range(3)):,}"


def test_ranks_that_were_exported_one_by_one(mpi: Sandbox):
    """MPI calls are MPI calls again, and count once although they are in pairs, too."""
    program = """
from mpi4py import MPI
def step(comm):
    comm.allreduce(comm.rank)
    comm.Barrier()
for _ in range(5):
    step(MPI.COMM_WORLD)
"""
    (mpi.cwd / "p.py").write_text(program)
    done = mpi.recorded_ranks(3, "p.py", options=("-o", "run.allranks"))
    assert done.code == 0, done
    for rank in range(3):
        mpi.answer("export", "run.allranks", "-f", "pstats", "--quiet", "--rank", str(rank), "-o", f"rank_{rank}.prof")
    assert_same(exported(mpi, "rank_*.prof"), exported(mpi, "run.allranks"), 3)
    tree, pairs = (json.loads(mpi.answer("report", "--json=1", run)) for run in ("run.allranks", "rank_*.prof"))
    assert tree["mpi_ns"] > 0
    assert pairs["mpi_ns"] == pytest.approx(tree["mpi_ns"], abs=len(tree["nodes"]))


# ---- which ranks ----


def ranks_of(sandbox: Sandbox, *patterns: str) -> list[int | None]:
    run = "one.allranks"
    (sandbox.cwd / run).unlink(missing_ok=True)
    merge(sandbox, run, *patterns)
    return [process["rank"] for process in json.loads(sandbox.answer("info", "--json=1", run))["processes"]]


def test_ranks_come_from_names_or_from_their_order(any_python: Sandbox):
    for name in ("r_8", "r_10", "r_9", "a.prof", "b.prof", "h1.0", "h2.1"):
        make_file(any_python, name)
    assert ranks_of(any_python, "r_*") == [8, 9, 10]
    assert ranks_of(any_python, "r_10", "r_8") == [8, 10]
    assert ranks_of(any_python, "?.prof") == [0, 1]
    assert ranks_of(any_python, "h*") == [0, 1]
    assert ranks_of(any_python, "r_10") == [0]


# ---- what is refused ----


@pytest.mark.parametrize("reader", READERS)
def test_a_pattern_that_fits_nothing(any_python: Sandbox, reader: str):
    assert_one_line_of_error(any_python.allranks(*READERS[reader], "cpu_*.prof"), "cpu_*.prof", "no file fits")
    done = any_python.plain("-c", "import allranks\ntry: allranks.load('x_*')\nexcept allranks.LoadError as e: print(e)")
    assert done.code == 0 and "x_*: no file fits" in done.out, done


def test_a_name_is_a_name_before_it_is_a_pattern(any_python: Sandbox):
    path = make_file(any_python, "cpu[0].prof")
    assert_same(exported(any_python, path.name), load(path))


def test_several_runs_are_still_an_error(any_python: Sandbox):
    make_file(any_python, "cpu_0.prof")
    make_file(any_python, "cpu_1.prof")
    for words in (("report",), ("info",), ("export", "-f", "pstats", "-o", "out")):
        done = any_python.allranks(*words, "cpu_0.prof", "cpu_1.prof")
        assert_one_line_of_error(done, "one run is needed", "in quotes")
    done = any_python.recorded("-c", "pass", options=("-o", "run.allranks"))
    assert done.code == 0, done
    (any_python.cwd / "run.allranks").rename(any_python.cwd / "cpu_2.prof")  # whatever it is called, it is a run
    assert_one_line_of_error(any_python.allranks("report", "cpu_*.prof"), "3 files fit", "allranks merge 'cpu_*.prof'")


def test_call_paths_and_caller_pairs_do_not_mix(any_python: Sandbox):
    make_file(any_python, "cpu_0.prof")
    assert any_python.recorded("-c", "pass", options=("-o", "run.allranks")).code == 0
    pairs = merge(any_python, "pairs.allranks", "cpu_0.prof")
    for first, second in (("run.allranks", "cpu_0.prof"), ("run.allranks", pairs.name), (pairs.name, "run.allranks")):
        done = any_python.allranks("merge", first, second, "-o", "out.allranks")
        assert_one_line_of_error(done, second, "call paths", "allranks export")
    tree = any_python.cwd / "run.pstats"
    any_python.answer("export", "run.allranks", "-f", "pstats", "--quiet", "-o", tree)
    merged = load(merge(any_python, "out.pstats", tree, "cpu_0.prof"))
    assert_same(merged, added([tree, any_python.cwd / "cpu_0.prof"]), 2)


def test_what_is_read_is_not_written_over(any_python: Sandbox):
    path = make_file(any_python, "cpu_0.pstats")
    before = path.read_bytes()
    assert_one_line_of_error(any_python.allranks("export", path.name, "-f", "pstats"), "-o FILE")
    assert_one_line_of_error(any_python.allranks("export", "cpu_*.pstats", "-f", "pstats"), "-o FILE")
    merge(any_python, path.name, path.name)
    assert path.read_bytes() == before
    assert_same(load(any_python.cwd / "cpu_0-2.pstats"), load(path))


def test_files_that_only_look_alike(any_python: Sandbox):
    key, figures = ("a.py", 1, "f"), (1, 1, 0.5, 0.5, {})
    wrong = {
        "json": b'{"a": 1}\n',
        "a list": marshal.dumps([1, 2]),
        "code": marshal.dumps({("profile", 0, compile("1", "x", "exec")): figures}),
        "names": marshal.dumps({(1, 1, "f"): figures}),
        "negative": marshal.dumps({key: (1, 1, -1.0, 0.5, {})}),
        "endless": marshal.dumps({key: (1, 1, float("inf"), 0.5, {})}),
        "no number": marshal.dumps({key: (1, 1, float("nan"), 0.5, {})}),
        "too many": marshal.dumps({key: (1, 10**30, 0.5, 0.5, {})}),
        "samples": marshal.dumps({("__sampled__",): True}),
        "callers": marshal.dumps({key: (1, 1, 0.5, 0.5, {key: "x"})}),
        "one key": b"{)\x01",
    }
    for name, content in wrong.items():
        (any_python.cwd / name).write_bytes(content)
        assert_one_line_of_error(any_python.allranks("report", name), f"{name}: ", "(")


def test_a_cut_or_damaged_file_is_never_a_crash(any_python: Sandbox):
    path = make_file(any_python, "cpu_0.prof")
    content = path.read_bytes()
    chance = random.Random(1)
    for n_bytes in [*range(3, 60, 5), *(chance.randrange(len(content)) for _ in range(20)), len(content) - 1]:
        path.write_bytes(content[:n_bytes])
        assert_one_line_of_error(any_python.allranks("report", path.name), path.name)
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 2, 8))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        done = any_python.allranks("report", path.name)
        if done.code != 0:
            assert_one_line_of_error(done, path.name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(any_python: Sandbox):
    path = make_file(any_python, "cpu_0.prof")
    path.chmod(0)
    assert_one_line_of_error(any_python.allranks("report", path.name), "Permission denied")
