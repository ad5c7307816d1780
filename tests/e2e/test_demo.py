# SPDX-License-Identifier: BSD-3-Clause
"""The demo: what a newcomer runs first, and what must be on the first screen."""

import re

import pytest
from harness import ROOT, Sandbox, workload

HEAT = str(ROOT / "examples" / "heat.py")
N_RANKS = 4
LAST_RANK = N_RANKS - 1  # it has four times the work


def line_of(function: str) -> int:
    with open(HEAT) as file:
        return next(n for n, text in enumerate(file, start=1) if text.startswith(f"def {function}("))


STEPS = 40
recorded_heats: dict[str, Sandbox] = {}


@pytest.fixture
def heat(mpi: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """Where heat.py has been recorded, once a stack."""
    name = mpi.stack.name
    if name not in recorded_heats:
        sandbox = Sandbox(mpi.stack, tmp_path_factory.mktemp("heat"))
        done = sandbox.recorded_ranks(N_RANKS, HEAT, "--steps", str(STEPS))
        assert done.code == 0, done
        recorded_heats[name] = sandbox
    return recorded_heats[name]


@pytest.mark.every_stack
def test_the_report_names_the_slow_function_and_its_rank(heat: Sandbox):
    text = heat.answer("report", "heat.allranks").decode()
    lines = text.splitlines()
    assert "heat.py" in lines[0] and "4 ranks on 1 host" in lines[0]
    assert f"Python {heat.stack.python_version}" in lines[1]
    assert ("Open MPI" if heat.stack.mpi == "openmpi" else "MPICH") in lines[1]
    assert f"mpi4py {heat.stack.mpi4py_version}" in lines[1]
    title = next(i for i, line in enumerate(lines) if line.startswith("Imbalance"))
    worst = lines[title + 1]
    assert re.match(rf" relax +heat\.py:{line_of('relax')} .*\({LAST_RANK}\)$", worst), text
    assert "MPI_Sendrecv" in text or "MPI_Allreduce" in text or "MPI_Recv" in text, text

    relax = heat.report("heat.allranks").named("relax")
    assert {node["self_ns"]["max_rank"] for node in relax} == {LAST_RANK}
    assert sum(node["calls"] for node in relax) == N_RANKS * STEPS


def test_the_report_fits_a_terminal(heat: Sandbox):
    lines = heat.answer("report", "heat.allranks").decode().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) <= 24, lines


def test_the_report_fits_a_terminal_with_all_there_can_be(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("crowded_report.py"))
    assert done.code == 0, done
    lines = mpi.answer("report", "crowded_report.allranks").decode().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert {"late_1", "late_2", "late_3"} <= {line.split()[0] for line in lines if line}
    assert len(lines) <= 24, lines


def test_the_program_does_not_notice(mpi: Sandbox):
    plain = mpi.plain_ranks(N_RANKS, HEAT, "--steps", str(STEPS))
    assert plain.code == 0 and "residual" in plain.out, plain
    before = mpi.files()
    recorded = mpi.recorded_ranks(N_RANKS, HEAT, "--steps", str(STEPS))
    assert (recorded.code, recorded.stdout) == (plain.code, plain.stdout)
    assert mpi.files() - before == {"heat.allranks"}
    assert list(mpi.live.rglob("*")) == []
    assert recorded.err.count("allranks: 4 ranks recorded in heat.allranks") == 1
