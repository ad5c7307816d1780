#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""CPython's own tests end the same way with and without allranks, test by test, and take at most 1.5 times as long.

    tools/check_cpython.py                       the modules named in MODULES, on every Python that there is a plain stack of
    tools/check_cpython.py --python 3.12         on this one; may be repeated
    tools/check_cpython.py --only test_code      only this module; may be repeated, and may be one that MODULES does not name
    tools/check_cpython.py --fast                some modules: for `make test`
    tools/check_cpython.py --builtins costly     in another mode than `none`
    tools/check_cpython.py -j 2                  two modules at the same time

The time is judged where all modules run, one after the other.

Python programs that tests start are recorded like every child (--option=--no-children: they are not). A module in which a test
ends in another way is run once more in both modes: a test that differs both times differs, any other is unsteady. Both are listed.
Known differences are in KNOWN, each with its reason; an entry that no longer differs is an error. Outcomes and output of all runs
are in build/cpython. Exit status: 0, 1 if anything differs that is not known.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from suite_runs import ROOT, read_outcomes, run_watched

HOME = ROOT / "build" / "cpython"
PROGRAM = ROOT / "tests" / "workloads" / "cpython_suite.py"
LIMIT_S = 1800
SILENCE_S = 240
SLOWER_AT_MOST = 1.5  # all modules of one Python; one that does nothing but call, or start processes, may take longer

# Each exists in some version. What they look at: calls, frames, code, hooks of tracing and profiling, the collector, threads,
# processes that are started in every way, what is said on the way out of the interpreter.
MODULES = (
    "test_asyncgen", "test_asyncio", "test_atexit", "test_builtin", "test_call", "test_capi", "test_code", "test_contextlib",
    "test_coroutines", "test_cprofile", "test_descr", "test_dis", "test_exceptions", "test_faulthandler", "test_fork1", "test_frame",
    "test_functools", "test_gc", "test_generators", "test_inspect", "test_monitoring", "test_multiprocessing_fork",
    "test_multiprocessing_spawn", "test_pdb", "test_pickle", "test_posix", "test_profile", "test_signal", "test_subprocess",
    "test_super", "test_sys", "test_sys_setprofile", "test_sys_settrace", "test_threading", "test_traceback", "test_tracemalloc",
    "test_weakref",
)  # fmt: skip
# A few seconds in all, and the most telling.
FAST = (
    "test_call", "test_code", "test_fork1", "test_frame", "test_gc", "test_generators", "test_monitoring", "test_sys_setprofile",
    "test_sys_settrace",
)  # fmt: skip


@dataclass(frozen=True)
class Known:
    """Tests that end in another way, and why; `versions` as in "3.12+" or "3.9 3.10"."""

    module: str
    test: str  # a pattern of fnmatch, without the module's name
    versions: str
    why: str
    is_certain: bool = True  # False: depends on how Python was built, so that it need not differ
    is_left_out: bool = False  # in both modes, since it ends the process, and with it all tests behind it

    def holds_for(self, version: str) -> bool:
        minor = minor_of(version)
        return any(minor_of(each) <= minor if each.endswith("+") else minor_of(each) == minor for each in self.versions.split())

    def covers(self, test: str) -> bool:
        return fnmatch.fnmatchcase(test, f"test.{self.module}.{self.test}")


INSTRUMENTED = "the code that dis shows with adaptive=True is instrumented"
# All of them are in docs/differences.md, but for faults that are to be mended: a change that mends one removes its line.
KNOWN = (
    Known("test_code", "CodeTest.test_stateless", "3.14+", "the number of a function is kept in co_extra, which has to be empty"),
    Known(
        "test_code", "CodeTest.test_invalid_bytecode", "3.15",
        "CPython crashes where unknown bytecode is run and any tool of sys.monitoring listens", is_left_out=True,
    ),
    Known("test_dis", "*.test_loop_quicken", "3.11", "calls of Python functions are not specialised where PEP 523 is used"),
    Known("test_dis", "*.test_loop_quicken", "3.12+", INSTRUMENTED),
    Known("test_dis", "*.test_*_specialize", "3.12+", INSTRUMENTED),
    Known("test_dis", "*.test_super_instructions", "3.12+", INSTRUMENTED),
    Known("test_sys", "TestSysJIT.test_jit_is_active", "3.14+", "the JIT does not compile instrumented calls", is_certain=False),
)


def minor_of(version: str) -> int:
    return int(version.rstrip("+").split(".")[1])


def say(text: str) -> None:
    print(f"check-cpython: {text}", flush=True)


# ---- running -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Python:
    name: str
    version: str
    path: str

    def modules(self, wanted: tuple[str, ...]) -> list[str]:
        """Those of them that this version has."""
        code = "import sys, importlib.util as u\nfor name in sys.argv[1:]:\n    if u.find_spec('test.' + name): print(name)"
        done = subprocess.run([self.path, "-c", code, *wanted], check=False, capture_output=True, text=True, cwd="/")
        return done.stdout.split()


@dataclass(frozen=True)
class Outcome:
    """How one run of a module ended."""

    tests: dict[str, str]
    seconds: float


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ALLRANKS"))}
    return {**kept, "TMPDIR": str(folder / "tmp")}


def run(python: Python, module: str, words: list[str], target: Path) -> Outcome:
    """In a directory with a short name: addresses of sockets are made of it."""
    folder = Path(tempfile.mkdtemp(prefix="ar"))
    try:
        for each in ("tmp", "live"):
            (folder / each).mkdir()
        options = [word.format(folder=folder) for word in words]
        argv = [python.path, *options, str(PROGRAM), str(folder / "outcomes"), module, *left_out(python, module)]
        code, seconds = run_watched(argv, folder, limit_s=LIMIT_S, silence_s=SILENCE_S, env=environment(folder))
        tests, _ = read_outcomes(folder / "outcomes")
        status = f"test.{module}.exit status"
        tests[status] = "ended after too long" if code is None else str(code)
        if words and not (folder / "suite.allranks").exists():
            tests[status] += ", and no run was written"
        keep(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(tests, seconds)


def left_out(python: Python, module: str) -> list[str]:
    entries = [known for known in KNOWN if known.is_left_out and known.module == module and known.holds_for(python.version)]
    return [f"test.{known.module}.{known.test}" for known in entries]


def keep(folder: Path, target: Path) -> None:
    """To find out why a test differs."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("outcomes", "output"):
        if (folder / name).exists():
            shutil.move(folder / name, target / name)


# ---- comparing ---------------------------------------------------------------------------------


def unlike(plain: Outcome, recorded: Outcome) -> dict[str, str]:
    """Test to how it ended."""
    found = {}
    for test in sorted(plain.tests.keys() | recorded.tests.keys()):
        without, with_us = (each.tests.get(test, "not run") for each in (plain, recorded))
        if without != with_us:
            found[test] = f"{without} without, {with_us} with allranks"
    return in_short(found, recorded)


def in_short(found: dict[str, str], recorded: Outcome) -> dict[str, str]:
    """A crash takes all tests behind it along: one line for them."""
    missing = [test for test in found if test not in recorded.tests]
    if len(missing) < 2:
        return found
    short = {test: how for test, how in found.items() if test not in missing}
    return {**short, "tests behind it": f"{len(missing)} are not run with allranks"}


@dataclass
class Verdict:
    """What became of one module on one Python."""

    module: str
    n_tests: int = 0
    seconds: tuple[float, float] = (0, 0)  # without, with allranks
    differing: dict[str, str] = field(default_factory=dict)
    unsteady: dict[str, str] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)

    def row(self) -> str:
        counts = (self.n_tests, len(self.differing), len(self.known), len(self.unsteady))
        plain, recorded = self.seconds
        cells = [f"{self.module:28}", *(f"{n:9}" for n in counts), f"{plain:9.1f}{recorded:9.1f}{recorded / plain:9.2f}"]
        return "".join(cells)


def known_of(python: Python, module: str, tests: dict[str, str]) -> dict[str, Known]:
    entries = [known for known in KNOWN if known.module == module and known.holds_for(python.version)]
    return {test: entry for test in tests for entry in entries if entry.covers(test)}


def judge(python: Python, module: str, words: list[str]) -> Verdict:
    folder = HOME / python.name / module
    shutil.rmtree(folder, ignore_errors=True)

    def both(number: int) -> tuple[Outcome, Outcome]:
        return run(python, module, [], folder / f"plain-{number}"), run(python, module, words, folder / f"recorded-{number}")

    plain, recorded = both(1)
    found = unlike(plain, recorded)
    verdict = Verdict(module, len(plain.tests) - 2, (plain.seconds, recorded.seconds), known=known_of(python, module, found))
    new = {test: how for test, how in found.items() if test not in verdict.known}
    if new:
        again = unlike(*both(2))
        verdict.known.update(known_of(python, module, again))
        new.update({test: how for test, how in again.items() if test not in verdict.known and test not in new})
        verdict.differing = {test: how for test, how in new.items() if test in found and test in again}
        verdict.unsteady = {test: how for test, how in new.items() if test not in verdict.differing}
    return verdict


def stale(python: Python, verdicts: list[Verdict]) -> list[Known]:
    modules = {verdict.module for verdict in verdicts}
    used = {known for verdict in verdicts for known in verdict.known.values()}
    expected = [known for known in KNOWN if known.is_certain and not known.is_left_out]
    return [known for known in expected if known.module in modules and known.holds_for(python.version) and known not in used]


# ---- telling -----------------------------------------------------------------------------------


def in_turn(function: Callable[[str], Verdict], modules: list[str], n_at_once: int) -> Iterator[Verdict]:
    """In the main thread if it can be: an interrupt then ends the tests that run."""
    if n_at_once == 1:
        yield from map(function, modules)
        return
    pool = ThreadPoolExecutor(n_at_once)
    try:
        yield from pool.map(function, modules)
    finally:
        pool.shutdown(cancel_futures=True)


def tell(python: Python, verdict: Verdict) -> None:
    say(verdict.row())
    for test in left_out(python, verdict.module):
        say(f"  left out: {test}")
    for test, known in verdict.known.items():
        say(f"  known: {test}: {known.why}")
    for test, how in verdict.unsteady.items():
        say(f"  unsteady: {test}: {how}, in one of two runs")


def check(python: Python, modules: list[str], words: list[str], n_at_once: int) -> tuple[list[str], float]:
    """What is wrong, and how many times as long all modules take."""
    heads = ("tests", "differ", "known", "unsteady", "s plain", "s with", "ratio")
    say(f"{python.name:28}" + "".join(f"{head:>9}" for head in heads))
    verdicts = []
    for verdict in in_turn(lambda module: judge(python, module, words), modules, n_at_once):
        tell(python, verdict)
        verdicts.append(verdict)
    found = [f"{test}: {how}" for verdict in verdicts for test, how in verdict.differing.items()]
    ratio = sum(verdict.seconds[1] for verdict in verdicts) / sum(verdict.seconds[0] for verdict in verdicts)
    n_tests = sum(verdict.n_tests for verdict in verdicts)
    say(f"{python.name}: {n_tests} tests, {len(found)} differ, {ratio:.2f} times as long")
    found += [f"{known.module}.{known.test} no longer differs, and is in KNOWN" for known in stale(python, verdicts)]
    return [f"{python.name}: {line}" for line in found], ratio


def pythons_of(wanted: list[str]) -> list[Python]:
    listed = json.loads((ROOT / ".stacks" / "stacks.json").read_text())
    stacks = [Python(each["name"], each["python_version"], each["python"]) for each in [*listed["plain"], *listed["debian"]]]
    return [python for python in stacks if not wanted or python.version in wanted or python.name in wanted]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="CPython's own tests, with and without allranks.")
    parser.add_argument("--python", action="append", default=[], metavar="3.12", help="only this version, or stack")
    parser.add_argument("--only", action="append", default=[], metavar="MODULE", help="only this module")
    parser.add_argument("--fast", action="store_true", help="only some modules")
    parser.add_argument("--builtins", default="none", metavar="MODE", help="of allranks run (none)")
    parser.add_argument("--option", action="append", default=[], help="a further option of allranks run")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="modules at the same time")
    return parser.parse_args()


def main() -> int:
    options = parse()
    words = ["-m", "allranks", "-q", "--builtins", options.builtins, "--live-dir", "{folder}/live", "-o", "{folder}/suite.allranks"]
    wanted = tuple(options.only) or (FAST if options.fast else MODULES)
    time_counts = options.jobs == 1 and wanted == MODULES
    found, n_checked = [], 0
    for python in pythons_of(options.python):
        modules = python.modules(wanted)
        if not modules:
            say(f"{python.name}: skipped, it has none of these tests (Debian: libpython{python.version}-testsuite)")
            continue
        n_checked += 1
        if set(wanted) - set(modules):
            say(f"{python.name}: does not come with {' '.join(sorted(set(wanted) - set(modules)))}")
        lines, ratio = check(python, modules, [*words, *options.option], options.jobs)
        found += lines
        if time_counts and ratio > SLOWER_AT_MOST:
            found.append(f"{python.name}: takes more than {SLOWER_AT_MOST} times as long")
    for line in found:
        say(line)
    if not n_checked:
        say("there is no such Python with tests here (make check-cpython makes the stacks)")
    return 1 if found or not n_checked else 0


if __name__ == "__main__":
    sys.exit(main())
