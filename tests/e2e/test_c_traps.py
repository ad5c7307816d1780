# SPDX-License-Identifier: BSD-3-Clause
"""Traps of replacing pointers in definitions of C functions: the program does not notice, and counts are right.

The programs tests/awkward/c_*.py run in the default mode in test_awkward.py, and in the other modes here. Modules in C
are compiled for the interpreter under test, from trap_module.c.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from c_truth import find
from harness import Done, Sandbox, workload
from readings import Report
from test_awkward import AWKWARD, Case, cases_of, minor_of

MODES = {"default": (), "exact": ("--exact",), "all": ("--builtins", "all"), "none": ("--builtins", "none")}
TRAP = Path(__file__).with_name("trap_module.c")
FACTS = "import sysconfig; print(sysconfig.get_path('include'), sysconfig.get_path('platinclude'), sysconfig.get_config_var('EXT_SUFFIX'))"
RECORDING = ("-q", "-o", "run.allranks")


def build(python: Sandbox, sources: list[Path], target: str, *options: str) -> None:
    """A module in C or C++ for the interpreter, with relocations that are read-only after the start."""
    include, platform, _ = python.plain("-c", FACTS).out.split()
    if not Path(platform, "pyconfig.h").exists():
        pytest.skip(f"no headers of Python {python.stack.python_version}")
    libraries = ["-lstdc++"] if any(source.suffix == ".cpp" for source in sources) else []
    words = [python.stack.compiler, "-shared", "-fPIC", "-O1", "-w", f"-I{include}", f"-I{platform}", "-Wl,-z,relro,-z,now", *options]
    subprocess.run([*words, "-o", str(python.cwd / target), *map(str, sources), *libraries], check=True)


def record(python: Sandbox, *program: str, options: tuple[str, ...] = (), **how) -> Report:
    done = python.recorded(*program, options=(*RECORDING, *options), **how)
    assert (done.code, done.err) == (0, ""), done
    return python.report("run.allranks")


def run_text(python: Sandbox, text: str, *options: str, **how) -> Report:
    (python.cwd / "program.py").write_text(textwrap.dedent(text))
    return record(python, "program.py", options=options, **how)


def calls_by_name(report: Report) -> dict[str, int]:
    calls: dict[str, int] = {}
    for node in report.nodes:
        if node.kind == "builtin":
            calls[node.name] = calls.get(node.name, 0) + node["calls"]
    return calls


def ending(done: Done) -> tuple[int, str, str]:
    hidden = r"\b0x[0-9a-f]{6,}\b"
    return done.code, re.sub(hidden, "", done.out), re.sub(hidden, "", done.err)


# ---- programs that look for it ----

CASES = [case for path in sorted(AWKWARD.glob("c_*.py")) for case in cases_of(path)]


@pytest.mark.parametrize("mode", ["exact", "all"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_behaves_the_same(any_python: Sandbox, case: Case, mode: str):
    shutil.copy(case.program.path, any_python.cwd)
    words = [case.program.path.name if word == "SCRIPT" else word for word in case.target]
    env = {"PYTHONHASHSEED": "0"}
    plain = any_python.plain(*words, env=env)
    assert plain.code == case.code_on(any_python.stack.python_version), plain
    recorded = any_python.recorded(*words, options=(*RECORDING, *MODES[mode]), env=env)
    assert ending(recorded) == ending(plain)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("part", [
    "by_convention", "by_type", "from_c", "with_errno", "from_heap", "again_in_one_phase", "that_fail", "in_read_only_memory",
])  # fmt: skip
def test_modules_in_c_behave_the_same(any_python: Sandbox, part: str, mode: str):
    build(any_python, [TRAP], "trap.so")
    plain = any_python.plain(workload("traps.py"), part)
    assert plain.code == 0, plain
    recorded = any_python.recorded(workload("traps.py"), part, options=(*RECORDING, *MODES[mode]))
    assert ending(recorded) == ending(plain)


# ---- hashes and addresses ----

MADE_BEFORE = """
    import builtins, math, os, time, types, zlib
    modules = (builtins, math, os, time, zlib)
    functions = [each for module in modules for each in vars(module).values() if isinstance(each, types.BuiltinFunctionType)]
    builtins.made_before = {function: hash(function) for function in functions}
"""
LOOKS_FOR_THEM = """
    import builtins, math, os, time, zlib
    print(len(made_before) > 200, [f.__name__ for f in list(made_before) if f not in made_before or hash(f) != made_before[f]])
    print(made_before[len] == hash(len), math.sqrt in made_before, zlib.crc32 in set(made_before), time.sleep in made_before)
"""


@pytest.mark.parametrize("mode", MODES)
def test_tables_made_before_the_recording(any_python: Sandbox, mode: str):
    (any_python.cwd / "sitecustomize.py").write_text(textwrap.dedent(MADE_BEFORE))
    (any_python.cwd / "program.py").write_text(textwrap.dedent(LOOKS_FOR_THEM))
    env = {"PYTHONPATH": str(any_python.cwd)}
    plain = any_python.plain("program.py", env=env)
    assert plain.out == "True []\nTrue True True True\n"
    recorded = any_python.recorded("program.py", options=(*RECORDING, *MODES[mode]), env=env)
    assert ending(recorded) == ending(plain)


def test_json_keeps_its_quick_way(any_python: Sandbox):
    """Where json's encoder does not recognise the function that quotes texts, it calls it for each of them."""
    report = run_text(any_python, """
        import json
        def dumps():
            for _ in range(10):
                json.dumps(["text"] * 100)
        dumps()
    """)  # fmt: skip
    assert calls_by_name(report).get("built-in method _json.encode_basestring_ascii", 0) == 0
    assert not [name for name in calls_by_name(report) if "encode_basestring" in name]


# ---- modules in C ----


def trap_calls(python: Sandbox, *parts: str, mode: str = "default") -> dict[str, int]:
    build(python, [TRAP], "trap.so")
    report = record(python, workload("traps.py"), *parts, options=MODES[mode])
    return {name: n for name, n in calls_by_name(report).items() if "trap" in name}


def of_trap(name: str) -> str:
    return f"built-in method trap.{name}"


def test_every_convention_is_counted(any_python: Sandbox):
    found = trap_calls(any_python, "by_convention")
    assert found.get(of_trap("fails")) == 2
    # Calls with a wrong number of arguments are refused before they get there.
    expected = {"none_given": 3, "one_given": 3, "same": 3, "tuple_given": 3, "dict_given": 6, "array_given": 6, "names_given": 9}
    assert {name: found.get(of_trap(name)) for name in expected} == expected


def test_read_only_definitions_are_counted(any_python: Sandbox):
    assert trap_calls(any_python, "in_read_only_memory")[of_trap("one_given")] == 1


def test_methods_of_types_are_counted(any_python: Sandbox):
    """Types that share definitions have one count, under the name of one of them."""
    found = trap_calls(any_python, "by_type")
    where = {name: n for name, n in found.items() if "'where'" in name}
    assert sum(where.values()) == 4, found
    assert all(re.fullmatch(r"method 'where' of 'trap\.(Early|Late)' objects", name) for name in where)


def test_definitions_on_the_heap_are_counted(any_python: Sandbox):
    """40 modules, one after the other; the address of a definition comes again. (`made` comes with no import.)"""
    found = trap_calls(any_python, "from_heap")
    assert {name: found.get(of_trap(name)) for name in ("heap_0", "heap_1", "heap_2", "heap_3")} == dict.fromkeys(
        ("heap_0", "heap_1", "heap_2", "heap_3"), 40
    )
    assert found[of_trap("make")] == 80


def test_calls_from_c_are_below_their_caller(any_python: Sandbox):
    build(any_python, [TRAP], "trap.so")
    report = record(any_python, workload("traps.py"), "from_c")
    (inner,) = [node for node in report.named("built-in method builtins.max") if "from_c" in node.path]
    above = [node.name for node in inner.ancestors if node.kind == "builtin"]
    assert [name for name in above if name.startswith(of_trap(""))] == [of_trap("calls"), of_trap("calls")]


def test_thread_locals_are_small(any_python: Sandbox):
    """A library that is loaded late gets its thread-local storage from a small reserve, or not at all."""
    packages = any_python.plain("-c", "import allranks; print(allranks.__path__[0])").out.strip()
    libraries = [*Path(packages).rglob("*.so")]
    assert libraries
    for library in libraries:
        headers = subprocess.run(["readelf", "-lW", library], check=True, capture_output=True, text=True).stdout
        for line in headers.splitlines():
            if line.split()[:1] == ["TLS"]:
                assert int(line.split()[5], 16) <= 256, f"{library}: {line}"


# ---- stacks, processes, interpreters ----

KILLED = """
    import math, time
    from greenlet import getcurrent, greenlet
    def suspended():
        max([1], key=lambda x: getcurrent().parent.switch())
    def kills():
        one = greenlet(suspended)
        one.switch()
        del one
        for _ in range(100):
            math.sqrt(2)
        time.sleep(0.005)
    def kills_in_a_callback():
        ones = [greenlet(suspended) for _ in range(3)]
        for one in ones:
            one.switch()
        del one
        sorted([1, 2, 3], key=lambda x: ones.pop() and math.sqrt(x))
        math.sqrt(3)
    kills()
    kills_in_a_callback()
    math.sqrt(4)
"""


def test_a_greenlet_killed_by_its_deallocation(any_python: Sandbox):
    """It leaves C functions that nobody has entered on this stack: what follows is where it belongs."""
    if any_python.plain("-c", "import greenlet").code:
        pytest.skip("no greenlet")
    report = run_text(any_python, KILLED)
    by_parent: dict[str, int] = {}
    for node in report.named("built-in method math.sqrt"):
        assert node.parent
        name = node.parent.name.rpartition(".")[2]
        by_parent[name] = by_parent.get(name, 0) + node["calls"]
    assert by_parent == {"kills": 100, "<lambda>": 3, "kills_in_a_callback": 1, "<module>": 1}
    (sleep,) = report.named("built-in method time.sleep")
    assert sleep.parent and sleep.parent.name == "kills"
    assert sleep["time_ns"]["sum"] >= 5e6 * 0.99
    for name in ("kills", "kills_in_a_callback"):
        (node,) = report.named(name)
        assert node.parent and node.parent.name == "<module>"


FORKS = """
    import os
    first = os.getpid()
    def forks():
        child = os.fork()
        for i in range(10):
            divmod(i, 3)
        if child == 0:
            for i in range(5):
                abs(i)
            os._exit(0)
        os.waitpid(child, 0)
    def forks_in_a_callback():
        def key(x):
            if x == 1 and os.fork() == 0:
                return x
            return -x
        sorted([3, 1, 2], key=key)
        for i in range(7):
            pow(i, 2)
    forks()
    forks_in_a_callback()
    if os.getpid() == first:
        os.wait()
"""


def test_fork_within_a_c_function(any_python: Sandbox):
    run_text(any_python, FORKS)
    any_python.wait_for_the_last()
    calls = calls_by_name(any_python.report("run.allranks"))
    wanted = {"divmod": 20, "abs": 5, "pow": 14}
    assert {name: calls.get(f"built-in method builtins.{name}") for name in wanted} == wanted
    assert calls["built-in method posix.fork"] == 2
    assert calls["built-in method posix._exit"] == 1


@pytest.mark.parametrize("code", [
    "import os, sys; sorted([1], key=lambda x: os.execv(sys.executable, [sys.executable, '-c', 'divmod(1, 2)']))",
    "import os, sys; os.execve(sys.executable, [sys.executable, '-c', 'divmod(1, 2)'], dict(os.environ))",
])  # fmt: skip
def test_exec_within_a_c_function(any_python: Sandbox, code: str):
    """The call that replaces the program is recorded, and so is the new one."""
    calls = calls_by_name(record(any_python, "-c", code))
    assert calls["built-in method builtins.divmod"] == 1
    assert [n for name, n in calls.items() if name.startswith("built-in method posix.exec")] == [1]


LEAVES = """
    import os, time
    def leaves():
        time.sleep(0.003)
        sorted([1], key=lambda x: os._exit(0))
    leaves()
"""


def test_exit_within_a_c_function(any_python: Sandbox):
    report = run_text(any_python, LEAVES)
    (leaves,) = report.named("leaves")
    (sleep,) = report.named("built-in method time.sleep")
    assert sleep.parent == leaves
    assert sleep["time_ns"]["sum"] >= 3e6 * 0.99
    (left,) = report.named("built-in method posix._exit")
    assert left["calls"] == 1
    assert "built-in method builtins.sorted" in [node.name for node in left.ancestors]
    assert calls_by_name(report)["built-in method builtins.sorted"] == 1


INTERPRETERS = """
    import sys, threading
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters
    CODE = "import json, math, re\\nfor i in range(2000): divmod(i, 3)\\nmath.sqrt(2); json.dumps([1]); re.compile('a').match('a')"
    def create():
        made = interpreters.create()
        return made[0] if isinstance(made, tuple) else made
    ids = [create() for _ in range(3)]
    interpreters.run_string(ids[0], CODE)
    threads = [threading.Thread(target=interpreters.run_string, args=(each, CODE)) for each in ids[1:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in ids:
        interpreters.destroy(each)
    for i in range(1000):
        divmod(i, 3)
    print("done", len(interpreters.list_all()))
"""


def write_interpreters(python: Sandbox, name: str) -> None:
    module = "_interpreters" if minor_of(python.stack.python_version) >= 13 else "_xxsubinterpreters"
    if python.plain("-c", f"import {module}").code:
        pytest.skip("no module for interpreters")
    (python.cwd / name).write_text(textwrap.dedent(INTERPRETERS))


def test_interpreters_of_a_child(any_python: Sandbox):
    """Each reads allranks.pth, as the child itself did, which is recorded already."""
    write_interpreters(any_python, "child.py")
    code = "import subprocess, sys\nprint(subprocess.run([sys.executable, 'child.py'], stdout=subprocess.PIPE))\n"
    (any_python.cwd / "program.py").write_text(code)
    plain = any_python.plain("program.py")
    recorded = any_python.recorded("program.py", options=RECORDING)
    assert ending(recorded) == ending(plain)
    calls = calls_by_name(any_python.report("run.allranks"))
    assert calls["built-in method builtins.divmod"] == 3 * 2000 + 1000


@pytest.mark.parametrize("mode", MODES)
def test_interpreters(any_python: Sandbox, mode: str):
    """They share definitions; calls in them are all counted."""
    write_interpreters(any_python, "program.py")
    plain = any_python.plain("program.py")
    recorded = any_python.recorded("program.py", options=(*RECORDING, *MODES[mode]))
    assert ending(recorded) == ending(plain)
    if mode in ("default", "exact"):  # cProfile sees the interpreter only that it was started in
        calls = calls_by_name(any_python.report("run.allranks"))
        assert calls["built-in method builtins.divmod"] == 3 * 2000 + 1000


ASYNC = """
    import asyncio
    def counted(x):
        return abs(x)
    async def one(n):
        for i in range(20):
            await asyncio.sleep(0)
            counted(i)
    async def main():
        await asyncio.gather(*(one(n) for n in range(50)))
    asyncio.run(main())
"""


def test_the_profiler_does_not_count_its_own_calls(any_python: Sandbox):
    """At each step of a task it asks asyncio, by a C function, which task this is."""
    report = run_text(any_python, ASYNC)
    figures = find(report).figures
    assert figures["counted", "built-in method builtins.abs"].calls == 1000
    names = {name for (caller, name) in figures if caller in ("counted", "one")}
    assert not [name for name in names if "task" in name.lower()], names


# ---- modules by Cython and pybind11 ----

CYTHON = """
# cython: language_level=3
cdef class Counter:
    cdef int n
    def __init__(self, n=0): self.n = n
    cpdef int add(self, int x):
        self.n += x
        return self.n
    def many(self, int times):
        cdef int i
        for i in range(times): self.add(1)
        return self.n
    @staticmethod
    def static(x): return x
    @classmethod
    def of_class(cls, x): return cls.__name__, x
    def fails(self): raise KeyError("in Cython")
def plain(x): return x
def named(x, *, y=1): return x + y
cpdef int both(int x): return x + 1
def calls(f, x): return f(x)
def numbers(n):
    for i in range(n): yield i
"""
USES_CYTHON = """
    import made
    class Derived(made.Counter):
        def add(self, x):
            return super().add(x) + 0
    def uses():
        one = made.Counter(3)
        for _ in range(100):
            one.add(1); one.many(2); made.Counter.static(1); made.Counter.of_class(2)
            made.plain(1); made.named(1, y=2); made.both(3); made.calls(made.plain, 4)
            try:
                one.fails()
            except KeyError as error:
                assert str(error) == "'in Cython'"
        print(one.many(0), Derived(1).many(5), list(made.numbers(3)), sorted([3, 1], key=made.both))
    uses()
"""


def test_modules_by_cython(any_python: Sandbox):
    pytest.importorskip("Cython")
    (any_python.cwd.parent / "made.pyx").write_text(CYTHON)
    words = [sys.executable, "-m", "cython", "-3", "made.pyx", "-o", "made.c"]
    subprocess.run(words, check=True, cwd=any_python.cwd.parent)
    build(any_python, [any_python.cwd.parent / "made.c"], "made.so")
    found = same_with_module(any_python, USES_CYTHON)
    for name, n in (("static", 100), ("of_class", 100), ("plain", 200), ("named", 100), ("both", 102), ("calls", 100), ("fails", 100)):
        assert sum(calls for each, calls in found.items() if re.search(rf"\b{name}\b", each)) == n, found
    assert sum(calls for each, calls in found.items() if "many" in each) == 102


def same_with_module(python: Sandbox, text: str) -> dict[str, int]:
    """The program does the same in all modes; calls by `uses` in the default mode, which comes last."""
    (python.cwd / "program.py").write_text(textwrap.dedent(text))
    plain = python.plain("program.py")
    assert plain.code == 0, plain
    for mode in reversed(MODES):
        (python.cwd / "run.allranks").unlink(missing_ok=True)
        assert ending(python.recorded("program.py", options=(*RECORDING, *MODES[mode]))) == ending(plain)
    counts: dict[str, int] = {}
    for (caller, name), figures in find(python.report("run.allranks")).figures.items():
        if caller == "uses":
            counts[name] = counts.get(name, 0) + figures.calls
    return counts


PYBIND11 = """
#include <pybind11/pybind11.h>
#include <stdexcept>
namespace py = pybind11;
struct Counter { int n = 0; int add(int x) { return n += x; } };
PYBIND11_MODULE(made, m)
{
    m.def("sum2", [](int a, int b) { return a + b; });
    m.def("sum2", [](double a, double b) { return a + b; });
    m.def("fails", [](int) -> int { throw std::runtime_error("in C++"); });
    m.def("calls", [](py::function f) { return f(); });
    py::class_<Counter>(m, "Counter").def(py::init<>()).def("add", &Counter::add)
        .def_static("twice", [](int x) { return 2 * x; }).def_readwrite("n", &Counter::n);
}
"""
USES_PYBIND11 = """
    import made
    def uses():
        one = made.Counter()
        for _ in range(100):
            one.add(2); made.sum2(1, 2); made.sum2(1.5, 2); made.Counter.twice(3); made.calls(lambda: made.sum2(1, 1))
            try:
                made.fails(1)
            except RuntimeError as error:
                assert str(error) == "in C++"
        print(one.n, made.calls(lambda: max([1, 2], key=lambda x: -x)))
    uses()
"""


def test_modules_by_pybind11(any_python: Sandbox):
    pybind11 = pytest.importorskip("pybind11")
    source = any_python.cwd.parent / "made.cpp"
    source.write_text(PYBIND11)
    build(any_python, [source], "made.so", f"-I{pybind11.get_include()}")
    found = same_with_module(any_python, USES_PYBIND11)
    for name, n in (("add", 100), ("sum2", 200), ("twice", 100), ("calls", 101), ("fails", 100)):
        assert sum(calls for each, calls in found.items() if re.search(rf"\b{name}\b", each)) == n, found


# ---- numpy ----

ARRAYS = """
    import numpy as np
    import json, sys, time
    now = time.perf_counter_ns
    spans = {}
    a = np.ones((400, 400))
    def product():
        start = now()
        a @ a
        spans["matmul"] = now() - start
    def dot():
        start = now()
        np.dot(a, a)
        spans["dot"] = now() - start
    def ufunc():
        start = now()
        np.sin(a)
        spans["sin"] = now() - start
    def fails():
        try:
            np.add(a, np.ones(3))
        except ValueError as error:
            print(type(error).__name__)
    product(); dot(); ufunc(); fails()
    out = np.zeros(3)
    print(np.add(1, 2, dtype=float), np.add.reduce([1, 2]), np.add.outer([1], [2]), np.vectorize(abs)([-1]), np.add(1, 2, out=out) is out)
    np.frompyfunc(lambda x: -x, 1, 1)([1, 2])
    with open("log.json", "w") as file:
        json.dump(spans, file)
"""


def test_operators_of_arrays(python: Sandbox):
    (python.cwd / "program.py").write_text(textwrap.dedent(ARRAYS))
    plain = python.plain("program.py")
    recorded = python.recorded("program.py", options=RECORDING)
    assert ending(recorded) == ending(plain)
    report, spans = python.report("run.allranks"), python.read_json("log.json")
    for caller, name in (("product", "matmul"), ("dot", "dot"), ("ufunc", "sin")):
        nodes = [node for node in report.nodes if node.kind == "builtin" and node.python_caller == caller]
        named = [node for node in nodes if re.search(rf"\b{name}\b", node.name)]
        assert sum(node["calls"] for node in named) == 1, [node.name for node in nodes]
        assert 0 < named[0]["time_ns"]["sum"] <= spans[name] * 1.01
