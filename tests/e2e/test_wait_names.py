# SPDX-License-Identifier: BSD-3-Clause
"""What ranks waited for, by a name that its user knows: in the sentences of `allranks waits` and `report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import Sandbox, workload

CHILDREN = workload("waits_for_children.py")


def sentence(mpi: Sandbox, run: str, operation: str) -> str:
    """The one about the wait at that operation, in one line."""
    waits = json.loads(mpi.answer("waits", "--json=1", run))["waits"]
    number = next(i for i, site in enumerate(waits, start=1) if site["name"] == operation)
    screen = " ".join(mpi.answer("waits", run, str(number)).decode().split())
    return screen[screen.index(" in all ") : screen.index(" Who waited ")]


def said(mpi: Sandbox, run: str) -> str:
    return " ".join(finding["text"] for finding in mpi.report(run).data["findings"])


# ---- another process ----


@pytest.mark.parametrize("way, child", [
    ("runs", "a child process (sleep 0.5)"),
    ("reads_output", "a child process (sleep 0.5)"),
    ("has_a_hook", "a child process (sleep 0.5)"),
    ("calls_the_shell", "a child process (sleep 0.5)"),
    ("spawns", "a child process (sleep 0.5)"),
    ("runs_two", "a child process (true and 1 more)"),
    ("joins", "a forked child process"),
])  # fmt: skip
def test_a_child_that_was_waited_for_is_named(one_mpi: Sandbox, way: str, child: str):
    plain = one_mpi.plain_ranks(2, CHILDREN, way)
    done = one_mpi.recorded_ranks(2, CHILDREN, way)
    assert (done.code, done.out) == (plain.code, plain.out), done
    run = "waits_for_children.allranks"
    line = Path(CHILDREN).read_text().splitlines().index(f"def {way}():") + 1
    waiting = f"waiting for {child} in waits_for_children.py:{line} {way}"
    assert f"for rank 0, which spent it {waiting}" in sentence(one_mpi, run, "barrier")
    assert waiting in said(one_mpi, run)


# ---- modules and numpy ----

TOP = "import time\nfrom mpi4py import MPI\n"
END = "MPI.COMM_WORLD.barrier()\n"


def record_text(mpi: Sandbox, text: str, name: str = "heat.py") -> str:
    (mpi.cwd / name).write_text(text)
    done = mpi.recorded_ranks(2, name, options=("-o", "heat.allranks"))
    assert done.code == 0, done
    return sentence(mpi, "heat.allranks", "barrier")


def test_a_module_that_only_calls_is_not_to_blame(one_mpi: Sandbox):
    functions = "".join(f"def f{i}():\n    time.sleep(0.25)\n" for i in range(3))
    text = record_text(one_mpi, TOP + functions + "if MPI.COMM_WORLD.rank == 0:\n    f0()\n    f1()\n    f2()\n" + END)
    assert "% of it in heat.py:" in text and "module" not in text + said(one_mpi, "heat.allranks")


def test_a_loop_of_a_module_is_its_top_level(one_mpi: Sandbox):
    loop = "    end = time.time() + 0.6\n    while time.time() < end:\n        pass\n"
    text = record_text(one_mpi, TOP + "if MPI.COMM_WORLD.rank == 0:\n" + loop + END)
    assert "which spent it in the top level of heat.py" in text
    assert "the top level of heat.py" in said(one_mpi, "heat.allranks")


def test_the_code_of_a_package_has_its_name(one_mpi: Sandbox):
    (one_mpi.cwd / "solvers").mkdir()
    (one_mpi.cwd / "solvers" / "__init__.py").write_text("import time\nend = time.time() + 0.6\nwhile time.time() < end:\n    pass\n")
    text = record_text(one_mpi, TOP + "if MPI.COMM_WORLD.rank == 0:\n    import solvers\n" + END)
    assert "__init__.py:1 solvers" in text and "module" not in text


@pytest.mark.parametrize("call, name", [("np.argsort(a)", "argsort"), ("np.linalg.solve(b, b)", "solve"), ("np.sum(a)", "sum")])
def test_what_numpy_does_has_the_name_of_its_function(one_mpi: Sandbox, call: str, name: str):
    work = "def work():\n    end = time.time() + 0.6\n    while time.time() < end:\n        " + call + "\n"
    arrays = "import numpy as np\na = np.random.rand(1_000_000)\nb = np.random.rand(300, 300)\n"
    text = record_text(one_mpi, TOP + arrays + work + "if MPI.COMM_WORLD.rank == 0:\n    work()\n" + END)
    assert f" {name} (from heat.py:6 work)" in text or "heat.py:6 work" in text
    for inner in ("_wrapfunc", "_wrapreduction", "array_function", "overrides.py"):
        assert inner not in text
