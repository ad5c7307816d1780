# SPDX-License-Identifier: BSD-3-Clause
"""Truth: random programs, which count their own calls; and the same as cProfile counts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Sandbox, workload
from random_programs import write_program
from readings import Calls, FunctionKey, counts_by_name, read_pstats

SEEDS = (1, 2, 3)


def write(python: Sandbox, seed: int) -> Path:
    path = python.cwd / f"random{seed}.py"
    path.write_text(write_program(seed))
    return path


def record(python: Sandbox, path: Path, n_threads: int, *options: str) -> dict[FunctionKey, Calls]:
    done = python.recorded(str(path), "noted.json", str(n_threads), options=options)
    assert done.code == 0, done
    run = f"{path.stem}.allranks"
    assert python.info(run).lost == 0
    return python.pstats(run)


def of_program(stats: dict[FunctionKey, Calls], path: Path) -> dict[FunctionKey, Calls]:
    """Without modules: what exec runs is one as well, each of the same name."""
    own = (str(path), "<string>")
    return {key: calls for key, calls in stats.items() if key[0] in own and key[2] != "<module>"}


def unlike(found: dict, expected: dict) -> list[str]:
    """One line for each key that differs, so that a failure can be read."""
    keys = sorted({*found, *expected}, key=repr)
    return [f"{k}: {found.get(k)}, not {expected.get(k)}" for k in keys if found.get(k) != expected.get(k)]


def unlike_noted(python: Sandbox, stats: dict[FunctionKey, Calls], path: Path) -> list[str]:
    noted = python.read_json("noted.json")
    assert sum(noted.values()) > 1000
    found = counts_by_name(of_program(stats, path))
    return unlike({name: found.get(name) for name in noted}, noted)


@pytest.mark.parametrize("n_threads", [0, 4])
@pytest.mark.parametrize("mode", ["none", "costly", "all"])
def test_counts_are_what_the_program_noted(any_python: Sandbox, mode: str, n_threads: int):
    path = write(any_python, 10 if n_threads else 2)
    stats = record(any_python, path, n_threads, "--builtins", mode)
    assert not unlike_noted(any_python, stats, path)


def reference(python: Sandbox, path: Path, *options: str) -> dict[FunctionKey, Calls]:
    output = python.cwd / "reference.pstats"
    done = python.plain(workload("cprofile_reference.py"), *options, str(output), str(path), "again.json", "0")
    assert done.code == 0, done
    return read_pstats(output)


def without_angles(key: FunctionKey) -> FunctionKey:
    """Of a function in C: with or without < and > around its name."""
    if key[0] != "~":
        return key
    name = key[2]
    return ("~", 0, name[1:-1] if name.startswith("<") else name)


def pairs_of(stats: dict[FunctionKey, Calls], path: Path) -> dict:
    """Calls and primitive calls by caller and callee, where the caller is the program's or a function in C that it called."""
    own = of_program(stats, path)
    pairs: dict[tuple[FunctionKey, FunctionKey], tuple[int, int]] = {}
    for key, calls in stats.items():
        for caller, pair in calls.callers.items():
            if caller in own or (caller[0] == "~" and key in own):
                pairs[without_angles(caller), without_angles(key)] = pair
    return pairs


def totals_of(stats: dict[FunctionKey, Calls], path: Path) -> dict:
    return {key: (calls.calls, calls.primitive) for key, calls in of_program(stats, path).items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_python_functions_are_as_in_cprofile(any_python: Sandbox, seed: int):
    path = write(any_python, seed)
    stats = record(any_python, path, 0, "--builtins", "none")
    expected = reference(any_python, path)
    assert not unlike(totals_of(stats, path), totals_of(expected, path))
    assert len(pairs_of(expected, path)) > 50
    assert not unlike(pairs_of(stats, path), pairs_of(expected, path))


@pytest.mark.parametrize("seed", SEEDS)
def test_functions_in_c_are_as_in_cprofile(any_python: Sandbox, seed: int):
    path = write(any_python, seed)
    stats = record(any_python, path, 0, "--builtins", "all")
    expected = reference(any_python, path, "--builtins")
    found_pairs, expected_pairs = pairs_of(stats, path), pairs_of(expected, path)
    assert sum(1 for _, callee in expected_pairs if callee[0] == "~") > 30
    assert not unlike(found_pairs, expected_pairs)
    assert not unlike(totals_of(stats, path), totals_of(expected, path))
