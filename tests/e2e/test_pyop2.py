# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in for PyOP2's timers: what its page on profiling promises, with a recording and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Sandbox, own_copy, settled, times_unlike, workload
from readings import Report

PACKAGE = "allranks.compat.pyop2"
PAGE = workload("pyop2_page.py")
TIMERS = workload("pyop2_timers.py")
AS = ("-q", "--as", "pyop2")
EXACT = {"rel": 0.01, "abs_s": 0.0}
HEAD = "**** PyOP2 timings summary ****"


def write(sandbox: Sandbox, text: str, name: str = "program.py") -> str:
    (sandbox.cwd / name).write_text(text)
    return name


def with_shim(sandbox: Sandbox) -> dict[str, str]:
    env = own_copy(sandbox)
    done = sandbox.plain("-m", "allranks", "install-shims", "pyop2", env=env)
    assert (done.code, done.out) == (0, f"pyop2: installed, {env['PYTHONPATH']}/pyop2.py\n"), done
    return env


def assert_same(one: Done, other: Done) -> None:
    assert (one.code, one.stdout, one.stderr) == (other.code, other.stdout, other.stderr), f"{one}\n{other}"


def regions_of(report: Report) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in report.data["functions"] if each["kind"] == "region"}


# ---- the page ----

PAGE_SAYS = """\
my code
my func
my func
lines
by line
by memory
my code True True
my function True True
ParLoop compute False False
"""


def test_the_page_runs_as_it_is(any_python: Sandbox):
    env = with_shim(any_python)
    plain = any_python.plain(PAGE, env=env)
    assert (plain.code, plain.out, plain.err) == (0, PAGE_SAYS, "")
    assert_same(any_python.recorded(PAGE, options=(*AS, "-o", "as.allranks")), plain)
    assert_same(any_python.recorded(PAGE, options=("-q", "-o", "shim.allranks"), env=env), plain)
    for name in ("as.allranks", "shim.allranks"):
        found = regions_of(any_python.report(name))
        assert {name: each["calls"] for name, each in found.items()} == {"my code": 1, "my function": 2}


def test_the_page_on_two_ranks(mpi: Sandbox):
    done = mpi.recorded_ranks(2, PAGE, options=(*AS, "-o", "run.allranks"))
    assert (done.code, sorted(done.out.splitlines())) == (0, sorted(2 * PAGE_SAYS.splitlines())), done


@pytest.mark.parametrize("line", [
    "import pyop2", "import pyop2.profiling", "from pyop2 import profiling", "import pyop2.profiling as profiling",
    "from pyop2.profiling import *", "import importlib; importlib.import_module('pyop2.profiling')",
])  # fmt: skip
def test_all_ways_to_import_it_give_one_module(any_python: Sandbox, line: str):
    env = with_shim(any_python)
    check = f"""{line}
import sys
import pyop2.profiling
import {PACKAGE}.profiling as ours
print(pyop2.profiling is ours, sys.modules['pyop2.profiling'] is ours, sys.modules['pyop2'].profiling is ours)
try:
    import pyop2.op2
except ModuleNotFoundError as error:
    print(error)
"""
    expected = "True True True\nNo module named 'pyop2.op2'\n"
    for done in (any_python.plain("-c", check, env=env), any_python.recorded("-c", check, options=AS)):
        assert (done.code, done.out, done.err) == (0, expected, ""), done


# ---- times ----


def unlike(log: dict[str, Any]) -> dict[str, str]:
    """Of one process: what its timers say, and what it noted itself."""
    noted, found = log["noted"], log["found"]
    assert {name: each[0] for name, each in found.items()} == {name: each[0] for name, each in noted.items()}
    for n_calls, total, average in found.values():
        assert average == pytest.approx(total / n_calls)
    seconds = {name: each[1] for name, each in noted.items()}
    return times_unlike({name: each[1] for name, each in found.items()}, seconds, **EXACT)


def unlike_regions(report: Report, logs: list[dict[str, Any]]) -> dict[str, str]:
    found = regions_of(report)
    names = logs[0]["noted"]
    assert {name: each["calls"] for name, each in found.items()} == {
        name: sum(log["noted"][name][0] for log in logs) for name in names
    }
    wrong = {}
    for which, function in (("sum", sum), ("max", max), ("min", min)):
        noted = {f"{which} of {name}": function(log["noted"][name][1] for log in logs) for name in names}
        seconds = {f"{which} of {name}": each["time_ns"][which] / 1e9 for name, each in found.items()}
        wrong.update(times_unlike(seconds, noted, **EXACT))
    return wrong


SAID = "caught 'as it should'\nmy_func Documented.\n"


def test_timers_agree_with_the_program(any_python: Sandbox):
    env = with_shim(any_python)

    def look() -> dict[str, str]:
        done = any_python.plain(TIMERS, "plain", env=env)
        assert (done.code, done.out, done.err) == (0, SAID, ""), done
        return unlike(any_python.read_json("plain.0.json"))

    assert not settled(look)


def test_timers_of_a_recorded_program_are_regions(any_python: Sandbox):
    def look() -> dict[str, str]:
        (any_python.cwd / "run.allranks").unlink(missing_ok=True)
        done = any_python.recorded(TIMERS, "log", options=(*AS, "-o", "run.allranks"))
        assert (done.code, done.out, done.err) == (0, SAID, ""), done
        log = any_python.read_json("log.0.json")
        return {**unlike(log), **unlike_regions(any_python.report("run.allranks"), [log])}

    assert not settled(look)
    lines = Path(TIMERS).read_text().splitlines()
    report = any_python.report("run.allranks")
    places = {node.name: lines[node["line"] - 1] for node in report.nodes if node.kind == "region" and node["line"]}
    assert places["my code"] == '    with timed_region("my code"):'
    assert places["my function"] == "    returned = my_func(UNIT_S, times=i)"


def test_timers_of_two_ranks(mpi: Sandbox):
    def look() -> dict[str, str]:
        (mpi.cwd / "run.allranks").unlink(missing_ok=True)
        done = mpi.recorded_ranks(2, TIMERS, "log", "mpi", options=(*AS, "-o", "run.allranks"))
        assert (done.code, sorted(done.out.splitlines())) == (0, sorted(2 * SAID.splitlines())), done
        logs = [mpi.read_json(f"log.{rank}.json") for rank in range(2)]
        wrong = {f"{name} of rank {rank}": how for rank in range(2) for name, how in unlike(logs[rank]).items()}
        return {**wrong, **unlike_regions(mpi.report("run.allranks"), logs)}

    assert not settled(look)


TIMERS_FROM_ALL_SIDES = """
import csv, math, threading, time
from pyop2.profiling import *

assert get_timers() == {} and timing("never") == 0.0 and math.isnan(timing("never", total=False))
summary()  # prints nothing
t = Timer("a")
assert Timer("a") is t and get_timers() == {}
for what in (t.stop, lambda: t.elapsed, lambda: toc("b")):
    try:
        what()
    except AssertionError as error:
        print(error)
t.start()
assert list(get_timers()) == ["a"] and t.elapsed >= 0
time.sleep(0.02)
t.start()  # anew
seconds = t.stop()
assert seconds < 0.02 and (t.name, t.ncalls, t.total, t.average) == ("a", 1, seconds, seconds)
t.add(2.0)
assert t.ncalls == 2 and timing("a") == seconds + 2.0 and timing("a", total=False) == (seconds + 2.0) / 2
assert timing("a", reset=True) == seconds + 2.0 and timing("a") == 0.0 and math.isnan(t.average)
clock = iter(range(0, 100, 5))
own = Timer("own clock", timer=lambda: next(clock))
own.start()
assert own.stop() == 5
nameless = Timer()
assert nameless.name.startswith("timer") and Timer() is not nameless
with_reset = get_timers(reset=True)
assert sorted(with_reset) == ["a", "own clock"] and get_timers() == {} and with_reset["own clock"].total == 5
assert timing("own clock") == 0.0 and Timer("own clock") is not own

@timed_function
def bare(x, *, y=1):
    return x + y

import inspect
assert bare(1, y=2) == 3 and str(inspect.signature(bare)) == "(x, *, y=1)"
reset_timers()
bare(1)
assert get_timers()["bare"].ncalls == 1
reset_timers()

def work():
    for _ in range(5000):
        with timed_region("shared"):
            pass

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert get_timers()["shared"].ncalls == 20000
tic("across")
thread = threading.Thread(target=lambda: toc("across"))
thread.start()
thread.join()
assert get_timers()["across"].ncalls == 1
reset_timers()
Timer("long name of a timer").add(123456789.0)
Timer("b, quoted").add(0.25)
Timer("b, quoted").add(0.5)
summary()
Timer.summary()
summary("table.csv")
with open("table.csv", newline="") as file:
    text = file.read()
assert text.startswith("Timer,Total time,Calls,Average time\\n") and "\\r" not in text
rows = {row["Timer"]: row for row in csv.DictReader(text.splitlines())}
assert rows["b, quoted"] == {"Timer": "b, quoted", "Total time": "0.75", "Calls": "2", "Average time": "0.375"}
"""

TABLE = """\
               Timer |  Total time | Calls | Average time
           b, quoted |        0.75 |     2 |        0.375
long name of a timer | 1.23457e+08 |     1 |  1.23457e+08
"""


def test_timers_from_all_sides(any_python: Sandbox):
    env = with_shim(any_python)
    program = write(any_python, TIMERS_FROM_ALL_SIDES)
    plain = any_python.plain(program, env=env)
    not_started = "".join(f"Timer {name} has not been started yet.\n" for name in "aab")
    assert (plain.code, plain.out, plain.err) == (0, not_started + TABLE + TABLE, ""), plain
    assert_same(any_python.recorded(program, options=AS), plain)


# ---- the summary at the end ----

SLEEPS = """
import sys, time
from pyop2.profiling import timed_region
with timed_region("nap"):
    time.sleep(0.01)
print("done")
sys.exit(3)
"""


@pytest.mark.parametrize("value", ["1", "0", "yes", None])
def test_summary_at_the_end(any_python: Sandbox, value: str | None):
    program = write(any_python, SLEEPS)
    env = with_shim(any_python)
    wanted = {"PYOP2_PRINT_SUMMARY": value} if value else {}
    for done in (
        any_python.plain(program, env={**env, **wanted}),
        any_python.recorded(program, options=AS, env=wanted),
    ):
        first, *others = done.out.splitlines()
        assert (done.code, first) == (3, "done"), done
        if value == "1":
            head, columns, row = others
            assert head == HEAD and columns == "Timer | Total time | Calls | Average time"
            assert [cell.strip() for cell in row.split("|")][::2] == ["nap", "1"]
        else:
            assert others == []
        remedy = "not a number (set it to 1, or 0); no summary will be printed"
        assert done.err == (f"allranks: error: PYOP2_PRINT_SUMMARY=yes: {remedy}\n" if value == "yes" else "")
    empty = any_python.recorded("-c", "import pyop2.profiling", options=AS, env=wanted)
    assert (empty.code, empty.out) == (0, ""), empty  # no timer, no table


def test_summary_is_that_of_rank_0(mpi: Sandbox):
    program = write(mpi, "from mpi4py import MPI\n" + SLEEPS.replace('"nap"', 'f"nap of {MPI.COMM_WORLD.rank}"').replace("3", "0"))
    done = mpi.recorded_ranks(2, program, options=AS, env={"PYOP2_PRINT_SUMMARY": "1"})
    assert done.code == 0 and done.out.count(HEAD) == 1, done
    assert "nap of 0 |" in done.out and "nap of 1 |" not in done.out, done
    assert done.out.count("done\n") == 2, done


# ---- decorators of other profilers ----

DECORATED = """
import builtins
given = {given}
if given:
    def decorate(function=None, **options):
        if function is None:
            return lambda function: decorate(function, **options)
        return function.__name__, options
    decorate.__module__ = given
    builtins.profile = decorate

from pyop2.profiling import lineprof, memprof, profile

def f(): pass

for decorator in (profile, lineprof, memprof):
    print(decorator.__name__, decorator(f) is f, decorator(precision=4)(f) is f, decorator(f) == ("f", {{}}),
          decorator(precision=4)(f) == ("f", {{"precision": 4}}))
"""
LINE_PROFILERS = ("line_profiler", "line_profiler.line_profiler")


@pytest.mark.parametrize("given", ["", *LINE_PROFILERS, "memory_profiler", "__main__"])
def test_decorators_pass_through_unless_their_profiler_runs(any_python: Sandbox, given: str):
    program = write(any_python, DECORATED.format(given=repr(given)))
    enabled = {"profile": bool(given), "lineprof": given in LINE_PROFILERS, "memprof": given not in ("", *LINE_PROFILERS)}
    expected = "".join(f"{name} {not on} {not on} {on} {on}\n" for name, on in enabled.items())
    for done in (any_python.plain(program, env=with_shim(any_python)), any_python.recorded(program, options=AS)):
        assert (done.code, done.out, done.err) == (0, expected, ""), done


# ---- the builtin ----

UNDECLARED = """
import multiprocessing, os, subprocess, sys

@profile
def f(x):
    return x + 1

@profile(precision=4)
def g(x):
    return x + 2

@profile(stream=sys.stdout)
def h(x):
    return x + 3

class C:
    @staticmethod
    @profile
    def method(x):
        return x + 4

if __name__ == "__main__":
    with profile:
        print(f(0), g(0), h(0), C.method(0), f.__name__, f.__module__)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(f, [1, 2]))
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", "print(profile(int) is int)"], check=True)
    sys.exit(5)
"""


def test_profile_need_not_be_imported(any_python: Sandbox):
    program = write(any_python, UNDECLARED)
    done = any_python.recorded(program, options=("-q", "-o", "run.allranks"))
    assert (done.code, done.out, done.err) == (5, "1 2 3 4 f __main__\n[2, 3]\nTrue\n", ""), done
    report = any_python.report("run.allranks")
    assert (report.calls("f"), report.calls("g"), report.calls("h"), report.calls("C.method", "method")) == (3, 1, 1, 1)
    plain = any_python.plain(program)
    assert plain.code == 1 and "NameError: name 'profile' is not defined" in plain.err, plain


GUARDED = """
import builtins
try:
    profile
except NameError:
    def profile(function):
        return function

if 'profile' not in dir(builtins):
    builtins.profile = lambda function: function

@profile
def f():
    return 1

@builtins.profile
def g():
    return 2

print(f(), g(), 'profile' in globals())
"""


def test_programs_that_ask_for_it_first(any_python: Sandbox):
    program = write(any_python, GUARDED)
    assert any_python.plain(program).out == "1 2 True\n"
    done = any_python.recorded(program, options=("-q",))
    assert (done.code, done.out, done.err) == (0, "1 2 False\n", ""), done  # as under kernprof
    done = any_python.recorded(program, options=AS)
    assert (done.code, done.out, done.err) == (0, "1 2 False\n", ""), done


def test_a_builtin_that_is_there_stays(any_python: Sandbox):
    (any_python.cwd / "sitecustomize.py").write_text("import builtins\nbuiltins.profile = 'mine'\n")
    done = any_python.recorded("-c", "print(profile)", options=("-q",), env={"PYTHONPATH": str(any_python.cwd)})
    assert (done.code, done.out) == (0, "mine\n"), done


# ---- in place of the original, and beside it ----


def test_the_shim_comes_and_goes(any_python: Sandbox):
    env = with_shim(any_python)
    place = Path(env["PYTHONPATH"])
    program = ("-c", "import pyop2.profiling; print(pyop2.profiling.__name__)")

    def states(*words: str) -> list[str]:
        done = any_python.plain("-m", "allranks", "install-shims", *words, "--json", "pyop2", env=env)
        return [row["state"] for row in json.loads(done.out)["shims"]]

    assert any_python.plain(*program, env=env).out == f"{PACKAGE}.profiling\n"
    assert states() == ["present"]
    # The shim is not taken for the original.
    assert any_python.recorded(*program, options=AS, env=env).out == f"{PACKAGE}.profiling\n"
    done = any_python.plain("-m", "pyop2", env=env)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert done.err.startswith("allranks: error: pyop2: ") and "allranks run --as pyop2 SCRIPT" in done.err
    assert states("--remove") == ["removed"]
    assert any_python.plain(*program, env=env).code == 1
    assert {path.name for path in place.iterdir()} <= {"allranks", "__pycache__"}


def test_a_directory_of_this_name_is_not_the_original(any_python: Sandbox):
    (any_python.cwd / "pyop2").mkdir()
    done = any_python.recorded("-c", "import pyop2.profiling; print(pyop2.profiling.__name__)", options=AS)
    assert (done.code, done.out) == (0, f"{PACKAGE}.profiling\n"), done


ORIGINAL = {
    "__init__.py": "from pyop2 import op2, profiling\nfrom pyop2.op2 import *\nversion = 'original'\n",
    "op2.py": "__all__ = ['init']\ndef init(): return 'initialised'\n",
    "profiling.py": """\
'''The original.'''
__all__ = ['timed_stage', 'timed_region', 'timed_function']
from pyop2.op2 import init
timed_stage = timed_region = timed_function = init
""",
}
SEEN = """
import inspect, sys
import pyop2, pyop2.op2, pyop2.profiling

def describe(module):
    spec = module.__spec__
    names = [name for name in vars(module) if not name.startswith('__')]
    print(module.__name__, module.__doc__, module.__file__, module.__package__, spec.name, spec.origin, spec.has_location)
    print(type(module.__loader__).__name__, spec.loader is module.__loader__, inspect.getsource(module))
    print({name: repr(getattr(module, name)).partition(' at ')[0] for name in sorted(names) if name not in added})

added = sys.argv[1:]
for module in (pyop2, pyop2.op2, pyop2.profiling):
    describe(module)
from pyop2.profiling import *
print(pyop2.init(), timed_region(), pyop2.version, 'timing' in globals())
"""
ADDED = ("Timer", "get_timers", "lineprof", "memprof", "profile", "reset_timers", "summary", "tic", "timing", "toc")


def install_original(sandbox: Sandbox, files: dict[str, str]) -> dict[str, str]:
    """In a site directory of its own."""
    place = sandbox.cwd.parent / "site"
    (place / "pyop2").mkdir(parents=True)
    for name, text in files.items():
        (place / "pyop2" / name).write_text(text)
    return {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}


def test_nothing_of_an_installed_pyop2_is_hidden(any_python: Sandbox):
    env = install_original(any_python, ORIGINAL)
    program = write(any_python, SEEN)
    plain = any_python.plain(program, *ADDED, env=env)
    assert plain.code == 0 and plain.out.endswith("initialised initialised original False\n"), plain
    assert_same(any_python.recorded(program, *ADDED, options=("-q",), env=env), plain)
    assert_same(any_python.recorded(program, *ADDED, options=AS, env=env), plain)
    done = any_python.plain("-m", "allranks", "install-shims", "pyop2", env=env)
    assert (done.code, done.out) == (0, f"pyop2: left alone, it is installed: {env['PYTHONPATH']}/pyop2/__init__.py\n")


def test_names_that_an_installed_pyop2_lacks_are_added(any_python: Sandbox):
    env = install_original(any_python, ORIGINAL)
    program = write(any_python, f"""
from pyop2 import timing
from pyop2.profiling import {', '.join(ADDED)}, timed_region, timed_stage
import pyop2.profiling as profiling
print(sorted(name for name in vars(profiling) if getattr(vars(profiling)[name], '__module__', '') == '{PACKAGE}.profiling'))
tic("x")
toc("x")
print(timing("x") > 0, profiling.timing("x") == timing("x"), timed_region() + timed_stage())
""")
    done = any_python.recorded(program, options=AS, env={**env, "PYOP2_PRINT_SUMMARY": "1"})
    assert done.code == 0, done
    names, times, head, *table = done.out.splitlines()
    assert names == repr(sorted(ADDED)) and times == "True True initialisedinitialised", done
    assert head == HEAD and len(table) == 2, done


def test_timers_of_an_installed_pyop2_come_first(any_python: Sandbox):
    own = "def timing(name, reset=False, total=True): return 'own', name, reset, total\ndef summary(): print('own summary')\n"
    env = install_original(any_python, {"__init__.py": "", "profiling.py": own})
    text = 'from pyop2.profiling import summary, tic, toc\nfrom pyop2 import timing\ntic("x")\ntoc("x")\nprint(timing("x", total=False))\nsummary()'
    done = any_python.recorded(write(any_python, text), options=AS, env={**env, "PYOP2_PRINT_SUMMARY": "1"})
    assert (done.code, done.out) == (0, "('own', 'x', False, False)\nown summary\n"), done


def test_an_installed_pyop2_that_fails_to_load_fails_as_it_does(any_python: Sandbox):
    env = install_original(any_python, {"__init__.py": "import petsc_that_is_missing\n"})
    program = write(any_python, "import pyop2.profiling")
    plain = any_python.plain(program, env=env)
    assert plain.code == 1 and plain.err.endswith("No module named 'petsc_that_is_missing'\n")
    assert_same(any_python.recorded(program, options=AS, env=env), plain)
