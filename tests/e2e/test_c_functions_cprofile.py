# SPDX-License-Identifier: BSD-3-Clause
"""Calls of C functions with `--builtins all`: as many as cProfile counts, function by function."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from c_programs import write_program
from harness import Sandbox, workload
from readings import Calls, FunctionKey, Report, read_pstats

PARTS = (
    "json", "pprint", "deepcopy", "tokenize", "textwrap", "logging", "re", "sorting", "pickle", "csv", "dates", "arguments",
    "random", "paths", "xml", "exceptions",
)  # fmt: skip

# Functions that cProfile counts and that are not counted, and why.
NOT_COUNTED = {
    "built-in method _json.encode_basestring_ascii": "json's encoder compares its address, and is slow if it is another one",
    "built-in method _json.encode_basestring": "the same",
    "method 'disable' of '_lsprof.Profiler' objects": "ends cProfile",
}
# Where a Python subclass overrides a method and calls that of its base, cProfile names what the object's class has.
OVERRIDDEN = {"function Random.seed": "method 'seed' of '_random.Random' objects"}
# Functions that are counted and that cProfile never counts, and why.
ONLY_COUNTED_HERE = {
    r"method '__(enter|exit)__' of .*": "`with` calls it",
    r"method '__format__' of 'int' objects": "an f-string calls it",
    r"method '__length_hint__' of 'iterator' objects": "a list that is made of an iterator calls it",
    r"method '__reversed__' of 'list' objects": "the constructor of reversed calls it",
    r"method '(search|match)' of '.*Scanner' objects": "an iterator calls it",
    r"method 'readline' of '_io.StringIO' objects": "from 3.12 on, an iterator of tokenize calls it",
    r"method 'difference_update' of 'set' objects": "the operator - of keys of a dict calls it",
    r"method '(readable|writable|seekable|tell)' of '_io.BytesIO' objects": "the constructor of TextIOWrapper calls it",
    r".*\? or caller": "no call: time of functions that were not timed, or of their caller",
    r"type .*": "a constructor: cProfile counts none",
}
# Functions that both count, and that are called in a way that cProfile does not see as well.
CALLED_OTHERWISE = {"built-in method posix.fspath": "by `for part in map(os.fspath, parts)`"}


def neutral(name: str) -> str:
    """Without angles and addresses, and of the class that defines it."""
    name = name[1:-1] if name.startswith("<") and name.endswith(">") else name
    name = re.sub(r" at 0x[0-9a-f]+", "", name)
    return OVERRIDDEN.get(name, name)


def below(report: Report, name: str) -> dict[str, int]:
    """Calls of C functions below a Python function."""
    counts: dict[str, int] = {}
    for node in report.nodes:
        if node.kind == "builtin" and name in node.path[:-1]:
            key = neutral(node.name)
            counts[key] = counts.get(key, 0) + node["calls"]
    return counts


def is_known(name: str, n: int, n_expected: int) -> bool:
    if not n_expected:
        return any(re.fullmatch(each, name) for each in ONLY_COUNTED_HERE)
    return (name in NOT_COUNTED and n == 0) or (name in CALLED_OTHERWISE and n > n_expected)


def differing(found: dict[str, int], expected: dict[str, int]) -> list[str]:
    """Keys are names of C functions, or end with them after a colon."""
    wrong = []
    for key in sorted({*found, *expected}):
        n, n_expected = found.get(key, 0), expected.get(key, 0)
        if n != n_expected and not is_known(key.rpartition(": ")[2], n, n_expected):
            wrong.append(f"{key}: {n} calls, not {n_expected}")
    return wrong


@pytest.mark.parametrize("part", PARTS)
def test_libraries(any_python: Sandbox, part: str):
    program, env = workload("c_libraries.py"), {"PYTHONHASHSEED": "0"}
    reference = any_python.plain(program, part, "counts.json", env=env)
    assert reference.code == 0, reference
    expected: dict[str, int] = {}
    for name, calls in json.loads((any_python.cwd / "counts.json").read_text()).items():
        expected[neutral(name)] = expected.get(neutral(name), 0) + calls
    done = any_python.recorded(program, part, options=("--builtins", "all", "-o", "run.allranks"), env=env)
    assert done.code == 0, done
    assert len(expected) > 2
    wrong = differing(below(any_python.report("run.allranks"), "measured"), expected)
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def pairs_of(stats: dict[FunctionKey, Calls], path: Path) -> dict[str, int]:
    """Calls of C functions by function of the program: `block_1: built-in method builtins.abs`."""
    pairs: dict[str, int] = {}
    for (file, _, name), calls in stats.items():
        for (caller_file, _, caller), (n, _) in calls.callers.items():
            if file == "~" and caller_file == str(path):
                key = f"{caller}: {neutral(name)}"
                pairs[key] = pairs.get(key, 0) + n
    return pairs


@pytest.mark.parametrize("seed", [101, 102])
def test_random_programs(any_python: Sandbox, seed: int):
    """Without threads and greenlets: cProfile sees one thread, and one stack."""
    path = any_python.cwd / "program.py"
    path.write_text(write_program(seed, with_stacks=False))
    reference = any_python.cwd / "reference.pstats"
    done = any_python.plain(workload("cprofile_reference.py"), "--builtins", str(reference), str(path), "again.json")
    assert done.code == 0, done
    done = any_python.recorded(str(path), "log.json", options=("--builtins", "all", "-o", "run.allranks"))
    assert done.code == 0, done
    expected = pairs_of(read_pstats(reference), path)
    assert len(expected) > 50
    wrong = differing(pairs_of(any_python.pstats("run.allranks"), path), expected)
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
