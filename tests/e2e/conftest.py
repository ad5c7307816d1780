# SPDX-License-Identifier: BSD-3-Clause
"""On what the tests run.

    def test_x(python):   once for each version of Python there is a stack of, without MPI
    def test_w(any_python):   once for each version of Python of this machine, on the plain interpreters
    def test_y(mpi):      once for each stack of a small selection that has every Python, every MPI and every mpi4py
    @pytest.mark.every_stack
    def test_z(mpi):      once for each stack
    def test_s(one_mpi):  once, on one stack of that selection: not the same for all tests
    def test_v(debian):   on the system's own Python with its mpi4py, petsc4py and h5py
    def test_u(mpiabi):   on the ABI of the MPI-5 standard
    def test_t(mpi, slurm):   with a Slurm beside it, one for all tests

test_awkward.py has the plain interpreters instead, which are all the versions of Python of this machine.

All of these fixtures are a harness.Sandbox. ALLRANKS_STACKS names another list of stacks than that of tools/stacks.py;
where none has MPI, `python` has the plain interpreters. With ALLRANKS_TEST_ALL=1 every test that takes `mpi` runs on every stack.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest
import unsteady
from harness import ROOT, Sandbox, Stack
from slurm import Slurm, running_slurm
from slurm import reason_against as reason_against_slurm
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

STACKS_FILE = Path(os.environ.get("ALLRANKS_STACKS", ROOT / ".stacks" / "stacks.json"))


def read_stacks() -> tuple[list[Stack], list[Stack], list[dict[str, str]]]:
    """Those with MPI, those without, and those that are missing."""
    if not STACKS_FILE.exists():
        raise pytest.UsageError(f"{STACKS_FILE} is missing: make test prepares the stacks")
    listed = json.loads(STACKS_FILE.read_text())
    stacks = [Stack(**{**entry, "mpiexec": tuple(entry["mpiexec"])}) for entry in listed["stacks"]]
    plain = [Stack(**entry, mpi="", mpi4py_version="", mpiexec=()) for entry in listed.get("plain", [])]
    return stacks, plain, listed["skipped"]


def debian_stack() -> Stack | None:
    listed = json.loads(STACKS_FILE.read_text()).get("debian", [])
    if not listed:
        return None
    return Stack(**{**listed[0], "mpiexec": tuple(listed[0]["mpiexec"])}, mpi="openmpi", mpi4py_version="3")


def versions_of(stack: Stack) -> set[str]:
    """One MPI with another ABI has tests of its own, and is no reason to run all others once more."""
    mpi = stack.mpi.replace("mpiabi", "mpich")
    return {f"Python {stack.python_version}", mpi, f"mpi4py {stack.mpi4py_major}"}


def fewest(stacks: list[Stack]) -> list[Stack]:
    """One after the other the stack that adds most of what is not covered yet."""
    missing = set().union(*map(versions_of, stacks))
    chosen: list[Stack] = []
    while missing:
        best = max(stacks, key=lambda stack: len(versions_of(stack) & missing))
        chosen.append(best)
        missing -= versions_of(best)
    return chosen


def one_for_each_python(stacks: list[Stack]) -> list[Stack]:
    first: dict[str, Stack] = {}
    for stack in stacks:
        first.setdefault(stack.python_version, stack)
    return list(first.values())


class SideBySide(LoadScopeScheduling):
    """Which tests go to one process: those of Slurm, of which there is one, and every other by itself."""

    def _split_scope(self, nodeid: str) -> str:
        return "slurm" if "test_slurm.py" in nodeid else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SideBySide:
    return SideBySide(config, log)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_stack: runs on all stacks, not only on a selection")
    config.addinivalue_line("markers", "alone: compares clocks of ranks, which have all processors then")
    config.pluginmanager.register(unsteady)
    config.stash[STACKS], config.stash[PLAIN], config.stash[SKIPPED] = read_stacks()


STACKS: pytest.StashKey[list[Stack]] = pytest.StashKey()
PLAIN: pytest.StashKey[list[Stack]] = pytest.StashKey()
SKIPPED: pytest.StashKey[list[dict[str, str]]] = pytest.StashKey()


def skipped_stacks(config: pytest.Config) -> list[str]:
    return [f"stack {each['name']} skipped: {each['reason']}" for each in config.stash[SKIPPED]]


def pytest_report_header(config: pytest.Config) -> list[str]:
    ready = " ".join(stack.name for stack in config.stash[STACKS])
    return [f"stacks: {ready}", *skipped_stacks(config)]


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """With -q, which `make test` uses, there is no header."""
    if config.get_verbosity() < 0:
        for line in skipped_stacks(config):
            terminalreporter.write_line(line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    stacks = metafunc.config.stash[STACKS]
    if "mpi" in metafunc.fixturenames:
        everywhere = metafunc.definition.get_closest_marker("every_stack")
        everywhere = everywhere or os.environ.get("ALLRANKS_TEST_ALL", "0") != "0"
        chosen = stacks if everywhere else fewest(stacks)
        metafunc.parametrize("mpi", chosen, ids=lambda stack: stack.name, indirect=True)
    elif "any_python" in metafunc.fixturenames:
        metafunc.parametrize(
            "any_python", metafunc.config.stash[PLAIN],
            ids=lambda stack: f"py{stack.python_version}", indirect=True,
        )  # fmt: skip
    elif "python" in metafunc.fixturenames:
        metafunc.parametrize(
            "python", one_for_each_python(stacks or metafunc.config.stash[PLAIN]),
            ids=lambda stack: f"py{stack.python_version}", indirect=True,
        )  # fmt: skip


@pytest.fixture
def python(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(request.param, tmp_path)
    yield sandbox
    sandbox.end()


@pytest.fixture
def any_python(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(request.param, tmp_path)
    yield sandbox
    sandbox.end()


@pytest.fixture
def mpi(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(request.param, tmp_path)
    yield sandbox
    sandbox.end()


@pytest.fixture
def one_mpi(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    """By the test's name, so that it is the same one whichever tests are chosen."""
    stacks = fewest(request.config.stash[STACKS])
    if not stacks:
        pytest.skip("no stack with MPI")
    sandbox = Sandbox(stacks[crc32(request.node.name.encode()) % len(stacks)], tmp_path)
    yield sandbox
    sandbox.end()


@pytest.fixture
def debian(tmp_path: Path) -> Iterator[Sandbox]:
    stack = debian_stack()
    if not stack:
        pytest.skip("no stack of the system's own Python")
    sandbox = Sandbox(stack, tmp_path)
    yield sandbox
    sandbox.end()


@pytest.fixture
def mpiabi(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    stack = next((each for each in request.config.stash[STACKS] if each.mpi == "mpiabi"), None)
    if not stack:
        pytest.skip("no stack with the ABI of the MPI-5 standard")
    sandbox = Sandbox(stack, tmp_path)
    yield sandbox
    sandbox.end()


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    reason = reason_against_slurm()
    if reason:
        pytest.skip(reason)
    with running_slurm() as cluster:
        yield cluster


def make_shim(name: str, directory: Path) -> str:
    library = directory / f"{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return str(library)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library for LD_PRELOAD that ends a process at a call that is named: see kill_shim.c."""
    return make_shim("kill_shim", tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def shrinking(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library for LD_PRELOAD that makes a file shorter while it is read: see shrink_shim.c."""
    return make_shim("shrink_shim", tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def papi(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library for $ALLRANKS_PAPI whose counters are known to the digit: see papi_stand_in.c."""
    return make_shim("papi_stand_in", tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def processor(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library for LD_PRELOAD with counters of a processor that are known to the digit: see perf_shim.c."""
    return make_shim("perf_shim", tmp_path_factory.mktemp("shim"))


@pytest.fixture
def known_fault(request: pytest.FixtureRequest) -> Callable[[bool, str], None]:
    """known_fault(where, why): the rest of the test is expected to fail where it is true, until somebody mends it."""

    def mark(where: bool, why: str) -> None:
        if where:
            request.node.add_marker(pytest.mark.xfail(reason=why, strict=True))

    return mark
