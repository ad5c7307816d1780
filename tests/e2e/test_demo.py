# SPDX-License-Identifier: BSD-3-Clause
"""The demo: what a newcomer runs first, and what must be on the first screen."""

import re

import pytest
from harness import ROOT, Sandbox, settled, workload

HEAT = str(ROOT / "examples" / "heat.py")
N_RANKS = 4
LAST_RANK = N_RANKS - 1  # it has four times the work


def line_of(function: str) -> int:
    with open(HEAT) as file:
        return next(n for n, text in enumerate(file, start=1) if text.startswith(f"def {function}("))


STEPS = 40


def report_of(mpi: Sandbox, n_ranks: int, *program: str) -> list[str]:
    """Of a run that is made anew; it fits a terminal."""
    (mpi.cwd / "run.allranks").unlink(missing_ok=True)
    done = mpi.recorded_ranks(n_ranks, *program, options=("-o", "run.allranks"))
    assert done.code == 0, done
    lines = mpi.answer("report", "run.allranks").decode().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) <= 24, lines
    return lines


@pytest.mark.every_stack
def test_the_report_names_the_slow_function_and_its_rank(mpi: Sandbox):
    assert not settled(lambda: slow_function_unlike(mpi))


def slow_function_unlike(mpi: Sandbox) -> dict[str, str]:
    lines = report_of(mpi, N_RANKS, HEAT, "--steps", str(STEPS))
    assert "heat.py" in lines[0] and "4 ranks on 1 host" in lines[0]
    assert f"Python {mpi.stack.python_version}" in lines[1]
    assert ("Open MPI" if mpi.stack.mpi == "openmpi" else "MPICH") in lines[1]
    assert f"mpi4py {mpi.stack.mpi4py_version}" in lines[1]
    relax = mpi.report("run.allranks").named("relax")
    assert sum(node["calls"] for node in relax) == N_RANKS * STEPS

    text = "\n".join(lines)
    is_right = {
        "imbalance": re.search(rf"^Imbalance.*\n relax +heat\.py:{line_of('relax')} .*\({LAST_RANK}\)$", text, re.MULTILINE),
        "waiting": re.search(r"Sendrecv|[Aa]llreduce|Recv", text),
        "rank": {node["self_ns"]["max_rank"] for node in relax} == {LAST_RANK},
    }
    return {name: text for name, right in is_right.items() if not right}


def test_the_report_fits_a_terminal_with_all_there_can_be(mpi: Sandbox):
    def look() -> dict[str, str]:
        lines = report_of(mpi, 2, workload("crowded_report.py"))
        shown = {line.split()[0] for line in lines if line}
        wanted = ("What", "Imbalance", "late_1", "Where", "MPI")
        return {name: "\n".join(lines) for name in wanted if name not in shown}

    assert not settled(look)


def test_the_program_does_not_notice(mpi: Sandbox):
    plain = mpi.plain_ranks(N_RANKS, HEAT, "--steps", str(STEPS))
    assert plain.code == 0 and "residual" in plain.out, plain
    before = mpi.files()
    recorded = mpi.recorded_ranks(N_RANKS, HEAT, "--steps", str(STEPS))
    assert (recorded.code, recorded.stdout) == (plain.code, plain.stdout)
    assert mpi.files() - before == {"heat.allranks"}
    assert list(mpi.live.rglob("*")) == []
    assert recorded.err.count("allranks: 4 ranks recorded in heat.allranks") == 1
