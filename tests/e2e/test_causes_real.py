# SPDX-License-Identifier: BSD-3-Clause
"""The programs of tests/causes for real, with mpi4py and sleeps: what `allranks waits` charges their waits to.

Every rank logs when its operations really ended. The simulator repeats that run and the reference rule charges its waits, so
that delays of a busy machine are expected as well. ALLRANKS_CAUSES_REAL is the number of random programs.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from zlib import crc32

import pytest
from conftest import STACKS
from harness import ROOT, Sandbox
from judging import Charge, Score, charges_of_rule, score, truth_of
from operations import Program
from real_programs import REAL, real_program
from rule import Rule
from simulator import Ends, Run, simulate

pytestmark = pytest.mark.alone

N_RANDOM = int(os.environ.get("ALLRANKS_CAUSES_REAL", "3"))
FIRST_SEED = 300
LEAST_WAIT_S = 1.0  # of a random program, so that what a busy machine adds is little
N_LOOKS = 2  # a difference counts if it is there each time
LOGGING, LOGGING_S = 0.1, 0.05  # by which waits may differ: operations are logged by Python, a bit before or after MPI
NEARLY = 0.08  # of the waiting, by which a real run may be worse than the simulated one
SCRIPT = str(ROOT / "tests" / "causes" / "real.py")
CALLERS = ("call", "receive", "wait")  # methods of that script in which programs wait


@pytest.fixture(params=["openmpi", "mpich"])
def either_mpi(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    """A stack with that MPI, by the test's name: not the same for all tests."""
    stacks = [stack for stack in request.config.stash[STACKS] if stack.mpi == request.param]
    if not stacks:
        pytest.skip(f"no stack with {request.param}")
    sandbox = Sandbox(stacks[crc32(request.node.name.encode()) % len(stacks)], tmp_path)
    yield sandbox
    sandbox.end()


def read_ends(mpi: Sandbox, n_ranks: int) -> Ends:
    """Since the first rank began: ranks on one host have one clock."""
    logged = [mpi.read_json(f"ends-{rank}.json") for rank in range(n_ranks)]
    start = min(log["start"] for log in logged)
    return {(rank, int(thread)): [end - start for end in ends]
            for rank, log in enumerate(logged) for thread, ends in log["ends"].items()}  # fmt: skip


def read_sites(mpi: Sandbox) -> list[dict]:
    """Where the program waits: not while MPI is set up."""
    found = json.loads(mpi.answer("waits", "--json=1", "real.allranks"))
    return [site for site in found["waits"] if (site["caller"] or "").rpartition(".")[2] in CALLERS]


def charge_of(cause: dict) -> Charge:
    path = () if cause["name"] is None else (cause["name"],)
    return Charge(cause["rank"], path, cause["with_callees"], cause["ns"] / 1e9)


def unlike(found: Score, wanted: Score) -> dict[str, str]:
    """What is worse than it should be, by name."""
    said = f"\nreal      {found}\nsimulated {wanted}"
    wrong = {}
    if abs(found.waited - wanted.waited) > LOGGING * wanted.waited + LOGGING_S:
        wrong["waited"] = said
    for what in ("function", "rank"):
        if found.share(what) < wanted.share(what) - NEARLY:
            wrong[what] = said
    if found.share("innocent") > wanted.share("innocent") + NEARLY:
        wrong["innocent"] = said
    return wrong


def scores(run: Run, sites: list[dict]) -> tuple[Score, Score]:
    """Of the real run and of the simulated one."""
    truth = truth_of(run)
    waited = sum(site["waited_ns"] for site in sites) / 1e9
    found = score([charge_of(cause) for site in sites for cause in site["causes"]], truth, waited)
    return found, score(charges_of_rule(Rule(run).charges), truth, run.total_wait())


def record(mpi: Sandbox, program: Program, *words: str) -> tuple[Run, list[dict]]:
    """The run as the simulator repeats it, and where ranks really waited."""
    (mpi.cwd / "real.allranks").unlink(missing_ok=True)
    done = mpi.recorded_ranks(program.n_ranks, SCRIPT, *words)
    assert done.code == 0, done
    return simulate(program, ends=read_ends(mpi, program.n_ranks)), read_sites(mpi)


def settled_twice(look: Callable[[], dict[str, str]]) -> dict[str, str]:
    """As harness.settled, with fewer looks: a run takes seconds."""
    wrong = look()
    for _ in range(1, N_LOOKS):
        if wrong:
            again = look()
            wrong = {name: how for name, how in again.items() if name in wrong}
    return wrong


def check(mpi: Sandbox, *words: str) -> None:
    program = real_program(words[0], *map(int, words[1:]))
    wrong = settled_twice(lambda: unlike(*scores(*record(mpi, program, *words))))
    assert not wrong, f"{', '.join(wrong)}: {next(iter(wrong.values()))}"


@pytest.mark.parametrize("name", REAL)
def test_planted(either_mpi: Sandbox, name: str):
    check(either_mpi, name)


def random_seeds() -> Iterator[int]:
    return (seed for seed in count(FIRST_SEED) if simulate(real_program("random", seed)).total_wait() >= LEAST_WAIT_S)


@pytest.mark.parametrize("seed", islice(random_seeds(), N_RANDOM))
def test_random(either_mpi: Sandbox, seed: int):
    check(either_mpi, "random", str(seed))


def largest_charges(mpi: Sandbox, program: Program) -> dict[str, str]:
    run, sites = record(mpi, program, program.name)
    charges: Counter[str] = Counter()
    for cause in (charge_of(cause) for site in sites for cause in site["causes"]):
        charges[f"{cause.path} on rank {cause.rank}"] += cause.seconds
    most = 0.1 * run.wall * program.n_ranks
    return {name: f"{seconds:.3f} s" for name, seconds in charges.items() if seconds > most}


def test_balanced(either_mpi: Sandbox):
    """A busy machine makes ranks wait, but not for one function of one rank."""
    assert not settled_twice(lambda: largest_charges(either_mpi, real_program("balanced")))
