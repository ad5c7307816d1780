# SPDX-License-Identifier: BSD-3-Clause
"""Which ways of calling a C function are recorded: 1,000 calls in a warm loop are 1,000 calls, or none. Never some.

The interpreter has instructions of its own for some functions, and calls others without it. Such a function is left out
everywhere: also before a loop is warm, when the interpreter still calls it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from harness import Sandbox
from readings import Report

N_WARM, N_CALLS = 200, 1000
EVERYWHERE = "3.9"  # from this version on


@dataclass(frozen=True)
class Way:
    """`statement` is run in a loop; `since` is the first Python that has to see it, empty: it need not be seen."""

    statement: str
    name: str  # a regular expression for the C function
    before: str = ""
    since: str = EVERYWHERE
    until: str = ""  # the last Python that has to see it
    by_c: bool = False  # the call is made by a C function: cProfile does not see it
    with_all: bool = True  # it has to be seen with --builtins all, if not `by_c`


def built_in(name: str) -> str:
    return rf"built-in method ([\w.]+\.)?{name}"


def method(name: str, of: str) -> str:
    return rf"method '{name}' of '{of}' objects"


def constructor(name: str) -> str:
    return f"type {name}"


WAYS = [
    # Functions, by all conventions.
    Way("abs(x)", built_in("abs"), "x = -1"),
    Way("divmod(7, 3)", built_in("divmod")),
    Way("sum(x)", built_in("sum"), "x = [1]"),
    Way("sum(x, start=2)", built_in("sum"), "x = [1]"),
    Way("issubclass(int, int)", built_in("issubclass")),
    Way("getattr(x, 'no', None)", built_in("getattr"), "x = 1"),
    Way("max(1, 2)", built_in("max")),
    Way("max(*x)", built_in("max"), "x = (1, 2)"),
    Way("max([], **x)", built_in("max"), "x = {'default': 1}"),
    Way("sorted(x, key=f)", built_in("sorted"), "x, f = [1], lambda y: y"),
    Way("globals()", built_in("globals")),
    Way("ord('a')", built_in("ord")),
    Way("hasattr(x, 'real')", built_in("hasattr"), "x = 1"),
    Way("iter(x)", built_in("iter"), "x = [1]"),
    Way("next(x)", built_in("next"), "import itertools; x = itertools.count()"),
    Way("next(x)", built_in("next"), "x = (n for n in range(10**9))"),
    Way("math.sqrt(2)", built_in("sqrt"), "import math"),
    Way("math.gcd(4, 6)", built_in("gcd"), "import math"),
    Way("x(3)", built_in("divmod"), "import functools; x = functools.partial(divmod, 7)", with_all=False),
    Way("map(abs, x).__next__()", built_in("abs"), "x = [1] * 3", with_all=False),
    Way("sorted(x, key=abs)", built_in("abs"), "x = [1]", by_c=True),
    Way("x.sort(key=abs)", built_in("abs"), "x = [1]", by_c=True),
    Way("sum(map(abs, x))", built_in("abs"), "x = [1]", by_c=True),
    # Methods.
    Way("x.upper()", method("upper", "str"), "x = 'a'"),
    Way("x.join(y)", method("join", "str"), "x, y = 'a', ('b', 'c')"),
    Way("x.split(',')", method("split", "str"), "x = 'a,b'"),
    Way("x.split(sep=',')", method("split", "str"), "x = 'a,b'"),
    Way("x.format(1)", method("format", "str"), "x = '{}'"),
    Way("x.pop()", method("pop", "list"), "x = [0] * 5000"),
    Way("x.get(1)", method("get", "dict"), "x = {1: 2}"),
    Way("x.items()", method("items", "dict"), "x = {1: 2}"),
    Way("x.add(1)", method("add", "set"), "x = set()"),
    Way("x.write('a')", method("write", "_io.StringIO"), "import io; x = io.StringIO()"),
    Way("x.match('a')", method("match", "re.Pattern"), "import re; x = re.compile('a')"),
    Way("x('a')", method("match", "re.Pattern"), "import re; x = re.compile('a').match"),
    Way("x.acquire(); x.release()", method("acquire", "_thread.lock"), "import threading; x = threading.Lock()"),
    Way("str.upper(x)", method("upper", "str"), "x = 'a'"),
    Way("x()", method("upper", "str"), "x = 'a'.upper"),
    Way("x.send(None)", method("send", "generator"), "x = (n for n in range(10**9)); next(x)"),
    Way("x.__contains__(1)", method("__contains__", "dict"), "x = {1: 1}"),
    Way("x.__getitem__(0)", method("__getitem__", "list"), "x = [1]"),
    Way("dict.fromkeys('a')", r".*fromkeys.*"),
    Way("str.maketrans('a', 'b')", r".*maketrans.*"),
    Way("int.from_bytes(b'a', 'big')", r".*from_bytes.*"),
    # What the interpreter has instructions for.
    Way("len(x)", built_in("len"), "x = [1]", until="3.10"),
    Way("isinstance(x, int)", built_in("isinstance"), "x = 1", until="3.10"),
    Way("x.append(1)", method("append", "list"), "x = []", until="3.10"),
    Way("y = x.append(1)", method("append", "list"), "x = []", until="3.10"),
    Way("list.append(x, 1)", method("append", "list"), "x = []", until="3.10"),
    # Constructors: cProfile sees none.
    Way("list(x)", constructor("list"), "x = (1,)", with_all=False),
    Way("list()", constructor("list"), with_all=False),
    Way("dict(a=1)", constructor("dict"), with_all=False),
    Way("set(x)", constructor("set"), "x = (1,)", with_all=False),
    Way("frozenset(x)", constructor("frozenset"), "x = (1,)", with_all=False),
    Way("range(3)", constructor("range"), with_all=False),
    Way("tuple(x)", constructor("tuple"), "x = [1]", until="3.10", with_all=False),
    Way("float('1')", constructor("float"), since="3.10", with_all=False),
    Way("bool(x)", constructor("bool"), "x = 1", since="3.10", with_all=False),
    Way("map(abs, x)", constructor("map"), "x = [1]", since="3.10", with_all=False),
    Way("enumerate(x)", constructor("enumerate"), "x = [1]", since="3.11", with_all=False),
    Way("int('1')", constructor("int"), since="3.13", with_all=False),
    Way("type(x)", constructor("type"), "x = 1", since="", with_all=False),
    Way("str(x)", constructor("str"), "x = 1", since="", with_all=False),
    Way("bytes(3)", constructor("bytes"), since="", with_all=False),
    Way("bytearray(3)", constructor("bytearray"), since="", with_all=False),
    Way("zip(x, x)", constructor("zip"), "x = [1]", since="", with_all=False),
    Way("slice(1, 2)", constructor("slice"), since="", with_all=False),
    Way("object()", constructor("object"), since="", with_all=False),
    Way("ValueError('a')", constructor("ValueError"), since="", with_all=False),
    Way("y().z()", constructor("super"), "class x:\n    def z(self): pass\nclass y(x):\n    def z(self): super().z()", since="", with_all=False),
    # What is no call.
    Way("1 in x", ".*__contains__.*", "x = {1: 1}", since="", with_all=False),
    Way("x[0]", ".*__getitem__.*", "x = [1]", since="", with_all=False),
    Way("x[1:3]", ".*__getitem__.*", "x = [1, 2, 3]", since="", with_all=False),
    Way("x + 1", ".*__add__.*", "x = 1", since="", with_all=False),
    Way("f'{x:3}'", ".*__format__.*", "x = 1", since="", with_all=False),
    Way("'%d' % x", ".*__mod__.*", "x = 1", since="", with_all=False),
    Way("[y for y in x]", ".*__(next|iter)__.*", "x = [1]", since="", with_all=False),
]  # fmt: skip
NUMPY = "import numpy; x = numpy.ones((3, 3)); y = numpy.ones(3)"
WAYS_OF_NUMPY = [
    Way("numpy.add(x, x)", r".*\badd\b.*", NUMPY, with_all=False),
    Way("x + x", r".*\badd\b.*", NUMPY, with_all=False),
    Way("x @ x", r".*\bmatmul\b.*", NUMPY, with_all=False),
    Way("x ** 3", r".*\bpower\b.*", NUMPY, with_all=False),
    Way("numpy.sqrt(x)", r".*\bsqrt\b.*", NUMPY, with_all=False),
    Way("numpy.tanh(x, out=x)", r".*\btanh\b.*", "import numpy; x = numpy.zeros(3)", with_all=False),
    Way("numpy.dot(y, y)", r".*\bdot\b.*", NUMPY, with_all=False),
    Way("y.dot(y)", method("dot", "numpy.ndarray"), NUMPY),
    Way("x.sum()", method("sum", "numpy.ndarray"), NUMPY),
    Way("numpy.sum(x)", method("reduce", "numpy.ufunc"), NUMPY),
    Way("numpy.concatenate((y, y))", r".*\bconcatenate\b.*", NUMPY, with_all=False),
    Way("numpy.array([1])", built_in(r"(\w+\.)*array"), NUMPY),
    Way("x.reshape(9)", method("reshape", "numpy.ndarray"), NUMPY),
    Way("numpy.float64(1)", ".*float64.*", NUMPY, since="", with_all=False),
    Way("y[0:2]", ".*__getitem__.*", NUMPY, since="", with_all=False),
    Way("z.standard_normal()", ".*standard_normal.*", "import numpy; z = numpy.random.default_rng(1)", with_all=False),
]


def minor(version: str) -> int:
    return int(version.partition(".")[2])


def right_counts(way: Way, python: str, builtins: str) -> list[tuple[int, int]]:
    """Of the calls that warm it, and of the others."""
    every, none = (N_WARM, N_CALLS), (0, 0)
    if builtins == "all" and way.by_c:
        return [none]
    must = way.with_all if builtins == "all" else must_be_seen(way, python)
    return [every] if must else [every, none]


def must_be_seen(way: Way, python: str) -> bool:
    if not way.since or minor(python) < minor(way.since):
        return False
    return not way.until or minor(python) <= minor(way.until)


def write_way(number: int, way: Way) -> str:
    loop = f"    for _ in times:\n        {way.statement}\n"
    return f"{way.before}\ndef way_{number}(times, {parameters(way)}):\n{loop}\nways.append((way_{number}, ({arguments(way)})))\n"


def names_of(way: Way) -> list[str]:
    """Of the variables that `before` makes: the loop has them as its own, as most loops do."""
    names = {name for name in ("f", "x", "y", "z") if re.search(rf"\b{name}\b.* = |^class {name}\b", way.before, re.MULTILINE)}
    return sorted(names)


def parameters(way: Way) -> str:
    return ", ".join(names_of(way))


def arguments(way: Way) -> str:
    return "".join(f"{name}, " for name in names_of(way))


def write_program(ways: list[Way]) -> str:
    texts = [write_way(number, way) for number, way in enumerate(ways)]
    ending = f"""
def warm():
    for way, arguments in ways:
        way(range({N_WARM}), *arguments)

def measured():
    for way, arguments in ways:
        way(range({N_CALLS}), *arguments)

warm()
measured()
"""
    return "ways = []\n" + "\n".join(texts) + ending


def counts_of(report: Report, phase: str) -> dict[tuple[str, str], int]:
    """Calls by way and C function."""
    counts: dict[tuple[str, str], int] = {}
    for node in report.nodes:
        if node.kind == "builtin" and phase in node.path:
            way = next((name for name in node.path if name.startswith("way_")), "")
            counts[way, node.name] = counts.get((way, node.name), 0) + node["calls"]
    return counts


def calls_of(counts: dict[tuple[str, str], int], way: str, name: str) -> int:
    return sum(n for (each, c_name), n in counts.items() if each == way and re.fullmatch(name, c_name))


def check(python: Sandbox, ways: list[Way], builtins: str) -> None:
    (python.cwd / "program.py").write_text(write_program(ways))
    done = python.recorded("program.py", options=("-q", "--builtins", builtins, "-o", "run.allranks"))
    assert (done.code, done.err) == (0, ""), done
    report = python.report("run.allranks")
    warm, measured = counts_of(report, "warm"), counts_of(report, "measured")
    wrong = []
    for number, way in enumerate(ways):
        found = tuple(calls_of(counts, f"way_{number}", way.name) for counts in (warm, measured))
        right = right_counts(way, python.stack.python_version, builtins)
        if found not in right:
            wrong.append(f"{way.statement}: {found} calls, not {' or '.join(map(str, right))}")
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.mark.parametrize("builtins", ["counted", "all"])
def test_ways_of_calling(any_python: Sandbox, builtins: str):
    check(any_python, WAYS, builtins)


@pytest.mark.parametrize("builtins", ["counted", "all"])
def test_ways_of_calling_numpy(python: Sandbox, builtins: str):
    check(python, WAYS_OF_NUMPY, builtins)
