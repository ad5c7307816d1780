#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own tests end the same way with and without allranks, test by test and rank by rank.

    tools/check_mpi4py.py                    all modules, on the stacks named in STACKS, 1 and 3 ranks
    tools/check_mpi4py.py --stack NAME...    on these stacks
    tools/check_mpi4py.py --fast             some modules only, for `make test`
    tools/check_mpi4py.py -n 2 --module test_rma test_io

The tests of each version come from its source distribution, by pip, into build/mpi4py. All are run without allranks and with
it, and where something differs once more without: a test that ends in two ways without us has nothing to say about us. A module
whose tests do not end without us is left out, and named. Exit status: 0, 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from suite_runs import ROOT, read_outcomes, run_watched

HOME = ROOT / "build" / "mpi4py"
PROGRAM = ROOT / "tests" / "workloads" / "mpi4py_suite.py"
LIMIT_S = 1800
SILENCE_S = 45  # without a word from any test: it does not end

# Both MPIs and both generations of mpi4py.
STACKS = ("py311-openmpi-mpi4py4", "py311-mpich-mpi4py4", "py311-openmpi-mpi4py31", "py311-mpich-mpi4py31")
# One or two of each kind, a few seconds in all: calls of every class, handles, callbacks, exceptions, threads, files.
FAST = (
    "test_attributes", "test_cco_obj", "test_comm", "test_comm_inter", "test_ctypes", "test_errhandler", "test_exceptions",
    "test_file", "test_grequest", "test_op", "test_p2p_buf", "test_p2p_obj_matched", "test_request", "test_session",
    "test_status", "test_threads", "test_win",
)  # fmt: skip


def say(text: str) -> None:
    print(f"check-mpi4py: {text}", flush=True)


def suite_of(stack: dict[str, str]) -> Path:
    """The folder with the tests of the stack's mpi4py."""
    version = stack["mpi4py_version"]
    suite = HOME / f"mpi4py-{version}" / "test"
    if not suite.exists():
        say(f"fetching the tests of mpi4py {version}")
        HOME.mkdir(parents=True, exist_ok=True)
        pip = [stack["python"], "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        subprocess.run(
            [*pip, "--no-deps", "--no-binary", "mpi4py", "-d", str(HOME), f"mpi4py=={version}"],
            check=True,
        )
        unpack(HOME / f"mpi4py-{version}.tar.gz")
    return suite


def unpack(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        members = [member for member in tar.getmembers() if "/test/" in member.name and member.isfile()]
        for member in members:
            target = HOME / member.name
            source = tar.extractfile(member)
            if source and ".." not in Path(member.name).parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read())


# ---- running -----------------------------------------------------------------------------------


class Outcome:
    """How one run of the suite ended."""

    def __init__(self, code: int | None, folder: Path, n_ranks: int) -> None:
        self.code = code
        self.tests: dict[tuple[int, str], str] = {}
        self.open: list[str] = []  # tests that were started and did not end, on any rank
        for rank in range(n_ranks):
            self.read(rank, folder / f"outcomes.{rank}")

    def read(self, rank: int, path: Path) -> None:
        outcomes, unended = read_outcomes(path)
        self.tests.update({(rank, test): how for test, how in outcomes.items()})
        if unended:
            self.open.append(unended)

    @property
    def stuck_in(self) -> str:
        """The module of the test that did not end, if one did not."""
        return self.open[0].partition(".")[0] if self.open else ""


def run(stack: dict, n_ranks: int, words: list[str], folder: Path, modules: list[str]) -> Outcome:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    suite = suite_of(stack)
    argv = [*stack["mpiexec"], "-n", str(n_ranks), stack["python"], *words, str(PROGRAM), str(suite), str(folder / "outcomes")]
    code, _ = run_watched([*argv, *modules], folder, limit_s=LIMIT_S, silence_s=SILENCE_S)
    return Outcome(code, folder, n_ranks)


def modules_of(stack: dict) -> list[str]:
    return sorted(path.stem for path in suite_of(stack).glob("test_*.py"))


def plain_run(stack: dict, n_ranks: int, folder: Path, modules: list[str]) -> Outcome:
    """Takes modules that do not end out of the list, and goes on with those behind them."""
    outcome, rest = run(stack, n_ranks, [], folder, modules), list(modules)
    while outcome.stuck_in in rest:
        stuck = outcome.stuck_in
        say(f"{stack['name']}, {n_ranks} ranks: {stuck} does not end without allranks ({outcome.open[0]}), left out")
        modules.remove(stuck)
        rest = rest[rest.index(stuck) + 1 :]
        earlier = {test: how for test, how in outcome.tests.items() if not test[1].startswith(stuck + ".")}
        outcome = run(stack, n_ranks, [], folder, rest)
        outcome.tests.update(earlier)
    return outcome


# ---- comparing ---------------------------------------------------------------------------------


def differences(plain: Outcome, again: Outcome, recorded: Outcome) -> list[str]:
    lines = []
    flaky = {test for test in plain.tests.keys() | again.tests.keys() if plain.tests.get(test) != again.tests.get(test)}
    for rank, test in sorted(plain.tests.keys() | recorded.tests.keys()):
        without, with_us = (each.tests.get((rank, test), "not run") for each in (plain, recorded))
        if without != with_us and (rank, test) not in flaky:
            lines.append(f"{test}, rank {rank}: {without} without, {with_us} with allranks")
    if not lines and recorded.code != plain.code == again.code:
        lines.append(f"the exit code is {plain.code} without, {recorded.code} with allranks")
    for rank, test in sorted(flaky):
        say(f"  (not judged, since it ends in two ways without allranks: {test}, rank {rank})")
    return lines


def check(stack: dict, n_ranks: int, modules: list[str], options: list[str]) -> list[str]:
    folder = HOME / "runs" / f"{stack['name']}-{n_ranks}"
    live, target = folder / "live", folder / "suite.allranks"
    shutil.rmtree(folder, ignore_errors=True)
    words = ["-m", "allranks", "-q", "--live-dir", str(live), "-o", str(target), *options]
    started = time.time()
    plain = plain_run(stack, n_ranks, folder / "plain", modules)
    recorded = run(stack, n_ranks, words, folder / "recorded", modules)
    found = differences(plain, plain, recorded)
    if found:
        found = differences(plain, run(stack, n_ranks, [], folder / "again", modules), recorded)
    if not target.exists() and plain.code == 0:
        found.append(f"no run was written, see {folder / 'recorded' / 'output'}")
    n_passed = sum(how == "passed" for how in plain.tests.values())
    say(
        f"{stack['name']}, {n_ranks} ranks: {len(plain.tests)} tests, {n_passed} pass without allranks, "
        f"{len(found)} differ ({time.time() - started:.0f} s)"
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="mpi4py's own tests, with and without allranks.")
    parser.add_argument("--stack", nargs="+", default=STACKS, metavar="NAME")
    parser.add_argument("-n", "--ranks", nargs="+", type=int, default=[1, 3])
    parser.add_argument("--module", nargs="+", default=[], help="only these modules of tests")
    parser.add_argument("--fast", action="store_true", help="only some modules")
    parser.add_argument("--option", action="append", default=[], help="a further option of allranks run")
    options = parser.parse_args()

    listed = json.loads((ROOT / ".stacks" / "stacks.json").read_text())["stacks"]
    stacks = [stack for stack in listed if stack["name"] in options.stack]
    for name in set(options.stack) - {stack["name"] for stack in stacks}:
        say(f"{name}: skipped, there is no such stack here")
    found = []
    for stack in stacks:
        for n_ranks in options.ranks:
            wanted = options.module or (FAST if options.fast else ())
            modules = [name for name in modules_of(stack) if not wanted or name in wanted]
            found += [f"{stack['name']}, {n_ranks} ranks: {line}" for line in check(stack, n_ranks, modules, options.option)]
    for line in found:
        say(line)
    return 1 if found or not stacks else 0


if __name__ == "__main__":
    sys.exit(main())
