# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own tests end as they do without allranks: a part of `make check-mpi4py`, which runs all of them."""

import subprocess
import sys

from harness import ROOT, Sandbox


def test_the_same_outcome_test_by_test(mpi: Sandbox):
    tool = str(ROOT / "tools" / "check_mpi4py.py")
    done = subprocess.run(
        [sys.executable, tool, "--fast", "--stack", mpi.stack.name, "-n", "2"],
        check=False, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 differ" in done.stdout
